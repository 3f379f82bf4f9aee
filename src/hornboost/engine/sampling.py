"""Random choices about examples, by a counter-based hash of (seed, round, row content).

Neither the position of a row nor the rows beside it matter, so leaving out a row of weight 0 changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.engine import sampling_kernels as kernels

if TYPE_CHECKING:
    import pyarrow as pa

GAMMA, MIX_1, MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_GAMMA, _MIX_1, _MIX_2 = np.uint64(GAMMA), np.uint64(MIX_1), np.uint64(MIX_2)
_ALL = 0xFFFFFFFFFFFFFFFF
_NAN = np.uint64(0x7FF8000000000000)
_MISSING_TEXTS = frozenset({"None", "nan", "NaN", "<NA>", "NaT"})


def splitmix64(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014), elementwise.

    It maps distinct states to distinct hashes.
    """
    z = state + _GAMMA
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


def example_hash(seed: int, round: int, content_hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A fresh 64-bit hash of each example for this seed and round.

    >>> content = content_hash([np.array([1.0, 2.0, 1.0])])
    >>> first, second, third = example_hash(0, 1, content)
    >>> first == third, first == second
    (np.True_, np.False_)
    """
    counter = _mixed(_mixed(seed & _ALL) ^ (round & _ALL))
    return kernels.mixed(content_hashes, np.array([counter], np.uint64))


def _mixed(state: int) -> int:
    """`splitmix64` of one number."""
    z = (state + GAMMA) & _ALL
    z = ((z ^ (z >> 30)) * MIX_1) & _ALL
    z = ((z ^ (z >> 27)) * MIX_2) & _ALL
    return z ^ (z >> 31)


def uniform(hashes: NDArray[np.uint64]) -> NDArray[np.float64]:
    """The hashes as numbers in [0, 1), from their upper 53 bits.

    >>> uniform(np.array([0, 1 << 63], dtype=np.uint64))
    array([0. , 0.5])
    """
    return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53


def content_hash(columns: NDArray[Any] | Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
    """A 64-bit hash of each row of a 2-d array, or of columns of equal length.

    Numbers, booleans, or text (any other object by its `str`).

    Equal numbers hash alike whatever their type (1 and 1.0, 0.0 and -0.0), so do all missing values.

    >>> rows, columns = np.array([[1, 2], [3, 4]]), [np.array([1.0, 3.0]), np.array([2.0, 4.0])]
    >>> bool((content_hash(rows) == content_hash(columns)).all())
    True
    """
    if isinstance(columns, np.ndarray) and columns.ndim == 2:
        columns = [columns[:, j] for j in range(columns.shape[1])]
    if not len(columns):
        raise ValueError("content_hash needs at least one column")
    return mixed_bits(len(columns[0]), (column_bits(np.asarray(column)) for column in columns))


def mixed_bits(n: int, columns: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """A hash of each of n rows, from the bits of their columns."""
    state = np.zeros(n, dtype=np.uint64)
    for bits in columns:
        state = kernels.mixed(state, bits)
    return state


def category_bits(categories: NDArray[np.object_]) -> NDArray[np.uint64]:
    """The bits of each category, followed by two for missing, which is what the codes -1 and -2 pick.

    They are those of a column of numbers, the `content_hash` of each category.

    >>> hashes = content_hash([np.array(["a", None, None], object)])
    >>> bool((category_bits(np.array(["a"], object)) == column_bits(hashes.astype(np.float64))).all())
    True
    """
    texts = (*categories, "None", "None")
    hashes = splitmix64(np.fromiter(map(_text_hash, texts), dtype=np.uint64, count=len(texts)))
    return column_bits(hashes.astype(np.float64))


def column_bits(column: NDArray[Any]) -> NDArray[np.uint64]:
    """The bits by which each value enters the hash of its row: those of a float, where that is the same number.

    >>> bits = column_bits(np.array([2**62, 2**62 + 1]))
    >>> bits[0] == column_bits(np.array([2.0**62]))[0], bits[0] == bits[1]
    (np.True_, np.False_)
    """
    if column.dtype.kind not in "biuf":
        return _text_bits(column)
    values = column.astype(np.float64) + 0.0  # adding 0.0 turns -0.0 into 0.0
    bits = np.where(np.isnan(values), _NAN, values.view(np.uint64))
    if column.dtype.kind in "iu":
        large = np.flatnonzero(np.abs(values) >= 2.0**53)
        numbers = column[large]
        sizes = np.abs(numbers).astype(np.uint64)
        no_float = sizes // (sizes & (~sizes + np.uint64(1))) >= np.uint64(2**53)  # too many digits, but for zeros
        bits[large[no_float]] = splitmix64(numbers[no_float].astype(np.uint64))
    return bits


def arrow_bits(values: pa.ChunkedArray) -> NDArray[np.uint64]:
    """The bits of the values of a column, the same for an integer whether others are missing or not.

    >>> import pyarrow as pa
    >>> whole, holed = pa.chunked_array([[2**62 + 1]]), pa.chunked_array([[2**62 + 1, None]])
    >>> arrow_bits(whole)[0] == arrow_bits(holed)[0], arrow_bits(holed)[1] == column_bits(np.array([np.nan]))[0]
    (np.True_, np.True_)
    """
    import pyarrow as pa

    if not values.null_count or not pa.types.is_integer(values.type):
        return column_bits(values.to_numpy())
    bits = column_bits(values.fill_null(0).to_numpy())
    bits[values.is_null().to_numpy()] = _NAN
    return bits


def _text_bits(column: NDArray[Any]) -> NDArray[np.uint64]:
    texts, codes = np.unique(column.astype(str), return_inverse=True)
    hashes = np.fromiter(map(_text_hash, texts), dtype=np.uint64, count=len(texts))
    return hashes[codes]


@lru_cache(maxsize=1024)  # the same few categories, fit after fit
def _text_hash(text: str) -> int:
    if text in _MISSING_TEXTS:
        return int(_NAN)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def tell_apart(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Make the hashes of examples of equal content differ, by their rank among their equals.

    A first occurrence keeps its hash.

    >>> first, second, copy = tell_apart(np.array([7, 5, 7], dtype=np.uint64))
    >>> first, second, copy == first
    (np.uint64(7), np.uint64(5), np.False_)
    """
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    is_first = np.ones(len(hashes), dtype=np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    positions = np.arange(len(hashes), dtype=np.uint64)
    ranks = positions - np.maximum.accumulate(np.where(is_first, positions, np.uint64(0)))
    result = hashes.copy()
    result[order] = np.where(ranks > 0, splitmix64(ordered ^ splitmix64(ranks)), ordered)
    return result
