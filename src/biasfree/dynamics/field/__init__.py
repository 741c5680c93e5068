"""The objective and its slope, compiled once for all simulators but the flow through events."""
