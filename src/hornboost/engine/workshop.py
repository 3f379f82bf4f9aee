"""What engines over several sets of examples share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hornboost.engine.cache import Cache
from hornboost.engine.needs import MOST_ENTRIES
from hornboost.engine.tree import Join


class Workshop:
    """What engines over several sets of examples share.

    Memory for what is kept, threads, how many entries there is room for, and a note of the joins that were refused.
    """

    def __init__(self, cache: Cache, n_jobs: int = 1, most_entries: int = MOST_ENTRIES) -> None:
        self.cache = cache
        self.most_entries = most_entries
        self.n_jobs = n_jobs
        self.pool = ThreadPoolExecutor(n_jobs - 1) if n_jobs > 1 else None
        self.refused: dict[tuple[Join, ...], int] = {}
