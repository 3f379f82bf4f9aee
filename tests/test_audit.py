"""The audit: planted leaks are told with what to declare, and clean data have none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.audit import Audit
from hornboost.audit.evidence import lower_bound

D = hb.datasets


def kinds(report: Audit) -> dict[str, str]:
    return {finding.place: finding.kind for finding in report.findings}


def bank(times: bool) -> hb.Database:
    return D.bank(400, transactions=20, dated=True, seed=1).database(times=times)


def test_what_came_after_the_outcome_is_told_where_no_times_are_declared() -> None:
    report = bank(times=False).audit()
    found = kinds(report)
    assert found.items() >= {"trans": "later rows", "contact": "later rows", "reminder": "later rows"}.items()
    assert found["card.closed"] == "later values"
    assert found["reminder.level"] == "condition"
    assert report.options == {
        "times": {"loan": "granted", "trans": "date", "contact": "date", "reminder": "sent"},
        "known_later": {"card": {"closed": ["reason"]}},
    }
    reminder = next(finding for finding in report.findings if finding.place == "reminder")
    assert reminder.python == "times={'loan': 'granted', 'reminder': 'sent'}"
    assert "with --time, rules ask for the ages of such rows, and no longer for their dates" in str(report)
    assert reminder.command == "--time loan.granted --time reminder.sent"
    assert '1% of "0" and 94% of "1" reach such a row' in reminder.text
    assert (reminder.witnesses["reminder.sent"] >= reminder.witnesses["loan.granted"]).all()
    closed = next(finding for finding in report.findings if finding.place == "card.closed")
    assert (closed.witnesses["card.issued"] < closed.witnesses["loan.granted"]).all()
    assert (closed.witnesses["card.closed"] >= closed.witnesses["loan.granted"]).all()


def test_what_the_audit_asks_for_makes_the_database_clean() -> None:
    data = D.bank(400, transactions=20, dated=True, seed=1)
    options = data.database(times=False).audit().options
    frames = {name: table.to_pandas() for name, table in data.tables.items()}
    keys = {
        table: {name: column.domain for name, column in columns.items() if column.kind == "key"}
        for table, columns in data.plan.tables.items()
    }
    declared = hb.Database.from_frames(frames, "loan", key="loan_id", label="risky", positive="1", keys=keys, **options)
    assert declared.audit().is_clean


def test_snapshots_of_one_entity_see_later_ones_unless_times_are_declared() -> None:
    data = D.churn(200, seed=1)
    report = data.database(times=False).audit()
    found = kinds(report)
    assert found["snapshot"] == found["purchase"] == found["survey"] == "later rows"
    assert found["ticket.closed"] == "later values"
    assert report.options["known_later"] == {"ticket": {"closed": ["outcome"]}}
    assert data.database().audit(folds=False).is_clean


def test_declared_rows_after_the_cutoff_are_a_note_that_says_they_are_not_used() -> None:
    report = bank(times=True).audit(folds=False)
    assert report.is_clean
    assert {note.place for note in report.notes} == {"trans", "contact", "reminder"}
    assert all(note.kind == "unused rows" and "no rule sees them" in note.text for note in report.notes)
    assert str(report).startswith("Nothing was found that a prediction could not have known.")


@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize("name", ["trains", "molecules", "bank", "spending", "dated", "churn", "pairs"])
def test_clean_generated_data_raise_no_alarm(name: str, n: int) -> None:
    makers: dict[str, Any] = {
        "trains": D.trains,
        "molecules": D.molecules,
        "bank": lambda n, seed: D.bank(n, transactions=10, seed=seed),
        "dated": lambda n, seed: D.bank(n, transactions=10, dated=True, distractors=30, seed=seed),
        "churn": D.churn,
        "spending": D.spending,
        "pairs": lambda n, seed: D.skewed_pairs(4 * n, seed=seed),
    }
    for seed in range(3):
        report = makers[name](n, seed=seed).database().audit(folds=seed == 0)
        assert report.is_clean, str(report)
        assert not [note for note in report.notes if note.kind != "unused rows"]


def loans(n: int = 200, seed: int = 0, **columns: Any) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"loan": np.arange(n), "amount": rng.integers(1, 50, n), "bad": rng.choice(["no", "yes"], n)})
    return frame.assign(**columns)


def read(frame: pd.DataFrame, **others: Any) -> hb.Database:
    options = {key: others.pop(key) for key in ("times", "known_later", "exclude_tables") if key in others}
    return hb.Database.from_frames(
        {"loan": frame, **others}, "loan", key="loan", label="bad", positive="yes", **options
    )


def test_a_table_that_is_filled_in_with_the_outcome_is_told_without_any_date() -> None:
    frame = loans()
    collection = pd.DataFrame({"loan": frame["loan"][frame["bad"] == "yes"], "agency": "a"})
    report = read(frame, collection=collection).audit()
    (finding,) = report.findings
    assert (finding.kind, finding.place) == ("condition", "collection")
    assert finding.command == "--exclude-table collection"
    assert read(frame, collection=collection, exclude_tables=["collection"]).audit().is_clean


def test_a_column_of_the_target_that_is_filled_in_later_is_told() -> None:
    frame = loans(seed=3)
    granted = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(200), unit="D")
    rng = np.random.default_rng(1)
    is_closed = rng.random(200) < 0.5
    frame = frame.assign(
        granted=granted,
        closed=np.where(is_closed, granted + pd.Timedelta(days=40), pd.NaT),
        why=np.where(is_closed, "moved", None),
    )
    report = read(frame).audit()
    (finding,) = report.findings
    assert (finding.kind, finding.place) == ("later values", "loan.closed")
    assert finding.options == {"times": {"loan": "granted"}, "known_later": {"loan": {"closed": ["why"]}}}
    assert read(frame, **finding.options).audit(folds=False).is_clean


def test_a_date_that_is_planned_is_no_leak() -> None:
    granted = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(200), unit="D")
    due = granted + pd.to_timedelta(np.random.default_rng(0).choice([360, 720], 200), unit="D")
    assert read(loans(granted=granted, due=due), times={"loan": "granted"}).audit(folds=False).is_clean


def test_rows_on_the_very_day_alone_raise_no_alarm_and_dates_of_birth_are_no_cutoff() -> None:
    born = pd.Timestamp("1970-01-01") + pd.to_timedelta(np.arange(200), unit="D")
    payment = pd.DataFrame({"loan": np.arange(200), "paid": born + pd.Timedelta(days=9000)})
    report = read(loans(birth_date=born), payment=payment).audit()
    assert report.is_clean
    assert "has no column with the time of each prediction" in report.checked[0]
    same_day = payment.assign(paid=born)
    assert read(loans(granted=born), payment=same_day).audit().is_clean


@pytest.mark.parametrize("how", ["order", "beginning", "end"])
def test_an_identifier_that_encodes_the_class_is_told(how: str) -> None:
    frame = loans(400)
    bad = (frame["bad"] == "yes").to_numpy()
    rank = np.argsort(np.argsort(bad, kind="stable"))
    codes = {
        "order": [f"L{number:05}" for number in rank],
        "beginning": [f"{'B' if flag else 'A'}{k:05}" for k, flag in enumerate(bad)],
        "end": [f"{k:05}{'x' if flag else 'y'}" for k, flag in enumerate(bad)],
    }
    (finding,) = read(frame.assign(code=codes[how])).audit().findings
    assert (finding.kind, finding.place) == ("identifier", "loan.code")
    assert finding.text.startswith(f"the {how} of loan.code")
    assert finding.command == "--exclude loan.code"
    by_key = read(frame.assign(loan=codes[how])).audit()
    assert by_key.is_clean
    assert [note.place for note in by_key.notes] == ["loan.loan"]


def test_a_number_that_encodes_the_class_is_told_as_a_condition() -> None:
    frame = loans(400)
    number = np.argsort(np.argsort(frame["bad"] == "yes", kind="stable"))
    (finding,) = read(frame.assign(file=number)).audit().findings
    assert (finding.kind, finding.place) == ("condition", "loan.file")


def test_few_examples_make_no_alarm_though_a_condition_is_perfect() -> None:
    assert lower_bound(10, 10) < 0.7
    frame = loans(24)
    assert read(frame.assign(sign=np.where(frame["bad"] == "yes", "u", "v"))).audit().is_clean


def test_a_column_that_is_the_predicted_number_in_other_words_is_told() -> None:
    frame = pd.DataFrame({"k": range(100), "spend": np.linspace(1, 9, 100) ** 2 + 0.5})
    frame["paid"] = np.log(frame["spend"])
    db = hb.Database.from_frames({"t": frame}, "t", key="k", label="spend", predicts="numbers")
    (finding,) = db.audit().findings
    assert (finding.place, finding.command) == ("t.paid", "--exclude t.paid")


def test_folds_at_random_that_promise_more_than_folds_in_time_are_told_with_both_figures() -> None:
    rng = np.random.default_rng(0)
    week = np.repeat(np.arange(30), 20)
    outcome = rng.random(30) < 0.5
    frame = pd.DataFrame(
        {
            "loan": np.arange(600),
            "granted": pd.Timestamp("2024-01-01") + pd.to_timedelta(7 * week, unit="D"),
            "branch": [f"b{number}" for number in week],
            "bad": np.where(outcome[week] ^ (rng.random(600) < 0.05), "yes", "no"),
        }
    )
    report = read(frame, times={"loan": "granted"}).audit()
    (finding,) = [found for found in report.findings if found.kind == "folds"]
    assert "by folds at random" in finding.text
    assert "by folds in time" in finding.text
    assert read(frame, times={"loan": "granted"}).audit(folds=False).is_clean


def test_a_report_is_text_a_frame_and_html_with_names_escaped() -> None:
    frame = loans()
    leak = pd.DataFrame({"loan": frame["loan"][frame["bad"] == "yes"], "<b>": "a"})
    report = read(frame, leak=leak).audit()
    assert list(report.to_frame().columns) == ["is_leak", "kind", "place", "text", "python", "command"]
    assert "<b>" not in report._repr_html_().replace("<p><b>", "").replace("</b>", "").replace("<b>condition", "")
    assert "1. condition" in str(report)
    assert len(report) == 1
    assert json.loads(json.dumps(report.to_dict(), default=str))["command"] == "--exclude-table leak"


def test_a_database_without_a_label_and_one_without_keys_can_be_audited() -> None:
    alone = hb.Database.from_frames({"loan": loans().drop(columns="bad")}, "loan", key="loan")
    assert alone.audit().is_clean
    single = hb.Database.from_frames({"loan": loans().drop(columns="loan")}, "loan", label="bad")
    assert single.audit().is_clean


def test_the_command_tells_the_same_and_fails_only_if_asked_to(run: Any, tmp_path: Path) -> None:
    folder = D.bank(300, transactions=10, dated=True, seed=1).write(tmp_path / "bank", times=False)
    told = run("audit", folder, "--no-folds")
    assert told.code == 0
    assert "--time loan.granted --time reminder.sent" in told.out
    found = json.loads(run("audit", folder, "--no-folds", "--json").out)
    assert found["is_clean"] is False
    assert "reminder" in [finding["place"] for finding in found["findings"]]
    assert run("audit", folder, "--no-folds", "--strict").code == 1
    clean = run("audit", folder, "--no-folds", "--strict", *found["command"].split())
    assert clean.code == 0
    assert clean.out.startswith("Nothing was found")
