"""Why HornBoost is behind where it is, as far as it is known."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("reasons.toml")


@cache
def _reasons() -> dict[str, dict[str, str]]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def reason_of(name: str, peer: str) -> str:
    """The reason for a set and a peer, or nothing."""
    of_set = _reasons().get(name, {})
    return of_set.get(peer) or of_set.get("any", "")
