"""Every estimator keeps the contract of `checks.py`, and scikit-learn's, without exceptions."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import checks
import hornboost as hb
import number_checks

BOOSTERS = [
    hb.HornBoostClassifier(rounds=8, max_literals=2, random_state=0),
    hb.C2RIBClassifier(rounds=8, random_state=0),
    hb.C2RIBClassifier(rounds=8, features="margin", random_state=0),
    hb.C2RIBClassifier(rounds=8, features="V3", random_state=0),
    hb.RankBoostClassifier(rounds=8, random_state=0),
    hb.PRankBoostClassifier(rounds=8, random_state=0),
    hb.PRankBoostClassifier(rounds=8, weak_learner="mix3", random_state=0),
    hb.KBSClassifier(rounds=8, random_state=0),
    hb.AdaBoostM1Classifier(rounds=8, random_state=0),
    hb.LogitBoostClassifier(rounds=8, random_state=0),
]
OTHERS = [hb.MLynxClassifier(max_length=2, restarts=5, random_state=0)]

REGRESSORS = [
    hb.HornBoostRegressor(rounds=8, max_literals=2, random_state=0),
    hb.HornBoostRegressor(rounds=8, max_literals=2, loss="absolute", random_state=0),
    hb.HornBoostRegressor(rounds=8, max_literals=2, loss="quantile", quantile=0.8, random_state=0),
    hb.HornBoostRegressor(rounds=8, max_literals=2, loss="poisson", random_state=0),
]

OF_CLASSIFIERS = [
    checks.check_stages_end_at_the_model,
    checks.check_sql_scores_as_python_does,
    checks.check_explanations_add_up_to_the_score,
    checks.check_several_classes,
    checks.check_one_class,
    checks.check_class_weights_count,
]
OF_BOOSTERS = [
    checks.check_stages_end_at_the_model,
    checks.check_early_stopping_keeps_the_rounds_up_to_the_smallest_loss,
    checks.check_the_time_limit_holds,
    checks.check_a_checkpoint_leads_to_the_same_model,
    checks.check_a_checkpoint_outlives_sigkill_in_the_middle_of_a_write,
    checks.check_callbacks_see_each_round_and_may_end_it,
    checks.check_ctrl_c_keeps_what_was_learned,
    checks.check_an_eval_set_is_told_and_not_learned_from,
]
OF_ALL = [
    check
    for name, check in inspect.getmembers(checks, inspect.isfunction)
    if name.startswith("check_") and check not in OF_BOOSTERS
]


def apply(check: Any, estimator: Any, folder: Path) -> None:
    arguments: dict[str, Any] = {"folder": folder} if "folder" in inspect.signature(check).parameters else {}
    for mark in getattr(check, "pytestmark", ()):
        for value in mark.args[1]:
            check(estimator, **arguments, **{mark.args[0]: value})
    if not hasattr(check, "pytestmark"):
        check(estimator, **arguments)


@pytest.mark.parametrize("check", OF_ALL, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", [*BOOSTERS, *OTHERS], ids=lambda estimator: str(estimator).split("(", 1)[0])
def test_every_classifier(estimator: Any, check: Any, tmp_path: Path) -> None:
    apply(check, estimator, tmp_path)


@pytest.mark.parametrize("check", OF_BOOSTERS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", BOOSTERS, ids=lambda estimator: str(estimator).split("(", 1)[0])
def test_every_booster(estimator: Any, check: Any, tmp_path: Path) -> None:
    apply(check, estimator, tmp_path)


@pytest.mark.parametrize(
    "check",
    [
        *(check for check in (*OF_ALL, *OF_BOOSTERS) if check not in OF_CLASSIFIERS),
        *(check for name, check in inspect.getmembers(number_checks, inspect.isfunction) if name.startswith("check_")),
    ],
    ids=lambda check: check.__name__,
)
@pytest.mark.parametrize("estimator", REGRESSORS, ids=lambda estimator: estimator.loss)
def test_every_regressor(estimator: Any, check: Any, tmp_path: Path) -> None:
    apply(check, estimator, tmp_path)


@parametrize_with_checks(
    [
        hb.HornBoostClassifier(rounds=8, max_literals=2, random_state=0),
        hb.HornBoostClassifier(random_state=0),
        hb.C2RIBClassifier(rounds=8, random_state=0),
        hb.C2RIBClassifier(rounds=8, features="margin", random_state=0),
        hb.RankBoostClassifier(rounds=8, random_state=0),
        hb.PRankBoostClassifier(rounds=8, random_state=0),
        hb.PRankBoostClassifier(rounds=8, weak_learner="path", random_state=0),
        hb.KBSClassifier(rounds=8),
        hb.KBSClassifier(base="clause", rounds=5),
        hb.AdaBoostM1Classifier(rounds=8),
        hb.AdaBoostM1Classifier(base="clause", rounds=5),
        hb.LogitBoostClassifier(rounds=8),
        hb.LogitBoostClassifier(base="clause", rounds=5),
        *OTHERS,
        *(clone(regressor).set_params(rounds=30) for regressor in REGRESSORS),
        hb.HornBoostRegressor(random_state=0),
    ]
)
def test_scikit_learns_conventions(estimator: Any, check: Any) -> None:
    check(estimator)
