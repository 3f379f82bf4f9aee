"""Random small databases, and random clauses over them:
nulls, NaN, duplicate rows, empty tables, keys that lead nowhere, self-joins.
"""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import naive
from hornboost import Database
from hornboost.logic.clause import Clause, Head, Literal, Op
from hornboost.logic.clause import Test as Condition

NUMBERS = [-1.5, 0.0, 0.1, 2.0, 7.0, 0.30000000000000004, float("inf"), float("-inf")]
DATES = ["1993-07-05", "1998-01-01", "1998-12-31"]
DOMAINS = {"t": ("int", [1, 2, 3, 4, 5, 6]), "p": ("int", [1, 2, 3]), "q": ("text", ["a", "b c", "it's"])}
NOMINAL = {"text": ["u", "NaN", 'say "v"'], "int": ["0", "7"], "float": ["7", "2.5"], "bool": ["false", "true"]}
KINDS = [
    *(("nominal", storage) for storage in NOMINAL),
    ("numeric", "int"),
    ("numeric", "float"),
    ("numeric", "float"),
    ("date", "date"),
]
ARROW = {"int": pa.int64(), "text": pa.string(), "float": pa.float64(), "bool": pa.bool_(), "date": pa.date32()}


@dataclass(frozen=True)
class RandomColumn:
    """`storage` is how databases keep the column;
    in plain rows a nominal value or date is a text and a number a float.
    """

    name: str
    kind: str
    storage: str
    domain: str | None = None

    @property
    def values(self) -> list[Any]:
        if self.domain is not None:
            return list(DOMAINS[self.domain][1])
        if self.kind == "nominal":
            return list(NOMINAL[self.storage])
        if self.kind == "date":
            return DATES
        return [2.0, -3.0, 7.0] if self.storage == "int" else NUMBERS

    @property
    def missing(self) -> list[Any]:
        return [None, float("nan")] if self.kind == "numeric" and self.storage == "float" else [None]

    @property
    def unknown(self) -> list[Any]:
        """Values that no table holds, and that no clause names: an unknown one equals no constant."""
        if self.kind in ("numeric", "date"):
            return self.values
        if self.storage == "bool":
            return [None]
        return [11, 10] if self.storage == "int" and self.domain is not None else ["11", "10"]

    def stored(self, cell: Any) -> Any:
        """The cell as a value of the storage type."""
        if cell is None or cell != cell:
            return cell
        if self.storage == "bool":
            return cell == "true"
        if self.storage == "date":
            return dt.date.fromisoformat(cell)
        return {"int": int, "float": float, "text": str}[self.storage](cell)


@dataclass(frozen=True)
class RandomTable:
    name: str
    columns: tuple[RandomColumn, ...]
    rows: list[dict[str, Any]]

    def arrow(self) -> pa.Table:
        return pa.table(
            {
                column.name: pa.array(
                    [column.stored(row[column.name]) for row in self.rows], ARROW[column.storage], from_pandas=False
                )
                for column in self.columns
            }
        )


@dataclass(frozen=True)
class RandomCase:
    """A database whose first table is the target, rows like the target's
    with unknown values among them, and clauses.
    """

    tables: tuple[RandomTable, ...]
    key: tuple[str, ...]
    new_examples: RandomTable
    clauses: tuple[Clause, ...] = ()

    @property
    def target(self) -> RandomTable:
        return self.tables[0]

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        return {table.name: table.rows for table in self.tables}

    def database(self) -> Database:
        columns = [(table.name, column) for table in self.tables for column in table.columns]
        return Database.from_frames(
            {table.name: table.arrow() for table in self.tables},
            target=self.target.name,
            key=list(self.key),
            keys={
                table.name: {column.name: column.domain for column in table.columns if column.domain is not None}
                for table in self.tables
            },
            types={f"{table}.{column.name}": column.kind for table, column in columns if column.kind != "key"},
            foreign_keys=[],
        )


def cases(n_clauses: int = 8) -> st.SearchStrategy[RandomCase]:
    """A database of a target and one to three other tables, with clauses over them.

    Hypothesis draws (and shrinks) the sizes; the rest comes from one seed, so that most clauses cover some examples and
    not others.
    """
    sizes = st.sampled_from([1, 2, 3, 3]), st.sampled_from([1, 3, 6, 9, 9]), st.sampled_from([1, 2, 3, 4, 4, 4])
    return st.builds(random_case, st.randoms(use_true_random=True), *sizes, st.just(n_clauses))


def random_case(rng: Random, n_tables: int, max_rows: int, max_literals: int, n_clauses: int) -> RandomCase:
    key = rng.choice([("id",), ("s", "p")])
    domains = {"id": "t", "s": "p", "p": "p"}
    own = tuple(RandomColumn(name, "key", DOMAINS[domains[name]][0], domains[name]) for name in key)
    columns = own + random_columns(rng, 0, 2)
    identities = list(itertools.product(*(column.values for column in own)))
    rows = [
        random_row(rng, columns) | dict(zip(key, identity, strict=True))
        for identity in rng.sample(identities, min(1 + max_rows, len(identities)))
    ]
    tables = [RandomTable("target", columns, rows)]
    for name in ["r", "my table", "select"][:n_tables]:
        columns = random_columns(rng, 1, 3)
        n_rows = rng.choice([0, *range(max_rows + 1), *(4 * [max_rows])])
        tables.append(RandomTable(name, columns, [random_row(rng, columns) for _ in range(n_rows)]))
    target = tables[0]
    held = [
        (column.domain or (table.name, column.name), row[column.name])
        for table in tables
        for column in table.columns
        for row in table.rows
    ]
    new_rows = [random_row(rng, target.columns) for _ in range(max_rows)]
    for row, column in itertools.product(new_rows, target.columns):
        if (column.domain or ("target", column.name), row[column.name]) not in held or rng.random() < 0.2:
            row[column.name] = rng.choice(column.unknown)
    new_examples = replace(target, rows=new_rows)
    case = RandomCase(tuple(tables), key, new_examples)
    return replace(case, clauses=tuple(telling_clause(rng, case, max_literals) for _ in range(n_clauses)))


def telling_clause(rng: Random, case: RandomCase, max_literals: int) -> Clause:
    """The first of some random clauses that covers a part of the examples, old and new, or else the last."""
    n_literals = rng.randint(max_literals // 2, max_literals)
    for _ in range(25):
        clause = random_clause(rng, case.tables, n_literals)
        both = [
            naive.covers(case.rows(), clause, case.target.name, rows)
            for rows in (case.target.rows, case.new_examples.rows)
        ]
        if len({*both[0], *both[1]}) > 1:
            break
    return clause


def random_columns(rng: Random, min_keys: int, max_keys: int) -> tuple[RandomColumn, ...]:
    domains = [rng.choice(sorted(DOMAINS)) for _ in range(rng.randint(min_keys, max_keys))]
    attributes = [rng.choice(KINDS) for _ in range(rng.randint(0, 2))]
    keys = [RandomColumn(f"k{position}", "key", DOMAINS[domain][0], domain) for position, domain in enumerate(domains)]
    return (
        *keys,
        *(RandomColumn(f"a {position}", kind, storage) for position, (kind, storage) in enumerate(attributes)),
    )


def random_row(rng: Random, columns: tuple[RandomColumn, ...]) -> dict[str, Any]:
    return {column.name: rng.choice(column.missing if rng.random() < 0.15 else column.values) for column in columns}


def random_clause(rng: Random, tables: tuple[RandomTable, ...], n_literals: int) -> Clause:
    """A clause that starts at the target, or at times mentions it later, and whose literals mostly hang together."""
    domains: dict[str, str] = {}
    body = [random_literal(rng, tables[0], domains)]
    body += [random_literal(rng, rng.choice(tables), domains) for _ in range(n_literals)]
    if rng.random() < 0.1:
        body.reverse()
    pairs = [
        pair
        for pair in itertools.product(domains, domains)
        if domains[pair[0]] == domains[pair[1]] and pair[0] != pair[1]
    ]
    unequal = rng.sample(pairs, min(len(pairs), rng.choice([0, 0, 1, 2])))
    return Clause(Head("label", "1"), tuple(body), tuple(unequal))


def random_literal(rng: Random, table: RandomTable, domains: dict[str, str]) -> Literal:
    """A literal whose keys take variables of their domain, known ones more often than new ones;
    new ones go into `domains`.
    """
    bindings = []
    for column in table.columns:
        if column.domain is None or rng.random() < 0.1:
            continue
        known = [variable for variable, domain in domains.items() if domain == column.domain]
        variable = rng.choice(known) if known and rng.random() < 0.6 else f"V{len(domains)}"
        domains[variable] = column.domain
        bindings.append((column.name, variable))
    tested = [rng.choice(table.columns) for _ in range(rng.choice([0, 0, 1, 2]))]
    return Literal(table.name, tuple(bindings), tuple(random_condition(rng, column) for column in tested))


def random_condition(rng: Random, column: RandomColumn) -> Condition:
    if rng.random() < 0.15:
        return Condition(column.name, "missing")
    if column.kind in ("numeric", "date"):
        op: Op = rng.choice([">=", "<="])
        return Condition(column.name, op, rng.choice([*column.values, "1998-06-01" if column.kind == "date" else 1.75]))
    equal: Op = rng.choice(["=", "=", "!="]) if column.kind == "nominal" else "="
    return Condition(column.name, equal, str(rng.choice([*column.values, *column.values, "8", "9"])))
