from __future__ import annotations

import os
import signal
from pathlib import Path

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
