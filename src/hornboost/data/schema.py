"""What a database is said to hold: typed columns, keys, links, tasks and folds. No data, only names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal as Choice
from typing import NamedTuple, cast, get_args

from hornboost.data.date_forms import ORDERS
from hornboost.data.labels import LabelKind
from hornboost.errors import DataError, did_you_mean

ColumnKind = Choice["key", "nominal", "numeric", "date"]
COLUMN_TYPES: tuple[str, ...] = get_args(ColumnKind)


@dataclass(frozen=True)
class ColumnSchema:
    """One column; `domain` names the identifiers that key columns share without a foreign key between them."""

    name: str
    type: ColumnKind
    domain: str | None = None


@dataclass(frozen=True)
class TableSchema:
    """One table; `file` is relative to the folder of the schema, `rows` the number of rows that the schema promises.

    `time` is the column that says from when on each row is known; `known_later` gives for a column with the time at
    which other columns of its row are filled in the names of those.
    """

    name: str
    columns: tuple[ColumnSchema, ...]
    primary_key: tuple[str, ...] = ()
    file: str | None = None
    rows: int | None = None
    time: str | None = None
    known_later: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def column(self, name: str) -> ColumnSchema:
        """The column of this name, or an error that suggests one."""
        for column in self.columns:
            if column.name == name:
                return column
        raise DataError.unknown_column(self.name, name, [column.name for column in self.columns])


@dataclass(frozen=True)
class ForeignKey:
    """A reference from one key column to another."""

    table: str
    column: str
    to_table: str
    to_column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column} -> {self.to_table}.{self.to_column}"


@dataclass(frozen=True)
class Task:
    """What to predict, for which rows, and what a learner must not see.

    A plain name in `exclude_columns` hides that column in every table where it is not a key; `table.column` hides one
    column.
    """

    table: str
    key: tuple[str, ...] = ()
    label: str | None = None
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exclude_columns: tuple[str, ...] = ()
    exclude_tables: tuple[str, ...] = ()
    name: str = ""
    examples: int | None = None
    positives: int | None = None
    negatives: int | None = None
    predicts: LabelKind | None = None
    """Whether the label is of classes or of numbers, where its values should not decide that."""
    time: str | None = None
    """The column with the cutoff of each example, where it is not the time of the table."""


@dataclass(frozen=True)
class Folds:
    """Known folds: the values of a column of the target (one of `columns`, as `table.column`),
    or a held-out table in `file`.
    """

    name: str
    columns: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    file: str | None = None


class Home(NamedTuple):
    """The database that tables were read from: the dialect of its SQL and the schema in it."""

    dialect: str
    schema: str


@dataclass(frozen=True)
class Schema:
    """Tables, links, tasks and folds.

    `location` is the file they were read from, for messages, `home` a database with schemas.
    """

    tables: Mapping[str, TableSchema]
    foreign_keys: tuple[ForeignKey, ...] = ()
    target: Task | None = None
    tasks: tuple[Task, ...] = ()
    folds: tuple[Folds, ...] = ()
    name: str = ""
    title: str = ""
    location: str = "schema"
    home: Home | None = None

    def table(self, name: str) -> TableSchema:
        """The table of this name, or an error that suggests one."""
        if name not in self.tables:
            raise DataError.unknown_table(name, self.tables)
        return self.tables[name]

    def task(self, name: str | None = None) -> Task:
        """The task of this name; without a name `[target]`, or the first task when there is no `[target]`."""
        if name is None:
            if self.target is not None:
                return self.target
            if self.tasks:
                return self.tasks[0]
            raise DataError(
                f"{self.location}: there is no [target] and no [[task]]; "
                "add a [target] with table, key, label and positive"
            )
        for task in self.tasks:
            if task.name == name:
                return task
        raise DataError(
            f"{self.location}: there is no task '{name}'{did_you_mean(name, [task.name for task in self.tasks])}"
        )

    def domains(self) -> dict[tuple[str, str], str]:
        """The domain of each key column: columns joined by foreign keys or by an equal `domain` name share one.

        A domain is called by the `domain` name where one is given, otherwise by its first referenced column.
        """
        keys = [
            (table.name, column) for table in self.tables.values() for column in table.columns if column.type == "key"
        ]
        groups = _UnionFind([(table, column.name) for table, column in keys])
        named: dict[str, tuple[str, str]] = {}
        for table, column in keys:
            if column.domain is not None:
                groups.union(named.setdefault(column.domain, (table, column.name)), (table, column.name))
        for link in self.foreign_keys:
            groups.union((link.to_table, link.to_column), (link.table, link.column))
        names: dict[tuple[str, str], str] = {}
        for table, column in keys:
            if column.domain is not None:
                names.setdefault(groups.find((table, column.name)), column.domain)
        for link in self.foreign_keys:
            names.setdefault(groups.find((link.to_table, link.to_column)), f"{link.to_table}.{link.to_column}")
        return {
            (table, column.name): names.get(groups.find((table, column.name)), f"{table}.{column.name}")
            for table, column in keys
        }

    def validate(self) -> Schema:
        """Check that every name refers to something, and give the schema back."""
        if not self.tables:
            raise DataError(f"{self.location}: there are no tables; add a [tables.NAME] for each file")
        for table in self.tables.values():
            self._validate_table(table)
        for link in self.foreign_keys:
            self._validate_link(link)
        for name, count in Counter(task.name for task in self.tasks).items():
            if count > 1:
                raise DataError(f"{self.location}: the task '{name}' is given twice; rename one of them")
        for task in ([self.target] if self.target else []) + list(self.tasks):
            self._validate_task(task)
        for folds in self.folds:
            for reference in folds.columns:
                self._resolve(reference, f"the folds '{folds.name}'")
        return self

    def _validate_table(self, table: TableSchema) -> None:
        names = [column.name for column in table.columns]
        for name, count in Counter(names).items():
            if count > 1:
                raise DataError(
                    f"{self.location}: table '{table.name}' has the column '{name}' twice; rename or remove one of them"
                )
        for name in table.primary_key:
            self._column(table.name, name, f"the primary key of table '{table.name}'")
        if table.time is not None:
            self._validate_time(table, table.time, f"the time of table '{table.name}'")
        self._validate_known_later(table)

    def _validate_time(self, table: TableSchema, name: str, place: str) -> None:
        if self._column(table.name, name, place).type == "key":
            raise DataError(
                f"{self.location}: {place}: '{table.name}.{name}' is a key, which says no time; "
                "name a column of dates or numbers"
            )

    def _validate_known_later(self, table: TableSchema) -> None:
        place, dated_by = f"known_later of table '{table.name}'", dict[str, str]()
        for dating, names in table.known_later.items():
            self._validate_time(table, dating, place)
            if dating == table.time:
                raise DataError(
                    f"{self.location}: {place}: '{dating}' is the time of the row itself, which all of its columns "
                    "have; name the column with the later time, or exclude the columns"
                )
            for name in names:
                if self._column(table.name, name, place).type == "key" or name == table.time:
                    what = "the time of the row" if name == table.time else "a key"
                    raise DataError(
                        f"{self.location}: {place}: '{table.name}.{name}' is {what}, which cannot be filled in later; "
                        "exclude the column instead"
                    )
                if dated_by.setdefault(name, dating) != dating:
                    raise DataError(
                        f"{self.location}: {place}: '{name}' stands with both '{dated_by[name]}' and '{dating}'; "
                        "leave the later one of them"
                    )

    def _validate_link(self, link: ForeignKey) -> None:
        for table, column in ((link.table, link.column), (link.to_table, link.to_column)):
            found = self._column(table, column, f"the foreign key {link}")
            if found.type != "key":
                raise DataError(
                    f"{self.location}: the foreign key {link} needs '{table}.{column}' of type 'key', not "
                    f"'{found.type}'"
                )

    def _validate_task(self, task: Task) -> None:
        is_written = self.location.endswith(".toml")  # otherwise the user has not seen a [target]
        place = f"the task '{task.name}'" if task.name else "[target]" if is_written else "the task"
        if task.table not in self.tables:
            raise DataError(
                f"{self.location}: {place}: there is no table '{task.table}'{did_you_mean(task.table, self.tables)}"
            )
        columns = {column.name for column in self.tables[task.table].columns}
        for name in (*task.key, *([] if task.label is None else [task.label]), *task.where):
            if name not in columns:
                raise DataError(
                    f"{self.location}: {place}: table '{task.table}' has no column "
                    f"'{name}'{did_you_mean(name, columns)}"
                )
        for name in task.key:
            if task.key.count(name) > 1:
                raise DataError(f"{self.location}: {place}: the key names the column '{name}' twice; name it once")
            if self.tables[task.table].column(name).type != "key":
                raise DataError(f"{self.location}: {place}: the key column '{task.table}.{name}' must have type 'key'")
            if name == task.label:
                raise DataError(
                    f"{self.location}: {place}: '{task.table}.{name}' is named both as a key and as the label; "
                    "choose another label"
                )
        self._validate_cutoff(task, place)
        self._validate_sides(task, place)
        for name in task.exclude_tables:
            if name not in self.tables:
                raise DataError(
                    f"{self.location}: {place}: exclude_tables names no table '{name}'{did_you_mean(name, self.tables)}"
                )
        if task.table in task.exclude_tables:
            raise DataError(
                f"{self.location}: {place}: exclude_tables hides the target table '{task.table}' itself; "
                "remove it there"
            )
        everywhere = {column.name for table in self.tables.values() for column in table.columns}
        for name in task.exclude_columns:
            if name not in everywhere:
                self._resolve(name, f"exclude_columns (--exclude) of {place}")

    def _validate_sides(self, task: Task, place: str) -> None:
        if task.predicts == "numbers" and (task.positive or task.negative):
            side = "positive" if task.positive else "negative"
            raise DataError(f"{self.location}: {place}: numbers have no {side} value; leave out '{side}' or 'predicts'")
        for value in task.positive:
            if value in task.negative:
                raise DataError(
                    f"{self.location}: {place}: the value '{value}' is named both as positive and as negative; name it "
                    "once"
                )

    def _validate_cutoff(self, task: Task, place: str) -> None:
        table = self.tables[task.table]
        time = table.time if task.time is None else task.time
        if time is None:
            return
        self._validate_time(table, time, f"the time of {place}")
        if any(time in (dating, *names) for dating, names in table.known_later.items()):
            raise DataError(
                f"{self.location}: {place}: '{task.table}.{time}' is the time up to which examples may look, and "
                "cannot stand in known_later as well; exclude the columns that are not known then"
            )
        if time == task.label:
            raise DataError(
                f"{self.location}: {place}: '{task.table}.{time}' is named both as the time and as the label; "
                "name the column that says up to when an example may look"
            )

    def _resolve(self, reference: str, place: str) -> None:
        table, _, column = reference.partition(".")
        if not column:
            known = {column.name for table in self.tables.values() for column in table.columns}
            raise DataError(
                f"{self.location}: {place}: no table has a column '{reference}'{did_you_mean(reference, known)}"
            )
        self._column(table, column, place)

    def _column(self, table: str, column: str, place: str) -> ColumnSchema:
        if table not in self.tables:
            raise DataError(f"{self.location}: {place}: there is no table '{table}'{did_you_mean(table, self.tables)}")
        for found in self.tables[table].columns:
            if found.name == column:
                return found
        known = [found.name for found in self.tables[table].columns]
        raise DataError(
            f"{self.location}: {place}: table '{table}' has no column '{column}'{did_you_mean(column, known)}"
        )


class _UnionFind:
    def __init__(self, items: Iterable[tuple[str, str]]) -> None:
        self._parent = {item: item for item in items}

    def find(self, item: tuple[str, str]) -> tuple[str, str]:
        while self._parent[item] != item:
            item = self._parent[item]
        return item

    def union(self, one: tuple[str, str], other: tuple[str, str]) -> None:
        self._parent[self.find(other)] = self.find(one)


def stated_types(
    types: Mapping[str, str], columns: Mapping[str, Collection[str]], location: str
) -> dict[tuple[str, str], ColumnKind]:
    """The types that a user states as `{"table.column": type}`, by table and column, which must be there."""
    found: dict[tuple[str, str], ColumnKind] = {}
    for reference, kind in types.items():
        table, column = split_reference(str(reference), columns)
        if table not in columns:
            raise DataError(f"{location}: types (--type): there is no table '{table}'{did_you_mean(table, columns)}")
        if column not in columns[table]:
            hint = did_you_mean(column, columns[table])
            raise DataError(f"{location}: types (--type): table '{table}' has no column '{column}'{hint}")
        if kind not in (*COLUMN_TYPES, *ORDERS):
            hint = did_you_mean(str(kind), (*COLUMN_TYPES, *ORDERS))
            raise DataError(f"{location}: types (--type): unknown type '{kind}' of {table}.{column}{hint}")
        found[table, column] = "date" if kind in ORDERS else cast(ColumnKind, kind)
    return found


def split_reference(reference: str, tables: Iterable[str]) -> tuple[str, str]:
    """`table.column` in two; the longest table name wins, as names may contain dots.

    >>> split_reference("atom.drug", ["drug", "atom"])
    ('atom', 'drug')
    """
    for table in sorted(tables, key=len, reverse=True):
        if reference.startswith(table + "."):
            return table, reference[len(table) + 1 :]
    table, _, column = reference.partition(".")
    if not column:
        raise DataError(f"'{reference}' is not of the form 'table.column'; write the table before the column")
    return table, column
