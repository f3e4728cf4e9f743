"""What the benchmarks share: generated data, and processes measured apart."""
