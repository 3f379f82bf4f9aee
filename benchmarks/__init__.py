"""What HornBoost is measured by: the papers' tables, the engine and single parts.

`python -m benchmarks.NAME` runs each.
"""
