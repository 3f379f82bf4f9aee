"""The estimator that a command line describes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hornboost.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from hornboost.data import Database

ESTIMATORS = {
    "hornboost": ("HornBoostClassifier", {}),
    "c2rib": ("C2RIBClassifier", {}),
    "rankboost": ("RankBoostClassifier", {}),
    "prankboost": ("PRankBoostClassifier", {}),
    "kbs": ("KBSClassifier", {"base": "clause"}),
    "adaboost": ("AdaBoostM1Classifier", {"base": "clause"}),
    "logitboost": ("LogitBoostClassifier", {"base": "clause"}),
    "mlynx": ("MLynxClassifier", {}),
}
"""What `--estimator` names: the class, and the parameters that make it learn rules."""

REGRESSORS = {"hornboost": "HornBoostRegressor"}
"""What it names where the label is of numbers."""

NOT_SETTABLE = ("database", "callbacks", "client")
"""Parameters that hold objects, which no text states."""

OPTIONS = {"memory_limit": "memory", "random_state": "seed"}
"""Parameters whose options have other names."""

PYTHON_VALUES = {"True": True, "False": False, "None": None}
"""Values that Python spells otherwise than JSON."""

_BARE_POINT = re.compile(r"[+-]?(\.[0-9]+|[0-9]+\.)")
"""Numbers with nothing before or behind their point, which JSON does not know."""


class Learner(NamedTuple):
    """An estimator by its name, the parameters that have options of their own, and others as `name=value`."""

    name: str = "hornboost"
    features: str | None = None
    rounds: int | None = None
    max_depth: int | None = None
    max_rules: int | None = None
    max_bins: int | None = None
    memory: str | None = None
    time_limit: float | None = None
    seed: int | None = None
    settings: Sequence[str] = ()


def make_estimator(learner: Learner, database: Database | None, checkpoint: Path | None = None) -> Any:
    """The unfitted estimator, with the parameters it has."""
    estimator, fixed = _plain(learner.name, database)
    known = estimator.get_params(deep=False)
    given = {parameter: value for parameter, value in _options(learner, checkpoint).items() if value is not None}
    for parameter in given:
        if parameter not in known:
            way_out = "; take --estimator c2rib, or leave it out" if parameter == "features" else "; leave it out"
            raise _unknown(learner.name, parameter, database, way_out)
    settings = settings_of(learner, checkpoint)
    for parameter in settings:
        if parameter not in known:
            raise _unknown(learner.name, parameter, database, did_you_mean(parameter, known))
        if parameter in NOT_SETTABLE:
            raise DataError(f"--set: the parameter '{parameter}' has no value that can be written; leave it out")
    wanted = {**fixed, "database": database, "random_state": learner.seed or 0, **given, **settings}
    estimator.set_params(**{parameter: value for parameter, value in wanted.items() if parameter in known})
    try:
        estimator._validate_params()
    except ValueError as error:
        raise DataError(" ".join(str(error).split())) from None
    idle: frozenset[str] = getattr(estimator, "_idle_parameters", frozenset)()
    for parameter in settings:
        if parameter in idle:
            raise DataError(
                f"--set: '{parameter}' has no effect with the other parameters as they are; set what it goes with, or "
                "leave it out"
            )
    return estimator


def settings_of(learner: Learner, checkpoint: Path | None = None) -> dict[str, Any]:
    """The parameters that `--set` gives, none of them twice, or by an option as well."""
    options = {**_options(learner, checkpoint), "features": learner.features, "random_state": learner.seed}
    found: dict[str, Any] = {}
    for text in learner.settings:
        parameter, equals, value = text.partition("=")
        if not equals:
            raise DataError(f"--set: '{text}' is not of the form name=value")
        if options.get(parameter) is not None:
            option = OPTIONS.get(parameter, parameter.replace("_", "-"))
            raise DataError(f"--{option} and --set {parameter} both give '{parameter}'; leave one of them out")
        if parameter in found:
            raise DataError(f"--set gives '{parameter}' twice; leave one of them out")
        found[parameter] = _value(value)
    return found


def _options(learner: Learner, checkpoint: Path | None) -> dict[str, Any]:
    """The parameters that have options of their own, None where the option is not given."""
    return {
        "rounds": learner.rounds,
        "features": None if learner.features == "none" else learner.features,
        "max_depth": learner.max_depth,
        "max_rules": learner.max_rules,
        "max_bins": learner.max_bins,
        "memory_limit": learner.memory,
        "time_limit": learner.time_limit,
        "checkpoint": checkpoint,
    }


def _plain(name: str, database: Database | None) -> tuple[Any, dict[str, Any]]:
    """The estimator with this name as it comes, and the parameters that make it learn rules."""
    import hornboost

    if name not in ESTIMATORS:
        raise DataError(f"there is no estimator '{name}'{did_you_mean(name, ESTIMATORS)}")
    class_name, fixed = _class_of(name, database)
    try:
        return getattr(hornboost, class_name)(), fixed
    except AttributeError:
        raise DataError(f"this version of HornBoost has no estimator '{name}'; choose another") from None


def _unknown(name: str, parameter: str, database: Database | None, way_out: str) -> DataError:
    """The error about a parameter that an estimator does not have."""
    problem = f"the estimator '{name}' has no parameter '{parameter}'{way_out}"
    return DataError(_of_the_other_task(name, parameter, database) or problem)


def _class_of(name: str, database: Database | None) -> tuple[str, dict[str, Any]]:
    """The class of an estimator for the label at hand."""
    if database is None or database.label_kind != "numbers":
        return ESTIMATORS[name]
    if name not in REGRESSORS:
        raise DataError(
            f"the label '{database.target.label}' holds numbers, and the estimator '{name}' predicts classes; take "
            "--estimator hornboost, name one value with --positive, or say --predicts classes"
        )
    return REGRESSORS[name], {}


def _of_the_other_task(name: str, parameter: str, database: Database | None) -> str | None:
    """That a parameter is for the other kind of label, if it is."""
    import hornboost

    if database is None or name not in REGRESSORS:
        return None
    reads_numbers = database.label_kind == "numbers"
    other = ESTIMATORS[name][0] if reads_numbers else REGRESSORS[name]
    if parameter not in getattr(hornboost, other)().get_params(deep=False):
        return None
    here, there = ("numbers", "classes") if reads_numbers else ("classes", "numbers")
    return (
        f"the label '{database.target.label}' is read as {here}, and '{parameter}' is for {there}; say "
        f"--predicts {there} if that is what they are, or leave '{parameter}' out"
    )


def _value(text: str) -> Any:
    """A value as JSON spells it, or Python where the documentation does, or a number such as .5; all else is text."""
    if text in PYTHON_VALUES:
        return PYTHON_VALUES[text]
    if _BARE_POINT.fullmatch(text):
        return float(text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
