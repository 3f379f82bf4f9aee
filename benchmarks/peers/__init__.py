"""HornBoost and what people would use instead, on the same folds of the same data.

A comparison has three steps, which share nothing but files:

1. `prepare` (ours) writes the folds of a set: a Parquet file for each table, training and test examples, and
   `task.json`, which says what is a key, what refers to what, and what is predicted. The classes of the test examples
   are in a folder of their own.
2. `run` (theirs) starts a peer in its own virtual environment: `theirs/drive.py` reads these files, calls the peer's
   `prepare`, `fit`, `predict` and `size` (`theirs/NAME.py`, one short file a package), and writes what they gave as
   JSON. No peer imports anything of ours, and none is a dependency of ours.
3. `collect` (ours) compares the predictions with the classes, and `page` writes the tables and pictures.

A new peer is a file in `theirs/` whose header (inline script metadata, PEP 723) names its packages.
"""
