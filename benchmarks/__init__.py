"""Speed and accuracy against other software: `python -m benchmarks`, or `make bench`."""
