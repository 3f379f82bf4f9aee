"""What runs inside the environments of peers; nothing here imports from the rest of `benchmarks`."""
