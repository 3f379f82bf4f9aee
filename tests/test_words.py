"""Names and words: a name stands for one thing, papers are cited by authors, and every parameter is described."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import hornboost as hb
from hornboost.estimators.booster import Booster

ROOT = Path(__file__).parents[1]
CODE = sorted((ROOT / "src").rglob("*.py"))
SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=\n\n[A-Z]\w+\n-+\n|\Z)", re.DOTALL | re.MULTILINE)
INTERNAL = re.compile(r"\bseed\s+00\d|\bDESIGN\b")
ESTIMATORS = [
    value for name in hb.__all__ if inspect.isclass(value := getattr(hb, name)) and hasattr(value, "get_params")
]


def described(thing: Any) -> set[str]:
    """The names of numpydoc's section of parameters, each of which has a description below it."""
    section = SECTION.search(inspect.getdoc(thing) or "")
    assert section is not None, thing
    names: set[str] = set()
    for item in re.finditer(r"^(\S.*)\n((?: {4}.*\n?)+)", section.group(1), re.MULTILINE):
        names |= {name.strip(" *") for name in item.group(1).partition(" : ")[0].split(",")}
    return names


def test_no_two_classes_share_a_name() -> None:
    names = Counter(
        node.name
        for module in CODE
        for node in ast.parse(module.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_papers_are_cited_by_their_authors() -> None:
    places = [*CODE, *sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
    assert [place.name for place in places if INTERNAL.search(place.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
def test_every_parameter_of_an_estimator_is_described(estimator: type[Any]) -> None:
    shared = described(Booster) if issubclass(estimator, Booster) else set()
    assert set(inspect.signature(estimator).parameters) - described(estimator) - shared == set()


def test_every_parameter_of_a_reader_is_described() -> None:
    readers = [getattr(hb.Database, name) for name in dir(hb.Database) if name.startswith("from_")]
    for reader in readers:
        if reader.__name__ != "from_single":  # for the estimators, which make it of X
            assert set(inspect.signature(reader).parameters) - described(reader) <= {"options"}, reader
