"""`Database`: encoding, examples, folds, hidden columns, copies."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone

from hornboost.data import ArrowSource, Database, Domain, KeyIndex, parse_schema
from hornboost.data.convert import encode_nominal, factorize, to_numbers
from hornboost.data.values import to_key_values, to_text
from hornboost.engine import covers
from hornboost.errors import DataError

LOANS = pd.DataFrame(
    {
        "loan": [10, 11, 12, 13],
        "account": [1, 2, 2, None],
        "amount": [5.0, np.nan, 7.0, 8.0],
        "kind": ["a", "b", None, "a"],
        "fold": ["x", "x", "y", None],
        "status": ["A", "B", "C", "D"],
        "good": [1, 0, 1, 0],
    }
)
TRANSACTIONS = pd.DataFrame(
    {
        "account": [1, 1, 2, 9],
        "amount": [1.5, 2.5, 3.5, 4.5],
        "fold": ["x", "x", "y", "y"],
        "urgent": [True, False, None, True],
    }
)


def bank(**options):
    options = {
        "key": "loan",
        "label": "good",
        "positive": "1",
        "keys": {"loan": {"account": "account"}, "trans": {"account": "account"}},
    } | options
    return Database.from_frames({"loan": LOANS, "trans": TRANSACTIONS}, target="loan", foreign_keys=[], **options)


def test_columns_of_one_domain_share_codes():
    db = bank()
    decode = db.domains["account"].decode
    assert decode(db.tables["loan"].columns["account"].codes).to_pylist() == [1, 2, 2, None]
    assert decode(db.tables["trans"].columns["account"].codes).to_pylist() == [1, 1, 2, 9]
    assert db.domains["account"].size == 3


def test_arrays_are_int32_and_float64_contiguous_and_writable_so_that_kernels_have_one_signature():
    for table in bank().tables.values():
        for column in table.columns.values():
            assert column.values.dtype == (np.float64 if column.kind == "numeric" else np.int32)
            assert column.values.flags.c_contiguous
            assert column.values.flags.writeable


def test_nominals_are_sorted_text_and_booleans_are_true_and_false():
    urgent = bank().tables["trans"].columns["urgent"]
    assert (urgent.kind, list(urgent.categories), urgent.values.tolist()) == (
        "nominal",
        ["false", "true"],
        [1, 0, -1, 1],
    )


def test_the_label_and_excluded_columns_are_nowhere_in_the_tables():
    db = bank(exclude_columns=["status", "fold"])
    assert list(db.tables["loan"].columns) == ["loan", "account", "amount", "kind"]
    assert list(db.tables["trans"].columns) == ["account", "amount", "urgent"]
    assert list(db.examples()[0].columns) == ["loan", "account", "amount", "kind"]


def test_a_qualified_exclusion_hides_one_column_only():
    db = bank(exclude_columns=["trans.amount"])
    assert "amount" not in db.tables["trans"].columns
    assert "amount" in db.tables["loan"].columns


def test_a_plain_exclusion_does_not_hide_a_key():
    db = bank(
        exclude_columns=["account", "status"], keys={"loan": {"account": "account"}}, types={"trans.account": "nominal"}
    )
    assert "account" in db.tables["loan"].columns
    assert "account" not in db.tables["trans"].columns


def test_excluded_tables_are_not_there():
    assert list(bank(exclude_tables=["trans"]).tables) == ["loan"]


def test_a_label_of_two_classes_keeps_its_values():
    X, y = bank().examples()
    assert len(X) == 4
    assert y.tolist() == [1, 0, 1, 0]
    assert (bank().target.positive, bank().target.negative, bank().target.classes) == ("1", "0", ("0", "1"))


def test_several_positive_values_are_one_class():
    db = bank(label="status", positive=["A", "C"], negative=["B", "D"], exclude_columns=["good"])
    assert db.examples()[1].tolist() == ["A or C", "B or D", "A or C", "B or D"]
    assert (db.target.positive, db.target.negative) == ("A or C", "B or D")


def test_one_positive_value_against_the_rest():
    db = bank(label="status", positive="A", exclude_columns=["good"])
    assert db.examples()[1].tolist() == ["A", "not A", "not A", "not A"]


def test_without_a_positive_value_all_classes_stay():
    db = bank(label="status", positive=None, exclude_columns=["good"])
    assert db.examples()[1].tolist() == ["A", "B", "C", "D"]
    assert (db.target.positive, db.target.classes) == (None, ("A", "B", "C", "D"))


def test_where_takes_one_value_or_a_list():
    assert bank(where={"status": "A"}).examples()[0]["loan"].tolist() == [10]
    assert bank(where={"status": ["A", "D"]}).examples()[0]["loan"].tolist() == [10, 13]
    assert bank(where={"status": ["A", "B"], "amount": 5}).examples()[0]["loan"].tolist() == [10]


def test_rows_outside_where_stay_facts():
    assert bank(where={"status": "A"}).tables["loan"].n_rows == 4


def test_one_class_only_loads():
    db = bank(where={"good": 1})
    assert db.target.classes == ("1",)
    assert set(db.examples()[1]) == {1}


def test_rows_without_a_label_are_no_examples_to_learn_from_but_can_be_had():
    frame = LOANS.assign(good=[1, 0, None, 0])
    options = {"target": "loan", "key": "loan", "label": "good", "positive": 1}
    db = Database.from_frames({"loan": frame}, **options)
    X, y = db.examples()
    assert X.index.tolist() == y.index.tolist() == [0, 1, 3]
    assert y.tolist() == [1, 0, 0]
    assert db.unlabelled_rows.tolist() == [2]
    X, y = db.examples(labelled=False)
    assert (X.index.tolist(), y) == ([2], None)
    X, y = db.examples(labelled=None)
    assert X.index.tolist() == [0, 1, 2, 3]
    assert y.isna().tolist() == [False, False, True, False]
    only = Database.from_frames({"loan": frame}, **options, where={"good": [0, 1]})
    assert (len(only.examples()[1]), only.unlabelled_rows.size) == (3, 0)


def test_where_no_row_has_a_label_there_is_something_to_predict_and_nothing_to_learn():
    db = Database.from_frames({"loan": LOANS.assign(good=None)}, target="loan", key="loan", label="good", positive=1)
    assert len(db.examples(labelled=False)[0]) == len(db.examples(labelled=None)[0]) == 4
    with pytest.raises(
        DataError, match=r"table 'loan': none of 4 rows has a value of 'good', so nothing can be learned"
    ):
        db.examples()


@pytest.mark.parametrize(
    "where", ["good = 1", [("good", 1)], {"good": None}, {"good": {"at least": 1}}, {"good": []}, {"good": [[1]]}]
)
def test_a_where_that_is_not_understood_is_refused_with_the_way_to_write_it(where):
    with pytest.raises(DataError, match=r"where: .*; write {'column': value} or {'column': \[values\]}") as caught:
        bank(where=where)
    assert "\n" not in str(caught.value)


def test_where_takes_a_number_however_it_is_written_and_every_column_must_hold():
    frame = LOANS.assign(rate=[1.5, 2.0, 1.5, 1.5], good=[1, 0, 1, 0])
    options = {"target": "loan", "key": "loan", "label": "good"}
    assert Database.from_frames({"loan": frame}, **options, where={"rate": "1.50"}).example_rows.tolist() == [0, 2, 3]
    assert Database.from_frames(
        {"loan": frame}, **options, where={"rate": [1.5, "2"], "good": 0}
    ).example_rows.tolist() == [1, 3]


@pytest.mark.parametrize("label", [np.linspace(0, 1, 4), [1, 2, 3.5, 1]])
def test_a_label_of_numbers_stays_numbers_and_a_stated_positive_value_makes_it_classes(label):
    frame = LOANS.assign(good=label)
    db = Database.from_frames({"loan": frame}, target="loan", key="loan", label="good")
    assert (db.label_kind, db.target.positive, db.target.classes) == ("numbers", None, ())
    assert db.examples()[1].tolist() == frame["good"].tolist()
    stated = Database.from_frames({"loan": frame}, target="loan", key="loan", label="good", positive=1.0)
    assert (stated.label_kind, stated.target.positive) == ("classes", "1")


def test_many_whole_numbers_are_no_classes_unless_they_are_declared_to_be():
    frame = pd.DataFrame({"id": range(600), "spend": [k % 60 for k in range(600)]})
    options = {"target": "t", "key": "id", "label": "spend"}
    assert Database.from_frames({"t": frame}, **options).label_kind == "numbers"
    assert Database.from_frames({"t": frame}, **options, types={"t.spend": "nominal"}).label_kind == "classes"
    assert Database.from_frames({"t": frame.assign(spend=frame["spend"] % 7)}, **options).label_kind == "classes"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positive": "yes"}, r"label 'good': the positive value 'yes' does not occur; known are '0', '1'"),
        (
            {"label": "status", "positive": "A", "negative": "B"},
            r"the value 'C' is neither positive nor negative; leave those rows out with",
        ),
        ({"where": {"kind": "z"}}, r"table 'loan' has no row where kind = z; correct 'where'"),
        ({"where": {"knd": "z"}}, r"table 'loan' has no column 'knd'; did you mean 'kind'\?"),
        ({"key": "lon"}, r"table 'loan' has no column 'lon'; did you mean 'loan'\?"),
        ({"label": "goood"}, r"table 'loan' has no column 'goood'; did you mean 'good'\?"),
        ({"lable": "good"}, r"there is no option 'lable'; did you mean 'label'\?"),
        ({"types": {"loan.kind": "nominl"}}, r"unknown type 'nominl' of loan.kind; did you mean 'nominal'\?"),
        ({"exclude_columns": ["stat"]}, r"no table has a column 'stat'; did you mean 'status'\?"),
        ({"exclude_columns": ["loan"]}, r"exclude_columns \(--exclude\) hides 'loan.loan', the key of the examples"),
        ({"exclude_columns": ["loan.loan"]}, r"hides 'loan.loan', the key of the examples; leave it out there"),
    ],
)
def test_wrong_options_are_refused_with_the_way_out(options, message):
    with pytest.raises(DataError, match=message):
        bank(**options)


def test_what_is_no_frame_or_no_link_is_refused():
    with pytest.raises(
        DataError, match=r"a table of type 'list' is no data frame; pass a pandas, polars or Arrow frame"
    ):
        Database.from_frames({"loan": [1, 2]}, target="loan")
    with pytest.raises(DataError, match=r"there are no tables; pass a dictionary"):
        Database.from_frames({}, target="loan")
    with pytest.raises(DataError, match=r"there is no table 'lon'; did you mean 'loan'\?"):
        Database.from_frames({"loan": LOANS}, target="lon")
    with pytest.raises(DataError, match=r"the foreign key loan.account -> acc.id: there is no table 'acc'"):
        Database.from_frames({"loan": LOANS}, target="loan", foreign_keys=[("loan.account", "acc.id")])
    with pytest.raises(DataError, match=r"foreign_keys: \('loan.account',\) is no pair"):
        Database.from_frames({"loan": LOANS}, target="loan", foreign_keys=[("loan.account",)])


def test_an_empty_target_is_refused():
    with pytest.raises(DataError, match=r"the target table 'loan' has no rows"):
        Database.from_frames({"loan": LOANS.iloc[:0]}, target="loan", label="good")


@pytest.mark.parametrize(
    "convert", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_frames_go_out_as_the_kind_that_came_in(convert):
    frames = {"loan": convert(LOANS), "trans": convert(TRANSACTIONS)}
    db = Database.from_frames(
        frames, target="loan", key="loan", label="good", positive=1, where={"status": ["A", "C", "D"]}
    )
    X, y = db.examples()
    assert type(X) is type(frames["loan"])
    assert [value.as_py() if isinstance(value, pa.Scalar) else value for value in y] == [1, 1, 0]
    assert db.encode(X).columns["kind"].values.tolist() == [0, -1, 0]


def test_pandas_examples_keep_their_index_also_when_classes_are_put_together():
    frame = LOANS.set_index(np.array([7, 5, 3, 1]))
    db = Database.from_frames(
        {"loan": frame}, target="loan", key="loan", label="status", positive=["A", "B"], negative=["C", "D"]
    )
    X, y = db.examples()
    assert X.index.tolist() == y.index.tolist() == [7, 5, 3, 1]


def test_encoding_the_examples_gives_the_facts_again():
    db = bank()
    X, _ = db.examples()
    for name, column in db.encode(X).columns.items():
        np.testing.assert_array_equal(column.values, db.tables["loan"].columns[name].values)


def test_the_database_has_its_own_examples_encoded_already():
    for db in (bank(), bank(where={"kind": ["a"]}), bank(exclude_columns=["status"])):
        encoded, again = db.encoded_examples(), db.encode(db.examples()[0])
        assert list(encoded.columns) == list(again.columns)
        assert encoded.n_rows == again.n_rows
        for name, column in again.columns.items():
            np.testing.assert_array_equal(encoded.columns[name].values, column.values)


@pytest.mark.parametrize("values", [[5, 3, 9], [2**63 - 1, 2**63 - 3], [-(2**63), 4, 2**63 - 1], [7]])
def test_whole_numbers_are_found_among_dense_and_sparse_keys(values: list[int]):
    domain = Domain("k", pa.array(values, pa.int64()))
    others = [-(2**63), -1, 0, 4, 8, 10, 2**63 - 2, 2**63 - 1]
    unknown = [other for other in others if other not in values]
    codes = domain.encode(pa.chunked_array([pa.array([*values, None, *unknown], pa.int64())])).tolist()
    expected = [*range(len(values)), -1]
    assert codes[: len(expected)] == expected
    assert sorted(codes[len(expected) :]) == [domain.size + k for k in range(len(unknown))]


def test_unknown_keys_get_fresh_codes_that_are_equal_where_the_keys_are():
    pairs = pd.DataFrame({"one": ["ann", "bob"], "two": ["bob", "ann"], "y": ["0", "1"]})
    db = Database.from_frames(
        {"pair": pairs}, target="pair", key=["one", "two"], keys={"pair": {"one": "p", "two": "p"}}, label="y"
    )
    root = db.encode(pd.DataFrame({"one": ["eve", "bob", None], "two": ["dan", "eve", "eve"]}))
    one, two = root.columns["one"].values, root.columns["two"].values
    assert one[0] == two[1] == two[2] >= db.domains["p"].size
    assert two[0] >= db.domains["p"].size
    assert two[0] != one[0]
    assert one[1:].tolist() == [db.domains["p"].encode(["bob"])[0], -1]


def test_unseen_and_missing_nominals_are_told_apart():
    X = LOANS[["loan", "account", "amount", "status", "fold"]].assign(kind=["a", "new", None, "b"])
    kind = bank().encode(X).columns["kind"]
    assert [kind.categories[code] if code >= 0 else None for code in kind.values] == ["a", "new", None, "b"]
    assert list(kind.categories) == sorted(kind.categories)


def test_a_rule_about_a_value_that_only_the_passed_rows_have_covers_them():
    X = LOANS[["loan", "account", "amount", "status", "fold"]].assign(kind=["a", "new", None, "b"])
    covered = covers(bank(), 'good="1" :- loan(loan=L, kind="new").', bank().encode(X))
    assert covered.tolist() == [False, True, False, False]


def test_further_columns_of_the_rows_become_attributes_and_hidden_ones_do_not():
    X = LOANS.assign(total=[1, 2, 3, 4], colour=["r", "g", None, "r"], day=pd.to_datetime(["1970-01-02"] * 4))
    root = bank(exclude_columns=["status"]).encode(X)
    assert "good" not in root.columns
    assert "status" not in root.columns
    assert (root.columns["total"].kind, root.columns["total"].values.tolist()) == ("numeric", [1, 2, 3, 4])
    assert (root.columns["colour"].kind, root.columns["colour"].values.tolist()) == ("nominal", [1, 0, -1, 1])
    assert (root.columns["day"].is_date, root.columns["day"].values.tolist()) == (True, [86_400e6] * 4)


def test_a_missing_column_of_the_rows_is_named_with_the_nearest():
    with pytest.raises(DataError, match=r"for table 'loan' have no key column 'account'; did you mean 'acount'\?"):
        bank().encode(LOANS.rename(columns={"account": "acount"}))
    with pytest.raises(DataError, match=r"column 'amount': row 1 holds 'much', which is not a number"):
        bank().encode(LOANS.assign(amount=["much", "1", "2", "3"]))


def test_keys_match_whether_they_are_text_whole_numbers_or_floats():
    db = bank()
    codes = db.encode(LOANS.assign(loan=["10", "11", "12", "x"])).columns["loan"].values
    assert codes[:3].tolist() == db.tables["loan"].columns["loan"].values[:3].tolist()
    assert codes[3] >= db.domains["loan.loan"].size


def test_text_keys_with_leading_zeros_are_not_numbers():
    assert Domain.merge("d", [factorize(pa.chunked_array([["007", "7"]]))])[0].size == 2


def test_one_table_without_keys_takes_arrays_and_frames():
    db = Database.from_single(np.array([[1.0, np.nan], [3.0, 4.0]]))
    assert db.target.label is None
    assert db.examples()[1] is None
    assert db.encode(np.array([[5.0, 6.0]])).columns["x1"].values.tolist() == [6.0]
    with pytest.raises(DataError, match=r"the array has 3 columns where 2 are expected"):
        db.encode(np.zeros((1, 3)))
    mixed = Database.from_single(np.array([[1, "a"], [None, "b"]], dtype=object))
    assert [column.kind for column in mixed.tables["examples"].attributes] == ["numeric", "nominal"]
    frame = pd.DataFrame({"f": [1.5, 2], "c": pd.Categorical(["u", "v"]), "b": [True, False], "s": ["x", None]})
    kinds = {name: column.kind for name, column in Database.from_single(frame).tables["examples"].columns.items()}
    assert kinds == {"f": "numeric", "c": "nominal", "b": "nominal", "s": "nominal"}


def test_copies_are_the_database_itself_also_for_clone():
    class Estimator(BaseEstimator):
        def __init__(self, database=None):
            self.database = database

    db = bank()
    assert copy.copy(db) is db
    assert copy.deepcopy(db) is db
    assert clone(Estimator(db)).database is db


def test_a_pickle_leaves_the_indexes_behind_and_works_alike():
    db = bank()
    bare = len(pickle.dumps(db))
    index = db.index("trans", "account")
    assert len(pickle.dumps(db)) == bare
    again = pickle.loads(pickle.dumps(db))
    np.testing.assert_array_equal(again.index("trans", "account").rows, index.rows)
    assert again.examples()[0].equals(db.examples()[0])


def test_tables_and_domains_cannot_be_replaced():
    db = bank()
    with pytest.raises(TypeError):
        db.tables["x"] = None
    with pytest.raises(AttributeError):
        db.tables = {}


def test_an_index_is_built_once_also_from_many_threads():
    db = bank()
    found = []
    threads = [threading.Thread(target=lambda: found.append(db.index("trans", "account"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(index) for index in found}) == 1
    with pytest.raises(DataError, match=r"the column 'amount' is no key"):
        db.index("trans", "amount")
    with pytest.raises(DataError, match=r"no table 'tran'; did you mean 'trans'\?"):
        db.index("tran", "amount")


@given(st.lists(st.integers(-1, 6), max_size=40))
def test_an_index_lists_the_rows_of_each_key_in_order(codes):
    array = np.array(codes, dtype=np.int32)
    index = KeyIndex.build(array, 5)
    for code in range(5):
        assert (
            index.rows[index.offsets[code] : index.offsets[code + 1]].tolist() == np.flatnonzero(array == code).tolist()
        )
    assert index.rows.size == int(((array >= 0) & (array < 5)).sum())


@given(st.lists(st.one_of(st.none(), st.integers(-(2**62), 2**62)), max_size=30), st.booleans())
def test_factorizing_loses_nothing(values, small):
    values = [None if value is None else value % 7 for value in values] if small else values
    codes, distinct = factorize(pa.chunked_array([pa.array(values[:5], pa.int64()), pa.array(values[5:], pa.int64())]))
    assert [None if code < 0 else distinct[int(code)].as_py() for code in codes] == values
    assert len(set(distinct.to_pylist())) == len(distinct)


@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.integers(0, 9), st.sampled_from(["a", "07", "3"])), max_size=8),
        min_size=1,
        max_size=4,
    )
)
def test_a_merged_domain_decodes_every_column(columns):
    texts = [[None if value is None else str(value) for value in column] for column in columns]
    parts = [factorize(pa.chunked_array([pa.array(column, pa.string())])) for column in texts]
    domain, codes = Domain.merge("d", parts)
    for column, code in zip(texts, codes, strict=True):
        assert [None if value is None else str(value) for value in domain.decode(code).to_pylist()] == column
        np.testing.assert_array_equal(domain.encode(pa.chunked_array([pa.array(column, pa.string())])), code)


def test_values_become_text_by_one_rule():
    import datetime as dt
    import decimal

    cases = {
        "1": [1, 1.0, decimal.Decimal("1"), "1"],
        "1.5": [1.5, np.float32(1.5), decimal.Decimal("1.5")],
        "1.50": [decimal.Decimal("1.50")],
        "0.1": [0.1, np.float32(0.1)],
        "true": [True],
        "2020-01-02": [dt.date(2020, 1, 2)],
    }
    for text, values in cases.items():
        for value in values:
            assert to_text(pa.array([value])).to_pylist() == [text]
    assert encode_nominal(pa.chunked_array([[1.0, float("nan"), None]]))[0].tolist() == [0, -1, -1]


def test_keys_that_came_as_floats_because_of_a_missing_one_are_whole_numbers():
    assert to_key_values(pa.array([1.0, 2.0])).to_pylist() == [1, 2]


def test_dates_are_microseconds_and_nan_is_missing_beside_null():
    moments, is_date = to_numbers(pa.chunked_array([pa.array(["1970-01-03T12:00:00"]).cast(pa.timestamp("us"))]), "c")
    assert (moments.tolist(), is_date) == ([2.5 * 86_400e6], True)
    numbers, _ = to_numbers(pa.chunked_array([[1.0, float("nan"), None]]), "c")
    assert np.isnan(numbers).tolist() == [False, True, True]


SPLIT = """
[target]
table = "t"
key = ["k"]
label = "y"
[[folds]]
name = "two"
column = "t.fold"
values = ["a", "b"]
[[folds]]
name = "split"
column = "u.part"
values = ["train", "test"]
[[folds]]
name = "lost"
column = "v.part"
[tables.t]
columns = [{ name = "k", type = "key" }, { name = "y", type = "nominal" }, { name = "fold", type = "nominal" }]
[tables.u]
primary_key = ["k"]
columns = [{ name = "k", type = "key" }, { name = "part", type = "nominal" }]
[tables.v]
columns = [{ name = "part", type = "nominal" }]
[[foreign_keys]]
from = "t.k"
to = "u.k"
"""


def folded(text=SPLIT):
    schema = parse_schema(text)
    t = pa.table({"k": ["p", "q", "r", None], "y": ["0", "1", "0", "1"], "fold": ["a", "b", "a", None]})
    u = pa.table({"k": ["q", "p", "z"], "part": ["train", "test", "test"]})
    tables = {"t": t, "u": u, "v": pa.table({"part": ["x"]})}
    return Database(schema, schema.task(), {name: ArrowSource(name, table, name) for name, table in tables.items()})


def test_folds_are_positions_among_the_examples_and_rows_without_a_fold_are_in_none():
    assert [(train.tolist(), test.tolist()) for train, test in folded().folds("two")] == [([1], [0, 2]), ([0, 2], [1])]
    assert [(train.tolist(), test.tolist()) for train, test in folded().folds()] == [([1], [0, 2]), ([0, 2], [1])]


def test_a_train_test_split_is_one_pair_and_may_stand_in_a_table_that_the_target_refers_to():
    assert [(train.tolist(), test.tolist()) for train, test in folded().folds("split")] == [([1], [0])]


def test_folds_without_a_name_are_the_first_that_belong_to_the_target():
    lost_first = SPLIT.replace(
        'name = "two"\ncolumn = "t.fold"\nvalues = ["a", "b"]', 'name = "two"\ncolumn = "v.part"'
    )
    assert [(train.tolist(), test.tolist()) for train, test in folded(lost_first).folds()] == [([1], [0])]
    none = lost_first.replace('column = "u.part"', 'column = "v.part"')
    with pytest.raises(
        DataError, match=r"none of the folds 'two', 'split', 'lost' belong to the rows of table 't'; use the splitters"
    ):
        folded(none).folds()


def test_folds_with_an_empty_part_are_refused():
    with pytest.raises(
        DataError, match=r"the folds 'two' leave no example to test on where 'c' is held out; correct the folds"
    ):
        folded(SPLIT.replace('values = ["a", "b"]', 'values = ["a", "b", "c"]')).folds("two")
    with pytest.raises(DataError, match=r"the folds 'two' leave no example to train on where 'a' is held out"):
        folded(SPLIT.replace('values = ["a", "b"]', 'values = ["a"]')).folds("two")


def test_folds_that_do_not_exist_or_do_not_belong_to_the_target_are_refused():
    with pytest.raises(DataError, match=r"there are no folds 'too'; did you mean 'two'\?"):
        folded().folds("too")
    with pytest.raises(DataError, match=r"the folds 'lost' belong to v.part, not to table 't'"):
        folded().folds("lost")
    with pytest.raises(DataError, match=r"the schema names no folds"):
        bank().folds()


def test_dangling_keys_are_counted_and_shown():
    db = Database.from_frames(
        {"loan": LOANS, "trans": TRANSACTIONS, "account": pd.DataFrame({"account": [1, 2]})},
        target="loan", key="loan", label="good", foreign_keys=[("trans.account", "account.account"), ("loan.account",
        "account.account")],
    )  # fmt: skip
    assert [(link.table, link.rows, link.dangling) for link in db.links] == [("trans", 4, 1), ("loan", 3, 0)]
    assert "1 of 4 rows of trans.account refer to no row of account.account" in db.warnings
    assert "account.account (1 dangling)" in repr(db)


def test_a_link_is_inferred_although_pandas_holds_its_keys_as_floats():
    account = pd.DataFrame({"account": [1, 2], "town": ["x", "y"]})
    db = Database.from_frames({"loan": LOANS, "account": account}, target="loan", label="good")
    assert [(link.table, link.to_table, link.dangling) for link in db.links] == [("loan", "account", 0)]
    assert db.tables["loan"].columns["amount"].kind == "numeric"


def test_the_description_has_a_row_per_column():
    frame = bank().describe()
    row = frame[(frame.table == "loan") & (frame.column == "amount")].iloc[0]
    assert (row["rows"], row["type"], row["distinct"], row["missing"]) == (4, "numeric", 3, 1)
    assert len(frame) == 6 + 4


def test_names_are_escaped_in_html():
    frame = pd.DataFrame({"<b>": ["1", "0"], "y": [0, 1]})
    text = Database.from_frames({"<script>": frame}, target="<script>", label="y")._repr_html_()
    assert "<script>" not in text
    assert "&lt;b&gt;" in text


def test_a_table_of_ten_thousand_columns_loads():
    wide = pa.table({f"c{i}": [float(i), None] for i in range(9_999)} | {"y": ["a", "b"]})
    db = Database.from_frames({"wide": wide}, target="wide", label="y", positive="a")
    assert len(db.tables["wide"].columns) == 9_999
    assert len(db.encode(db.examples()[0]).columns) == 9_999
    assert len(repr(db)) < 2_000


def test_a_group_of_values_may_be_stated_by_the_name_of_its_class():
    frame = pd.DataFrame({"id": range(6), "y": ["a", "b", "c", "d", "a or b", "b"]})
    stated = {"target": "t", "key": "id", "label": "y"}
    group = Database.from_frames({"t": frame}, **stated, positive="c or d")
    assert group.target.positive == "c or d"
    assert group.examples()[1].tolist() == ["not c or d", "not c or d", "c or d", "c or d", "not c or d", "not c or d"]
    one = Database.from_frames({"t": frame}, **stated, positive="a or b")
    assert one.examples()[1].tolist().count("a or b") == 1
    with pytest.raises(DataError, match="the positive value 'c or e' does not occur"):
        Database.from_frames({"t": frame}, **stated, positive="c or e")
