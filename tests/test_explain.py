"""Explanations: votes that add up to the score, rows that satisfy the rules, and the first condition that fails."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings

import hornboost as hb
import naive
from hornboost import Clause
from hornboost.boosting.c2rib import C2RIBClassifier
from hornboost.engine import Coverage, coverage
from hornboost.engine.needs import ENTRY_BYTES, Needs
from hornboost.memory import PYTHON
from hornboost.model.diagnosis import NothingLearnedWarning, diagnose
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.model.explain import explain
from hornboost.model.explanation import Explanations
from hornboost.model.missed import prefixes
from random_databases import RandomCase, cases

FRAMES = {
    "loan": pd.DataFrame(
        {"loan": ["x", "y", "z"], "account": [1, 2, 3], "amount": [10.0, 20.0, None], "bad": ["yes", "no", "no"]}
    ),
    "trans": pd.DataFrame(
        {
            "trans": [8123, 8124, 8125, 8126],
            "account": [1, 1, 2, 2],
            "kind": ["cash", "card", "cash", None],
            "sum": [5.0, 9.0, 1.0, 2.0],
            "day": pd.to_datetime(["1998-01-01", "1998-02-01", None, "1999-01-01"]),
        }
    ),
}


def database() -> hb.Database:
    return hb.Database.from_frames(
        FRAMES,
        target="loan",
        key="loan",
        label="bad",
        positive="yes",
        foreign_keys=[("trans.account", "loan.account")],
        keys={"trans": {"trans": "trans"}},
    )


def explained(rules: dict[str, float], intercept: float = -0.5, missed: int = 3) -> Explanations:
    db = database()
    model = Ensemble(
        ("no", "yes"), tuple(Rule(Clause.parse(rule), (vote,)) for rule, vote in rules.items()), (intercept,)
    )
    return explain(model, db, db.encode(db.examples()[0]), missed)


CASH = 'bad="yes" :- loan(account=A), trans(account=A, kind="cash", sum>=3).'
LARGE = 'bad="yes" :- loan(amount>=15).'
DATED = 'bad="no" :- loan(account=A), trans(account=A, day>="1998-06-01").'


def test_each_rule_that_fired_comes_with_its_vote_and_the_row_that_made_it_fire() -> None:
    first = explained({CASH: 1.5, LARGE: 0.25})[0]
    assert dict(first.keys) == {"loan": "x"}
    assert [(str(f.rule.clause), f.vote) for f in first.fired] == [(CASH, 1.5)]
    (witness,) = first.fired[0].witnesses
    assert witness.table == "trans"
    assert dict(witness.row) == {"trans": 8123, "account": 1, "kind": "cash", "sum": 5.0, "day": "1998-01-01"}
    assert (first.prediction, first.score, first.start) == ("yes", 1.0, -0.5)


def test_a_rule_that_did_not_fire_comes_with_the_first_condition_that_failed() -> None:
    first, second, third = explained({CASH: 1.5, LARGE: 0.25, DATED: -1.0})
    assert {m.failed for m in first.missed} == {
        "amount>=15 does not hold in table 'loan'",
        "no such row of table 'trans' has day>=\"1998-06-01\"",
    }
    assert [m.failed for m in second.missed] == ["no such row of table 'trans' has sum>=3"]
    assert (second.missed[0].satisfied, second.missed[0].conditions) == (2, 3)
    assert "no row of table 'trans' is joined" in {m.failed for m in third.missed}


def test_of_two_classes_the_scores_and_votes_are_those_of_the_positive_one() -> None:
    db = database()
    model = Ensemble(("no", "yes"), (Rule(Clause.parse(CASH), (1.5,)),), (-0.5,))
    first = explain(model, db, db.encode(db.examples()[0]), positive="no")[0]
    assert (first.about, first.score, first.start, first.fired[0].vote) == ("no", -1.0, 0.5, -1.5)


def test_the_nearest_rules_come_first_and_as_many_as_asked_for() -> None:
    second = explained({LARGE.replace("15", "99"): 9.0, CASH: 1.5}, missed=1)[1]
    assert [str(m.rule.clause) for m in second.missed] == [CASH]
    assert second.n_missed == 2
    assert explained({CASH: 1.5}, missed=0)[1].missed == ()


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ({CASH: 1.5}, "-0.5000  from the start"),
        ({CASH: 1.5, LARGE: 0.25}, "-0.5000  from the start, and from the rule that did not fire"),
        ({CASH: 1.5, LARGE: 0.25, DATED: -1.0}, "-0.5000  from the start, and from the 2 rules that did not fire"),
    ],
)
def test_the_text_counts_the_rules_that_did_not_fire(rules: dict[str, float], text: str) -> None:
    assert str(explained(rules, missed=0)[0]).splitlines()[-1].strip() == text


def test_the_votes_and_the_start_add_up_to_the_score_also_where_rules_vote_by_not_firing() -> None:
    db = hb.datasets.bank(150, transactions=6, seed=2).database()
    X, _ = db.examples()
    rng = np.random.default_rng(0)
    bodies = [
        'trans(account_id=A, operation="cash", amount>=3000)',
        "order(account_id=A, amount>=5000)",
        'account(account_id=A, frequency="weekly")',
    ]
    for n_scores in (1, 2, 3):
        classes = ("0", "1") if n_scores < 3 else ("0", "1", "2")
        rules = tuple(
            Rule(
                Clause.parse(f'risky="1" :- loan(account_id=A), {body}.'),
                tuple(rng.normal(size=n_scores)),
                tuple(rng.normal(size=n_scores)),
            )
            for body in bodies
        )
        model = Ensemble(classes, rules, tuple(rng.normal(size=n_scores)), "softmax")
        for one in explain(model, db, db.encode(X)):
            assert one.score == pytest.approx(one.start + sum(fired.vote for fired in one.fired), abs=1e-12)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(cases(5))
def test_witness_rows_alone_satisfy_the_clause(case: RandomCase) -> None:
    db = case.database()
    examples = db.encode(db.examples()[0])
    rules = tuple(Rule(clause, (1.0,)) for clause in case.clauses)
    explanations = explain(Ensemble(("0", "1"), rules, (0.0,)), db, examples)
    for example, explanation in enumerate(explanations):
        assert {id(fired.rule) for fired in explanation.fired} == {id(r) for r in rules if db.covers(r.clause)[example]}
        for fired in explanation.fired:
            rooted = fired.rule.clause.rooted(case.target.name)
            literals = [literal for number, literal in enumerate(rooted.body) if number or literal.tests]
            assert [witness.table for witness in fired.witnesses] == [literal.table for literal in literals]
            few = {table.name: [] for table in case.tables} | {case.target.name: [case.target.rows[example]]}
            for witness, literal in zip(fired.witnesses, literals, strict=True):
                if literal is not rooted.root:
                    few[witness.table].append(dict(witness.row))
            assert naive.covers(few, rooted, case.target.name)[0]


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(cases(5))
def test_explanations_do_not_depend_on_how_examples_are_divided(case: RandomCase) -> None:
    db = case.database()
    examples = db.encode(db.examples()[0])
    model = Ensemble(("0", "1"), tuple(Rule(clause, (1.0,)) for clause in case.clauses), (0.0,))
    whole = explain(model, db, examples).to_json()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage, "TRACED", 3)
        patch.setattr(coverage, "MAX_ENTRIES", 1)
        assert explain(model, db, examples).to_json() == whole


def test_explaining_makes_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []
    root = Coverage._root
    monkeypatch.setattr(Coverage, "_root", lambda self, *arguments: passes.append(1) or root(self, *arguments))
    assert len(explained({CASH: 1.5, LARGE: 0.25, DATED: -1.0})) == 3
    assert len(passes) == 1


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(cases(5))
def test_prefixes_grow_up_to_the_clause_and_cover_less_and_less(case: RandomCase) -> None:
    db = case.database()
    for clause in case.clauses:
        rooted = clause.rooted(case.target.name)
        grown = [prefix for prefix, _ in prefixes(rooted)]
        coverage = [db.covers(prefix) for prefix in grown]
        assert all((later <= earlier).all() for earlier, later in itertools.pairwise(coverage))
        if coverage:
            assert coverage[-1].tolist() == db.covers(clause).tolist()


def test_explanations_are_a_frame_a_text_and_plain_json() -> None:
    found = explained({CASH: 1.5, LARGE: 0.25})
    frame = found.frame()
    assert list(frame.columns) == [
        "example",
        "loan",
        "prediction",
        "about",
        "probability",
        "rule",
        "fired",
        "vote",
        "failed",
        "witness",
    ]
    assert frame[frame["fired"]]["witness"].tolist()[0] == 'trans: trans=8123, account=1, kind="cash", sum=5'
    rows = found.witnesses()
    assert rows["row"][0]["trans"] == 8123
    text = str(found)
    assert 'loan="x": predicted "yes"' in text
    assert 'because of trans: trans=8123, account=1, kind="cash", sum=5' in text
    assert json.loads(json.dumps(found.to_json()))[0]["fired"][0]["witnesses"][0]["row"]["trans"] == 8123
    assert explained({})[0].missed == ()
    assert list(Explanations().frame().columns) == [
        "example",
        "prediction",
        "about",
        "probability",
        "rule",
        "fired",
        "vote",
        "failed",
        "witness",
    ]


def problem(X: object, y: object, db: hb.Database | None = None, **engine: object) -> object:
    return C2RIBClassifier(db)._problem(X, y, None, **engine)


def test_a_fit_without_rules_can_say_why() -> None:
    varied = np.random.default_rng(0).normal(size=(20, 2))
    assert diagnose(problem(varied, [1] * 20))[0].startswith('all 20 examples are of class "1"')
    assert (
        diagnose(problem(varied, [1] * 3 + [0] * 17))[0]
        == 'there are too few examples of class "1" (3) to learn and prune rules on'
    )
    assert diagnose(problem(np.ones((20, 2)), [0, 1] * 10))[0].startswith("no attribute varies")
    assert "no condition that rules may state" in diagnose(problem(varied, [0, 1] * 10))[0]


def unlinked(accounts: list[object]) -> hb.Database:
    loans = pd.DataFrame({"loan": range(20), "account": range(20), "bad": ["yes", "no"] * 10})
    trans = pd.DataFrame({"account": accounts, "kind": ["a", "b"] * (len(accounts) // 2)})
    keys = {"loan": {"account": "account"}, "trans": {"account": "account" if accounts[0] != "far" else "other"}}
    return hb.Database.from_frames(
        {"loan": loans, "trans": trans}, target="loan", key="loan", label="bad", keys=keys, foreign_keys=[]
    )


def test_missing_links_are_named() -> None:
    db = unlinked(["far", "off"])
    assert any(
        "no link leads from table 'loan' to 'trans'" in reason for reason in diagnose(problem(*db.examples(), db))
    )
    db = unlinked([1001, 1002])
    assert any("keys of the examples occur in no row" in reason for reason in diagnose(problem(*db.examples(), db)))


def test_joins_over_the_limit_are_named() -> None:
    db = hb.datasets.bank(100, transactions=5, seed=0).database()
    found = problem(*db.examples(), db, memory_limit=PYTHON + sum(Needs.of(db)) + ENTRY_BYTES)
    found.engine.frontier(found.engine.root())
    assert any("there is memory for 1 of the rows that a join reaches" in reason for reason in diagnose(found))


@pytest.mark.parametrize("estimator", [hb.C2RIBClassifier, hb.AdaBoostM1Classifier, hb.LogitBoostClassifier])
def test_a_fit_without_rules_warns_and_says_why(estimator: Any) -> None:
    learner = estimator(rounds=3, **({} if estimator is hb.C2RIBClassifier else {"base": "clause"}))
    with pytest.warns(NothingLearnedWarning, match="no rule was learned: no attribute varies"):
        learner.fit(np.ones((20, 2)), [0, 1] * 10)


def test_conditions_on_the_example_itself_count_one_by_one() -> None:
    rows = pd.DataFrame({"id": range(3), "a": ["y", "x", "y"], "b": [7, 7, 1], "lab": ["p", "n", "n"]})
    more = pd.DataFrame({"id": [0, 0, 1], "kind": ["u", "v", "v"], "size": [1, 5, 5]})
    db = hb.Database.from_frames(
        {"t": rows, "more": more}, target="t", key="id", label="lab", foreign_keys=[("more.id", "t.id")]
    )
    clause = hb.Clause.parse('lab="p" :- t(id=I, a="x", b>=5), more(id=I, kind="u", size>=5).')
    model = Ensemble(("n", "p"), (Rule(clause, (1.0,)),), (0.0,))
    missed = [one.missed[0] for one in explain(model, db, db.encode(db.examples()[0]))]
    assert [(one.satisfied, one.conditions) for one in missed] == [(3, 5), (3, 5), (0, 5)]
    assert [one.failed for one in missed] == [
        "a=\"x\" does not hold in table 't'",
        "no such row of table 'more' has kind=\"u\"",
        "a=\"x\" does not hold in table 't'",
    ]


def test_a_condition_that_holds_is_not_blamed_for_keys_that_differ() -> None:
    rows = pd.DataFrame({"i": range(3), "p": [0, 0, 1], "q": [0, 1, 1], "x": [5, 5, 0], "lab": ["a", "b", "b"]})
    db = hb.Database.from_frames(
        {"t": rows, "per": pd.DataFrame({"p": [0, 1]})},
        target="t",
        key="i",
        label="lab",
        foreign_keys=[("t.p", "per.p"), ("t.q", "per.p")],
    )
    model = Ensemble(("a", "b"), (Rule(hb.Clause.parse('lab="a" :- t(i=I, p=P, q=P, x>=1).'), (1.0,)),), (0.0,))
    fired, keys, x = explain(model, db, db.encode(db.examples()[0]))
    assert not fired.missed
    assert [(one.satisfied, one.conditions, one.failed) for one in (*keys.missed, *x.missed)] == [
        (1, 2, "two key columns of table 't' differ"),
        (1, 2, "x>=1 does not hold in table 't'"),
    ]
