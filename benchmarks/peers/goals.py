"""What HornBoost is meant to reach beside the peers, and whether it does: by its defaults, and with nothing tuned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.papers.markdown import markdown_table
from benchmarks.peers.collect import Comparison, Row, comparison
from benchmarks.peers.sets import RELATIONAL, SINGLE

OURS = {"hornboost": "defaults", "fixed": "nothing tuned"}
"""The learners that are held to the goals."""

SHOWN = {"auc": "AUC", "log_loss": "log-loss", "accuracy": "accuracy"}
AGGREGATES = (("featuretools", "plain"), ("featuretools", "interesting"), ("getml", "fastprop"))


@dataclass(frozen=True, slots=True)
class Goal:
    """Some peers on some sets: how many times as long they must take, and which qualities must not be behind.

    With `ahead`, the area under the ROC curve must be larger by that much. `ours` are the learners that it is for.
    """

    text: str
    peers: tuple[tuple[str, str], ...]
    sets: tuple[str, ...]
    times: float
    qualities: tuple[str, ...]
    ahead: float = 0.0
    ours: Mapping[str, str] | None = None


GOALS = (
    Goal(
        "100 times as fast as BoostSRL or more, AUC not behind",
        (("boostsrl", "boostsrl"),),
        tuple(RELATIONAL),
        100.0,
        ("auc",),
    ),
    Goal(
        "10 times as fast as SLIPPER, RIPPER and BOOMER or more, log-loss and accuracy not behind",
        (("imodels", "slipper"), ("wittgenstein", "ripper"), ("boomer", "boomer")),
        tuple(SINGLE),
        10.0,
        ("log_loss", "accuracy"),
    ),
    Goal(
        "with 50 rules and conditions, log-loss not behind fastogb's",
        (("fastogb", "fastogb"),),
        tuple(SINGLE),
        0.0,
        ("log_loss",),
        ours={"fifty": "50 rules and conditions"},
    ),
    Goal(
        "AUC and log-loss not behind featuretools + LightGBM and getML on real tables, in less time",
        AGGREGATES,
        tuple(name for name, one in RELATIONAL.items() if not one.planted),
        1.0,
        ("auc", "log_loss"),
    ),
    Goal(
        "AUC ahead of them by 0.05 or more on planted rules, in less time",
        AGGREGATES,
        tuple(name for name, one in RELATIONAL.items() if one.planted),
        1.0,
        ("auc",),
        ahead=0.05,
    ),
)


def judged(goal: Goal, beside: Comparison) -> str:
    """Yes, or what is missing: `no: time`, `no: AUC`, or `unclear: AUC` where the folds differ more than the means."""
    missing = [] if beside.times >= goal.times and not (beside.at_most and goal.times) else ["time"]
    behind = [name for name in goal.qualities if beside.behind(name, goal.ahead)]
    clear = [name for name in behind if not beside.is_unclear(name)]
    missing += [SHOWN[name] for name in clear]
    if missing:
        return f"no: {', '.join(missing)}"
    return f"unclear: {', '.join(SHOWN[name] for name in behind)}" if behind else "yes"


def goals(rows: Sequence[Row], names: Mapping[tuple[str, str], str]) -> tuple[str, str]:
    """A table of all goals, and a table a goal."""
    by_key = {(row.set, row.peer, row.learner): row for row in rows}
    lines, details = [], []
    for goal in GOALS:
        ours = goal.ours or OURS
        found = {learner: _beside(goal, learner, by_key) for learner in ours}
        if not any(found.values()):
            continue
        lines.append([goal.text, *(_met(goal, found.get(learner)) for learner in OURS)])
        if goal.ours is not None:
            lines[-1][1] = _met(goal, found[next(iter(ours))])
        details.append(f"### {goal.text[0].upper()}{goal.text[1:]}\n\n{_details(goal, ours, found, names)}\n")
    if not lines:
        return "Nothing was compared yet.", ""
    return markdown_table(["goal", *OURS.values()], lines), "\n".join(details)


def _beside(
    goal: Goal, learner: str, by_key: Mapping[tuple[str, str, str], Row]
) -> dict[tuple[str, str, str], Comparison]:
    """The comparisons that a goal is judged by, of one of our learners."""
    found = {}
    for name in goal.sets:
        ours = by_key.get((name, "hornboost", learner))
        for peer in goal.peers:
            other = by_key.get((name, *peer))
            beside = comparison(ours, other) if ours is not None and other is not None else None
            if beside is not None:
                found[name, *peer] = beside
    return found


def _met(goal: Goal, found: Mapping[tuple[str, str, str], Comparison] | None) -> str:
    """On how many of the sets and peers a goal is met."""
    if not found:
        return ""
    verdicts = [judged(goal, beside) for beside in found.values()]
    unclear = sum(verdict.startswith("unclear") for verdict in verdicts)
    also = f", {unclear} unclear" if unclear else ""
    return f"{verdicts.count('yes')} of {len(verdicts)}{also}"


def _details(
    goal: Goal,
    ours: Mapping[str, str],
    found: Mapping[str, Mapping[tuple[str, str, str], Comparison]],
    names: Mapping[tuple[str, str], str],
) -> str:
    keys = dict.fromkeys(key for beside in found.values() for key in beside)
    columns = ["set", "peer"]
    for number, shown in enumerate(ours.values()):
        said = f" ({shown})" if number else ""
        columns += ["folds" + said, "time" + said, *(SHOWN[name] + said for name in goal.qualities), "met" + said]
    lines = []
    for key in keys:
        cells = [key[0], names[key[1:]]]
        for learner in ours:
            beside = found[learner].get(key)
            cells += [""] * (len(goal.qualities) + 3) if beside is None else _cells(goal, beside)
        lines.append(cells)
    return markdown_table(columns, lines)


def _cells(goal: Goal, beside: Comparison) -> list[str]:
    qualities = [difference(beside, name) for name in goal.qualities]
    return [str(beside.folds), times(beside), *qualities, judged(goal, beside)]


def difference(beside: Comparison, name: str) -> str:
    """By how much HornBoost is better, with the standard error."""
    if name not in beside.ahead:
        return ""
    digits = 1 if name == "accuracy" else 3
    error = f" ± {beside.errors[name]:.{digits}f}" if name in beside.errors else ""
    return f"{beside.ahead[name]:+.{digits}f}{error}"


def times(beside: Comparison) -> str:
    """How many times as long as HornBoost a learner takes."""
    return ("< " if beside.at_most else "> " if beside.at_least else "") + in_two_digits(beside.times)


def in_two_digits(ratio: float) -> str:
    """A ratio, with two digits that count.

    >>> in_two_digits(123.4), in_two_digits(12.3), in_two_digits(0.123)
    ('120×', '12×', '0.12×')
    """
    return f"{float(f'{ratio:.2g}'):g}×"
