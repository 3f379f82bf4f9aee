"""Virtual environments of peers, each built from its packages into a cache folder."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.peer import Peer

PYTHONS = ("3.12", "3.11", "3.10", "3.13", "3.9")
"""Versions to look for, the one that most packages are built for first."""

SECONDS = 1800
"""How long the installation of a peer may take."""


@dataclass(frozen=True, slots=True)
class Environment:
    """An interpreter with a peer's packages; or, where there is none, the reason."""

    python: Path | None
    version: str = ""
    python_version: str = ""
    error: str = ""


def environment(peer: Peer, cache: Path) -> Environment:
    """The environment of a peer, built if it is not there yet."""
    if peer.ours:
        return Environment(Path(sys.executable), own_version(), platform.python_version())
    wanted = json.dumps([peer.requires_python, peer.dependencies])
    folder = cache / "environments" / f"{peer.name}-{hashlib.sha256(wanted.encode()).hexdigest()[:8]}"
    ready = folder / "ready.json"
    if not ready.exists():
        shutil.rmtree(folder, ignore_errors=True)
        failure = build(peer, folder)
        if failure:
            shutil.rmtree(folder, ignore_errors=True)
            return Environment(None, error=failure)
    missing = [program for program in peer.needs if shutil.which(program) is None]
    if missing:
        return Environment(None, error=f"it needs the program {missing[0]}, which is not there")
    return Environment(folder / "bin" / "python", **json.loads(ready.read_text(encoding="utf-8")))


def build(peer: Peer, folder: Path) -> str:
    """Make an environment; the reason why that failed, or nothing."""
    found = interpreter(peer.requires_python)
    if found is None:
        return f"there is no Python {peer.requires_python} on this machine"
    made = _said([str(found), "-m", "venv", str(folder)])
    if made.returncode:
        return _last_lines(made.stderr)
    python = folder / "bin" / "python"
    started = time.perf_counter()
    installed = _said([str(python), "-m", "pip", "install", "--quiet", "--prefer-binary", *peer.dependencies])
    if installed.returncode:
        return _last_lines(installed.stderr)
    asked = f"import importlib.metadata, platform; print(importlib.metadata.version({peer.package!r}))"
    told = _said([str(python), "-c", f"{asked}; print(platform.python_version())"])
    if told.returncode:
        return _last_lines(told.stderr)
    version, python_version = told.stdout.split()
    (folder / "ready.json").write_text(json.dumps({"version": version, "python_version": python_version}))
    print(f"{peer.name}: {peer.package} {version} installed in {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return ""


def interpreter(requirement: str) -> Path | None:
    """A Python that meets a requirement such as `>=3.10,<3.13`: on the path, or of pyenv."""
    from packaging.specifiers import SpecifierSet

    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in PYTHONS:
        if not SpecifierSet(requirement).contains(f"{version}.99"):
            continue
        named = shutil.which(f"python{version}")
        for path in [*([Path(named)] if named else []), *sorted(root.glob(f"{version}.*/bin/python"))]:
            told = _said([str(path), "-c", "import venv, ensurepip"])
            if not told.returncode:
                return path
    return None


def own_version() -> str:
    """The version of the package that is running, and a digest of its source: two states of it are two versions."""
    import hornboost

    root = Path(hornboost.__file__).parent
    files = sorted(root.rglob("*.py"))
    source = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]
    return f"{hornboost.__version__}+{source}"


def _said(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"not done after {SECONDS} s")


def _last_lines(text: str) -> str:
    """What went wrong, in a line: the errors that were said, or the last words."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith(("error", "fatal", "modulenotfound"))]
    return " ".join(errors or lines[-1:])[:400]
