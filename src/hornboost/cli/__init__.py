"""The command `hornboost`."""

from __future__ import annotations

from hornboost.cli.interrupt import ctrl_c

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C ends it with 130, also while it is being loaded."""
    with ctrl_c():
        from hornboost.cli import app

        app.main()
