"""Numba kernels over the keys that entries share: which there are, and what is true of an example by its keys."""

from __future__ import annotations

import numpy as np

from hornboost.engine.key_kernels import Codes, Int, Longs, Mask, end, leads
from hornboost.jit import jit


@jit
def reached_keys(codes: Codes, offsets: Longs) -> tuple[Codes, Int]:
    """The distinct keys of some entries that lead to rows, in order, and how many rows they lead to."""
    is_reached = np.zeros(offsets.size - 1, np.bool_)
    for entry in range(codes.size):
        if leads(codes[entry], offsets):
            is_reached[codes[entry]] = True
    keys = np.empty(np.count_nonzero(is_reached), np.int32)
    n = n_rows = 0
    for key in range(is_reached.size):
        if is_reached[key]:
            keys[n] = key
            n += 1
            n_rows += offsets[key + 1] - offsets[key]
    return keys, n_rows


@jit
def reached_by_entry(codes: Codes, offsets: Longs, stops: Longs) -> Longs:
    """How many rows the join reaches from each entry."""
    out = np.zeros(codes.size, np.int64)
    for entry in range(codes.size):
        code = codes[entry]
        if leads(code, offsets):
            out[entry] = end(code, entry, offsets, stops) - offsets[code]
    return out


@jit
def united(
    lo: Int,
    hi: Int,
    example: Codes,
    codes: Codes,
    offsets: Longs,
    pairs: Codes,
    threshold: Codes,
    n_thresholds: Int,
) -> tuple[Codes, Codes, Longs, bool]:
    """For each example of the entries lo..hi the union of the pairs of its keys, of thresholds the tightest only.

    `offsets` says where the pairs of each key begin, `threshold` to which range of thresholds a condition belongs (-1:
    to none); the tighter ones come first. Returns pairs, the example of each segment, where its pairs end, and that no
    constraint dropped a row.
    """
    n_conditions = threshold.size
    size: Int = 0
    n_segments = 0
    for entry in range(lo, hi):
        if leads(codes[entry], offsets):
            size += offsets[codes[entry] + 1] - offsets[codes[entry]]
        n_segments += entry == lo or example[entry] != example[entry - 1]
    out = np.empty(size, np.int32)
    segment_example = np.empty(n_segments, np.int32)
    segment_end = np.empty(n_segments, np.int64)
    stamp = np.full(n_conditions, -1, np.int32)
    key_stamp = np.full(offsets.size, -1, np.int32)
    tightest = np.full(n_thresholds, n_conditions, np.int32)
    n = segment = 0
    entry = lo
    while entry < hi:
        who = example[entry]
        begin = n
        while entry < hi and example[entry] == who:
            key = codes[entry]
            entry += 1
            if not leads(key, offsets) or key_stamp[key] == who:
                continue
            key_stamp[key] = who
            for p in range(np.uint64(offsets[key]), np.uint64(offsets[key + 1])):
                condition = pairs[p]
                k = threshold[np.uint32(condition)]
                if k >= 0:
                    tightest[k] = min(tightest[k], condition)
                elif stamp[np.uint32(condition)] != who:
                    stamp[np.uint32(condition)] = who
                    out[n] = condition
                    n += 1
        for k in range(n_thresholds):
            if tightest[k] < n_conditions:
                out[n] = tightest[k]
                n += 1
                tightest[k] = n_conditions
        if n > begin:
            segment_example[segment] = who
            segment_end[segment] = n
            segment += 1
    return out[:n], segment_example[:segment], segment_end[:segment], False


@jit
def sums_by_holder(holder: Codes, n_holders: Int, channels: Longs, covered: Mask) -> Longs:
    """The sums of signed numbers, a column a channel, over the covered examples of each holder."""
    n_channels = channels.shape[1]
    out = np.zeros((n_holders, n_channels), np.int64)
    for who in range(holder.size):
        if covered[who]:
            for k in range(n_channels):
                out[np.uint32(holder[who]), k] += channels[who, k]
    return out


@jit
def weights_by_holder(holder: Codes, n_holders: Int, weights: Longs, classes: Codes, n_classes: Int) -> Longs:
    """The weight of the examples of each holder by class."""
    out = np.zeros((n_holders, n_classes), np.int64)
    for who in range(holder.size):
        out[holder[who], classes[who]] += weights[who]
    return out


@jit
def histogram(
    lo: Int, hi: Int, segment_holder: Codes, segment_start: Longs, pairs: Codes, held: Longs, out: Longs
) -> None:
    """Add the weight of each holder by class, which is none of most where there are many, to its conditions.

    Looks at the segments lo..hi.
    """
    n_classes = np.uint64(out.shape[1])
    cells = out.reshape(-1)
    for segment in range(np.uint64(lo), np.uint64(hi)):
        who = np.uint32(segment_holder[segment])
        for label in range(n_classes):
            weight = held[who, label]
            if weight != 0:
                for p in range(np.uint64(segment_start[segment]), np.uint64(segment_start[segment + np.uint64(1)])):
                    cells[np.uint64(np.uint32(pairs[p])) * n_classes + label] += weight
