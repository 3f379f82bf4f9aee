from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

from hornboost import Clause, Database
from hornboost.datasets import Generated, bank, molecules, skewed_pairs, trains, write_bank
from hornboost.errors import DataError

# the planted rules once more, written by hand as SQL conditions on the target row t
BY_HAND = {
    "trains": """
        EXISTS (FROM car c WHERE c.train = t.train AND c.length = 'short' AND c.roof = 'flat' AND c.wheels >= 3)
        OR EXISTS (FROM car c WHERE c.train = t.train AND c.capacity BETWEEN 112 AND 116)
        OR EXISTS (FROM car c JOIN load l ON l.car = c.car
                   WHERE c.train = t.train AND c.shape = 'hexagon' AND l.shape = 'triangle')""",
    "molecules": """
        EXISTS (FROM atom a
                WHERE a.molecule = t.molecule AND a.element = 'n' AND a.hybridisation = 'sp2' AND a.charge >= 0.1)
        OR EXISTS (FROM bond b WHERE b.molecule = t.molecule AND b.length BETWEEN 172 AND 174)
        OR EXISTS (FROM atom a JOIN bond b ON b.atom1 = a.atom
                   WHERE a.molecule = t.molecule AND a.element = 's' AND b.bond_type = 'double')""",
    "bank": """
        EXISTS (FROM trans x
                WHERE x.account_id = t.account_id AND x.operation = 'cash'
                AND x.k_symbol = 'penalty' AND x.amount >= 3000)
        OR EXISTS (FROM "order" o WHERE o.account_id = t.account_id AND o.amount BETWEEN 5000 AND 6500)
        OR EXISTS (FROM disp d JOIN client c ON c.client_id = d.client_id
                   WHERE d.account_id = t.account_id AND d.type = 'disponent' AND c.age <= 40)""",
    "skewed_pairs": """
        EXISTS (FROM publication p JOIN publication q ON q.title = p.title
                WHERE p.person = t.person1 AND q.person = t.person2
                AND p.role = 'first' AND q.role = 'last' AND q.year >= 2015)
        OR EXISTS (FROM ta a JOIN taught_by b ON b.course = a.course
                   WHERE a.person = t.person1 AND b.person = t.person2 AND a.hours BETWEEN 12 AND 14)
        OR EXISTS (FROM meeting m WHERE m.person1 = t.person1 AND m.person2 = t.person2
                   AND m.kind = 'private' AND m.place = 'office' AND m.minutes >= 45)""",
}

Generator = Callable[..., Generated]
GENERATORS: list[tuple[Generator, int]] = [(trains, 400), (molecules, 400), (bank, 400), (skewed_pairs, 6000)]
everyone = pytest.mark.parametrize(("generate", "n"), GENERATORS, ids=[generate.__name__ for generate, _ in GENERATORS])


def truth_by_hand(data: Generated, condition: str | None = None) -> np.ndarray:
    """The truth of each example, in the order of the target table."""
    with duckdb.connect() as connection:
        for name, table in data.tables.items():
            connection.register(name, table)
        numbered = data.tables[data.plan.target].append_column(
            "row_number", [np.arange(data.tables[data.plan.target].num_rows)]
        )
        connection.register("numbered", numbered)
        query = f"SELECT {condition or BY_HAND[data.name]} AS truth FROM numbered t ORDER BY row_number"
        return connection.execute(query).fetchnumpy()["truth"].astype(bool)


@everyone
def test_labels_without_noise_are_the_disjunction_of_the_planted_rules(generate: Generator, n: int) -> None:
    data = generate(n, seed=3)
    assert np.array_equal(data.labels, truth_by_hand(data))


@pytest.mark.parametrize("generate", [trains, molecules, bank])
def test_noise_flips_exactly_its_share_of_the_labels(generate: Generator) -> None:
    data = generate(500, noise=0.1, seed=3)
    assert np.count_nonzero(data.labels != truth_by_hand(data)) == 50


def test_noise_in_skewed_pairs_keeps_the_skew() -> None:
    data = skewed_pairs(15_100, skew=150, noise=0.1, seed=3)
    truth = truth_by_hand(data)
    assert data.labels.sum() == truth.sum() == 100
    assert np.count_nonzero(data.labels & ~truth) == 10


@pytest.mark.parametrize("generate", [trains, molecules, bank])
@pytest.mark.parametrize("seed", [0, 1])
def test_classes_are_balanced_and_each_rule_has_its_share_of_the_positives(generate: Generator, seed: int) -> None:
    data = generate(2000, seed=seed)
    assert 0.42 <= data.labels.mean() <= 0.58
    # the three rules stand between the ORs at the start of a line
    for condition in BY_HAND[data.name].split("\n        OR "):
        assert 0.15 <= truth_by_hand(data, condition).mean() <= 0.3


@pytest.mark.parametrize("skew", [100, 150, 500])
def test_skewed_pairs_have_the_exact_skew_and_no_pair_twice(skew: int) -> None:
    data = skewed_pairs(20 * (skew + 1), skew=skew, seed=1)
    assert data.labels.sum() == 20
    pair = data.tables["pair"].to_pandas()
    assert len(pair[["person1", "person2"]].drop_duplicates()) == len(pair) == 20 * (skew + 1)
    assert (pair["person1"] != pair["person2"]).all()


def test_each_rule_of_skewed_pairs_has_its_share_of_the_positives() -> None:
    data = skewed_pairs(60_000, skew=150, seed=1)
    for condition in BY_HAND["skewed_pairs"].split("\n        OR "):
        assert 0.2 <= truth_by_hand(data, condition).sum() / data.labels.sum() <= 0.5


def test_skewed_pairs_have_about_ten_related_rows_a_pair() -> None:
    data = skewed_pairs(30_000)
    rows = sum(table.num_rows for name, table in data.tables.items() if name not in ("pair", "person"))
    assert 9.9 <= rows / 30_000 <= 10.1


@everyone
def test_the_same_seed_gives_the_same_tables_and_another_seed_others(generate: Generator, n: int) -> None:
    one, again, other = generate(n, seed=5), generate(n, seed=5), generate(n, seed=6)
    assert all(one.tables[name].equals(again.tables[name]) for name in one.tables)
    assert not any(one.tables[name].equals(other.tables[name]) for name in one.tables)


@everyone
def test_tables_have_the_columns_of_the_plan_and_sound_keys(generate: Generator, n: int) -> None:
    data = generate(n, seed=2)
    assert {name: list(table.column_names) for name, table in data.tables.items()} == {
        name: list(columns) for name, columns in data.plan.tables.items()
    }
    frames = {name: table.to_pandas() for name, table in data.tables.items()}
    for name, columns in data.plan.primary_keys.items():
        assert not frames[name].duplicated(list(columns)).any(), name
    for source, destination in data.plan.foreign_keys:
        (table, column), (other, other_column) = source.split("."), destination.split(".")
        assert frames[table][column].isin(frames[other][other_column]).all(), source


@everyone
def test_planted_rules_are_clauses_over_the_tables(generate: Generator, n: int) -> None:
    data = generate(n)
    for rule in data.rules:
        clause = Clause.parse(rule)
        assert str(clause) == rule
        assert clause.body[0].table == data.plan.target
        for literal in clause.body:
            columns = {column for column, _ in literal.bindings} | {test.column for test in literal.tests}
            assert columns <= set(data.plan.tables[literal.table])


@everyone
def test_the_written_folder_holds_the_tables_and_a_true_schema(generate: Generator, n: int, tmp_path: Path) -> None:
    data = generate(n, seed=2)
    folder = data.write(tmp_path / "new" / "folder")
    schema = tomllib.loads((folder / "schema.toml").read_text(encoding="utf-8"))
    assert schema["target"]["positives"] == data.labels.sum()
    assert schema["target"]["examples"] == n
    for name, table in data.tables.items():
        assert schema["tables"][name]["rows"] == table.num_rows
        assert pq.read_table(folder / schema["tables"][name]["file"]).equals(table)


@everyone
def test_the_database_covers_by_the_rules_what_is_labelled_from_memory_and_from_the_folder(
    generate: Generator, n: int, tmp_path: Path
) -> None:
    data = generate(n, seed=2)
    for db in (data.database(), Database.from_folder(data.write(tmp_path))):
        _, y = db.examples()
        assert np.array_equal(np.asarray(y) == "1", data.labels)
        covered = [db.covers(Clause.parse(rule)) for rule in data.rules]
        assert np.array_equal(np.logical_or.reduce(covered), data.labels)
        links = [(f"{link.table}.{link.column}", f"{link.to_table}.{link.to_column}") for link in db.links]
        assert links == list(data.plan.foreign_keys)
        assert db.warnings == ()


def test_a_bank_written_in_chunks_equals_the_bank_in_memory(tmp_path: Path) -> None:
    folder = write_bank(tmp_path, 12_000, transactions=4, noise=0.05, seed=7)
    data = bank(12_000, transactions=4, noise=0.05, seed=7)
    assert pq.ParquetFile(folder / "trans.parquet").metadata.num_row_groups == 3
    for name, table in data.tables.items():
        assert pq.read_table(folder / f"{name}.parquet").equals(table.combine_chunks())
        if name in data.plan.primary_keys:
            assert len(table[data.plan.primary_keys[name][0]].unique()) == table.num_rows


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: trains(0), "The 'n' parameter of trains must be an int in [1, inf). Got 0 instead."),
        (
            lambda: molecules(5, noise=0.7),
            "The 'noise' parameter of molecules must be a float in [0, 0.5]. Got 0.7 instead.",
        ),
        (
            lambda: bank(5, transactions=0),
            "The 'transactions' parameter of bank must be an int in [1, inf). Got 0 instead.",
        ),
        (
            lambda: skewed_pairs(900, skew=20),
            "The 'skew' parameter of skewed_pairs must be an int in [100, 500]. Got 20 instead.",
        ),
        (
            lambda: skewed_pairs(100, skew=150),
            (
                "The 'n' parameter of skewed_pairs must be above skew=150, for one positive pair at least. "
                "Got 100 instead."
            ),
        ),
    ],
)
def test_sizes_out_of_range_are_refused_in_one_sentence(call: Callable[[], Generated], message: str) -> None:
    with pytest.raises(DataError) as caught:
        call()
    assert str(caught.value) == message
