"""Why HornBoost is behind where it is, as far as it is known."""

from __future__ import annotations

REASONS: dict[tuple[str, str], str] = {}
"""By set and peer; the peer "" stands for all of them."""


def reason_of(name: str, peer: str) -> str:
    """The reason for a set and a peer, or nothing."""
    return REASONS.get((name, peer)) or REASONS.get((name, ""), "")
