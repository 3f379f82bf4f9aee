"""A peer as its file in `theirs/` describes it."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hornboost.errors import HornBoostError, did_you_mean

THEIRS = Path(__file__).parent / "theirs"
DRIVER = THEIRS / "drive.py"
SERVER = THEIRS / "serve.py"
HEADER = re.compile(r"^# /// script\n((?:#.*\n)+?)# ///$", re.MULTILINE)


@dataclass(frozen=True, slots=True, eq=False)
class Peer:
    """A package and the learners that are taken from it.

    `tables` is "one" if it reads a single table, "many" if several; `readable` are the learners whose models are rules
    or the like; `needs` are programs that must be there; `cannot` is the reason why it is installed and not run.
    """

    file: Path
    package: str
    requires_python: str
    dependencies: tuple[str, ...]
    tables: str
    learners: Mapping[str, str]
    ours: bool = False
    readable: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    note: str = ""
    cannot: str = ""

    @property
    def name(self) -> str:
        return self.file.stem

    @property
    def settings(self) -> str:
        """What identifies how it is run: its own file and the one that drives it."""
        return hashlib.sha256(self.file.read_bytes() + DRIVER.read_bytes()).hexdigest()[:16]

    def unfit(self, n_tables: int) -> str:
        """Why it is not compared on a set of so many tables, or nothing."""
        if self.ours or (self.tables == "many") == (n_tables > 1):
            return ""
        return "joins tables, and here is one" if n_tables == 1 else "reads one table"


def read_peer(file: Path) -> Peer:
    """A peer from the header of its file."""
    found = HEADER.search(file.read_text(encoding="utf-8"))
    if found is None:
        raise HornBoostError(f"{file}: there is no header; begin with '# /// script' and name the packages")
    lines = [line.removeprefix("#").removeprefix(" ") for line in found.group(1).splitlines()]
    header = tomllib.loads("\n".join(lines))
    own: dict[str, Any] = dict(header["tool"]["peer"])
    learners = own.pop("learners")
    readable = own.pop("readable", False)
    return Peer(
        file=file,
        requires_python=header["requires-python"],
        dependencies=tuple(header["dependencies"]),
        learners=learners,
        readable=tuple(learners) if readable is True else tuple(readable or ()),
        needs=tuple(own.pop("needs", ())),
        **own,
    )


def read_peers(chosen: Sequence[str] | None = None, folder: Path = THEIRS) -> list[Peer]:
    """The peers of these names, or all of them; HornBoost comes first, since all others are compared with it.

    A name is that of a file, or `FILE:LEARNER` for one of its learners.
    """
    files = {file.stem: file for file in sorted(folder.glob("*.py")) if file.stem not in ("__init__", "drive", "serve")}
    wanted: dict[str, list[str]] = {}
    for name, _, learner in (name.partition(":") for name in chosen or files):
        if name not in files:
            raise HornBoostError(f"there is no peer '{name}'{did_you_mean(name, files)}")
        wanted.setdefault(name, []).extend([learner] if learner else read_peer(files[name]).learners)
    peers = [_with_learners(read_peer(files[name]), learners) for name, learners in wanted.items()]
    return sorted(peers, key=lambda peer: (not peer.ours, peer.name))


def _with_learners(peer: Peer, names: Sequence[str]) -> Peer:
    for name in names:
        if name not in peer.learners:
            raise HornBoostError(f"{peer.name} has no learner '{name}'{did_you_mean(name, peer.learners)}")
    return replace(peer, learners={name: shown for name, shown in peer.learners.items() if name in names})
