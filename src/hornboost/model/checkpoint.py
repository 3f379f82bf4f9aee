"""Checkpoints: what the searches of a fit found, in a file from which it goes on to the very same model.

Every random choice comes from the seed, the round and the example, so a round needs no search to be repeated, only its
clauses.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from hashlib import sha256
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hornboost import __version__
from hornboost.engine.fit_check import check_specs
from hornboost.engine.tree import Join, Ref, Spec
from hornboost.errors import HornBoostError, ModelError, warn_caller
from hornboost.learners.memory import Memory, Outcome
from hornboost.logic.aggregate import Operand
from hornboost.logic.clause import Op, Test
from hornboost.logic.duration import is_duration
from hornboost.logic.moment import is_moment
from hornboost.logic.text import parse_aggregate
from hornboost.model.part import LARGEST, ParsedPart
from hornboost.model.seal import read_bytes, sealed, unsealed
from hornboost.model.whole import write_whole

if TYPE_CHECKING:
    from hornboost.data.table import Table
    from hornboost.engine import Engine
    from hornboost.learners.problem import Problem

VERSION = 3
_ANEW = "name another file, or delete this one to begin anew"
OPS: dict[str, Op] = {"=": "=", "!=": "!=", ">=": ">=", "<=": "<=", "missing": "missing"}
SECONDS, SHARE = 2.0, 0.05
"""Between two writes while searches follow each other at least so many seconds pass, and more where writing would take
a larger share of the time; the end of a fit, however it comes, is written at once."""


class Checkpoint:
    """What was found so far, run by run, and the joins refused on the way, for the fit that `identity` names."""

    def __init__(self, path: str | PathLike[str], identity: str, engine: Engine) -> None:
        """Go on from the file if there is one; one of another fit is an error.

        The engine has the record of refused joins.
        """
        self._path = Path(path)
        self._identity = identity
        self._runs: dict[str, list[Outcome]] = {}
        self._engine = engine
        self._refused = engine.refused
        self._due = time.monotonic() + SECONDS
        content = self._content()
        if content is None:
            self._write()  # a place that cannot be written is told now, not after the work
        else:
            self._read(content)

    def memory(self, run: str) -> Memory:
        """What is known of a run; what its searches find from now on is kept."""
        return Memory(self._runs.setdefault(run, []), self._noted)

    def forget(self, run: str) -> None:
        """Keep nothing of a run any more."""
        self._runs.pop(run, None)

    def _noted(self) -> None:
        """Write the file if the last time is some seconds ago."""
        if time.monotonic() > self._due:
            self.write()

    def write(self) -> None:
        """Write the file, whole or not at all.

        What was learned is worth more than the file, so a failure is only told.
        """
        started = time.monotonic()
        try:
            self._write()
        except ModelError as error:
            warn_caller(f"the checkpoint could not be written, and the fit goes on: {error}", UserWarning)
        ended = time.monotonic()
        self._due = ended + max(SECONDS, (ended - started) / SHARE)

    def _write(self) -> None:
        runs = {label: [_written(outcome) for outcome in found] for label, found in self._runs.items()}
        refused = [[[_join(join) for join in joins], count] for joins, count in self._refused.items()]
        write_whole(
            self._path, sealed("checkpoint", VERSION, {"identity": self._identity, "runs": runs, "refused": refused})
        )

    def _content(self) -> bytes | None:
        """What the file holds, if it exists."""
        try:
            return read_bytes(self._path, "checkpoint")
        except FileNotFoundError:
            return None
        except ModelError:
            raise
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ModelError(f"{self._path}: the checkpoint cannot be read ({reason}); name another file") from None

    def _read(self, content: bytes) -> None:
        body = ParsedPart(unsealed(content, str(self._path), "checkpoint", VERSION, _ANEW))
        try:
            identity = body["identity"].text()
            runs = {
                label: [_outcome_of(outcome) for outcome in found] for label, found in body["runs"].record().items()
            }
            refused = dict(_refused(found) for found in body["refused"])
            if identity == self._identity:
                for specs in {specs for found in runs.values() for outcome in found for specs in outcome.clauses}:
                    check_specs(self._engine, specs)
        except HornBoostError as error:
            raise ModelError(f"{self._path}: the checkpoint's content is not valid ({error}); {_ANEW}") from None
        if identity != self._identity:
            raise ModelError(f"{self._path}: this checkpoint is of other data or other settings; {_ANEW}")
        if any(count <= self._engine.most_entries for count in refused.values()):
            raise ModelError(
                f"{self._path}: the rules of this checkpoint were found without joins for which there is memory now; "
                f"give the memory_limit that they were found with, or {_ANEW}"
            )
        self._runs = runs
        self._refused.update(refused)


def identity(problem: Problem, settings: Iterable[tuple[str, Any]]) -> str:
    """A digest of all that decides what a fit learns.

    The settings, the examples with classes and weights, and the tables.
    """
    told = sorted((name, float(value) if isinstance(value, Real) else value) for name, value in settings)
    digest = sha256(repr((__version__, told)).encode())
    for values in (problem.classes, problem.weights, problem.content):
        digest.update(np.ascontiguousarray(values).view(np.uint8).data)
    digest.update(repr((problem.label, problem.labels)).encode())
    stored = problem.database.stored
    for table in (problem.examples, *(problem.database.tables.values() if stored is None else ())):
        _add(digest, table)
    if stored is not None:  # the rows of its tables are in these files
        digest.update(repr(sorted((name, file.sha256) for name, file in stored.manifest.files.items())).encode())
    return "sha256:" + digest.hexdigest()


def _add(digest: Any, table: Table) -> None:
    digest.update(repr((table.name, table.n_rows)).encode())
    for column in (*table.columns.values(), *([] if table.times is None else [table.times])):
        categories = None if column.categories is None else column.categories.tolist()
        digest.update(repr((column.name, column.kind, column.domain, column.is_date, categories)).encode())
        digest.update(np.ascontiguousarray(column.values).view(np.uint8).data)
    if table.times is not None or table.late:
        digest.update(repr((table.age, sorted(table.late.items()))).encode())


def _written(outcome: Outcome) -> dict[str, Any]:
    clauses = [[_spec(spec) for spec in specs] for specs in outcome.clauses]
    return {"clauses": clauses, "figures": [float(figure) for figure in outcome.figures]}


def _outcome_of(content: ParsedPart) -> Outcome:
    clauses = tuple(tuple(_spec_of(spec) for spec in specs) for specs in content["clauses"])
    return Outcome(clauses, tuple(figure.number() for figure in content["figures"]))


def _refused(content: ParsedPart) -> tuple[tuple[Join, ...], int]:
    joins, count = _fields(content, 2)
    return tuple(_join_of(join) for join in joins), count.whole()


def _fields(content: ParsedPart, n: int) -> list[ParsedPart]:
    return list(content) if len(content) == n else content.fail(f"does not hold {n} values")


def _spec(spec: Spec) -> dict[str, Any]:
    tests = [[_operand(test.column), test.op, _bound(test.value)] for test in spec.tests]
    return {
        "table": spec.table,
        "parent": spec.parent,
        "tests": tests,
        "join": None if spec.join is None else _join(spec.join),
    }


def _operand(operand: Operand) -> str | dict[str, str]:
    """A column by its name, an aggregate by its text."""
    return operand if isinstance(operand, str) else {"aggregate": str(operand)}


def _operand_of(content: ParsedPart) -> Operand:
    if isinstance(content.value, str):
        return content.text()
    return parse_aggregate(content["aggregate"].text())


def _bound(value: str | float | None) -> str | float | None:
    """JSON has no infinite numbers: they are written as text."""
    return repr(value) if isinstance(value, float) and math.isinf(value) else value


def _spec_of(content: ParsedPart) -> Spec:
    join = content.get("join")
    tests = tuple(_test_of(test) for test in content["tests"])
    return Spec(content["table"].text(), content["parent"].whole(-1), None if join is None else _join_of(join), tests)


def _test_of(content: ParsedPart) -> Test:
    column, operator, value = _fields(content, 3)
    op: Op = OPS[operator.one_of(OPS)]
    operand = _operand_of(column)
    if op == "missing":
        return Test(operand, op) if value.value is None else value.fail("is not null")
    if op in ("=", "!="):
        return Test(operand, op, value.text())
    if value.value in ("inf", "-inf"):
        return Test(operand, op, float(value.text()))
    if isinstance(value.value, str):
        is_bound = is_moment(value.value) or is_duration(value.value)
        return Test(operand, op, value.value if is_bound else value.fail("is no ISO date and no length of time"))
    return Test(operand, op, value.number())


def _join(join: Join) -> dict[str, Any]:
    return {
        "table": join.table,
        "column": join.column,
        "source": None if join.source is None else [join.source.node, join.source.column],
        "equal": [[column, ref.node, ref.column] for column, ref in join.equal],
        "unequal": [[column, ref.node, ref.column] for column, ref in join.unequal],
    }


def _join_of(content: ParsedPart) -> Join:
    source = content.get("source")
    equal, unequal = (tuple(_pair_of(pair) for pair in content[name]) for name in ("equal", "unequal"))
    return Join(
        content["table"].text(),
        content["column"].text(),
        None if source is None else _ref_of(*_fields(source, 2)),
        equal,
        unequal,
    )


def _pair_of(content: ParsedPart) -> tuple[str, Ref]:
    column, node, other = _fields(content, 3)
    return column.text(), _ref_of(node, other)


def _ref_of(node: ParsedPart, column: ParsedPart) -> Ref:
    return Ref(node.whole(-LARGEST), column.text())
