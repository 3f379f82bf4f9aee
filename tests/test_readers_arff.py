"""ARFF files: one table with declared types."""

from __future__ import annotations

import numpy as np
import pytest

from hornboost.data import Database
from hornboost.errors import DataError

TEXT = """% a comment
@RELATION 'the weather'
@attribute outlook {sunny, overcast, 'very rainy'}
@attribute "the temperature" real
@attribute note string
@attribute seen date "yyyy-MM-dd"
@attribute play {yes, no}

@data
sunny, 85, 'it''s', 1970-01-02, no
'very rainy', ?, plain, ?, yes
% another
?,70.5,"x",1970-01-03,yes
"""


def arff(path, text=TEXT):
    (path / "weather.arff").write_bytes(text if isinstance(text, bytes) else text.encode())
    return path / "weather.arff"


def test_declared_types_missing_values_and_quotes_are_read(tmp_path):
    db = Database.from_arff(arff(tmp_path, TEXT.replace('"x"', "x")))
    columns = db.tables["the_weather"].columns
    assert list(columns) == ["outlook", "the temperature", "note", "seen"]
    assert columns["outlook"].values.tolist() == [0, 1, -1]
    assert list(columns["outlook"].categories) == ["sunny", "very rainy"]
    np.testing.assert_array_equal(columns["the temperature"].values, [85, np.nan, 70.5])
    day = 86_400_000_000
    np.testing.assert_array_equal(columns["seen"].values, [day, np.nan, 2 * day])
    assert columns["seen"].is_date
    assert "it's" in columns["note"].categories


def test_the_last_attribute_is_the_label_unless_one_is_named(tmp_path):
    db = Database.from_arff(arff(tmp_path), positive="yes")
    assert db.examples()[1].tolist() == ["no", "yes", "yes"]
    assert db.inferred == ("the last attribute 'play' is the label",)
    other = Database.from_arff(arff(tmp_path), label="note")
    assert (other.target.label, other.inferred) == ("note", ())


def test_sparse_rows_leave_out_zeros(tmp_path):
    text = (
        "@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute y {no, yes}\n@data\n{0 1.5, 2 "
        "yes}\n{1 2}\n"
    )
    db = Database.from_arff(arff(tmp_path, text))
    assert db.tables["r"].columns["a"].values.tolist() == [1.5, 0.0]
    assert db.tables["r"].columns["b"].values.tolist() == [0.0, 2.0]
    assert db.examples()[1].tolist() == ["yes", "no"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((", 85,", ", hot,"), r"weather.arff: attribute 'the temperature': row 1 holds 'hot', which is not a number"),
        (
            ("sunny, 85", "snowy, 85"),
            r"weather.arff: attribute 'outlook': line 10 holds 'snowy', which is not among the declared values",
        ),
        (("sunny, 85, ", "sunny, "), r"weather.arff: line 10 has 4 values for 5 attributes"),
        (
            ("1970-01-02, no", "tomorrow, no"),
            r"weather.arff: attribute 'seen': .*; correct the value or the date format",
        ),
        (("@data", "@dta"), r"weather.arff: line 9: '@dta' is no ARFF declaration"),
        (("note string", "note relational"), r"weather.arff: line 5: attribute 'note' has the type 'relational'"),
        (("@attribute note string", "@attribute note"), r"weather.arff: line 5: '@attribute note' is no attribute"),
        (("note string", "outlook string"), r"weather.arff: table 'the_weather' has the column 'outlook' twice"),
        ((TEXT[TEXT.index("sunny, 85") :], ""), r"weather.arff: the target table 'the_weather' has no rows"),
        ((TEXT[TEXT.index("@data") :], ""), r"weather.arff: there is no @data line"),
    ],
)
def test_bad_arff_files_are_refused_in_one_sentence(tmp_path, change, message):
    assert change[0] in TEXT
    with pytest.raises(DataError, match=message) as caught:
        Database.from_arff(arff(tmp_path, TEXT.replace(*change, 1)))
    assert "\n" not in str(caught.value)


def test_files_that_are_not_utf8_or_not_there_are_named(tmp_path):
    with pytest.raises(DataError, match=r"weather.arff: the file is not UTF-8 text"):
        Database.from_arff(arff(tmp_path, TEXT.encode().replace(b"plain", b"\xff")))
    with pytest.raises(DataError, match=r"absent.arff: the file cannot be read"):
        Database.from_arff(tmp_path / "absent.arff")


def test_options_state_the_task(tmp_path):
    with pytest.raises(DataError, match=r"table 'the_weather' has no column 'plya'; did you mean 'play'\?"):
        Database.from_arff(arff(tmp_path), label="plya")
    assert "note" not in Database.from_arff(arff(tmp_path), exclude_columns=["note"]).tables["the_weather"].columns


SPARSE = """@relation r
@attribute a numeric
@attribute colour {red, blue, 'sea, deep'}
@attribute class {yes, no}
@data
{0 1}
{0 2, 2 no}
{1 blue,0 3}
{ 1 'sea, deep' , 2 no }
{}
"""


def test_a_sparse_row_leaves_out_zeros_and_first_declared_values(tmp_path):
    X, y = Database.from_arff(arff(tmp_path, SPARSE)).examples()
    assert X["a"].tolist() == [1, 2, 3, 0, 0]
    assert X["colour"].tolist() == ["red", "red", "blue", "sea, deep", "red"]
    assert y.tolist() == ["yes", "no", "yes", "no", "yes"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SPARSE.replace("{0 1}", "{0 1, 0 2}"), r"line 6: ' 0 2}' is no sparse value"),
        (SPARSE.replace("{0 1}", "{7 1}"), r"line 6: '7 1}' is no sparse value"),
        (SPARSE.replace("{0 1}", "{0 1"), r"line 6: '0 1' is no sparse value"),
        (SPARSE.replace("{0 1}", "0, red, yes"), r"line 7 has 2 values"),
        (SPARSE.replace("a numeric", "a string").replace("{}", "{1 red}"), r"line 9: the sparse row leaves out 'a'"),
        (
            SPARSE.replace("'sea, deep'}", "'sea, deep'"),
            r"line 3: the values of attribute 'colour' do not end in a brace",
        ),
        (TEXT.replace("sunny, 85", "'sunny\n, 85", 1), r"line 10: a quote is not closed on its line"),
        (TEXT.replace("sunny, 85", "sunny" * 40_000 + ", 85", 1), r"line 10: the line cannot be read"),
    ],
)
def test_lines_that_do_not_fit_are_named(tmp_path, text, message):
    with pytest.raises(DataError, match=message) as caught:
        Database.from_arff(arff(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_only_ends_of_lines_end_lines(tmp_path):
    db = Database.from_arff(arff(tmp_path, SPARSE.replace("blue", "bl\x85u\u2028e")))
    assert db.examples()[0]["colour"].tolist()[2] == "bl\x85u\u2028e"
