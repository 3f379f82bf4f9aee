from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import NoReturn

import pytest
import typer

import hornboost
from hornboost import cli
from hornboost.errors import DataError


def hornboost_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hornboost", *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def run_main(monkeypatch: pytest.MonkeyPatch, verb: Callable[[], None]) -> int:
    """The exit code of `hornboost` when its only verb is this one."""
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(verb)
    monkeypatch.setattr("hornboost.cli.app.app", app)
    monkeypatch.setattr(sys, "argv", ["hornboost"])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    return int(exit_.value.code or 0)


def test_help_names_the_verbs() -> None:
    result = hornboost_command("--help")
    assert result.returncode == 0
    assert "demo" in result.stdout


def test_version_is_the_version_of_the_package() -> None:
    result = hornboost_command("--version")
    assert (result.returncode, result.stdout) == (0, f"hornboost {hornboost.__version__}\n")


def test_an_unknown_verb_is_a_usage_error_without_traceback() -> None:
    result = hornboost_command("leanr")
    assert result.returncode == 2
    assert "leanr" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_error_of_the_user_is_one_sentence_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def verb() -> NoReturn:
        raise DataError("there is no table 'cars'; did you mean 'car'?")

    assert run_main(monkeypatch, verb) == 1
    assert tuple(capsys.readouterr()) == ("", "hornboost: there is no table 'cars'; did you mean 'car'?\n")


def test_ctrl_c_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def verb() -> NoReturn:
        raise KeyboardInterrupt

    assert run_main(monkeypatch, verb) == 130
