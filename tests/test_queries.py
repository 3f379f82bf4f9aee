"""Mined queries against brute force: their supports, that none is lost, and that no two say the same."""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

import naive
from hornboost import Database
from hornboost.data.mirror import mirrored
from hornboost.estimators.patterns import RelationalPatterns
from hornboost.logic import Clause, Head
from hornboost.logic.clause import Literal
from hornboost.logic.clause import Test as Condition
from hornboost.mining.binning import between, equal_frequency
from hornboost.mining.language import Language
from hornboost.mining.miner import Miner
from hornboost.mining.patterns import LeftOutWarning
from subsumption import subsumes

Rows = dict[str, list[dict[str, object]]]
Symmetric = dict[str, tuple[str, str]]
HEAD = Head("y", "1")
KEYS = {"target": {"t": "t"}, "part": {"t": "t", "p": "p"}, "edge": {"p1": "p", "p2": "p"}, "note": {"t": "t"}}
VALUES = {"part": {"c": ["u"], "d": ["m"]}, "edge": {"k": ["x"]}, "note": {"w": ["g"]}, "target": {"z": ["i"]}}


def tables(seed: int) -> Rows:
    """Parts of targets, edges between parts, notes on targets; with nulls, dangling keys and repeated rows."""
    draw = random.Random(seed)
    parts = [f"p{i}" for i in range(5)]

    def pick(values: list[str]) -> str | None:
        return draw.choice([*values, *values, *values, None])

    rows: Rows = {"target": [{"t": f"t{i}", "z": pick(["i"]), "y": draw.choice("01")} for i in range(6)]}
    rows["part"] = [
        {"t": pick([f"t{i}" for i in range(7)]), "p": pick(parts), "c": pick(["u"]), "d": pick(["m"])}
        for _ in range(10)
    ]
    rows["edge"] = [{"p1": pick(parts), "p2": pick(parts), "k": pick(["x"])} for _ in range(6)]
    rows["note"] = [{"t": pick([f"t{i}" for i in range(7)]), "w": pick(["g"])} for _ in range(5)]
    # no column identifies a row, so that the language may ask about two rows with the same keys
    for name in ("part", "edge", "note"):
        rows[name] += [dict(rows[name][0])]
    return rows


def database(rows: Rows) -> Database:
    frames = {name: pd.DataFrame(found) for name, found in rows.items()}
    return Database.from_frames(frames, target="target", key="t", label="y", positive="1", keys=KEYS)


def with_identity(body: tuple[Literal, ...], oi: bool) -> Clause:
    """All variables of one domain differ, except two of the example's own."""
    domains: dict[str, str] = {}
    for literal in body:
        for column, variable in literal.bindings:
            domains[variable] = KEYS[literal.table][column]
    pairs = itertools.combinations(domains, 2)
    return Clause(HEAD, body, tuple(pair for pair in pairs if domains[pair[0]] == domains[pair[1]]) if oi else ())


def refinements(clause: Clause, oi: bool, connected: bool) -> Iterator[Clause]:
    """Every test on every literal, and every literal that shares a variable."""
    body = clause.body
    for at, literal in enumerate(body):
        for column, values in VALUES[literal.table].items():
            if (literal.tests or at == 0) and column not in [test.column for test in literal.tests]:
                for value in values:
                    longer = Literal(literal.table, literal.bindings, (*literal.tests, Condition(column, "=", value)))
                    yield with_identity((*body[:at], longer, *body[at + 1 :]), oi)
    known: dict[str, str] = {}
    for literal in body:
        for column, variable in literal.bindings:
            known[variable] = KEYS[literal.table][column]
    grown = len(known) > 1
    for table, columns in KEYS.items():
        choices = [[v for v, domain in known.items() if domain == wanted] + [None] for wanted in columns.values()]
        for chosen in itertools.product(*choices):
            bound = [v for v in chosen if v is not None]
            if not bound or len(set(bound)) < len(bound):
                continue
            if table == "target" and any(
                literal.table == table and literal.variables == tuple(bound) for literal in body
            ):
                continue  # the key of a target identifies its row
            if connected and grown and None in chosen and set(bound) == {"T"}:
                continue
            names = tuple(v or f"V{len(known)}{column}" for column, v in zip(columns, chosen, strict=True))
            tests = [
                (),
                *((Condition(column, "=", value),) for column, values in VALUES[table].items() for value in values),
            ]
            for test in tests:
                yield with_identity((*body, Literal(table, tuple(zip(columns, names, strict=True)), test)), oi)


def says_nothing(clause: Clause, rows: Rows) -> bool:
    """Whether a literal says less than another on the same variables,
    or without tests holds wherever another one does.
    """
    for literal in clause.literals:
        for other in clause.body:
            columns = {variable: column for column, variable in other.bindings}
            if literal is other or not set(literal.variables) <= set(columns):
                continue
            if (
                literal.table == other.table
                and dict(literal.bindings) == dict(other.bindings)
                and set(literal.tests) <= set(other.tests)
            ):
                return True
            if literal.tests:
                continue
            there = {tuple(row[column] for column, _ in literal.bindings) for row in rows[literal.table]}
            asked = [tuple(row[columns[variable]] for _, variable in literal.bindings) for row in rows[other.table]]
            if all(key in there for key in asked if None not in key):
                return True
    return False


def everything(rows: Rows, min_count: int, max_length: int, oi: bool, connected: bool) -> list[Clause]:
    """Every frequent query up to a length by the naive interpreter, equivalent ones and all."""
    level = [Clause(HEAD, (Literal("target", (("t", "T"),)),))]
    found: list[Clause] = []
    for _ in range(max_length):
        longer = {str(c): c for clause in level for c in refinements(clause, oi, connected)}
        level = [c for c in distinct(list(longer.values())) if sum(naive.covers(rows, c, "target")) >= min_count]
        found += level
    return found


def distinct(clauses: list[Clause]) -> list[Clause]:
    """One of each set of renamings, told by subsumption both ways."""
    kept: dict[object, list[Clause]] = {}
    for clause in clauses:
        if not any(subsumes(clause, other) and subsumes(other, clause) for other in kept.setdefault(parts(clause), [])):
            kept[parts(clause)].append(clause)
    return [clause for group in kept.values() for clause in group]


def parts(clause: Clause) -> object:
    """What renamings of a clause have in common."""
    return tuple(sorted((literal.table, str(sorted(map(str, literal.tests)))) for literal in clause.body))


def equivalent(one: Clause, other: Clause, oi: bool) -> bool:
    return subsumes(one, other) and subsumes(other, one) if oi else maps(one, other) and maps(other, one)


def grouped(clauses: list[Clause], oi: bool) -> dict[object, list[Clause]]:
    """Only those of one group can be equivalent:
    of the same literals up to names where none follows from others, or of the same tables.
    """
    groups: dict[object, list[Clause]] = {}
    for clause in clauses:
        groups.setdefault(parts(clause) if oi else frozenset(literal.table for literal in clause.body), []).append(
            clause
        )
    return groups


def without_equal(clauses: list[Clause], others: list[Clause], oi: bool) -> list[str]:
    """The clauses to which none of the others is equivalent."""
    found = grouped(others, oi)
    lonely = []
    for group, members in grouped(clauses, oi).items():
        lonely += [
            str(clause)
            for clause in members
            if not any(equivalent(clause, other, oi) for other in found.get(group, []))
        ]
    return lonely


def maps(general: Clause, special: Clause) -> bool:
    """Theta-subsumption by trying all images of all literals;
    unlike `subsumes` it does not ask whether a key may be null.
    """
    for images in itertools.product(special.body[1:], repeat=len(general.literals)):
        theta: dict[str, object] = {}
        pairs = list(zip(general.body, (special.root, *images), strict=True))
        if all(
            one.table == other.table
            and set(one.tests) <= set(other.tests)
            and all(
                theta.setdefault(variable, image) == image
                for column, variable in one.bindings
                for image in [dict(other.bindings).get(column, (id(other), column))]
            )
            for one, other in pairs
        ):
            return True
    return False


def mined(
    rows: Rows, max_length: int, oi: bool = True, connected: bool = True, symmetric: Symmetric | None = None
) -> list[tuple[Clause, list[bool]]]:
    """The queries that hold for two examples at least, before equal columns are merged, and their columns."""
    symmetric = symmetric or {}
    db = mirrored(database(rows), symmetric)
    X, _ = db.examples()
    one_class, weights = np.zeros(len(X), np.int32), np.ones(len(X))
    language = Language.of(db, db.encode(X), weights, bins=4, oi=oi, symmetric=symmetric, steps=max_length)
    queries = Miner(language, one_class, weights, np.array([np.inf, 2.0]), connected=connected).mine(max_length).queries
    columns = [
        np.unpackbits(np.frombuffer(query.covered, np.uint8), count=len(X)).astype(bool).tolist() for query in queries
    ]
    return [(language.clause(query.body, HEAD), column) for query, column in zip(queries, columns, strict=True)]


@pytest.mark.parametrize(
    ("seed", "oi", "connected"),
    [(0, True, True), (1, True, False), (2, False, True), (3, True, True), (4, True, False)],
)
def test_no_query_is_lost_and_no_two_are_equivalent(seed: int, oi: bool, connected: bool) -> None:
    rows = tables(seed)
    found = mined(rows, 3, oi, connected)
    for clause, column in found:
        assert naive.covers(rows, clause, "target") == column, str(clause)
    clauses = [clause for clause, _ in found]
    for group in grouped(clauses, oi).values():
        assert not [(str(a), str(b)) for a, b in itertools.combinations(group, 2) if equivalent(a, b, oi)]
    reference = everything(rows, 2, 3, oi, connected)
    wanted = [clause for clause in reference if not says_nothing(clause, rows)]
    assert len(wanted) > 50
    assert not without_equal(wanted, clauses, oi), "lost"
    assert not without_equal(clauses, wanted, oi), "invented"


@pytest.mark.parametrize("seed", [5])
def test_a_symmetric_relation_is_matched_both_ways_and_told_once(seed: int) -> None:
    rows = tables(seed)
    both = {**rows, "edge": [*rows["edge"], *({**row, "p1": row["p2"], "p2": row["p1"]} for row in rows["edge"])]}
    directed = [clause for clause, _ in mined(both, 3)]
    found = mined(rows, 3, symmetric={"edge": ("p1", "p2")})
    for clause, column in found:
        assert naive.covers(both, clause, "target") == column
    clauses = [clause for clause, _ in found]
    turned = [list(turns(clause)) for clause in clauses]
    for group in grouped(clauses, True).values():
        for one, other in itertools.combinations(group, 2):
            assert not any(equivalent(one, turn, True) for turn in turns(other))
    told = [clause for clause in directed if not any(says_nothing(turn, both) for turn in turns(clause))]
    assert len(told) > 50
    assert not without_equal(told, [turn for group in turned for turn in group], True)


def turns(clause: Clause) -> Iterator[Clause]:
    """The clause with each subset of its edges turned round."""
    edges = [k for k, literal in enumerate(clause.body) if literal.table == "edge"]
    for chosen in itertools.product([False, True], repeat=len(edges)):
        body = list(clause.body)
        for k, turn in zip(edges, chosen, strict=True):
            if turn:
                other = {"p1": "p2", "p2": "p1"}
                body[k] = Literal("edge", tuple((other[column], v) for column, v in body[k].bindings), body[k].tests)
        yield Clause(clause.head, tuple(body), clause.unequal)


def small() -> tuple[Database, pd.DataFrame, pd.Series]:
    db = database(tables(7))
    X, y = db.examples()
    return db, X, y


def test_equal_columns_are_merged_and_counted() -> None:
    db, X, y = small()
    patterns = RelationalPatterns(db, min_support=0.25).fit(X, y)
    columns = patterns.transform(X)
    assert len({column.tobytes() for column in columns.T.copy()}) == columns.shape[1]
    assert patterns.n_merged_ > 0
    assert columns.sum(axis=0).tolist() == patterns.support_.sum(axis=1).tolist()


def test_names_are_the_queries_and_sparse_columns_are_the_same() -> None:
    db, X, y = small()
    dense = RelationalPatterns(db, min_support=0.25).fit(X, y)
    sparse = RelationalPatterns(db, min_support=0.25, sparse=True).fit_transform(X, y)
    assert (sparse.toarray() == dense.transform(X)).all()
    names = dense.get_feature_names_out()
    assert [Clause.parse(f'y="1" :- {name}.').body for name in names] == [clause.body for clause in dense.clauses_]


def test_columns_are_those_of_the_last_fit() -> None:
    db, X, y = small()
    patterns = RelationalPatterns(db, min_support=0.25).fit(X, y)
    patterns.transform(X)
    fewer = patterns.set_params(min_support=0.75).fit_transform(X, y)
    assert fewer.shape[1] == len(patterns.clauses_)
    assert fewer.sum(axis=0).tolist() == patterns.support_.sum(axis=1).tolist()


@pytest.mark.parametrize(("support", "base"), [("overall", None), ("any_class", "any"), ("positive", "1")])
def test_support_counts_the_examples_it_says(support: str, base: str | None) -> None:
    db, X, y = small()
    patterns = RelationalPatterns(db, min_support=0.5, max_length=2, support=support).fit(X, y)
    by_class = np.array([(y == "0").sum(), (y == "1").sum()])
    share = {
        None: patterns.support_.sum(axis=1) / 6,
        "any": (patterns.support_ / by_class).max(axis=1),
        "1": patterns.support_[:, 1] / by_class[1],
    }[base]
    assert (share >= 0.5 - 1e-9).all()
    assert len(share) > 1


def test_limits_hold_and_say_what_was_left_out() -> None:
    db, X, y = small()
    with pytest.warns(LeftOutWarning, match="max_patterns=20 was reached"):
        few = RelationalPatterns(db, min_support=0.1, max_length=4, max_patterns=20).fit(X, y)
    assert len(few.clauses_) + few.n_merged_ == 20
    with pytest.warns(LeftOutWarning, match="with more than max_bindings=5 bindings"):
        narrow = RelationalPatterns(db, min_support=0.1, max_length=2, max_bindings=5).fit(X, y)
    assert narrow.left_out_
    with pytest.warns(LeftOutWarning, match="the time limit was reached"):
        RelationalPatterns(db, min_support=0.1, max_length=9, time_limit=1e-9).fit(X, y)


def test_a_small_cache_changes_nothing() -> None:
    db, X, y = small()
    plenty = RelationalPatterns(db, min_support=0.25, max_length=4).fit(X, y)
    little = RelationalPatterns(db, min_support=0.25, max_length=4, cache_bytes=0).fit(X, y)
    assert plenty.clauses_ == little.clauses_


def test_a_new_object_that_could_only_be_a_known_one_is_not_asked_for() -> None:
    target = pd.DataFrame({"m": ["m1", "m2"], "y": ["0", "1"]})
    atom = pd.DataFrame({"a": ["a1", "a2", "a3"], "m": ["m1", "m1", "m2"]})
    bond = pd.DataFrame({"m": ["m1", "m1"], "a1": ["a1", "a2"], "a2": ["a2", "a1"]})
    keys = {"target": {"m": "m"}, "atom": {"m": "m", "a": "a"}, "bond": {"m": "m", "a1": "a", "a2": "a"}}

    def after_an_atom(bond: pd.DataFrame) -> set[tuple[int, ...]]:
        frames = {"target": target, "atom": atom, "bond": bond}
        db = Database.from_frames(frames, target="target", key="m", label="y", positive="1", keys=keys)
        X, _ = db.examples()
        language = Language.of(db, db.encode(X), np.ones(2), bins=4, oi=True, symmetric={}, steps=2)
        names = [relation.name for relation in language.relations]
        columns = language.relations[names.index("atom")].columns
        atoms = (names.index("atom"), tuple([0 if column == "m" else 1 for column in columns]))
        shapes = language.shapes(((0, (0,)), atoms), connected=True)
        bonds = language.relations[names.index("bond")].columns
        return {
            tuple([dict(zip(bonds, shape, strict=True))[c] for c in ("m", "a1", "a2")])
            for n, shape in shapes
            if names[n] == "bond"
        }

    assert after_an_atom(bond) == {(0, 1, -1), (0, -1, 1)}
    elsewhere = pd.DataFrame(
        {"m": ["m2"], "a1": ["a1"], "a2": ["a3"]}
    )  # a bond of an atom in another molecule than its own
    assert after_an_atom(pd.concat([bond, elsewhere])) == {(0, 1, -1), (0, -1, 1), (-1, 1, -1)}


def test_a_table_may_have_more_conditions_than_a_word_has_bits() -> None:
    draw = np.random.default_rng(0)
    target = pd.DataFrame({"t": range(60), "y": ["0", "1"] * 30})
    part = pd.DataFrame(
        {
            "t": draw.integers(0, 60, 2000),
            "c": draw.integers(0, 150, 2000).astype(str),
            "d": draw.integers(0, 2, 2000).astype(str),
        }
    )
    db = Database.from_frames(
        {"target": target, "part": part}, target="target", key="t", label="y", foreign_keys=[("part.t", "target.t")]
    )
    X, y = db.examples()
    patterns = RelationalPatterns(db, min_support=0.05, max_length=2, oi=False).fit(X, y)
    single = [
        clause
        for clause in patterns.clauses_
        if len(clause.body) == 2 and {t.column for t in clause.body[1].tests} == {"c"}
    ]
    both = [
        clause
        for clause in patterns.clauses_
        if len(clause.body) == 2 and {t.column for t in clause.body[1].tests} == {"c", "d"}
    ]
    assert len(single) > 140
    assert len(both) > 140
    columns = patterns.transform(X)
    for clause in [*single, *both]:
        kept = part
        for condition in clause.body[1].tests:
            kept = kept[kept[condition.column] == condition.value]
        covered = columns[:, list(patterns.clauses_).index(clause)]
        assert covered.tolist() == target["t"].isin(kept["t"]).tolist()


def test_numbers_are_cut_on_rows_of_training_examples_only() -> None:
    target = pd.DataFrame({"t": range(20), "y": ["0", "1"] * 10})
    part = pd.DataFrame({"t": range(20), "size": [float(i) if i < 10 else 1000.0 * i for i in range(20)]})
    db = Database.from_frames(
        {"target": target, "part": part}, target="target", key="t", label="y", foreign_keys=[("part.t", "target.t")]
    )
    X, y = db.examples()
    patterns = RelationalPatterns(db, min_support=0.2, max_length=1, bins=2).fit(X[:10], y[:10])
    assert [name for name in patterns.get_feature_names_out() if "size" in name] == [
        "target(t=T), part(t=T, size<=4.5)",
        "target(t=T), part(t=T, size>=4.5)",
    ]
    assert patterns.transform(X)[10:, -1].all()


def test_intervals_of_equal_frequency_share_the_weight() -> None:
    assert equal_frequency(np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.0, 1.0, 1.0, 1.0]), 2) == [(1.0, 2.0)]
    assert equal_frequency(np.array([5.0, 5.0]), np.ones(2), 4) == []
    assert between(0.5, 0.75) == 0.6
    assert between(float("-inf"), 3.0) == 2.0


def test_weights_count_as_repetitions() -> None:
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0, 5.0], "b": ["u", "v", "u", "v", "v"]})
    y = np.array([0, 0, 1, 1, 1])
    weights = np.array([1, 2, 3, 1, 2])
    weighted = RelationalPatterns(min_support=0.3, max_length=2).fit(X, y, sample_weight=weights)
    again = np.repeat(np.arange(5), weights)
    repeated = RelationalPatterns(min_support=0.3, max_length=2).fit(X.iloc[again].reset_index(drop=True), y[again])
    assert weighted.clauses_ == repeated.clauses_
    assert (weighted.support_ == repeated.support_).all()


def test_mining_warns_of_nothing_without_limits() -> None:
    db, X, y = small()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RelationalPatterns(db, min_support=0.25, max_length=2).fit(X, y)
