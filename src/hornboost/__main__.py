"""`python -m hornboost` is the command `hornboost`."""

from __future__ import annotations

from hornboost.cli import main

if __name__ == "__main__":
    main()
