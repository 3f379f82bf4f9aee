from __future__ import annotations

import os
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
