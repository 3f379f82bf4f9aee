"""A PostgreSQL server for tests, patient on a busy machine."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any


def start_postgres(folder: Path) -> Any:
    """A running server with its data in `folder`; `get_uri()` is its address, `cleanup()` stops it."""
    import pgserver

    try:
        return pgserver.get_server(folder, cleanup_mode="stop")
    except subprocess.TimeoutExpired:
        # The package gives a server ten seconds to start, which are too few when other work fills the machine: the
        # server goes on starting, and the handle is completed when it is ready.
        server = pgserver.get_server(folder, cleanup_mode="stop")
        server.global_process_id_list.get_and_add(os.getpid())
        for _ in range(60):
            try:
                server.ensure_postgres_running()
                return server
            except (AssertionError, subprocess.SubprocessError):
                time.sleep(1)
        raise
