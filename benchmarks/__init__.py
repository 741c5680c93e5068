"""Speed beside accuracy, against what people use: `python -m benchmarks`, or `make bench`."""
