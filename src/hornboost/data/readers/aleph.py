"""Aleph's files: background facts and modes in `.b`, positive examples in `.f`, negative ones in `.n`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hornboost.data.readers.options import check_options, with_times
from hornboost.data.readers.prolog import Mode, Program, build_tables, parse_mode, parse_program, read_text
from hornboost.errors import DataError


def read_aleph(stem: str | Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Database` for `stem.b`, `stem.f` and `stem.n`."""
    check_options(options, ("times", "known_later"))
    base = Path(stem)
    base = base.with_suffix("") if base.suffix in (".b", ".f", ".n") else base
    paths = [base.with_name(base.name + suffix) for suffix in (".b", ".f", ".n")]
    for path in paths:
        if not path.is_file():
            raise DataError(
                f"there is no file '{path}'; Aleph's background, positive and negative examples are .b, .f "
                "and .n of one name"
            )
    background, positive, negative = (parse_program(read_text(path), path.name) for path in paths)
    for path, examples in zip(paths[1:], (positive, negative), strict=True):
        if not examples.facts:
            raise DataError(f"{path.name}: there are no examples; write a fact of the target predicate for each")
    modes = _modes(background, paths[0].name)
    schema, task, sources, warnings = build_tables(background, modes, positive, negative, paths[0].name)
    schema = with_times(schema, options).validate()
    return {"schema": schema, "task": task, "sources": sources, "warnings": warnings}


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
