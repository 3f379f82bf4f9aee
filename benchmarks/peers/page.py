"""The page of the comparison: what was installed, a table for each set, and where HornBoost is behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.papers.markdown import markdown_table, number
from benchmarks.peers.collect import LET_PASS, QUALITIES, Row, comparison, rows_of
from benchmarks.peers.environments import Environment
from benchmarks.peers.goals import difference, goals, in_two_digits, times
from benchmarks.peers.peer import Peer
from benchmarks.peers.pictures import draw
from benchmarks.peers.reasons import reason_of
from benchmarks.peers.run import MEMORY

PAGE = """# Side by side

Written by

```sh
{command}
```

Do not edit this page; run the command instead.

This page compares HornBoost with what people would use instead, on the same folds of the same data. The comparison is
with `HornBoostClassifier` and its defaults; the tables also include the learners of the papers. Every peer is installed
from its package into an environment of its own, and runs with one thread and the settings that its documentation
recommends. A fit is stopped after {limit:.0f} seconds of processor time, or when it needs more than {memory} GB.

By default, HornBoost tunes its settings by cross-validation on the training examples, whereas the peers fit one model
with fixed settings. "HornBoost, nothing tuned" also has fixed settings: 60 rounds, rules of at most three conditions,
and other settings that are the same for all sets (`benchmarks/peers/theirs/hornboost.py`).

**Every row says how many folds its figures are based on.** A row with one fold is a first look, not a result.

- "Seconds" are processor seconds from the tables in memory to the model, including everything that a peer derives from
  the tables (features, facts, indexes), but not imports, reading files and compiling on first use.
- "Time" says how many times as long as HornBoost a peer takes, and "HornBoost ahead" by how much HornBoost is better
  (negative: worse), both on the folds that both have finished, with the standard error if there are at least three. If
  a fit was stopped, the time is a lower bound (`> 20×`).
- "Size" is the number of rules + conditions, for models that can be read.
- "Lines" is the number of lines of code that prepare the tables for a peer (`benchmarks/peers/theirs/`).

If a peer cannot handle a set, the text below the table says so; it does not count as zero.

## Goals

The table shows on how many pairs of a set and a peer each goal is met; all pairs are listed [at the
end](#the-goals-set-by-set). "Not behind" tolerates differences of 0.005 in AUC, 0.01 in log-loss and half a percentage
point in accuracy. Larger differences are "unclear" if they are within two standard errors of the differences between
folds. A pair counts as a miss if HornBoost itself was stopped at the limit and the peer was not.

{goals}

## What was installed

{installed}

## HornBoost compared with each peer

All figures are medians over sets. "Sets" counts the sets in which both have finished a fold; "ahead" and "behind" count
those in which HornBoost's area under the ROC curve is larger or smaller by more than 0.005.

{summary}

In the figures, each mark is the mean over the folds that a learner has finished.

{pictures}
{small}{sets}
## Where HornBoost is behind

{behind}

## The goals, set by set

A positive difference is in favour of HornBoost.

{details}"""

TIME = "comparison-time.svg"
SIZE = "comparison-size.svg"


@dataclass(frozen=True, slots=True)
class Compared:
    """All that the page tells."""

    peers: Sequence[Peer]
    environments: Mapping[str, Environment]
    rows: Sequence[Row]
    examples: Mapping[str, str]
    limit: float

    @property
    def names(self) -> dict[tuple[str, str], str]:
        return {(peer.name, learner): shown for peer in self.peers for learner, shown in peer.learners.items()}

    @property
    def readable(self) -> set[tuple[str, str]]:
        return {(peer.name, learner) for peer in self.peers for learner in peer.readable}


def write_page(compared: Compared, command: str, output: Path) -> None:
    """Write the page, and its pictures into the folder `images` beside it."""
    sections = [section(compared, name) for name in dict.fromkeys(row.set for row in compared.rows)]
    met, details = goals(compared.rows, compared.names)
    text = PAGE.format(
        command=command,
        limit=compared.limit,
        memory=MEMORY,
        goals=met,
        details=details,
        installed=installed(compared),
        summary=summary(compared),
        pictures=pictures(compared, output.parent / "images"),
        small=small_models(compared),
        sets="\n".join(sections),
        behind=behind(compared),
    )
    output.write_text(text, encoding="utf-8")


def installed(compared: Compared) -> str:
    """A row a peer: its version, or why there is none."""
    rows = []
    for peer in compared.peers:
        found = compared.environments[peer.name]
        learners = "; ".join(peer.learners.values())
        state = f"`{_cell(found.error)}`" if found.error else "installed"
        rows.append([peer.package, found.version or "none", found.python_version or "none", learners, state, peer.note])
    return markdown_table(["package", "version", "Python", "compared", "state", "remark"], rows)


def section(compared: Compared, name: str) -> str:
    """The table of a set, and below it who is not in it and why."""
    rows = rows_of(compared.rows, name)
    ours = next((row for row in rows if (row.peer, row.learner) == ("hornboost", "hornboost")), None)
    columns = ["learner", "folds", "accuracy", "AUC", "AURPC", "log-loss", "seconds", "time", "HornBoost ahead (AUC)"]
    lines = [_line(compared, row, ours) for row in rows if row.folds or row.stopped]
    table = markdown_table([*columns, "predict", "size", "lines"], lines) if lines else "No fit has been run."
    absent: dict[str, list[str]] = {}
    for row in rows:
        if reason := _absence(row):
            absent.setdefault(reason, []).append(compared.names[row.peer, row.learner])
    listed = "\n".join(f"- {reason}: {'; '.join(names)}" for reason, names in absent.items())
    left_out = f"\n\nNot in the table, or not in every fold:\n\n{listed}" if absent else ""
    return f"## {name}\n\n{compared.examples[name]}\n\n{table}{left_out}\n"


def _line(compared: Compared, row: Row, ours: Row | None) -> list[str]:
    beside = comparison(ours, row) if ours is not None and row is not ours else None
    parts = row.conditions
    qualities = [number(row.mean(name), digits=1 if name == "accuracy" else 3) for name in QUALITIES]
    done, seconds = len(row.folds), _seconds(row.mean("seconds"))
    if row.stopped:
        seconds = f"> {_seconds(max(row.stopped.values()))}"
    return [
        compared.names[row.peer, row.learner],
        f"{done} of {done + len(row.stopped)}" if row.stopped else str(done),
        *(qualities if done else [""] * len(qualities)),
        seconds,
        "" if beside is None else times(beside),
        "" if beside is None else difference(beside, "auc"),
        _seconds(row.mean("predict")) if done else "",
        "" if parts is None else f"{row.mean('rules'):.0f} + {row.mean('conditions'):.0f}",
        "" if row.lines is None else str(row.lines),
    ]


def _seconds(value: float | None) -> str:
    return number(value, digits=1 if value is None or value >= 1 else 2)


def _absence(row: Row) -> str:
    if row.cannot:
        return row.cannot
    if row.failed:
        return f"failed with `{_cell(row.failed)}`"
    if row.memory:
        return f"needs more than {row.memory} GB"
    if row.stopped:
        return f"not finished within {max(row.stopped.values()):.0f} s in {_folds(len(row.stopped))}"
    return "" if row.folds else "not run yet"


def _folds(count: int) -> str:
    return "1 fold" if count == 1 else f"{count} folds"


def _cell(text: str) -> str:
    """Words of others as they fit into a table."""
    return " ".join(text.replace("|", "/").replace("`", "'").split())[:300]


def summary(compared: Compared) -> str:
    """A row a learner: medians of its ratios to HornBoost."""
    by_set = {row.set: row for row in compared.rows if (row.peer, row.learner) == ("hornboost", "hornboost")}
    lines = []
    for key, shown in compared.names.items():
        rows = [row for row in compared.rows if (row.peer, row.learner) == key and row.set in by_set]
        found = [beside for row in rows if (beside := comparison(by_set[row.set], row)) is not None]
        if key == ("hornboost", "hornboost") or not found:
            continue
        aucs = [beside.ahead["auc"] for beside in found if "auc" in beside.ahead]
        losses = [beside.ahead["log_loss"] for beside in found if "log_loss" in beside.ahead]
        by_time = sorted(found, key=lambda beside: beside.times)
        lines.append(
            [
                shown,
                str(len(found)),
                str(sum(beside.folds for beside in found)),
                ("> " if any(beside.at_least for beside in found) else "")
                + in_two_digits(median(beside.times for beside in found)),
                f"{times(by_time[0])} to {times(by_time[-1])}",
                f"{median(aucs):+.3f}" if aucs else "n/a",
                f"{median(losses):+.3f}" if losses else "n/a",
                str(sum(auc > LET_PASS["auc"] for auc in aucs)),
                str(sum(auc < -LET_PASS["auc"] for auc in aucs)),
            ]
        )
    columns = ["peer", "sets", "folds", "time", "from … to", "AUC", "log-loss", "ahead", "behind"]
    return markdown_table(columns, lines) if lines else "Nothing has been compared yet."


def small_models(compared: Compared) -> str:
    """HornBoost and fastogb, each with 50 rules and conditions at most, by the log-loss on common folds."""
    lines = []
    for ours in (row for row in compared.rows if (row.peer, row.learner) == ("hornboost", "fifty")):
        other = next((row for row in rows_of(compared.rows, ours.set) if row.peer == "fastogb"), None)
        beside = None if other is None else comparison(ours, other)
        if other is None or beside is None or "log_loss" not in beside.ahead:
            continue
        common = [fold for fold in ours.folds if fold in other.folds]
        losses = [number(row.mean("log_loss", common), digits=3) for row in (ours, other)]
        lines.append([ours.set, str(beside.folds), *losses, f"{beside.ahead['log_loss']:+.3f}", times(beside)])
    columns = ["set", "folds", "HornBoost's log-loss", "fastogb's", "HornBoost ahead", "time"]
    return f"## Models of at most 50 rules and conditions\n\n{markdown_table(columns, lines)}\n\n" if lines else ""


def behind(compared: Compared) -> str:
    """The rows in which a peer's area under the ROC curve or log-loss is clearly better, and who is faster."""
    by_set = {row.set: row for row in compared.rows if (row.peer, row.learner) == ("hornboost", "hornboost")}
    if not any(row.folds for row in by_set.values()):
        return "HornBoost has not been run."
    lines = []
    faster: dict[str, int] = {}
    for row in compared.rows:
        beside = comparison(by_set[row.set], row) if row.set in by_set and row.peer != "hornboost" else None
        if beside is None:
            continue
        shown = compared.names[row.peer, row.learner]
        faster[shown] = faster.get(shown, 0) + (beside.times < 1)
        worse = [
            f"{shown} by {difference(beside, name).lstrip('-')}"
            for name, shown in (("auc", "AUC"), ("log_loss", "log-loss"))
            if beside.behind(name)
        ]
        if worse:
            reason = reason_of(row.set, row.peer)
            said = f" {reason}" if reason else ""
            lines.append(f"- {row.set}, {shown}: {', '.join(worse)} ({_folds(beside.folds)}).{said}")
    quicker = [f"{shown} ({count})" for shown, count in faster.items() if count]
    lines += [f"- Faster than HornBoost, with the number of sets: {'; '.join(quicker)}"] if quicker else []
    return "\n".join(lines) or "HornBoost is nowhere behind by more than 0.005 in AUC or 0.01 in log-loss, nor in time."


def pictures(compared: Compared, folder: Path) -> str:
    """The pictures in Markdown, drawn where there is something to draw."""
    parts = []
    if draw(compared.rows, compared.names, folder / TIME, "seconds", "seconds of a fit"):
        parts.append(f"![Area under the ROC curve over the seconds of a fit, for each set](images/{TIME})\n")
    readable = [row for row in compared.rows if (row.peer, row.learner) in compared.readable]
    if draw(readable, compared.names, folder / SIZE, "conditions", "rules and conditions"):
        parts.append(f"![Area under the ROC curve over rules and conditions, for each set](images/{SIZE})\n")
    return "\n".join(parts)
