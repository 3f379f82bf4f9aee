"""The exact functions are as near to the truth as they say, and the same compiled as interpreted."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from hornboost import exact

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    math.inf,
    -math.inf,
    math.nan,
    5e-324,
    -5e-324,
    2.2e-308,
    1.7e308,
    -1.7e308,
    709.78,
    709.79,
    -745.1,
    -745.2,
]


def positives() -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    near_one = 1.0 + rng.uniform(-1e-5, 1e-5, 400)
    return np.concatenate(
        [rng.random(400), rng.uniform(0.5, 2.0, 400), near_one, 10.0 ** rng.uniform(-323.0, 308.0, 400)]
    )


def exponents() -> NDArray[np.float64]:
    rng = np.random.default_rng(1)
    return np.concatenate([rng.uniform(-2.0, 2.0, 400), rng.uniform(-708.0, 709.0, 400), rng.uniform(-1e-4, 1e-4, 400)])


def above_minus_one() -> NDArray[np.float64]:
    rng = np.random.default_rng(2)
    return np.concatenate(
        [rng.uniform(-1.0, 20.0, 400), rng.uniform(-1e-3, 1e-3, 400), 10.0 ** rng.uniform(-300.0, 300.0, 400)]
    )


@pytest.mark.parametrize(
    ("function", "truth", "numbers", "units"),
    [
        (exact.log, lambda x: x.ln(), positives(), 1.0),
        (exact.exp, lambda x: x.exp(), exponents(), 1.0),
        (exact.log1p, lambda x: (1 + x).ln(), above_minus_one(), 2.0),
    ],
    ids=["log", "exp", "log1p"],
)
def test_results_are_within_the_stated_units_of_the_last_place(
    function: Callable[[float], float], truth: Callable[[Decimal], Decimal], numbers: NDArray[np.float64], units: float
) -> None:
    with localcontext() as context:
        context.prec = 400
        values = {x: function(x) for x in numbers[::5].tolist()}
        errors = [abs(Decimal(value) - truth(Decimal(x))) / Decimal(math.ulp(value)) for x, value in values.items()]
    assert max(errors) < units


@pytest.mark.parametrize(
    ("one", "all_of", "numbers"),
    [
        (exact.log, exact.logs, positives()),
        (exact.exp, exact.exps, exponents()),
        (exact.log1p, exact.log1ps, above_minus_one()),
    ],
    ids=["log", "exp", "log1p"],
)
def test_compiled_and_interpreted_functions_give_the_same_bits(
    one: Callable[[float], float],
    all_of: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    numbers: NDArray[np.float64],
) -> None:
    cases = np.concatenate([numbers, SPECIAL])
    interpreted = np.array([one(x) for x in cases.tolist()])
    np.testing.assert_array_equal(all_of(cases).view(np.int64), interpreted.view(np.int64))


@pytest.mark.parametrize(
    ("function", "library"), [(exact.logs, np.log), (exact.exps, np.exp), (exact.log1ps, np.log1p)]
)
def test_special_values_are_those_of_the_library(
    function: Callable[[list[float]], NDArray[np.float64]], library: np.ufunc
) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(function(SPECIAL), library(SPECIAL), rtol=1e-14)


@pytest.mark.parametrize("shape", [(), (0,), (3, 2), (2, 0)])
def test_arrays_keep_their_shape(shape: tuple[int, ...]) -> None:
    assert exact.logs(np.ones(shape)).shape == shape
    assert exact.exps(np.ones((4, 6), dtype=np.int64)[::2, ::3]).tolist() == [[exact.exp(1.0)] * 2] * 2


def test_a_total_does_not_depend_on_the_order() -> None:
    numbers = 10.0 ** np.random.default_rng(0).uniform(-12.0, 12.0, 1000)
    assert exact.total(numbers) == exact.total(numbers[::-1]) == exact.total(np.sort(numbers))


def test_a_total_of_many_numbers_is_rounded_once() -> None:
    rng = np.random.default_rng(0)
    wide = rng.standard_normal(2000) * 10.0 ** rng.uniform(-300.0, 300.0, 2000)
    tiny = rng.standard_normal(2000) * 1e-310
    cancelling = np.concatenate([wide, -wide[::-1], [1e-300]])
    equal = np.full(20_000, 0.1)
    for numbers in (wide, tiny, cancelling, equal, -equal, np.zeros(500), equal.reshape(2, -1).T):
        assert exact.total(numbers) == float(sum(map(Fraction, numbers.ravel().tolist())))


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_total_with_a_number_that_is_not_finite_is_that(value: float) -> None:
    np.testing.assert_equal(exact.total(np.append(np.ones(1000), value)), value)
