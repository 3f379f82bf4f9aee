"""Explanations of predictions as users get them: as text, as tables, and as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hornboost import exact
from hornboost.logic.duration import is_duration, microseconds_of, readable
from hornboost.logic.text import in_few_digits
from hornboost.model.ensemble import Rule

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Witness:
    """A row that satisfied a literal: all of its columns, and which of them are keys or mentioned by the literal.

    Of an example aggregates that the literal mentions are among them; `behind` is the number of rows that each is of.
    A row with a time has that and its age to the example, called `age`, among its columns, and what was filled in later
    is missing.
    """

    table: str
    row: Mapping[str, Any]
    mentioned: tuple[str, ...]
    behind: Mapping[str, int] = field(default_factory=dict)
    age: str | None = None

    def __str__(self) -> str:
        return f"{self.table}: {', '.join(map(self._shown, self.mentioned))}"

    def _shown(self, name: str) -> str:
        rows = "" if name not in self.behind else f" of {self.behind[name]:,} row{'s' * (self.behind[name] != 1)}"
        value = self.row[name]
        is_length = name == self.age or (name in self.behind and name.startswith(AGES))
        return f"{name}={shown_length(value) if is_length else shown(value)}{rows}"


@dataclass(frozen=True)
class Fired:
    """A rule that covers the example, what it adds to the score, and one row for each of its literals."""

    rule: Rule
    vote: float
    witnesses: tuple[Witness, ...]


@dataclass(frozen=True)
class Missed:
    """A rule that does not cover the example: how many of its conditions hold, and the first that fails.

    Conditions on the example itself count one by one; those on joined rows hold as far as some rows meet all of them.
    """

    rule: Rule
    vote: float
    would_vote: float
    satisfied: int
    conditions: int
    failed: str


@dataclass(frozen=True)
class Explanation:
    """One prediction.

    Score, probability and votes are of the class `about`: the positive one of two, otherwise the predicted one.
    """

    keys: Mapping[str, Any]
    prediction: str
    about: str
    probability: float
    score: float
    start: float
    fired: tuple[Fired, ...]
    missed: tuple[Missed, ...]
    n_missed: int

    def __str__(self) -> str:
        name = ", ".join(f"{key}={shown(value)}" for key, value in self.keys.items()) or "example"
        lines = [
            (
                f'{name}: predicted "{self.prediction}"; for "{self.about}": '
                f"probability {self.probability:.3f}, score {self.score:+.4f}"
            )
        ]
        for fired in self.fired:
            lines.append(f"  {fired.vote:+.4f}  {fired.rule.clause}")
            lines += [f"           because of {witness}" for witness in fired.witnesses]
        others = "rule that" if self.n_missed == 1 else f"{self.n_missed} rules that"
        rest = f", and from the {others} did not fire" if self.n_missed else ""
        lines.append(f"  {self.start:+.4f}  from the start{rest}")
        if self.missed:
            lines.append("  nearest rules that did not fire:")
        for missed in self.missed:
            lines.append(f"  ({missed.would_vote:+.4f}) {missed.rule.clause}")
            lines.append(f"           {missed.satisfied} of {missed.conditions} conditions hold; {missed.failed}")
        return "\n".join(lines)

    def told(self) -> dict[str, Any]:
        """What is predicted, by name."""
        return {"prediction": self.prediction, "about": self.about, "probability": self.probability}


@dataclass(frozen=True)
class NumberExplanation:
    """One prediction of a number: a base value that the rules which fired change in turn.

    `start` and `score` are the base value and the prediction as votes are added to it; where these are of the "log"
    link, they are logarithms.
    """

    keys: Mapping[str, Any]
    label: str
    prediction: float
    base: float
    score: float
    start: float
    link: str
    fired: tuple[Fired, ...]
    missed: tuple[Missed, ...]
    n_missed: int

    def __str__(self) -> str:
        name = ", ".join(f"{key}={shown(value)}" for key, value in self.keys.items()) or "example"
        lines = [f"{name}: predicted {self.label} {self.prediction:.6g}"]
        lines.append(f"  {self.base:.6g} is the base value, where no rule fires")
        score = self.start
        for fired in self.fired:
            lines.append(f"  {self._change(fired.vote, score)}: {fired.rule.clause}")
            lines += [f"           because of {witness}" for witness in fired.witnesses]
            score += fired.vote
        if self.missed:
            lines.append("  nearest rules that did not fire:")
        for missed in self.missed:
            lines.append(f"  {missed.rule.clause}")
            lines.append(f"           {missed.satisfied} of {missed.conditions} conditions hold; {missed.failed}")
        return "\n".join(lines)

    def _change(self, vote: float, score: float) -> str:
        """What a rule does to the number so far, in words."""
        if self.link == "log":
            before, factor = exact.exp(score), exact.exp(vote)
            return f"multiplies {before:.6g} by {in_few_digits(factor)}"
        if vote < 0:
            return f"takes {in_few_digits(-vote)} from {score:.6g}"
        return f"adds {in_few_digits(vote)} to {score:.6g}"

    def told(self) -> dict[str, Any]:
        """What is predicted, by name."""
        return {"prediction": self.prediction}


class Explanations(tuple[Explanation | NumberExplanation, ...]):
    """Explanations in the order of the examples; `print` shows them as text, `frame` and `witnesses` as tables."""

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from hornboost.model.notebook import explanations_html

        return explanations_html(self)

    def frame(self) -> pd.DataFrame:
        """A row for each example and rule.

        Whether it fired, its vote, the first condition that failed, the witness rows as text.
        """
        import pandas as pd

        rows = []
        for position, one in enumerate(self):
            about = {"example": position, **one.keys, **one.told()}
            for fired in one.fired:
                shown = "; ".join(map(str, fired.witnesses))
                about_rule = {"rule": str(fired.rule.clause), "fired": True, "vote": fired.vote}
                rows.append({**about, **about_rule, "failed": None, "witness": shown})
            for missed in one.missed:
                about_rule = {"rule": str(missed.rule.clause), "fired": False, "vote": missed.vote}
                rows.append({**about, **about_rule, "failed": missed.failed, "witness": None})
        told = [*self[0].keys, *self[0].told()] if self else ["prediction", "about", "probability"]
        return pd.DataFrame(rows, columns=["example", *told, "rule", "fired", "vote", "failed", "witness"])

    def witnesses(self) -> pd.DataFrame:
        """A row for each example, rule that fired and literal: the table, and its row as a dictionary."""
        import pandas as pd

        rows = [
            {
                "example": position,
                **one.keys,
                "rule": str(fired.rule.clause),
                "vote": fired.vote,
                "table": w.table,
                "row": dict(w.row),
            }
            for position, one in enumerate(self)
            for fired in one.fired
            for w in fired.witnesses
        ]
        keys = list(self[0].keys) if self else []
        return pd.DataFrame(rows, columns=["example", *keys, "rule", "vote", "table", "row"])

    def to_json(self) -> list[dict[str, Any]]:
        """Plain lists and dictionaries, for scripts."""
        return [_plain(one) for one in self]


AGES = ("min(", "max(")
"""How aggregates begin that may be ages, and are no texts otherwise."""


def shown_length(value: Any) -> str:
    """A value as text that may be a length of time."""
    is_length = isinstance(value, str) and is_duration(value)
    return readable(microseconds_of(value)) if is_length else shown(value)


def shown(value: Any) -> str:
    """A value of a column as text."""
    if value is None:
        return "missing"
    if isinstance(value, float):
        return f"{value:.15g}"
    text = str(value)
    return (
        f'"{text[:60]}…"'
        if isinstance(value, str) and len(text) > 60
        else f'"{text}"'
        if isinstance(value, str)
        else text
    )


def _plain(one: Explanation | NumberExplanation) -> dict[str, Any]:
    return {
        "keys": dict(one.keys),
        **one.told(),
        **({"base": one.base} if isinstance(one, NumberExplanation) else {}),
        "score": one.score,
        "start": one.start,
        "fired": [
            {
                "rule": str(f.rule.clause),
                "vote": f.vote,
                "witnesses": [_plain_witness(w) for w in f.witnesses],
            }
            for f in one.fired
        ],
        "missed": [
            {
                "rule": str(m.rule.clause),
                "vote": m.vote,
                "would_vote": m.would_vote,
                "satisfied": m.satisfied,
                "conditions": m.conditions,
                "failed": m.failed,
            }
            for m in one.missed
        ],
    }


def _plain_witness(witness: Witness) -> dict[str, Any]:
    rows = {"rows_behind": dict(witness.behind)} if witness.behind else {}
    return {"table": witness.table, "row": dict(witness.row), **rows}
