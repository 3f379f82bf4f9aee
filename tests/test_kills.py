"""A run that is killed again and again comes to the model of an unbroken one."""

from __future__ import annotations

from pathlib import Path

from benchmarks import kills


def test_three_kills_lose_nothing(tmp_path: Path) -> None:
    wanted = "--estimator c2rib --loans 200 --times 3 --longest 0.5 --set rounds=60 --seed 1 --python"
    asked = kills.arguments().parse_args(wanted.split())
    tally = kills.killed(tmp_path, asked)
    assert tally.kills == 3
    assert tally.runs >= 1
