"""The kernels: the same results compiled and as plain Python, one compiled version each,
and a word when they are compiled.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from hornboost import jit
from hornboost.engine import age_kernels, column_kernels, join_kernels, key_kernels, pair_kernels, sampling_kernels
from hornboost.engine.row_conditions import NO_CONDITIONS
from hornboost.engine.sampling import splitmix64
from hornboost.mining import query_kernels, row_kernels, selection_kernels, tally_kernels

SOURCE = Path(join_kernels.__file__).parents[2]
NO_CODES = np.empty((0, 0), np.int32)
UNCONSTRAINED = (NO_CODES, NO_CODES, NO_CODES, NO_CODES)
UNDATED = (np.empty(0, np.int64), np.empty(0))


def codes(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def longs(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(SOURCE), **environment}
    return subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, timeout=300
    )


def block() -> tuple[np.ndarray, ...]:
    """Three examples; keys 0, 1 and none; key 0 has rows 0 and 2, key 1 has row 1;
    one nominal and one numeric attribute.
    """
    in_index_order = np.array([[0, 0, -1], [2, -1, 1]], np.int32)
    return pair_kernels.build_block(
        True,
        codes(0, 1, 2),
        codes(0, 1, -1),
        longs(0, 2, 3),
        codes(0, 2, 1),
        *UNDATED,
        *UNCONSTRAINED,
        in_index_order,
        longs(0, 1),
        longs(2, 3),
        np.array([False, True]),
        longs(1, 4, 11),
        longs(0, 2, 2),
        longs(),
        np.empty((0, 0)),
        np.empty((2, 0), np.int32),
    )


def test_a_block_lists_what_each_example_satisfies() -> None:
    pairs, segment_example, segment_end, conditions, dropped = block()
    # bare, value 0, nominal missing, then >= by falling value (4, 5), <= by rising value (8, 9), numeric missing
    assert conditions.tolist() == [0, 1, 3, 4, 5, 8, 9, 10]
    assert segment_example.tolist() == [0, 1]
    first, second = pairs[: segment_end[0]], pairs[segment_end[0] : segment_end[1]]
    assert sorted(conditions[first]) == [0, 1, 4, 9, 10]
    assert sorted(conditions[second]) == [0, 3, 5, 8]
    assert not dropped


def test_an_equality_drops_rows() -> None:
    column = codes(7, 8, 7)[None, :]  # of the rows 0, 2 and 1
    reach = (
        codes(0, 1, -1),
        longs(0, 2, 3),
        codes(0, 2, 1),
        *UNDATED,
        column,
        codes(8, 7, 7)[None, :],
        NO_CODES,
        NO_CODES,
    )
    rows, up = join_kernels.expand(*reach, np.empty(0, np.bool_), *NO_CONDITIONS)
    assert (rows.tolist(), up.tolist()) == ([2, 1], [0, 1])


def test_an_inequality_and_a_mask_keep_what_passes_both() -> None:
    column = codes(7, 8, -1)[None, :]  # of the rows 0, 2 and 1
    reach = (codes(0, 1), longs(0, 2, 3), codes(0, 2, 1), *UNDATED, NO_CODES, NO_CODES, column, codes(7, 7)[None, :])
    assert join_kernels.expand(*reach, np.empty(0, np.bool_), *NO_CONDITIONS)[0].tolist() == [2]
    assert join_kernels.expand(*reach, np.array([True, True, False]), *NO_CONDITIONS)[0].tolist() == []


def test_null_and_unknown_keys_lead_nowhere_and_null_neither_equals_nor_differs() -> None:
    # only kernels can call the compiled functions
    leads, same, distinct = (
        getattr(f, "py_func", f) for f in (key_kernels.leads, key_kernels.same, key_kernels.distinct)
    )
    offsets = longs(0, 2, 3)
    assert [leads(code, offsets) for code in (-1, 0, 1, 2)] == [False, True, True, False]
    pairs = [(1, 1), (1, 2), (-1, -1), (-1, 1), (1, -1), (np.nan, np.nan), (np.nan, 1.0), (1.0, np.nan)]
    assert [same(*pair) for pair in pairs] == [True, *[False] * 7]
    assert [distinct(*pair) for pair in pairs] == [False, True, *[False] * 6]


def features() -> tuple[np.ndarray, ...]:
    """Of three rows (1, 2), (3, 3), (NaN, 3): is the first number at least 2, is it missing,
    do both differ, is something below.
    """
    matrix = np.array([[1.0, 2.0], [3.0, 3.0], [np.nan, 3.0]])
    what = np.array([[0, 0, 0], [1, 0, 0], [3, 0, 1], [4, 0, 0]], np.int64)
    return matrix, longs(0, 1, 2, 3, 4), what, np.array([[2.0, np.inf], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])


REACH = (codes(0, 1, -1), longs(0, 2, 3), codes(0, 2, 1), *UNDATED, *UNCONSTRAINED)
"""Three entries: the first one's key leads to the rows 0 and 2, the second one's to row 1, the third has none."""


def test_features_are_those_of_some_row_behind_an_entry_and_the_first_such_row_is_its_witness() -> None:
    matrix, first, what, bounds = features()
    alone = matrix, first[:4], what[:3], bounds[:3]
    found = np.zeros((3, 3), np.bool_)
    join_kernels.exists(*REACH, *alone, found)
    assert found.tolist() == [[False, True, True], [True, False, False], [False, False, False]]
    assert [join_kernels.first_row(longs(0), f, *REACH, *alone).tolist() for f in (1, 2)] == [[2], [0]]


def test_keys_that_an_example_has_again_are_told_once_with_their_number() -> None:
    example = codes(0, 0, 0, 0, 2, 2, 3)
    keys = np.stack([codes(5, 5, 6, 5, 5, -1, 5), codes(1, 1, 1, 2, 1, 1, 1)])
    kept, times = np.empty(7, np.int32), np.empty(7, np.int32)
    n = join_kernels.distinct_keys(example, keys, kept, times)
    assert kept[:n].tolist() == [0, 2, 3, 4, 5, 6]
    assert times[:n].tolist() == [2, 1, 1, 1, 1, 1]
    offsets = longs(0, 0, 0, 0, 0, 0, 3, 4)
    rows = join_kernels.count_reached(keys[0], offsets, longs())
    assert join_kernels.count_repeated(keys[0, kept[:n]], offsets, longs(), times[:n]) == rows == 16


def test_what_lies_below_counts_when_entries_are_combined() -> None:
    matrix, first, what, bounds = features()
    rows, up = join_kernels.expand(*REACH, np.empty(0, np.bool_), matrix, first[:3], what, bounds)
    assert (rows.tolist(), up.tolist()) == ([2, 1], [0, 1])  # row 0 is neither large nor missing
    below = np.array([[False], [True]])
    found = np.zeros((3, 4), np.bool_)
    join_kernels.combine(rows, up, np.empty(0), matrix, below, first, what, bounds, found)
    assert found.tolist() == [[False, True, False, False], [True, False, False, True], [False] * 4]
    assert join_kernels.first_below(
        longs(1), 3, rows, up, np.empty(0), matrix, below, first, what, bounds
    ).tolist() == [1]


@pytest.mark.parametrize(("is_covered", "last"), [(True, 7), (False, 0)])
def test_weights_of_covered_examples_are_summed_by_condition_and_class_and_thresholds_cumulated(
    is_covered: bool, last: int
) -> None:
    out = np.zeros((3, 2), np.int64)
    covered = np.array([True, True, is_covered])
    pairs = codes(0, 2), longs(0, 2, 3), codes(0, 1, 2), longs(1), longs(3)
    pair_kernels.weigh(*pairs, longs(5, 100, 7), covered, codes(0, 1, 1), out)
    assert out.tolist() == [[5, 0], [5, 0], [5, last]]


def test_slots_tell_the_conditions_of_an_example_in_each_column() -> None:
    # a number with two thresholds in each direction and some missing, and a name of two values: ten and four, or none
    places = longs(0, 4, 7), longs(0, 5), longs(2, 0)
    slots = np.empty((4, 2), np.uint16)
    # a number is its larger threshold, 0, and its smaller one, 3, or 1 and 2, or 4, which says that it is missing
    assert column_kernels.slots_of(longs(3, 6, 8, 8), codes(0, 3, 5, 1, 2, 6, 4, 5), *places, slots)
    assert slots.tolist() == [[0, 0], [1, 1], [2, 0], [3, 2]]
    assert not column_kernels.slots_of(longs(2), codes(0, 2), *places, slots.copy()), "two values"
    assert not column_kernels.slots_of(longs(2), codes(5, 6), *places, slots.copy()), "two names"
    covered = np.array([True, True, True, False])
    whole, tightest = np.zeros((7, 2), np.int64), np.zeros((7, 1), np.int64)
    channels = np.array([[1, -1], [10, -10], [100, -100], [1000, -1000]])
    column_kernels.sum_up(slots, *places, channels, covered, whole, True)
    assert whole.tolist() == [[n, -n] for n in (1, 11, 10, 11, 100, 101, 10)]
    column_kernels.weigh(slots, *places, longs(1, 10, 100, 1000), covered, codes(0, 0, 0, 0), tightest, False)
    assert tightest.ravel().tolist() == [1, 10, 10, 1, 100, 101, 10]


@pytest.mark.parametrize("n_raw", [10, 10_000_000])
def test_conditions_are_renumbered_in_order_however_many_there_may_be(n_raw: int) -> None:
    pairs = codes(9, 4, 9, 0)
    assert pair_kernels.compress(pairs, n_raw).tolist() == [0, 4, 9]
    assert pairs.tolist() == [2, 1, 2, 0]


def test_hashes_of_examples_are_those_of_the_plain_formula() -> None:
    content = np.array([0, 1, 2**64 - 1], np.uint64)
    counter = np.array([12345], np.uint64)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(sampling_kernels.mixed(content, counter), splitmix64(content ^ counter))


def test_entries_die_with_their_parents_and_are_renumbered() -> None:
    alive = np.array([True, True, False, True])
    join_kernels.keep_below(codes(0, 0, 1, 2), alive, np.array([False, True, True]))
    assert alive.tolist() == [False, False, False, True]
    assert join_kernels.has_live_child(codes(0, 0, 1, 2), alive, 3).tolist() == [False, False, True]
    assert not join_kernels.drops_within(codes(0, 0, 1, 2), alive, np.array([False, False, True]))
    assert join_kernels.drops_within(codes(0, 0, 1, 2), alive, np.array([False, True, True]))
    example, rows, up, _ = join_kernels.compact(
        codes(0, 0, 1, 2), codes(5, 6, 7, 8), codes(0, 0, 1, 2), alive, codes(-1, 0, 1)
    )
    assert (example.tolist(), rows.tolist(), up.tolist()) == ([2], [8], [1])


HELD = row_kernels.HeldRows(np.array([[1], [1], [2], [2], [1], [1]], np.int32))
"""Bonds of two kinds."""


def bonded() -> query_kernels.Prepared:
    """Example 0 has the atoms 0, 1 and 2 in a chain, example 1 the atoms 3 and 4; bonds both ways; no atom twice."""
    keys = np.array([[0, 1], [1, 0], [1, 2], [2, 1], [3, 4], [4, 3]], np.int32)
    offsets, rows = longs(0, 1, 3, 4, 5, 6), codes(0, 1, 2, 3, 4, 5)
    none = np.empty((0, 2), np.uint32)
    differ, fresh, used = np.array([[1, 0], [1, 1]], np.uint32), np.array([1], np.uint32), np.array([0, 1], np.uint32)
    return query_kernels.Prepared(np.uint32(1), offsets, rows, keys, none, differ, none, fresh, used, False)


def test_a_literal_reaches_conditions_for_each_query_of_a_family_and_no_further_than_is_known() -> None:
    example, rows = codes(0, 0, 0, 0, 1, 1), codes(0, 1, 2, 3, 4, 5)
    bound = np.array([[0, 1], [1, 0], [1, 2], [2, 1], [3, 4], [4, 3]], np.int32)
    # the bare literal, and a bond of kind 2
    family = query_kernels.Slots(HELD, codes(-1, -1, 1), 0, 2)
    unknown = np.full((2, 1), 2**64 - 1, np.uint64)
    reached = query_kernels.reach_literal(example, bound, rows, family, bonded(), HELD, unknown)
    # a third atom follows in example 0 only: 0-1-2 by a bond of kind 2, 2-1-0, after one of kind 2, by one of kind 1
    assert reached[:, :, 0].tolist() == [[0b111, 0], [0b011, 0]]
    without_the_bare_one = query_kernels.Slots(HELD, codes(-1, -1, 0), -1, 1)
    assert (
        query_kernels.reach_literal(example, bound, rows, without_the_bare_one, bonded(), HELD, unknown).tolist()
        == reached[1:].tolist()
    )
    alone = query_kernels.Slots(HELD, codes(-1, -1, -1), 0, 1)
    fewer = query_kernels.reach_literal(
        example, bound, rows, alone, bonded(), HELD, np.array([[0b101], [0]], np.uint64)
    )
    assert fewer[:, :, 0].tolist() == [[0b101, 0]]


def test_bits_are_tallied_by_class_and_frequent_ones_tell_whom_they_cover() -> None:
    reached = np.zeros((2, 3, 2), np.uint64)
    reached[0, :, 0] = [0b11, 0b01, 0b01]
    reached[1, :, 1] = [1 << 63, 0, 1 << 63]
    support = tally_kernels.supports(reached, 128, codes(0, 1, 1), np.array([1.0, 2.0, 4.0]), 2)
    found = tally_kernels.frequent(support, np.array([np.inf, np.inf, 5.0]))
    assert found.tolist() == [0, 128 + 127]
    assert support[found].tolist() == [[1.0, 6.0], [1.0, 4.0]]
    assert tally_kernels.hits(reached, 128, found).tolist() == [[0b11100000], [0b10100000]]
    starts, conditions, supports, hits = tally_kernels.tally(
        reached, 128, codes(0, 1, 1), np.array([1.0, 2.0, 4.0]), 2, np.array([np.inf, np.inf, 5.0])
    )
    assert (starts.tolist(), conditions.tolist()) == ([0, 1, 2], [0, 127])
    assert (supports.tolist(), len(hits)) == (support[found].tolist(), 2)


def test_bindings_follow_a_literal_and_a_condition_on_its_row() -> None:
    shape = bonded()
    example = codes(0, 0, 0, 0, 1, 1)
    bound = np.array([[0, 1], [1, 0], [1, 2], [2, 1], [3, 4], [4, 3]], np.int32)
    extended = query_kernels.extend(example, bound, shape, HELD, -1, 0, 9)
    assert [found.tolist() for found in extended] == [[0, 0], [[0, 1, 2], [2, 1, 0]], [2, 1]]
    assert [found.tolist() for found in query_kernels.extend(example, bound, shape, HELD, 0, 1, 9)] == [
        [0],
        [[2, 1, 0]],
        [1],
    ]
    assert [found.tolist() for found in query_kernels.select(*extended, HELD, 0, 2)] == [[0], [[0, 1, 2]], [2]]
    assert [len(found) for found in query_kernels.extend(example, bound, shape, HELD, -1, 0, 0)] == [1, 1, 1]
    assert query_kernels.count_reached(example, bound, shape.variable, shape.offsets, None, None) == 8
    family = query_kernels.Slots(HELD, codes(-1, -1, -1), 0, 1)
    assert query_kernels.reach_tests(codes(0, 1), codes(2, 4), family, 2, 1).tolist() == [[[0b101], [0b011]]]


def test_columns_share_what_both_have() -> None:
    packed = np.array([[0b0111, 0b1], [0b0101, 0b1], [0b1000, 0b0]], np.uint64)
    grouped, weighted = np.empty(3), np.empty(3)
    selection_kernels.shared_counts(packed, 0, longs(1, 2), np.array([1.0, 0.5]), grouped)
    selection_kernels.shared_weights(packed, longs(0, 2, 3), np.array([1.0, 2.0, 4.0, 8.0]), weighted)
    assert (grouped.tolist(), weighted.tolist()) == ([3.5, 2.5, 0.0], [5.0, 5.0, 8.0])
    told = np.empty(2)
    values = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], np.uint16)
    selection_kernels.information_with(values, longs(2, 2), values[0], 2, np.ones(4), told)
    assert told.tolist() == pytest.approx([np.log(2), 0.0])


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="this is the run without compilation")
def test_the_kernels_do_the_same_uncompiled() -> None:
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout


MIXED = """
import numpy as np, pyarrow as pa
from numba.core.registry import CPUDispatcher
from hornboost import Database
from hornboost.engine import Coverage, Engine, Numbers, blocks, closing, columns, reaching
from hornboost.engine import column_kernels, join_kernels, pair_kernels
from hornboost.learners.clauses import weights_in_units
from hornboost.logic.clause import Clause

def read_only(array):
    array.setflags(write=False)
    return array

db = Database.from_frames(
    {
        "person": pa.table({"person": [1, 2, 3, 4], "age": [1.0, None, 3.0, 3.0], "label": ["1", "0", "1", "0"]}),
        "owns": pa.table(
            {
                "person": [3, 1, 2, 2, 1],
                "thing": [1, 2, 1, 3, None],
                "since": [1.0, 2.0, None, 1.0, 2],
                "kind": ["a", "b", "c", "a", None],
            }
        ),
        "knows": pa.table({"one": [1, 2, 3, 1], "other": [2, 1, 1, 1]}),
        "thing": pa.table({"thing": [1, 2, 3, 4], "colour": ["red", "red", "blue", None]}),
    },
    target="person", key="person", label="label",
    foreign_keys=[
        ("owns.person", "person.person"), ("owns.thing", "thing.thing"),
        ("knows.one", "person.person"), ("knows.other", "person.person"),
    ],
)
X = db.examples()[0]
weights = weights_in_units(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4))
classes = np.array([0, 1, 0, 2])
for large in (200_000, 0):
    blocks.LARGE, closing.WORTH = large, 4 if large else 0
    columns.LARGE, columns.FEW = large, 1
    reaching.pays = lambda held, rows, small=not large: small
    for n_jobs in (1, 2):
        for constants in ((), tuple(db.domains)):
            engine = Engine(db, db.encode(X), n_jobs=n_jobs, max_depth=3, constants=constants)
            states = [engine.root()]
            for state in states:
                frontier = engine.frontier(state)
                engine.score(frontier, weights, classes, 3)
                engine.score(frontier, read_only(weights.copy()), read_only(classes.astype(np.int32)), 3)
                engine.covered_weight(state, read_only(weights.copy()), classes, 3)
                Numbers(2, np.stack([weights, -weights], axis=1)).of(engine, frontier)
                if len(states) < 200:
                    states += [engine.refine(state, frontier.refinement(k)) for k in range(0, len(frontier), 7)]
for text in (
    'label="1" :- person(person=P), knows(one=P, other=Q), knows(one=Q, other=P), P != Q.',
    'label="1" :- person(person=P, age>=2), owns(person=P, thing=T), owns(thing=T, person=Q), Q != P, '
    "thing(thing=T, colour is missing).",
    'label="1" :- person(person=P), thing(colour="red").',
):
    coverage = Coverage.of(db, [Clause.parse(text)])
    for examples in (db.encode(X), db.encode(X[:1])):
        coverage.covered(examples)
        for _, trace in coverage.traced(examples):
            trace.witnesses(0, np.flatnonzero(trace.covered[:, 0]))
both = {**vars(join_kernels), **vars(pair_kernels), **{f"{k} of columns": v for k, v in vars(column_kernels).items()}}
kernels = {name: kernel for name, kernel in both.items() if isinstance(kernel, CPUDispatcher)}
called = {name: kernel for name, kernel in kernels.items() if "no_cpython_wrapper" not in kernel.targetoptions}
found = {name: len(kernel.signatures) for name, kernel in called.items()}
print({name: n for name, n in found.items() if n > 1})
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_no_kernel_is_compiled_for_two_kinds_of_arrays(tmp_path: Path) -> None:
    # kernels that others call are seen only when those are compiled, too
    assert python(MIXED, NUMBA_CACHE_DIR=str(tmp_path)).stdout.strip().splitlines()[-1] == "{}"


COMPILING = (
    "hornboost: compiling what is used for the first time, which no time limit counts; later runs load it from disk\n"
)
BUILD = "import numpy as np; from hornboost.data.index import KeyIndex; KeyIndex.build(np.zeros(1, np.int32), 1)"


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_a_compilation_is_logged_and_never_printed(tmp_path: Path) -> None:
    shown = "import logging; logging.basicConfig(level='INFO', format='%(name)s: %(message)s')\n"
    quiet = python(BUILD, NUMBA_CACHE_DIR=str(tmp_path / "quiet"))
    runs = [python(shown + BUILD, NUMBA_CACHE_DIR=str(tmp_path / "logged")) for _ in range(2)]
    assert [run.stderr for run in (quiet, *runs)] == [
        "",
        COMPILING,
        "",
    ]
    assert not quiet.stdout


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_the_command_line_says_that_kernels_are_compiled(tmp_path: Path) -> None:
    shown = f"from hornboost.cli.output import show_log; show_log()\n{BUILD}"
    run = python(shown, NUMBA_CACHE_DIR=str(tmp_path))
    assert run.stderr == COMPILING


def test_threads_that_compile_at_once_say_so_once() -> None:
    heard: list[str] = []

    class Slow(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            time.sleep(0.05)
            heard.append(record.getMessage())

    logger, handler = logging.getLogger("hornboost"), Slow()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(jit._log_once, ["told by four threads"] * 4))
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert heard == ["told by four threads"]


def test_importing_the_package_registers_no_listener() -> None:
    run = python(
        "from numba.core import event; import hornboost.jit; print(len(event._registered.get('numba:compile', [])))"
    )
    assert run.stdout.strip() == "0", run.stderr


def test_an_entry_sees_the_rows_of_its_key_before_its_cutoff() -> None:
    times = np.array([1.0, 2.0, 2.0, np.nan, 5.0])
    offsets, entries = longs(0, 4, 5), codes(0, 0, 0, 1, 1, -1, 2)
    stops = join_kernels.seen_stops(entries, offsets, times, np.array([1.0, 2.0, 9.0, 5.0, 5.5, 9.0, 9.0]))
    assert stops.tolist() == [0, 1, 3, 4, 5, 0, 0]
    assert join_kernels.count_reached(entries, offsets, stops) == 0 + 1 + 3 + 0 + 1


def test_ages_are_those_of_the_first_and_the_last_row_that_fit() -> None:
    times = np.array([1.0, 2.0, 4.0])
    column = codes(7, 8, 8)[None, :]
    for constraints, expected in (
        (UNCONSTRAINED, ([1.0, np.nan], [4.0, np.nan])),
        ((column, codes(8, 8)[None, :], NO_CODES, NO_CODES), ([1.0, np.nan], [3.0, np.nan])),
        ((column, codes(9, 9)[None, :], NO_CODES, NO_CODES), ([np.nan] * 2, [np.nan] * 2)),
    ):
        youngest, oldest = np.full(2, np.nan), np.full(2, np.nan)
        reach = codes(0, 1), codes(0, -1), longs(0, 3), codes(0, 1, 2), longs(3, 0), np.array([5.0, 5.0])
        age_kernels.age_extremes(0, 2, *reach, *constraints, times, youngest, oldest)
        np.testing.assert_array_equal((youngest, oldest), expected)


@pytest.mark.parametrize("n", [4, 6_000])
def test_conditions_on_ages_are_numbered_by_falling_and_by_rising_age(n: int) -> None:
    rng = np.random.default_rng(0)
    ages = np.where(rng.random(n) < 0.2, np.nan, rng.integers(1, 5_000, n) * 0.37)
    ages[:3] = [2.0, np.nan, 1.0]
    old, young, numbers = age_kernels.age_conditions(ages, ages)
    distinct = np.unique(ages[~np.isnan(ages)])
    assert old.tolist() == young.tolist() == distinct.tolist()
    rank = np.searchsorted(distinct, ages)
    known = ~np.isnan(ages)
    assert numbers[0].tolist() == np.where(known, distinct.size - 1 - rank, -1).tolist()
    assert numbers[1].tolist() == np.where(known, distinct.size + rank, -1).tolist()
