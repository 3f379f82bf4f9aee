"""Data frames of any kind that narwhals knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from hornboost.data.frames import check_zones_of_objects, eager, series_column
from hornboost.data.model_columns import ModelColumn
from hornboost.data.readers.inferred import infer_task, time_columns, with_dates, with_model
from hornboost.data.schema import ColumnSchema, Schema, TableSchema, Task
from hornboost.data.source import ArrowSource, Source
from hornboost.data.text_dates import plain_dates
from hornboost.data.values import check_unicode, natural_type
from hornboost.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


class FrameSource:
    """A frame whose columns become Arrow when they are asked for."""

    def __init__(self, name: str, frame: Any) -> None:
        self.name = name
        self.whole = True
        self.location = "frames"
        self.stored: dict[str, str] = {}
        self._frame = eager(frame)
        self.n_rows = len(self._frame)
        names = list(self._frame.columns)
        self._names = {str(name): name for name in names}
        self.columns = list(self._names)

    def read(self, column: str) -> pa.ChunkedArray:
        return series_column(self._frame[self._names[column]])

    def drop(self, column: str) -> None:
        pass


def read_frames(
    frames: Mapping[str, Any],
    target: str,
    options: Mapping[str, Any],
    model: Mapping[tuple[str, str], ModelColumn] | None = None,
) -> dict[str, Any]:
    """The arguments of `Database` for a dictionary of frames.

    These have types of their own: of those that a `model` knows, keys count, and columns in which there is no value.
    """
    if not frames:
        raise DataError("frames: there are no tables; pass a dictionary from table names to data frames")
    named = {check_unicode(str(name)): _with_text_names(str(name), frame) for name, frame in frames.items()}
    sources = {name: _source(name, frame) for name, frame in named.items()}
    target = str(target)
    if target not in sources:
        raise DataError.unknown_table(target, sources)
    for table, column in time_columns(options):
        if table in named:
            check_zones_of_objects(named[table], column, f"frames: table '{table}', column '{column}'")
    given = {"target": target, **{name: value for name, value in options.items() if value is not None}}
    if model is not None:
        unstated = {
            place: column for place, column in model.items() if column.type == "key" or _is_empty(sources, *place)
        }
        given = with_model({**given, "model": unstated}, {name: source.columns for name, source in sources.items()})
    notes: list[str] = []
    dated = with_dates(sources, given, notes, is_stored=False)
    arguments = infer_task(dated, "frames", given, is_for_model=model is not None)
    again = _Again(partial(read_frames, named, target, options))
    return arguments | {"inferred": [*notes, *arguments["inferred"]], "frame": named[target], "again": again}


def _is_empty(sources: Mapping[str, Source], table: str, column: str) -> bool:
    """Whether a column is there and holds no value."""
    if table not in sources or column not in sources[table].columns:
        return False
    values = sources[table].read(column)
    return bool(values.null_count == len(values))


class _Again:
    """Reads frames once more; they stay where they are, so that it is not there in another process."""

    def __init__(self, read: Callable[..., dict[str, Any]]) -> None:
        self._read = read

    def __call__(self, model: Mapping[tuple[str, str], ModelColumn]) -> dict[str, Any]:
        return self._read(model=model)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


def _with_text_names(table: str, frame: Any) -> Any:
    """The frame with its columns named by text: pandas knows others, and rules, files and SQL do not."""
    import narwhals.dependencies as known

    if not known.is_pandas_dataframe(frame):
        return frame
    names = [str(name) for name in frame.columns]
    for name, count in Counter(names).items():
        if count > 1:
            raise DataError(f"frames: table '{table}' has the column '{name}' twice; rename one of them")
    return frame if all(isinstance(name, str) for name in frame.columns) else frame.set_axis(names, axis=1)


def _source(name: str, frame: Any) -> Source:
    import pyarrow as pa

    return ArrowSource(name, frame, "frames") if isinstance(frame, pa.Table) else FrameSource(name, frame)


def single_table(
    columns: Mapping[str, pa.ChunkedArray], name: str, known: Mapping[str, str] | None = None
) -> tuple[Schema, Task, dict[str, Source]]:
    """Schema, task and source of one table without keys and label; `known` says what some columns are stored as."""
    import pyarrow as pa

    kinds, arrow, stored = {}, dict(columns), dict(known or {})
    for column, values in columns.items():
        kind = natural_type(values.type)
        dates = plain_dates(values)
        if dates is not None:
            kind, arrow[column], stored[column] = "date", dates.values, str(dates.stored)
        if kind is None:
            raise DataError(
                f"column '{column}': values of type '{values.type}' are neither text nor numbers; "
                "convert or drop the column"
            )
        kinds[column] = ColumnSchema(column, kind)  # type: ignore[arg-type]
    schema = Schema({name: TableSchema(name, tuple(kinds.values()))}, location="frame")
    return schema, Task(name), {name: ArrowSource(name, pa.table(arrow), "frame", stored=stored)}
