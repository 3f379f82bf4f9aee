"""Hostile input to every verb: no traceback, no wrong answer, no half-written file, nothing executed."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from fuzzing import ARFF, BACKGROUND, CSV, FACTS, MODES, OTHER, SCHEMA, cases, forged, mutated
from hornboost.model import file, seal

HOSTILE = [
    '"; drop table loan; --',
    "'; DROP TABLE x",
    "a]b[red]c",
    "\x1b[2Jx",
    "名前 ü",
    "select",
    " ",
    "a.b",
    "../../etc",
    "x" * 300,
    "{0}%s",
]


@pytest.fixture
def run(run: Any) -> Any:
    """Run `hornboost`; whatever the input, it ends with a code and without a traceback,
    and an error is one short line.
    """

    def call(*arguments: object) -> Any:
        result = run(*arguments)
        assert "Traceback" not in result.err
        assert "\x1b[2J" not in result.out + result.err
        if result.code == 1:
            assert result.err.splitlines()[-1].startswith("hornboost: ")
            assert len(result.err.splitlines()[-1]) < 2000
        return result

    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hb.datasets.bank(80, transactions=5, seed=1).write(tmp_path_factory.mktemp("bank"))


@pytest.fixture(scope="module")
def model(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    database = hb.Database.from_folder(folder)
    path = tmp_path_factory.mktemp("model") / "model.json"
    hb.C2RIBClassifier(database, rounds=4, random_state=0).fit(*database.examples()).save(path)
    return path


def verbs_on_a_model(model: object, source: object, output: object) -> list[list[object]]:
    return [
        ["rules", model],
        ["sql", model, "-o", output],
        ["predict", model, source, "-o", output],
        ["explain", model, source, "--key", "1"],
    ]


def verbs_on_a_source(source: object, output: object) -> list[list[object]]:
    return [
        ["inspect", source],
        ["fit", source, "--rounds", 2, "-o", output],
        ["evaluate", source, "--cv", 2, "--rounds", 1],
        ["convert", source, str(output) + "_folder"],
    ]


def test_damaged_model_files_are_refused_by_every_verb(run: Any, model: Path, folder: Path, tmp_path: Path) -> None:
    content = model.read_bytes()
    rng = np.random.default_rng(0)
    damaged = [
        content[:0],
        content[:100],
        content[:-50],
        content + b"x",
        b"\x80\x04cos\nsystem\n(S'touch pwned'\ntR.",
        b"{}",
        os.urandom(500),
    ]
    for position in rng.integers(0, len(content), 12):
        flipped = bytearray(content)
        flipped[position] ^= 0x20
        damaged.append(bytes(flipped))
    for number, data in enumerate(damaged):
        place = tmp_path / f"{number}.json"
        place.write_bytes(data)
        verb = verbs_on_a_model(place, folder, tmp_path / "out.csv")[number % 4]
        result = run(*verb)
        assert result.code == 1 or data.lower() == content.lower(), verb
    assert not Path("pwned").exists()
    assert [name for name in os.listdir(tmp_path) if not name.endswith(".json")] in ([], ["out.csv"])


def test_missing_files_folders_and_addresses_are_one_sentence(
    run: Any, model: Path, folder: Path, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    places = [gone, tmp_path / "gone.duckdb", "postgresql://localhost:1/nothing", "", "\x1b[2J", "a" * 5000]
    for place in places:
        for verb in verbs_on_a_source(place, tmp_path / "out"):
            assert run(*verb).code == 1, verb
        assert run("predict", model, place).code == 1
    for verb in verbs_on_a_model(gone, folder, tmp_path / "out"):
        assert run(*verb).code == 1, verb
    assert os.listdir(tmp_path) == []


def test_a_file_that_is_deleted_while_it_is_named_in_the_schema_is_named(run: Any, tmp_path: Path) -> None:
    place = hb.datasets.bank(60, transactions=3, seed=1).write(tmp_path / "bank")
    (place / "trans.parquet").unlink()
    for verb in verbs_on_a_source(place, tmp_path / "out"):
        result = run(*verb)
        assert result.code == 1
        assert "trans" in result.err
    assert os.listdir(tmp_path) == ["bank"]


def test_files_of_other_kinds_are_refused(run: Any, tmp_path: Path) -> None:
    contents = {
        "random.duckdb": os.urandom(3000),
        "half.sqlite": b"SQLite format 3\0" + os.urandom(200),
        "half.duckdb": b"12345678DUCK" + os.urandom(200),
        "empty.csv": b"",
        "binary.csv": os.urandom(1000),
        "ragged.csv": b"a,class\n1,x\n1,2,3\n",
        "twice.csv": b"a,a\n1,2\n",
        "only_header.csv": b"a,class\n",
        "broken.parquet": b"PAR1" + os.urandom(100),
        "broken.arff": b"@relation x\n@attribute a numeric\n@data\nb,c\n",
        "empty.arff": b"",
    }
    for name, content in contents.items():
        place = tmp_path / name
        place.write_bytes(content)
        for verb in verbs_on_a_source(place, tmp_path / "out"):
            assert run(*verb).code == 1, verb
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "schema.toml").write_text("[target\n")
    for verb in verbs_on_a_source(broken, tmp_path / "out"):
        assert run(*verb).code == 1, verb
    (tmp_path / "nothing").mkdir()
    for verb in verbs_on_a_source(tmp_path / "nothing", tmp_path / "out"):
        assert run(*verb).code == 1, verb


def hostile_frames(name: str, column: str) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(0)
    main = pd.DataFrame({"id": np.arange(60), column: rng.normal(size=60), "class": ["yes", "no"] * 30})
    other = pd.DataFrame({"id": np.repeat(np.arange(60), 2), column + "2": np.repeat(["yes " + column, "no"] * 30, 2)})
    return {"main": main, name: other}


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_pass_through_every_verb_as_names(run: Any, tmp_path: Path, name: str) -> None:
    frames = hostile_frames(name, name)
    with duckdb.connect(tmp_path / "d.duckdb") as connection:
        for table, frame in frames.items():
            connection.register("source", frame)
            connection.execute(f"CREATE TABLE {quoted(table)} AS SELECT * FROM source")
            connection.unregister("source")
    source = [tmp_path / "d.duckdb", "--target", "main", "--label", "class", "--positive", "yes"]
    assert run("inspect", *source).code == 0
    result = run("fit", *source, "--rounds", 3, "-o", tmp_path / "m.json")
    assert result.code == 0, result.err
    assert run("rules", tmp_path / "m.json").code == 0
    predicted = run("predict", tmp_path / "m.json", tmp_path / "d.duckdb", "-o", tmp_path / "out.csv")
    assert predicted.code == 0, predicted.err
    assert run("explain", tmp_path / "m.json", tmp_path / "d.duckdb", "--key", 1).code == 0
    assert run("convert", *source, tmp_path / "folder").code == 0
    assert run("fit", tmp_path / "folder", "--rounds", 3, "-o", tmp_path / "again.json").code == 0
    assert run("sql", tmp_path / "m.json", "-o", tmp_path / "m.sql").code == 0
    sql = (tmp_path / "m.sql").read_text(encoding="utf-8")
    with duckdb.connect(tmp_path / "d.duckdb", read_only=True) as connection:
        scores = dict(row[:2] for row in connection.execute(sql).fetchall())
        assert {row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()} == set(
            frames
        )
    frame = pd.read_csv(tmp_path / "out.csv")
    assert dict(zip(frame["id"], frame["score_of_yes"], strict=True)) == scores


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def test_cells_of_a_megabyte_are_values_like_others(run: Any, tmp_path: Path) -> None:
    big = ["a" * 1_000_000, "b" * 1_000_000]
    frame = pd.DataFrame({"n": np.arange(40) / 7, "text": [big[k % 2] for k in range(40)], "class": ["yes", "no"] * 20})
    frame.to_csv(tmp_path / "big.csv", index=False)
    assert run("inspect", tmp_path / "big.csv").code == 0
    assert run("fit", tmp_path / "big.csv", "--rounds", 2, "-o", tmp_path / "m.json").code == 0
    predicted = run("predict", tmp_path / "m.json", tmp_path / "big.csv")
    assert [line.rpartition(",")[2] for line in predicted.out.splitlines()[1:]] == frame["class"].tolist()
    assert run("explain", tmp_path / "m.json", tmp_path / "big.csv", "--key", 1).code == 0
    assert run("sql", tmp_path / "m.json").code == 0


def test_cyclic_schemas_are_followed_as_far_as_the_depth_allows(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lite = sqlite3.connect(tmp_path / "cycle.sqlite")
    lite.execute(
        "CREATE TABLE a (a INTEGER PRIMARY KEY, b INTEGER REFERENCES b(b), me INTEGER REFERENCES a(a), x "
        'REAL, "class" TEXT)'
    )
    lite.execute("CREATE TABLE b (b INTEGER PRIMARY KEY, a INTEGER REFERENCES a(a), y REAL)")
    lite.executemany("INSERT INTO b VALUES (?, ?, ?)", [(k, int(rng.integers(40)), float(k % 2)) for k in range(40)])
    lite.executemany(
        "INSERT INTO a VALUES (?, ?, ?, ?, ?)",
        [(k, k, int(rng.integers(40)), 0.0, "yes" if k % 2 else "no") for k in range(40)],
    )
    lite.commit()
    lite.close()
    source = [tmp_path / "cycle.sqlite", "--target", "a", "--label", "class"]
    assert run("inspect", *source).code == 0
    result = run("fit", *source, "--rounds", 3, "--max-depth", 4, "-o", tmp_path / "m.json")
    assert result.code == 0, result.err
    predicted = run("predict", tmp_path / "m.json", tmp_path / "cycle.sqlite")
    assert predicted.code == 0, predicted.err
    assert [line.rpartition(",")[2] for line in predicted.out.splitlines()[1:]] == [
        "yes" if k % 2 else "no" for k in range(40)
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_one_sentence(run: Any, model: Path, folder: Path) -> None:
    for verb in (
        ["fit", folder, "--rounds", 1, "-o", "/dev/full"],
        ["predict", model, folder, "-o", "/dev/full"],
        ["sql", model, "-o", "/dev/full"],
    ):
        result = run(*verb)
        assert result.code == 1
        assert "No space left on device" in result.err
    assert Path("/dev/full").is_char_device()


def test_places_that_cannot_be_written_are_refused_before_the_work(
    run: Any, model: Path, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("kept")
    for place in (tmp_path / "nowhere" / "m.json", tmp_path / "file" / "m.json", tmp_path):
        for verb in (
            ["fit", folder, "--rounds", 1, "-o", place],
            ["predict", model, folder, "-o", place],
            ["sql", model, "-o", place],
            ["convert", folder, place],
        ):
            assert run(*verb).code == 1, verb
    assert (tmp_path / "file").read_text() == "kept"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(
    os.geteuid() == 0 and not Path("/sys/kernel").exists(), reason="root may write everywhere but in Linux's /sys"
)
def test_a_folder_without_permission_is_one_sentence(run: Any, model: Path, folder: Path, tmp_path: Path) -> None:
    closed = Path("/sys") if os.geteuid() == 0 else tmp_path
    if closed == tmp_path:
        tmp_path.chmod(0o500)
    before = sorted(os.listdir(closed))
    for verb in (
        ["fit", folder, "--rounds", 1, "-o", closed / "out"],
        *verbs_on_a_model(model, folder, closed / "out")[1:3],
    ):
        result = run(*verb)
        assert result.code == 1
        assert "cannot be written (Permission denied); choose another place" in result.err
    assert sorted(os.listdir(closed)) == before


def test_a_failed_verb_leaves_an_older_result_as_it_was(run: Any, folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.write_bytes(b"older")
    bad = tmp_path / "bad.json"
    bad.write_bytes(b"{}")
    for verb in verbs_on_a_model(bad, folder, output)[1:3]:
        assert run(*verb).code == 1
    assert run("fit", folder, "--label", "nothing", "-o", output).code == 1
    assert output.read_bytes() == b"older"


@pytest.mark.parametrize("seed", range(6))
def test_random_arguments_never_raise(run: Any, model: Path, folder: Path, tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = [
        *HOSTILE,
        "--json",
        "--key",
        "--label",
        "--target",
        "--rounds",
        "-1",
        "0",
        "--set",
        "=",
        "x=y",
        "--top",
        "--cv",
        "1",
        model,
        folder,
    ]
    for verb in (
        "inspect",
        "audit",
        "fit",
        "predict",
        "evaluate",
        "rules",
        "explain",
        "sql",
        "convert",
        "demo",
        "nonsense",
    ):
        arguments = [words[k] for k in rng.integers(0, len(words), rng.integers(1, 4))]
        if verb == "demo":
            arguments = ["nothing", *arguments]
        run(verb, *arguments, *(["-o", tmp_path / "m.json", "--rounds", "1"] if verb == "fit" else []))


SETTINGS = [
    ("c2rib", "rounds=abc"),
    ("c2rib", "rounds=[1]"),
    ("c2rib", "database=x"),
    ("c2rib", "callbacks=[1]"),
    ("c2rib", "class_weight=1"),
    ("c2rib", 'class_weight={"0": "a"}'),
    ("c2rib", "features=V17"),
    ("c2rib", "max_entries=1e999"),
    ("c2rib", "random_state=abc"),
    ("c2rib", "threshold=NaN"),
    ("c2rib", "checkpoint=1"),
    ("c2rib", "checkpoint=/"),
    ("c2rib", "n_jobs=x"),
    ("c2rib", "stall=" + "[" * 100_000),
    ("rankboost", "constants=[1,2]"),
    ("rankboost", 'constants=["x"]'),
    ("prankboost", "weak_learner=7"),
    ("kbs", "base=nothing"),
    ("kbs", 'prior_knowledge=["x("]'),
    ("kbs", "prior_knowledge=[1]"),
    ("logitboost", "base=5"),
    ("mlynx", "class_weight=[]"),
]


@pytest.mark.parametrize(("estimator", "setting"), SETTINGS, ids=lambda text: text[:40])
def test_settings_of_another_type_are_one_sentence(
    run: Any, folder: Path, tmp_path: Path, estimator: str, setting: str
) -> None:
    result = run("fit", folder, "--estimator", estimator, "--rounds", 1, "--set", setting, "-o", tmp_path / "m.json")
    assert result.code == 1, result.err
    assert os.listdir(tmp_path) == []


def test_folds_that_cannot_be_are_refused_before_the_work(run: Any, model: Path, folder: Path, tmp_path: Path) -> None:
    for folds in ("1", "²", "-1", "nothing", ""):
        assert run("report", model, "--data", folder, "--cv", folds, "-o", tmp_path / "r.html").code == 1
    assert run("evaluate", folder, "--cv", 1).code == 2
    assert os.listdir(tmp_path) == []


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command line by a shell, `hornboost` standing for the command under test."""
    path = os.pathsep.join(sys.path)
    spelled = command.replace("hornboost", f"{shlex.quote(sys.executable)} -m hornboost", 1)
    return subprocess.run(
        ["bash", "-c", spelled],
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )


def test_closed_streams_cost_no_result(model: Path, folder: Path, tmp_path: Path) -> None:
    for verb in (f"sql {model}", f"predict {model} {folder}", f"rules {model}"):
        ended = shell(f"hornboost {verb} >&-")
        assert ended.returncode == 1
        assert ended.stderr.startswith(b"hornboost: standard output: it is closed")
    # see also test_cli_interrupts.py, which closes the streams of a fit
    ended = shell(f"hornboost fit {folder} --rounds 2 -o {tmp_path}/m.json 2>/dev/full")
    assert ended.returncode == 0
    assert hb.load(tmp_path / "m.json").rules_


def test_an_encoding_that_lacks_characters_changes_no_file(run: Any, tmp_path: Path) -> None:
    ended = shell("hornboost fit --help", PYTHONIOENCODING="latin-1")
    assert ended.returncode == 0
    assert b"Traceback" not in ended.stderr
    frame = pd.DataFrame({"名": ["č", "名"] * 20, "class": ["yes", "no"] * 20, "id": range(40)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.json"
    assert run("fit", tmp_path / "t.csv", "--label", "class", "--rounds", 2, "-o", model).code == 0
    shown = shell(f"hornboost rules {model}", PYTHONIOENCODING="latin-1")
    assert shown.returncode == 0
    assert rb"\u540d" in shown.stdout
    refused = shell(f"hornboost sql {model}", PYTHONIOENCODING="latin-1")
    assert refused.returncode == 1
    assert b"the encoding 'iso8859-1' of the output cannot hold" in refused.stderr
    assert refused.stdout == b""
    read = shell(f"hornboost rules {model} --json", PYTHONIOENCODING="latin-1")
    assert json.loads(read.stdout.decode("latin-1"))["rules"]


def test_sources_that_nobody_wrote_never_raise(run: Any, tmp_path: Path) -> None:
    """Of each kind of source, changed by chance;
    see also test_fuzz.py, which asks the readers alone and many times more.
    """
    kinds = {
        "t.csv": CSV,
        "t.arff": ARFF,
        "folder/main.csv": CSV,
        "folder/schema.toml": SCHEMA,
        "aleph/k.b": BACKGROUND,
        "srlearn/facts.txt": FACTS,
        "srlearn/modes.txt": MODES,
    }
    others = {"folder/other.csv": OTHER, "aleph/k.f": b"good(t1).\n", "aleph/k.n": b"good(t2).\n"}
    others |= {
        "srlearn/pos.txt": b"good(t1).\n",
        "srlearn/neg.txt": b"good(t2).\n",
        "srlearn/more.txt": b"good(+thing).\n",
    }
    for name, content in {**kinds, **others}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    for case in cases(42):
        name = list(kinds)[case % len(kinds)]
        (tmp_path / name).write_bytes(mutated(kinds[name], case))
        source = tmp_path / name if name.startswith("t.") else (tmp_path / name).parent
        verb = (
            ["inspect", source],
            ["inspect", source, "--json"],
            ["fit", source, "--rounds", 1, "-o", tmp_path / "m.json"],
        )[case // 7 % 3]
        run(*verb)
        (tmp_path / name).write_bytes(kinds[name])


def test_models_that_somebody_forged_never_raise(run: Any, model: Path, folder: Path, tmp_path: Path) -> None:
    body = seal.unsealed(model.read_bytes(), "m", "model", file.VERSION, "")
    for case in cases(30):
        place = tmp_path / "forged.json"
        place.write_bytes(seal.sealed("model", file.VERSION, forged(body, case)))
        run(*verbs_on_a_model(place, folder, tmp_path / "out")[case % 4])
        if case % 10 == 0:
            run("report", place, "--data", folder, "--cv", 2 * (case % 20 == 0), "-o", tmp_path / "r.html")


def test_files_outside_the_folder_are_read_only_when_asked_for(run: Any, folder: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    shutil.copytree(folder, inner)
    (inner / "loan.parquet").rename(tmp_path / "loan.parquet")
    schema = (inner / "schema.toml").read_text()
    (inner / "schema.toml").write_text(schema.replace('"loan.parquet"', '"../loan.parquet"'))
    assert "../loan.parquet" in (inner / "schema.toml").read_text()
    for verb in verbs_on_a_source(inner, tmp_path / "out"):
        refused = run(*verb)
        assert refused.code == 1
        assert "'../loan.parquet' lies outside the folder 'inner'" in refused.err
        assert run(*verb, "--allow-outside").code == 0
    for verb in verbs_on_a_model(tmp_path / "out", inner, tmp_path / "predicted.csv")[2:]:
        assert run(*verb).code == 1
        assert run(*verb, "--allow-outside").code == 0
