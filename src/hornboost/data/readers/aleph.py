"""Aleph's files: background facts and modes in `.b`, positive examples in `.f`, negative ones in `.n`.

In the version for SWI-Prolog all three are sections of one `.pl` file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hornboost.data.readers.options import STATED_OPTIONS, check_options, over_stated
from hornboost.data.readers.prolog import Mode, Program, build_tables, parse_mode, parse_program, read_text
from hornboost.errors import DataError

ENDINGS = (".b", ".f", ".n")
SECTIONS = ("bg", "in_pos", "in_neg")
"""Of a `.pl` file: `:- begin_bg.` to `:- end_bg.` and so on."""


def read_aleph(stem: str | Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Database` for `stem.b`, `stem.f` and `stem.n`, or for one file with sections."""
    check_options(options, STATED_OPTIONS)
    path = Path(stem)
    texts = _sections(path) if path.suffix == ".pl" else _files(path)
    (place, background), *others = texts
    program = parse_program(background, place, rules=True)
    positive, negative = (parse_program(text, where) for where, text in others)
    for (where, _), examples in zip(others, (positive, negative), strict=True):
        if not examples.facts:
            raise DataError(f"{where}: there are no examples; write a fact of the target predicate for each")
    schema, task, sources, warnings = build_tables(program, _modes(program, place), positive, negative, place)
    schema, task = over_stated(schema, task, options)
    return {"schema": schema, "task": task, "sources": sources, "warnings": warnings}


def _files(path: Path) -> list[tuple[str, str]]:
    """The names and texts of the three files."""
    base = path.with_suffix("") if path.suffix in ENDINGS else path
    paths = [base.with_name(base.name + ending) for ending in ENDINGS]
    absent = [file for file in paths if not file.is_file()]
    if absent and len(absent) < len(paths):
        there = " and ".join(f"'{file.name}'" for file in paths if file not in absent)
        raise DataError(
            f"there is {there} but no file '{absent[0]}'; Aleph's positive examples are in .f and its negative ones in "
            ".n, a fact of the target predicate for each"
        )
    if absent:
        raise DataError(
            f"there is no file '{absent[0]}'; Aleph's background, positive and negative examples are .b, .f "
            "and .n of one name"
        )
    return [(file.name, read_text(file)) for file in paths]


def _sections(path: Path) -> list[tuple[str, str]]:
    """The sections of one file, with blank lines before them so that messages count lines as the file does."""
    if not path.is_file():
        raise DataError(f"there is no file '{path}'; give Aleph's .pl file, or the name before .b, .f and .n")
    text = read_text(path)
    found = []
    for name in SECTIONS:
        section = re.search(rf"^\s*:-\s*begin_{name}\s*\.(.*?)^\s*:-\s*end_{name}\s*\.", text, re.DOTALL | re.MULTILINE)
        if section is None:
            raise DataError(f"{path.name}: there is no section ':- begin_{name}.' to ':- end_{name}.'; add it")
        found.append((path.name, "\n" * text.count("\n", 0, section.start(1)) + section[1]))
    outside = re.sub(r"^\s*:-\s*begin_(\w+)\s*\..*?^\s*:-\s*end_\1\s*\.", "", text, flags=re.DOTALL | re.MULTILINE)
    return [(found[0][0], found[0][1] + "\n" + outside), *found[1:]]


def _modes(background: Program, location: str) -> list[Mode]:
    modes = []
    for directive in background.directives:
        found = re.fullmatch(r"(modeh|modeb|mode)\((?:\*|\d+),\s*(.*)\)", directive, re.DOTALL)
        if found is not None:
            modes.append(parse_mode(found[2], location))
    if not modes:
        raise DataError(
            f"{location}: there are no modes; declare them as :- modeh(1, target(+type)). "
            "and :- modeb(*, fact(+type, -type))."
        )
    return modes
