"""Runs one learner of a peer on one fold, inside the peer's environment, and writes what it gave as JSON.

`python drive.py PEER.py FOLDER FOLD LEARNER OUTPUT LIMIT`. The file of a peer has

- `prepare(task, learner)`: what a user would have to do to the tables first. Its lines are counted, together with those
  of functions called `prepare_...`, except `prepare_LEARNER` of other learners;
- `fit(task, data, learner)`: the model;
- `predict(task, data, model)`: for each test example the probability of the positive class, or (as bools) the class;
- `size(model)`: the numbers of rules and conditions of a model that can be read, or None;
- `warm_up()`, if it compiles something when it is first used;
- `cannot(task, learner)`, if there are tasks that it cannot do: the reason, or None.

Packages are imported and tables are read before the clock starts.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import json
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Task:
    """A fold: the tables as pandas frames, and what `task.json` says about them.

    The target's rows are `train` (with the label) and `test` (without it); `tables` are all other tables. `columns`
    gives the type of each column of each table: key, nominal, numeric or date; keys of one of the `domains` can be
    joined.
    """

    name: str
    target: str
    key: list[str]
    label: str
    positive: str
    negative: str
    columns: dict[str, dict[str, str]]
    domains: dict[str, dict[str, str]]
    primary_keys: dict[str, str]
    foreign_keys: list[list[str]]
    planted: bool
    noise_free: bool
    limit: float = 0.0
    scratch: Path = Path()
    train: Any = None
    test: Any = None
    tables: dict[str, Any] = field(default_factory=dict)

    @property
    def is_positive(self) -> Any:
        """Which training examples are positive, as a numpy array."""
        return (self.train[self.label] == self.positive).to_numpy(bool)

    @property
    def attributes(self) -> dict[str, str]:
        """The columns of the target that are no keys, with their types."""
        return {name: kind for name, kind in self.columns[self.target].items() if kind != "key"}


def read(folder: Path, fold: str, limit: float, scratch: Path) -> Task:
    """A task with its tables."""
    import pandas as pd

    described = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    task = Task(**described, limit=limit, scratch=scratch)
    task.train = pd.read_parquet(folder / fold / "train.parquet")
    task.test = pd.read_parquet(folder / fold / "test.parquet")
    others = [name for name in task.columns if name != task.target]
    task.tables = {name: pd.read_parquet(folder / "tables" / f"{name}.parquet") for name in others}
    return task


class Clock:
    """Seconds by the clock, and of the processor in this process and those that it has waited for."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.processor: dict[str, float] = {}

    def measure(self, name: str, step: Callable[..., Any], *arguments: Any) -> Any:
        """Run a step."""
        started, used = time.perf_counter(), processor_seconds()
        result = step(*arguments)
        self.seconds[name] = time.perf_counter() - started
        self.processor[name] = processor_seconds() - used
        return result


def processor_seconds() -> float:
    """What this process and those that it has started have used so far, servers that are still running among them."""
    try:
        import resource
    except ImportError:  # there is none on Windows
        return time.process_time()
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in parts) + of_servers()


def of_servers() -> float:
    """What the other living processes of this session have used, where the system tells it in files."""
    import os

    used = 0
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, session, *rest = file.read_text().rpartition(")")[2].split()
            if int(session) == os.getsid(0) and int(file.parent.name) != os.getpid() and state != "Z":
                used += int(rest[7]) + int(rest[8])
    return used / os.sysconf("SC_CLK_TCK") if used else 0.0


def set_limit(seconds: float) -> None:
    """End this process, and each that it starts, after so many seconds of the processor."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 3))


def import_all(source: str) -> None:
    """Import what a peer's functions import, so that this is over before the clock starts."""
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level and node.module != "__future__":
            names = [node.module]
        for name in names:
            importlib.import_module(name)


def lines_of_preparation(source: str, learner: str) -> int:
    r"""The lines of code in the functions that prepare the tables for a learner; imports and comments do not count.

    >>> lines_of_preparation("def prepare(task):\n    # why\n    a = 1\n\n    return [\n        a]\n", "x")
    3
    """
    tree = ast.parse(source)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("prepare")]
    learners = {name.removeprefix("prepare_") for name in (node.name for node in functions)} & set(described(source))
    used: set[int] = set()
    for function in functions:
        if function.name.removeprefix("prepare_") in learners - {learner}:
            continue
        for statement in function.body:
            is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if not is_text and not isinstance(statement, (ast.Import, ast.ImportFrom)):
                used.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    listed = source.splitlines()
    return sum(1 for line in used if listed[line - 1].strip() and not listed[line - 1].strip().startswith("#"))


def described(source: str) -> list[str]:
    """The names of the learners in the header of a peer's file."""
    lines = [line.removeprefix("#").strip() for line in source.splitlines() if line.startswith("#")]
    within = lines[lines.index("[tool.peer.learners]") + 1 :] if "[tool.peer.learners]" in lines else []
    names = (line.partition("=")[0].strip().strip('"') for line in within if "=" in line)
    return list(names)


def learn(peer: Any, task: Task, learner: str, clock: Clock) -> dict[str, Any]:
    """All steps, and what they gave."""
    import numpy as np

    if hasattr(peer, "warm_up"):
        clock.measure("warm_up", peer.warm_up)
    data = clock.measure("prepare", peer.prepare, task, learner)
    model = clock.measure("fit", peer.fit, task, data, learner)
    predicted = np.asarray(clock.measure("predict", peer.predict, task, data, model))
    if predicted.shape != (len(task.test),):
        raise ValueError(f"{len(task.test)} predictions were expected; got an array of shape {predicted.shape}")
    if predicted.dtype == bool:
        return {"classes": predicted.tolist(), "size": peer.size(model)}
    return {"probabilities": predicted.astype(float).tolist(), "size": peer.size(model)}


def drive() -> None:
    """Run the peer that the command line names."""
    sys.path.pop(0)  # this folder: a peer's file may have the name of its package
    file, folder, fold, learner, output, limit = sys.argv[1:]
    set_limit(float(limit))
    source = Path(file).read_text(encoding="utf-8")
    result: dict[str, Any] = {"lines": lines_of_preparation(source, learner)}
    clock = Clock()
    try:
        specification = importlib.util.spec_from_file_location("peer", file)
        assert specification is not None
        assert specification.loader is not None
        peer = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(peer)
        import_all(source)
        task = read(Path(folder), fold, float(limit), Path(output).parent)
        reason = peer.cannot(task, learner) if hasattr(peer, "cannot") else None
        result |= {"cannot": reason} if reason else learn(peer, task, learner, clock)
    except subprocess.CalledProcessError as error:
        if error.returncode in (-signal.SIGXCPU, -signal.SIGKILL):  # its own child was over the limit
            sys.exit(128 - error.returncode)
        result["error"] = f"{error}\n{error.stderr or error.stdout or ''}"[-2000:]
    except Exception:  # noqa: BLE001 - whatever a peer raises is its result
        result["error"] = traceback.format_exc()[-2000:]
    result |= {"seconds": clock.seconds, "processor": clock.processor}
    Path(output).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    drive()
