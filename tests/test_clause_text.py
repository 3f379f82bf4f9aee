"""The text of clauses: every clause prints to a line that parses back to it,
and mistakes are named with their place.
"""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornboost.errors import ClauseError
from hornboost.logic.canonical import canonical
from hornboost.logic.clause import Clause, Head, Literal
from hornboost.logic.clause import Test as Condition
from hornboost.logic.duration import duration_text, microseconds_of

BOUND = "a number, an ISO date in double quotes or a length of time such as 90d"
odd_names = ["drug", "is", "missing", "a b", 'quo"te', "back\\slash", "", "Order", "élan", "1st", "inf"]
names = st.one_of(st.sampled_from(odd_names), st.text(max_size=6))
variables = st.sampled_from(["A", "B", "C1", "Drug", "É"])
numbers = st.floats(allow_nan=False)
durations = st.integers(-(2**53), 2**53).map(duration_text)
conditions = st.one_of(
    st.builds(Condition, names, st.sampled_from(["=", "!="]), st.text(max_size=6)),
    st.builds(
        Condition,
        names,
        st.sampled_from([">=", "<="]),
        st.one_of(numbers, st.dates().map(str), st.datetimes().map(str), durations),
    ),
    st.builds(Condition, names, st.just("missing")),
)
literals = st.builds(
    Literal,
    names,
    st.dictionaries(names, variables, max_size=3).map(lambda columns: tuple(columns.items())),
    st.lists(conditions, max_size=3).map(tuple),
)


@st.composite
def clauses(draw: st.DrawFn) -> Clause:
    body = tuple(draw(st.lists(literals, min_size=1, max_size=4)))
    bound = sorted({variable for literal in body for variable in literal.variables})
    pairs = st.lists(st.tuples(st.sampled_from(bound), st.sampled_from(bound)), max_size=3) if bound else st.just([])
    return Clause(draw(st.builds(Head, names, st.text(max_size=6))), body, tuple(draw(pairs)))


@given(clauses())
def test_a_printed_clause_parses_back_to_itself(clause: Clause) -> None:
    assert Clause.parse(str(clause)) == clause
    assert str(Clause.parse(str(clause))) == str(clause)


@given(clauses())
def test_a_printed_clause_is_one_printable_line(clause: Clause) -> None:
    assert str(clause).isprintable()


@pytest.mark.parametrize(
    "text",
    [
        (
            'active="1" :- drug(drug=D, lumo<=-1.2), atom(drug=D, atom=A, element="c", charge>=0.142), '
            'bond(atom1=A, bond_type="7"), A != D.'
        ),
        'class="malignant" :- examples(bare_nuclei>=3, clump_thickness>=5).',
        'class="x" :- examples().',
        'good="yes" :- loan(account=A), trans(account=A, age<=90d, amount>=3000), card(account=A, "row age">=1.5s).',
        'y="90d" :- a(kind="90d", age>=36h, age<=30min).',
        'good="yes" :- loan(account=A, date>="1998-01-01"), card(account=A, type is missing).',
        '"my label"="a \\"b\\"" :- "my table"("a key"=K, "is"="it").',
        (
            'advised="1" :- pair(s=S, p=P, s="person1"), publication(title=T, person=S), publication(title=T, '
            "person=P), S != P."
        ),
    ],
)
def test_the_usual_notation_is_kept_to_the_letter(text: str) -> None:
    assert str(Clause.parse(text)) == text


def test_parsing_builds_the_clause_that_the_text_spells() -> None:
    body = 'drug(drug=D, lumo<=-1.2),\n  atom(element="c", drug=D, atom=A), bond(a=A, b=B, kind is missing), A != B'
    clause = Clause.parse(f'active="1" :- {body}.')
    assert clause == Clause(
        Head("active", "1"),
        (
            Literal("drug", (("drug", "D"),), (Condition("lumo", "<=", -1.2),)),
            Literal("atom", (("drug", "D"), ("atom", "A")), (Condition("element", "=", "c"),)),
            Literal("bond", (("a", "A"), ("b", "B")), (Condition("kind", "missing"),)),
        ),
        (("A", "B"),),
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(3, "3"), (3.0, "3"), (0.1, "0.1"), (np.float64(0.25), "0.25"), (1e-7, "1e-07"), (-0.0, "-0"), (math.inf, "inf")],
)
def test_a_threshold_prints_as_its_shortest_text(value: float, text: str) -> None:
    assert str(Condition("x", ">=", value)) == f"x>={text}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "clause, position 1: expected the label column, but the text ends"),
        ("y :- a().", "clause, position 3: expected '=' after the label 'y', but found :-"),
        ("y=1 :- a().", "clause, position 3: expected the predicted value in double quotes, but found 1"),
        ('y="1" a().', "clause, position 7: expected ':-' after the head, but found a"),
        ('y="1" :- .', "clause, position 10: expected a table or a variable, but found ."),
        (
            'y="1" :- a(x=1).',
            "clause, position 14: expected a variable, as in 'A', or a constant in double quotes, but found 1",
        ),
        (
            'y="1" :- a(x=d).',
            "clause, position 14: expected a variable, as in 'A', or a constant in double quotes, but found d",
        ),
        (
            'y="1" :- a(x>3).',
            "clause, position 13: expected '=', '!=', '>=', '<=' or 'is missing' after the column 'x', but found >",
        ),
        (
            'y="1" :- a(x>="c").',
            f'clause, position 15: expected {BOUND}, but found "c"',
        ),
        (
            'y="1" :- a(x>=nan).',
            f"clause, position 15: expected {BOUND}, but found nan",
        ),
        (
            'y="1" :- a(x>="1998-13-01").',
            f'clause, position 15: expected {BOUND}, but found "1998-13-01"',
        ),
        (
            'y="1" :- a(age<=90days).',
            "clause, position 19: expected one of d, h, min, s after the number of a length of time, but found days",
        ),
        (
            'y="1" :- a(age<="90d").',
            f'clause, position 17: expected {BOUND}, but found "90d"',
        ),
        (
            'y="1" :- a(age=90d).',
            "clause, position 16: expected a variable, as in 'A', or a constant in double quotes, but found 90d",
        ),
        ('y="1" :- a(x=A, x=B).', "clause: the column 'x' of 'a' is bound twice; use one variable in both places"),
        ('y="1" :- a(x is null).', "clause, position 17: expected 'missing' after 'is', but found null"),
        ('y="1" :- a(x=A,).', "clause, position 16: expected a column of 'a', but found )"),
        ('y="1" :- a(x=A', "clause, position 15: expected ',' or ')' in the literal of 'a', but the text ends"),
        ('y="1" :- a(x=A)', "clause, position 16: expected ',' or the final '.', but the text ends"),
        ('y="1" :- a(x=A). b', "clause, position 18: expected the end of the text after the final '.', but found b"),
        (
            'y="1" :- a(count(b)!="u").',
            (
                "clause, position 20: expected '=', '>=', '<=' or 'is missing' after the aggregate 'count(b)', "
                "but found !="
            ),
        ),
        (
            'y="1" :- a(x!=A).',
            "clause, position 15: expected a constant in double quotes (variables stand as in 'A != B'), but found A",
        ),
        ('y="1" :- a(x=A), A != b.', "clause, position 23: expected a variable, as in 'A', but found b"),
        ('y="1" :- a(x=A), A != B.', "clause, position 23: the variable B is bound to no column; bind it in a literal"),
        (
            'y="1',
            "clause, position 3: expected the predicted value in double quotes, but a double quote is never closed",
        ),
        ('y="1" :- a(x="\\d").', "clause, position 15: '\\d' is no escape; write '\\\\' for a backslash"),
        (
            'y="1" :- A != B.',
            "the clause has no literal; write at least the target table's, as in 'class=\"1\" :- examples().'",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ClauseError) as error:
        Clause.parse(text)
    assert str(error.value) == message


@given(st.text(alphabet='abAB"\\=<>!:-.,() 1isn\n', max_size=30))
def test_any_other_text_is_a_clause_error(text: str) -> None:
    with contextlib.suppress(ClauseError):
        Clause.parse(text)
    with pytest.raises(ClauseError, match=r"^[^\n]+$"):
        Clause.parse(text + "?")


@pytest.mark.parametrize(
    ("written", "shown"),
    [("24h", "1d"), ("90.0d", "90d"), (".5min", "30s"), ("0.0000004s", "0d"), ("+1.50s", "1.5s"), ("90 d", None)],
)
def test_a_length_of_time_is_printed_in_its_longest_unit(written: str, shown: str | None) -> None:
    text = 'y="1" :- a(age<={}).'
    if shown is None:
        with pytest.raises(ClauseError, match="expected ',' or '\\)' in the literal of 'a', but found d"):
            Clause.parse(text.format(written))
    else:
        assert str(Clause.parse(text.format(written))) == text.format(shown)


@given(st.integers(-(2**53), 2**53))
def test_the_text_of_a_length_of_time_is_exact(microseconds: int) -> None:
    assert microseconds_of(duration_text(microseconds)) == microseconds


def test_bounds_of_ages_are_compared_as_lengths_of_time() -> None:
    clause = Clause.parse('y="1" :- a(id=A), b(id=A, age<=90d, age>=30min, age<=100h, age>=1d), c(id=A, age<=2d).')
    assert str(clause.tightened()) == 'y="1" :- a(id=A), b(id=A, age<=100h, age>=1d), c(id=A, age<=2d).'


def test_the_canonical_form_writes_a_length_of_time_in_one_way() -> None:
    clauses = [Clause(Head("y", "1"), (Literal("a", (), (Condition("age", "<=", text),)),)) for text in ("24h", "1d")]
    assert canonical(clauses[0]) == canonical(clauses[1]) == clauses[1]


def test_length_counts_root_tests_and_at_least_one_for_each_other_literal() -> None:
    assert Clause.parse('y="1" :- a(k=K).').length == 0
    assert Clause.parse('y="1" :- a(k=K, x>=1, x<=2), b(k=K), c(k=K, u="1", v="2").').length == 5


def test_variables_come_in_order_of_appearance_each_once() -> None:
    assert Clause.parse('y="1" :- a(k=K, l=A), b(k=K, b=Z), c(b=Z, c=B).').variables == ("K", "A", "Z", "B")


def test_rooted_moves_the_first_literal_of_the_target_to_the_front() -> None:
    clause = Clause.parse('y="1" :- b(a=A, b=B), a(a=A), a(a=B).')
    assert clause.rooted("a") == Clause.parse('y="1" :- a(a=A), b(a=A, b=B), a(a=B).')
    assert clause.rooted("b") is clause
    with pytest.raises(ClauseError, match="has no literal over the target table 'c'"):
        clause.rooted("c")
