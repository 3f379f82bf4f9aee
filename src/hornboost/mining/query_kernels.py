"""Compiled loops of query mining: from the bindings of a family of queries to the coverage of all of their refinements.

A family are queries that differ in their last condition only, each of them a slot. The conditions that an example
reaches under a slot are a set of bits, 64 a word (bit 0 is the bare literal); `supports` and `hits` turn them into
supports and coverage. Bindings are sorted by example. Kernels take arrays, no tuples of ours: compiled code on disk
would name the tuples' types, which another version may not have. Where nothing has a time, what only times need is
None, and numba leaves out what asks for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hornboost.engine.key_kernels import distinct, leads, same
from hornboost.jit import inner, jit
from hornboost.mining.row_kernels import (
    Codes,
    Cutoffs,
    Floats,
    HeldRows,
    Places,
    Words,
    cutoff_of,
    fits,
    holds,
    is_aged,
    is_known,
    is_like_the_one_before,
    seen_end,
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


_FIRST_BIT = np.empty(64, np.int64)
_FIRST_BIT[[((0x03F79D71B4CB0A89 << k) % (1 << 64)) >> 58 for k in range(64)]] = np.arange(64)
"""The place of a bit by a product whose highest six bits differ for all 64 of them (de Bruijn)."""


@inner
def _first_bit(word: np.uint64) -> tuple[np.uint64, int]:
    """The lowest bit of a word, alone and as a number."""
    lowest = word & (~word + np.uint64(1))
    return lowest, _FIRST_BIT[(lowest * np.uint64(0x03F79D71B4CB0A89)) >> np.uint64(58)]


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
            total += seen_end(offsets, times, code, cutoff_of(cutoffs, example[b])) - offsets[code]
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

    Bindings in a row that ask the same are asked once, and all of them where the joined variable decides. Under slots
    that reach all that is `known` to be within an example's reach, from a more general query, nothing more is asked.
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
    is_told = False
    n_ages, n_last_ages, some_late, some_last_late = 0, 0, False, False
    if since is not None and last_since is not None and ages is not None and last_ages is not None:
        n_ages, n_last_ages = ages.shape[0], last_ages.shape[0]
        some_late, some_last_late = since.shape[0] > 0, last_since.shape[0] > 0
    own = np.empty(last_held.shape[1] + 1 + n_last_ages, np.uint32)
    own[0] = max(whole, 0)
    # written out, and indexed without signs: with a call to `_fits` this loop measures a quarter slower
    for b in range(example.size):
        e = np.uint32(example[b])
        is_told = repeats and is_told and is_like_the_one_before(example, variables, b, used)
        n_own = first
        cutoff = cutoff_of(cutoffs, e)
        for a in range(last_held.shape[1]):
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
        if not is_told:
            is_told = True
            for k in range(n_touched):
                words[touched[k]] = 0
            n_touched = 0
            if decisive and asked[code] == e:
                for w in range(n_words):
                    words[w], touched[w] = told[code, w], w
                n_touched = n_words
            else:
                for at in range(offsets[code], seen_end(offsets, row_times, code, cutoff)):
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


@jit
def supports(
    reached: Words, n_conditions: int, classes: Codes, weights: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """The weight by class of the examples that reach each condition, slot by slot."""
    n_slots, n_examples, width = reached.shape
    support = np.zeros((n_slots * n_conditions, n_classes))
    for slot in range(n_slots):
        for e in range(n_examples):
            for w in range(width):
                left = reached[slot, e, w]
                while left:
                    bit, place = _first_bit(left)
                    left ^= bit
                    support[slot * n_conditions + 64 * w + place, classes[e]] += weights[e]
    return support


@jit
def frequent(support: NDArray[np.float64], thresholds: NDArray[np.float64]) -> NDArray[np.int64]:
    """The conditions whose weight in some class, or in all (the last of `thresholds`), reaches its threshold."""
    found = np.empty(support.shape[0], np.int64)
    n = 0
    for k in range(support.shape[0]):
        total = 0.0
        reached = False
        for c in range(support.shape[1]):
            total += support[k, c]
            reached = reached or support[k, c] >= thresholds[c]
        if total > 0 and (reached or total >= thresholds[-1]):
            found[n] = k
            n += 1
    return found[:n].copy()


@jit
def hits(reached: Words, n_conditions: int, found: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The examples that reach some conditions, as bits; the conditions are counted slot by slot."""
    n_examples = reached.shape[1]
    out = np.zeros((found.size, (n_examples + 7) // 8), np.uint8)
    for k in range(found.size):
        slot, condition = found[k] // n_conditions, found[k] % n_conditions
        w, bit = condition >> 6, np.uint64(1) << np.uint64(condition & 63)
        for e in range(n_examples):
            if reached[slot, e, w] & bit:
                out[k, e >> 3] |= np.uint8(128 >> (e & 7))
    return out


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
            room += seen_end(offsets, row_times, code, cutoff_of(cutoffs, example[b])) - offsets[code]
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
        for at in range(offsets[code], seen_end(offsets, row_times, code, cutoff_of(cutoffs, example[b]))):
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
