"""Model files: JSON with a format version and a checksum, written whole or not at all, read without executing anything."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hornboost.data.build import Target
from hornboost.data.describe import type_name
from hornboost.errors import ClauseError, ModelError
from hornboost.logic.clause import Clause
from hornboost.model.ensemble import Ensemble, Rule

if TYPE_CHECKING:
    from hornboost.data import Database

VERSION = 1
TYPES = frozenset({"key", "nominal", "numeric", "date"})
_DTYPE = re.compile(r"object|bool|<U\d{1,6}|<[iuf][1248]|\|[iu]1")


@dataclass(frozen=True)
class SavedColumn:
    """A column that the model was trained with; `given` ones came with the examples and are not in the database.

    Key columns of one `domain` can be joined.
    """

    name: str
    type: str
    domain: str | None = None
    given: bool = False


@dataclass(frozen=True, eq=False)
class SavedModel:
    """Everything in a model file.

    `classes` are the labels as they were given to `fit`; `schema` holds the tables that the rules mention, with all their columns;
    `is_relational` says whether a database stands behind the examples; `training` is what a reader may want to know about the fit.
    """

    ensemble: Ensemble
    classes: NDArray[Any]
    target: Target
    schema: Mapping[str, tuple[SavedColumn, ...]]
    is_relational: bool = True
    training: Mapping[str, Any] = field(default_factory=dict)

    def used(self) -> dict[str, dict[str, str]]:
        """The columns that predicting needs, by table, with their types: those of the rules and the target's key."""
        names: dict[str, set[str]] = {self.target.table: set(self.target.key)}
        for rule in self.ensemble.rules:
            for literal in rule.clause.body:
                columns = names.setdefault(literal.table, set())
                columns.update(column for column, _ in literal.bindings)
                columns.update(test.column for test in literal.tests)
        return {
            table: {column.name: column.type for column in self.schema[table] if column.name in columns and not column.given}
            for table, columns in sorted(names.items())
        }

    @property
    def fingerprint(self) -> str:
        """A digest of the tables, columns and types that predicting needs."""
        return _digest(self.used())

    def check_schema(self, database: Database) -> None:
        """Refuse a database that lacks something the model needs, naming it."""
        if database.target.table != self.target.table:
            raise ModelError(
                f"the model predicts rows of table '{self.target.table}', and this database's target is '{database.target.table}'; "
                f"open it with target='{self.target.table}'"
            )
        for table, columns in self.used().items():
            if table not in database.tables:
                raise ModelError(f"the model needs the table '{table}', which this database does not have")
            present = database.tables[table].columns
            for name, kind in columns.items():
                if name not in present:
                    hidden = "; it is hidden here as the label or by exclude_columns" if _is_hidden(database, table, name) else ""
                    raise ModelError(f"the model needs the column '{name}' of table '{table}', which this database does not have{hidden}")
                found = type_name(present[name])
                if found != kind:
                    raise ModelError(f"the model needs the column '{name}' of table '{table}' as {kind}, and here it is {found}")
        self._check_domains(database)

    def _check_domains(self, database: Database) -> None:
        for rule in self.ensemble.rules:
            domains: dict[str, tuple[str | None, str]] = {}
            for literal in rule.clause.body:
                for column, variable in literal.bindings:
                    domain = database.tables[literal.table].columns[column].domain
                    first, where = domains.setdefault(variable, (domain, f"{literal.table}.{column}"))
                    if first != domain:
                        raise ModelError(
                            f"the model joins {where} with {literal.table}.{column}, and in this database these are different keys; "
                            "declare the foreign key between them"
                        )


def saved_schema(ensemble: Ensemble, database: Database, given: Mapping[str, str]) -> dict[str, tuple[SavedColumn, ...]]:
    """The tables that the rules mention, with the columns of the database and those that came with the examples (`given`: name to type)."""
    target = database.target.table
    names = {target} | {literal.table for rule in ensemble.rules for literal in rule.clause.body}
    schema = {}
    for name in sorted(names):
        columns = [SavedColumn(column.name, type_name(column), column.domain) for column in database.tables[name].columns.values()]
        if name == target:
            columns += [SavedColumn(column, kind, given=True) for column, kind in given.items()]
        schema[name] = tuple(columns)
    return schema


def to_bytes(model: SavedModel) -> bytes:
    """The file of a model; equal models give equal bytes."""
    return sealed("model", VERSION, _payload(model))


def from_bytes(content: bytes, place: str) -> SavedModel:
    """The model in a file's content; `place` names the file in errors."""
    body = unsealed(content, place, "model", VERSION, "give one that 'fit' or 'save' wrote")
    try:
        return _model(body)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        what = error if isinstance(error, ModelError | ClauseError) else type(error).__name__
        raise ModelError(f"{place}: the model's content is not valid ({what}); fit again") from None


def save(model: SavedModel, path: str | Path) -> None:
    """Write a model, whole or not at all."""
    write_whole(path, to_bytes(model))


def load(path: str | Path) -> SavedModel:
    """Read a model and check all of it."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: the model cannot be read ({error.strerror}); check the path") from None
    except ValueError:
        raise ModelError(f"{str(path)!r} is no path; check it") from None
    return from_bytes(content, str(path))


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one; devices and pipes are written directly."""
    place = Path(os.path.realpath(path))
    try:
        if place.exists() and not stat.S_ISREG(place.stat().st_mode):
            with place.open("wb", buffering=0) as device:
                device.write(content)
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{place.name[:100]}.", suffix=".tmp", dir=place.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~_umask())
            os.replace(temporary, place)
        except BaseException:
            os.unlink(temporary)
            raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"{path}: the file cannot be written ({reason}); choose another place") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


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
            }
            for rule in ensemble.rules
        ],
        "target": asdict(model.target),
        "schema": {
            table: [{name: value for name, value in asdict(column).items() if value not in (None, False)} for column in columns]
            for table, columns in model.schema.items()
        },
        "fingerprint": model.fingerprint,
        "relational": model.is_relational,
        "training": dict(model.training),
    }


def _model(content: Mapping[str, Any]) -> SavedModel:
    classes = _classes(content["classes"])
    texts = tuple(_text(value) for value in content["classes"]["texts"])
    intercept = _numbers(content["intercept"])
    n_scores = len(intercept)
    calibration = tuple(_pair(values) for values in content["calibration"])
    rules = tuple(_rule(values, n_scores) for values in content["rules"])
    if len(texts) != len(classes) or n_scores not in {1, len(texts)} or len(calibration) not in {0, n_scores}:
        _fail("the numbers of classes and scores do not agree")
    if content["link"] not in ("sigmoid", "softmax"):
        _fail(f"there is no link {content['link']!r}")
    schema = {_text(table): tuple(_saved_column(column) for column in columns) for table, columns in content["schema"].items()}
    model = SavedModel(
        Ensemble(texts, rules, intercept, content["link"], calibration),
        classes,
        _target(content["target"]),
        schema,
        bool(content["relational"]),
        dict(content["training"]),
    )
    _check_names(model)
    if model.fingerprint != content["fingerprint"]:
        _fail("the schema's fingerprint does not match")
    return model


def _target(content: Mapping[str, Any]) -> Target:
    label, positive, negative = (None if content[name] is None else _text(content[name]) for name in ("label", "positive", "negative"))
    key, classes = (tuple(_text(value) for value in content[name]) for name in ("key", "classes"))
    return Target(_text(content["table"]), key, label, positive, negative, classes)


def _check_names(model: SavedModel) -> None:
    if model.target.table not in model.schema:
        _fail(f"the schema does not hold the target table '{model.target.table}'")
    known = {table: {column.name for column in columns} for table, columns in model.schema.items()}
    for rule in model.ensemble.rules:
        if rule.clause.body[0].table != model.target.table:
            _fail(f"a rule does not begin with the target table '{model.target.table}'")
        for literal in rule.clause.body:
            names = [column for column, _ in literal.bindings] + [test.column for test in literal.tests]
            if literal.table not in known or not known[literal.table].issuperset(names):
                _fail(f"a rule names a column of table '{literal.table}' that the schema does not hold")


def _rule(content: Mapping[str, Any], n_scores: int) -> Rule:
    votes, otherwise = _numbers(content["votes"]), _numbers(content["otherwise"])
    if len(votes) != n_scores or len(otherwise) not in (0, n_scores):
        _fail("a rule does not have a vote for each score")
    if content["origin"] not in ("learned", "prior"):
        _fail(f"there is no origin {content['origin']!r}")
    return Rule(Clause.parse(_text(content["clause"])), votes, otherwise, _numbers(content["coverage"]), content["origin"])


def _classes(content: Mapping[str, Any]) -> NDArray[Any]:
    dtype = _text(content["dtype"])
    if not _DTYPE.fullmatch(dtype):
        _fail(f"there is no class type '{dtype}'")
    if not all(isinstance(value, str | int | float | bool) for value in content["values"]):
        _fail("a class is neither text nor a number")
    return np.array(content["values"], dtype=dtype)


def _dtype(classes: NDArray[Any]) -> str:
    if classes.dtype.kind not in "OUiufb" or not all(isinstance(value, str | int | float | bool) for value in classes.tolist()):
        raise ModelError(f"classes of type '{classes.dtype}' cannot be saved; use text, whole numbers, floats or booleans as labels")
    return "object" if classes.dtype.kind == "O" else classes.dtype.newbyteorder("<").str if classes.dtype.kind != "b" else "bool"


def _saved_column(content: Mapping[str, Any]) -> SavedColumn:
    if content["type"] not in TYPES:
        _fail(f"there is no column type {content['type']!r}")
    domain = content.get("domain")
    return SavedColumn(
        _text(content["name"]), content["type"], None if domain is None else _text(domain), bool(content.get("given", False))
    )


def _floats(values: Iterable[float]) -> list[float]:
    numbers = [float(value) for value in values]
    if not all(math.isfinite(number) for number in numbers):
        raise ModelError("the model holds a vote that is not finite, so it cannot be saved; report this as a bug of the estimator")
    return numbers


def _numbers(values: Iterable[Any]) -> tuple[float, ...]:
    return tuple(float(value) if isinstance(value, int | float) else _fail("a number is missing") for value in values)


def _pair(values: Iterable[Any]) -> tuple[float, float]:
    a, b = _numbers(values)
    return a, b


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _fail("a name is not text")


def _fail(message: str) -> NoReturn:
    raise ModelError(message)


def _is_hidden(database: Database, table: str, column: str) -> bool:
    schema = database.schema.tables.get(table)
    return schema is not None and any(known.name == column for known in schema.columns)


def sealed(noun: str, version: int, body: Mapping[str, Any]) -> bytes:
    """A file that holds a model or the like: JSON with its format, a version and a checksum; equal bodies give equal bytes."""
    content = {"format": f"hornboost-{noun}", "version": version, noun: body}
    content["checksum"] = _digest(content)
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False, indent=1)
    return (text + "\n").encode("utf-8", "surrogatepass")


def unsealed(content: bytes, place: str, noun: str, version: int, way_out: str) -> Any:
    """The body of such a file, its format, version and checksum checked; `way_out` ends the sentence that refuses another file."""
    try:
        parsed = json.loads(content.decode("utf-8", "surrogatepass"), parse_constant=lambda name: _fail(f"'{name}' is no number"))
    except (ValueError, RecursionError):
        raise ModelError(f"{place}: the file is damaged, cut short or no {noun}; {way_out}") from None
    if not isinstance(parsed, dict) or parsed.get("format") != f"hornboost-{noun}":
        raise ModelError(f"{place}: this is no {noun} file of HornBoost; {way_out}")
    found = parsed.get("version")
    if found != version or isinstance(found, bool):
        versions = f"format version {found!r}, and this HornBoost reads {version}"
        raise ModelError(f"{place}: the {noun} has {versions}; install the one that wrote it, or {way_out}")
    checksum = parsed.pop("checksum", None)
    if checksum != _digest(parsed):
        raise ModelError(f"{place}: the checksum does not match, so the file was changed or damaged; {way_out}")
    return parsed.get(noun)


def _digest(content: Any) -> str:
    """SHA-256 of the canonical JSON."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
