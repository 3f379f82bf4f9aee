"""The one place that writes SQL.

Names, values, conditions, and on top of them clauses, ensembles, aggregates and what readers ask.

Everything is built with sqlglot and written in a dialect at the end; names are always quoted.
"""
