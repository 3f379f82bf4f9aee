"""A schema from tables that have none: types, keys by uniqueness, links by name and inclusion.

Each guess is noted in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from hornboost.data.convert import factorize
from hornboost.data.partitions.spool import batches_of
from hornboost.data.schema import ColumnSchema, ForeignKey, Schema, TableSchema, stated_types
from hornboost.data.source import Source
from hornboost.data.text_numbers import whole_keys
from hornboost.data.times import DATES, encode_time
from hornboost.data.value_counts import ValueCounts, count_values
from hornboost.data.values import EXACT, natural_type, stored_type, to_key_values, to_text
from hornboost.errors import DataError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

INCLUSION = 0.9
"""The share of distinct values that must be found in the referenced column for a link to be inferred."""

NEARLY = 0.5
"""The share of them from which on a link is worth telling of, if nothing else joins the table."""

FEWEST = 5
"""Distinct words that two columns do not share by chance."""

SPOILT = 0.1
"""The share of the rows of a table that may repeat a value, or lack one, where a column is a key that was spoilt."""

GENERIC = frozenset(["id", "key", "code", "name", "nr", "no", "number", "uid", "uuid", "pk"])
CALENDAR = re.compile(r"(year|quarter|month|week|day|hour|date|time)s?(id|key|code|nr|no|pk)")
"""Names of columns that tell a time, whatever they end in."""

ENDINGS = ("", "id", "key", "code", "nr", "no", "uid", "pk")


@dataclass(frozen=True, eq=False)
class Profile:
    """What inference looks at in a column that could be a key: its distinct values as identifiers, and whether each
    row has another one.
    """

    values: pa.Array
    unique: bool


@dataclass(eq=False)
class Hints:
    """What a reader or the user already knows, and the tables from which links are to be inferred."""

    foreign_keys: Sequence[ForeignKey] = ()
    infer_links: frozenset[str] = frozenset()
    primary_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    keys: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    nominal: Iterable[tuple[str, str]] = ()
    label: tuple[str, str] | None = None
    times: Sequence[tuple[str, str]] = ()


def infer_schema(
    sources: Mapping[str, Source], hints: Hints, location: str
) -> tuple[Schema, list[str], list[str], list[str]]:
    """The schema, the notes on what was inferred, warnings about columns that cannot be used, and about spoilt keys."""
    return _Inference(sources, hints, location).run()


class _Inference:
    def __init__(self, sources: Mapping[str, Source], hints: Hints, location: str) -> None:
        self.sources = sources
        self.hints = hints
        self.location = location
        self.notes: list[str] = []
        self.warnings: list[str] = []
        self.doubts: list[str] = []
        self.types: dict[tuple[str, str], str] = {}
        self.given: set[tuple[str, str]] = set()
        self.domains: dict[tuple[str, str], str | None] = {}
        self.profiles: dict[tuple[str, str], Profile] = {}
        self.named: dict[str, list[tuple[str, str]]] = {}
        self.primary: dict[str, tuple[str, ...]] = dict(hints.primary_keys)
        self.links: list[ForeignKey] = list(hints.foreign_keys)

    def run(self) -> tuple[Schema, list[str], list[str], list[str]]:
        self._natural_types()
        for place in self.profiles:
            self.named.setdefault(_plain(place[1]), []).append(place)
        self._given_keys()
        self._primary_keys()
        self._foreign_keys()
        spoilt = self._spoilt_keys()
        self._shared_names()
        self.doubts += self._decimal_keys()
        self.doubts += self._missed_links()
        self.doubts += [said for place, said in spoilt.items() if self.domains.get(place) is None]
        tables = {
            name: TableSchema(
                name,
                tuple(
                    ColumnSchema(column, self.types[name, column], self.domains.get((name, column)))  # type: ignore[arg-type]
                    for column in source.columns
                    if (name, column) in self.types
                ),
                self.primary.get(name, ()),
            )
            for name, source in self.sources.items()
        }
        schema = Schema(tables, tuple(self.links), location=self.location)
        return schema, self.notes, self.warnings, self.doubts

    def _natural_types(self) -> None:
        columns = {name: source.columns for name, source in self.sources.items()}
        overrides = stated_types(self.hints.types, columns, self.location)
        self.given |= overrides.keys()
        for table, column in self.hints.times:
            self._require(table, column, "times")
        for name, source in self.sources.items():
            for column in source.columns:
                place = (name, column)
                if place in self.hints.times and place not in overrides and place != self.hints.label:
                    self.types[place] = self._time_type(place, source)
                    self.given.add(place)
                elif place in overrides or place in self.hints.nominal:
                    self.types[place] = overrides.get(place, "nominal")
                    self.given.add(place)
                else:
                    self._natural_type(place, source.read(column), source.n_rows)
                    if place == self.hints.label:  # what is predicted identifies nothing
                        self.given.add(place)

    def _time_type(self, place: tuple[str, str], source: Source) -> str:
        """The type of a column that holds times: it is no key and no class, whatever it looks like."""
        values, where = source.read(place[1]), f"{source.location}: table '{place[0]}', column '{place[1]}'"
        if stored_type(values.type) in DATES:
            return "date"
        return "date" if encode_time(place[1], values, where).is_date else "numeric"

    def _natural_type(self, place: tuple[str, str], values: pa.ChunkedArray, n_rows: int) -> None:
        kind = natural_type(values.type)
        if kind is None:
            self.warnings.append(
                f"{self.location}: {'.'.join(place)} is left out: values of type '{values.type}' are not supported"
            )
            return
        if self._could_be_key(values):
            self._profile(place, values, n_rows)
            if kind == "numeric" and self._is_flag(self.profiles[place].values):
                kind = "nominal"
                self.notes.append(f"{'.'.join(place)} holds only 0 and 1: nominal")
        self.types[place] = kind

    def _profile(self, place: tuple[str, str], values: pa.ChunkedArray, n_rows: int) -> None:
        codes, distinct = factorize(values)
        unique = n_rows > 0 and len(distinct) == n_rows and bool((codes >= 0).all())
        self.profiles[place] = Profile(to_key_values(distinct), unique)

    @staticmethod
    def _could_be_key(values: pa.ChunkedArray) -> bool:
        """Text and whole numbers can; also floats that are whole and have nulls,
        as pandas stores whole numbers beside nulls so.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        if pa.types.is_floating(kind):
            exact = pc.and_(
                pc.equal(pc.floor(values), values), pc.less_equal(pc.abs(values), pa.scalar(float(EXACT), values.type))
            )
            return 0 < values.null_count < len(values) and bool(pc.all(exact).as_py())
        whole = pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0)
        return bool(
            whole or (natural_type(kind) == "nominal" and not pa.types.is_boolean(kind) and not pa.types.is_null(kind))
        )

    @staticmethod
    def _is_flag(values: pa.Array) -> bool:
        return 0 < len(values) <= 2 and set(values.to_pylist()) <= {0, 1}

    def _require(self, table: str, column: str, place: str) -> None:
        if table not in self.sources:
            raise DataError(f"{self.location}: {place}: there is no table '{table}'{did_you_mean(table, self.sources)}")
        columns = self.sources[table].columns
        if column not in columns:
            raise DataError(
                f"{self.location}: {place}: table '{table}' has no column '{column}'{did_you_mean(column, columns)}"
            )

    def _given_keys(self) -> None:
        for table, columns in self.hints.keys.items():
            for column, domain in columns.items():
                self._require(table, column, "keys")
                self._make_key((table, column))
                self.domains[table, column] = domain
        for link in self.links:
            for table, column in ((link.table, link.column), (link.to_table, link.to_column)):
                self._require(table, column, f"the foreign key {link}")
                self._make_key((table, column))
        for table, names in self.primary.items():
            for column in names:
                self._require(table, column, f"the primary key of '{table}'")
                if (table, column) in self.profiles and (table, column) not in self.given:
                    self._make_key((table, column))

    def _make_key(self, place: tuple[str, str]) -> None:
        self.types[place] = "key"

    def _free(self, place: tuple[str, str]) -> bool:
        """Whether inference may make the column a key."""
        return place in self.profiles and place not in self.given

    def _primary_keys(self) -> None:
        for name, source in self.sources.items():
            if name in self.primary:
                continue
            unique = [
                column
                for column in source.columns
                if (name, column) in self.profiles and self.profiles[name, column].unique
            ]
            named = [column for column in unique if _plain(column) in _names_of(name) | {"id"}]
            declared = [column for column in unique if self.types[name, column] == "key"]
            first = [column for column in unique[:1] if column == source.columns[0] and _is_id(column)]
            shared = [column for column in unique if self._is_shared((name, column))]
            for column in [*declared, *named, *first, *shared][:1]:
                if self.types[name, column] == "key" or self._free((name, column)):
                    self.primary[name] = (column,)
                    self._make_key((name, column))
                    self.notes.append(f"{name}.{column} is the primary key: its values are unique")

    def _spoilt_keys(self) -> dict[tuple[str, str], str]:
        """What to say of tables without a key: which column would be it, but for a few rows, and what that costs."""
        found: dict[tuple[str, str], str] = {}
        linked = {(link.table, link.column) for link in self.links}
        linked |= {(link.to_table, link.to_column) for link in self.hints.foreign_keys}
        for name, source in self.sources.items():
            if name in self.primary:
                continue
            named = [column for column in source.columns if _plain(column) in _names_of(name) | {"id"}]
            first = [
                column
                for column in source.columns[:1]
                if _is_id(column) and len(self.named.get(_plain(column), ())) == 1
            ]
            for column in [*named, *first]:
                profile = self.profiles.get((name, column))
                if (name, column) in linked or profile is None or not self._free((name, column)):
                    continue
                if 0 < source.n_rows - len(profile.values) <= SPOILT * source.n_rows and len(profile.values) > 1:
                    found[name, column] = _spoilt(
                        (name, column), count_values(batches_of(source, column)), source.n_rows
                    )
                    break
        return found

    def _is_shared(self, place: tuple[str, str]) -> bool:
        """Whether a text column also stands, with the same name and values, in another table."""
        import pyarrow as pa

        return pa.types.is_string(self.profiles[place].values.type) and any(
            other[0] != place[0] and len(self.profiles[other].values) > 0 and self._inclusion(other, place) >= INCLUSION
            for other in self.named[_plain(place[1])]
        )

    def _parents(self) -> set[tuple[str, str]]:
        """The columns that others may refer to."""
        return {
            (table, names[0])
            for table, names in self.primary.items()
            if len(names) == 1 and (table, names[0]) in self.profiles
        }

    def _foreign_keys(self) -> None:
        parents = self._parents()
        for place in self.profiles:
            if place[0] not in self.hints.infer_links or not self._free(place) or len(self.profiles[place].values) == 0:
                continue
            if any((link.table, link.column) == place for link in self.hints.foreign_keys):
                continue
            found = [
                (match, _plain(parent[1]) not in _names_of(parent[0]), -self._inclusion(place, parent), parent)
                for parent in sorted(parents)
                if parent != place and (match := _match(place, parent)) is not None
            ]
            found = [item for item in found if -item[2] >= INCLUSION]
            if not found:
                continue
            _, _, share, parent = min(found)
            if self._reaches(parent, place):
                continue
            self._make_key(place)
            self.links.append(ForeignKey(*place, *parent))
            pair = f"{'.'.join(place)} refers to {'.'.join(parent)}"
            self.notes.append(f"{pair}: the names agree and {-share:.0%} of its values are found there")

    def _decimal_keys(self) -> Iterator[str]:
        """What to say of columns that would refer to a primary key, but for being decimals such as 46.0."""
        parents = sorted(self._parents())
        for place, kind in self.types.items():
            if kind == "key" or place in self.given or place[0] not in self.hints.infer_links:
                continue
            near = [parent for parent in parents if parent[0] != place[0] and _match(place, parent) is not None]
            whole = _as_whole(self.sources[place[0]].read(place[1])) if near else None
            if whole is None:
                continue
            for parent in near:
                if _share(whole, self.profiles[parent].values) >= INCLUSION:
                    yield _decimal(place, parent, whole[0].as_py(), kind)
                    break

    def _missed_links(self) -> Iterator[str]:
        """What to say of tables that nothing joins, but whose rows text of another table may well name."""
        joined = {place[0] for place, domain in self.domains.items() if domain is not None}
        joined |= {table for link in self.links for table in (link.table, link.to_table)}
        for table in [table for table in self.sources if table not in joined and table in self.hints.infer_links]:
            found = [
                (self._inclusion(place, parent), place, parent)
                for parent, own in self.profiles.items()
                if parent[0] == table and own.unique and self._is_name(parent)
                for place in self.profiles
                if place[0] != table and self._is_name(place)
            ]
            share, place, parent = max(found, default=(0.0, ("", ""), ("", "")))
            if share >= NEARLY:
                start, end = ".".join(place), ".".join(parent)
                yield (
                    f"nothing joins {table}: {end} holds {share:.0%} of the values of {start}; if that refers to it, "
                    f"--link {quote(f'{start}={end}')} (links= in Python) joins them"
                )

    def _is_name(self, place: tuple[str, str]) -> bool:
        """Whether a column holds text of so many values that another one has the same by no chance."""
        import pyarrow as pa

        values = self.profiles[place].values
        return self._free(place) and pa.types.is_string(values.type) and len(values) >= FEWEST

    def _reaches(self, start: tuple[str, str], end: tuple[str, str]) -> bool:
        seen = {start}
        ahead = [start]
        while ahead:
            place = ahead.pop()
            following = {
                (link.to_table, link.to_column) for link in self.links if (link.table, link.column) == place
            } - seen
            seen |= following
            ahead += following
        return end in seen

    def _inclusion(self, child: tuple[str, str], parent: tuple[str, str]) -> float:
        return _share(self.profiles[child].values, self.profiles[parent].values)

    def _shared_names(self) -> None:
        """Identifiers that several tables hold without a table of their own."""
        linked = {(link.table, link.column) for link in self.links} | {
            (link.to_table, link.to_column) for link in self.links
        }
        by_name: dict[str, list[tuple[str, str]]] = {}
        for place in self.profiles:
            if place[0] not in self.hints.infer_links or place in linked or self.domains.get(place) is not None:
                continue
            if self._free(place) or self.types[place] == "key":
                by_name.setdefault(_plain(place[1]), []).append(place)
        for name, places in by_name.items():
            keys = [place for place in places if self.types[place] == "key"]
            if name in GENERIC or not (keys or _is_id(places[0][1])):
                continue
            if not keys and CALENDAR.fullmatch(name) and {self.types[place] for place in places} == {"numeric"}:
                listed = ", ".join(map(".".join, places))
                self.notes.append(f"{listed}: the name says that this is a time, so it is numeric and not a key")
                continue
            alike = [place for place in places if place in keys or self._overlap(place, (keys or places)[0])]
            for place in alike:
                self._make_key(place)
                if len(alike) > 1:
                    self.domains[place] = places[0][1]
            text = ", ".join(".".join(place) for place in alike)
            if len(alike) > 1:
                self.notes.append(f"{text} hold the same identifiers: their names agree and values are shared")
            elif alike[0] not in keys:
                self.notes.append(f"{text} is a key by its name")

    def _overlap(self, one: tuple[str, str], other: tuple[str, str]) -> bool:
        import pyarrow.compute as pc

        values = to_text(self.profiles[one].values), to_text(self.profiles[other].values)
        return one == other or bool(pc.any(pc.is_in(values[0], value_set=values[1])).as_py())


def _share(one: pa.Array, other: pa.Array) -> float:
    """The share of the values of one column that are found in another."""
    import pyarrow.compute as pc

    if one.type != other.type:
        return 0.0
    return float(np.mean(pc.is_in(one, value_set=other).to_numpy(zero_copy_only=False)))


def _as_whole(values: pa.ChunkedArray) -> pa.Array | None:
    """The distinct values of a column as integers, where it is of floats or texts that all are whole."""
    import pyarrow as pa
    import pyarrow.compute as pc

    distinct = factorize(values)[1].drop_null()
    if not pa.types.is_floating(distinct.type):
        found = whole_keys(distinct)
        return found if found is None else found.drop_null()
    distinct = distinct.cast(pa.float64())
    if len(distinct) == 0 or not pc.all(pc.less_equal(pc.abs(distinct), float(EXACT))).as_py():
        return None
    return distinct.cast(pa.int64()) if pc.all(pc.equal(pc.floor(distinct), distinct)).as_py() else None


def _decimal(place: tuple[str, str], parent: tuple[str, str], number: int, kind: str) -> str:
    start, end = ".".join(place), ".".join(parent)
    way_out = f"--link {quote(f'{start}={end}')} joins them" if kind == "numeric" else "write whole numbers there"
    return (
        f"{start} would refer to {end}, but holds decimals such as {number}.0, which are not taken for keys; {way_out}"
    )


def _spoilt(place: tuple[str, str], values: ValueCounts, n_rows: int) -> str:
    reasons = []
    repeated = np.flatnonzero(values.counts > 1)
    if repeated.size:
        several = f"{repeated.size:,} of its values stand" if repeated.size > 1 else "1 of its values stands"
        one = to_key_values(values.values.take(repeated[:1]))[0]
        reasons.append(f"{several} in several of {n_rows:,} rows, such as '{one.as_py()}'")
    if values.missing:
        reasons.append(f"{values.missing:,} of {n_rows:,} rows {'has' if values.missing == 1 else 'have'} none")
    column = ".".join(place)
    return (
        f"{column} would be the primary key, but {' and '.join(reasons)}: no other table is linked to it; remove those "
        f"rows, or name each link as in --link {quote(f'TABLE.COLUMN={column}')}"
    )


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _is_id(name: str) -> bool:
    """Whether a column is an identifier by its name.

    >>> [_is_id(name) for name in ("account_id", "accountId", "id", "paid", "foreign key")]
    [True, True, True, False, True]
    """
    return re.search(r"(^|[^a-zA-Z])(?i:id|key|uid|uuid|pk)$|[a-z](Id|ID|Key)$", name) is not None


def _names_of(table: str) -> set[str]:
    """What a column that identifies the rows of a table may be called."""
    plain = _plain(table)
    stems = {plain, plain.removesuffix("s"), re.sub("ies$", "y", plain), plain.removesuffix("es")}
    return {stem + ending for stem in stems if stem for ending in ENDINGS} | {"id" + stem for stem in stems if stem}


def _match(child: tuple[str, str], parent: tuple[str, str]) -> int | None:
    """How well a column's name points to a primary key.

    0 the same name, 1 named after the table, 2 with a number or role; None not.
    """
    name, key = _plain(child[1]), _plain(parent[1])
    if name == key and key not in GENERIC:
        return 0
    names = _names_of(parent[0]) | ({key} if key not in GENERIC else set())
    if child[0] != parent[0] and name in names:
        return 1
    if re.sub(r"[0-9]+$", "", name) in names or any(len(other) >= 4 and name.endswith(other) for other in names):
        return 2
    return None
