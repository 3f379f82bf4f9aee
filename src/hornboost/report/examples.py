"""A bounded number of explained examples, as the data that the page's script shows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.model.explanation import Explanation, Fired, NumberExplanation, Witness
from hornboost.report.text import NAME, key_text, number, shown

MOST_SCORED = 200_000
"""Examples that are scored to find the ones worth explaining."""

MOST_FIRED = 12
"""Rules of one example that are shown with their witnesses; the votes of the others are added up."""

MOST_COLUMNS = 12
MOST_BYTES = 1_500_000
"""Room for all explanations in the page; when it is full, no further example is added."""


@dataclass(frozen=True, eq=False)
class ShownExamples:
    """Positions of examples in X, and why each was chosen."""

    rows: NDArray[np.intp]
    reasons: Sequence[str]


def choose(scores: NDArray[np.float64], wrong: NDArray[np.bool_], n: int, seed: int = 0) -> ShownExamples:
    """Examples worth a look: confident mistakes, close calls, the surest of each side, and some at random.

    >>> choose(np.array([-3.0, -0.1, 0.2, 4.0]), np.array([False, True, False, False]), 3).reasons
    ['mistake', 'close call', 'sure']
    """
    order = np.argsort(np.abs(scores), kind="stable")
    rng = np.random.default_rng(seed)
    by_score = np.argsort(scores, kind="stable")
    wanted = [
        ("mistake", order[::-1][wrong[order[::-1]]], n // 4),
        ("close call", order, n // 4),
        ("sure", np.column_stack([by_score[::-1], by_score]).ravel(), n // 4),
        ("random", rng.permutation(len(scores)), n),
    ]
    found: dict[int, str] = {}
    for reason, candidates, room in wanted:
        new = [int(row) for row in dict.fromkeys(candidates[: 4 * n].tolist()) if row not in found][
            : min(max(room, 1), n - len(found))
        ]
        found |= dict.fromkeys(new, reason)
    return ShownExamples(np.array(list(found), np.intp), list(found.values()))


@dataclass(eq=False)
class Payload:
    """Explanations in short strings.

    `rules` gives the position of each rule by its identity, `fired` the examples of each rule.
    """

    rules: Mapping[int, int]
    examples: list[dict[str, Any]] = field(default_factory=list)
    size: int = 0
    fired: dict[int, list[int]] = field(default_factory=dict)

    def add(self, one: Explanation | NumberExplanation, row: int, truth: str | None, reason: str) -> bool:
        """Add the explanation of a row of X if there is room for it; a row without a key is known by its position."""
        best, others = one.fired[:MOST_FIRED], one.fired[MOST_FIRED:]
        entry = {
            "key": key_text(dict(one.keys)) or f"row {row + 1}",
            "prediction": shown(one.prediction, NAME),
            "truth": None if truth is None else shown(truth, NAME),
            **_told(one, truth),
            "score": _rounded(one.score),
            "start": _rounded(one.start),
            "why": reason,
            "fired": [self._fired(fired) for fired in best],
            "more": [len(others), _rounded(sum(fired.vote for fired in others))],
            "missed": [
                [
                    self.rules[id(missed.rule)],
                    _rounded(missed.would_vote),
                    missed.satisfied,
                    missed.conditions,
                    shown(missed.failed, 300),
                ]
                for missed in one.missed
            ],
        }
        size = len(json.dumps(entry))
        if self.size + size > MOST_BYTES:
            return False
        self.size += size
        for fired in one.fired:
            self.fired.setdefault(self.rules[id(fired.rule)], []).append(len(self.examples))
        self.examples.append(entry)
        return True

    def typical(self) -> dict[int, list[int]]:
        """The examples of each rule, those first that were chosen for no reason and are predicted rightly."""
        order = {"random": 0, "sure": 1, "close call": 2, "mistake": 3}

        def place(k: int) -> tuple[bool, int]:
            one = self.examples[k]
            return not one["right"], order.get(one["why"], len(order))

        return {rule: sorted(examples, key=place) for rule, examples in self.fired.items()}

    def _fired(self, fired: Fired) -> list[Any]:
        rows = []
        for witness in fired.witnesses:
            names = [*witness.mentioned, *(column for column in witness.row if column not in witness.mentioned)][
                :MOST_COLUMNS
            ]
            cells = [
                [shown(column, NAME), _cell(witness, column), int(column in witness.mentioned)] for column in names
            ]
            rows.append([shown(witness.table, NAME), cells])
        return [self.rules[id(fired.rule)], _rounded(fired.vote), rows]


def _told(one: Explanation | NumberExplanation, truth: str | None) -> dict[str, Any]:
    """What is said of a class but not of a number, which is never quite right."""
    if isinstance(one, NumberExplanation):
        return {"right": True, "probability": None, "about": None}
    right = truth is None or truth == one.prediction
    return {"right": right, "probability": round(one.probability, 4), "about": shown(one.about, NAME)}


def _rounded(value: float) -> float:
    """To what a page shows: four places, or six digits of what is small."""
    return round(value, 4) if abs(value) >= 1.0 else float(f"{value:.6g}")


def script_json(content: Any) -> str:
    r"""JSON that may stand inside a script element: no text in it can end the element.

    >>> script_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _cell(witness: Witness, column: str) -> str:
    value, rows = witness.row[column], witness.behind.get(column)
    text = str(value) if isinstance(value, int) else shown(value)
    return text if rows is None else f"{text} of {number(rows)} row{'' if rows == 1 else 's'}"
