"""Scores of an ensemble: coverage of all clauses at once, the votes, and what is kept between calls."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings

import naive
from hornboost import Clause, Database, datasets
from hornboost.engine import Coverage
from hornboost.engine import coverage as coverage_module
from hornboost.errors import ClauseError, DataError, LimitError
from hornboost.model.ensemble import Ensemble, Rule
from random_databases import RandomCase, cases

RULES = [
    'risky="1" :- loan(account_id=A), trans(account_id=A, operation="cash", k_symbol="penalty", amount>=3000).',
    'risky="1" :- loan(account_id=A), order(account_id=A, amount>=5000, amount<=6500).',
    'risky="1" :- loan(account_id=A), disp(client_id=C, account_id=A, type="disponent"), client(client_id=C, age<=40).',
    (
        'risky="0" :- loan(account_id=A, duration>=36), trans(account_id=A, balance<=1000), order(account_id=A, '
        'bank_to="C").'
    ),
]


def bank(n: int = 300) -> tuple[Database, pd.DataFrame]:
    database = datasets.bank(n, transactions=10, seed=3).database()
    return database, database.examples()[0]


def ensemble(rules: list[str]) -> Ensemble:
    votes = np.random.default_rng(0).normal(size=(len(rules), 2))
    return Ensemble(
        ("0", "1"),
        tuple(Rule(Clause.parse(rule), (float(v[0]),), (float(v[1]),)) for rule, v in zip(rules, votes, strict=True)),
        (0.25,),
    )


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(cases(8))
def test_coverage_of_many_clauses_at_once_agrees_with_the_naive_interpreter(case: RandomCase) -> None:
    database = case.database()
    coverage = Coverage.of(database, case.clauses)
    covered = coverage.covered(database.encode(database.examples()[0]))
    assert covered.T.tolist() == [naive.covers(case.rows(), clause, case.target.name) for clause in case.clauses]


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(cases(8))
def test_coverage_does_not_depend_on_how_examples_are_divided(case: RandomCase) -> None:
    database = case.database()
    coverage = Coverage.of(database, case.clauses)
    examples = database.encode(database.examples()[0])
    whole = coverage.covered(examples)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage_module, "BLOCK", 3)
        patch.setattr(coverage_module, "MAX_ENTRIES", 1)
        assert np.array_equal(coverage.covered(examples), whole)


def test_one_example_that_reaches_too_many_rows_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    database, X = bank(20)
    monkeypatch.setattr(coverage_module, "MAX_ENTRIES", 0)
    monkeypatch.setattr(coverage_module, "MOST_ENTRIES", 0)
    with pytest.raises(LimitError, match=r"the join disp\.account_id reaches \d rows from one example"):
        ensemble(RULES).scores(database, database.encode(X))


def test_a_score_is_the_intercept_plus_the_votes_of_covering_rules_and_the_other_votes_of_the_rest() -> None:
    database, X = bank()
    model = ensemble(RULES)
    scores = model.scores(database, database.encode(X))
    expected = np.full(len(X), 0.25)
    for rule in model.rules:
        expected += np.where(database.covers(rule.clause), rule.votes[0], rule.otherwise[0])
    assert scores[:, 0].tolist() == expected.tolist()


def test_one_example_scores_the_same_as_among_others() -> None:
    database, X = bank()
    model = ensemble(RULES)
    together = model.scores(database, database.encode(X))
    alone = [model.scores(database, database.encode(X.iloc[[k]]))[0, 0] for k in range(20)]
    assert alone == together[:20, 0].tolist()


def test_no_rules_give_the_intercept_and_no_examples_give_no_scores() -> None:
    database, X = bank(20)
    assert Ensemble(("0", "1"), (), (0.5,)).scores(database, database.encode(X)).tolist() == [[0.5]] * 20
    assert ensemble(RULES).scores(database, database.encode(X.iloc[:0])).shape == (0, 1)


def test_tables_are_prepared_once_and_left_out_of_pickles() -> None:
    database, X = bank(20)
    model = ensemble(RULES)
    before = len(pickle.dumps(model))
    model.scores(database, database.encode(X))
    assert model.coverage(database) is model.coverage(database)
    assert len(pickle.dumps(model)) == before
    assert pickle.loads(pickle.dumps(model)) == model


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        ('risky="1" :- loan(account_id=A), card(account_id=A).', DataError, "there is no table 'card'"),
        ('risky="1" :- loan(account_id=A), trans(account_id=A, ammount>=1).', DataError, "did you mean 'amount'"),
        ('risky="1" :- loan(account_id=A), trans(account_id=A, operation>=1).', ClauseError, "'operation' is nominal"),
        ('risky="1" :- loan(amount="high").', ClauseError, "'high' is no number"),
    ],
)
def test_a_clause_that_does_not_fit_the_database_is_refused_in_one_sentence(
    rule: str, error: type[Exception], message: str
) -> None:
    database, X = bank(20)
    with pytest.raises(error, match=message):
        ensemble([rule]).scores(database, database.encode(X))
