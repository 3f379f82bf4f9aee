"""Model files: JSON with a format version and a checksum, written whole or not at all,
read without executing anything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.built import Target
from hornboost.data.describe import type_name
from hornboost.data.schema import Home
from hornboost.data.values import is_stored_type
from hornboost.errors import ClauseError, ModelError
from hornboost.logic.aggregate import columns_of
from hornboost.logic.clause import Clause
from hornboost.logic.text import print_path
from hornboost.model import times
from hornboost.model.dates import check_dates
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.model.part import ParsedPart
from hornboost.model.routes import Routes, aggregates_of, check_aggregates, check_routes, read, written
from hornboost.model.scale import Link
from hornboost.model.seal import digest, read_bytes, sealed, unsealed
from hornboost.model.times import Late, SavedTime
from hornboost.model.tuning import check as check_tuning
from hornboost.model.whole import write_whole
from hornboost.sql.dialects import DIALECTS

if TYPE_CHECKING:
    from hornboost.data import Database

VERSION = 5
"""Version 1 did not tell how columns are stored, version 2 knew no aggregates, version 3 no times, and version 4 no
tests `column!="value"`; all are read."""

TYPES = frozenset({"key", "nominal", "numeric", "date"})
LINKS: dict[str, Link] = {"sigmoid": "sigmoid", "softmax": "softmax", "identity": "identity", "log": "log"}
ORIGINS = frozenset({"learned", "prior"})
NOT_OF_THE_MODEL = frozenset(
    {
        "database",
        "callbacks",
        "verbose",
        "client",
        "n_jobs",
        "cache_bytes",
        "memory_limit",
        "time_limit",
        "checkpoint",
        "partitions",
    }
)
"""Parameters that do not change what is learned (or may not be written down),
so that they change no byte of a model file."""

MOST_CLASS_BYTES = 1 << 28
_DTYPE = re.compile(r"object|bool|<U\d{1,6}|<[iuf][1248]|\|[iu]1")


@dataclass(frozen=True)
class SavedColumn:
    """A column that the model was trained with; `given` ones came with the examples and are not in the database.

    Key columns of one `domain` can be joined; `stored` is the type of the values behind them, as
    `data.values.stored_type` names it.
    """

    name: str
    type: str
    domain: str | None = None
    given: bool = False
    stored: str | None = None


@dataclass(frozen=True, eq=False)
class SavedModel:
    """Everything in a model file.

    `classes` are the labels as they were given to `fit`, none where numbers are predicted; `schema` holds the tables
    that the rules mention, with all their columns; `is_relational` says whether a database stands behind the examples;
    `training` is what a reader may want to know about the fit. `home` is the database that the tables were read from,
    if it has schemas; `symmetric` names two keys of each relation that holds in both directions. `hidden` are
    the columns of a target without a key that the model was not shown, whose names a statement that hands out all
    columns must not take. `routes` are the joins of each path of an aggregate. `times` says of tables from when on
    their rows are known (of the target, up to when an example may look), `late` which columns are filled in later.
    """

    ensemble: Ensemble
    classes: NDArray[Any]
    target: Target
    schema: Mapping[str, tuple[SavedColumn, ...]]
    is_relational: bool = True
    training: Mapping[str, Any] = field(default_factory=dict)
    home: Home | None = None
    symmetric: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    routes: Routes = field(default_factory=dict)
    times: Mapping[str, SavedTime] = field(default_factory=dict)
    late: Late = field(default_factory=dict)

    def used(self) -> dict[str, dict[str, str]]:
        """The columns that predicting needs, by table, with their types: those of the rules and the target's key."""
        names: dict[str, set[str]] = {self.target.table: set(self.target.key)}
        for rule in self.ensemble.rules:
            for literal in rule.clause.body:
                columns = names.setdefault(literal.table, set())
                columns.update(column for column, _ in literal.bindings)
                columns.update(test.column for test in literal.tests if isinstance(test.column, str))
        for aggregate in aggregates_of(self.ensemble.rules):
            for table, name in columns_of(aggregate, self.target.table, self.routes[print_path(aggregate.path)]):
                names.setdefault(table, set()).add(name)
        for table, late in self.late.items():
            columns = names.get(table, set())
            columns.update([dating for column, dating in late.items() if column in columns])
        return {
            table: {
                column.name: column.type for column in self.schema[table] if column.name in columns and not column.given
            }
            for table, columns in sorted(names.items())
        }

    def columns(self, table: str | None = None) -> dict[tuple[str, str], SavedColumn]:
        """The columns that predicting needs, with all that is known of them.

        `table` is another name of the target table.
        """
        target = self.target.table
        return {
            (table if table is not None and name == target else name, column.name): column
            for name, used in self.used().items()
            for column in self.schema[name]
            if column.name in used
        }

    @property
    def fingerprint(self) -> str:
        """A digest of the tables, columns and types that predicting needs."""
        return digest({"columns": self.used(), **times.written(self)} if self.times else self.used())

    def check_schema(self, database: Database) -> None:
        """Refuse a database that lacks something the model needs, naming it."""
        if database.target.table != self.target.table:
            raise ModelError(
                f"the model predicts rows of table '{self.target.table}', and this database's target is "
                f"'{database.target.table}'; "
                f"open it with target='{self.target.table}' (--target {self.target.table})"
            )
        place = database.schema.location
        for table, columns in self.used().items():
            if table not in database.tables:
                raise ModelError(f"{place}: the model needs the table '{table}', which this database does not have")
            present = database.tables[table].columns
            for name, kind in columns.items():
                if name not in present:
                    hidden = (
                        "; it is hidden here as the label or by exclude_columns"
                        if _is_hidden(database, table, name)
                        else ""
                    )
                    raise ModelError(
                        f"{place}: the model needs the column '{name}' of table '{table}', which this database does "
                        f"not have{hidden}"
                    )
                found = type_name(present[name])
                if found != kind:
                    way = "; declare its foreign key (foreign_keys=, --link)" if kind == "key" else ""
                    if database.stored is not None:
                        way = f"; partition the source again with --type {quote(f'{table}.{name}')}={kind}"
                        way += ", or declare its foreign key (--link)" if kind == "key" else ""
                    raise ModelError(
                        f"{place}: the model needs the column '{name}' of table '{table}' as {kind}, and here it is "
                        f"{found}{way}"
                    )
        check_dates(self.columns(), database)
        times.check_same(self, database)
        self._check_domains(database)
        check_routes(self, database)

    def _check_domains(self, database: Database) -> None:
        for rule in self.ensemble.rules:
            domains: dict[str, tuple[str | None, str]] = {}
            for literal in rule.clause.body:
                for column, variable in literal.bindings:
                    domain = database.tables[literal.table].columns[column].domain
                    first, where = domains.setdefault(variable, (domain, f"{literal.table}.{column}"))
                    if first != domain:
                        raise ModelError(
                            f"the model joins {where} with {literal.table}.{column}, and in this database "
                            "these are different keys; "
                            "declare the foreign key between them"
                        )


def saved_schema(
    ensemble: Ensemble, database: Database, given: Mapping[str, str], routes: Routes | None = None
) -> dict[str, tuple[SavedColumn, ...]]:
    """The tables that the rules mention, with the columns of the database and those
    that came with the examples (`given`: name to type).
    """
    target = database.target.table
    names = {target} | {literal.table for rule in ensemble.rules for literal in rule.clause.body}
    names |= {step.table for route in (routes or {}).values() for step in route}
    schema = {}
    for name in sorted(names):
        columns = [
            SavedColumn(column.name, type_name(column), column.domain, stored=column.stored)
            for column in database.tables[name].columns.values()
        ]
        if name == target:
            columns += [SavedColumn(column, kind, given=True) for column, kind in given.items()]
        schema[name] = tuple(columns)
    return schema


def to_bytes(model: SavedModel) -> bytes:
    """The file of a model; equal models give equal bytes."""
    return sealed("model", VERSION if _has_negations(model) else 4, _payload(model))


def _has_negations(model: SavedModel) -> bool:
    """Whether there are tests that earlier versions do not know, or trials of such."""
    tests = (test for rule in model.ensemble.rules for literal in rule.clause.body for test in literal.tests)
    trials = model.training.get("tuning", {}).get("trials", ())
    return any(test.op == "!=" for test in tests) or any(trial.get("negations", False) for trial in trials)


def from_bytes(content: bytes, place: str) -> SavedModel:
    """The model in a file's content; `place` names the file in errors."""
    body = unsealed(content, place, "model", VERSION, "give one that 'fit' or 'save' wrote")
    try:
        return _model(ParsedPart(body))
    except (ModelError, ClauseError) as error:
        raise ModelError(f"{place}: the model's content is not valid ({error}); fit again") from None


def save(model: SavedModel, path: str | Path) -> None:
    """Write a model, whole or not at all."""
    write_whole(path, to_bytes(model))


def load(path: str | Path) -> SavedModel:
    """Read a model and check all of it."""
    try:
        content = read_bytes(path, "model")
    except OSError as error:
        raise ModelError(f"{path}: the model cannot be read ({error.strerror}); check the path") from None
    except ModelError:
        raise
    except (TypeError, ValueError):
        raise ModelError(f"{str(path)!r} is no path; check it") from None
    return from_bytes(content, str(path))


def _payload(model: SavedModel) -> dict[str, Any]:
    ensemble = model.ensemble
    return {
        "classes": {"dtype": _dtype(model.classes), "values": model.classes.tolist(), "texts": list(ensemble.classes)},
        "intercept": _floats(ensemble.intercept),
        "link": ensemble.link,
        "calibration": [_floats(pair) for pair in ensemble.calibration],
        "rules": [
            {
                "clause": str(rule.clause),
                "votes": _floats(rule.votes),
                "otherwise": _floats(rule.otherwise),
                "coverage": _floats(rule.coverage),
                "origin": rule.origin,
                **({"means": _floats(rule.means)} if rule.means else {}),
            }
            for rule in ensemble.rules
        ],
        "target": asdict(model.target),
        "schema": {
            table: [
                {name: value for name, value in asdict(column).items() if value not in (None, False)}
                for column in columns
            ]
            for table, columns in model.schema.items()
        },
        "fingerprint": model.fingerprint,
        "relational": model.is_relational,
        "training": dict(model.training),
        **({"routes": written(model.routes)} if model.routes else {}),
        **({"home": model.home._asdict()} if model.home is not None else {}),
        **({"symmetric": {table: list(pair) for table, pair in model.symmetric.items()}} if model.symmetric else {}),
        **({"hidden": list(model.hidden)} if model.hidden else {}),
        **times.written(model),
    }


def _model(content: ParsedPart) -> SavedModel:
    classes = _classes(content["classes"])
    texts = content["classes"]["texts"].texts()
    link = LINKS[content["link"].one_of(LINKS)]
    is_of_numbers = link in ("identity", "log")
    if len(texts) != len(classes) or len(set(texts)) != len(texts) or bool(texts) == is_of_numbers:
        content["classes"].fail("does not have one text for each class")
    n_scores = len(content["intercept"])
    if n_scores not in {1, len(texts)} - {0} or len(content["calibration"]) not in {0, n_scores}:
        content["intercept"].fail("does not have one number for each score")
    a_and_b = [pair.numbers(2) for pair in content["calibration"]]
    model = SavedModel(
        Ensemble(
            texts,
            tuple(_rule(rule, n_scores, texts) for rule in content["rules"]),
            content["intercept"].numbers(n_scores),
            link,
            tuple((a, b) for a, b in a_and_b),
        ),
        classes,
        _target(content["target"]),
        {
            table: tuple(_saved_column(column) for column in columns)
            for table, columns in content["schema"].record().items()
        },
        content["relational"].flag(),
        _training(content["training"]),
        None
        if (home := content.get("home")) is None
        else Home(home["dialect"].one_of(frozenset(DIALECTS)), home["schema"].text()),
        {}
        if (symmetric := content.get("symmetric")) is None
        else {name: _key_pair(part) for name, part in symmetric.record().items()},
        () if (hidden := content.get("hidden")) is None else hidden.texts(),
        read(content.get("routes")),
        times.read_times(content.get("times")),
        times.read_late(content.get("late")),
    )
    times.check_times(model)
    _check_names(model)
    check_aggregates(model)
    if model.fingerprint != content["fingerprint"].value:
        content["fingerprint"].fail("does not match the schema")
    return model


def _key_pair(content: ParsedPart) -> tuple[str, str]:
    if len(content) != 2:
        content.fail("is no pair of columns")
    one, other = content.texts()
    return one, other


def _target(content: ParsedPart) -> Target:
    label, positive, negative = (
        None if (part := content.get(name)) is None else part.text() for name in ("label", "positive", "negative")
    )
    classes = content["classes"].texts()
    for side in (positive, negative):
        if side is not None and side not in classes:
            content.fail(f"names the class '{side}', which is none of its classes")
    return Target(content["table"].text(), content["key"].texts(), label, positive, negative, classes)


def _training(content: ParsedPart) -> dict[str, Any]:
    """What is told about the fit: parameters that a new fit may take, and figures of its rounds."""
    estimator = content.get("estimator")
    if estimator is not None and not estimator.text().isidentifier():
        estimator.fail("is no name of an estimator")
    weight = content.get("weight")
    if weight is not None and weight.value is not None and weight.number() < 0:
        weight.fail("is less than nothing")
    parameters = content.get("parameters")
    for name, parameter in {} if parameters is None else parameters.record().items():
        if name in NOT_OF_THE_MODEL:
            parameter.fail("is no parameter of a model")
    history = content.get("history")
    for row in () if history is None else history:
        row["round"].whole()
        for name, value in row.record().items():
            if name == "activated":
                value.texts()
            elif name not in ("round", "class"):
                value.number()
            elif isinstance(value.value, dict | list):
                value.fail("is no class")
    check_tuning(content)
    return dict(content.value)


def _check_names(model: SavedModel) -> None:
    if model.target.table not in model.schema:
        raise ModelError(f"the schema does not hold the target table '{model.target.table}'")
    known = {table: {column.name: column for column in columns} for table, columns in model.schema.items()}
    for table, columns in model.schema.items():
        if len(known[table]) < len(columns):
            raise ModelError(f"the schema names a column of table '{table}' twice")
    for table, pair in model.symmetric.items():
        if table in known and not all(column in known[table] and known[table][column].type == "key" for column in pair):
            raise ModelError(f"the symmetric relation '{table}' has no keys '{pair[0]}' and '{pair[1]}'")
    for rule in model.ensemble.rules:
        if rule.clause.body[0].table != model.target.table:
            raise ModelError(f"a rule does not begin with the target table '{model.target.table}'")
        for literal in rule.clause.body:
            names = [column for column, _ in literal.bindings]
            names += [test.column for test in literal.tests if isinstance(test.column, str)]
            aged = {model.times[literal.table].age} if literal.table in model.times else set()
            present = known.get(literal.table, {}).keys() | (aged if literal is not rule.clause.body[0] else set())
            if literal.table not in known or not present >= set(names):
                raise ModelError(f"a rule names a column of table '{literal.table}' that the schema does not hold")
            for column, variable in literal.bindings:
                if known[literal.table][column].type != "key":
                    raise ModelError(f"a rule binds '{variable}' to {literal.table}.{column}, which is no key")


def _rule(content: ParsedPart, n_scores: int, classes: tuple[str, ...]) -> Rule:
    clause = Clause.parse(content["clause"].text())
    if (clause.head.op == "=") != bool(classes):
        content["clause"].fail(f"does not predict {'a class' if classes else 'a number'}")
    if classes and clause.head.value not in classes:
        content["clause"].fail(f"predicts '{clause.head.value}', which is none of the classes")
    means = content.get("means")
    return Rule(
        clause,
        content["votes"].numbers(n_scores),
        content["otherwise"].numbers(0, n_scores),
        content["coverage"].numbers(0, len(classes) or 1),
        "prior" if content["origin"].one_of(ORIGINS) == "prior" else "learned",
        () if means is None else means.numbers(2),
    )


def _classes(content: ParsedPart) -> NDArray[Any]:
    name, values = content["dtype"].text(), [part.value for part in content["values"]]
    if not _DTYPE.fullmatch(name):
        content["dtype"].fail("is no type of classes")
    dtype = np.dtype(name)
    kinds: tuple[type, ...] = {"O": (str, int, float), "U": (str,), "b": (bool,), "f": (int, float)}.get(
        dtype.kind, (int,)
    )
    fits = all(isinstance(value, kinds) for value in values)
    if fits and dtype.kind == "U":
        fits = (
            all(len(value) <= dtype.itemsize // 4 for value in values)
            and dtype.itemsize * len(values) <= MOST_CLASS_BYTES
        )
    if fits and dtype.kind in "iu":
        fits = all(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max for value in values)
    if fits and dtype.kind == "f":
        fits = all(abs(value) <= float(np.finfo(dtype).max) for value in values)
    if not fits:
        content["values"].fail(f"are no classes of type '{name}'")
    found = np.empty(len(values), object) if dtype.kind == "O" else np.array(values, dtype=dtype)
    if dtype.kind == "O":
        found[:] = values
    return found


def _dtype(classes: NDArray[Any]) -> str:
    if classes.dtype.kind not in "OUiufb" or not all(
        isinstance(value, str | int | float | bool) for value in classes.tolist()
    ):
        raise ModelError(
            f"classes of type '{classes.dtype}' cannot be saved; use text, whole numbers, floats or booleans as labels"
        )
    return (
        "object"
        if classes.dtype.kind == "O"
        else classes.dtype.newbyteorder("<").str
        if classes.dtype.kind != "b"
        else "bool"
    )


def _saved_column(content: ParsedPart) -> SavedColumn:
    domain, given, stored = content.get("domain"), content.get("given"), content.get("stored")
    return SavedColumn(
        content["name"].text(),
        content["type"].one_of(TYPES),
        None if domain is None else domain.text(),
        False if given is None else given.flag(),
        None
        if stored is None
        else stored.value
        if is_stored_type(stored.text())
        else stored.fail("is no type of stored values"),
    )


def _floats(values: Iterable[float]) -> list[float]:
    numbers = [float(value) for value in values]
    if not all(math.isfinite(number) for number in numbers):
        raise ModelError(
            "the model holds a vote that is not finite, so it cannot be saved; report this as a bug of the estimator"
        )
    return numbers


def _is_hidden(database: Database, table: str, column: str) -> bool:
    schema = database.schema.tables.get(table)
    return schema is not None and any(known.name == column for known in schema.columns)
