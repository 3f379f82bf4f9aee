"""What a model was told about times: kept in its file, so that it looks at nothing else where it predicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hornboost.data.dated import dated
from hornboost.data.describe import type_name
from hornboost.data.values import is_stored_type
from hornboost.errors import DataError, ModelError, did_you_mean
from hornboost.model.part import ParsedPart

if TYPE_CHECKING:
    from hornboost.data import Database
    from hornboost.model.file import SavedModel

Late = Mapping[str, Mapping[str, str]]
"""By table the columns that are filled in later, each with the column that says when."""


@dataclass(frozen=True)
class SavedTime:
    """The time of a table's rows: its column, whether that is of dates or numbers and how it is stored.

    `age` is what rules call the time from a row to the example's cutoff.
    """

    column: str
    type: str
    age: str
    stored: str | None = None


def saved_times(database: Database, tables: Iterable[str]) -> dict[str, SavedTime]:
    """The times of some tables."""
    found = {}
    for name in tables:
        table = database.tables[name]
        if table.times is not None:
            found[name] = SavedTime(table.times.name, type_name(table.times), str(table.age), table.times.stored)
    return found


def saved_late(database: Database, tables: Iterable[str]) -> dict[str, dict[str, str]]:
    """The columns of some tables that are filled in later."""
    return {name: dict(database.tables[name].late) for name in tables if database.tables[name].late}


def what_counts(model: SavedModel) -> str:
    """Which rows and values count for an example, in a sentence; empty where all do."""
    return in_words(model.target.table, {table: time.column for table, time in model.times.items()}, model.late)


def in_words(target: str, times: Mapping[str, str], late: Late) -> str:
    """The same of the time columns of tables, and of columns that are filled in later.

    >>> in_words("loan", {"loan": "granted", "trans": "date"}, {"card": {"reason": "closed", "closed": "closed"}})
    'Rows of trans count if they are from before loan.granted, card.reason only if card.closed is so.'
    """
    tables = [table for table in times if table != target]
    said = [f"rows of {listed(tables)} count if they are from before {target}.{times[target]}"] if tables else []
    for table, columns in late.items():
        for dating in dict.fromkeys(columns.values()):
            filled = [f"{table}.{column}" for column, by in columns.items() if by == dating != column] or [
                f"{table}.{dating}"
            ]
            verb = "only if" if said else f"count{'s' * (len(filled) == 1)} only if"
            before = "is so" if said else f"is from before {target}.{times[target]}"
            said.append(f"{listed(filled)} {verb} {table}.{dating} {before}")
    text = ", ".join(said)
    return text[:1].upper() + text[1:] + ("." if text else "")


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), *names[-1:]])


def written(model: SavedModel) -> dict[str, Any]:
    """Times as JSON holds them; nothing where there are none."""
    times = {
        table: {name: value for name, value in vars(time).items() if value is not None}
        for table, time in model.times.items()
    }
    late = {table: dict(columns) for table, columns in model.late.items()}
    return {**({"times": times} if times else {}), **({"late": late} if late else {})}


def read_times(content: ParsedPart | None) -> dict[str, SavedTime]:
    """Times as a file holds them."""
    return {} if content is None else {table: _time(part) for table, part in content.record().items()}


def _time(content: ParsedPart) -> SavedTime:
    stored = content.get("stored")
    if stored is not None and not is_stored_type(stored.text()):
        stored.fail("is no type of stored values")
    kind = content["type"].one_of(frozenset({"date", "numeric"}))
    return SavedTime(content["column"].text(), kind, content["age"].text(), None if stored is None else stored.text())


def read_late(content: ParsedPart | None) -> dict[str, dict[str, str]]:
    """Columns that are filled in later, as a file holds them."""
    if content is None:
        return {}
    return {
        table: {column: dating.text() for column, dating in part.record().items()}
        for table, part in content.record().items()
    }


def check_times(model: SavedModel) -> None:
    """Refuse times of a file that do not fit its schema."""
    known = {table: {column.name: column.type for column in columns} for table, columns in model.schema.items()}
    target = model.target.table
    if (model.times or model.late) and target not in model.times:
        raise ModelError(f"the target '{target}' has no time, and others have")
    for table, time in model.times.items():
        if table not in known or time.column in known[table] or time.age in (*known[table], time.column):
            raise ModelError(f"the time of table '{table}' does not fit its columns")
        if time.type != model.times[target].type:
            raise ModelError(f"the time of table '{table}' cannot be compared with that of '{target}'")
    for table, columns in model.late.items():
        for column, dating in columns.items():
            if known.get(table, {}).get(dating) not in ("date", "numeric") or column not in known[table]:
                raise ModelError(f"'{column}' of table '{table}' has no column that says when it is filled in")


def dated_by(model: SavedModel, database: Database) -> Database:
    """The database with the times of a model, unless it has times of its own: those must be the same."""
    if not model.times and not database.times:
        return database
    if not database.times and not database.known_later and model.target.table == database.target.table:
        return _given_times(model, database)
    check_same(model, database)
    return database


def _given_times(model: SavedModel, database: Database) -> Database:
    later: dict[str, dict[str, tuple[str, ...]]] = {}
    for table, columns in model.late.items():
        for column, dating in columns.items():
            later.setdefault(table, {}).setdefault(dating, ())
            later[table][dating] += (column,) if column != dating else ()
    for table, time in model.times.items():
        if table not in database.tables:
            raise ModelError(f"the model needs the table '{table}', which this database does not have")
        present = database.tables[table].columns
        if time.column not in present and table != model.target.table:
            hint = did_you_mean(time.column, present)
            raise ModelError(
                f"the model needs the time '{time.column}' of table '{table}', which this database does not have{hint}"
            )
    times = {table: time.column for table, time in model.times.items()}
    is_date = model.times[model.target.table].type == "date"
    try:
        found = dated(database, times, later, is_date)
    except DataError as error:
        raise ModelError(f"the model was learned with times, and here {error}") from None
    check_same(model, found)
    return found


def check_same(model: SavedModel, database: Database) -> None:
    """Refuse a database in which other rows or values count than those that the model was learned from."""
    for table in model.schema:
        if table in database.tables:
            _check_table(model, database, table)


def _check_table(model: SavedModel, database: Database, table: str) -> None:
    time, here = model.times.get(table), database.tables[table].times
    if time is None and here is not None:
        raise ModelError(
            f"the model was learned without a time of table '{table}', and this database gives it '{here.name}'; open "
            "it without that time, or fit again"
        )
    if time is not None and (here is None or here.name != time.column):
        other = "none" if here is None else f"'{here.name}'"
        raise ModelError(
            f"the model was learned with the time '{time.column}' of table '{table}', and this database has {other}; "
            "open it with the same times, or without any"
        )
    if time is not None and here is not None and time.type != type_name(here) and not here.missing.all():
        raise ModelError(
            f"the model needs the time '{time.column}' of table '{table}' as {time.type}, and here it is "
            f"{type_name(here)}; convert it"
        )
    if time is not None and time.age != database.tables[table].age:
        raise ModelError(
            f"the model calls the age of the rows of table '{table}' '{time.age}', which is a column of this database; "
            "exclude that column"
        )
    late, found = model.late.get(table, {}), database.tables[table].late
    for column in sorted({*late, *found}, key=lambda name: (name in late.values() or name in found.values(), name)):
        if late.get(column) != found.get(column) and column in {known.name for known in model.schema[table]}:
            told = f"known with '{late[column]}'" if column in late else "known with its row"
            raise ModelError(
                f"for the model '{column}' of table '{table}' is {told}, and this database says otherwise in "
                "known_later; open it with the same times, or without any"
            )
