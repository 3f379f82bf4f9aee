"""Figures and tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown.

    >>> print(markdown_table(["a", "b"], [["1", "2"]]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def number(value: float | None, deviation: float | None = None, digits: int = 1) -> str:
    """A figure and its deviation.

    >>> number(96.08, 1.5), number(None), number(0.8712, digits=3)
    ('96.1 ± 1.5', 'n/a', '0.871')
    """
    if value is None or value != value:
        return "n/a"
    return f"{value:.{digits}f}" + (f" ± {deviation:.{digits}f}" if deviation is not None else "")
