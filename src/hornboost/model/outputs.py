"""What the columns of a prediction are called, in CSV, JSON and SQL alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LONGEST = 40
"""Bytes of a class in a column's name: PostgreSQL cuts names at 63 without a word."""


@dataclass(frozen=True)
class OutputNames:
    """One score and one probability, of the positive class, where there are two classes.

    Otherwise a pair for each class; of a number, its prediction alone.
    """

    scores: tuple[str, ...]
    probabilities: tuple[str, ...]
    prediction: str


def output_names(classes: Sequence[str], about: int, taken: Iterable[str] = (), prefix: str = "hb_") -> OutputNames:
    """The names of the columns beside those that are `taken`; with two classes they speak of `classes[about]`.

    Databases do not tell names apart by their case, so classes that differ in nothing else are numbered; a name that is
    taken gets the prefix, as often as it must.

    >>> output_names(("bad", "good"), 0)
    OutputNames(scores=('score_of_bad',), probabilities=('probability_of_bad',), prediction='prediction')
    >>> output_names(("a", "A", "b"), 0, ["Prediction"]).scores
    ('score_of_a', 'score_of_A_2', 'score_of_b')
    >>> output_names(("a", "A", "b"), 0, ["Prediction"]).prediction
    'hb_prediction'
    >>> output_names((), 0)
    OutputNames(scores=(), probabilities=(), prediction='prediction')
    """
    spoken_of = list(classes) if len(classes) != 2 else [classes[about]]
    used = {name.casefold() for name in taken}

    def free(name: str) -> str:
        while name.casefold() in used:
            name = prefix + name
        used.add(name.casefold())
        return name

    texts = _told_apart(spoken_of)
    scores = tuple(free(f"score_of_{text}") for text in texts)
    return OutputNames(scores, tuple(free(f"probability_of_{text}") for text in texts), free("prediction"))


def _told_apart(classes: Sequence[str]) -> list[str]:
    """Texts that are short, and different whatever the case."""
    found: dict[str, str] = {}
    for value in classes:
        short = value.encode("utf-8", "replace")[:LONGEST].decode("utf-8", "ignore")
        text, number = short, 2
        while text.casefold() in found:
            text, number = f"{short}_{number}", number + 1
        found[text.casefold()] = text
    return list(found.values())
