"""The comparison with other packages: folds are written, peers run in processes of their own, and a page is made."""

from __future__ import annotations

import json
import sys
import tomllib
from argparse import Namespace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.peers import __main__ as command
from benchmarks.peers import run, sets
from benchmarks.peers.collect import Row, add, comparison, truth_of
from benchmarks.peers.environments import Environment, environment
from benchmarks.peers.goals import GOALS, goals, judged
from benchmarks.peers.page import Compared, write_page
from benchmarks.peers.peer import read_peer, read_peers
from benchmarks.peers.prepare import Prepared, prepare
from benchmarks.peers.reasons import FILE
from benchmarks.peers.theirs.drive import lines_of_preparation
from hornboost.errors import HornBoostError

HERE = Environment(Path(sys.executable), "1.0", "3")

STUB = """# /// script
# requires-python = ">=3.10"
# dependencies = []
# [tool.peer]
# package = "stub"
# tables = "many"
# [tool.peer.learners]
# prior = "Prior"
# sides = "Sides"
# wrong = "Wrong"
# none = "None"
# slow = "Slow"
# ///
def cannot(task, learner):
    return "takes no loans" if learner == "none" and task.target == "loan" else None

def prepare(task, learner):
    assert task.label not in task.test
    return len(task.tables["trans"])

def prepare_sides(task):
    pass

def fit(task, data, learner):
    while learner == "slow":
        pass
    return learner, float(task.is_positive.mean())

def predict(task, data, model):
    import numpy as np
    learner, mean = model
    if learner == "sides":
        return np.ones(len(task.test), bool)
    return np.full(len(task.test) - (learner == "wrong"), mean)

def size(model):
    return {"rules": 1, "conditions": 2}
"""


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    small = sets.ComparedSet(generator="bank", options=(("n", 40), ("transactions", 3)))
    monkeypatch.setitem(sets.SETS, "small", small)
    return prepare("small", None, tmp_path / "sets" / "small", folds=2)


@pytest.fixture
def stub(tmp_path: Path) -> Path:
    file = tmp_path / "stub.py"
    file.write_text(STUB, encoding="utf-8")
    return file


def test_a_fold_holds_all_tables_and_no_class_of_a_test_example(prepared: Prepared) -> None:
    assert prepared.folds == ("fold0", "fold1")
    task = json.loads((prepared.folder / "task.json").read_text(encoding="utf-8"))
    train, test = (pd.read_parquet(prepared.folder / "fold0" / f"{part}.parquet") for part in ("train", "test"))
    assert set(train[task["label"]]) == {task["positive"], task["negative"]}
    assert list(test.columns) == list(task["columns"]["loan"]) == [name for name in train if name != task["label"]]
    assert len(train) + len(test) == 40
    assert len(truth_of(prepared.folder, "fold0")) == len(test)
    written = {file.stem for file in (prepared.folder / "tables").iterdir()}
    assert written | {"loan"} == set(task["columns"])
    trans = pd.read_parquet(prepared.folder / "tables" / "trans.parquet")
    assert list(trans.columns) == list(task["columns"]["trans"])
    assert trans["account_id"].dtype == np.int64


def test_what_was_prepared_is_not_written_again_unless_more_folds_are_asked_for(prepared: Prepared) -> None:
    file = prepared.folder / "task.json"
    file.write_text("{}", encoding="utf-8")
    assert prepare("small", None, prepared.folder, folds=1).folds == ("fold0",)
    assert prepare("small", None, prepared.folder, folds=3, known=True).folds == prepared.folds
    assert file.read_text(encoding="utf-8") == "{}"
    assert len(prepare("small", None, prepared.folder, folds=3).folds) == 3
    assert file.read_text(encoding="utf-8") != "{}"


def test_a_peer_is_run_once_and_its_figures_stand_on_the_page(prepared: Prepared, stub: Path, tmp_path: Path) -> None:
    peer = read_peer(stub)
    given = Namespace(cache=tmp_path, limit=30.0, known=False)
    rows = {learner: Row("stub", learner, "small") for learner in ("prior", "sides", "wrong", "none")}
    for row in rows.values():
        command.one_fold(peer, HERE, row, prepared, "fold0", given)
    assert rows["prior"].folds["fold0"]["auc"] == 0.5
    assert rows["prior"].conditions == 3
    assert set(rows["sides"].folds["fold0"]) & {"accuracy", "auc", "log_loss"} == {"accuracy"}
    assert "8 predictions were expected" in rows["wrong"].failed
    assert rows["none"].cannot == "takes no loans"
    assert [rows[learner].lines for learner in ("prior", "sides")] == [2, 3]

    again = Row("stub", "prior", "small")
    command.one_fold(peer, Environment(Path("nowhere"), "1.0"), again, prepared, "fold0", given)
    assert again.folds == rows["prior"].folds

    ours = Row("hornboost", "hornboost", "small", dict(rows["prior"].folds))
    peers = [read_peers(["hornboost:hornboost"])[0], peer]
    found = {"hornboost": HERE, "stub": Environment(None, error="ERROR: no | such package")}
    write_page(Compared(peers, found, [ours, *rows.values()], {"small": "Few."}, 30.0), "COMMAND", tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "COMMAND" in page
    assert "`ERROR: no / such package`" in page
    assert "| Prior | 1 |" in page
    assert "| 1 + 2 | 2 |" in page
    assert "- takes no loans: None" in page
    assert "| Wrong |" not in page
    assert (tmp_path / "images" / "comparison-time.svg").exists()


def test_a_fit_over_the_limit_is_killed_and_tried_again_with_a_larger_one(
    prepared: Prepared, stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "START", 0.0)
    fit = run.Fit(read_peer(stub), HERE, "slow", prepared.folder, "fold0")
    record = run.record_of(fit, tmp_path, limit=0.5)
    assert record["state"] == "stopped"
    nowhere = run.Fit(fit.peer, Environment(Path("nowhere"), "1.0"), "slow", prepared.folder, "fold0")
    assert run.record_of(nowhere, tmp_path, limit=0.4) == record
    with pytest.raises(FileNotFoundError):
        run.record_of(nowhere, tmp_path, limit=0.6)
    row = Row("stub", "slow", "small")
    add(row, record, truth_of(prepared.folder, "fold0"))
    assert comparison(row, row) is None
    ours = Row("hornboost", "hornboost", "small", {"fold0": {"seconds": 0.01, "auc": 0.5}})
    beside = comparison(ours, row)
    assert beside is not None
    assert (beside.folds, beside.at_least, dict(beside.ahead)) == (1, True, {})
    assert beside.times == pytest.approx(100 * row.stopped["fold0"])


def test_a_peer_that_reads_one_table_is_not_scored_on_several(prepared: Prepared, stub: Path) -> None:
    stub.write_text(STUB.replace('"many"', '"one"'), encoding="utf-8")
    row = Row("stub", "prior", "small")
    command.one_fold(read_peer(stub), HERE, row, prepared, "fold0", Namespace())
    assert (row.cannot, row.folds) == ("reads one table", {})


def test_an_environment_that_cannot_be_built_says_why(stub: Path, tmp_path: Path) -> None:
    stub.write_text(STUB.replace('">=3.10"', '">=99"'), encoding="utf-8")
    found = environment(read_peer(stub), tmp_path)
    assert (found.python, found.error) == (None, "there is no Python >=99 on this machine")


def test_every_peer_has_a_header_and_the_functions_of_the_protocol() -> None:
    peers = read_peers()
    assert peers[0].name == "hornboost"
    for peer in peers:
        source = peer.file.read_text(encoding="utf-8")
        assert peer.ours or "hornboost" not in source, peer.name
        if peer.cannot:
            continue
        assert all(f"\ndef {name}(" in source for name in ("prepare", "fit", "predict", "size")), peer.name
        assert all(lines_of_preparation(source, learner) > 0 for learner in peer.learners), peer.name
    with pytest.raises(HornBoostError, match="there is no peer 'imodel'"):
        read_peers(["imodel"])
    with pytest.raises(HornBoostError, match="hornboost has no learner 'horn'"):
        read_peers(["hornboost:horn"])


def fitted(peer: str, learner: str, losses: list[float], seconds: float) -> Row:
    folds = {f"fold{n}": {"seconds": seconds, "log_loss": loss, "accuracy": 90.0} for n, loss in enumerate(losses)}
    return Row(peer, learner, "pima", folds)


def test_a_goal_is_met_by_time_and_quality_or_what_is_missing_is_said() -> None:
    ours = fitted("hornboost", "hornboost", [0.50, 0.60, 0.40], seconds=1.0)
    goal = next(goal for goal in GOALS if ("boomer", "boomer") in goal.peers)
    verdicts = {}
    for name, losses, seconds in (
        ("slower", [0.50, 0.60, 0.40], 11.0),
        ("faster", [0.50, 0.60, 0.40], 9.0),
        ("better", [0.40, 0.50, 0.30], 9.0),
        ("noisy", [0.70, 0.30, 0.40], 11.0),
    ):
        beside = comparison(ours, fitted("boomer", "boomer", losses, seconds))
        assert beside is not None
        verdicts[name] = judged(goal, beside)
    assert verdicts == {
        "slower": "yes",
        "faster": "no: time",
        "better": "no: time, log-loss",
        "noisy": "unclear: log-loss",
    }
    stopped = Row("wittgenstein", "ripper", "pima", stopped={"fold1": 30.0})
    names = {("boomer", "boomer"): "BOOMER", ("wittgenstein", "ripper"): "RIPPER"}
    overview, details = goals([ours, fitted("boomer", "boomer", [0.5], 11.0), stopped], names)
    assert "| 2 of 2 |  |" in overview
    assert "| pima | RIPPER | 1 | > 30× |  |  | yes |" in details
    assert "| pima | BOOMER | 1 | 11× | +0.000 | +0.0 | yes |" in details


def test_a_goal_is_missed_where_hornboost_was_stopped_and_the_peer_was_not() -> None:
    ours = Row("hornboost", "hornboost", "pima", stopped={"fold0": 300.0})
    names = {("boomer", "boomer"): "BOOMER"}
    overview, details = goals([ours, fitted("boomer", "boomer", [0.5], 6_000.0)], names)
    assert "| 0 of 1 |  |" in overview
    assert "| pima | BOOMER | 1 | < 20× |  |  | no: time |" in details


def test_relational_peers_are_not_compared_on_one_table() -> None:
    unfit = {peer.name: (peer.unfit(1), peer.unfit(3)) for peer in read_peers(["getml", "boomer", "hornboost"])}
    assert unfit["hornboost"] == ("", "")
    assert unfit["getml"] == ("joins tables, and here is one", "")
    assert unfit["boomer"] == ("", "reads one table")


def test_reasons_are_about_sets_and_peers_that_exist() -> None:
    told = tomllib.loads(FILE.read_text(encoding="utf-8"))
    assert set(told) <= set(sets.SETS)
    assert {peer for of_set in told.values() for peer in of_set} <= {"any", *(peer.name for peer in read_peers())}
