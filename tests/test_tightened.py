"""Conditions that another one of the same literal implies are left out of what is printed and saved."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornboost as hb

FIRST = pd.Timestamp("2024-01-01")


@pytest.fixture(scope="module")
def db() -> hb.Database:
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"row_id": range(40), "y": ["yes", "no"] * 20})
    paid = pd.DataFrame({"row_id": np.repeat(range(40), 2), "amount": rng.integers(0, 60, 80).astype(float)})
    paid["day"] = FIRST + pd.to_timedelta(rng.integers(0, 90, 80), "D")
    return hb.Database.from_frames({"rows": rows, "paid": paid}, "rows", key="row_id", label="y", positive="yes")


LEARNERS = {
    "hornboost": lambda db: hb.HornBoostClassifier(db, rounds=6, max_literals=4, random_state=0),
    "c2rib": lambda db: hb.C2RIBClassifier(db, rounds=20, max_literals=8, random_state=0),
    "rankboost": lambda db: hb.RankBoostClassifier(db, rounds=8, random_state=0),
    "path": lambda db: hb.PRankBoostClassifier(db, weak_learner="path", rounds=8, max_literals=8, random_state=0),
    "kbs": lambda db: hb.KBSClassifier(db, base="clause", rounds=10, random_state=0),
    "adaboost": lambda db: hb.AdaBoostM1Classifier(db, base="clause", rounds=10, random_state=0),
    "logitboost": lambda db: hb.LogitBoostClassifier(db, base="clause", rounds=8, random_state=0),
    "mlynx": lambda db: hb.MLynxClassifier(db, restarts=2, random_state=0),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_no_rule_states_what_another_condition_implies(name: str) -> None:
    drawn = [hb.datasets.trains(200, seed=1), *([] if name == "mlynx" else [hb.datasets.molecules(100, seed=1)])]
    for data in drawn:
        db = data.database()
        X, y = db.examples()
        model: Any = LEARNERS[name](db).fit(X, y)
        assert model.rules_
        for rule in model.rules_:
            for literal in rule.clause.body:
                asked = Counter((test.column, test.op) for test in literal.tests if test.op in (">=", "<="))
                assert max(asked.values(), default=0) <= 1, str(rule.clause)
            covered = db.covers(rule.clause)
            assert [(covered & (y == name)).sum() for name in model.classes_] == pytest.approx(rule.coverage)


BOUNDS = st.lists(
    st.one_of(
        st.tuples(st.just("amount"), st.sampled_from([">=", "<="]), st.integers(0, 59).map(str)),
        st.tuples(st.just("day"), st.sampled_from([">=", "<="]), st.integers(0, 89).map(lambda k: f'"{day(k)}"')),
    ),
    min_size=1,
    max_size=6,
)


def day(k: int) -> str:
    return str((FIRST + pd.Timedelta(k, "D")).date())


@settings(max_examples=40, deadline=None)
@given(bounds=BOUNDS)
def test_coverage_stays_what_it_was(db: hb.Database, bounds: list[tuple[str, str, str]]) -> None:
    tests = ", ".join("".join(bound) for bound in bounds)
    clause = hb.Clause.parse(f'y="yes" :- rows(row_id=R), paid(row_id=R, {tests}).')
    tight = clause.tightened()
    np.testing.assert_array_equal(db.covers(tight), db.covers(clause))
    assert len(tight.body[1].tests) == len({(column, op) for column, op, _ in bounds})


def test_a_literal_that_another_one_implies_is_left_out() -> None:
    for before, after in {
        "b(a=K, x>=3), b(a=K, x>=1)": "b(a=K, x>=3)",
        "b(a=K, x>=1), b(a=K, x>=3)": "b(a=K, x>=3)",
        "b(a=K), b(a=K)": "b(a=K)",
        'b(a=K, z!="u"), b(a=K, z="v")': 'b(a=K, z="v")',
        'b(a=K, z!="u"), b(a=K, z!="u", z!="v")': 'b(a=K, z!="u", z!="v")',
        "b(a=K, c=C), c(c=C), b(a=K, c=D)": "b(a=K, c=C), c(c=C)",
        "b(a=K, c=C, x>=1), c(c=C), b(a=K, c=C)": "b(a=K, c=C, x>=1), c(c=C)",
    }.items():
        assert str(hb.Clause.parse(f'y="1" :- a(id=K), {before}.').without_implied()) == f'y="1" :- a(id=K), {after}.'
    for kept in (
        "b(a=K, x>=3), b(a=K, x<=5)",
        "b(a=K, c=C), b(a=K, c=C)",  # its value is not null because the variable occurs twice
        "b(a=K, c=C), c(c=C), b(a=K, c=D), c(c=D, z>=1)",
        "b(a=K, c=C), b(a=K, c=D), C != D",
        'b(a=K, z!="u"), b(a=K, z="u")',
        'b(a=K, z!="u"), b(a=K, z!="v")',
        "a(id=K)",  # the row that is passed in may not be in the table
    ):
        text = f'y="1" :- a(id=K), {kept}.'
        assert str(hb.Clause.parse(text).without_implied()) == text


LITERALS = st.lists(
    st.tuples(st.sampled_from(["", ", code=A", ", code=B"]), st.sampled_from(["", ", amount>=20", ", amount>=40"])),
    min_size=2,
    max_size=4,
)


@settings(max_examples=40, deadline=None)
@given(literals=LITERALS)
def test_coverage_stays_without_implied_literals(literals: list[tuple[str, str]]) -> None:
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"row_id": range(12), "y": ["yes", "no"] * 6})
    paid = pd.DataFrame({"row_id": np.repeat(range(12), 2), "amount": rng.integers(0, 60, 24).astype(float)})
    paid["code"] = pd.array(rng.integers(0, 3, 24), "Int64").astype(object)
    paid.loc[rng.random(24) < 0.4, "code"] = None
    db = hb.Database.from_frames(
        {"rows": rows, "paid": paid}, "rows", key="row_id", label="y", keys={"paid": {"code": "code"}}
    )
    body = ", ".join(f"paid(row_id=R{code}{amount})" for code, amount in literals)
    clause = hb.Clause.parse(f'y="yes" :- rows(row_id=R), {body}.')
    np.testing.assert_array_equal(db.covers(clause.without_implied()), db.covers(clause))
