"""Compiled loops of query mining: from the bindings of a family of queries to the coverage of all of their refinements.

A family are queries that differ in their last condition only, each of them a slot. The conditions that an example
reaches under a slot are a set of bits, 64 a word (bit 0 is the bare literal); `tally_kernels` turn them into supports
and coverage. Bindings are sorted by example. Kernels take arrays, no tuples of ours: compiled code on disk
would name the tuples' types, which another version may not have. Where nothing has a time, what only times need is
None, and numba leaves out what asks for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hornboost.engine.key_kernels import distinct, leads, same, seen_end
from hornboost.jit import inner, jit
from hornboost.mining.row_kernels import (
    Codes,
    Cutoffs,
    Floats,
    HeldRows,
    Places,
    Words,
    are_alike,
    cutoff_of,
    fits,
    holds,
    is_aged,
    is_known,
)


class Prepared(NamedTuple):
    """A literal that may be added: the rows of an index under a variable of the query,
    with these demands on their keys.

    `equal` lists pairs (key column, variable) that must also be equal, `unequal` those that must not be, `apart` pairs
    of key columns that hold distinct new variables, `fresh` the key columns of new variables, and `used` the variables
    that matter besides the example's own: if they are not all, one binding may ask what the one before has asked
    (`repeats`). Numbers of columns have no sign, which saves the kernels a test. `times` are those of `rows`, which
    rise under each key.
    """

    variable: np.uint32
    offsets: NDArray[np.int64]
    rows: Codes
    keys: Codes
    equal: Places
    unequal: Places
    apart: Places
    fresh: Places
    used: Places
    repeats: bool
    times: Floats | None = None


class Slots(NamedTuple):
    """Which queries a pass counts for: the conditions that rows of their last literal hold, the slot of each condition,
    or -1, and the slot of the query of all bindings, or -1.
    """

    last: HeldRows
    slots: Codes
    whole: int
    n_slots: int


@jit
def count_reached(
    example: Codes,
    variables: Codes,
    variable: np.uint32,
    offsets: NDArray[np.int64],
    times: Floats | None,
    cutoffs: Cutoffs,
) -> int:
    """The rows that a join reaches from all bindings."""
    total = 0
    for b in range(variables.shape[0]):
        code = variables[b, variable]
        if leads(code, offsets):
            total += seen_end(code, offsets, times, cutoff_of(cutoffs, example[b])) - offsets[code]
    return total


def reach_literal(
    example: Codes,
    variables: Codes,
    last: Codes,
    family: Slots,
    literal: Prepared,
    rows: HeldRows,
    known: Words,
    cutoffs: Cutoffs = None,
) -> Words:
    """The conditions of a new literal, whose relation has `rows`, that each example reaches under each slot.

    Bindings one after the other that ask the same are asked once, and all of them where the joined variable decides.
    Under slots that reach all that is `known` to be within an example's reach, from a more general query, nothing more
    is asked.
    """
    parts = (*family.last, *family[1:], *literal, *rows)
    return _reach_literal(example, variables, last, *parts, known, cutoffs)


@jit
def _reach_literal(
    example: Codes,
    variables: Codes,
    last: Codes,
    last_held: Codes,
    last_since: Floats | None,
    last_times: Floats | None,
    last_ages: Floats | None,
    last_first_age: int,
    slots: Codes,
    whole: int,
    n_slots: int,
    variable: np.uint32,
    offsets: NDArray[np.int64],
    rows: Codes,
    keys: Codes,
    equal: Places,
    unequal: Places,
    apart: Places,
    _fresh: Places,
    used: Places,
    repeats: bool,
    row_times: Floats | None,
    held: Codes,
    since: Floats | None,
    times: Floats | None,
    ages: Floats | None,
    first_age: int,
    known: Words,
    cutoffs: Cutoffs,
) -> Words:
    n_words = known.shape[1]
    reached = np.zeros((n_slots, known.shape[0], n_words), np.uint64)
    words, touched, n_touched = np.zeros(n_words, np.uint64), np.empty(n_words, np.uint32), 0
    first = int(whole >= 0)
    decisive = used.size == 1 and used[0] == variable and offsets.size * n_words <= example.size
    asked = np.full(offsets.size if decisive else 0, -1, np.int32)
    told = np.empty((asked.size, n_words), np.uint64)
    asked_by = -1
    n_ages, n_last_ages, some_late, some_last_late = 0, 0, False, False
    if since is not None and last_since is not None and ages is not None and last_ages is not None:
        n_ages, n_last_ages = ages.shape[0], last_ages.shape[0]
        some_late, some_last_late = since.shape[0] > 0, last_since.shape[0] > 0
    n_attributes = last_held.shape[1] if n_slots > first else 0
    own = np.empty(n_attributes + 1 + n_last_ages, np.uint32)
    own[0] = max(whole, 0)
    is_plain = n_words == 1 and n_ages == 0 and not some_late
    # written out, and indexed without signs: with a call to `_fits` this loop measures a quarter slower
    for b in range(example.size):
        e = np.uint32(example[b])
        n_own = first
        cutoff = cutoff_of(cutoffs, e)
        for a in range(n_attributes):
            slot = slots[np.uint32(last_held[np.uint32(last[b]), a])]
            if slot >= 0 and (not some_last_late or is_known(last_since, np.uint32(last[b]), a, cutoff)):
                own[n_own] = slot
                n_own += 1
        for k in range(n_last_ages):
            slot = slots[last_first_age + k]
            if slot >= 0 and is_aged(last_times, last_ages, k, np.uint32(last[b]), cutoff):
                own[n_own] = slot
                n_own += 1
        wanting = False
        for k in range(n_own):
            for w in range(n_words):
                if reached[own[k], e, w] != known[e, w]:
                    wanting = True
                    break
            if wanting:
                break
        if not wanting:
            continue
        code = variables[b, variable]
        if not leads(code, offsets):
            continue
        if not (repeats and asked_by >= 0 and are_alike(example, variables, asked_by, b, used)):
            asked_by = b
            for k in range(n_touched):
                words[touched[k]] = 0
            n_touched = 0
            if decisive and asked[code] == e:
                for w in range(n_words):
                    words[w], touched[w] = told[code, w], w
                n_touched = n_words
            else:
                for at in range(offsets[code], seen_end(code, offsets, row_times, cutoff)):
                    row = np.uint32(rows[at])
                    fits = True
                    for p in range(equal.shape[0]):
                        if not same(keys[row, equal[p, 0]], variables[b, equal[p, 1]]):
                            fits = False
                            break
                    if not fits:
                        continue
                    for p in range(unequal.shape[0]):
                        if not distinct(keys[row, unequal[p, 0]], variables[b, unequal[p, 1]]):
                            fits = False
                            break
                    if not fits:
                        continue
                    for p in range(apart.shape[0]):
                        if not distinct(keys[row, apart[p, 0]], keys[row, apart[p, 1]]):
                            fits = False
                            break
                    if not fits:
                        continue
                    if words[0] == 0:
                        touched[n_touched] = 0
                        n_touched += 1
                    if is_plain:  # most relations have fewer conditions, and the word stays in a register
                        word0 = words[0] | np.uint64(1)
                        for a in range(held.shape[1]):
                            word0 |= np.uint64(1) << np.uint64(held[row, a])
                        words[0] = word0
                        if word0 == known[e, 0]:
                            break
                        continue
                    words[0] |= np.uint64(1)
                    for a in range(held.shape[1]):
                        condition = np.uint64(held[row, a])
                        if some_late and not is_known(since, row, a, cutoff):
                            condition = np.uint64(0)
                        word = np.uint32(condition >> np.uint64(6))
                        if words[word] == 0:
                            touched[n_touched] = word
                            n_touched += 1
                        words[word] |= np.uint64(1) << (condition & np.uint64(63))
                    for k in range(n_ages):
                        if is_aged(times, ages, k, row, cutoff):
                            condition = np.uint64(first_age + k)
                            word = np.uint32(condition >> np.uint64(6))
                            if words[word] == 0:
                                touched[n_touched] = word
                                n_touched += 1
                            words[word] |= np.uint64(1) << (condition & np.uint64(63))
                    complete = True
                    for w in range(n_words):
                        if words[w] != known[e, w]:
                            complete = False
                            break
                    if complete:
                        break
                if decisive:
                    asked[code] = e
                    for w in range(n_words):
                        told[code, w] = words[w]
        for k in range(n_own):
            for i in range(n_touched):
                reached[own[k], e, touched[i]] |= words[touched[i]]
    return reached


def reach_tests(
    example: Codes, last: Codes, family: Slots, n_examples: int, width: int, cutoffs: Cutoffs = None
) -> Words:
    """The conditions that the rows of the last literal hold, in words of 64, for each example under each slot."""
    return _reach_tests(example, last, *family.last, *family[1:], n_examples, width, cutoffs)


@jit
def _reach_tests(
    example: Codes,
    last: Codes,
    held: Codes,
    since: Floats | None,
    times: Floats | None,
    ages: Floats | None,
    first_age: int,
    slots: Codes,
    whole: int,
    n_slots: int,
    n_examples: int,
    width: int,
    cutoffs: Cutoffs,
) -> Words:
    reached = np.zeros((n_slots, n_examples, width), np.uint64)
    n_ages, some_late = 0, False
    if since is not None and ages is not None:
        n_ages, some_late = ages.shape[0], since.shape[0] > 0
    found = np.empty(held.shape[1] + 1 + n_ages, np.int64)
    for b in range(example.size):
        found[0] = 0
        n = 1
        cutoff = cutoff_of(cutoffs, example[b])
        for a in range(held.shape[1]):
            if not some_late or is_known(since, last[b], a, cutoff):
                found[n] = held[last[b], a]
                n += 1
        for k in range(n_ages):
            if is_aged(times, ages, k, last[b], cutoff):
                found[n] = first_age + k
                n += 1
        if whole >= 0:
            _unite(reached, whole, example[b], found, n)
        for k in range(1, n):
            slot = slots[found[k]]
            if slot >= 0:
                _unite(reached, slot, example[b], found, n)
    return reached


@inner
def _unite(reached: Words, slot: int, e: int, found: NDArray[np.int64], n: int) -> None:
    """Add the conditions of a row, the bare literal first, to what an example reaches under a slot."""
    for k in range(n):
        condition = np.uint64(found[k])
        reached[slot, e, condition >> np.uint64(6)] |= np.uint64(1) << (condition & np.uint64(63))


def select(
    example: Codes,
    variables: Codes,
    last: Codes,
    rows: HeldRows,
    attribute: int,
    condition: int,
    cutoffs: Cutoffs = None,
) -> tuple[Codes, Codes, Codes]:
    """The bindings whose last row holds a condition."""
    return _select(example, variables, last, *rows, attribute, condition, cutoffs)


@jit
def _select(
    example: Codes,
    variables: Codes,
    rows: Codes,
    held: Codes,
    since: Floats | None,
    times: Floats | None,
    ages: Floats | None,
    first_age: int,
    attribute: int,
    condition: int,
    cutoffs: Cutoffs,
) -> tuple[Codes, Codes, Codes]:
    n = 0
    for b in range(rows.size):
        n += holds(held, since, times, ages, first_age, rows[b], attribute, condition, example[b], cutoffs)
    examples, kept, found = np.empty(n, np.int32), np.empty((n, variables.shape[1]), np.int32), np.empty(n, np.int32)
    n = 0
    for b in range(rows.size):
        if holds(held, since, times, ages, first_age, rows[b], attribute, condition, example[b], cutoffs):
            examples[n], found[n] = example[b], rows[b]
            for v in range(variables.shape[1]):
                kept[n, v] = variables[b, v]
            n += 1
    return examples, kept, found


def extend(
    example: Codes,
    variables: Codes,
    literal: Prepared,
    rows: HeldRows,
    attribute: int,
    condition: int,
    limit: int,
    cutoffs: Cutoffs = None,
) -> tuple[Codes, Codes, Codes]:
    """The bindings that a new literal gives, up to one more than `limit`: their examples, variables and rows.

    An `attribute` of -1 asks for no condition.
    """
    return _extend(example, variables, *literal, *rows, attribute, condition, limit, cutoffs)


@jit
def _extend(
    example: Codes,
    variables: Codes,
    variable: np.uint32,
    offsets: NDArray[np.int64],
    rows: Codes,
    keys: Codes,
    equal: Places,
    unequal: Places,
    apart: Places,
    fresh: Places,
    _used: Places,
    _repeats: bool,
    row_times: Floats | None,
    held: Codes,
    since: Floats | None,
    times: Floats | None,
    ages: Floats | None,
    first_age: int,
    attribute: int,
    condition: int,
    limit: int,
    cutoffs: Cutoffs,
) -> tuple[Codes, Codes, Codes]:
    room = 0
    for b in range(example.size):
        code = variables[b, variable]
        if leads(code, offsets):
            room += seen_end(code, offsets, row_times, cutoff_of(cutoffs, example[b])) - offsets[code]
    room, n, before = min(room, limit + 1), 0, variables.shape[1]
    examples, longer, found = (
        np.empty(room, np.int32),
        np.empty((room, before + fresh.size), np.int32),
        np.empty(room, np.int32),
    )
    for b in range(example.size):
        code = variables[b, variable]
        if not leads(code, offsets):
            continue
        for at in range(offsets[code], seen_end(code, offsets, row_times, cutoff_of(cutoffs, example[b]))):
            row = np.uint32(rows[at])
            if (
                attribute < 0
                or holds(held, since, times, ages, first_age, row, attribute, condition, example[b], cutoffs)
            ) and fits(keys, equal, unequal, apart, variables, b, row):
                if n == room:  # the limit
                    return examples, longer, found
                examples[n], found[n] = example[b], row
                for v in range(before):
                    longer[n, v] = variables[b, v]
                for k in range(fresh.size):
                    longer[n, before + k] = keys[row, fresh[k]]
                n += 1
    if n == room:
        return examples, longer, found
    return examples[:n].copy(), longer[:n].copy(), found[:n].copy()
