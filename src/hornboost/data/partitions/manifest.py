"""`manifest.json`: what a folder of partitions holds, and the checksums of its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

from hornboost.errors import DataError, HornBoostError

NAME = "manifest.json"
TARGET = "target.parquet"
DICTIONARIES = "dictionaries"
FORMAT = "hornboost-partitions"
VERSION = 2
CEILING = 1 << 28
"""Bytes that a manifest may have."""

AGAIN = "make the partitions again with 'hornboost partition'"


@dataclass(frozen=True)
class ColumnEntry:
    """A column of all parts: what `Column` says of it, and the files of its categories or levels."""

    name: str
    kind: str
    domain: str | None = None
    is_date: bool = False
    stored: str | None = None
    categories: str | None = None
    levels: str | None = None
    distinct: int = 0
    missing: int = 0
    squares: int = 0
    """Of a key the squares of the numbers of rows that have each, added up: how much its values recur."""


@dataclass(frozen=True)
class TableEntry:
    """A table of the source: its rows there, in each part, and the keys of which no two rows have the same.

    `whole` says that every part holds all of its rows, and `shared` how many several parts hold otherwise;
    `rows_unique` that no two rows have the same keys in all columns.
    """

    name: str
    file: str
    columns: tuple[ColumnEntry, ...]
    times: ColumnEntry | None
    late: Mapping[str, str]
    rows: int
    whole: bool
    parts: tuple[int, ...]
    unique: tuple[str, ...]
    rows_unique: bool
    shared: int


@dataclass(frozen=True)
class DomainEntry:
    """The identifiers that key columns share: 64-bit integers or text; small sets of them are in a file."""

    name: str
    type: str
    size: int
    file: str | None = None


@dataclass(frozen=True)
class FileEntry:
    """What a file must be."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """All that is known of the whole database without its rows."""

    hornboost: str
    partitions: int
    depth: int
    small_table: int
    max_bins: int
    schema: Mapping[str, Any]
    task: Mapping[str, Any]
    target: Mapping[str, Any]
    tables: tuple[TableEntry, ...]
    domains: tuple[DomainEntry, ...]
    determined: tuple[tuple[str, ...], ...]
    """The places (table, out, carried, other, joined, column) of which other.joined = table.out always brings
    other.column = table.carried."""
    included: tuple[tuple[str, ...], ...]
    """The places (table, other, columns …) of which each row of the other table has a row in the table with these
    columns as its keys."""
    links: tuple[Mapping[str, Any], ...]
    said: Mapping[str, Any]
    """What was inferred, left out and warned of when the source was read."""
    files: Mapping[str, FileEntry] = field(default_factory=dict)

    def table(self, name: str) -> TableEntry:
        """The entry of a table."""
        return next(table for table in self.tables if table.name == name)


def sealed(manifest: Manifest) -> bytes:
    """The bytes of the file; equal manifests give equal bytes."""
    content = {"format": FORMAT, "version": VERSION, "manifest": asdict(manifest)}
    content["checksum"] = _digest(content)
    return (json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode()


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder, checked."""
    path = folder / NAME
    try:
        with path.open("rb") as file:
            content = file.read(CEILING)
        parsed = json.loads(content, parse_constant=_no_number)
    except OSError as error:
        raise DataError(f"{path}: the manifest cannot be read ({error.strerror}); {AGAIN}") from None
    except (ValueError, RecursionError):
        raise DataError(f"{path}: the manifest is damaged or cut short; {AGAIN}") from None
    if not isinstance(parsed, dict) or parsed.get("format") != FORMAT:
        raise DataError(f"{path}: this is no manifest of partitions; {AGAIN}")
    version = parsed.get("version")
    if version != VERSION:
        raise DataError(
            f"{path}: the partitions have format version {str(version)[:40]}, and this HornBoost reads {VERSION}; "
            f"install the one that wrote them, or {AGAIN}"
        )
    if parsed.pop("checksum", None) != _digest(parsed):
        raise DataError(f"{path}: the checksum does not match, so the manifest was changed or damaged; {AGAIN}")
    with understood(path):
        found: Manifest = _typed(Manifest, parsed["manifest"], "manifest")
        return found


@contextmanager
def understood(path: Path) -> Iterator[None]:
    """Refuse in a sentence what cannot be what was written, although its checksum is right."""
    try:
        yield
    except HornBoostError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError) as error:
        raise DataError(f"{path}: the manifest's content is not valid ({error}); {AGAIN}") from None


def is_partitioned(folder: Path) -> bool:
    """Whether a folder holds partitions."""
    return (folder / NAME).is_file()


def refuse_partitions(folder: Path) -> None:
    """Refuse to take the files of partitions for tables, as their columns have no names of their own there."""
    if (folder / TARGET).is_file() and (folder / DICTIONARIES).is_dir():
        if is_partitioned(folder):
            raise DataError(f"{folder}: these are partitions; read them with Database.from_partitions")
        raise DataError(
            f"{folder / NAME}: the manifest of the partitions is missing; copy it from where they were made, or {AGAIN}"
        )


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"'{name}' is no number")


def _typed(kind: Any, plain: Any, place: str) -> Any:
    """A value of JSON as an annotation of the classes above says that it is."""
    base, inner = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        types, given = get_type_hints(kind), _typed(dict, plain, place)
        return kind(**{name: _typed(types[name], value, f"{place}.{name}") for name, value in given.items()})
    if base is tuple:
        return tuple(_typed(inner[0], value, f"{place}[{k}]") for k, value in enumerate(_typed(list, plain, place)))
    if base is Mapping:
        return {name: _typed(inner[1], value, f"{place}.{name}") for name, value in _typed(dict, plain, place).items()}
    if base is UnionType:
        return None if plain is None else _typed(inner[0], plain, place)
    if kind is not Any and type(plain) is not kind:
        raise TypeError(f"{place} is of type '{type(plain).__name__}'")
    return plain
