"""The loans behind aggregates: which class the rules describe, and that the examples stay the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.papers.loans import BAD, OF_BAD, learners, loans


@pytest.mark.parametrize("task", BAD)
def test_turning_the_task_round_leaves_examples_and_labels(task: str, data_folder: Path) -> None:
    good, bad = loans(data_folder, task), loans(data_folder, task, of_bad=True)
    (X, y), (X_bad, y_bad) = good.examples(), bad.examples()
    assert (bad.target.positive, bad.target.negative) == (good.target.negative, good.target.positive)
    assert (y == bad.target.positive).mean() < 0.2
    assert X.equals(X_bad)
    assert (y == y_bad).all()


@pytest.mark.parametrize("learner", OF_BAD)
def test_rules_of_bad_loans_describe_bad_loans_only(learner: str, data_folder: Path) -> None:
    database = loans(data_folder, "finished_good_vs_bad", of_bad=True)
    model = learners(database, 0)[learner].set_params(c2ribclassifier__rounds=20, relationalaggregates__max_depth=1)
    X, y = database.examples()
    rules = model.fit(X, y)[-1].rules_
    assert {rule.clause.head.value for rule in rules} == {"B"}
