"""The rankings of the mLynx table are those of the classifier."""

from __future__ import annotations

import numpy as np
import pytest

import hornboost as hb
from benchmarks.papers import mlynx


@pytest.mark.parametrize("setting", [(2, 1.0, 1e-3), (1, 1.0, 1e-2)])
def test_scores_are_those_of_the_classifier_up_to_a_constant(setting: mlynx.Setting) -> None:
    db = hb.datasets.trains(120, noise=0.1, seed=3).database()
    X, y = db.examples()
    train, test = np.arange(80), np.arange(80, 120)
    is_positive = np.asarray(y) == db.target.positive
    length, weight, alpha = setting
    seed = hb.MLynxClassifier(random_state=5)._seed()  # what the classifier draws its own random numbers from
    rows = X.iloc[train], y.iloc[train], is_positive[train], {"rest": X.iloc[test]}
    scored = dict(mlynx._scores(db, *rows, [setting, (1, 1.0, 0.1)], seed, {"restarts": 7}))
    for kept in mlynx.KEPT:
        chosen = {"max_length": length, "alpha": alpha, "average": kept == "average", "restarts": 7, "random_state": 5}
        model = hb.MLynxClassifier(db, **chosen, **mlynx.UWCSE)
        model.fit(X.iloc[train], y.iloc[train], sample_weight=np.where(is_positive[train], weight, 1.0))
        difference = model.decision_function(X.iloc[test]) - scored[setting]["rest", kept]
        assert np.ptp(scored[setting]["rest", kept]) > 1.0
        assert np.ptp(difference) < 1e-9
