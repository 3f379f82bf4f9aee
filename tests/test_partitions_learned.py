"""Models learned from partitions on disk are those learned from the database itself, to the byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import hornboost as hb
from hornboost.cli.app import app
from hornboost.engine.needs import Needs
from hornboost.engine.parts import StoredOpener
from hornboost.errors import DataError, LimitError
from hornboost.memory import PYTHON
from school import pairs_at_school

SIMPLE = {"aggregates": True, "max_literals": 2, "corrective": False, "subsample": 1.0, "constants": None}

LEARNERS: dict[str, Any] = {
    "c2rib": lambda db: hb.C2RIBClassifier(db, rounds=4, random_state=0),
    "c2rib margin": lambda db: hb.C2RIBClassifier(db, rounds=6, features="margin", random_state=0),
    "hornboost": lambda db: hb.HornBoostClassifier(db, rounds=3, max_depth=2, random_state=0, **SIMPLE),
    "rankboost": lambda db: hb.RankBoostClassifier(db, rounds=3, random_state=0),
    "mlynx": lambda db: hb.MLynxClassifier(db, max_length=2, restarts=5, random_state=0),
    "kbs": lambda db: hb.KBSClassifier(db, rounds=3, base="clause", random_state=0),
}


@pytest.fixture(scope="module")
def school() -> hb.Database:
    return pairs_at_school()


@pytest.fixture(scope="module")
def parts(school: hb.Database, tmp_path_factory: pytest.TempPathFactory) -> dict[int, hb.Database]:
    folder = tmp_path_factory.mktemp("parts")
    return {n: school.partition(folder / str(n), n, small_table=0) for n in (1, 2, 7, 16)}


def learned(make: Any, database: hb.Database, X: Any, y: Any, file: Path) -> bytes:
    make(database).fit(X, y).save(file)
    return file.read_bytes()


@pytest.mark.parametrize("name", LEARNERS)
def test_the_model_does_not_depend_on_the_number_of_partitions(
    name: str, school: hb.Database, parts: dict[int, hb.Database], tmp_path: Path
) -> None:
    X, y = school.examples()
    expected = learned(LEARNERS[name], school, X, y, tmp_path / "model.json")
    for database in parts.values():
        assert learned(LEARNERS[name], database, X, y, tmp_path / "model.json") == expected
    # the examples that partitions give are the same as well
    assert learned(LEARNERS[name], parts[7], *parts[7].examples(), tmp_path / "model.json") == expected


def test_predictions_are_the_same_and_parts_are_closed_for_others(
    school: hb.Database, parts: dict[int, hb.Database], tmp_path: Path
) -> None:
    X, y = school.examples()
    model = LEARNERS["c2rib"](school).fit(X, y)
    model.save(tmp_path / "model.json")
    others = school.examples(labelled=None)[0]
    tight = hb.Database.from_partitions(parts[7].stored.folder, memory_limit=1)  # type: ignore[union-attr]
    for database in (parts[7], tight):
        scores = hb.load(tmp_path / "model.json", database=database).decision_function(others)
        assert scores.tolist() == model.decision_function(others).tolist()
        explained = hb.load(tmp_path / "model.json", database=database).explain(others)
        assert str(explained) == str(hb.load(tmp_path / "model.json", database=school).explain(others))
        assert database.covers(model.rules_[0].clause).tolist() == school.covers(model.rules_[0].clause).tolist()
    assert len(tight.parts._open) == 1
    assert len(parts[7].parts._open) == 7


def test_the_command_learns_and_predicts_from_partitions_as_from_the_source(tmp_path: Path) -> None:
    source, folder = tmp_path / "bank", tmp_path / "parts"
    hb.datasets.write_bank(source, 200, transactions=5)
    sizes = ["--partitions", "3", "--small-table", "50", "--memory", "1GB"]
    assert invoke("partition", source, "-o", folder, *sizes).exit_code == 0
    written = []
    for given in (source, folder):
        model, scores = tmp_path / "model.json", tmp_path / "scores.csv"
        assert invoke("fit", given, "-o", model, "--estimator", "c2rib", "--rounds", "3").exit_code == 0
        assert invoke("predict", model, given, "-o", scores).exit_code == 0
        assert invoke("evaluate", given, "--estimator", "c2rib", "--rounds", "2", "--cv", "2").exit_code == 0
        written.append((model.read_bytes(), scores.read_bytes()))
    assert written[0] == written[1]


def invoke(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_rows_that_join_nothing_are_divided_too(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [k % 10 for k in range(50)], "y": ["ab"[k % 10 > 6] for k in range(50)]})
    one = hb.Database.from_frames({"t": frame}, "t", label="y")
    made = one.partition(tmp_path / "parts", 3, small_table=0)
    X, y = one.examples()
    expected = learned(LEARNERS["c2rib"], one, X, y, tmp_path / "model.json")
    assert learned(LEARNERS["c2rib"], made, X, y, tmp_path / "model.json") == expected


def test_a_memory_limit_of_predict_is_one_and_is_for_partitions(run: Any, school: hb.Database, tmp_path: Path) -> None:
    hb.C2RIBClassifier(school, rounds=2, random_state=0).fit(*school.examples()).save(tmp_path / "model.json")
    school.partition(tmp_path / "parts", 2)
    hb.datasets.trains(20, seed=0).write(tmp_path / "plain")
    for source in (tmp_path / "parts", tmp_path / "plain"):
        done = run("predict", tmp_path / "model.json", source, "--memory", "nonsense")
        assert done.code == 1
        assert "--memory: 'nonsense' is no amount of memory; write for example 4GB" in done.err
    (tmp_path / "one.csv").write_text("id,y\n1,a\n2,b\n")
    for source in (tmp_path / "plain", tmp_path / "one.csv", "postgresql://nowhere/x"):
        done = run("predict", tmp_path / "model.json", source, "--memory", "1GB")
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert "--memory is for a folder of partitions, and this source is none; leave it out" in done.err
    assert run("predict", tmp_path / "model.json", tmp_path / "parts", "--memory", "1GB").code == 0


def test_a_learner_goes_no_further_than_the_partitions(school: hb.Database, tmp_path: Path) -> None:
    made = school.partition(tmp_path / "parts", 2, depth=1, small_table=0, max_bins=10)
    X, y = school.examples()
    with pytest.raises(DataError, match=r"max_depth=2 goes further .* within 1 join; set max_depth=1"):
        hb.C2RIBClassifier(made, rounds=2).fit(X, y)
    with pytest.raises(DataError, match="hold some columns in 10 bins"):
        hb.C2RIBClassifier(made, rounds=2, max_depth=1).fit(X, y)


def test_hornboost_says_that_partitions_end_before_its_rules_would(school: hb.Database, tmp_path: Path) -> None:
    made = school.partition(tmp_path / "parts", 2, depth=2, small_table=0)
    X, y = school.examples()
    few = {"rounds": 3, "aggregates": False, "random_state": 0}
    found = hb.HornBoostClassifier(made, **few).fit(X, y)
    reason = (
        "the partitions hold the rows within 2 joins; max_depth=2 gives the same rules from them and from their source"
    )
    assert found.left_out_["rules of 3 joins"] == reason
    same = hb.HornBoostClassifier(school, max_depth=2, **few).fit(X, y)
    assert same.rules_ == found.rules_
    pd.testing.assert_frame_equal(same.tuning_, found.tuning_)
    for other in (hb.HornBoostClassifier(school, **few), hb.HornBoostClassifier(made, max_depth=2, **few)):
        assert not any(name.startswith("rules of") for name in other.fit(X, y).left_out_)


def test_a_limit_that_the_largest_partition_exceeds_is_told_before_anything_is_opened(
    school: hb.Database, parts: dict[int, hb.Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = school.examples()
    made = hb.Database.from_partitions(parts[2].stored.folder)  # type: ignore[union-attr]
    assert made.stored is not None
    opened = [Needs.of(made.stored.open(part)) for part in range(2)]
    largest = Needs.of_largest(made.stored)
    assert (largest.tables, largest.codes) == max((needs.tables, needs.codes) for needs in opened)
    enough = PYTHON + sum(Needs.of(made)) + sum(largest)
    fits = hb.C2RIBClassifier(made, rounds=2, random_state=0)
    told = r"the examples .* and the largest of 2 partitions .*, .* more than memory_limit=.* make more partitions"
    monkeypatch.setattr(StoredOpener, "open", lambda self: pytest.fail("a partition was opened"))
    with pytest.raises(LimitError, match=told):
        fits.set_params(memory_limit=enough - 1).fit(X, y)
    monkeypatch.undo()
    assert fits.set_params(memory_limit=enough + 10**6).fit(X, y).rules_


def test_what_needs_the_rows_here_says_so(parts: dict[int, hb.Database]) -> None:
    with pytest.raises(DataError, match="the rows are in 7 partitions and not here; read the source itself for this"):
        hb.RelationalAggregates(parts[7]).fit(parts[7].examples()[0])
