"""What notebooks show of explanations and subgroups: tables of escaped text."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hornboost.model.explanation import Explanation, Explanations, NumberExplanation

MOST_SHOWN, MOST_CHARACTERS = 100, 600
"""Rows of a table, and characters of a cell."""

MOST_EXPLAINED = 20


def escaped(value: object) -> str:
    """A value as text of a page, cut where it is too long to read."""
    text = str(value)
    return html.escape(
        text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}… ({len(text):,} characters)"
    )


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], n_rows: int) -> str:
    """A table of cells that are markup already; `n_rows` is the number of rows, of which the first are given.

    >>> table(["rules"], [["3"]], 2)
    '<table><thead><tr><th>rules</th></tr></thead><tbody><tr><td>3</td></tr></tbody></table><p>and 1 more</p>'
    """
    head = "".join(f"<th>{escaped(title)}</th>" for title in titles)
    lines = ["".join(_cell(cell) for cell in row) for row in rows]
    more = f"<p>and {n_rows - len(lines):,} more</p>" if n_rows > len(lines) else ""
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def code(value: object) -> str:
    """A clause or another thing that is read as it is written."""
    return f"<code>{escaped(value)}</code>"


def _cell(cell: str) -> str:
    return f'<td style="text-align:left">{cell}</td>' if cell.startswith("<") else f"<td>{cell}</td>"


def explanations_html(explanations: Explanations) -> str:
    """Each prediction as a line and a table of the rules that fired, with the rows because of which they did."""
    shown = [_explained(one) for one in explanations[:MOST_EXPLAINED]]
    left = len(explanations) - len(shown)
    return "".join(shown) + (f"<p>and {left:,} more examples</p>" if left else "") or "<p>no examples</p>"


def _explained(one: Explanation | NumberExplanation) -> str:
    first, *_ = str(one).split("\n", 1)
    rows = [
        (escaped(f"{fired.vote:+.4f}"), code(fired.rule.clause), "<br>".join(["", *map(escaped, fired.witnesses)])[4:])
        for fired in one.fired[:MOST_SHOWN]
    ]
    rows.append((escaped(f"{one.start:+.4f}"), "<i>from the start, and from rules that did not fire</i>", ""))
    fired = table(["vote", "rule", "because of"], rows, len(one.fired) + 1)
    missed = [
        (escaped(f"({near.would_vote:+.4f})"), code(near.rule.clause), escaped(near.failed)) for near in one.missed
    ]
    near = (
        table(["would vote", "nearest rules that did not fire", "what failed"], missed, len(missed)) if missed else ""
    )
    return f"<div><p><b>{escaped(first)}</b></p>{fired}{near}</div>"
