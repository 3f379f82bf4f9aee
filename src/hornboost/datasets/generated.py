"""What a generator returns: tables, the rules planted in them, and the way into a `Database` or a folder."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Literal as Choice

import pyarrow as pa
from numpy.typing import NDArray

from hornboost.errors import DataError

if TYPE_CHECKING:
    from hornboost.data import Database


@dataclass(frozen=True)
class ColumnSpec:
    """Type of a generated column; a key names the domain whose constants it shares with other keys."""

    kind: Choice["key", "nominal", "numeric", "date"]
    domain: str | None = None


NOMINAL = ColumnSpec("nominal")
NUMERIC = ColumnSpec("numeric")
DATE = ColumnSpec("date")


def key(domain: str) -> ColumnSpec:
    return ColumnSpec("key", domain)


@dataclass(frozen=True)
class Plan:
    """The schema of a generated data set; the label is `positive` for the examples that a planted rule covers.

    Where it `is_of_numbers`, the heads of the rules tell how each changes the label. `times` and `known_later` are what
    a reader is told about what was known when.
    """

    name: str
    title: str
    target: str
    key: tuple[str, ...]
    label: str
    tables: Mapping[str, Mapping[str, ColumnSpec]]
    primary_keys: Mapping[str, tuple[str, ...]]
    foreign_keys: tuple[tuple[str, str], ...]
    rules: tuple[str, ...]
    is_of_numbers: bool = False
    times: Mapping[str, str] = field(default_factory=dict)
    known_later: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    positive: str = "1"
    negative: str = "0"

    def without_times(self) -> Plan:
        """The same schema, told by someone who does not think of time."""
        return replace(self, times={}, known_later={})


@dataclass(frozen=True, eq=False)
class Generated:
    """A generated data set: Arrow tables, and the planted rules as text.

    Without noise the positive examples are exactly those that some rule covers.

    Attributes
    ----------
    tables : dict
        The Arrow tables by name.

    Examples
    --------
    >>> from hornboost.datasets import trains
    >>> data = trains(10, seed=1)
    >>> sorted(data.tables)
    ['car', 'load', 'train']
    >>> data.rules[1]
    'eastbound="1" :- train(train=T), car(train=T, capacity>=112, capacity<=116).'
    """

    plan: Plan = field(repr=False)
    tables: Mapping[str, pa.Table] = field(repr=False)

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def rules(self) -> tuple[str, ...]:
        """The planted rules, in the syntax of `hornboost.Clause.parse`."""
        return self.plan.rules

    @property
    def labels(self) -> NDArray[Any]:
        """True for the positive examples, or their numbers, in the order of the target table."""
        label: NDArray[Any] = self.tables[self.plan.target].column(self.plan.label).to_numpy(zero_copy_only=False)
        return label if self.plan.is_of_numbers else label == self.plan.positive

    def database(self, *, times: bool = True) -> Database:
        """Return the tables as a `Database`, with the planned keys and links; its examples come as pandas.

        Without `times` nothing is declared about what was known when, so that learners see all rows.
        """
        from hornboost.data import Database

        known = {"times": dict(self.plan.times), "known_later": dict(self.plan.known_later)} if times else {}
        keys = {
            table: {name: column.domain for name, column in columns.items() if column.kind == "key"}
            for table, columns in self.plan.tables.items()
        }
        return Database.from_frames(
            {**self.tables, self.plan.target: self.tables[self.plan.target].to_pandas()},
            target=self.plan.target,
            key=list(self.plan.key),
            label=self.plan.label,
            **({"predicts": "numbers"} if self.plan.is_of_numbers else {"positive": self.plan.positive}),
            foreign_keys=list(self.plan.foreign_keys),
            keys=keys,
            **{option: declared for option, declared in known.items() if declared},
        )

    def write(self, folder: str | Path, *, times: bool = True) -> Path:
        """Write a Parquet file per table and a `schema.toml`, for `Database.from_folder`, and return the folder.

        Without `times` the schema says nothing about what was known when.
        """
        return write_parquet(self.plan if times else self.plan.without_times(), [self.tables], folder)

    def write_csv(self, folder: str | Path) -> Path:
        """Write a CSV file per table into a new folder, and nothing that says how they belong together."""
        folder = Path(folder)
        try:
            folder.mkdir(parents=True)
            for name, table in self.tables.items():
                with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
                    rows = csv.writer(file, lineterminator="\n")
                    rows.writerow(table.column_names)
                    rows.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
        except OSError as error:
            raise DataError(
                f"{folder}: the tables cannot be written ({error.strerror}); name a folder that does not exist yet"
            ) from None
        return folder


def write_parquet(plan: Plan, chunks: Iterable[Mapping[str, pa.Table]], folder: str | Path) -> Path:
    """Write chunk after chunk as row groups, so that memory holds one chunk.

    `schema.toml` comes last and marks a complete folder.
    """
    import pyarrow.parquet as pq

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    writers: dict[str, pq.ParquetWriter] = {}
    rows = dict.fromkeys(plan.tables, 0)
    positives = unlabelled = 0
    try:
        for chunk in chunks:
            for name, table in chunk.items():
                if name not in writers:
                    writers[name] = pq.ParquetWriter(folder / f"{name}.parquet", table.schema)
                writers[name].write_table(table)
                rows[name] += table.num_rows
            positives += 0 if plan.is_of_numbers else int(Generated(plan, chunk).labels.sum())
            unlabelled += chunk[plan.target].column(plan.label).null_count
    finally:
        for writer in writers.values():
            writer.close()
    (folder / "schema.toml").write_text(_toml(plan, rows, rows[plan.target] - unlabelled, positives), encoding="utf-8")
    return folder


def _toml(plan: Plan, rows: Mapping[str, int], examples: int, positives: int) -> str:
    task = [
        f"table = {json.dumps(plan.target)}",
        f"key = {json.dumps(plan.key)}",
        f"label = {json.dumps(plan.label)}",
        f"examples = {examples}",
    ]
    if plan.is_of_numbers:
        task.append('predicts = "numbers"')
    else:
        sides = f"positives = {positives}", f"negatives = {examples - positives}"
        task += [f'positive = "{plan.positive}"', f'negative = "{plan.negative}"', *sides]
    lines = [f"name = {json.dumps(plan.name)}", f"title = {json.dumps(plan.title)}", "notes = ["]
    lines += [f"  {json.dumps('planted rule: ' + rule)}," for rule in plan.rules]
    lines += ["]", "", "[target]", *task, "", "[[task]]", f"name = {json.dumps(plan.label)}", *task]
    for table, columns in plan.tables.items():
        lines += ["", f"[tables.{table}]", f'file = "{table}.parquet"', f"rows = {rows[table]}"]
        if table in plan.primary_keys:
            lines.append(f"primary_key = {json.dumps(plan.primary_keys[table])}")
        if table in plan.times:
            lines.append(f"time = {json.dumps(plan.times[table])}")
        if table in plan.known_later:
            late = ", ".join(f"{date} = {json.dumps(columns)}" for date, columns in plan.known_later[table].items())
            lines.append(f"known_later = {{ {late} }}")
        lines.append("columns = [")
        for name, column in columns.items():
            domain = f", domain = {json.dumps(column.domain)}" if column.domain else ""
            lines.append(f"  {{ name = {json.dumps(name)}, type = {json.dumps(column.kind)}{domain} }},")
        lines.append("]")
    for source, destination in plan.foreign_keys:
        lines += ["", "[[foreign_keys]]", f"from = {json.dumps(source)}", f"to = {json.dumps(destination)}"]
    return "\n".join(lines) + "\n"


def check_sizes(generator: str, noise: float, **counts: int) -> None:
    """Refuse sizes below 1 and a noise outside [0, 0.5]."""
    for name, count in counts.items():
        if count < 1:
            raise DataError(f"The '{name}' parameter of {generator} must be an int in [1, inf). Got {count!r} instead.")
    if not 0 <= noise <= 0.5:
        raise DataError(f"The 'noise' parameter of {generator} must be a float in [0, 0.5]. Got {noise!r} instead.")
