"""Why an example is predicted as it is.

The rules that fired with rows that made them fire, and what the nearest others lacked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost import exact
from hornboost.aggregates.attach import with_aggregates
from hornboost.data.frames import decode_table
from hornboost.data.table import Table
from hornboost.engine.coverage import Coverage, Trace
from hornboost.logic.aggregate import Aggregate, Operand
from hornboost.logic.clause import Clause, Literal
from hornboost.logic.text import in_few_digits
from hornboost.model.ensemble import Ensemble, Rule, vote_for
from hornboost.model.routes import aggregates_of
from hornboost.stopping import working

if TYPE_CHECKING:
    import pandas as pd

    from hornboost.data import Database


@dataclass(frozen=True)
class Witness:
    """A row that satisfied a literal: all of its columns, and which of them are keys or mentioned by the literal.

    Of an example aggregates that the literal mentions are among them; `behind` is the number of rows that each is of.
    """

    table: str
    row: Mapping[str, Any]
    mentioned: tuple[str, ...]
    behind: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.table}: {', '.join(map(self._shown, self.mentioned))}"

    def _shown(self, name: str) -> str:
        rows = "" if name not in self.behind else f" of {self.behind[name]:,} row{'s' * (self.behind[name] != 1)}"
        return f"{name}={_show(self.row[name])}{rows}"


@dataclass(frozen=True)
class Fired:
    """A rule that covers the example, what it adds to the score, and one row for each of its literals."""

    rule: Rule
    vote: float
    witnesses: tuple[Witness, ...]


@dataclass(frozen=True)
class Missed:
    """A rule that does not cover the example: how many of its conditions hold, in order, and the first that fails."""

    rule: Rule
    vote: float
    would_vote: float
    satisfied: int
    conditions: int
    failed: str


@dataclass(frozen=True)
class Explanation:
    """One prediction.

    Score, probability and votes are of the class `about`: the positive one of two, otherwise the predicted one.
    """

    keys: Mapping[str, Any]
    prediction: str
    about: str
    probability: float
    score: float
    start: float
    fired: tuple[Fired, ...]
    missed: tuple[Missed, ...]
    n_missed: int

    def __str__(self) -> str:
        name = ", ".join(f"{key}={_show(value)}" for key, value in self.keys.items()) or "example"
        lines = [
            (
                f'{name}: predicted "{self.prediction}"; for "{self.about}": '
                f"probability {self.probability:.3f}, score {self.score:+.4f}"
            )
        ]
        for fired in self.fired:
            lines.append(f"  {fired.vote:+.4f}  {fired.rule.clause}")
            lines += [f"           because of {witness}" for witness in fired.witnesses]
        others = "rule that" if self.n_missed == 1 else f"{self.n_missed} rules that"
        rest = f", and from the {others} did not fire" if self.n_missed else ""
        lines.append(f"  {self.start:+.4f}  from the start{rest}")
        if self.missed:
            lines.append("  nearest rules that did not fire:")
        for missed in self.missed:
            lines.append(f"  ({missed.would_vote:+.4f}) {missed.rule.clause}")
            lines.append(f"           {missed.satisfied} of {missed.conditions} conditions hold; {missed.failed}")
        return "\n".join(lines)

    def told(self) -> dict[str, Any]:
        """What is predicted, by name."""
        return {"prediction": self.prediction, "about": self.about, "probability": self.probability}


@dataclass(frozen=True)
class NumberExplanation:
    """One prediction of a number: a base value that the rules which fired change in turn.

    `start` and `score` are the base value and the prediction as votes are added to it; where these are of the "log"
    link, they are logarithms.
    """

    keys: Mapping[str, Any]
    label: str
    prediction: float
    base: float
    score: float
    start: float
    link: str
    fired: tuple[Fired, ...]
    missed: tuple[Missed, ...]
    n_missed: int

    def __str__(self) -> str:
        name = ", ".join(f"{key}={_show(value)}" for key, value in self.keys.items()) or "example"
        lines = [f"{name}: predicted {self.label} {self.prediction:.6g}"]
        lines.append(f"  {self.base:.6g} is the base value, where no rule fires")
        score = self.start
        for fired in self.fired:
            lines.append(f"  {self._change(fired.vote, score)}: {fired.rule.clause}")
            lines += [f"           because of {witness}" for witness in fired.witnesses]
            score += fired.vote
        if self.missed:
            lines.append("  nearest rules that did not fire:")
        for missed in self.missed:
            lines.append(f"  {missed.rule.clause}")
            lines.append(f"           {missed.satisfied} of {missed.conditions} conditions hold; {missed.failed}")
        return "\n".join(lines)

    def _change(self, vote: float, score: float) -> str:
        """What a rule does to the number so far, in words."""
        if self.link == "log":
            before, factor = exact.exp(score), exact.exp(vote)
            return f"multiplies {before:.6g} by {in_few_digits(factor)}"
        if vote < 0:
            return f"takes {in_few_digits(-vote)} from {score:.6g}"
        return f"adds {in_few_digits(vote)} to {score:.6g}"

    def told(self) -> dict[str, Any]:
        """What is predicted, by name."""
        return {"prediction": self.prediction}


class Explanations(tuple[Explanation | NumberExplanation, ...]):
    """Explanations in the order of the examples; `print` shows them as text, `frame` and `witnesses` as tables."""

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))

    def frame(self) -> pd.DataFrame:
        """A row for each example and rule.

        Whether it fired, its vote, the first condition that failed, the witness rows as text.
        """
        import pandas as pd

        rows = []
        for position, one in enumerate(self):
            about = {"example": position, **one.keys, **one.told()}
            for fired in one.fired:
                shown = "; ".join(map(str, fired.witnesses))
                about_rule = {"rule": str(fired.rule.clause), "fired": True, "vote": fired.vote}
                rows.append({**about, **about_rule, "failed": None, "witness": shown})
            for missed in one.missed:
                about_rule = {"rule": str(missed.rule.clause), "fired": False, "vote": missed.vote}
                rows.append({**about, **about_rule, "failed": missed.failed, "witness": None})
        told = [*self[0].keys, *self[0].told()] if self else ["prediction", "about", "probability"]
        return pd.DataFrame(rows, columns=["example", *told, "rule", "fired", "vote", "failed", "witness"])

    def witnesses(self) -> pd.DataFrame:
        """A row for each example, rule that fired and literal: the table, and its row as a dictionary."""
        import pandas as pd

        rows = [
            {
                "example": position,
                **one.keys,
                "rule": str(fired.rule.clause),
                "vote": fired.vote,
                "table": w.table,
                "row": dict(w.row),
            }
            for position, one in enumerate(self)
            for fired in one.fired
            for w in fired.witnesses
        ]
        keys = list(self[0].keys) if self else []
        return pd.DataFrame(rows, columns=["example", *keys, "rule", "vote", "table", "row"])

    def to_json(self) -> list[dict[str, Any]]:
        """Plain lists and dictionaries, for scripts."""
        return [_plain(one) for one in self]


@working()
def explain(
    ensemble: Ensemble,
    database: Database,
    examples: Table,
    missed: int = 3,
    keys: Sequence[Mapping[str, Any]] | None = None,
    positive: str | None = None,
    label: str = "y",
) -> Explanations:
    """Explain the prediction of each encoded example.

    `missed` is the number of rules that did not fire to show for each.

    `keys` say what each example is called; without them it is its keys, as far as the database knows them. Of two
    classes scores, probabilities and votes are those of `positive`, or of the second. A number is called `label`.
    """
    steps = _Steps.kept(ensemble, database, missed > 0)
    examples = with_aggregates(database, examples, map(rows_behind, aggregates_of(ensemble.rules)))
    names = keys if keys is not None else _key_values(database, examples)
    found: list[Explanation | NumberExplanation] = []
    for start, trace in steps.coverage.traced(examples):
        if ensemble.is_of_numbers:
            found += _explained_numbers(ensemble, steps, trace, names[start:], missed, label)
        else:
            found += _explained(ensemble, steps, trace, names[start:], missed, positive)
    return Explanations(found)


def _explained(
    ensemble: Ensemble,
    steps: _Steps,
    trace: Trace,
    names: Sequence[Mapping[str, Any]],
    missed: int,
    positive: str | None,
) -> Iterator[Explanation]:
    """The explanations of a block of examples."""
    of_rule = steps.coverage.of_clause[: len(ensemble.rules)]
    covered = trace.covered[:, list(of_rule)]
    scores = ensemble.scores_of(trace.covered, of_rule)
    witnesses = _witnesses(ensemble, trace, covered)
    choices, probabilities = ensemble.choices(scores), ensemble.probabilities(scores)
    decision = ensemble.decision(scores)
    for e in range(len(covered)):
        about = int(choices[e]) if decision.ndim == 2 else ensemble.about(positive)
        votes = [vote_for(rule.votes, about) for rule in ensemble.rules]
        otherwise = [vote_for(rule.otherwise, about) if rule.otherwise else 0.0 for rule in ensemble.rules]
        score = (
            decision[e, about]
            if decision.ndim == 2
            else decision[e]
            if about or len(ensemble.classes) == 1
            else -decision[e]
        )
        fired = [Fired(ensemble.rules[r], votes[r], witnesses[r, e]) for r in np.flatnonzero(covered[e]).tolist()]
        near = steps.nearest(trace, e, covered[e], votes, otherwise, missed) if missed else []
        yield Explanation(
            names[e],
            ensemble.classes[choices[e]],
            ensemble.classes[about],
            float(probabilities[e, about]),
            float(score),
            vote_for(ensemble.intercept, about) + sum(o for r, o in enumerate(otherwise) if not covered[e, r]),
            tuple(sorted(fired, key=lambda one: -abs(one.vote))),
            tuple(near),
            int((~covered[e]).sum()),
        )


def _explained_numbers(
    ensemble: Ensemble, steps: _Steps, trace: Trace, names: Sequence[Mapping[str, Any]], missed: int, label: str
) -> Iterator[NumberExplanation]:
    """The explanations of a block of examples whose numbers are predicted."""
    of_rule = steps.coverage.of_clause[: len(ensemble.rules)]
    covered = trace.covered[:, list(of_rule)]
    scores = ensemble.scores_of(trace.covered, of_rule)
    witnesses = _witnesses(ensemble, trace, covered)
    predictions, (start,) = ensemble.numbers(scores), ensemble.intercept
    base = float(ensemble.numbers(np.array([[start]]))[0])
    votes, nothing = [rule.votes[0] for rule in ensemble.rules], [0.0] * len(ensemble.rules)
    for e in range(len(covered)):
        fired = [Fired(ensemble.rules[r], votes[r], witnesses[r, e]) for r in np.flatnonzero(covered[e]).tolist()]
        near = steps.nearest(trace, e, covered[e], votes, nothing, missed) if missed else []
        yield NumberExplanation(
            names[e],
            label,
            float(predictions[e]),
            base,
            float(scores[e, 0]),
            start,
            ensemble.link,
            tuple(sorted(fired, key=lambda one: -abs(one.vote))),
            tuple(near),
            int((~covered[e]).sum()),
        )


def prefixes(clause: Clause) -> Iterator[tuple[Clause, str]]:
    """The clause condition by condition, each with what the last one says when it fails.

    >>> for prefix, failed in prefixes(Clause.parse('y="1" :- a(id=K, x>=1), b(a=K, kind="u").')):
    ...     print(prefix.length, failed)
    1 x>=1 does not hold in table 'a'
    2 no row of table 'b' is joined
    2 no such row of table 'b' has kind="u"
    """
    body: tuple[Literal, ...] = ()
    known: set[str] = set()
    stated: list[tuple[str, str]] = []
    for number, literal in enumerate(clause.body):
        bare = replace(literal, tests=())
        shorter = Clause(clause.head, (*body, bare), tuple(stated))
        repeats = len(set(literal.variables)) < len(literal.bindings)
        if number > 0 or repeats:
            what = "no row of table '{}' is joined" if number else "two key columns of table '{}' differ"
            yield shorter, what.format(literal.table)
        for k, test in enumerate(literal.tests, start=1):
            shorter = replace(shorter, body=(*body, replace(literal, tests=literal.tests[:k])))
            where = f"no such row of table '{literal.table}' has {test}"
            if number == 0:
                where = f"{test} does not hold"
                where += "" if isinstance(test.column, Aggregate) else f" in table '{literal.table}'"
            yield shorter, where
        body = (*body, literal)
        known.update(literal.variables)
        for pair in clause.unequal:
            if pair not in stated and known.issuperset(pair):
                stated.append(pair)
                yield Clause(clause.head, body, tuple(stated)), f"{pair[0]} != {pair[1]} does not hold for any such row"


@dataclass(eq=False)
class _Steps:
    """The rules and, where they are asked for, their prefixes, bound to a database together.

    One pass tells all of them.
    """

    rules: Sequence[Rule]
    coverage: Coverage
    columns: list[list[int]]
    failures: list[list[tuple[str, Aggregate | None]]]
    """What is said of a condition that fails, and the aggregate that it looks at, if it does."""

    @classmethod
    def kept(cls, ensemble: Ensemble, database: Database, with_prefixes: bool) -> _Steps:
        """Those of the last time, if they are the same."""
        kept: _Steps | None = ensemble.__dict__.get("_steps")
        if kept is None or kept.coverage.database is not database or bool(kept.columns) != with_prefixes:
            ensemble.__dict__["_steps"] = kept = cls.of(ensemble, database, with_prefixes)
        return kept

    @classmethod
    def of(cls, ensemble: Ensemble, database: Database, with_prefixes: bool) -> _Steps:
        clauses = [rule.clause.rooted(database.target.table) for rule in ensemble.rules]
        steps = [list(prefixes(clause)) for clause in clauses] if with_prefixes else []
        coverage = Coverage.of(database, [*clauses, *(clause for rule in steps for clause, _ in rule)])
        place = iter(coverage.of_clause[len(clauses) :])
        columns = [[next(place) for _ in rule] for rule in steps]
        failures = [[(failed, _last_aggregate(clause)) for clause, failed in rule] for rule in steps]
        return cls(ensemble.rules, coverage, columns, failures)

    def nearest(
        self,
        trace: Trace,
        e: int,
        fired: NDArray[np.bool_],
        votes: Sequence[float],
        otherwise: Sequence[float],
        limit: int,
    ) -> list[Missed]:
        """The rules that did not fire, those with the largest share of satisfied conditions first."""
        found = []
        for r in np.flatnonzero(~fired).tolist():
            holds = trace.covered[e, self.columns[r]]
            satisfied = int(np.argmin(holds)) if not holds.all() else len(holds)
            found.append((-satisfied / max(len(holds), 1), -abs(votes[r]), r, satisfied))
        nearest = sorted(found)[:limit]
        return [
            Missed(self.rules[r], otherwise[r], votes[r], k, len(self.columns[r]), self._failed(trace, e, r, k))
            for _, _, r, k in nearest
        ]

    def _failed(self, trace: Trace, e: int, r: int, k: int) -> str:
        """What is said of the condition of a rule that an example fails; of an aggregate also its value."""
        if k == len(self.failures[r]):
            return "its rows do not fit together"
        failed, aggregate = self.failures[r][k]
        if aggregate is None:
            return failed
        shown = _only(trace.examples, [aggregate])
        (cell,) = decode_table(shown, trace.coverage.database.domains, np.array([e]), dates_as_text=True).to_dict(
            "records"
        )
        return f"{failed}: it is {_show(_cells(cell)[str(aggregate)])}{_of_rows(trace.examples, aggregate, e)}"


def _last_aggregate(clause: Clause) -> Aggregate | None:
    """The aggregate in the last condition of a clause, if it is one."""
    tests = clause.root.tests if len(clause.body) == 1 else ()
    return tests[-1].column if tests and isinstance(tests[-1].column, Aggregate) else None


def _of_rows(examples: Table, aggregate: Aggregate, e: int) -> str:
    """The number of rows that an aggregate of an example is of, in words."""
    if aggregate.function == "count":
        return ""
    count = int(examples.aggregates[rows_behind(aggregate)].numbers[e])
    return f" of {count:,} row{'s' * (count != 1)}"


def _witnesses(
    ensemble: Ensemble, trace: Trace, covered: NDArray[np.bool_]
) -> dict[tuple[int, int], tuple[Witness, ...]]:
    """For each rule and each example that it covers one row for each literal, in the order of the clause."""
    database = trace.coverage.database
    clauses = [rule.clause.rooted(database.target.table) for rule in ensemble.rules]
    fired = [np.flatnonzero(column) for column in covered.T]
    rows = [trace.witnesses(r, of_rule) if of_rule.size else {} for r, of_rule in enumerate(fired)]
    records = _Records.of(trace, clauses, rows)
    found: dict[tuple[int, int], tuple[Witness, ...]] = {}
    for r, (clause, of_rule) in enumerate(zip(clauses, fired, strict=True)):
        if of_rule.size:
            columns = [
                records.witnesses(literal, k, rows[r][k]) for k, literal in enumerate(clause.body) if k or literal.tests
            ]
            of_example = zip(*columns, strict=True) if columns else [()] * of_rule.size
            found.update({(r, e): tuple(found) for e, found in zip(of_rule.tolist(), of_example, strict=True)})
    return found


@dataclass(eq=False)
class _Records:
    """Rows of tables as users see them, each table read once: `of_row` leads from a row to its record."""

    coverage: Coverage
    examples: Table
    of_row: dict[tuple[str, bool], dict[int, dict[str, Any]]]

    @classmethod
    def of(cls, trace: Trace, clauses: Sequence[Clause], rows: Sequence[Mapping[int, NDArray[np.int32]]]) -> _Records:
        wanted: dict[tuple[str, bool], list[NDArray[np.int32]]] = {}
        mentioned: dict[Operand, None] = {}
        for clause, chosen in zip(clauses, rows, strict=True):
            for k, found in chosen.items():
                if k or clause.root.tests:
                    wanted.setdefault((clause.body[k].table, k == 0), []).append(found)
            if 0 in chosen:
                mentioned.update(dict.fromkeys(_mentioned(clause.root)))
        database = trace.coverage.database
        of_row = {}
        for (name, is_root), parts in wanted.items():
            table = _only(trace.examples, tuple(mentioned)) if is_root else database.tables[name]
            distinct = np.unique(np.concatenate(parts)).astype(np.int64)
            frame = decode_table(table, database.domains, distinct, dates_as_text=True)
            of_row[name, is_root] = dict(zip(distinct.tolist(), map(_cells, frame.to_dict("records")), strict=True))
        return cls(trace.coverage, trace.examples, of_row)

    def witnesses(self, literal: Literal, position: int, rows: NDArray[np.int32]) -> list[Witness]:
        """Rows as witnesses of a literal; of an example only what the literal mentions is shown."""
        records = self.of_row[literal.table, position == 0]
        keys = [column.name for column in self.coverage.database.tables[literal.table].keys]
        mentioned = tuple(map(str, _mentioned(literal)))
        if position == 0:
            shown = tuple(dict.fromkeys((*(name for name in mentioned if name in keys), *mentioned)))
            counts = {
                str(operand): self.examples.aggregates[rows_behind(operand)].numbers
                for operand in _mentioned(literal)
                if isinstance(operand, Aggregate) and operand.function != "count"
            }
            return [
                Witness(
                    literal.table,
                    {name: records[row][name] for name in mentioned},
                    shown,
                    {name: int(values[row]) for name, values in counts.items()},
                )
                for row in rows.tolist()
            ]
        return [
            Witness(literal.table, records[row], tuple(dict.fromkeys((*keys, *mentioned)))) for row in rows.tolist()
        ]


def rows_behind(aggregate: Aggregate) -> Aggregate:
    """The number of rows that an aggregate is of; of a share also those without the value."""
    return Aggregate("count", aggregate.path, None, None if aggregate.function == "share" else aggregate.where)


def _mentioned(literal: Literal) -> tuple[Operand, ...]:
    """The columns that a literal binds or tests, and its aggregates."""
    return tuple(dict.fromkeys((*(column for column, _ in literal.bindings), *(test.column for test in literal.tests))))


def _key_values(database: Database, examples: Table) -> list[dict[str, Any]]:
    frame = decode_table(_only(examples, key_columns(database)), database.domains, np.arange(examples.n_rows))
    return (
        [_cells(record) for record in frame.to_dict("records")]
        if len(frame.columns)
        else [{} for _ in range(examples.n_rows)]
    )


def key_columns(database: Database) -> tuple[str, ...]:
    """The columns by which examples are called."""
    return database.target.key or tuple(column.name for column in database.tables[database.target.table].keys)


def _only(table: Table, names: Sequence[Operand]) -> Table:
    """Some columns of the examples: others may hold values that the dictionaries do not know."""
    columns = {str(name): column for name in names if (column := table.column(name)) is not None}
    return Table(table.name, columns, table.n_rows)


def _cells(record: Mapping[Any, Any]) -> dict[str, Any]:
    """Plain values; a missing one is None."""
    import pandas as pd

    cells = {str(name): None if pd.isna(value) else value for name, value in record.items()}
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in cells.items()}


def _show(value: Any) -> str:
    if value is None:
        return "missing"
    if isinstance(value, float):
        return f"{value:.15g}"
    text = str(value)
    return (
        f'"{text[:60]}…"'
        if isinstance(value, str) and len(text) > 60
        else f'"{text}"'
        if isinstance(value, str)
        else text
    )


def _plain(one: Explanation | NumberExplanation) -> dict[str, Any]:
    return {
        "keys": dict(one.keys),
        **one.told(),
        **({"base": one.base} if isinstance(one, NumberExplanation) else {}),
        "score": one.score,
        "start": one.start,
        "fired": [
            {
                "rule": str(f.rule.clause),
                "vote": f.vote,
                "witnesses": [_plain_witness(w) for w in f.witnesses],
            }
            for f in one.fired
        ],
        "missed": [
            {
                "rule": str(m.rule.clause),
                "vote": m.vote,
                "would_vote": m.would_vote,
                "satisfied": m.satisfied,
                "conditions": m.conditions,
                "failed": m.failed,
            }
            for m in one.missed
        ],
    }


def _plain_witness(witness: Witness) -> dict[str, Any]:
    rows = {"rows_behind": dict(witness.behind)} if witness.behind else {}
    return {"table": witness.table, "row": dict(witness.row), **rows}
