"""The loans of the `financial` data with what was known at each loan's date, beside all rows; at random and in time.

`python -m benchmarks.loans_in_time --data DATA --output docs/results.md` writes its section of the page of results and
leaves the others as they are. Results of single fits are kept, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

import hornboost as hb
from benchmarks.papers.markdown import markdown_table, number
from benchmarks.papers.protocol import Cache, Job, Result, default_cache, mean_and_deviation, run_jobs

TITLE = "## The loans with what was known at the time"
TASKS = {
    "loan_good_vs_bad": "all loans",
    "finished_good_vs_bad": "finished loans",
}
TIMES = {"loan": "date", "trans": "date", "card": "issued", "account": "date"}
SAME_AS_TIMES = ["loan.date_days", "trans.date_days", "card.issued_days", "account.date_days"]
KNOWN: Mapping[str, Mapping[str, Any]] = {
    "all rows": {},
    "without orders": {"exclude_tables": ["order"]},
    "known at the time": {"exclude_tables": ["order"], "times": TIMES, "exclude_columns": SAME_AS_TIMES},
}
"""What a learner is given: permanent orders have no date, and some of them pay the loan itself."""

LEARNERS: Mapping[str, Callable[[hb.Database], Any]] = {
    "HornBoost": lambda database: hb.HornBoostClassifier(database, random_state=0, n_jobs=1),
    "C²RIB": lambda database: hb.C2RIBClassifier(database, random_state=0),
}
FOLDS = 5
ORIGINS = 5
SPLITS = {"random": FOLDS, "in time": ORIGINS}

NOTE = """\
Written by `python -m benchmarks.loans_in_time --data DATA --output docs/results.md` in {minutes:.0f} minutes of
processor time, at revision {revision}. Good loans against bad ones, learned from all rows of the database; without the
permanent orders, which have no date and some of which pay the loan itself; and from what was known at the
loan's date, with the dates declared ({times}) and `age` in the place of dates.
"Random" are {folds} stratified folds; "in time" are {origins} rolling
origins (`--rolling {origins}`), each predicting the next loans from all earlier ones. Both learners are as they come.
Accuracy in percent with the deviation over the folds, and the area under the ROC curve; "always good" is the share of
good loans among those that are predicted. The file of transactions holds only those from before each loan; of
{all_cards} cards on the accounts of loans, {cards} were issued on the loan's date or later. A split in time predicts
about 114 loans, a dozen of them bad (39 finished ones, five of them bad), so that differences of a few points mean
little."""


def loans(data: Path, task: str, known: str) -> hb.Database:
    """The loans with what a learner is given."""
    return hb.Database.from_folder(data / "financial", task=task, **KNOWN[known])


def fit_and_test(data: Path, *, task: str, known: str, learner: str, split: str, fold: int, of: int) -> Result:
    """The figures of one fit, that of a fold of so many."""
    from sklearn.metrics import roc_auc_score

    database = loans(data, task, known)
    X, y = database.examples()
    train, test = parts(data, task, np.asarray(y), split, of)[fold]
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LEARNERS[learner](database).fit(X.iloc[train], y.iloc[train])
    seconds = time.process_time() - started
    truth, scores = np.asarray(y)[test] == database.target.positive, model.decision_function(X.iloc[test])
    scores = scores if str(model.classes_[1]) == database.target.positive else -scores
    return {
        "accuracy": 100 * float(model.score(X.iloc[test], y.iloc[test])),
        "auc": float(roc_auc_score(truth, scores)),
        "good": 100 * float(truth.mean()),
        "seconds": seconds,
        "rules": len(model.rules_),
    }


def parts(data: Path, task: str, y: Any, split: str, of: int) -> list[tuple[Any, Any]]:
    """The same folds whatever a learner is given."""
    if split == "in time":
        return loans(data, task, "known at the time").folds(rolling=of)
    from sklearn.model_selection import StratifiedKFold

    return list(StratifiedKFold(of, shuffle=True, random_state=0).split(np.zeros(len(y)), y))


def all_jobs(data: Path, tasks: Sequence[str]) -> list[Job]:
    """Every fit."""
    return [
        Job(
            fit_and_test,
            {"task": task, "known": known, "learner": learner, "split": split, "fold": fold, "of": n},
            data,
        )
        for task in tasks
        for learner in LEARNERS
        for known in KNOWN
        for split, n in SPLITS.items()
        for fold in range(n)
    ]


def table(jobs: Sequence[Job], results: Sequence[Result]) -> str:
    """A row for each learner and what it is given, random folds beside rolling origins."""
    found: dict[tuple[str, str, str], dict[str, list[Result]]] = {}
    for job, result in zip(jobs, results, strict=True):
        of = job.arguments
        place = (TASKS[of["task"]], of["learner"], of["known"])
        found.setdefault(place, {name: [] for name in SPLITS})[of["split"]].append(result)
    rows = []
    for place, by_split in found.items():
        cells = list(place)
        for of_split in by_split.values():
            mean, deviation = mean_and_deviation(result["accuracy"] for result in of_split)
            cells += [number(mean, deviation), number(fmean(result["auc"] for result in of_split), digits=3)]
        cells.append(" / ".join(number(fmean(r["good"] for r in of_split)) for of_split in by_split.values()))
        rows.append([*cells, number(fmean(r["seconds"] for part in by_split.values() for r in part))])
    columns = [
        "task",
        "learner",
        "given",
        "random",
        "AUC",
        "in time",
        "AUC",
        "always good, random / in time",
        "seconds",
    ]
    return markdown_table(columns, rows)


def rules(data: Path, n: int = 6) -> str:
    """What a short model of all loans says, from what was known."""
    database = loans(data, "loan_good_vs_bad", "known at the time")
    model = hb.HornBoostClassifier(database, max_rules=n, random_state=0).fit(*database.examples())
    head = f"`HornBoostClassifier(database, max_rules={n})` of all loans, from what was known at the time:"
    return "\n".join([head, "", "```text", *str(model.rules_).splitlines(), "```"])


def hidden_cards(data: Path) -> tuple[int, int]:
    """The cards of loan accounts that were issued on the loan's date or later, and all of them."""
    import pandas as pd

    folder = data / "financial"
    card, disp, loan = (pd.read_csv(folder / f"{name}.csv") for name in ("card", "disp", "loan"))
    joined = card.merge(disp, on="disp_id").merge(loan, on="account_id", suffixes=("", "_of_loan"))
    return int((joined["issued"] >= joined["date"]).sum()), len(joined)


def revision() -> str:
    """The revision that is measured, where that is known."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def section(data: Path, jobs: Sequence[Job], results: Sequence[Result]) -> str:
    """The section of the page."""
    cards, all_cards = hidden_cards(data)
    note = NOTE.format(
        minutes=sum(result["job_seconds"] for result in results) / 60,
        revision=revision(),
        times=", ".join(f"`{table}.{column}`" for table, column in TIMES.items()),
        folds=FOLDS,
        origins=ORIGINS,
        cards=cards,
        all_cards=all_cards,
    )
    return "\n\n".join([TITLE, note, table(jobs, results), rules(data)]) + "\n"


def kept(text: str) -> str:
    """The section of a page that is written here; empty where there is none."""
    found = re.search(rf"^{re.escape(TITLE)}\n.*?(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    return found.group(0) if found else ""


def with_section(text: str, new: str) -> str:
    """The page with the section in the place of the old one, or at its end."""
    old = kept(text)
    return text.replace(old, new) if old else f"{text.rstrip()}\n\n{new}"


def main() -> None:
    """Run what is missing and print or write the section."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loans_in_time", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("HORNBOOST_DATA"), help="folder of all data sets")
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--fresh", action="store_true", help="forget what is kept of earlier runs")
    parser.add_argument("--output", type=Path, help="the page whose section is written")
    given = parser.parse_args()
    if given.data is None:
        parser.error("name the folder of data sets by --data or HORNBOOST_DATA")
    data = Path(given.data)
    cache = Cache(default_cache() / "loans_in_time.jsonl")
    if given.fresh:
        cache.clear()
    jobs = all_jobs(data, given.tasks)
    text = section(data, jobs, run_jobs(jobs, cache, given.jobs))
    if given.output is None:
        print(text)
    else:
        given.output.write_text(with_section(given.output.read_text(encoding="utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    main()
