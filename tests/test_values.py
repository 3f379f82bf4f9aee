"""What docs/values.md states: one text and one order of every type."""

import datetime as dt
import decimal
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornboost.data.values import check_key, moments, to_key_values, to_text
from hornboost.errors import DataError
from hornboost.logic.moment import LAST, exact_moment, moment_of, moment_text


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (pa.array([2**63 - 1, -(2**63), None]), ["9223372036854775807", "-9223372036854775808", None]),
        (pa.array([2**64 - 1], pa.uint64()), ["18446744073709551615"]),
        (pa.array([decimal.Decimal(2**127 - 1)], pa.decimal256(39, 0)), [str(2**127 - 1)]),
        (pa.array([1.0, -0.0, 0.1, 1e-7, 1e16]), ["1", "0", "0.1", "1e-07", "1" + "0" * 16]),
        (pa.array([1e300, math.inf, math.nan]), ["1e+300", "inf", None]),
        (pa.array([0.1, 16777216.0], pa.float32()), ["0.1", "16777216"]),
        (pa.array([decimal.Decimal("1.50"), decimal.Decimal("0.00"), decimal.Decimal("-2.00")]), ["1.50", "0.00",
        "-2.00"]),
        (pa.array([decimal.Decimal("0E-12")], pa.decimal128(20, 12)), ["0.000000000000"]),
        (pa.array([True, False, None]), ["true", "false", None]),
        (pa.array([dt.date(1998, 3, 1), None]), ["1998-03-01", None]),
        (pa.array([2**31 - 1, -(2**31) + 1], pa.int32()).view(pa.date32()), ["infinity", "-infinity"]),
        (pa.array([3670687, -735000], pa.int32()).view(pa.date32()), ["12020-01-01", "-0043-08-22"]),
        (pa.array([0, 250], pa.timestamp("us")), ["1970-01-01T00:00:00", "1970-01-01T00:00:00.000250"]),
        (pa.array([LAST, -LAST]).view(pa.timestamp("us")), ["infinity", "-infinity"]),
        (pa.array([-1, 1999], pa.timestamp("ns", "Asia/Tokyo")), ["1969-12-31T23:59:59.999999",
        "1970-01-01T00:00:00.000001"]),
        (pa.array([dt.time(10, 5), dt.time(10, 5, 0, 250)]), ["10:05:00", "10:05:00.000250"]),
        (pa.array(["a", ""]).cast(pa.large_string()), ["a", ""]),
    ],
)  # fmt: skip
def test_every_type_has_one_text(values, texts):
    assert to_text(values).to_pylist() == texts


@pytest.mark.parametrize("values", [pa.array([[1]]), pa.array([b"a"]), pa.array([dt.timedelta(1)])])
def test_what_has_no_text_is_refused(values):
    with pytest.raises(NotImplementedError):
        to_text(values)


def test_keys_of_19_digits_are_whole_numbers_and_longer_ones_text():
    assert to_key_values(pa.array(["9223372036854775807", "-1"])).to_pylist() == [2**63 - 1, -1]
    assert to_key_values(pa.array(["9223372036854775808", "1"])).to_pylist() == ["9223372036854775808", "1"]


def test_floats_that_cannot_tell_neighbours_apart_are_no_keys():
    assert to_key_values(pa.array([float(2**53), None])).to_pylist() == [2**53, None]
    with pytest.raises(DataError, match=r"t.k: keys beyond 2\^53 came as floats, .* 'Int64'"):
        check_key(pa.chunked_array([[float(2**53 + 2), None]]), "t.k")


@given(st.integers(-LAST, LAST))
def test_moments_read_back_from_their_text(count):
    assert exact_moment(moment_text(count)) == exact_moment(moment_text(count, day_only=False)) == count


@given(
    st.datetimes(
        timezones=st.sampled_from(
            [dt.UTC, dt.timezone(dt.timedelta(hours=-9, minutes=-30)), dt.timezone(dt.timedelta(hours=14))]
        )
    )
)
def test_an_offset_from_utc_is_taken_away(time):
    expected = (time - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
    assert exact_moment(time.isoformat()) == exact_moment(time.isoformat(sep=" ")) == expected
    assert moments(pa.array([time], pa.timestamp("us", "UTC"))).tolist() == [expected]


@pytest.mark.parametrize(
    "text",
    ["2023-02-29", "2023-13-01", "1-1-1", "2023-01-01T24:00", "2023-01-01T10", "999999-01-01", "x", "", "1998-03-01x"],
)
def test_what_is_no_moment_is_refused(text):
    with pytest.raises(ValueError, match=r"no date|beyond"):
        moment_of(text)


def test_moments_are_exact_doubles_in_our_centuries():
    for year in (1685, 2254):
        start = np.datetime64(f"{year}-06-15T12:00:00.000001", "us").astype(np.int64)
        assert moment_of(moment_text(int(start))) == int(start)
        assert len({float(start + step) for step in range(8)}) == 8
