"""Runs fits of a peer, one after the other: each in a process of its own, forked when the packages are imported.

`python serve.py PEER.py [warm]` reads a line of JSON for each fit: the `arguments` of `drive.py`, the `clock` seconds
after which it is killed, the `memory` in bytes that it may take, and the file that what it has `said` goes to. It
answers each with its exit status, or null if it was killed by the clock, and its seconds of the processor. Most fits of
a small table take less than the import of the package, so ten folds would be ten imports. With `warm` the peer's
`warm_up` is called before the first fork as well, which spares each fit most of it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

PAUSE = 0.02
"""Seconds between looks at a fit that is running."""


def read_module(name: str, file: Path) -> ModuleType:
    """A file as a module, wherever it is."""
    specification = importlib.util.spec_from_file_location(name, file)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


def serve(driver: ModuleType, file: str, *, warm: bool) -> None:
    """Import what the peer needs, and answer until there is nothing more to read."""
    with contextlib.suppress(Exception):  # a fit says what is wrong
        driver.import_all(Path(file).read_text(encoding="utf-8"))
        if warm:
            read_module("warm", Path(file)).warm_up()
    for line in sys.stdin:
        wanted = json.loads(line)
        child = os.fork()
        if not child:
            fit(driver, wanted)
        print(json.dumps(awaited(child, float(wanted["clock"]))), flush=True)


def fit(driver: ModuleType, wanted: dict[str, Any]) -> None:
    """The forked process: become what `python drive.py` would be, and end."""
    status = 1
    try:
        os.setsid()
        said = os.open(wanted["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, place in ((nothing, 0), (said, 1), (said, 2)):
            os.dup2(source, place)
        os.chdir(Path(wanted["said"]).parent)
        limit_memory(int(wanted["memory"]))
        sys.argv = [str(driver.__file__), *wanted["arguments"]]
        sys.path.insert(0, "")  # the driver takes off what comes first
        driver.drive()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - whatever it is, it is the fit's own
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def limit_memory(size: int) -> None:
    """Let this process, and each that it starts, have so many bytes."""
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def awaited(child: int, clock: float) -> tuple[int | None, float]:
    """The exit status of a process, negative for a signal, or None if it was killed by the clock; and its seconds."""
    end = time.perf_counter() + clock
    found, status, used = os.wait4(child, os.WNOHANG)
    while not found and time.perf_counter() < end:
        time.sleep(PAUSE)
        found, status, used = os.wait4(child, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError, PermissionError):  # with all that it has started
        os.killpg(child, signal.SIGKILL)
    if not found:
        _, _, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status) if found else None, used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.path.pop(0)  # this folder: a peer's file may have the name of its package
    serve(read_module("drive", Path(__file__).with_name("drive.py")), sys.argv[1], warm="warm" in sys.argv[2:])
