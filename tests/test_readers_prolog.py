"""Aleph's and srlearn's files: ground facts, modes and examples."""

from __future__ import annotations

import numpy as np
import pytest

from hornboost.data import Database
from hornboost.data.readers.prolog import parse_program
from hornboost.errors import DataError
from hornboost.logic.prolog import atom

BACKGROUND = """% trains
:- modeh(1, east(+train)).
:- modeb(*, has_car(+train, -car)).
:- modeb(1, shape(+car, #shape)).
:- modeb(1, wheels(+car, #int)).
:- modeb(1, weight(+car, -float)).
:- modeb(*, before(+car, -car)).
:- modeb(*, before(-car, +car)).
:- determination(east/1, has_car/2).
:- set(i, 3).
/* a block
   comment */
has_car(t1, c1).  has_car(t2, 'C 2').
shape(c1, rectangle). shape('C 2', "it's").
wheels(c1, 2). wheels('C 2', 3).
weight(c1, -1.5e3). weight('C 2', 2).
before(c1, 'C 2').
colour(c1, red).
"""


def aleph(path, background=BACKGROUND, positive="east(t1).\n", negative="east(t2).\neast(t3).\n"):
    for suffix, text in ((".b", background), (".f", positive), (".n", negative)):
        if text is not None:
            (path / f"trains{suffix}").write_bytes(text if isinstance(text, bytes) else text.encode())
    return path / "trains"


def test_modes_make_keys_attributes_and_numbers(tmp_path):
    db = Database.from_aleph(aleph(tmp_path))
    kinds = {
        (table.name, column.name): (column.kind, column.domain)
        for table in db.tables.values()
        for column in table.columns.values()
    }
    assert kinds == {
        ("east", "train"): ("key", "train"),
        ("has_car", "train"): ("key", "train"), ("has_car", "car"): ("key", "car"),
        ("shape", "car"): ("key", "car"), ("shape", "shape"): ("nominal", None),
        ("wheels", "car"): ("key", "car"), ("wheels", "int"): ("nominal", None),
        ("weight", "car"): ("key", "car"), ("weight", "float"): ("numeric", None),
        ("before", "car1"): ("key", "car"), ("before", "car2"): ("key", "car"),
    }  # fmt: skip
    assert db.tables["weight"].columns["float"].values.tolist() == [-1500.0, 2.0]
    assert list(db.tables["shape"].columns["shape"].categories) == ["it's", "rectangle"]
    assert any("1 fact of 'colour/2' has no mode" in warning for warning in db.warnings)


def test_examples_are_the_positives_and_then_the_negatives(tmp_path):
    X, y = Database.from_aleph(str(aleph(tmp_path)) + ".b").examples()
    assert X["train"].tolist() == ["t1", "t2", "t3"]
    assert y.tolist() == ["true", "false", "false"]
    assert y.name == "east"


def test_facts_of_the_target_in_the_background_are_left_out_with_a_warning(tmp_path):
    db = Database.from_aleph(aleph(tmp_path, BACKGROUND + "east(t1).\n"))
    assert db.tables["east"].n_rows == 3
    assert any("the facts of the target 'east' in the background are left out" in warning for warning in db.warnings)


def test_predicates_of_one_name_and_several_arities_are_several_tables(tmp_path):
    more = ":- modeb(1, shape(+car)).\nshape(c1).\n"
    assert {"shape_1", "shape_2"} <= set(Database.from_aleph(aleph(tmp_path, BACKGROUND + more)).tables)


RULES = """
:- modeb(*, behind(+car, -car)).
:- modeb(*, heavy(+car)).
:- modeb(*, lteq(+float, #float)).
behind(X, Y) :- before(Y, X).
behind(X, Z) :- before(Y, X), behind(Y, Z).
heavy(X) :- weight(X, W), W > 0, \\+ shape(X, rectangle).
lteq(X, Y) :- not(var(Y)), !, number(X), X =< Y.
portray(X) :- write(X), nl.
refine(false, (east(_) :- true)).
"""


def test_rules_of_declared_predicates_are_worked_out_and_others_left_out(tmp_path):
    more = RULES + "before('C 2', c3).\n"
    db = Database.from_aleph(aleph(tmp_path, BACKGROUND + more))
    behind = db.tables["behind"]
    one, two = (db.domains["car"].values.take(behind.columns[name].codes).to_pylist() for name in ("car1", "car2"))
    assert sorted(zip(one, two, strict=True)) == [("C 2", "c1"), ("c3", "C 2"), ("c3", "c1")]
    heavy = db.tables["heavy"].columns["car"].codes
    assert db.domains["car"].values.take(heavy).to_pylist() == ["C 2"]
    said = "\n".join(db.warnings)
    assert "3 facts of 'behind/2' are derived by rules" in said
    assert "the rules of 'lteq/2' are left out: trains.b: line" in said
    for control in ("portray/1", "refine/2"):
        assert f"the rules of '{control}' are left out: no declared predicate needs them" in said


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("behind(X, Y) :- X = Y.", "the variable X of a rule is bound by no goal of its body"),
        ("behind(X, Y) :- before(X, Y) ; before(Y, X).", "has the goal"),
        ("behind(X, Y) :- before(X, Y), !.", "has the goal '!'"),
        ("behind(X, Y) :- before(X, Z), Y is Z + 1.", "has the goal"),
        ("behind(X, Y) :- before(X, Y), \\+ behind(Y, X).", "the rule negates 'behind/2', which rules derive"),
        ("behind(f(X), Y) :- before(X, Y).", "has the term 'f\\(X\\)'"),
        ("behind(X, Y) --> before(X, Y).", "has the"),
    ],
)
def test_rules_that_cannot_be_worked_out_are_refused(tmp_path, rule, message):
    more = ":- modeb(*, behind(+car, -car)).\n"
    with pytest.raises(DataError, match=message):
        Database.from_aleph(aleph(tmp_path, BACKGROUND + more + rule + "\n"))


def test_one_file_with_sections(tmp_path):
    body, negative = BACKGROUND.replace(":- modeh(1, east(+train)).", ""), "east(t2).\neast(t3).\n"
    head = ":- use_module(library(aleph)).\n:- aleph.\n:- modeh(1, east(+train)).\n"
    parts = [("bg", body), ("in_pos", "east(t1).\n"), ("in_neg", negative)]
    text = head + "".join(f":- begin_{name}.\n{part}:- end_{name}.\n" for name, part in parts)
    (tmp_path / "trains.pl").write_text(text + ":- induce(P).\n")
    X, y = Database.from_aleph(tmp_path / "trains.pl").examples()
    assert X["train"].tolist() == ["t1", "t2", "t3"]
    assert y.tolist() == ["true", "false", "false"]
    (tmp_path / "trains.pl").write_text(head)
    with pytest.raises(DataError, match=r"there is no section ':- begin_bg\.' to ':- end_bg.'"):
        Database.from_aleph(tmp_path / "trains.pl")


def test_a_compound_argument_is_one_constant():
    facts = parse_program("p(f(a, [b, c]), -2, x-1).", "t").facts
    assert facts == {("p", 3): [["f(a,[b,c])"], ["-2"], ["x-1"]]}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"background": BACKGROUND + "has_car(T, C) :- member(C, [c1|T]).\n"},
            r"line 19: the rule 'has_car\(T, C\) :- .*' has the list '\[c1\|T\]'.*replace the rule by the facts",
        ),
        (
            {"background": BACKGROUND + "shape(X, y).\n"},
            r"trains.b: line 19: the fact 'shape\(X,y\).' has the variable X; facts must be ground",
        ),
        (
            {"background": BACKGROUND + "shape(c1, x)"},
            r"trains.b: line 19: the clause 'shape\(c1,x\)' does not end in a full stop",
        ),
        ({"background": BACKGROUND + "shape(c1, 'x).\n"}, r"trains.b: line 19: cannot read"),
        ({"background": BACKGROUND + "3 = 4.\n"}, r"trains.b: line 19: '3=4.' is no fact"),
        ({"background": "has_car(t1, c1).\n"}, r"trains.b: there are no modes; declare them as :- modeh"),
        ({"background": BACKGROUND.replace("+car, #int", "car, #int")}, r"trains.b: 'wheels\(car,#int\)' is no mode"),
        (
            {"background": BACKGROUND.replace("modeh(1, east", "modeh(1, est")},
            r"no mode of the target 'east/1'; did you mean 'est/1'\?",
        ),
        ({"positive": ""}, r"trains.f: there are no examples"),
        ({"negative": ""}, r"trains.n: there are no examples"),
        ({"negative": None}, r"there is 'trains.b' and 'trains.f' but no file '.*trains.n'"),
        ({"negative": "west(t2).\n"}, r"positive examples are 'east/1', negative ones 'west/1'; use one predicate"),
        (
            {"positive": "east(t1).\nwest(t1).\n"},
            r"the positive examples must be facts of one predicate, and there are east/1, west/1",
        ),
        ({"background": b"shape(c1, \xff)."}, r"trains.b: the file is not UTF-8 text"),
    ],
)
def test_bad_aleph_files_are_refused_in_one_sentence(tmp_path, files, message):
    with pytest.raises(DataError, match=message) as caught:
        Database.from_aleph(aleph(tmp_path, **files))
    assert "\n" not in str(caught.value)


FACTS = "friends(ann,bob).\nsmokes(ann).\nage(ann,30.5).\n"
MODES = ["cancer(+person).", "friends(+person,-person).", "smokes(+person).", "age(+person,#years)."]


def srlearn(path, prefix="", **files):
    texts = {"facts": FACTS, "pos": "cancer(ann).\n", "neg": "cancer(bob).\n"} | files
    path.mkdir(exist_ok=True)
    for name, text in texts.items():
        if text is not None:
            (path / f"{prefix}{name}.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def check_srlearn(db):
    assert set(db.tables) == {"cancer", "friends", "smokes", "age"}
    assert [column.domain for column in db.tables["friends"].keys] == ["person", "person"]
    np.testing.assert_array_equal(db.tables["age"].columns["years"].values, [30.5])
    assert db.examples()[1].tolist() == ["true", "false"]
    assert db.target.key == ("person",)


def test_srlearn_takes_modes_as_an_argument_or_from_a_file(tmp_path):
    check_srlearn(Database.from_srlearn(srlearn(tmp_path), modes=MODES))
    (tmp_path / "modes.txt").write_text("// modes\n" + "\n".join(MODES))
    check_srlearn(Database.from_srlearn(tmp_path))


def test_the_layout_of_boostsrl_is_understood(tmp_path):
    srlearn(tmp_path / "train", "train_")
    srlearn(tmp_path / "test", "test_", pos="cancer(zoe).\n")
    (tmp_path / "cancer_bk.txt").write_text(
        "setParam: maxTreeDepth=3.\nuseStdLogicVariables: true.\n" + "".join(f"mode: {m}\n" for m in MODES)
    )
    (tmp_path / "train" / "train_bk.txt").write_text('import: "../cancer_bk.txt".\n')
    check_srlearn(Database.from_srlearn(tmp_path))
    assert Database.from_srlearn(tmp_path, part="test").examples()[0]["person"].tolist() == ["zoe", "bob"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"facts": FACTS + "old(X) :- age(X, 30)."}, r"facts.txt: line 4: 'old\(X\) :- age\(X, 30\).' is a rule"),
        ({"facts": None}, r"there is no file 'train_facts.txt' or 'facts.txt'"),
        ({"pos": ""}, r"pos.txt: there are no examples"),
        ({"neg": "tumour(bob).\n"}, r"positive examples are 'cancer/1', negative ones 'tumour/1'"),
        ({"pos": b"cancer(\xe9).\n"}, r"pos.txt: the file is not UTF-8 text"),
    ],
)
def test_bad_srlearn_files_are_refused_in_one_sentence(tmp_path, files, message):
    with pytest.raises(DataError, match=message) as caught:
        Database.from_srlearn(srlearn(tmp_path, **files), modes=MODES)
    assert "\n" not in str(caught.value)


def test_srlearn_without_modes_or_folder_says_so(tmp_path):
    with pytest.raises(DataError, match=r"there are no modes; pass modes="):
        Database.from_srlearn(srlearn(tmp_path))
    with pytest.raises(DataError, match=r"'cancer\(person\)' is no mode; write predicate\(\+type"):
        Database.from_srlearn(tmp_path, modes=["cancer(person)"])
    with pytest.raises(DataError, match=r"there is no folder"):
        Database.from_srlearn(tmp_path / "absent")


@pytest.mark.parametrize(
    "text",
    [
        "a\nb",
        "it's",
        "a\\b",
        "é",
        "\t",
        "X",
        "_",
        "",
        "a b",
        "a\x00",
        "\U0001f600",
        "[]",
        "!",
        'say "a"',
        "\x85",
        "\\x41",
    ],
)
def test_atoms_that_we_write_are_read_back(text):
    assert parse_program(f"f({atom(text)}).", "x").facts["f", 1] == [[text]]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"'a\nb'", "a\nb"),
        ("'anb'", "anb"),
        (r"'\x41\'", "A"),
        (r"'\x41\b'", "Ab"),
        (r"'\101\b'", "Ab"),
        (r"'\x41'", "A"),
        (r"'\u00e9\U0001F600'", "é\U0001f600"),
        (r"'\a\b\f\r\t\v\0\'", "\a\b\f\r\t\v\0"),
        (r"'it\'s'", "it's"),
        ("'it''s'", "it's"),
        ("'a\\\nb'", "ab"),
        ("""'a""b'""", 'a""b'),
        ('''"a""b"''', 'a"b'),
        (r"'a\\'", "a\\"),
    ],
)
def test_quoted_atoms_have_the_escapes_of_iso_prolog(written, text):
    assert parse_program(f"f({written}).", "x").facts["f", 1] == [[text]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r"f('c:\dir').", r"line 1: .* is no escape of Prolog; write"),
        (r"f('\xD800\').", "is no escape of Prolog"),
        (r"f('\x110000\').", "is no escape of Prolog"),
        (r"f('\8').", "is no escape of Prolog"),
        ("f(a). .", "line 1: there is no clause before the full stop; remove it"),
        ("f(a).\n.\nf(b).", "line 2: there is no clause before the full stop"),
        ("f().", "lacks an argument"),
        ("f(a,,b).", "lacks an argument"),
    ],
)
def test_what_prolog_would_not_read_is_refused(text, message):
    with pytest.raises(DataError, match=message):
        parse_program(text, "x")


def test_files_that_import_each_other_are_read_once(tmp_path):
    srlearn(tmp_path)
    (tmp_path / "modes.txt").write_text('import: "more_bk.txt".\n')
    (tmp_path / "more_bk.txt").write_text('import: "modes.txt".\n' + "".join(f"mode: {m}\n" for m in MODES))
    check_srlearn(Database.from_srlearn(tmp_path))
    (tmp_path / "more_bk.txt").write_text('import: "more_bk.txt".\n')
    with pytest.raises(DataError, match="there are no modes"):
        Database.from_srlearn(tmp_path)


@pytest.mark.parametrize("name", ["../modes.txt", "link.txt", "{outside}"])
def test_what_is_imported_lies_in_the_folder_unless_asked_otherwise(tmp_path, name):
    folder = srlearn(tmp_path / "folder")
    outside = tmp_path / "modes.txt"
    outside.write_text("\n".join(MODES))
    (folder / "link.txt").symlink_to(outside)
    (folder / "modes.txt").write_text(f'import: "{name.format(outside=outside)}".\n')
    with pytest.raises(DataError, match=r"modes.txt: import: '.*' lies outside the folder 'folder'"):
        Database.from_srlearn(folder)
    check_srlearn(Database.from_srlearn(folder, allow_outside=True))


def test_srlearn_takes_modes_from_the_folder_above_the_folds(tmp_path):
    (tmp_path / "background.txt").write_text("\n".join(f"mode: {mode}" for mode in MODES))
    srlearn(tmp_path / "fold1")
    check_srlearn(Database.from_srlearn(tmp_path / "fold1"))


def test_srlearn_chooses_one_of_several_targets(tmp_path):
    more = {"pos": "cancer(ann).\nsmokes(ann).\n", "neg": "cancer(bob).\nsmokes(bob).\n"}
    folder = srlearn(tmp_path, **more)
    with pytest.raises(DataError, match="there are examples of cancer, smokes; choose one with target='cancer'"):
        Database.from_srlearn(folder, modes=MODES)
    check_srlearn(Database.from_srlearn(folder, modes=MODES, target="cancer"))
    with pytest.raises(DataError, match="there are no examples of 'canser'; did you mean 'cancer'"):
        Database.from_srlearn(folder, modes=MODES, target="canser")


@pytest.mark.parametrize(
    ("positive", "message"),
    [
        ("regressionExample(medv(id1), 24.0).\n", "this is a regression set"),
        ("kind(a, x).\nkind(b, y).\nkind(c, x).\nkind(d, y).\n", "has the values x, y: a set of many classes"),
    ],
)
def test_srlearn_says_what_a_set_is_that_is_not_of_two_classes(tmp_path, positive, message):
    with pytest.raises(DataError, match=message):
        Database.from_srlearn(srlearn(tmp_path, pos=positive, neg=""), modes=MODES)
