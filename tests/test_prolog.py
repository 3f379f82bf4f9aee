"""The Prolog of clauses, on hand-worked cases; random ones are in `test_oracles.py`."""

from __future__ import annotations

import pytest

from hornboost.errors import ClauseError
from hornboost.logic import Clause


def clause(body: str) -> Clause:
    return Clause.parse(f'y="1" :- {body}.')


def test_prolog_patterns_say_what_they_can_and_goals_the_rest() -> None:
    text = (
        'drug(drug=D, lumo<=-1.2), atom(drug=D, atom=A, element="c", charge is missing), bond(a=A, b=V1, '
        'kind="7"), A != V1'
    )
    assert clause(text).to_prolog().splitlines() == [
        "% drug(drug, lumo)",
        "% atom(drug, atom, element, charge)",
        "% bond(a, b, kind)",
        (
            r"y(D, '1') :- drug(D, V2), number(V2), V2 =< -1.2, atom(D, A, c, []), bond(A, V1, '7'), D \== [], A "
            r"\== [], V1 \== [], A \== V1."
        ),
    ]


def test_prolog_takes_the_arguments_in_the_order_of_the_columns_given() -> None:
    text = 'drug(drug=D), atom(drug=D, element="C", charge>=0.1, seen>="1998-01-01")'
    columns = {"drug": ["drug", "lumo"], "atom": ["atom", "drug", "element", "charge", "seen"]}
    assert clause(text).to_prolog(columns).splitlines()[-1] == (
        "y(D, '1') :- drug(D, _), atom(_, D, 'C', V1, V2), number(V1), V1 >= 0.1, atom(V2), V2 @>= "
        "'1998-01-01', D \\== []."
    )
    with pytest.raises(ClauseError, match="names the column 'element' of table 'atom', which 'columns' does not list"):
        clause(text).to_prolog({"drug": ["drug"], "atom": ["drug", "charge", "seen"]})


def test_an_age_has_no_form_in_prolog() -> None:
    with pytest.raises(ClauseError, match="the test 'age<=90d' of the clause has no form in Prolog"):
        clause("loan(account=A), trans(account=A, age<=90d)").to_prolog()
