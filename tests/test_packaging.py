"""What the package imports is declared, the wheel holds the package alone,
and the source distribution what its own tests need.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
DISTRIBUTIONS = {"sklearn": "scikit-learn"}
"""Distributions that go by another name than the package in them."""
NOT_FOR_USERS = {"all", "docs", "test"}


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w-]+", requirement).group().replace("-", "_") for requirement in requirements}  # type: ignore[union-attr]


def imported() -> set[str]:
    """The distributions that some module of the package imports, wherever in it."""
    found = set()
    for module in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.partition(".")[0])
    others = found - set(sys.stdlib_module_names) - {"hornboost"}
    return {DISTRIBUTIONS.get(name, name).replace("-", "_") for name in others}


def test_every_package_that_is_imported_is_declared() -> None:
    extras = [
        requirement
        for name, requirements in EXTRAS.items()
        if name not in NOT_FOR_USERS
        for requirement in requirements
    ]
    assert imported() - names([*PROJECT["dependencies"], *extras]) == set()


def test_the_extra_all_holds_all_extras_of_users() -> None:
    (everything,) = EXTRAS["all"]
    assert sorted(everything[len("hornboost[") : -1].split(",")) == sorted(set(EXTRAS) - NOT_FOR_USERS)


def built(kind: str, folder: Path) -> Path:
    """The distribution of this kind, built into the folder."""
    pytest.importorskip("hatchling", reason="hatchling builds the distribution")
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    (archive,) = folder.glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return archive


def test_the_wheel_holds_the_package_and_nothing_beside_it(tmp_path: Path) -> None:
    names = zipfile.ZipFile(built("wheel", tmp_path)).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"hornboost"}
    assert not [name for name in names if "benchmarks" in name or "experiments" in name]


def test_the_source_distribution_passes_tests_of_its_own(tmp_path: Path) -> None:
    archive = built("sdist", tmp_path)
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    unpacked = tmp_path / archive.name.removesuffix(".tar.gz")
    for folder in ("benchmarks", "docs", "src", "tests"):
        assert files(unpacked / folder) == files(ROOT / folder)
    few = [
        "tests/test_docs.py",
        "tests/test_clause_text.py",
        "src/hornboost/logic",
        "benchmarks",
        "-k",
        "not page and not site",
    ]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *few]
    run = subprocess.run(command, cwd=unpacked, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def files(folder: Path) -> list[str]:
    """All files of a folder but what Python, numba and editors leave there."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return sorted(path.as_posix() for path in found if "__pycache__" not in path.parts)
