"""Frames in and out: rows of any narwhals frame or array to an encoded root, and examples back to frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.build import encode_attribute
from hornboost.data.built import Built
from hornboost.data.convert import factorize, known_codes, remap
from hornboost.data.date_forms import are_counted, order_of
from hornboost.data.domain import Domain
from hornboost.data.table import Column, Table
from hornboost.data.text_dates import TextDates, as_dates, check_order, known_text, plain_dates
from hornboost.data.text_numbers import among_numbers, only_numbers
from hornboost.data.times import encode_time, mixed_zones, one_time
from hornboost.data.value_counts import count_values
from hornboost.data.values import boolean_text, check_unicode, natural_type, stored_type, to_text, value_text
from hornboost.errors import DataError, did_you_mean
from hornboost.logic.duration import duration_text
from hornboost.logic.moment import LAST, moment_text

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_columns(X: Any, names: Iterable[str] | None = None) -> dict[str, pa.ChunkedArray]:
    """The columns of a frame or of a two-dimensional array, whose columns are called x0, x1,
    … unless `names` says otherwise.
    """
    if isinstance(X, np.ndarray):
        if X.ndim != 2:
            raise DataError(
                f"an array of examples must have two dimensions, and this one has {X.ndim}; "
                "reshape it to rows and columns"
            )
        called = list(names) if names is not None else [f"x{position}" for position in range(X.shape[1])]
        if len(called) != X.shape[1]:
            raise DataError(
                f"the array has {X.shape[1]} columns where {len(called)} are expected; "
                "pass the columns of the training data"
            )
        return {name: array_column(X[:, position], name) for position, name in enumerate(called)}
    import pyarrow as pa

    frame = eager(X)
    native = frame.to_native()
    columns = native.columns if isinstance(native, pa.Table) else None
    if frame.implementation.is_pandas():
        columns = _pandas_columns(native)
    if columns is None:
        columns = [series_column(series) for series in frame.iter_columns()]
    return {str(name): column for name, column in zip(frame.columns, columns, strict=True)}


def _pandas_columns(frame: Any) -> list[pa.ChunkedArray] | None:
    """The columns of a pandas frame in Arrow; None where one needs more care.

    `Table.from_pandas` would also write down how to get the same frame back, which takes as long again.
    """
    try:
        return [_pandas_column(column) for _, column in frame.items()]
    except NO_ARROW:
        return None


def _pandas_column(series: Any) -> pa.ChunkedArray:
    import pyarrow as pa

    column = _chunked(series)
    return _with_times_of_day(series, column) if series.dtype.kind == "O" and pa.types.is_date(column.type) else column


def _chunked(values: Any) -> pa.ChunkedArray:
    import pyarrow as pa

    array = pa.array(values, from_pandas=True)
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


NO_ARROW = (ValueError, TypeError, NotImplementedError, OverflowError)
"""What Arrow raises, as its own exceptions or Python's, for objects of which it makes no column."""


def eager(frame: Any) -> Any:
    """A narwhals DataFrame over a pandas, polars or Arrow frame."""
    import narwhals as nw

    try:
        wrapped = nw.from_native(frame)
    except TypeError:
        kind = type(frame).__name__
        raise DataError(f"a table of type '{kind}' is no data frame; pass a pandas, polars or Arrow frame") from None
    collected = wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped
    for name in collected.columns:
        check_unicode(str(name))
    return collected


def series_column(series: Any) -> pa.ChunkedArray:
    """A narwhals series in Arrow; Python objects of mixed types become text."""
    import pyarrow as pa

    try:
        column = series.to_arrow()
    except NO_ARROW:
        return _as_text(series.to_list(), str(series.name))
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    is_of_objects = series.implementation.is_pandas() and series.to_native().dtype.kind == "O"
    return _with_times_of_day(series.to_list(), column) if is_of_objects and pa.types.is_date(column.type) else column


def _with_times_of_day(values: Iterable[Any], days: pa.ChunkedArray) -> pa.ChunkedArray:
    """Python's dates in Arrow; where times stand among them, all as times, which Arrow would cut down to days."""
    import pyarrow as pa

    found = list(values)
    if not any(isinstance(value, datetime) and not _is_missing(value) for value in found):
        return days
    moments = [
        None if _is_missing(value) else value if isinstance(value, datetime) else datetime(*value.timetuple()[:3])
        for value in found
    ]
    return pa.chunked_array([pa.array(moments, pa.timestamp("us"))])


def check_zones_of_objects(frame: Any, name: str, place: str) -> None:
    """Refuse Python's times of which some have a zone and others do not: Arrow would take the latter for UTC."""
    wrapped = eager(frame)
    original = next((column for column in wrapped.columns if str(column) == name), None)
    if original is None or not wrapped.implementation.is_pandas():
        return
    if wrapped.to_native()[original].dtype.kind != "O":
        return
    zoned: Any = None
    plain: Any = None
    for value in wrapped.to_native()[original]:
        if isinstance(value, date) and not _is_missing(value):
            if getattr(value, "tzinfo", None) is not None:
                zoned = value
            else:
                plain = value
    if zoned is not None and plain is not None:
        raise mixed_zones(place, str(zoned), str(plain))


def array_column(values: NDArray[Any], name: str) -> pa.ChunkedArray:
    """One column of an array; objects are numbers if all are, otherwise text."""
    if values.dtype != object:
        return _chunked(np.ascontiguousarray(values))
    try:
        return _chunked(values)
    except NO_ARROW:
        return _as_text(values.tolist(), name)


def _as_text(values: Iterable[Any], name: str) -> pa.ChunkedArray:
    import pyarrow as pa

    try:
        texts = [None if _is_missing(value) else value_text(value) for value in values]
    except DataError as error:
        raise DataError(f"column '{name}': {error}") from None
    return pa.chunked_array([pa.array(texts, pa.string())])


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA, of which only the last refuses to say whether it equals itself."""
    same = value == value
    return value is None or not (same if isinstance(same, bool | np.bool_) else same is not value)


def encode_rows(
    X: Any,
    table: Table,
    domains: Mapping[str, Domain],
    hidden: Iterable[str],
    columns: Mapping[str, pa.ChunkedArray] | None = None,
) -> Table:
    """The rows of a frame or array as a table in the codes of `table`; see `Database.encode`."""
    cutoff = table.times
    if columns is None:
        columns = arrow_columns(X, [*table.columns, *([] if cutoff is None else [cutoff.name])])
    if cutoff is not None and cutoff.name not in columns:
        hint = did_you_mean(cutoff.name, columns)
        raise DataError(
            f"the rows passed in for table '{table.name}' have no column '{cutoff.name}', which says up to when each "
            f"may look{hint or '; add it, with one moment for all rows or one for each'}"
        )
    for name in table.columns:
        if name not in columns:
            what = "key column" if table.columns[name].kind == "key" else "column"
            hint = did_you_mean(name, columns) or "; pass the columns of the examples"
            raise DataError(f"the rows passed in for table '{table.name}' have no {what} '{name}'{hint}")
    encoded = _encode_keys(columns, table, domains)
    for name, values in columns.items():
        place = f"the rows passed in for table '{table.name}', column '{name}'"
        if cutoff is not None and name == cutoff.name:
            continue
        if name in table.columns:
            if name not in encoded:
                is_time = name in table.late.values()
                encoded[name] = (
                    encode_time(name, values, place) if is_time else _encode_as(table.columns[name], values, place)
                )
        elif name not in hidden:
            kind, dates = natural_type(values.type), plain_dates(values)
            if dates is not None:
                kind, values = "date", dates.values
            if kind is None:
                raise DataError(
                    f"{place}: values of type '{values.type}' are neither text nor numbers; convert or drop the column"
                )
            encoded[name] = encode_attribute(name, kind, values, place)
    n_rows = len(next(iter(columns.values()))) if columns else 0
    order = [*table.columns, *(name for name in columns if name in encoded and name not in table.columns)]
    times = None if cutoff is None else _encode_cutoffs(cutoff, columns[cutoff.name], X, table.name)
    found = {name: encoded[name] for name in order}
    return Table(table.name, found, n_rows, times=times, late=table.late).as_known()


def known_frame(X: Any, examples: Table) -> Any:
    """A frame of examples without the values that become known at their cutoffs or later; `examples` is it encoded.

    >>> import pandas as pd, hornboost as hb
    >>> loan = pd.DataFrame({"granted": [1, 1], "graded": [0, 3], "grade": ["A", "B"]})
    >>> db = hb.Database.from_frames(
    ...     {"loan": loan}, "loan", times={"loan": "granted"}, known_later={"loan": {"graded": "grade"}}
    ... )
    >>> known_frame(loan, db.encode(loan))["grade"].isna().tolist()
    [False, True]
    """
    import narwhals as nw

    if not examples.late or examples.times is None:
        return X
    frame = eager(X)
    for name, dating in examples.late.items():
        flag = nw.generate_temporary_column_name(8, frame.columns)
        unknown = examples.columns[dating].missing.tolist()  # `as_known` has taken out times that are not before
        frame = frame.with_columns(nw.new_series(flag, unknown, nw.Boolean, backend=frame.implementation))
        frame = frame.with_columns(nw.when(~nw.col(flag)).then(nw.col(name)).alias(name)).drop(flag)
    return frame.to_native()


def _encode_cutoffs(cutoff: Column, values: pa.ChunkedArray, X: Any, table: str) -> Column:
    """The moment up to which each example may look."""
    place = f"the rows passed in for table '{table}', column '{cutoff.name}'"
    if not isinstance(X, np.ndarray):
        check_zones_of_objects(X, cutoff.name, place)
    encoded = encode_time(cutoff.name, values, place)
    if encoded.missing.any():
        row = int(encoded.missing.argmax()) + 1
        raise DataError(f"{place}: row {row} has no time, so up to when it may look is not known; fill it in")
    if encoded.is_date != cutoff.is_date and len(values):
        kinds = ("dates", "numbers") if encoded.is_date else ("numbers", "dates")
        raise DataError(f"{place}: these are {kinds[0]} where the database holds {kinds[1]}; convert them")
    return encoded


def _encode_keys(
    columns: Mapping[str, pa.ChunkedArray], table: Table, domains: Mapping[str, Domain]
) -> dict[str, Column]:
    members: dict[str, list[str]] = {}
    for column in table.keys:
        members.setdefault(str(column.domain), []).append(column.name)
    encoded = {}
    for domain, names in members.items():
        codes = domains[domain].encode_together([columns[name] for name in names])
        encoded.update({name: table.columns[name].holding(code) for name, code in zip(names, codes, strict=True)})
    return encoded


def _encode_as(column: Column, values: pa.ChunkedArray, place: str) -> Column:
    if column.kind == "numeric":
        dates = _dates_as(column, values, place) if column.is_date else None
        kept = values if dates is None else dates.values
        if column.stored == "text" and not column.is_date:  # what is no number was said when the database was read
            found = among_numbers(count_values([values]))
            kept = only_numbers(values) if found is not None and 2 * found.bad < found.known else known_text(values)
        return encode_attribute(column.name, "date" if column.is_date else "numeric", kept, place)
    assert column.categories is not None
    codes = known_codes(values, column.categories)
    if codes is not None:
        return column.holding(codes)
    if column.stored == "text":
        _check_text(values, place)
    if column.stored in ("date", "timestamp", "timestamptz"):
        values = _spelled_as(column.stored, values)
    try:
        codes, distinct = factorize(values)
        texts = to_text(distinct).to_pylist()
        if column.stored == "boolean":
            texts = [text if text is None else boolean_text(text) or text for text in texts]
    except NotImplementedError:
        raise DataError(f"{place}: values of type '{values.type}' are no text; convert the column") from None
    categories = column.categories
    unknown = {text for text in texts if text is not None} - set(categories)
    if unknown:
        categories = np.array(sorted({*categories, *unknown}), dtype=object)
    code_of = {category: code for code, category in enumerate(categories)}
    mapping = [-1 if text is None else code_of[text] for text in texts]
    return replace(column, values=remap(codes, np.array(mapping, dtype=np.int32)), categories=categories)


def _dates_as(column: Column, values: pa.ChunkedArray, place: str) -> TextDates | None:
    """Text as the dates of a column; numbers are dates only where those of the column were."""
    order = order_of(column.stored)
    check_order(values, order, place)
    if (
        are_counted(stored_type(values.type))
        and not are_counted(column.stored)
        and column.stored
        and _any_value(values)
    ):
        reason = f"{values.drop_null()[0]} is a number where dates were learned from"
        raise DataError(f"{place}: {reason}; use ISO 8601 dates such as 1993-07-05")
    return as_dates(values, order)


def _spelled_as(stored: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dates that are compared as names, in whatever form they come, as those of the database are spelled."""
    import pyarrow as pa

    found = as_dates(values)
    dates = values if found is None else found.values
    if stored_type(dates.type) not in ("date", "timestamp", "timestamptz"):
        return values
    if stored == "date":
        days = dates.cast(pa.date32(), safe=False)
        return days if days.cast(dates.type) == dates else values
    return dates.cast(pa.timestamp("us"), safe=False)


def _check_text(values: pa.ChunkedArray, place: str) -> None:
    """Refuse numbers and dates whose text cannot be known.

    '1.50', '1E5' and '+5' were other texts before they were read as floats.
    """
    if stored_type(values.type) in ("double", "float", "date", "timestamp", "timestamptz") and _any_value(values):
        reason = f"the database holds text here, and the values passed in are of type '{values.type}'"
        raise DataError(f"{place}: {reason}, whose spelling is lost; pass them as the text that they were")


def _any_value(values: pa.ChunkedArray) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    valid = pc.is_finite(values) if pa.types.is_floating(values.type) else pc.is_valid(values)
    return bool(pc.any(valid).as_py())


def examples_frame(
    built: Built, hidden: Iterable[str], frame: Any, rows: NDArray[np.int64], labels: Any
) -> tuple[Any, Any]:
    """Some examples with their labels: rows of the frame that came in, or of the encoded target table as pandas."""
    import narwhals as nw

    target = built.labelled.target
    if frame is None:
        X = decode_table(built.tables[target.table], built.domains, rows)
        if labels is None:
            return X, None
        import pandas as pd

        return X, pd.Series(labels, name=target.label)
    whole = eager(frame)
    if rows.size < len(whole):
        whole = whole[rows.tolist()]
    table = built.tables[target.table]
    known = table.columns  # without those that were left out, which nobody could pass in again
    names = [name for name in whole.columns if name in known and name not in hidden]
    cutoff = [] if table.times is None or table.times.name not in whole.columns else [table.times.name]
    X = whole.select(names + cutoff).to_native()
    if labels is None:
        return X, None
    y = whole[target.label]
    if built.labelled.relabelled:
        y = nw.new_series(y.name, labels.tolist(), backend=y.implementation)
        if nw.get_native_namespace(y).__name__ == "pandas":
            y = nw.maybe_set_index(y, index=nw.maybe_get_index(whole))
    return X, y.to_native()


def with_cutoff(X: Any, table: Table, as_of: Any) -> Any:
    """Examples with one cutoff for all."""
    import narwhals as nw

    if table.times is None:
        raise DataError(
            f"as_of: the examples of table '{table.name}' have no cutoff that could be another; declare the times of "
            "the tables with times="
        )
    moment = one_time(as_of, table.times.is_date, "as_of")
    value: Any = moment
    if table.times.is_date:
        try:
            value = datetime(1970, 1, 1) + timedelta(microseconds=moment)
        except (OverflowError, ValueError):
            raise DataError(f"as_of: {as_of!r} is not between the years 1 and 9999; name such a moment") from None
    return eager(X).with_columns(nw.lit(value).alias(table.times.name)).to_native()


def _identifiers(values: pa.Array) -> Any:
    """Keys in pandas; beside missing ones whole numbers are of type Int64, as floats would not keep them."""
    import pandas as pd
    import pyarrow as pa

    return values.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get if values.null_count else None)


def moments_of_numbers(numbers: NDArray[np.float64]) -> NDArray[np.datetime64]:
    """Microseconds as dates and times; infinity as the last microsecond that 64 bits count, as DuckDB has it."""
    within = np.abs(numbers) < LAST
    counts = np.where(within, numbers, 0.0).astype(np.int64)
    counts[~within] = np.where(numbers[~within] > 0, LAST, -LAST)
    return np.where(np.isnan(numbers), np.datetime64("NaT", "us"), counts.view("datetime64[us]"))


def _moment_texts(numbers: NDArray[np.float64]) -> NDArray[np.object_]:
    return np.array([None if np.isnan(number) else moment_text(number) for number in numbers], object)


def decode_table(
    table: Table, domains: Mapping[str, Domain], rows: NDArray[np.int64], dates_as_text: bool = False
) -> Any:
    """Rows of an encoded table as a pandas DataFrame."""
    import pandas as pd

    values: dict[str, Any] = {}
    cutoff = [] if table.times is None or table.times.missing.all() else [table.times]
    for column in (*table.columns.values(), *cutoff):
        if column.kind == "key":
            values[column.name] = _identifiers(domains[str(column.domain)].decode(column.codes[rows]))
        elif column.kind == "nominal":
            assert column.categories is not None
            values[column.name] = np.append(column.categories, np.array([None], dtype=object))[column.codes[rows]]
        elif column.is_date:
            numbers = column.numbers[rows]
            values[column.name] = _moment_texts(numbers) if dates_as_text else moments_of_numbers(numbers)
        elif column.is_age and dates_as_text:
            values[column.name] = np.array([_age_text(age) for age in column.numbers[rows].tolist()], object)
        else:
            values[column.name] = column.numbers[rows]
    return pd.DataFrame(values, index=pd.RangeIndex(rows.size))


def _age_text(age: float) -> str | None:
    return None if np.isnan(age) else duration_text(age) if np.isfinite(age) else str(age)
