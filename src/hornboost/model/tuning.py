"""How a model was tuned, and how good it was with how many rules: in a model file, as frames, and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hornboost.model.part import ParsedPart

if TYPE_CHECKING:
    import pandas as pd

LOSSES = {
    "log_loss": "log-loss",
    "squared_error": "squared error",
    "absolute_error": "absolute error",
    "pinball_loss": "pinball loss",
    "poisson_deviance": "Poisson deviance",
}
"""The losses that are descended, and what a reader calls them."""

LATER = {"subsample": 1.0, "min_gain": 0.0, "negations": False, "beside": math.nan}
"""What older files do not tell of, and what it was then."""

FLAGS = ("aggregates", "constants", "corrective")
TRIAL = (
    "max_literals",
    "max_depth",
    *FLAGS,
    "subsample",
    "min_gain",
    "negations",
    "rounds",
    "loss",
    "beside",
    "chosen",
)
PATH = ("round", "rules", "conditions", "training_loss", "held_out_loss")
"""The columns of `tuning_` and of `path_`."""

DIGITS = 6
"""What a file keeps of a loss: more than a reader wants, and fewer than sums in another order could change."""


def told(estimator: Any) -> dict[str, Any]:
    """What a file keeps of `tuning_` and `path_`, if the estimator has them; what is not finite is left out."""
    found = {}
    tuning, path = getattr(estimator, "tuning_", None), getattr(estimator, "path_", None)
    if tuning is not None and len(tuning):
        trials = [_kept(row) for row in tuning.to_dict("records") if math.isfinite(row["loss"])]
        found["tuning"] = {**tuning.attrs, "trials": trials}
    if path is not None and len(path):
        known = {name: path[name].tolist() for name in PATH[1:]}
        held_out = [_in_digits(loss) for loss in known["held_out_loss"] if math.isfinite(loss)]
        training = [_in_digits(loss) for loss in known["training_loss"]]
        if all(math.isfinite(loss) for loss in training):
            found["path"] = {**known, "training_loss": training, "held_out_loss": held_out, **path.attrs}
    return found


def _kept(trial: Mapping[str, Any]) -> dict[str, Any]:
    losses = {name: _in_digits(trial[name]) for name in ("loss", "beside") if math.isfinite(trial[name])}
    untold = {"beside", *(() if trial["negations"] else ("negations",))} - losses.keys()
    return {name: losses.get(name, value) for name, value in trial.items() if name not in untold}


def check(training: ParsedPart) -> None:
    """Refuse what is no tuning and no path."""
    tuning, path = training.get("tuning"), training.get("path")
    if tuning is not None:
        tuning["loss"].one_of(LOSSES)
        tuning["folds"].whole(1)
        if (sample := tuning.get("sample")) is not None:
            sample.whole(1)
        if (groups := tuning.get("groups")) is not None:
            groups.texts()
        if sum(_is_chosen(trial) for trial in tuning["trials"]) > 1:
            tuning["trials"].fail("has more than one that was chosen")
    if path is not None:
        _check_path(path)


def _is_chosen(trial: ParsedPart) -> bool:
    for name in ("max_literals", "max_depth", "rounds"):
        trial[name].whole()
    for name in FLAGS:
        trial[name].flag()
    if (negations := trial.get("negations")) is not None:
        negations.flag()
    trial["loss"].number()
    if (beside := trial.get("beside")) is not None:
        beside.number()
    share = trial.get("subsample")
    if share is not None and not 0.0 < share.number() <= 1.0:
        share.fail("is no share of the examples")
    least = trial.get("min_gain")
    if least is not None and not least.number() >= 0.0:
        least.fail("is below 0")
    if {*trial.record(), *LATER} != set(TRIAL):
        trial.fail(f"does not have the fields {', '.join(TRIAL)}")
    return trial["chosen"].flag()


def _check_path(path: ParsedPart) -> None:
    path["loss"].one_of(LOSSES)
    n = len(path["rules"])
    path["training_loss"].numbers(n)
    if sum(1 for loss in path["held_out_loss"] if math.isfinite(loss.number())) > n:
        path["held_out_loss"].fail("tells of more rounds than there are")
    for name in ("rules", "conditions"):
        counts = [part.whole() for part in path[name]]
        if len(counts) != n or counts != sorted(counts):
            path[name].fail("does not count what is there after each round")


def tuning_frame(training: Mapping[str, Any]) -> pd.DataFrame:
    """`tuning_`, as a file keeps it."""
    import pandas as pd

    kept = training.get("tuning") or {"trials": ()}
    frame = pd.DataFrame([{**LATER, **trial} for trial in kept["trials"]], columns=list(TRIAL))
    frame.attrs.update({name: value for name, value in kept.items() if name != "trials"})
    return frame


def path_frame(training: Mapping[str, Any]) -> pd.DataFrame:
    """`path_`, as a file keeps it."""
    import pandas as pd

    kept = training["path"]
    rounds = range(1, len(kept["rules"]) + 1)
    frame = pd.DataFrame({"round": rounds, **{name: kept[name] for name in PATH[1:4]}})
    frame["held_out_loss"] = pd.Series(kept["held_out_loss"], dtype=float)
    frame.attrs["loss"] = kept["loss"]
    return frame


@dataclass(frozen=True)
class Chosen:
    """What was chosen, and on what evidence, in words."""

    evidence: str
    setting: str
    loss: str
    value: float

    @classmethod
    def of(cls, training: Mapping[str, Any]) -> Chosen | None:
        """What a file keeps of tuning, if something was chosen."""
        tuning = training.get("tuning") or {"trials": ()}
        best = next((trial for trial in tuning["trials"] if trial["chosen"]), None)
        if best is None:
            return None
        path = training.get("path") or {"rules": (), "held_out_loss": ()}
        rounds, held_out = len(path["rules"]) or best["rounds"], path["held_out_loss"]
        value = held_out[rounds - 1] if rounds <= len(held_out) else best["loss"]
        folds = tuning["folds"]
        evidence = f"{folds}-fold cross-validation" if folds > 1 else "a held-out part of the examples"
        if groups := tuning.get("groups"):
            evidence += f" by {' and '.join(groups)}"
        return cls(evidence, _in_words(best, tuning["trials"], rounds), LOSSES[tuning["loss"]], value)


def _in_words(best: Mapping[str, Any], trials: Any, rounds: int) -> str:
    """A setting; what is as usual is said only where something else was tried."""
    is_open = {name: any(trial[name] != best[name] for trial in trials) for name in ("max_depth", *FLAGS)}
    parts = [f"up to {_counted(best['max_literals'], 'refinement')} a rule"]
    if is_open["max_depth"]:
        parts.append(f"up to {_counted(best['max_depth'], 'join')} away")
    for name, yes, no in (
        ("aggregates", "with aggregates", "no aggregates"),
        ("constants", "with named keys", "no named keys"),
        ("corrective", "all votes fitted again with each rule", ""),
    ):
        if best[name] or (no and is_open[name]):
            parts.append(yes if best[name] else no)
    if best.get("negations", False):
        parts.append("with excluded values")
    share = best.get("subsample", 1.0)
    if share < 1.0:
        parts.append(f"each grown on {share:.0%} of the examples")
    if best.get("min_gain", 0.0) == 0.0 and any(trial.get("min_gain", 0.0) > 0.0 for trial in trials):
        parts.append("conditions that gain anything")
    return ", ".join([*parts, _counted(rounds, "round")])


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _in_digits(loss: float) -> float:
    return float(f"{loss:.{DIGITS}g}")
