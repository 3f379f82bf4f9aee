"""What is kept between rounds: values by key, the longest unused forgotten first, within a bound of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

OVERHEAD = 500
"""Bytes that an item costs beside its arrays: keys, tuples, array headers."""


class Cache:
    """A least-recently-used store that counts bytes; safe to share between threads.

    >>> cache = Cache(2 * OVERHEAD + 100)
    >>> for key in "abc":
    ...     cache.put(key, key.upper(), 40)
    >>> cache.get("a"), cache.get("c")
    (None, 'C')
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.nbytes = 0
        self._items: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Any:
        """The value of a key, which thereby counts as used, or None."""
        with self._lock:
            item = self._items.get(key)
            if item is None:
                return None
            self._items.move_to_end(key)
            return item[0]

    def put(self, key: Hashable, value: Any, nbytes: int) -> None:
        """Keep a value of so many bytes, and forget others for it; one that is too large alone is not kept."""
        with self._lock:
            old = self._items.pop(key, None)
            self.nbytes -= 0 if old is None else old[1]
            size = nbytes + OVERHEAD
            if size > self.limit:
                return
            self._items[key] = (value, size)
            self.nbytes += size
            while self.nbytes > self.limit:
                _, (_, freed) = self._items.popitem(last=False)
                self.nbytes -= freed
