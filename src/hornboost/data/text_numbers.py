"""Text that spells numbers, and what stands among them that is none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hornboost.data.convert import factorize
from hornboost.data.text_dates import MISSING_TOKENS, taken, without_tokens
from hornboost.data.value_counts import ValueCounts, count_values
from hornboost.data.values import EXACT, stored_type

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", re.ASCII)
_WITH_COMMA = re.compile(r"[-+]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+)(,[0-9]+)?", re.ASCII)
_CODE = re.compile(r"[-+]?0[0-9]+", re.ASCII)


def is_number(word: str) -> bool:
    """Whether a text is a number, and no code with zeros in front.

    >>> [is_number(word) for word in ("1.5", "-3e4", "007", "3 kg")]
    [True, True, False, False]
    """
    return _NUMBER.fullmatch(word.strip()) is not None and not is_code(word)


def is_code(word: str) -> bool:
    """Whether a text has zeros in front, as numbers have not."""
    return _CODE.fullmatch(word.strip()) is not None


@dataclass(frozen=True, eq=False)
class AmongNumbers:
    """What stands among the numbers of a column of text: its first row and value, in how many cells, of how many."""

    row: int
    value: str
    bad: int
    known: int


def among_numbers(found: ValueCounts) -> AmongNumbers | None:
    """The values of a column that are no numbers; None if all are, or if it is no text, or holds codes."""
    if stored_type(found.values.type) != "text":
        return None
    known = known_words(found)
    words = known.values.to_pylist()
    if any(is_code(word) for word in words):
        return None
    bad = np.flatnonzero([not is_number(word) for word in words])
    if not bad.size:
        return None
    return AmongNumbers(int(known.first[bad[0]]), words[bad[0]], int(known.counts[bad].sum()), int(known.counts.sum()))


def known_words(found: ValueCounts) -> ValueCounts:
    """The texts of a column that do not stand for a missing value."""
    import pyarrow as pa

    is_known = np.array([not _is_missing(word) for word in found.values.to_pylist()], bool)
    missing = int(found.missing + found.counts[~is_known].sum())
    values = found.values.filter(pa.array(is_known, pa.bool_()))
    return ValueCounts(values, found.counts[is_known], found.first[is_known], missing)


def _is_missing(word: str) -> bool:
    return word in MISSING_TOKENS or not word.strip()


def only_numbers(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same text without what is no number.

    >>> import pyarrow as pa
    >>> only_numbers(pa.chunked_array([["1", "x", "2.5", None]])).to_pylist()
    ['1', None, '2.5', None]
    """
    import pyarrow as pa

    codes, distinct = factorize(values)
    words = [word if word is not None and is_number(word) else None for word in distinct.to_pylist()]
    return taken(codes, pa.array(words, pa.string()))


def uses_commas(values: pa.ChunkedArray, kind: str = "") -> bool:
    """Whether a column of text is of numbers with a decimal comma: all values tell together, or most if it is numeric.

    >>> import pyarrow as pa
    >>> columns = (["1,5", "2", "NA", None], ["1.234,5"], ["1.5", "2"], ["1,5", "red, blue"])
    >>> [uses_commas(pa.chunked_array([column])) for column in columns]
    [True, True, False, False]
    """
    if stored_type(values.type) != "text":
        return False
    used = known_words(count_values([values])).values.to_pylist()
    numbers = [word for word in used if _WITH_COMMA.fullmatch(word.strip())]
    are_enough = 2 * len(numbers) > len(used) if kind == "numeric" else len(numbers) == len(used)
    return are_enough and any("," in word for word in numbers)


def with_points(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The numbers of such a column with a decimal point, and without points that divide long ones.

    >>> import pyarrow as pa
    >>> with_points(pa.chunked_array([["1,5", "-1.234,5", "2", None, "NA"]])).to_pylist()
    ['1.5', '-1234.5', '2', None, 'NA']
    """
    import pyarrow as pa

    codes, distinct = factorize(values)
    words = [
        word if word is None or not _WITH_COMMA.fullmatch(word.strip()) else word.replace(".", "").replace(",", ".")
        for word in distinct.to_pylist()
    ]
    return taken(codes, pa.array(words, pa.string()))


def whole_keys(distinct: pa.Array) -> pa.Array | None:
    """Keys that pandas wrote as floats, for want of integers next to a missing value, as the integers that they were.

    All of them are whole and end in `.0`, but for words for a missing value; None if one is written otherwise.

    >>> import pyarrow as pa
    >>> whole_keys(pa.array(["46.0", "NA", "-7.0"])).to_pylist()
    [46, None, -7]
    >>> [whole_keys(pa.array(["46.0", other])) for other in ("46", "007.0", "46.50", "a", "9007199254740994.0")]
    [None, None, None, None, None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if stored_type(distinct.type) != "text" or not pc.any(pc.ends_with(distinct, ".0")).as_py():
        return None
    words = without_tokens(distinct)
    if not pc.all(pc.match_substring_regex(words, r"^(0|-?[1-9][0-9]{0,15})\.0$")).as_py():
        return None
    integers = without_decimals(words).cast(pa.int64())
    return integers if pc.max(pc.abs(integers)).as_py() <= EXACT else None


def without_decimals(words: pa.Array) -> pa.Array:
    """Such words as integers are written."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(words, r"\.0$", "")


def about_whole_keys(place: str, number: int) -> str:
    """What to say of keys that were read so."""
    return f"{place}: keys written as '{number}.0' are read as whole numbers, such as {number}"
