"""Which tables of a source are read: those that hold rows themselves, and what the user names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hornboost.data.readers.options import listed
from hornboost.data.schema import split_reference
from hornboost.errors import DataError, did_you_mean


@dataclass(frozen=True)
class Selection:
    """The tables to read, the others with the reason why not, and the options without those that are done with."""

    read: tuple[str, ...]
    left_out: tuple[str, ...]
    options: Mapping[str, Any]


def select_tables(
    known: Iterable[str], options: Mapping[str, Any], location: str, derived: Mapping[str, str] | None = None
) -> Selection:
    """Choose by the options `tables` and `exclude_tables`.

    `derived` are tables that hold no rows of their own (views and the like, with the word for each): they are read only
    if an option names them, as the target, in `tables`, or by one of their columns. A model that is kept as a view
    would otherwise learn from itself.

    >>> select_tables(["a", "b", "v"], {"target": "a"}, "here", {"v": "view"}).left_out
    ('v (view)',)
    >>> select_tables(["a", "b", "v"], {"tables": ["v"], "target": "a"}, "here", {"v": "view"}).read
    ('a', 'v')
    """
    known, derived = list(known), derived or {}
    rest = {name: value for name, value in options.items() if name not in ("tables", "exclude_tables")}
    tables = None if options.get("tables") is None else listed(options["tables"])
    excluded = listed(options.get("exclude_tables") or [])
    target = options.get("target")
    for place, names in (("tables", tables or ()), ("exclude_tables", excluded)):
        for name in names:
            if name not in known:
                raise DataError(f"{location}: {place}: there is no table '{name}'{did_you_mean(name, known)}")
    if target in excluded:
        raise DataError(f"{location}: exclude_tables leaves out the target table '{target}' itself; remove it there")
    named = {*(tables or ()), *_mentioned(rest, known)}
    read, left_out = [], []
    for name in known:
        if name in excluded:
            left_out.append(f"{name} (excluded)")
        elif name in named or (tables is None and name not in derived):
            read.append(name)
        else:
            left_out.append(f"{name} ({derived.get(name, 'not named')})")
    if not read:
        reason = "all are left out" if excluded or tables is not None else f"it holds nothing but {', '.join(left_out)}"
        raise DataError(f"{location}: there is no table to read: {reason}; name what to read with tables=[...]")
    return Selection(tuple(read), tuple(left_out), _about_others(rest, known, set(known) - set(read)))


def _about_others(options: Mapping[str, Any], known: Iterable[str], unread: Collection[str]) -> dict[str, Any]:
    """The options without what they say about tables that are not read."""

    def is_read(reference: Any) -> bool:
        return "." not in str(reference) or split_reference(str(reference), known)[0] not in unread

    rest = dict(options)
    for option in ("keys", "times", "known_later"):
        if isinstance(rest.get(option), Mapping):
            rest[option] = {table: columns for table, columns in rest[option].items() if table not in unread}
    if isinstance(rest.get("types"), Mapping):
        rest["types"] = {column: kind for column, kind in rest["types"].items() if is_read(column)}
    if rest.get("foreign_keys") is not None:
        rest["foreign_keys"] = [pair for pair in rest["foreign_keys"] if all(map(is_read, pair))]
    return rest


def _mentioned(options: Mapping[str, Any], known: Iterable[str]) -> Iterator[str]:
    """The tables that options other than `tables` name."""
    if options.get("target") is not None:
        yield str(options["target"])
    for option in ("keys", "times", "known_later"):
        yield from map(str, options.get(option) or ())
    yield from (table for table, _ in options.get("model") or ())
    references = [*(options.get("types") or ()), *(end for pair in options.get("foreign_keys") or () for end in pair)]
    for reference in references:
        if "." in str(reference):
            yield split_reference(str(reference), known)[0]
