"""Which part an example belongs to: a hash of all keys of its row, modulo the number of parts.

The hash is of the values and of nothing else, so that an example stays in its part when others come or go.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.data.domain import Domain
from hornboost.data.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

_GAMMA, _MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_NULL = np.uint64(0x7FF8000000000000)


def parts_of(target: Table, domains: Mapping[str, Domain], n: int) -> NDArray[np.int32]:
    """The part of each row of the target; without keys nothing is looked up, and rows are dealt out by number."""
    state = np.arange(target.n_rows, dtype=np.uint64) if not target.keys else np.zeros(target.n_rows, np.uint64)
    for column in target.keys:
        held, which = np.unique(column.codes, return_inverse=True)
        identifiers = domains[str(column.domain)].decode(held.astype(np.int32))
        state = _mixed(state ^ _bits(identifiers)[which])
    return (_mixed(state) % np.uint64(n)).astype(np.int32)


def _bits(identifiers: pa.Array) -> NDArray[np.uint64]:
    """64 bits of each identifier: those of the number, or of a digest of the text."""
    import pyarrow as pa

    if identifiers.type == pa.int64():
        bits = identifiers.fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64)
    else:
        texts = [str(text).encode() for text in identifiers.to_pylist()]
        digests = (int.from_bytes(blake2b(text, digest_size=8).digest(), "little") for text in texts)
        bits = np.fromiter(digests, np.uint64, len(texts))
    return np.where(identifiers.is_null().to_numpy(zero_copy_only=False), _NULL, bits)


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    z = state + _GAMMA
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))
