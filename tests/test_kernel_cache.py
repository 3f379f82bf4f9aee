"""Machine code that an earlier version left on disk does not stop a later one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BEFORE = """
from typing import NamedTuple

import numpy as np

from hornboost.jit import jit

class Pair(NamedTuple):
    a: np.ndarray
    b: np.ndarray

@jit
def total(pair):
    return (pair.a + pair.b).sum()

PAIR = Pair(np.ones(2), np.ones(2))
"""
AFTER = BEFORE.replace("Pair(", "Couple(")
"""The same kernel in the same place, with another name for what it takes."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "release.py").write_text(BEFORE, encoding="utf-8")
    assert run(tmp_path) == "4.0"
    assert [index.name.split("-")[0] for index in tmp_path.rglob("*.nbi")] == ["release.total"]
    return tmp_path


def run(folder: Path) -> str:
    """What the kernel gives in a process of its own."""
    path = os.pathsep.join([str(folder), str(Path(__file__).parents[1] / "src")])
    environment = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(folder / "cache")}
    environment.pop("NUMBA_DISABLE_JIT", None)
    command = [sys.executable, "-c", "import release; print(release.total(release.PAIR))"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def test_an_index_that_names_a_type_which_is_gone_is_made_anew(folder: Path) -> None:
    (folder / "release.py").write_text(AFTER, encoding="utf-8")
    assert run(folder) == "4.0"
    assert all(b"Couple" in index.read_bytes() for index in folder.rglob("*.nbi"))


def test_an_index_that_was_cut_short_is_made_anew(folder: Path) -> None:
    (index,) = folder.rglob("*.nbi")
    whole = index.read_bytes()
    index.write_bytes(whole[: len(whole) // 2])
    assert run(folder) == "4.0"
    assert len(index.read_bytes()) == len(whole)


def test_a_kernel_is_made_anew_where_a_function_that_it_shares_has_changed(tmp_path: Path) -> None:
    common = "from hornboost.jit import shared\n\n@shared\ndef number():\n    return {}\n"
    kernel = "\n\n@jit\ndef total(n):\n    return n + number()\n\nPAIR = 1\n"
    imports = "from hornboost.jit import jit\nfrom common import number\n"
    (tmp_path / "release.py").write_text(imports + kernel, encoding="utf-8")
    found = []
    for value in ("1", "10"):
        (tmp_path / "common.py").write_text(common.format(value), encoding="utf-8")
        found.append(run(tmp_path))
    assert found == ["2", "11"]
