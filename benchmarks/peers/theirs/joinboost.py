"""JoinBoost: trees over the join of many tables, by SQL. It is installed, and its reason not to run is stated."""

# /// script
# requires-python = ">=3.10,<3.13"
# dependencies = ["joinboost==0.0.1523", "duckdb", "pandas"]
# [tool.peer]
# package = "joinboost"
# tables = "many"
# cannot = "predicts numbers, over a join in which examples are repeated; no task here is of that kind"
# [tool.peer.learners]
# joinboost = "JoinBoost"
# ///
