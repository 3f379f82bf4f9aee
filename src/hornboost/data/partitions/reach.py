"""Which rows the examples of each part reach within some joins, found by DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hornboost.data.partitions.warehouse import Warehouse
from hornboost.data.table import Table
from hornboost.sql import partitions as statements
from hornboost.stopping import check


def reach(warehouse: Warehouse, target: str, depth: int) -> None:
    """Fill `r0`, `r1`, … from `parts`, the part of each row of the target.

    Joins lead from a key of a row to every row that has the same in a column of the same domain, as in clauses.
    """
    names = list(warehouse.tables)
    told = not tells_nothing(warehouse.tables[target])
    joined: dict[int, list[tuple[int, int]]] = {}  # by table the columns that joins may lead to, with their domains
    sources: dict[int, list[tuple[int, int]]] = {}
    for number, places in enumerate(warehouse.domains.values()):
        ends = [place for place in places if told or names[place[0]] != target]
        if not ends or (len(places) == 1 and warehouse.key_counts(*places[0]).most <= 1):
            continue  # a join would lead to the row that it comes from
        sources[number] = places
        for table, column in ends:
            joined.setdefault(table, []).append((column, number))
    kinds = [warehouse.key_types[name] for name in warehouse.domains]
    types = {number: "BIGINT" if kinds[number] == "int64" else "VARCHAR" for number in sources}
    for statement in statements.start(warehouse.number[target], len(names), types):
        warehouse.run(statement)
    for step in range(1, depth + 1):
        for number, places in sources.items():
            check()
            new = [place for place in places if step == 1 or _brings_new(*place, joined)]
            if new:
                warehouse.run(statements.spread(number, new, step))
        for table, columns in joined.items():
            check()
            warehouse.run(statements.gathered(table, columns, step))


def tells_nothing(target: Table) -> bool:
    """Whether no join leads to other rows of the target, since it has neither attributes nor ages."""
    return not target.attributes and target.times is None


def _brings_new(table: int, column: int, joined: Mapping[int, Sequence[tuple[int, int]]]) -> bool:
    """Whether rows that a join has led to may have keys in a column that are not those they were found by."""
    return [place for place, _ in joined.get(table, ())] != [column]
