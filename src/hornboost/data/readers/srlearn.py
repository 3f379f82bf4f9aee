"""The files of srlearn and BoostSRL: facts, positive and negative examples, and modes in a background file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hornboost.data.readers.inside import inside
from hornboost.data.readers.options import STATED_OPTIONS, check_options, over_stated
from hornboost.data.readers.prolog import Mode, Program, build_tables, parse_mode, parse_program, read_text
from hornboost.errors import DataError, did_you_mean


def read_srlearn(
    folder: str | Path,
    modes: Iterable[str] | None,
    part: str,
    allow_outside: bool,
    options: Mapping[str, Any],
    target: str | None = None,
) -> dict[str, Any]:
    """The arguments of `Database` for a folder with facts, pos and neg, or one with a subfolder `part` of them."""
    check_options(options, STATED_OPTIONS)
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"there is no folder '{folder}'; give the folder that holds facts.txt, pos.txt and neg.txt")
    inner = folder / part if (folder / part).is_dir() else folder
    paths = {name: _find(inner, name, part) for name in ("facts", "pos", "neg")}
    programs = {name: parse_program(read_text(path), path.name) for name, path in paths.items()}
    for name in ("pos", "neg"):
        _refuse_others(programs[name], programs["neg"], paths[name].name)
        programs[name] = _of_target(programs[name], target, paths[name].name)
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
    schema, task = over_stated(schema, task, options)
    return {"schema": schema, "task": task, "sources": sources, "warnings": warnings}


def _refuse_others(examples: Program, negative: Program, location: str) -> None:
    """Say what a set is that is not of two classes."""
    if ("regressionExample", 2) in examples.facts:
        raise DataError(
            f"{location}: this is a regression set (regressionExample(target, number)); put its numbers beside the "
            "examples in a table and read it with from_frames"
        )
    several = len(examples.facts) == 1 and not negative.facts and next(iter(examples.facts))[1] > 1
    if several:
        (name, size), columns = next(iter(examples.facts.items()))
        values = sorted(set(columns[-1]))
        if 1 < len(values) <= max(2, len(columns[-1]) // 2):
            shown = ", ".join(values[:5])
            raise DataError(
                f"{location}: there are no negative examples, and the last argument of '{name}/{size}' has the values "
                f"{shown}: a set of many classes; make that argument the label of a table and read it with from_frames"
            )


def _of_target(program: Program, target: str | None, location: str) -> Program:
    """The examples of one predicate, where there are several and one is named."""
    names = list(dict.fromkeys(name for name, _ in program.facts))
    if target is None:
        if len(names) > 1:
            raise DataError(
                f"{location}: there are examples of {', '.join(names)}; choose one with target='{names[0]}'"
            )
        return program
    kept = {place: columns for place, columns in program.facts.items() if place[0] == target}
    if program.facts and not kept:
        raise DataError(f"{location}: there are no examples of '{target}'{did_you_mean(target, names)}")
    return Program(kept)


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
    above = outer.resolve().parent / "background.txt"  # where the folds of a set share it
    modes = _file_modes(above, above.parent, allow_outside, set()) if above.is_file() else []
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
