"""Native steps from one event to the next: the loop, the flow that it advances, and what drives it."""
