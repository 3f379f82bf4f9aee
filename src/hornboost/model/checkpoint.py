"""Checkpoints: the rounds of a fit that may not have ended, in a file from which it goes on to the very same model.

Every random choice comes from the seed, the round and the example, so a round needs no search to be repeated, only its clause.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hornboost.boosting.c2rib import Learned
from hornboost.engine.tree import Join, Ref, Spec
from hornboost.errors import ModelError
from hornboost.logic.clause import Test
from hornboost.model.file import sealed, unsealed, write_whole

if TYPE_CHECKING:
    from hornboost.data.table import Table
    from hornboost.search.problem import Problem

VERSION = 1
_ANEW = "name another file, or delete this one to begin anew"
SECONDS = 5.0
"""Between two writes while rounds follow each other; the end of a fit, however it comes, is written at once."""


class Checkpoint:
    """The rounds learned so far, class by class, for the fit that `identity` names."""

    def __init__(self, path: str | PathLike[str], identity: str) -> None:
        """Go on from the file if there is one; one of another fit is refused."""
        self._path = Path(path)
        self._identity = identity
        self._runs: dict[str, list[Learned]] = {}
        self._written = time.monotonic()
        if self._path.exists():
            self._read()
        else:
            self.write()  # a place that cannot be written is told now, not after the work

    def learned(self, label: str) -> tuple[Learned, ...]:
        """The rounds known for a class."""
        return tuple(self._runs.get(label, ()))

    def recorder(self, label: str) -> Callable[[dict[str, Any]], None]:
        """A callback that adds the rounds of a class, and now and then writes them."""
        rounds = self._runs.setdefault(label, [])

        def record(row: dict[str, Any]) -> None:
            if row["round"] > len(rounds):
                rounds.append(Learned(row["rule"].specs, row["clauses_scored"]))
            if time.monotonic() - self._written > SECONDS:
                self.write()

        return record

    def write(self) -> None:
        """Write the file, whole or not at all."""
        runs = {label: [_round(found) for found in rounds] for label, rounds in self._runs.items()}
        write_whole(self._path, sealed("checkpoint", VERSION, {"identity": self._identity, "runs": runs}))
        self._written = time.monotonic()

    def _read(self) -> None:
        try:
            content = self._path.read_bytes()
        except OSError as error:
            raise ModelError(f"{self._path}: the checkpoint cannot be read ({error.strerror}); check the path") from None
        body = unsealed(content, str(self._path), "checkpoint", VERSION, _ANEW)
        try:
            identity = body["identity"]
            self._runs = {label: [_learned(found) for found in rounds] for label, rounds in body["runs"].items()}
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ModelError(f"{self._path}: the checkpoint's content is not valid; {_ANEW}") from None
        if identity != self._identity:
            raise ModelError(f"{self._path}: this checkpoint is of other data or other settings; {_ANEW}")


def identity(problem: Problem, settings: Iterable[tuple[str, Any]]) -> str:
    """A digest of all that decides what a fit learns: the settings, the examples with classes and weights, and the tables."""
    digest = sha256(repr(sorted(settings)).encode())
    for values in (problem.classes, problem.weights, problem.content):
        digest.update(np.ascontiguousarray(values).view(np.uint8).data)
    digest.update(repr((problem.label, problem.labels)).encode())
    for table in (problem.examples, *problem.database.tables.values()):
        _add(digest, table)
    return "sha256:" + digest.hexdigest()


def _add(digest: Any, table: Table) -> None:
    digest.update(repr((table.name, table.n_rows)).encode())
    for column in table.columns.values():
        categories = None if column.categories is None else column.categories.tolist()
        digest.update(repr((column.name, column.kind, column.domain, column.is_date, categories)).encode())
        digest.update(np.ascontiguousarray(column.values).view(np.uint8).data)


def _round(found: Learned) -> dict[str, Any]:
    return {"scored": int(found.scored), "specs": [_spec(spec) for spec in found.specs]}


def _learned(content: dict[str, Any]) -> Learned:
    return Learned(tuple(_spec_of(spec) for spec in content["specs"]), int(content["scored"]))


def _spec(spec: Spec) -> dict[str, Any]:
    join = spec.join
    return {
        "table": spec.table,
        "parent": spec.parent,
        "tests": [[test.column, test.op, test.value] for test in spec.tests],
        "join": None
        if join is None
        else {
            "table": join.table,
            "column": join.column,
            "source": None if join.source is None else [join.source.node, join.source.column],
            "equal": [[column, ref.node, ref.column] for column, ref in join.equal],
            "unequal": [[column, ref.node, ref.column] for column, ref in join.unequal],
        },
    }


def _spec_of(content: dict[str, Any]) -> Spec:
    join = content["join"]
    return Spec(
        content["table"],
        content["parent"],
        None
        if join is None
        else Join(
            join["table"],
            join["column"],
            None if join["source"] is None else Ref(*join["source"]),
            tuple((column, Ref(node, other)) for column, node, other in join["equal"]),
            tuple((column, Ref(node, other)) for column, node, other in join["unequal"]),
        ),
        tuple(Test(*test) for test in content["tests"]),
    )
