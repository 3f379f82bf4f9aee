"""HornBoost and what people would use instead, on the same folds of the same data.

`python -m benchmarks.peers --data DATA --output docs/comparison.md` builds an environment for each peer, runs what has
not been run yet, and writes the page. Each fit is kept, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.papers.protocol import default_cache
from benchmarks.peers.collect import Row, add, truth_of
from benchmarks.peers.environments import Environment, environment
from benchmarks.peers.page import Compared, write_page
from benchmarks.peers.peer import Peer, read_peers
from benchmarks.peers.prepare import Prepared, prepare
from benchmarks.peers.run import Fit, record_of, tell
from benchmarks.peers.sets import SETS
from hornboost.errors import HornBoostError


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("HORNBOOST_DATA"), help="folder of all data sets")
    parser.add_argument(
        "--sets", nargs="*", default=list(SETS), choices=list(SETS), metavar="SET", help="all by default"
    )
    parser.add_argument("--peers", nargs="*", help="files of peers/theirs, or FILE:LEARNER; all by default")
    parser.add_argument("--folds", type=int, default=10, help="folds of each set at most")
    parser.add_argument("--limit", type=float, default=600.0, help="processor seconds of a fit at most")
    parser.add_argument("--cache", type=Path, default=default_cache().parent / "peers", help="where all is kept")
    parser.add_argument("--known", action="store_true", help="run nothing: tell what is kept")
    parser.add_argument("--output", type=Path, help="the page to write")
    return parser


def main() -> None:
    """Run what is missing and write the page."""
    given = arguments().parse_args()
    try:
        peers = read_peers(given.peers)
        found = compare(peers, given)
    except HornBoostError as error:
        sys.exit(f"benchmarks.peers: {error}")
    if given.output is not None:
        write_page(found, command(given), given.output)


def command(given: argparse.Namespace) -> str:
    """The command that makes the page again."""
    sets = "" if given.sets == list(SETS) else " --sets " + " ".join(given.sets)
    peers = "" if not given.peers else " --peers " + " ".join(given.peers)
    known = " --known" if given.known else ""
    options = f"{sets}{peers}{known} --folds {given.folds} --limit {given.limit:g}"
    return f"python -m benchmarks.peers --data DATA{options} --output docs/comparison.md"


def compare(peers: Sequence[Peer], given: argparse.Namespace) -> Compared:
    """Run all fits, fold by fold, so that a run that is stopped has compared what it has."""
    environments = {peer.name: environment(peer, given.cache) for peer in peers}
    rows: list[Row] = []
    abouts: dict[str, str] = {}
    for name in given.sets:
        prepared = prepare(name, given.data, given.cache / "sets" / name, given.folds, known=given.known)
        abouts[name] = prepared.about
        of_set = [(peer, Row(peer.name, learner, name)) for peer in peers for learner in peer.learners]
        rows += [row for _, row in of_set]
        for fold in prepared.folds:
            for peer, row in of_set:
                one_fold(peer, environments[peer.name], row, prepared, fold, given)
    return Compared(peers, environments, rows, abouts, given.limit)


def one_fold(
    peer: Peer, found: Environment, row: Row, prepared: Prepared, fold: str, given: argparse.Namespace
) -> None:
    """Run a learner on a fold, if it can, and count what it gave."""
    if unfit := peer.unfit(prepared.n_tables):
        row.cannot = unfit
    elif peer.cannot or found.python is None:
        row.cannot = peer.cannot or "is not installed (see above)"
    else:
        fit = Fit(peer, found, row.learner, prepared.folder, fold)
        if given.known and not fit.kept(given.cache / "records").exists():
            return
        record = record_of(fit, given.cache / "records", 0.0 if given.known else given.limit)
        tell(fit, record)
        add(row, record, truth_of(prepared.folder, fold))


if __name__ == "__main__":
    main()
