"""Popper's folders: background, examples and declarations, of problems of our own making."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import pytest

import hornboost as hb
from hornboost.data import Database
from hornboost.errors import DataError


def problem(folder: Path, bias: str, background: str, positive: list[str], negative: list[str]) -> Path:
    examples = [f"pos({fact})." for fact in positive] + [f"neg({fact})." for fact in negative]
    for name, text in (("bias.pl", bias), ("bk.pl", background), ("exs.pl", "\n".join(examples))):
        (folder / name).write_text(text + "\n")
    return folder


def trains(folder: Path) -> Path:
    """Typed: a short closed car, or a long one with three wheels."""
    draw = random.Random(1)
    facts, examples, n_cars = [], ([], []), 0
    for train in range(30):
        cars = []
        for _ in range(draw.randint(1, 4)):
            cars.append(
                {draw.choice(["short", "long"]), *draw.sample(["roof_closed", "three_wheels"], draw.randint(0, 2))}
            )
            facts += [f"has_car(t{train}, c{n_cars}).", *(f"{name}(c{n_cars})." for name in sorted(cars[-1]))]
            n_cars += 1
        east = any({"short", "roof_closed"} <= car or {"long", "three_wheels"} <= car for car in cars)
        examples[not east].append(f"f(t{train})")
    unary = ["short", "long", "roof_closed", "three_wheels"]
    bias = ["max_clauses(2).", "max_vars(3).", "head_pred(f,1).", "body_pred(has_car,2)."]
    bias += [f"body_pred({name},1)." for name in unary]
    bias += ["type(f,(train,)).", "type(has_car,(train,car)).", *(f"type({name},(car,))." for name in unary)]
    bias += ["direction(f,(in,)).", ":- clause(C), #count{V : clause_var(C,V)} > 3."]
    return problem(folder, "\n".join(bias), "\n".join(facts), *examples)


def kinship(folder: Path) -> Path:
    """Untyped, with rules in the background."""
    pairs = [
        ("ann", "bob"),
        ("bob", "cat"),
        ("cat", "dan"),
        ("eve", "fay"),
        ("fay", "gus"),
        ("dan", "hal"),
        ("gus", "ian"),
    ]
    facts = [f"{('father', 'mother')[k % 2]}({one},{two})." for k, (one, two) in enumerate(pairs)]
    facts += ["parent(A,B) :- mother(A,B).", "parent(A,B) :- father(A,B)."]
    grand = {(one, four) for one, two in pairs for three, four in pairs if two == three}
    people = sorted({name for pair in pairs for name in pair})
    examples = [
        [f"grandparent({one},{two})" for one, two in product(people, people) if ((one, two) in grand) == told]
        for told in (True, False)
    ]
    bias = "head_pred(grandparent,2).\nbody_pred(mother,2).\nbody_pred(father,2).\nbody_pred(parent,2)."
    return problem(folder, bias, "\n".join(facts), *examples)


def game(folder: Path) -> Path:
    """A man on a board may move if a cell next to his is empty; some cells hold stones."""
    draw = random.Random(2)
    facts, examples = [], ([], [])
    for board in range(12):
        stones = {cell for cell in product(range(3), range(3)) if draw.random() < 0.7}
        for row, column in product(range(3), range(3)):
            near = [(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)]
            near = [cell for cell in near if min(cell) >= 0 and max(cell) < 3]
            facts += [f"next_to(b{board}_{row}{column}, b{board}_{one}{two})." for one, two in near]
            facts += [] if (row, column) in stones else [f"empty(b{board}_{row}{column})."]
            examples[not set(near) - stones].append(f"moves(b{board}_{row}{column})")
    bias = "head_pred(moves,1).\nbody_pred(next_to,2).\nbody_pred(empty,1)."
    return problem(folder, bias, "\n".join(facts), *examples)


def zendo(folder: Path) -> Path:
    """Numbers, names, and a test that is a rule about numbers."""
    draw = random.Random(4)
    facts, examples = ["large(X) :- X > 6."], ([], [])
    for scene in range(60):
        pieces = [(round(draw.uniform(1, 10), 2), draw.choice(["red", "green", "blue"])) for _ in range(3)]
        for number, (size, colour) in enumerate(pieces):
            name = f"p{scene}_{number}"
            facts += [f"piece({scene},{name}).", f"size({name},{size}).", f"colour({name},{colour})."]
        examples[not any(size > 6 and colour == "red" for size, colour in pieces)].append(f"zendo({scene})")
    bias = "head_pred(zendo,1).\nbody_pred(piece,2).\nbody_pred(size,2).\nbody_pred(colour,2).\nbody_pred(large,1).\n"
    return problem(folder, bias + "direction(large,(in,)).", "\n".join(facts), *examples)


@pytest.mark.parametrize("make", [trains, kinship, game, zendo])
@pytest.mark.parametrize("estimator", [hb.HornBoostClassifier, hb.C2RIBClassifier, hb.KBSClassifier])
def test_problems_are_learned_without_an_error_on_their_examples(tmp_path, make, estimator):
    database = Database.from_popper(make(tmp_path))
    X, y = database.examples()
    # thirty examples do not tell cross-validation that there is no noise
    exact = {"min_gain": 0.0} if estimator is hb.HornBoostClassifier else {}
    assert estimator(database, **exact, random_state=0).fit(X, y).score(X, y) == 1.0


def test_arguments_of_one_type_are_joined_and_others_are_attributes(tmp_path):
    database = Database.from_popper(zendo(tmp_path))
    kinds = {
        f"{table.name}.{column.name}": (column.kind, column.domain)
        for table in database.tables.values()
        for column in table.columns.values()
    }
    assert kinds == {
        "zendo.arg1": ("key", "zendo"),
        "piece.arg1": ("key", "zendo"), "piece.arg2": ("key", "piece_2"),
        "size.arg1": ("key", "piece_2"), "size.arg2": ("numeric", None),
        "colour.arg1": ("key", "piece_2"), "colour.arg2": ("nominal", None),
    }  # fmt: skip
    assert any("the rules of 'large/1' are left out" in warning for warning in database.warnings)


def test_columns_are_called_by_declared_types(tmp_path):
    database = Database.from_popper(trains(tmp_path))
    assert [column.name for column in database.tables["has_car"].keys] == ["train", "car"]


def test_a_clause_about_the_arguments_is_found(tmp_path):
    database = Database.from_popper(kinship(tmp_path))
    clf = hb.HornBoostClassifier(database, random_state=0).fit(*database.examples())
    clause = 'grandparent="true" :- grandparent(arg1=A, arg2=B), parent(arg1=A, arg2=C), parent(arg1=C, arg2=B).'
    covered = database.covers(hb.Clause.parse(clause))
    assert (covered == (database.examples()[1] == "true")).all()
    assert len(clf.rules_) <= 3


LISTS = ("head_pred(last,2).\nbody_pred(head,2).\nbody_pred(tail,2).", "head([H|_],H).\ntail([_|T],T).")
PLAIN = "head_pred(f,1).\nbody_pred(g,2)."


@pytest.mark.parametrize(
    ("bias", "background", "positive", "negative", "message"),
    [
        (*LISTS, ["last([1,2],2)"], ["last([1],2)"], r"exs.pl: line 1: 'pos\(last\(\[1,2\],2\)\).' holds a list"),
        (*LISTS, ["last(a,2)"], ["last(b,2)"], r"bk.pl: line 1: .*has the variable"),
        (PLAIN, "g(a, s(b)).", ["f(a)"], ["f(b)"], r"bk.pl: line 1: 'g\(a,s\(b\)\).' holds a list or a term"),
        (PLAIN, "h(a, b).", ["f(a)"], ["f(b)"], r"no declared predicate has facts, not even 'g/2'"),
        (PLAIN, "g(a, b).", ["f(a)"], [], r"exs.pl has no negative examples; add facts neg"),
        (PLAIN, "g(a, b).", [], ["f(a)"], r"there are no positive examples"),
        ("head_pred(f,1).", "g(a, b).", ["f(a)"], ["f(b)"], r"there is no body_pred"),
        ("head_pred(f,1).\nbody_pred(g,two).", "g(a, b).", ["f(a)"], ["f(b)"], r"has no arity"),
    ],
)
def test_what_cannot_be_learned_is_refused_with_the_reason(tmp_path, bias, background, positive, negative, message):
    with pytest.raises(DataError, match=message) as caught:
        Database.from_popper(problem(tmp_path, bias, background, positive, negative))
    assert "\n" not in str(caught.value)


def test_a_folder_of_popper_on_the_command_line(tmp_path, run):
    folder = tmp_path / "trains"
    folder.mkdir()
    trains(folder)
    model = tmp_path / "model.json"
    assert run("fit", folder, "-o", model, "--set", "aggregates=false").code == 0
    assert "roof_closed(car=" in run("rules", model).out
