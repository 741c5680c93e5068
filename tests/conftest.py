"""Makes tests/oracles.py importable from every folder of tests."""
