"""Limits of memory: how they are written, and what a fit does within them."""

from __future__ import annotations

import pytest

from hornboost import memory
from hornboost.errors import DataError


@pytest.mark.parametrize("text", ["4 potatoes", "", "GB", "-1GB", "1e9", "4 PB"])
def test_what_is_no_amount_of_memory_is_told(text: str) -> None:
    with pytest.raises(DataError, match="is no amount of memory; write for example 4GB"):
        memory.bytes_of(text)


@pytest.mark.parametrize("nothing", [0, -5, "0GB"])
def test_nothing_is_no_amount_of_memory(nothing: int | str) -> None:
    with pytest.raises(DataError, match="memory_limit: there is no work without memory"):
        memory.bytes_of(nothing)


def test_a_container_may_have_less_than_the_machine(tmp_path, monkeypatch) -> None:
    machine = memory.memory_at_hand()
    assert memory.bytes_of(None) == int(0.8 * machine)
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory.max").write_text("2000000\n")
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("1000000\n")
    monkeypatch.setattr(memory, "ROOT", tmp_path)
    assert memory.memory_at_hand() in (1_000_000, 2_000_000)
    for place in tmp_path.rglob("memory.*"):
        place.write_text("max\n")
    assert memory.memory_at_hand() >= machine
