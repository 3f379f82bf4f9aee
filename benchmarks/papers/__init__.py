"""The papers' tables on real data, with our figures beside the published ones: `python -m benchmarks.papers --list`."""
