"""Text in the types that it spells.

Those that are declared, or else numbers and dates where all of a column is such.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hornboost.data.convert import factorize
from hornboost.data.date_forms import order_of, parse_dates, parse_moments, with_order
from hornboost.data.partitions.spool import StreamedSource, batches_of
from hornboost.data.source import ArrowSource, DatedSource, Source
from hornboost.data.text_dates import as_dates, check_order, known_text, taken, tokens_in, without_tokens
from hornboost.data.text_numbers import (
    about_whole_keys,
    among_numbers,
    only_numbers,
    uses_commas,
    whole_keys,
    with_points,
    without_decimals,
)
from hornboost.data.times import check_zones
from hornboost.data.value_counts import count_values
from hornboost.data.values import as_integers, boolean_text, stored_type, to_text

if TYPE_CHECKING:
    import pyarrow as pa

Declared = tuple[str, str | None]
"""The type of a column (key, nominal, numeric, date, or time for what is compared with cutoffs),
and what its values were stored as where a model was learned, if that is known."""


def typed_source(source: ArrowSource, notes: list[str], declared: Mapping[str, Declared]) -> ArrowSource:
    """A table of text in the types that are declared, and otherwise in those that all of a column has."""
    import pyarrow as pa

    columns, stored = {}, {}
    for name in source.columns:
        values, place = source.read(name), f"{source.name}.{name}"
        kind, known = declared.get(name, ("", None))
        check_moments(values, kind, known, f"{source.location}: table '{source.name}', column '{name}'")
        if source.decimal_commas and kind not in ("key", "nominal") and uses_commas(values, kind):
            values = with_points(values)
        if name in declared:
            columns[name], order = as_declared(values, *declared[name], place, notes, source.decimal_commas)
        else:
            columns[name], order = convert_text(values, place, notes)
        if order is not None:
            stored[name] = str(with_order(stored_type(columns[name].type), order))
        source.drop(name)
    typed = ArrowSource(source.name, pa.table(columns), source.location, stored=stored)
    typed.decimal_commas = source.decimal_commas
    return typed


def check_moments(values: pa.ChunkedArray, kind: str, known: str | None, place: str) -> None:
    """Refuse texts that are no dates of the type that is declared, and in the order that is known."""
    if kind == "time":
        check_zones(values, place)
    if kind in ("date", "time"):
        check_order(values, order_of(known), place)


def dated_source(
    source: Source,
    notes: list[str],
    declared: Collection[str],
    is_stored: bool = True,
    orders: Mapping[str, str] | None = None,
) -> Source:
    """A table with types of its own, in which text that is nothing but dates is read as in a file of text.

    Categories, and columns of which something is declared, stay what they are, but for those of which the order of day
    and month is. `is_stored` says that this is how the table is kept, so that SQL will find text there; a frame is made
    of something else.
    """
    import pyarrow as pa

    dates, orders = {}, orders or {}
    for name in source.columns:
        if name in declared and name not in orders:
            continue
        values = source.read(name)
        is_dictionary = pa.types.is_dictionary(values.type) and name not in getattr(source, "plain_text", ())
        is_category = is_dictionary or name in getattr(source, "categories", ())
        check_order(values, orders.get(name), f"{source.location}: table '{source.name}', column '{name}'")
        found = None if is_category and name not in orders else as_dates(values, orders.get(name))
        if found is not None:
            dates[name] = found
            _note_tokens(found.tokens, f"{source.name}.{name}", notes)
    stored = {
        name: str(with_order("text", found.order) if is_stored else found.stored)
        for name, found in dates.items()
        if is_stored or found.order is not None
    }
    if dates and isinstance(source, StreamedSource):
        return source.typed({name: TextType(found.values.type, found.order) for name, found in dates.items()}, stored)
    return DatedSource(source, {name: found.values for name, found in dates.items()}, stored) if dates else source


def with_numbers(source: Source, column: str, warnings: list[str]) -> Source:
    """A table of which a column is declared numeric: where most of its text is numbers, the rest is missing.

    Other text is left for the error that names it.
    """
    values = source.read(column)
    if stored_type(values.type) != "text":
        return source
    found = among_numbers(count_values(batches_of(source, column)))
    if found is None and tokens_in(factorize(values)[1]):
        if isinstance(source, StreamedSource):
            return source.typed({column: TextType(None)}, source.stored)
        return DatedSource(source, {column: known_text(values)}, {})
    if found is None or 2 * found.bad >= found.known:
        return source
    are = "is no number and counts" if found.bad == 1 else "are no numbers and count"
    which = f"{found.bad:,} of {found.known:,} values {are} as missing, such as '{found.value}' in row {found.row + 1}"
    warnings.append(f"{source.name}.{column}: {which}")
    if isinstance(source, StreamedSource):
        return source.typed({column: OnlyNumbers()}, source.stored)
    return DatedSource(source, {column: only_numbers(values)}, {})


class OnlyNumbers:
    """Text of numbers, in which all else is missing."""

    def convert(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Some of the texts."""
        return only_numbers(values)


def _note_tokens(tokens: Sequence[str], place: str, notes: list[str]) -> None:
    if tokens:
        notes.append(f"{place}: {', '.join(repr(token) for token in tokens)} stands for a missing value")


def with_whole_keys(
    values: pa.ChunkedArray, place: str, notes: list[str], decimal_commas: bool = False
) -> pa.ChunkedArray:
    """The keys of a file of text as they are written, unless all are integers that were written as floats."""
    codes, distinct = factorize(with_points(values) if decimal_commas and uses_commas(values) else values)
    found = whole_keys(distinct)
    if found is None:
        return values
    notes.append(about_whole_keys(place, found.drop_null()[0].as_py()))
    _note_tokens(tokens_in(distinct), place, notes)
    return taken(codes, found)


def keyed_source(source: Source, keys: Collection[str], notes: list[str]) -> Source:
    """A file of text of which a schema declares these columns to be keys."""
    decimal_commas = bool(getattr(source, "decimal_commas", False))
    found = {}
    for name in keys:
        if name in source.columns:
            values = source.read(name)
            keyed = with_whole_keys(values, f"{source.name}.{name}", notes, decimal_commas)
            if keyed is not values:
                found[name] = keyed
    if found and isinstance(source, StreamedSource):
        return source.typed({name: TextType(keyed.type, None, decimal_commas) for name, keyed in found.items()})
    return DatedSource(source, found, {}) if found else source


def as_declared(
    values: pa.ChunkedArray,
    kind: str,
    stored: str | None,
    place: str,
    notes: list[str],
    decimal_commas: bool = False,
) -> tuple[pa.ChunkedArray, str | None]:
    """A key or nominal as it is written, or as values stored so are spelled; with the order of dates.

    In numbers and dates, words for a missing value as missing.
    """
    if kind in ("key", "nominal") and stored not in (None, "text", "integer"):
        return _map(values, lambda text: _spelled(text, stored)), None
    if kind == "key":
        return with_whole_keys(values, place, notes, decimal_commas), None
    if kind == "nominal":
        return values, None
    converted, order = convert_text(values, place, notes, order_of(stored))
    return (converted, order) if converted is not values else (_map(values, without_tokens), None)


def convert_text(
    values: pa.ChunkedArray, place: str, notes: list[str], order: str | None = None
) -> tuple[pa.ChunkedArray, str | None]:
    """Text as whole numbers, numbers or dates if all of its distinct values are; missing-value words are noted.

    With it the order of day and month in the dates, where it is not that of ISO 8601; `order` is the one that is known.
    """
    codes, distinct = factorize(values)
    tokens = tokens_in(distinct)
    converted, found = _convert_distinct(without_tokens(distinct), order)
    if converted is None:
        return values, None
    _note_tokens(tokens, place, notes)
    return taken(codes, converted), found


@dataclass(frozen=True)
class TextType:
    """How the texts of a column are read whose rows come a batch at a time: all in the type that was found for it.

    Words for a missing value are null; `kind` None leaves the others as they are. `order` is that of day and month,
    and `has_commas` says that numbers have a decimal comma.
    """

    kind: pa.DataType | None
    order: str | None = None
    has_commas: bool = False

    @property
    def stored(self) -> str | None:
        """What the column is stored as where dates are in another order than that of ISO 8601; None elsewhere."""
        return None if self.order is None or self.kind is None else with_order(stored_type(self.kind), self.order)

    def convert(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Some of the texts in that type."""
        return _map(with_points(values) if self.has_commas else values, self._converted)

    def _converted(self, distinct: pa.Array) -> pa.Array:
        import pyarrow as pa

        words = without_tokens(distinct)
        if self.kind is None:
            return words
        if pa.types.is_integer(self.kind):
            return without_decimals(words).cast(self.kind)
        if not (pa.types.is_date(self.kind) or pa.types.is_timestamp(self.kind)):
            return words.cast(self.kind)
        moments, _ = parse_dates(words, self.order)
        assert not isinstance(moments, str)
        return moments.cast(self.kind)


def text_type(
    distinct: pa.ChunkedArray, declared: Declared | None, place: str, notes: list[str], decimal_commas: bool = False
) -> TextType | None:
    """How `typed_source` reads a column that has these distinct texts; None as it is written."""
    if declared is not None and declared[0] == "key":
        keyed = with_whole_keys(distinct, place, notes, decimal_commas)
        return None if keyed is distinct else TextType(keyed.type, None, decimal_commas)
    if declared is not None and declared[0] == "nominal":
        return None
    has_commas = decimal_commas and uses_commas(distinct, "" if declared is None else declared[0])
    distinct = with_points(distinct) if has_commas else distinct
    converted, order = convert_text(distinct, place, notes, None if declared is None else order_of(declared[1]))
    if converted is not distinct:
        return TextType(converted.type, order, has_commas)
    return None if declared is None else TextType(None, has_commas=has_commas)


def _map(values: pa.ChunkedArray, change: Callable[[pa.Array], pa.Array]) -> pa.ChunkedArray:
    codes, distinct = factorize(values)
    return taken(codes, change(distinct))


def _convert_distinct(distinct: pa.Array, order: str | None) -> tuple[pa.Array | None, str | None]:
    import pyarrow as pa

    if len(distinct) == distinct.null_count:
        return None, None
    words = distinct.drop_null()
    if as_integers(words) is not None:
        return distinct.cast(pa.int64()), None
    if all(re.fullmatch(r"0|-?[1-9][0-9]{0,37}", word) for word in words.to_pylist()):
        return distinct.cast(pa.decimal128(38, 0)), None
    if not any(re.fullmatch(r"[-+]?0[0-9]+", word) for word in words.to_pylist()):
        try:
            return distinct.cast(pa.float64()), None
        except pa.ArrowInvalid:
            pass
    moments, found = parse_dates(distinct, order)
    return (None, None) if isinstance(moments, str) else (moments, found)


def _spelled(distinct: pa.Array, stored: str | None) -> pa.Array:
    """Texts as values of a stored type are spelled, each for itself.

    One that is no such value stays as it is written.
    """
    import pyarrow as pa

    return pa.array([None if word is None else _respelled(word, stored) for word in distinct.to_pylist()], pa.string())


def _respelled(word: str, stored: str | None) -> str:
    import pyarrow as pa

    try:
        if stored == "boolean":
            return boolean_text(word) or word
        if stored in ("date", "timestamp", "timestamptz"):
            moment = parse_moments(pa.array([word]))
            kind = pa.date32() if stored == "date" else pa.timestamp("us")
            return word if isinstance(moment, str) else str(to_text(moment.cast(kind))[0].as_py())
        if stored in ("double", "float"):
            kind = pa.float64() if stored == "double" else pa.float32()
        elif stored is not None and stored.startswith("decimal("):
            kind = pa.decimal128(38, int(stored[8:-1]))
        else:
            return word
        return to_text(pa.array([word]).cast(kind))[0].as_py() or word
    except pa.ArrowInvalid:
        return word
