"""Speed and memory against other packages: `python -m benchmarks [case ...]`."""
