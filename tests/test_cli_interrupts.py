from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import hornboost as hb
from hornboost.engine.needs import ENTRY_BYTES, Needs
from hornboost.memory import PYTHON

LATER = [0.0, 0.2, 0.8]

READY = """
import sys
from hornboost.cli import main
from hornboost.cli.interrupt import ctrl_c
with ctrl_c():
    sys.stderr.write("ready\\n")
    sys.stderr.flush()
    main()
"""
"""The command, once the interpreter has started."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bank")
    return hb.datasets.bank(1000, transactions=20, noise=0.2, seed=0).write(place / "bank")


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    database = hb.Database.from_folder(folder)
    path = folder.parent / "model.json"
    hb.C2RIBClassifier(database, rounds=5, random_state=0).fit(*database.examples()).save(path)
    return path


def start(*arguments: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", READY, *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert line(process) == "ready\n"
    return process


def interrupted(process: subprocess.Popen[str], seconds: float = 0.0) -> tuple[int, str, str]:
    """Exit code and output of a command that gets Ctrl-C some seconds from now."""
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in err
    return process.returncode, out, err


def line(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return process.stderr.readline()


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_partitions_that_are_broken_off_leave_nothing_behind(
    folder: Path, tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    process = start("partition", folder, "-o", tmp_path / "parts", "--partitions", 500, "--small-table", 0)
    until = time.monotonic() + 60
    while not list(tmp_path.glob(".parts.*/part-*")) and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(sent)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (code, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seconds", LATER)
@pytest.mark.parametrize("estimator", ["c2rib", "prankboost", "kbs"])
def test_an_interrupted_fit_writes_what_it_has_learned(
    folder: Path, tmp_path: Path, estimator: str, seconds: float
) -> None:
    path = tmp_path / "model.json"
    process = start("fit", folder, "-o", path, "--estimator", estimator, "--rounds", 10**6)
    assert "rows of 'loan'" in line(process)
    code, _, err = interrupted(process, seconds)
    assert code == 130
    if "nothing was written" in err:
        assert list(tmp_path.iterdir()) == []
        return
    assert "interrupted; kept" in err
    assert [place.name for place in tmp_path.iterdir()] == ["model.json"]
    database = hb.Database.from_folder(folder)
    assert len(hb.load(path, database=database).predict(database.examples()[0])) == 1000


def test_a_fit_interrupted_when_its_model_is_written_says_where(
    run: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(hb.HornBoostClassifier, "predict", press)
    code, _, err = run("fit", folder, "--rounds", 2, "-o", tmp_path / "model.json")
    assert code == 130
    assert f"wrote {tmp_path / 'model.json'}" in err
    assert hb.load(tmp_path / "model.json", hb.Database.from_folder(folder)).rules_


@pytest.mark.parametrize("has_checkpoint", [False, True])
def test_a_fit_interrupted_before_its_first_rule_says_so_in_one_sentence(
    folder: Path, tmp_path: Path, has_checkpoint: bool
) -> None:
    kept = tmp_path / "run.json"
    checkpoint = ["--checkpoint", str(kept)] if has_checkpoint else []
    script = (
        "import os, signal, sys, hornboost.learners.greedy as greedy, hornboost.learners.newton as newton\n"
        "def grow_by(*arguments, **options):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return greedy.grow_by(*arguments, **options)\n"
        "newton.grow_by = grow_by\n"
        "from hornboost.cli import main\n"
        f"sys.argv = ['hornboost', 'fit', {str(folder)!r}, '-o', {str(tmp_path / 'm.json')!r}, *{checkpoint}]\n"
        "main()\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 130
    continued = f"{kept} holds what was found so far, and the same command continues from there"
    said = continued if has_checkpoint else "nothing was written"
    assert result.stderr.splitlines()[1:] == [f"interrupted before the first rule was learned; {said}"]
    assert list(tmp_path.iterdir()) == ([kept] if has_checkpoint else [])


@pytest.mark.parametrize("seconds", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("verb", ["inspect", "predict", "report", "convert", "demo"])
def test_ctrl_c_ends_the_other_commands_without_a_trace(
    folder: Path, model: Path, tmp_path: Path, verb: str, seconds: float
) -> None:
    arguments = {
        "inspect": [folder],
        "predict": [model, folder, "-o", tmp_path / "p.csv"],
        "report": [model, "--data", folder, "-o", tmp_path / "r.html"],
        "convert": [folder, tmp_path / "copy"],
        "demo": ["--loans", 2000],
    }[verb]
    code, _, err = interrupted(start(verb, *arguments), seconds)
    assert code in (0, 130), err
    if code == 130:
        assert all(line.startswith("hornboost: compiling what is used") for line in err.strip().splitlines())
    assert not [place for place in tmp_path.iterdir() if place.name.startswith(".")]


def test_ctrl_c_while_the_interpreter_closes_changes_nothing(folder: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "from hornboost.cli import main\n"
        "class Late:\n"
        "    def __del__(self, kill=os.kill, own=os.getpid(), number=signal.SIGINT):\n"
        "        kill(own, number)\n"
        "sys.late = Late()\n"
        f"sys.argv = ['hornboost', 'inspect', {str(folder)!r}]\n"
        "main()\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""


def test_an_interrupted_evaluation_tells_the_folds_done_and_no_result(folder: Path) -> None:
    script = (
        "import os, signal, sys, hornboost.cli.fit as fit\n"
        "plain, folds = fit.fit_with_progress, []\n"
        "def third_is_interrupted(learner, X, y, what):\n"
        "    folds.append(what)\n"
        "    if len(folds) == 3:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return plain(learner, X, y, what)\n"
        "fit.fit_with_progress = third_is_interrupted\n"
        "from hornboost.cli import main\n"
        f"sys.argv = ['hornboost', 'evaluate', {str(folder)!r}, '--cv', '4', '--rounds', '3', *sys.argv[1:]]\n"
        "main()\n"
    )
    for options in ([], ["--json"]):
        result = subprocess.run(
            [sys.executable, "-c", script, *options], capture_output=True, text=True, timeout=120, check=False
        )
        assert (result.returncode, result.stdout) == (130, "")
        assert "interrupted with 2 of 4 folds done: 1 (accuracy 0." in result.stderr
        assert "there is no result" in result.stderr


@pytest.mark.parametrize("streams", [{"stderr"}, {"stdout"}, {"stdin", "stdout", "stderr"}])
def test_closed_streams_lose_no_model(folder: Path, tmp_path: Path, streams: set[str]) -> None:
    closed = " ".join({"stdin": "<&-", "stdout": ">&-", "stderr": "2>&-"}[name] for name in streams)
    command = f"{sys.executable} -m hornboost fit {folder} -o {tmp_path / 'm.json'} --rounds 2 {closed}"
    assert subprocess.run(command, shell=True, timeout=120, check=False).returncode == 0
    assert len(hb.load(tmp_path / "m.json").rules_) > 0


def test_nobody_who_reads_loses_no_model(folder: Path, tmp_path: Path) -> None:
    process = start("fit", folder, "-o", tmp_path / "m.json", "--rounds", 2)
    assert process.stderr is not None
    assert process.stdout is not None
    process.stderr.close()
    process.stdout.close()
    assert process.wait(120) == 0
    assert len(hb.load(tmp_path / "m.json").rules_) > 0


def test_a_place_that_cannot_be_written_is_told_before_the_work(run: Any, tmp_path: Path) -> None:
    missing, there = tmp_path / "missing" / "file", tmp_path / "there"
    there.mkdir()
    for output in (missing, there, Path("/proc/file"), tmp_path / ("x" * 300)):
        for arguments in (
            ["fit", "no such source", "-o", output],
            ["predict", "no such model", "no such source", "-o", output],
            ["report", "no such model", "--data", "no such source", "-o", output],
            ["sql", "no such model", "-o", output],
            ["convert", "no such source", output],
        ):
            code, _, err = run(*arguments)
            assert code == 1
            assert str(output) in err, (arguments, err)
            assert err.count("\n") == 1


def test_no_file_is_read_and_replaced_by_one_command(run: Any, folder: Path, model: Path) -> None:
    same = os.path.relpath(model)
    for arguments in (
        ["fit", folder, "--set", f"checkpoint={model}", "-o", same],
        ["fit", same, "-o", model],
        ["predict", model, folder, "-o", same],
        ["report", model, "--data", folder, "-o", same],
        ["sql", model, "-o", same],
    ):
        code, _, err = run(*arguments)
        assert code == 1
        assert "named twice" in err


def test_no_file_of_the_source_is_replaced(run: Any, folder: Path, model: Path, tmp_path: Path) -> None:
    table = next(folder.glob("*.parquet"), None) or next(folder.glob("*.csv"))
    before = table.read_bytes()
    parts = tmp_path / "parts"
    assert run("partition", folder, "-o", parts, "--partitions", 2).code == 0
    manifest = (parts / "manifest.json").read_bytes()
    for arguments in (
        ["fit", folder, "-o", table],
        ["predict", model, folder, "-o", table],
        ["fit", parts, "-o", parts / "manifest.json"],
        ["predict", model, parts, "-o", parts / "target.parquet"],
    ):
        code, _, err = run(*arguments)
        assert code == 1
        assert "and would be overwritten; choose another output" in err
    assert table.read_bytes() == before
    assert (parts / "manifest.json").read_bytes() == manifest
    assert run("fit", folder, "--rounds", 1, "-o", folder / "model.json").code == 0  # no table


def test_what_limits_did_is_said_once(run: Any, folder: Path, tmp_path: Path) -> None:
    output, few, long = (
        ["-o", tmp_path / "m.json"],
        ["--memory", PYTHON + sum(Needs.of(hb.Database.from_folder(folder))) + ENTRY_BYTES],
        ["--rounds", 10**6, "--time-limit", 0.5],
    )
    code, _, err = run("fit", folder, *output, *long)
    assert code == 0
    assert err.count("the time limit of 0.5 s ended the search") == 1
    _, _, err = run("fit", folder, *output, *few, "--rounds", 2, "--estimator", "c2rib")
    assert err.count("left out for reaching more rows than there is memory for: trans.account_id (") == 1
    told = json.loads(run("fit", folder, *output, *few, "--rounds", 2, "--json")[1])
    assert told["stopped"] == "all rounds done"
    assert told["refused"]
    assert all(refused["rows"] > 1 for refused in told["refused"])
    _, _, err = run("evaluate", folder, "--cv", 2, *long)
    assert err.count("in 2 of 2 folds the time limit of 0.5 s ended the search") == 1
