"""From a schema, a task and the tables of a reader to encoded tables, examples and folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.built import Built, FoldValues, Labelled, Target
from hornboost.data.convert import encode_nominal, factorize, factorize_keys, to_moments, to_numbers
from hornboost.data.date_forms import with_order
from hornboost.data.domain import Domain
from hornboost.data.doubts import about_composite_keys, about_spellings
from hornboost.data.labels import MANY, LabelKind, column_kind, goes_by_text
from hornboost.data.schema import ColumnSchema, Folds, Schema, TableSchema, Task, split_reference
from hornboost.data.source import Source
from hornboost.data.table import Column, Table
from hornboost.data.text_dates import text_order
from hornboost.data.times import DATES, check_comparable, check_cutoff, encode_time, late_columns, times_of
from hornboost.data.values import natural_type, stored_type
from hornboost.errors import DataError, did_you_mean
from hornboost.logic.moment import exact_moment

if TYPE_CHECKING:
    import pyarrow as pa


OR = " or "
"""Between the values of a class that stands for several."""


def hidden_columns(schema: Schema, task: Task) -> set[tuple[str, str]]:
    """The columns that a learner must not see: the label, and what the task excludes."""
    hidden = {(task.table, task.label)} if task.label is not None else set()
    for name in task.exclude_columns:
        tables = [
            table for table in schema.tables.values() if any(c.name == name and c.type != "key" for c in table.columns)
        ]
        if tables:
            hidden |= {(table.name, name) for table in tables}
        elif "." in name:
            hidden.add(split_reference(name, schema.tables))
        else:
            hidden |= {
                (table.name, name) for table in schema.tables.values() if any(c.name == name for c in table.columns)
            }
    return hidden


def build(schema: Schema, task: Task, sources: Mapping[str, Source]) -> Built:
    """Encode what the task lets a learner see, column by column."""
    check_cutoff(schema, task)
    warnings = [*_check_columns(schema, task, sources), *about_composite_keys(schema)]
    target = sources[task.table]
    if target.n_rows == 0:
        raise DataError(
            f"{target.location}: the target table '{task.table}' has no rows; choose another target or add examples"
        )
    times = {table: _encode_time(name, sources[table]) for table, name in times_of(schema, task).items()}
    wanted = _example_rows(task, target)
    asked = _with_cutoff(wanted, times.get(task.table), target)
    labelled = _labels(schema, task, target, asked)
    whatever_time = None
    if asked.size < wanted.size:
        undated = _labels(schema, task, target, wanted)
        whatever_time = undated, np.setdiff1d(wanted, undated.rows, assume_unique=True)
    hidden = hidden_columns(schema, task)
    _check_key(task, hidden, schema.location)
    visible = [table for table in schema.tables.values() if table.name not in task.exclude_tables]
    fold_columns = _read_fold_columns(schema, sources)
    excluded = _excluded_codes(task, hidden, target)
    tables, domains = _encode(schema, visible, hidden, times, sources)
    check_comparable(tables, task.table, schema.location)
    for table in visible:
        if sources[table.name].whole:
            check_primary_key(table, tables[table.name], domains, sources[table.name])
    folds = {
        item.name: _fold_values(item, fold_columns, task, tables, labelled.rows, schema)
        for item in schema.folds
        if item.file is None
    }
    unlabelled = np.setdiff1d(asked, labelled.rows, assume_unique=True)
    return Built(tables, domains, labelled, unlabelled, folds, (*warnings, *labelled.doubts), whatever_time, excluded)


def _check_key(task: Task, hidden: set[tuple[str, str]], location: str) -> None:
    """Refuse to hide the key, by which the examples are found."""
    for name in task.key:
        if (task.table, name) in hidden:
            raise DataError(
                f"{location}: exclude_columns (--exclude) hides '{task.table}.{name}', the key of the examples; leave "
                "it out there, as no rule compares that key with a value"
            )


def _excluded_codes(task: Task, hidden: set[tuple[str, str]], source: Source) -> dict[str, NDArray[np.int32]]:
    found = {}
    for table, column in sorted(hidden - {(task.table, str(task.label))}):
        if table == task.table and column in source.columns:
            with suppress(NotImplementedError):  # what has no text is of no group
                found[column] = encode_nominal(source.read(column))[0]
    return found


def _place(source: Source, column: str) -> str:
    return f"{source.location}: table '{source.name}', column '{column}'"


def _with_cutoff(rows: NDArray[np.int64], cutoffs: Column | None, source: Source) -> NDArray[np.int64]:
    """The rows that can be examples, because it is known up to when they may look."""
    if cutoffs is None:
        return rows
    missing = cutoffs.missing[rows]
    if missing.all():
        raise DataError(
            f"{_place(source, cutoffs.name)}: none of {rows.size:,} examples has a time up to which it may look; "
            "fill the column in or name another"
        )
    return rows[~missing]


def _check_columns(schema: Schema, task: Task, sources: Mapping[str, Source]) -> Iterable[str]:
    for table in schema.tables.values():
        if table.name in task.exclude_tables:
            continue
        source = sources[table.name]
        present = set(source.columns)
        for column in table.columns:
            if column.name not in present:
                what = "key column" if column.type == "key" else "column"
                hint = did_you_mean(column.name, source.columns) or "; add it to the table or take it out of the schema"
                raise DataError(f"{source.location}: table '{table.name}' has no {what} '{column.name}'{hint}")
        if table.rows is not None and table.rows != source.n_rows:
            yield f"{source.location}: table '{table.name}' has {source.n_rows} rows where the schema says {table.rows}"
        declared = {column.name for column in table.columns}
        extra = [name for name in source.columns if name not in declared]
        if extra:
            names = ", ".join(extra[:10])
            yield (
                f"{source.location}: table '{table.name}' has columns that are not in the schema and are left "
                f"out: {names}"
            )


def _example_rows(task: Task, source: Source) -> NDArray[np.int64]:
    keep = np.ones(source.n_rows, dtype=bool)
    for column, values in task.where.items():
        codes, categories = _categories(
            source.read(column), f"{source.location}: table '{task.table}', column '{column}'"
        )
        keep &= np.isin(codes, _wanted(categories, values, natural_type(source.read(column).type)))
    rows = np.flatnonzero(keep)
    if rows.size == 0:
        condition = " and ".join(f"{column} = {' or '.join(values)}" for column, values in task.where.items())
        raise DataError(
            f"{source.location}: table '{task.table}' has no row where {condition}; correct 'where' of the task"
        )
    return rows


def _wanted(categories: NDArray[np.object_], values: tuple[str, ...], kind: str | None) -> list[int]:
    """The codes of the values that a condition allows; numbers and dates may be written in any way, such as 1.50."""
    if kind not in ("numeric", "date"):
        return [code for code, category in enumerate(categories) if category in values]
    read = float if kind == "numeric" else exact_moment
    meant = {_meant(value, read) for value in values} - {None}
    return [code for code, category in enumerate(categories) if category in values or _meant(category, read) in meant]


def _meant(text: str, read: Callable[[str], float]) -> float | None:
    try:
        return read(text)
    except ValueError:
        return None


def _labels(schema: Schema, task: Task, source: Source, asked: NDArray[np.int64]) -> Labelled:
    """The rows among those asked for that have a label, and their labels."""
    if task.label is None:
        return Labelled(Target(task.table, task.key), asked)
    place = f"{source.location}: table '{task.table}', label '{task.label}'"
    values = source.read(task.label)
    codes, categories = _categories(values, place)
    rows = asked[codes[asked] >= 0]
    codes = codes[rows]
    declared = schema.table(task.table).column(task.label).type
    if _predicted_kind(task, declared, values, rows, place) == "numbers":
        return Labelled(
            Target(task.table, task.key, task.label), rows, to_numbers(values, place)[0][rows], kind="numbers"
        )
    occurring = [str(categories[code]) for code in np.unique(codes)]
    if not (task.positive or task.negative) and len(occurring) > MANY and len(occurring) == rows.size:
        raise DataError(
            f"{place}: each of {rows.size:,} rows has a value of its own, so there is nothing to learn; "
            "choose a label whose values repeat"
        )
    if stored_type(values.type) == "time" and not task.positive and len(occurring) > MANY:
        raise DataError(
            f"{place}: {len(occurring):,} distinct times of day are no classes; "
            "add a column that cuts them into ranges, or name one value as positive"
        )
    task = replace(task, positive=_group(task.positive, occurring), negative=_group(task.negative, occurring))
    if task.negative and not task.positive:
        task = replace(task, positive=_all_but(task.negative, occurring, place))
    for value in task.positive:
        if value not in occurring and (len(task.positive) > 1 or len(occurring) > 1):
            raise DataError(f"{place}: the positive value '{value}' does not occur{did_you_mean(value, occurring)}")
    classes = _classes(task, occurring, place)
    names = np.array([classes.get(str(category)) for category in categories], dtype=object)
    relabelled = goes_by_text(values.type) or any(classes[value] != value for value in occurring)
    distinct = tuple(sorted(set(classes.values())))
    positive, negative = _sides(task, distinct, classes)
    return Labelled(
        Target(task.table, task.key, task.label, positive, negative, distinct),
        rows,
        names[codes],
        relabelled,
        "classes",
        tuple(about_spellings(f"{task.table}.{task.label}", classes)),
    )


def _predicted_kind(
    task: Task, declared: str, values: pa.ChunkedArray, rows: NDArray[np.int64], place: str
) -> LabelKind:
    """What the task says that a label is, or else what its type and values do; a date is neither class nor number."""
    is_date = declared == "date" or stored_type(values.type) in DATES
    kind = task.predicts
    if kind is None and not task.positive and not task.negative and declared in ("numeric", "date"):
        kind = "numbers" if is_date else column_kind(values.take(rows))
    if kind == "numbers" and is_date:
        raise DataError(
            f"{place}: dates cannot be predicted; add a column with the days since some date, such as 2000-01-01, "
            "and name that as the label"
        )
    return kind or "classes"


def _categories(values: pa.ChunkedArray, place: str) -> tuple[NDArray[np.int32], NDArray[np.object_]]:
    try:
        return encode_nominal(values)
    except NotImplementedError:
        raise DataError(
            f"{place}: values of type '{values.type}' have no text to tell them apart by; convert the column"
        ) from None


def _group(stated: tuple[str, ...], occurring: list[str]) -> tuple[str, ...]:
    """The values that a task states; one text may name several as their class is named, such as 'bad or worse'."""
    if len(stated) != 1 or stated[0] in occurring:
        return stated
    values = tuple(stated[0].split(OR))
    return values if all(value in occurring for value in values) else stated


def _all_but(negative: tuple[str, ...], occurring: list[str], place: str) -> tuple[str, ...]:
    """The positive values where only the negative ones are named: all others."""
    if occurring and not set(negative) & set(occurring):
        hint = did_you_mean(negative[0], occurring)
        raise DataError(f"{place}: the negative value '{negative[0]}' does not occur{hint}")
    return tuple(value for value in occurring if value not in negative)


def _classes(task: Task, occurring: list[str], place: str) -> dict[str, str]:
    """The class of each value: itself, or the name of the group of values that the task puts together."""
    if not task.positive:
        return {value: value for value in occurring}
    rest = [value for value in occurring if value not in task.positive]
    if task.negative:
        for value in rest:
            if value not in task.negative:
                raise DataError(
                    f"{place}: the value '{value}' is neither positive nor negative; leave those rows out with 'where'"
                )
    negative = OR.join(task.negative) or (rest[0] if len(rest) == 1 else f"not {OR.join(task.positive)}")
    return dict.fromkeys(task.positive, OR.join(task.positive)) | dict.fromkeys(rest, negative)


def _sides(task: Task, distinct: tuple[str, ...], classes: Mapping[str, str]) -> tuple[str | None, str | None]:
    if not task.positive:
        return (distinct[1], distinct[0]) if len(distinct) == 2 else (None, None)
    positive = classes[task.positive[0]]
    negative = next((name for name in distinct if name != positive), OR.join(task.negative) or None)
    return positive, negative


def check_primary_key(table: TableSchema, encoded: Table, domains: Mapping[str, Domain], source: Source) -> None:
    """Refuse a declared primary key that is null or not unique."""
    import pyarrow as pa

    if not table.primary_key or source.n_rows == 0:
        return
    parts = [_distinct_codes(name, encoded, domains, source) for name in table.primary_key]
    place = f"{source.location}: table '{table.name}', primary key '{', '.join(table.primary_key)}'"
    advice = "correct the rows or take primary_key out of the schema"
    for name, (codes, _) in zip(table.primary_key, parts, strict=True):
        if codes.min() < 0:
            raise DataError(f"{place}: row {int((codes < 0).argmax()) + 1} has no '{name}'; {advice}")
    combined = parts[0][0]
    for codes, distinct in parts[1:]:
        packed = combined.astype(np.int64) * len(distinct) + codes
        combined = factorize(pa.chunked_array([packed]))[0]
    counts = np.bincount(combined)
    if counts.max() > 1:
        row = int((combined == np.argmax(counts > 1)).argmax())
        value = ", ".join(str(distinct[int(codes[row])]) for codes, distinct in parts)
        raise DataError(f"{place}: the value '{value}' occurs twice; {advice}")


def _distinct_codes(
    name: str, encoded: Table, domains: Mapping[str, Domain], source: Source
) -> tuple[NDArray[np.int32], Any]:
    """Codes and distinct values of a column, from what is encoded already where that is possible."""
    import pyarrow as pa

    column = encoded.columns.get(name)
    if encoded.times is not None and name == encoded.times.name:
        column = encoded.times
    if column is None:
        return factorize(source.read(name))
    if column.kind == "key":
        return column.codes, domains[str(column.domain)].values
    if column.kind == "nominal":
        return column.codes, column.categories
    return factorize(pa.chunked_array([pa.array(column.numbers, from_pandas=True)]))


def _encode(
    schema: Schema,
    visible: list[TableSchema],
    hidden: set[tuple[str, str]],
    times: Mapping[str, Column],
    sources: Mapping[str, Source],
) -> tuple[dict[str, Table], dict[str, Domain]]:
    names, domain_of = {item.name for item in visible}, schema.domains()
    members: dict[str, list[tuple[str, str]]] = {}
    for (table, column), domain in domain_of.items():
        if (table, column) not in hidden and table in names:
            members.setdefault(domain, []).append((table, column))
    domains: dict[str, Domain] = {}
    done: dict[tuple[str, str], Column] = {}
    for name, places in members.items():
        parts = [_read_key(sources[table], column) for table, column in places]
        stored = [
            sources[table].stored.get(column) or stored_type(sources[table].read(column).type)
            for table, column in places
        ]
        for table, column in places:
            sources[table].drop(column)
        domains[name], codes = Domain.merge(name, parts)
        for (table, column), column_codes, kind in zip(places, codes, stored, strict=True):
            done[table, column] = Column(column, "key", column_codes, domain=name, stored=kind)
    tables = {}
    for item in visible:
        columns = {}
        time, late = times.get(item.name), late_columns(schema, item.name, hidden)
        for column_schema in item.columns:
            place = (item.name, column_schema.name)
            if place not in hidden and (time is None or time.name != column_schema.name):
                columns[column_schema.name] = (
                    done.pop(place)
                    if place in done
                    else encode_column(column_schema, sources[item.name], column_schema.name in late.values())
                )
                sources[item.name].drop(column_schema.name)
        tables[item.name] = Table(item.name, columns, sources[item.name].n_rows, times=time, late=late)
    return tables, domains


def _read_key(source: Source, column: str) -> tuple[NDArray[np.int32], pa.Array]:
    return factorize_keys(source.read(column), f"{source.location}: table '{source.name}', key column '{column}'")


def encode_column(column: ColumnSchema, source: Source, is_time: bool = False) -> Column:
    """A column that is not a key; `is_time` says that it holds times that are compared with the examples'."""
    place = _place(source, column.name)
    if is_time:
        return _encode_time(column.name, source)
    encoded = encode_attribute(column.name, column.type, source.read(column.name), place)
    return replace(encoded, stored=source.stored.get(column.name, encoded.stored))


def encode_attribute(name: str, kind: str, values: pa.ChunkedArray, place: str) -> Column:
    """Encode values as a nominal, numeric or date attribute; `place` names them in errors."""
    stored = stored_type(values.type)
    if kind == "nominal":
        try:
            codes, categories = encode_nominal(values)
        except NotImplementedError:
            raise DataError(
                f"{place}: values of type '{values.type}' are no text; convert the column or leave it out"
            ) from None
        return Column(name, "nominal", codes, categories=categories, stored=stored)
    if kind == "date":
        moments = to_moments(values, place)
        return Column(name, "numeric", moments, is_date=True, stored=with_order(stored, text_order(values)))
    numbers, is_date = to_numbers(values, place)
    return Column(name, "numeric", numbers, is_date=is_date, stored=stored)


def _encode_time(name: str, source: Source) -> Column:
    encoded = encode_time(name, source.read(name), _place(source, name))
    return replace(encoded, stored=source.stored.get(name, encoded.stored))


def _read_fold_columns(
    schema: Schema, sources: Mapping[str, Source]
) -> dict[str, tuple[NDArray[np.int32], NDArray[np.object_]]]:
    found = {}
    for folds in schema.folds:
        for reference in folds.columns:
            table, column = split_reference(reference, schema.tables)
            if table in sources and column in sources[table].columns:
                found[reference] = encode_nominal(sources[table].read(column))
    return found


def _fold_values(
    folds: Folds,
    read: Mapping[str, Any],
    task: Task,
    tables: Mapping[str, Table],
    rows: NDArray[np.int64],
    schema: Schema,
) -> FoldValues:
    """The fold of each example, from a column of the target or of a table
    that the target refers to by its primary key.
    """
    for reference in folds.columns:
        table, _ = split_reference(reference, schema.tables)
        if reference not in read:
            continue
        of_row = rows_of(table, task, tables, schema)
        if of_row is None:
            continue
        codes, categories = read[reference]
        names = folds.values or tuple(str(category) for category in categories)
        place = {value: position for position, value in enumerate(names)}
        position = np.array([place.get(str(category), -1) for category in categories] + [-1], dtype=np.int32)
        target_rows = of_row[rows]
        return FoldValues(names, np.where(target_rows >= 0, position[codes[target_rows]], -1).astype(np.int32))
    return FoldValues(
        problem=f"the folds '{folds.name}' belong to {' and '.join(folds.columns)}, not to table '{task.table}'"
    )


def rows_of(table: str, task: Task, tables: Mapping[str, Table], schema: Schema) -> NDArray[np.int64] | None:
    """For each row of the target its row in another table, -1 for none."""
    target = tables[task.table]
    if table == task.table:
        return np.arange(target.n_rows)
    primary = schema.tables[table].primary_key
    if table not in tables or len(primary) != 1 or primary[0] not in tables[table].columns:
        return None
    other = tables[table].columns[primary[0]]
    for key in target.keys:
        if key.domain == other.domain and key.name in (task.key or (key.name,)):
            row_of = np.full(max(other.codes.max(initial=-1), key.codes.max(initial=-1)) + 2, -1, dtype=np.int64)
            row_of[other.codes] = np.arange(other.codes.size)
            row_of[-1] = -1
            return row_of[key.codes]
    return None
