"""Generality and equivalence of clauses."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornboost.logic import Clause, Literal, canonical
from subsumption import subsumes


def clause(body: str) -> Clause:
    return Clause.parse(f'y="1" :- {body}.')


@pytest.mark.parametrize(
    ("general", "special"),
    [
        ("a(k=K)", "a(k=K, x>=1)"),
        ("a(k=K)", "a(k=L), b(k=L)"),
        ("a(k=K), b(k=K)", "a(k=K), b(k=K, x is missing)"),
        ("a(k=K), b(k=K, x>=3)", "a(k=K), b(k=K, x>=5)"),
        ("a(k=K), b(k=K, x<=3)", "a(k=K), b(k=K, x<=2.5)"),
        ('a(k=K), b(k=K, d>="1998-01-01")', 'a(k=K), b(k=K, d>="1998-01-01 12:00")'),
        ("a(k=K), b(k=K, j=J), c(j=J)", "a(k=Z), c(j=U, x>=1), b(k=Z, j=U)"),
        ("a(k=K), b(k=K, j=J), b(k=K, j=I), I != J", 'a(k=K), b(k=K, j=J, x="u"), b(k=K, j=I, x="v"), J != I'),
        ('a(k=K), b(k=K, x!="u")', 'a(k=K), b(k=K, x="v")'),
        ('a(k=K), b(k=K, x!="u")', 'a(k=K), b(k=K, x!="u", x!="v")'),
        ('a(k=K), b(k=K, x="u"), b(k=K, y="v")', 'a(k=K), b(k=K, x="u", y="v")'),
    ],
)
def test_a_clause_subsumes_its_refinements_and_not_the_other_way_round(general: str, special: str) -> None:
    for oi in (True, False):
        assert subsumes(clause(general), clause(special), oi=oi)
        assert not subsumes(clause(special), clause(general), oi=oi)


def test_a_variable_that_occurs_once_imposes_nothing() -> None:
    named, unnamed = clause("a(k=K), b(k=K, j=J)"), clause("a(k=K), b(k=K)")
    assert subsumes(named, unnamed)
    assert subsumes(unnamed, named)


@pytest.mark.parametrize(
    ("general", "special"),
    [
        ("a(k=K, x>=3)", "a(k=K, x>=2)"),
        ("a(k=K, x<=3)", "a(k=K, x<=4)"),
        ("a(k=K, x>=3)", "a(k=K, x<=3)"),
        ('a(k=K, x="u")', 'a(k=K, x="v")'),
        ("a(k=K), b(k=K)", "a(k=K), b(k=L)"),
        ("a(k=K), b(k=K)", "a(k=K), c(k=K)"),
        ("a(k=K), b(k=K, j=J), b(k=K, j=I), I != J", "a(k=K), b(k=K, j=J), b(k=K, j=I)"),
        ("a(k=K, x>=1), a(k=K)", "a(k=K), a(k=K, x>=1)"),
    ],
)
def test_a_clause_does_not_subsume_what_lacks_one_of_its_conditions(general: str, special: str) -> None:
    assert not subsumes(clause(general), clause(special), oi=True)
    assert not subsumes(clause(general), clause(special), oi=False)


def test_under_object_identity_distinct_variables_stay_distinct() -> None:
    path, loop = clause("a(k=K), e(u=K, v=X), e(u=X, v=Y)"), clause("a(k=K), e(u=K, v=X), e(u=X, v=X)")
    assert not subsumes(path, loop)
    assert subsumes(path, loop, oi=False)
    assert not subsumes(loop, path, oi=False)


def test_a_joined_variable_has_no_image_that_may_be_null() -> None:
    twice, once = clause("a(k=K), b(k=K, j=J), b(k=K, j=J)"), clause("a(k=K), b(k=K, j=J)")
    assert not subsumes(twice, once, oi=False)
    assert subsumes(once, twice)


def test_another_head_is_another_clause() -> None:
    one = clause("a(k=K)")
    assert not subsumes(one, one.with_head("y", "2"))
    assert canonical(one) != canonical(one.with_head("y", "2"))


def shuffled(original: Clause, seed: int) -> Clause:
    rng = random.Random(seed)
    names = dict(
        zip(original.variables, rng.sample([f"X{i}" for i in range(20)], len(original.variables)), strict=True)
    )
    body = [
        Literal(
            literal.table,
            tuple(
                rng.sample([(column, names[variable]) for column, variable in literal.bindings], len(literal.bindings))
            ),
            tuple(rng.sample(literal.tests, len(literal.tests))),
        )
        for literal in original.body
    ]
    pairs = [tuple(rng.sample([names[left], names[right]], 2)) for left, right in original.unequal]
    return replace(
        original, body=(body[0], *rng.sample(body[1:], len(body) - 1)), unequal=tuple(rng.sample(pairs, len(pairs)))
    )


@st.composite
def symmetric_clauses(draw: st.DrawFn) -> Clause:
    """Few tables, columns and variables, so that many literals look alike."""
    variables = st.sampled_from("KABCD")
    arguments = st.builds(
        lambda u, v, test: f"u={u}, v={v}{test}",
        variables,
        variables,
        st.sampled_from(["", "", "", ', x="1"', ', x!="1"', ", y>=2"]),
    )
    literals = draw(
        st.lists(st.builds(lambda table, inner: f"{table}({inner})", st.sampled_from("ef"), arguments), max_size=7)
    )
    body = ["e(u=K)", *literals]
    bound = sorted({name for literal in clause(", ".join(body)).body for name in literal.variables})
    pairs = draw(st.lists(st.sampled_from(list(itertools.product(bound, bound))), max_size=3))
    return clause(", ".join(body + [f"{left} != {right}" for left, right in pairs]))


@given(symmetric_clauses(), st.integers(0, 1000))
def test_the_canonical_form_does_not_depend_on_names_and_order(original: Clause, seed: int) -> None:
    assert canonical(shuffled(original, seed)) == canonical(original)


@given(symmetric_clauses())
def test_the_canonical_form_is_a_renaming_of_the_clause(original: Clause) -> None:
    form = canonical(original)
    assert canonical(form) == form
    assert form.root.table == original.root.table
    pairs = {frozenset(pair) for pair in original.unequal}
    assert len(form.unequal) == len(pairs)
    names = (dict(zip(form.variables, other, strict=True)) for other in itertools.permutations(original.variables))
    wanted = sorted(str(literal) for literal in original.body)
    assert any(
        sorted(str(renamed(literal, theta)) for literal in form.body) == wanted
        and {frozenset((theta[left], theta[right])) for left, right in form.unequal} == pairs
        for theta in names
    )


def renamed(literal: Literal, theta: dict[str, str]) -> Literal:
    return replace(literal, bindings=tuple((column, theta[variable]) for column, variable in literal.bindings))


@given(symmetric_clauses(), symmetric_clauses())
def test_clauses_with_one_canonical_form_subsume_each_other(one: Clause, other: Clause) -> None:
    if canonical(one) == canonical(other):
        assert subsumes(one, other)
        assert subsumes(other, one)


def test_a_cycle_of_six_and_two_cycles_of_three_have_different_forms() -> None:
    six = clause("a(k=K), " + ", ".join(f"e(u=X{i}, v=X{(i + 1) % 6})" for i in range(6)))
    twice_three = clause("a(k=K), " + ", ".join(f"e(u=X{i}, v=X{i // 3 * 3 + (i + 1) % 3})" for i in range(6)))
    assert canonical(six) != canonical(twice_three)
    assert canonical(shuffled(six, 1)) == canonical(six)
    assert canonical(shuffled(twice_three, 1)) == canonical(twice_three)


@pytest.mark.parametrize("seed", range(5))
def test_alike_branches_are_ordered_as_whole_branches(seed: int) -> None:
    original = clause(
        "m(m=M), " + ", ".join(f"atom(m=M, a=A{i}), bond(a=A{i}, b=B{i})" for i in range(3)) + ", A0 != A1, B1 != B2"
    )
    assert canonical(shuffled(original, seed)) == canonical(original)
