"""`schema.toml`: what is read, what is refused, and that it is written back as it was."""

from __future__ import annotations

import pytest

from hornboost.data import ColumnSchema, ForeignKey, Schema, TableSchema, parse_schema, read_schema, write_schema
from hornboost.data.schema import split_reference
from hornboost.data.schema_file import format_schema
from hornboost.errors import DataError

FULL = """
name = "bank"
title = "A bank"
description = "documentary"
notes = ["documentary"]

[target]
table = "loan"
key = ["loan_id"]
label = "status"
positive = ["A", "C"]
negative = ["B", "D"]
where = { year = [1995, 1996], open = true }
exclude_columns = ["fold", "account.secret"]
exclude_tables = ["later"]
examples = 10
class_counts = { A = 1 }

[[task]]
name = "other"
table = "loan"
key = ["loan_id"]
label = "status"
positive = "A"

[[folds]]
name = "five"
column = "loan.fold"
values = ["1", "2"]
kind = "test fold"

[[folds]]
name = "given"
file = "test.csv"

[tables.loan]
file = "loan.csv"
rows = 10
primary_key = ["loan_id"]
missing = { status = 1 }
columns = [
  { name = "loan_id", type = "key" },
  { name = "account", type = "key" },
  { name = "status", type = "nominal" },
  { name = "year", type = "nominal" },
  { name = "open", type = "nominal" },
  { name = "fold", type = "nominal" },
  { name = "granted", type = "date" },
]

[tables.account]
columns = [
  { name = "account", type = "key" },
  { name = "secret", type = "numeric" },
  { name = "partner", type = "key", domain = "outside" },
]

[tables.later]
columns = [{ name = "partner", type = "key", domain = "outside" }]

[[foreign_keys]]
from = "loan.account"
to = "account.account"

[citation]
references = ["x"]
"""


def test_every_field_of_a_task_is_read():
    task = parse_schema(FULL).task()
    assert (task.table, task.key, task.label) == ("loan", ("loan_id",), "status")
    assert (task.positive, task.negative) == (("A", "C"), ("B", "D"))
    assert task.where == {"year": ("1995", "1996"), "open": ("true",)}
    assert (task.exclude_columns, task.exclude_tables, task.examples) == (("fold", "account.secret"), ("later",), 10)


def test_a_task_is_found_by_its_name_and_a_wrong_name_is_answered_with_the_nearest():
    schema = parse_schema(FULL)
    assert schema.task("other").positive == ("A",)
    with pytest.raises(DataError, match=r"schema.toml: there is no task 'othr'; did you mean 'other'\?"):
        schema.task("othr")


def test_a_written_schema_reads_back_as_the_same_schema(tmp_path):
    schema = parse_schema(FULL)
    assert parse_schema(format_schema(schema)) == schema
    write_schema(schema, tmp_path / "schema.toml")
    assert read_schema(tmp_path / "schema.toml").tables == schema.tables
    assert [path.name for path in tmp_path.iterdir()] == ["schema.toml"]


def test_names_with_spaces_quotes_and_line_breaks_survive_writing():
    name = 'a "b"\\\n\x7fç.[x]'
    schema = Schema({name: TableSchema(name, (ColumnSchema(name, "nominal"),))}, location="schema.toml")
    assert parse_schema(format_schema(schema)) == schema


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    with pytest.raises(DataError, match="cannot be written"):
        write_schema(parse_schema(FULL), tmp_path / "absent" / "schema.toml")


def test_domains_join_columns_over_foreign_keys_and_equal_domain_names():
    domains = parse_schema(FULL).domains()
    assert domains["loan", "account"] == domains["account", "account"] == "account.account"
    assert domains["account", "partner"] == domains["later", "partner"] == "outside"
    assert domains["loan", "loan_id"] == "loan.loan_id"


def test_domains_are_closed_over_chains_of_links():
    columns = (ColumnSchema("k", "key"),)
    tables = {name: TableSchema(name, columns) for name in "abcd"}
    links = (ForeignKey("a", "k", "b", "k"), ForeignKey("c", "k", "d", "k"), ForeignKey("b", "k", "d", "k"))
    assert len(set(Schema(tables, links).domains().values())) == 1


def test_a_reference_takes_the_longest_table_name():
    assert split_reference("a.b.c", ["a", "a.b"]) == ("a.b", "c")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('name = "bank"', 'nmae = "bank"'), r"the file: unknown field 'nmae'; did you mean 'name'\?"),
        (
            ("exclude_tables =", "exclude_table ="),
            r"\[target\]: unknown field 'exclude_table'; did you mean 'exclude_tables'\?",
        ),
        (
            ("primary_key =", "primarykey ="),
            r"\[tables.loan\]: unknown field 'primarykey'; did you mean 'primary_key'\?",
        ),
        (
            ('"granted", type', '"granted", typ'),
            r"\[tables.loan\] column 7: unknown field 'typ'; did you mean 'type'\?",
        ),
        (('type = "date"', 'type = "dat"'), r"\[tables.loan\] column 7: unknown type 'dat'; did you mean 'date'\?"),
        (
            ('from = "loan.account"', 'form = "loan.account"'),
            r"\[\[foreign_keys\]\]: unknown field 'form'; did you mean 'from'\?",
        ),
        (('kind = "test fold"', 'knd = "test fold"'), r"\[\[folds\]\]: unknown field 'knd'; did you mean 'kind'\?"),
        (('to = "account.account"', 'to = "acount.account"'), r"there is no table 'acount'; did you mean 'account'\?"),
        (
            ('to = "account.account"', 'to = "account.acount"'),
            r"table 'account' has no column 'acount'; did you mean 'account'\?",
        ),
        (('to = "account.account"', 'to = "account.secret"'), r"needs 'account.secret' of type 'key', not 'numeric'"),
        (('to = "account.account"', 'to = "account"'), r"'account' is not of the form 'table.column'"),
        (
            ('primary_key = ["loan_id"]', 'primary_key = ["loan"]'),
            r"primary key of table 'loan': table 'loan' has no column 'loan'",
        ),
        (('label = "status"', 'label = "sttus"'), r"table 'loan' has no column 'sttus'; did you mean 'status'\?"),
        (('key = ["loan_id"]', 'key = ["year"]'), r"the key column 'loan.year' must have type 'key'"),
        (('"fold", "account.secret"', '"fald"'), r"no table has a column 'fald'; did you mean 'fold'\?"),
        (
            ('"fold", "account.secret"', '"account.secrt"'),
            r"table 'account' has no column 'secrt'; did you mean 'secret'\?",
        ),
        (
            ('exclude_tables = ["later"]', 'exclude_tables = ["latr"]'),
            r"exclude_tables names no table 'latr'; did you mean 'later'\?",
        ),
        (('exclude_tables = ["later"]', 'exclude_tables = ["loan"]'), r"hides the target table 'loan' itself"),
        (('column = "loan.fold"', 'column = "loan.fald"'), r"the folds 'five': table 'loan' has no column 'fald'"),
        (
            ('file = "test.csv"', 'doc = "nothing"'),
            r"\[\[folds\]\] given: give either 'column' \(as table.column\) or 'file'",
        ),
        (
            ('"secret", type = "numeric"', '"account", type = "numeric"'),
            r"table 'account' has the column 'account' twice",
        ),
        (('"secret", type = "numeric"', '"secret", type = "numeric", domain = "x"'), r"only key columns have a domain"),
        (("rows = 10", 'rows = "ten"'), r"\[tables.loan\]: the field 'rows' must be a whole number"),
        (('table = "loan"', "table = 3"), r"\[target\]: the field 'table' is missing or no text"),
        (('[[task]]\nname = "other"', "[[task]]"), r"\[\[task\]\] 1: the field 'name' is missing"),
        (("where = { year = [1995, 1996], open = true }", 'where = "year"'), r"\[target\]: 'where' must be written as"),
        (('title = "A bank"', "title = "), r"this is not valid TOML"),
    ],
)
def test_a_wrong_schema_is_refused_in_one_sentence_that_names_file_and_field(change, message):
    assert change[0] in FULL
    with pytest.raises(DataError, match=message) as caught:
        parse_schema(FULL.replace(*change, 1), "bank/schema.toml")
    assert "\n" not in str(caught.value)


def test_a_schema_that_is_not_utf8_is_refused(tmp_path):
    (tmp_path / "schema.toml").write_bytes(b'name = "\xff"')
    with pytest.raises(DataError, match=r"schema.toml: the file is not UTF-8 text"):
        read_schema(tmp_path / "schema.toml")


def test_a_schema_without_tables_or_target_says_what_to_add():
    with pytest.raises(DataError, match=r"there are no tables; add a \[tables.NAME\]"):
        parse_schema('name = "x"')
    with pytest.raises(DataError, match=r"there is no \[target\]"):
        parse_schema('tables.t.columns = [{ name = "a", type = "numeric" }]').task()
