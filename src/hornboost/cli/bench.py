"""`hornboost bench`: how fast the engine is on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from hornboost.cli import options as shared
from hornboost.errors import DataError, did_you_mean

BENCHES = ("engine",)


def bench(
    name: Annotated[str, typer.Argument(help="What to measure: engine.")] = "engine",
    as_json: shared.Json = False,
) -> None:
    """Measure the engine: nanoseconds a row for an attribute with all of its conditions."""
    if name not in BENCHES:
        raise DataError(f"there is no bench '{name}'{did_you_mean(name, BENCHES)}")
    from hornboost.experiments.bench_engine import run

    run(json=as_json)
