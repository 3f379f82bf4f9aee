"""The command `hornboost`."""

from __future__ import annotations

from hornboost.cli.app import main

__all__ = ["main"]
