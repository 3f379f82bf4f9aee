"""Model files: what is kept, what is refused, and that nothing is left half-written."""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornboost as hb
from hornboost.errors import ModelError
from hornboost.model import file, seal
from hornboost.model.ensemble import Ensemble, Rule


def fitted(n: int = 200, **options: object) -> tuple[hb.C2RIBClassifier, pd.DataFrame]:
    database = hb.datasets.bank(n, transactions=8, seed=1).database()
    X, y = database.examples()
    return hb.C2RIBClassifier(database, rounds=8, random_state=0, **options).fit(X, y), X


@pytest.fixture(scope="module")
def model() -> hb.C2RIBClassifier:
    return fitted()[0]


@pytest.fixture(scope="module")
def content(model: hb.C2RIBClassifier) -> bytes:
    return file.to_bytes(model._saved())


def test_a_loaded_model_predicts_and_prints_as_the_one_that_was_saved(
    model: hb.C2RIBClassifier, tmp_path: Path
) -> None:
    X, _ = model.database.examples()
    model.save(tmp_path / "m.json")
    loaded = hb.load(tmp_path / "m.json", database=model.database)
    assert loaded.decision_function(X).tolist() == model.decision_function(X).tolist()
    assert loaded.predict_proba(X).tolist() == model.predict_proba(X).tolist()
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert loaded.rules_ == model.rules_
    assert loaded.rules_frame().equals(model.rules_frame())
    assert loaded.to_sql() == model.to_sql()
    assert loaded.to_prolog() == model.to_prolog()
    assert str(loaded.explain(X[:3])) == str(model.explain(X[:3]))


def test_equal_models_give_equal_bytes_also_after_a_round_trip(
    model: hb.C2RIBClassifier, content: bytes, tmp_path: Path
) -> None:
    again, _ = fitted(n_jobs=2, callbacks=[print])
    assert file.to_bytes(again._saved()) == content
    model.save(tmp_path / "m.json")
    hb.load(tmp_path / "m.json").save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == content


@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], [0, 1], [-1.0, 2.0], [False, True], ["a", "b", "c"], [1, 2, 3], np.array([1, 2], np.int8)],
    ids=str,
)
def test_a_single_table_model_needs_no_database_and_predicts_labels_of_the_original_type(
    labels: object, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    values = np.asarray(labels)
    y = values[rng.integers(0, len(values), 90)]
    X = pd.DataFrame(
        {"size": np.searchsorted(values, y) + rng.normal(0, 0.2, 90), "colour": rng.choice(["red", "blue", None], 90)}
    )
    model = hb.C2RIBClassifier(rounds=5, random_state=0).fit(X, y)
    model.save(tmp_path / "m.json")
    loaded = hb.load(tmp_path / "m.json")
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert loaded.predict(X).dtype == model.predict(X).dtype
    assert loaded.decision_function(X.iloc[:1]).tolist() == model.decision_function(X.iloc[:1]).tolist()


def test_a_column_without_any_value_is_read_with_the_type_it_had_in_training(tmp_path: Path) -> None:
    X = pd.DataFrame({"size": np.arange(40.0), "colour": ["red", "blue"] * 20})
    model = hb.C2RIBClassifier(rounds=3, random_state=0).fit(X, X["size"] > 20)
    model.save(tmp_path / "m.json")
    empty = pd.DataFrame({"size": [None, None], "colour": [None, None]})
    assert hb.load(tmp_path / "m.json").predict(empty).tolist() == [False, False]


def test_arrays_are_predicted_without_column_names(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = hb.C2RIBClassifier(rounds=3, random_state=0).fit(X, X[:, 1] > 0)
    model.save(tmp_path / "m.json")
    assert hb.load(tmp_path / "m.json").predict(X).tolist() == model.predict(X).tolist()


def test_a_relational_model_without_its_database_exports_but_says_what_predicting_needs(
    model: hb.C2RIBClassifier, tmp_path: Path
) -> None:
    X, _ = model.database.examples()
    model.save(tmp_path / "m.json")
    loaded = hb.load(tmp_path / "m.json")
    assert loaded.to_sql("sqlite") == model.to_sql("sqlite")
    with pytest.raises(ModelError, match=r"looks at the tables .*'loan'.* database="):
        loaded.predict(X)
    with pytest.raises(ModelError, match="fit a new C2RIBClassifier"):
        loaded.fit(X, [0])


def bank_frames() -> dict[str, pd.DataFrame]:
    return {name: table.to_pandas() for name, table in hb.datasets.bank(40, transactions=5, seed=1).tables.items()}


def bank_database(frames: dict[str, pd.DataFrame], target: str = "loan", **options: object) -> hb.Database:
    key = f"{target}_id"
    return hb.Database.from_frames(frames, target=target, key=key, **options)


def test_a_database_that_lacks_something_is_refused_by_name(model: hb.C2RIBClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "m.json")
    used = model._saved().used()
    table, column = next(
        (table, name)
        for table, names in used.items()
        for name, kind in names.items()
        if kind != "key" and table != "loan"
    )
    frames = bank_frames()
    hb.load(tmp_path / "m.json", database=bank_database(frames, label="risky"))
    without = {name: frame.drop(columns=column) if name == table else frame for name, frame in frames.items()}
    with pytest.raises(ModelError, match=f"needs the column '{column}' of table '{table}'"):
        hb.load(tmp_path / "m.json", database=bank_database(without, label="risky"))
    with pytest.raises(ModelError, match=f"needs the table '{table}'"):
        hb.load(
            tmp_path / "m.json", database=bank_database({k: v for k, v in frames.items() if k != table}, label="risky")
        )
    text = {name: frame.assign(**{column: "x"}) if name == table else frame for name, frame in frames.items()}
    if used[table][column] == "numeric":
        with pytest.raises(ModelError, match=f"'{column}' of table '{table}' as numeric, and here it is nominal"):
            hb.load(tmp_path / "m.json", database=bank_database(text, label="risky"))
    with pytest.raises(ModelError, match="predicts rows of table 'loan'"):
        hb.load(tmp_path / "m.json", database=bank_database(frames, target="account"))


def test_every_cut_of_a_file_is_refused(content: bytes) -> None:
    for length in [*range(200), *range(200, len(content) - 2, 97)]:
        with pytest.raises(ModelError, match=r"^m.json: "):
            file.from_bytes(content[:length], "m.json")


@settings(max_examples=400)
@given(data=st.data())
def test_a_flipped_bit_is_refused_or_changes_nothing(content: bytes, data: st.DataObject) -> None:
    damaged = bytearray(content)
    position = data.draw(st.integers(0, len(content) - 1))
    damaged[position] ^= 1 << data.draw(st.integers(0, 7))
    try:
        model = file.from_bytes(bytes(damaged), "m.json")
    except ModelError:
        return
    assert file.to_bytes(model) == content


def signed(content: dict[str, object]) -> bytes:
    """A file with a valid checksum, whatever it holds."""
    unsigned = {name: value for name, value in content.items() if name != "checksum"}
    return json.dumps({**unsigned, "checksum": seal.digest(unsigned)}).encode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 6}, "format version 6"),
        ({"version": 0}, "format version 0"),
        ({"version": "1"}, "format version '1'"),
        ({"version": True}, "format version True"),
        ({"format": "pickle"}, "no model file"),
        ({"model": None}, "not valid"),
        ({"model": {}}, "not valid"),
    ],
)
def test_other_versions_and_contents_are_refused_although_the_checksum_fits(
    content: bytes, change: dict[str, object], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        file.from_bytes(signed({**json.loads(content), **change}), "m.json")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("rules", 0, "clause"), "__import__('os').system('true')"),
        (("rules", 0, "clause"), 'risky="1" :- nowhere(a=A).'),
        (("rules", 0, "votes"), [1.0, 2.0, 3.0]),
        (("rules", 0, "votes"), ["x"]),
        (("rules", 0, "votes"), [10**400]),
        (("rules", 0, "votes"), [True]),
        (("rules", 0, "coverage"), [1.0]),
        (("rules", 0, "clause"), 'risky="2" :- loan(loan_id=A).'),
        (("rules", 0, "clause"), 'risky="1" :- loan(amount=A).'),
        (("rules", 0, "origin"), "elsewhere"),
        (("rules",), {}),
        (("intercept",), [10**400]),
        (("intercept",), -1),
        (("calibration",), [[1.0]]),
        (("relational",), 1),
        (("training",), []),
        (("training", "history"), -1),
        (("training", "history"), [{"round": "x"}]),
        (("training", "history"), [{"round": 1, "mean_margin": "<b>"}]),
        (("training", "history"), [{"mean_margin": 1.0}]),
        (("training", "estimator"), 3),
        (("training", "parameters"), {"checkpoint": "elsewhere"}),
        (("target", "positive"), "5"),
        (("classes", "texts"), ["0", ""]),
        (("classes", "texts"), ["1", "1"]),
        (("classes", "texts"), ["\ud800", "1"]),
        (("classes",), {"dtype": "<U1", "values": ["no", "yes"], "texts": ["0", "1"]}),
        (("classes",), {"dtype": "|i1", "values": [0, 300], "texts": ["0", "1"]}),
        (("classes",), {"dtype": "<i8", "values": ["0", "1"], "texts": ["0", "1"]}),
        (("classes",), {"dtype": "<U999999", "values": ["0", "1"] * 100, "texts": ["0", "1"] * 100}),
        (("classes", "dtype"), "datetime64"),
        (("classes", "values"), [{}, {}]),
        (("classes", "texts"), ["0"]),
        (("link",), "exec"),
        (("intercept",), []),
        (("schema",), {}),
        (("schema", "loan"), [{"name": 1, "type": "key"}]),
        (("schema", "loan"), [{"name": "a", "type": "key"}, {"name": "a", "type": "key"}]),
        (("target", "table"), "account"),
        (("fingerprint",), "sha256:0"),
    ],
    ids=str,
)
def test_invalid_content_is_refused_although_the_checksum_fits(
    content: bytes, path: tuple[object, ...], value: object
) -> None:
    parsed = json.loads(content)
    place = parsed["model"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(ModelError, match=r"^m.json: the model's content is not valid"):
        file.from_bytes(signed(parsed), "m.json")


def test_numbers_without_bounds_and_nesting_without_end_are_refused(content: bytes) -> None:
    endless = content.replace(b'"otherwise": []', b'"otherwise": [1e999]', 1)
    assert endless != content
    with pytest.raises(ModelError, match="damaged"):
        file.from_bytes(endless, "m.json")
    for depth in (40, 900, 100_000):
        parsed = json.dumps({**json.loads(content), "more": None})
        nested = parsed.replace('"more": null', '"more": ' + "[" * depth + "]" * depth)
        with pytest.raises(ModelError, match=r"^m.json: "):
            file.from_bytes(nested.encode(), "m.json")


def test_a_key_signs_files_and_refuses_all_others(
    model: hb.C2RIBClassifier, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, signed_, other = tmp_path / "plain.json", tmp_path / "signed.json", tmp_path / "other.json"
    model.save(plain)
    monkeypatch.setenv("HORNBOOST_KEY", "another secret")
    model.save(other)
    monkeypatch.setenv("HORNBOOST_KEY", "a secret")
    model.save(signed_)
    assert hb.load(signed_).to_sql() == model.to_sql()
    with pytest.raises(ModelError, match=r"plain.json: HORNBOOST_KEY is set, and the model was written without a key"):
        hb.load(plain)
    with pytest.raises(ModelError, match=r"other.json: the model was written with another key"):
        hb.load(other)
    forged = json.loads(signed_.read_bytes())
    forged["model"]["intercept"] = [99.0]
    plain.write_bytes(signed(forged))
    with pytest.raises(ModelError, match="changed without it"):
        hb.load(plain)
    for code in (1, "", "ü", None):
        plain.write_bytes(signed({**forged, "hmac": code}))
        with pytest.raises(ModelError, match=r"plain\.json"):
            hb.load(plain)
    monkeypatch.setenv("HORNBOOST_KEY", " ")
    with pytest.raises(ModelError, match="HORNBOOST_KEY is empty"):
        hb.load(signed_)
    monkeypatch.delenv("HORNBOOST_KEY")
    assert hb.load(signed_).to_sql() == model.to_sql()
    hb.load(signed_).save(plain)
    assert plain.read_bytes() == content


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero")
def test_what_has_no_end_is_not_read_until_memory_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(seal, "CEILING", 1 << 20)
    monkeypatch.setattr(seal, "PATIENCE", 0.1)
    (tmp_path / "big.json").write_bytes(content + b" " * (1 << 20))
    os.mkfifo(tmp_path / "pipe")
    for place, reason in (
        ("/dev/zero", "it is a device"),
        (tmp_path, "it is a folder"),
        (tmp_path / "big.json", "it has more than 1 MB"),
        (tmp_path / "pipe", "nothing came through the pipe"),
    ):
        with pytest.raises(ModelError, match=reason):
            hb.load(place)
        with pytest.raises(ModelError, match=reason):
            hb.C2RIBClassifier(rounds=1, random_state=0, checkpoint=place).fit(np.zeros((4, 1)), [0, 1, 0, 1])


def test_a_file_that_waits_as_a_pipe_does_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "log")
    writer = os.open(tmp_path / "log", os.O_RDWR)
    monkeypatch.setattr(seal.stat, "S_ISFIFO", lambda mode: False)
    monkeypatch.setattr(seal.stat, "S_ISREG", lambda mode: True)
    try:
        with pytest.raises(ModelError, match="nothing to read"):
            seal.read_bytes(tmp_path / "log", "model")
    finally:
        os.close(writer)


def test_a_model_may_come_through_a_pipe(tmp_path: Path, content: bytes) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(content,))
    writer.start()
    assert file.to_bytes(file.load(tmp_path / "pipe")) == content
    writer.join()


@pytest.mark.parametrize(
    "content", [b"", b"null", b"[]", b"[" * 100_000, b'{"a": NaN}', b"\xff\xfe", b"9" * 5000, b"{}"]
)
def test_what_is_no_model_is_refused(content: bytes) -> None:
    with pytest.raises(ModelError, match=r"^m.json: "):
        file.from_bytes(content, "m.json")


def test_a_failed_write_leaves_the_old_file_and_no_other(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "m.json"
    file.write_whole(place, content)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelError, match=r"m.json: the file cannot be written \(No space left on device\)"):
        file.write_whole(place, b"new")
    assert place.read_bytes() == content
    assert os.listdir(tmp_path) == ["m.json"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_device_is_an_error_and_stays_a_device(content: bytes) -> None:
    with pytest.raises(ModelError, match="No space left"):
        file.write_whole("/dev/full", content)
    assert Path("/dev/full").is_char_device()


def test_places_that_cannot_be_written_or_read_are_named(model: hb.C2RIBClassifier, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be written"):
        model.save(tmp_path / "nowhere" / "m.json")
    with pytest.raises(ModelError, match="cannot be written"):
        model.save(tmp_path)
    with pytest.raises(ModelError, match=r"cannot be read \(No such file or directory\)"):
        hb.load(tmp_path / "m.json")
    with pytest.raises(ModelError, match="cannot be read"):
        hb.load(tmp_path)
    with pytest.raises(ModelError, match="is no path"):
        hb.load("a\0b")


def test_a_link_keeps_pointing_to_the_file_that_is_written(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "real.json").write_bytes(b"old")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    file.write_whole(tmp_path / "link.json", content)
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_bytes() == content


def test_a_vote_that_is_not_finite_is_never_written(model: hb.C2RIBClassifier) -> None:
    saved = model._saved()
    with pytest.raises(ModelError, match="not finite"):
        file.to_bytes(replace(saved, ensemble=replace(saved.ensemble, intercept=(float("nan"),))))


def test_one_example_is_scored_within_five_milliseconds_after_loading(tmp_path: Path) -> None:
    database = hb.datasets.bank(400, transactions=20, seed=1).database()
    X, _ = database.examples()
    bodies = [f'trans(account_id=A, amount>={100 * k}, k_symbol="penalty")' for k in range(50)]
    bodies += [f"disp(account_id=A, client_id=C), client(client_id=C, age<={k})" for k in range(50)]
    rules = tuple(Rule(hb.Clause.parse(f'risky="1" :- loan(account_id=A), {body}.'), (1.0,)) for body in bodies)
    ensemble = Ensemble(("0", "1"), rules, (0.0,))
    classes = np.array(["0", "1"], object)
    file.save(
        file.SavedModel(ensemble, classes, database.target, file.saved_schema(ensemble, database, {})),
        tmp_path / "m.json",
    )
    loaded = hb.load(tmp_path / "m.json", database=database)
    times = []
    for k in range(40):
        started = time.process_time()
        loaded.decision_function(X[k : k + 1])
        times.append(time.process_time() - started)
    assert min(times) < 0.005
