"""Addresses of databases: no message holds their password."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest

import hornboost as hb
from hornboost import cli
from hornboost.data.readers.address import said_safely, without_password
from hornboost.errors import DataError

SECRET = "s3cretpw"
ADDRESSES = [
    f"postgresql://user:{SECRET}@localhost:1/db",
    f"postgres://user:{SECRET}@localhost:1/db",
    f"POSTGRESQL://user:{SECRET}@localhost:1/db",
    f"postgresql://localhost:1/db?user=u&password={SECRET}",
    f"postgresql://localhost:1/db?sslpassword={SECRET}&user=u",
    f"postgresql://user:a/{SECRET}@localhost:1/db",
    f"postgresql://user:a?{SECRET}@localhost:1/db",
    f"postgresql://user:a#{SECRET}@localhost:1/db",
    f"postgresql://user:{SECRET}/@localhost:1/db",
    f"postgresql://user:%zz{SECRET}@localhost:1/db",
    f"postgresql://user:{SECRET}%00@localhost:1/db",
    f"postgresql://user:{SECRET}@[::1/db",
    f"postgresql://user:{SECRET}@localhost:{'9' * 20}/db",
    f"postgresql://user:{SECRET}@localhost:1/db?nothing=1",
    f"postgresql://user:{SECRET}@localhost:1/db?connect_timeout=x",
    f"postgresql://user:{SECRET}\0@localhost:1/db",
    f"postgresql://user:{SECRET}\udc80@localhost:1/db",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_error_of_the_reader_holds_the_password(address: str) -> None:
    with pytest.raises(DataError) as caught:
        hb.Database.from_postgres(address)
    error: BaseException | None = caught.value
    seen = []
    while error is not None:
        seen += [str(error), repr(error), *map(str, error.args)]
        assert error.__cause__ is None
        error = error.__context__
    assert SECRET not in "".join(seen)
    assert SECRET not in "".join(traceback.format_exception_only(caught.value))


@pytest.mark.parametrize(
    "address",
    [*ADDRESSES[:-2], f"mysql://me:{SECRET}@host/db", f"postgresql:/me:{SECRET}@host/db", f"host=x password={SECRET}"],
)
def test_no_message_of_the_command_holds_the_password(
    address: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["hornboost", "inspect", address])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    out, err = capfd.readouterr()
    assert err.startswith("hornboost: ")
    assert SECRET not in out + err


def test_a_source_without_a_clear_label_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    from hornboost.cli import source

    database = hb.datasets.trains(20, seed=1).database()
    monkeypatch.setattr(source, "LABELS", ())
    with pytest.raises(DataError, match=r"user:\*\*\*@localhost") as caught:
        source.likely_label(database, source.TaskOptions(), ADDRESSES[0])
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("command", [["rules"], ["sql"], ["predict", "model.json"], ["fit", "-o"], ["convert", "."]])
def test_an_address_in_the_place_of_a_file_is_named_without_its_password(
    command: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    verb, *before = command
    monkeypatch.setattr("sys.argv", ["hornboost", verb, *before, ADDRESSES[0], *(["."] if verb == "fit" else [])])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    out, err = capfd.readouterr()
    assert err.startswith("hornboost: ")
    assert SECRET not in out + err


def test_a_database_without_rows_to_predict_is_named_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hornboost.cli import predict, source

    database = hb.datasets.trains(20, seed=1).database()
    X, y = database.examples()
    hb.C2RIBClassifier(database, rounds=1).fit(X, y).save(tmp_path / "model.json")
    monkeypatch.setattr(source, "open_source", lambda *_: database)
    with pytest.raises(DataError, match=r"user:\*\*\*@localhost.* every row") as caught:
        predict.load_with_examples(tmp_path / "model.json", ADDRESSES[0], source.TaskOptions(), unlabelled=True)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("value", [None, 3, b"postgresql://localhost", ["postgresql://localhost"]])
def test_what_is_no_text_is_no_address(value: Any) -> None:
    with pytest.raises(DataError, match="give it as text"):
        hb.Database.from_postgres(value)


def test_what_is_no_password_stays() -> None:
    for text in ("postgresql://me@host:5432/db?sslmode=require", "data/folder", "C:/data/a@b", "a:b@c", ""):
        assert without_password(text) == text
    assert said_safely('role "me" does not exist', "postgresql://me:m@host/db") == 'role "me" does not exist'
