"""The files of srlearn and BoostSRL: facts, positive and negative examples, and modes in a background file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hornboost.data.readers.inside import inside
from hornboost.data.readers.options import check_options, with_times
from hornboost.data.readers.prolog import Mode, build_tables, parse_mode, parse_program, read_text
from hornboost.errors import DataError


def read_srlearn(
    folder: str | Path,
    modes: Iterable[str] | None,
    part: str,
    allow_outside: bool,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """The arguments of `Database` for a folder with facts, pos and neg, or one with a subfolder `part` of them."""
    check_options(options, ("times", "known_later"))
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"there is no folder '{folder}'; give the folder that holds facts.txt, pos.txt and neg.txt")
    inner = folder / part if (folder / part).is_dir() else folder
    paths = {name: _find(inner, name, part) for name in ("facts", "pos", "neg")}
    programs = {name: parse_program(read_text(path), path.name) for name, path in paths.items()}
    for name in ("pos", "neg"):
        if not programs[name].facts:
            raise DataError(f"{paths[name].name}: there are no examples; write a fact of the target predicate for each")
    given = (
        [parse_mode(mode, "modes") for mode in modes]
        if modes is not None
        else _read_modes(inner, folder, allow_outside)
    )
    schema, task, sources, warnings = build_tables(
        programs["facts"], given, programs["pos"], programs["neg"], paths["facts"].name
    )
    schema = with_times(schema, options).validate()
    return {"schema": schema, "task": task, "sources": sources, "warnings": warnings}


def _find(folder: Path, name: str, part: str) -> Path:
    for candidate in (f"{part}_{name}.txt", f"{name}.txt"):
        if (folder / candidate).is_file():
            return folder / candidate
    raise DataError(
        f"{folder.name}: there is no file '{part}_{name}.txt' or '{name}.txt'; give the folder that holds it"
    )


def _read_modes(inner: Path, outer: Path, allow_outside: bool) -> list[Mode]:
    for folder in dict.fromkeys((inner, outer)):
        files = [folder / "modes.txt", folder / "background.txt", *sorted(folder.glob("*bk.txt"))]
        seen: set[Path] = set()
        modes = [mode for path in files if path.is_file() for mode in _file_modes(path, outer, allow_outside, seen)]
        if modes:
            return modes
    raise DataError(
        f"{outer.name}: there are no modes; pass modes=['target(+type).', ...] or add them to a file modes.txt"
    )


def _file_modes(path: Path, root: Path, allow_outside: bool, seen: set[Path]) -> list[Mode]:
    """The modes of a file and of those that it imports, each file once."""
    modes = []
    ahead = [path]
    while ahead:
        path = ahead.pop()
        if path.resolve() in seen:
            continue
        seen.add(path.resolve())
        for line in read_text(path).splitlines():
            text = line.split("//")[0].split("%")[0].strip()
            imported = re.match(r'import:\s*"(.*?)"', text)
            if imported is not None:
                ahead.append(_imported(path, imported[1], root, allow_outside))
            elif text.startswith("mode:"):
                modes.append(parse_mode(text.removeprefix("mode:"), path.name))
            elif re.fullmatch(r"\w+\(\s*[+\-#@&`].*\)\s*\.?", text):
                modes.append(parse_mode(text, path.name))
    return modes


def _imported(path: Path, name: str, root: Path, allow_outside: bool) -> Path:
    """What a file imports, which may lie beside it or above it, but within the folder that was given."""
    folder = path.parent.resolve()
    try:
        within = os.path.relpath(folder / name, root.resolve())
    except ValueError:
        within = name
    return inside(root, within, f"{path.name}: import", allow_outside)
