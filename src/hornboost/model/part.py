"""A value in a parsed file, with its place in it.

What is read is checked against what must stand there, and an error names the place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from hornboost.errors import ModelError

DEEPEST = 32
"""Lists in records in lists: more than any file of ours has, and few enough for every function that follows them."""

LARGEST = 2**63 - 1


class ParsedPart:
    """A value of parsed JSON and the way to it.

    >>> ParsedPart({"rules": [{"votes": [0.5, "x"]}]})["rules"][0]["votes"][1].number()
    Traceback (most recent call last):
    hornboost.errors.ModelError: rules[0].votes[1] is no finite number
    """

    def __init__(self, value: Any, place: str = "") -> None:
        self.value = value
        self.place = place

    def fail(self, problem: str) -> NoReturn:
        raise ModelError(f"{self.place or 'the content'} {problem}")

    def __getitem__(self, step: str | int) -> ParsedPart:
        if isinstance(step, int):
            return list(self)[step]
        fields = self.record()
        if step not in fields:
            self.fail(f"has no '{step}'")
        return fields[step]

    def __iter__(self) -> Iterator[ParsedPart]:
        if not isinstance(self.value, list):
            self.fail("is no list")
        return (ParsedPart(value, f"{self.place}[{position}]") for position, value in enumerate(self.value))

    def __len__(self) -> int:
        return len(self.value) if isinstance(self.value, list) else self.fail("is no list")

    def record(self) -> dict[str, ParsedPart]:
        """The fields of a record."""
        if not isinstance(self.value, dict):
            self.fail("is no record")
        return {
            name: ParsedPart(value, f"{self.place}.{name}" if self.place else name)
            for name, value in self.value.items()
        }

    def get(self, name: str) -> ParsedPart | None:
        """A field, if the record has it and it is not null."""
        found = self.record().get(name)
        return None if found is None or found.value is None else found

    def text(self) -> str:
        """A text that UTF-8 can hold."""
        if not isinstance(self.value, str) or any("\ud800" <= character <= "\udfff" for character in self.value):
            self.fail("is no text")
        return self.value

    def texts(self) -> tuple[str, ...]:
        return tuple(part.text() for part in self)

    def number(self) -> float:
        """A finite number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            self.fail("is no finite number")
        try:
            number = float(self.value)
        except OverflowError:
            self.fail("is no finite number")
        return number if math.isfinite(number) else self.fail("is no finite number")

    def numbers(self, *lengths: int) -> tuple[float, ...]:
        """Finite numbers, as many as one of `lengths` says."""
        if len(self) not in lengths:
            self.fail(f"holds {len(self)} numbers instead of {' or '.join(map(str, sorted(set(lengths))))}")
        return tuple(part.number() for part in self)

    def whole(self, least: int = 0, most: int = LARGEST) -> int:
        """A whole number within bounds."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not least <= self.value <= most:
            self.fail(f"is no whole number from {least} to {most}")
        return self.value

    def flag(self) -> bool:
        return self.value if isinstance(self.value, bool) else self.fail("is neither true nor false")

    def one_of(self, known: Mapping[str, Any] | frozenset[str]) -> str:
        """One of some words."""
        return (
            self.value
            if isinstance(self.value, str) and self.value in known
            else self.fail(f"is none of {', '.join(sorted(known))}")
        )


def is_too_deep(value: Any) -> bool:
    """Whether lists and records are nested deeper than a file of ours nests them; found without recursion."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True
