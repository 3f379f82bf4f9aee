"""Joins that lead to more entries than are held at once, followed for some of the examples after the others.

What is known of an example does not depend on the others, so the examples are divided in two until the entries on the
way to a literal are few enough; one example is never divided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from hornboost.dtypes import CODE
from hornboost.engine.attributes import Attributes
from hornboost.engine.blocks import Block, running
from hornboost.engine.frontier import Wanted
from hornboost.engine.state import Entries, State
from hornboost.engine.united import Told, numbered, renumbered, united
from hornboost.errors import LimitError
from hornboost.stopping import check

Result = TypeVar("Result")

OF_PIECE = -1
"""The number of entries of which nothing is kept, because they are needed once."""


class TooManyAtOnceError(LimitError):
    """There are more entries than are held at once; fewer examples have fewer."""


def piece(state: State, lo: int, hi: int) -> State:
    """A state as the examples lo..hi see it, numbered from 0."""
    entries: list[Entries] = []
    starts: list[int] = []
    for k, everyone in enumerate(state.entries):
        first, stop = everyone.example.searchsorted([lo, hi])
        up = everyone.up[first:stop] if k == 0 else everyone.up[first:stop] - CODE(starts[state.specs[k].parent])
        entries.append(Entries(everyone.example[first:stop] - CODE(lo), everyone.rows[first:stop], up, OF_PIECE))
        starts.append(int(first))
    return State(state.specs, tuple(entries), state.covered[lo:hi])


def by_pieces(state: State, work: Callable[[State], Result]) -> list[tuple[int, int, Result]]:
    """What some work makes of ranges of the examples, each small enough for it, in order."""
    waiting, found = [(0, len(state.entries[0]))], []
    while waiting:
        check()
        lo, hi = waiting.pop()
        try:
            found.append((lo, hi, work(piece(state, lo, hi))))
        except TooManyAtOnceError:
            middle = (lo + hi) // 2
            waiting += [(middle, hi), (lo, middle)]
    return found


def joined_block(
    pieces: Sequence[tuple[int, int, tuple[Block, Told]]], attributes: Attributes, wanted: Wanted
) -> tuple[Block, Told]:
    """The block of all pieces, and what is told of it."""
    together = pieces[0][2][1]
    for _, _, (_, told) in pieces[1:]:
        (together,) = united((together,), (told,))
    whole = numbered(attributes, wanted.selected, together)
    own = []
    for _, _, (block, told) in pieces:
        check()
        own.append(renumbered(block, told, whole))
    shifts = running(block.pairs.size for block in own)
    segments = [block.segment_example + CODE(lo) for block, (lo, _, _) in zip(own, pieces, strict=True)]
    ends = [block.segment_end + shift for block, shift in zip(own, shifts, strict=False)]
    pairs = np.concatenate([block.pairs for block in own])
    kept = whole.starts, whole.stops, whole.attributes, whole.bases, whole.ages
    return Block(np.concatenate(segments), np.concatenate(ends), pairs, whole.conditions, *kept), together


def joined_state(pieces: Sequence[tuple[int, int, State]], before: State) -> State:
    """The state of all examples, by those of the pieces after one and the same step.

    Nodes that lost nothing keep their entries, and thereby what is known of them.
    """
    first, n_before = pieces[0][2], len(before.specs)
    renewed, entries = [False], [before.entries[0]]
    shifts = [[lo for lo, _, _ in pieces]]
    for k in range(1, len(first.specs)):
        check()
        parent = first.specs[k].parent
        renewed.append(k >= n_before or first.changed[k] or renewed[parent])
        shifts.append(running(len(state.entries[k]) for _, _, state in pieces).tolist())
        if not renewed[k]:
            entries.append(before.entries[k])
            continue
        examples = [state.entries[k].example + CODE(lo) for lo, _, state in pieces]
        ups = [state.entries[k].up + CODE(shift) for (_, _, state), shift in zip(pieces, shifts[parent], strict=False)]
        rows = [state.entries[k].rows for _, _, state in pieces]
        entries.append(Entries(np.concatenate(examples), np.concatenate(rows), np.concatenate(ups)))
    covered = np.concatenate([state.covered for _, _, state in pieces])
    return State(first.specs, tuple(entries), covered, changed=first.changed)
