"""What the soak would notice."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

import hornboost as hb
from benchmarks import soak


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(soak.DATABASES, "mlynx", {"trains": lambda rng, seed: hb.datasets.trains(30).database()})
    monkeypatch.setattr(soak, "ESTIMATORS", {"mlynx": soak.ESTIMATORS["mlynx"]})


def test_a_setting_is_learned_twice_and_from_partitions() -> None:
    tally = soak.Tally()
    soak.one_setting(random.Random(0), tally, in_parts=True, interrupted=False)
    assert tally == soak.Tally(fits=3, from_partitions=1)


def test_another_model_and_an_error_are_failures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers, tally = itertools.count(), soak.Tally()
    monkeypatch.setattr(soak, "learned", lambda model: str(next(numbers)))
    soak.one_setting(random.Random(0), tally, in_parts=True, interrupted=False)
    assert tally.failures == 2

    def broken(*_: Any) -> str:
        raise RuntimeError("no rules")

    monkeypatch.setattr(soak, "learned", broken)
    soak.one_setting(random.Random(0), tally, in_parts=False, interrupted=False)
    assert tally.failures == 3
    told = capsys.readouterr().out
    assert [text in told for text in (": another model\n", ": another model from ", "no rules")] == [True] * 3
