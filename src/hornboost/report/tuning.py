"""The parts of a report about a booster that tunes itself: what was chosen, and how many rules it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hornboost.model.tuning import LOSSES, Chosen
from hornboost.report.charts import Chart, describe_axis
from hornboost.report.figures import Figure
from hornboost.report.text import number

MOST_STEPS = 1_000
"""Numbers of rules that a page tells of; a file may tell of more."""

COLUMNS = (
    "refinements a rule",
    "joins away",
    "aggregates",
    "named keys",
    "votes fitted again",
    "examples a rule",
    "least gain",
    "excluded values",
    "rounds",
)


@dataclass(frozen=True)
class Trials:
    """What was chosen in a sentence, and all that was tried as a table, with the place of what was chosen."""

    sentence: str
    columns: Sequence[str]
    rows: Sequence[tuple[bool, Sequence[str]]]

    @classmethod
    def of(cls, training: Mapping[str, Any]) -> Trials | None:
        """What a model file tells, if it tells of a choice."""
        chosen = Chosen.of(training)
        if chosen is None:
            return None
        trials = training["tuning"]["trials"]
        settings = "1 setting was" if len(trials) == 1 else f"{len(trials)} settings were"
        sample = training["tuning"].get("sample")
        some = f" (all but the last on {number(sample)} of them)" if sample else ""
        sentence = (
            f"{settings} tried by {chosen.evidence}, inside the training examples{some}; chosen: {chosen.setting}. "
            f"The held-out {chosen.loss} was {in_four_digits(chosen.value)}. Then all training examples were used."
        )
        return cls(
            sentence,
            (*COLUMNS, f"held-out {chosen.loss}", "of the best before, there"),
            [(trial["chosen"], _cells(trial)) for trial in trials],
        )


def _cells(trial: Mapping[str, Any]) -> list[str]:
    flags = ["yes" if trial[name] else "no" for name in ("aggregates", "constants", "corrective")]
    return [
        str(trial["max_literals"]),
        str(trial["max_depth"]),
        *flags,
        f"{trial.get('subsample', 1.0):.0%}",
        f"{trial.get('min_gain', 0.0):g}",
        "yes" if trial.get("negations", False) else "no",
        str(trial["rounds"]),
        in_four_digits(trial["loss"]),
        in_four_digits(trial["beside"]) if "beside" in trial else "",
    ]


@dataclass(frozen=True)
class Step:
    """The model when it had so many rules: the last such round, the losses then, and where a chart shows them."""

    rules: int
    conditions: str
    round: str
    training: str
    held_out: str
    x: float


@dataclass(frozen=True)
class RulePath:
    """The losses by the number of rules, as a drawing and step by step."""

    loss: str
    figure: Figure
    steps: Sequence[Step]

    @classmethod
    def of(cls, training: Mapping[str, Any]) -> RulePath | None:
        """What a model file tells, if there is a path of at least one rule."""
        path = training.get("path")
        if not path or not path["rules"]:
            return None
        rules, loss, held_out = path["rules"], LOSSES[path["loss"]], path["held_out_loss"]
        last = list({count: place for place, count in enumerate(rules)}.values())[-MOST_STEPS:]
        chart = _chart(loss, [(rules[k], path["training_loss"][k], (held_out[k : k + 1] or [None])[0]) for k in last])
        steps = [
            Step(
                rules[k],
                number(path["conditions"][k]),
                number(k + 1),
                in_four_digits(path["training_loss"][k]),
                in_four_digits(held_out[k]) if k < len(held_out) else "",
                chart.x(rules[k]),
            )
            for k in last
        ]
        legend = [("line main training", "training examples")]
        legend += [("line main", "held-out examples")] if held_out else []
        caption = "After the last round in which there were so many different rules."
        return cls(loss, Figure(f"Loss by number of rules ({loss})", caption, chart.svg(), legend), steps)


def in_four_digits(loss: float) -> str:
    """A loss of any size.

    >>> in_four_digits(0.443285), in_four_digits(2945.31), in_four_digits(1.23456e-9)
    ('0.4433', '2,945', '1.235e-09')
    """
    return number(float(f"{loss:.4g}"))


def _chart(loss: str, points: Sequence[tuple[int, float, float | None]]) -> Chart:
    training = [(float(rules), value) for rules, value, _ in points]
    held_out = [(float(rules), value) for rules, _, value in points if value is not None]
    values = [value for _, value in (*training, *held_out)]
    title = f"{loss} by number of rules, on the training examples {describe_axis([value for _, value in training])}"
    if held_out:
        title += f"; on held-out examples {describe_axis([value for _, value in held_out])}"
    bounds = (training[0][0], training[-1][0])
    chart = Chart(title, bounds, (min(0.0, *values), max(values)), x_label="rules", y_label=loss, width=560, height=260)
    chart.line(training, "line main training", "training examples")
    chart.line(held_out, "line main", "held-out examples")
    chart.cursor(bounds[1])
    return chart
