from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
import pytest

# the same cases on every run and machine; a slow machine is no failure
hypothesis.settings.register_profile("hornboost", derandomize=True, deadline=None)
hypothesis.settings.load_profile("hornboost")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets, named by HORNBOOST_DATA."""
    folder = os.environ.get("HORNBOOST_DATA")
    if not folder:
        pytest.skip("HORNBOOST_DATA does not name a folder of data sets")
    if not Path(folder).is_dir():
        pytest.fail(f"HORNBOOST_DATA names '{folder}', which is not a folder")
    return Path(folder)


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_is_heard() -> None:
    """A shell starts jobs in its background deaf to Ctrl-C, and tests press it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class Result(NamedTuple):
    """What a command gave."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run `hornboost` with arguments, as the shell would."""
    from hornboost.cli import main

    def call(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["hornboost", *map(str, arguments)])
        capfd.readouterr()
        try:
            main()
            code = 0
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        return Result(code, *capfd.readouterr())

    return call
