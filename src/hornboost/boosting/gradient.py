"""Second-order gradient boosting of clauses, whatever the loss, and how it tunes itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import astuple, dataclass, fields, replace
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from hornboost.aggregates.choice import AggregateChoice, checked_functions
from hornboost.boosting.corrective import Corrective
from hornboost.boosting.descent import Descent
from hornboost.boosting.folds import FOLDS, folds, group_values, n_distinct, sample
from hornboost.boosting.path import path
from hornboost.boosting.trials import KeptTrials
from hornboost.boosting.tuning import MOST_ROUNDS, SIGNIFICANT, Attempt, Choices, Setting, Trial, search, tried
from hornboost.data.bins import MAX_BINS
from hornboost.data.distances import FARTHEST
from hornboost.engine import Visible
from hornboost.engine.constants import checked_domains, nameable, recurring
from hornboost.engine.needs import EVERY_WAY, Ways, affordable
from hornboost.engine.negations import LEAST
from hornboost.engine.paths import left_out, narrow, wide
from hornboost.errors import DataError, counted
from hornboost.estimators.booster import Booster
from hornboost.estimators.examples import Targets, Training
from hornboost.estimators.run import Loop, Run
from hornboost.learners.hypotheses import ClauseCells, Floats
from hornboost.learners.losses import Loss
from hornboost.learners.memory import Memory
from hornboost.learners.newton import NewtonSearch
from hornboost.learners.problem import Problem
from hornboost.logic.aggregate import FUNCTIONS
from hornboost.logic.clause import Head
from hornboost.model.checkpoint import Checkpoint
from hornboost.model.diagnosis import warn_if_wide
from hornboost.model.votes import Round, Vote
from hornboost.stopping import NONE_BETTER, OUT_OF_TIME, check, in_part_of_the_time, learning, untimed

if TYPE_CHECKING:
    import pandas as pd

LENGTHS = (3, 1, 2, 5)
"""Clause lengths that are tried, the first one first."""

NEAR = 2
"""Joins between an example and a row that rules look at first."""

THRESHOLDS = 1 << 18
"""Of the numeric columns of a table together; more take longer in every round, and tell next to nothing more apart."""

STEP = 0.3
"""The share of a Newton step that a rule takes; half of it where it is grown on a part of the examples."""

USUAL_ROUNDS = 100
"""Rounds where there are too few examples to choose their number."""

TRIALS = 0.5
"""The share of a time limit that tuning may take."""

FAR_MORE = 10
"""If there are more than so many times as many examples as in a sample, its rounds are not asked of all of them."""

ENOUGH = 50
"""Examples from which on no rule is learned where none was better on held-out ones; of fewer, too few were held out."""


@dataclass(eq=False, repr=False, kw_only=True)
class GradientBooster(Booster):
    """What `HornBoostClassifier` and `HornBoostRegressor` share: all but the loss."""

    rounds: int | Choice["auto"] = "auto"  # type: ignore[assignment]
    max_literals: int | Choice["auto"] = "auto"  # type: ignore[assignment]
    max_depth: int | Choice["auto"] = "auto"  # type: ignore[assignment]
    constants: Choice["auto"] | bool | Sequence[str] | None = "auto"
    corrective: bool | Choice["auto"] = "auto"
    max_rules: int | None = None
    learning_rate: float | Choice["auto"] = "auto"
    l2: float = 1.0
    subsample: float = 1.0
    min_gain: float | Choice["auto"] = "auto"
    aggregates: bool | Choice["auto"] | Sequence[str] = "auto"
    negations: bool | Choice["auto"] = "auto"
    groups: str | Sequence[str] | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Booster._parameter_constraints,
        "rounds": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_literals": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_depth": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "constants": [StrOptions({"auto"}), "boolean", "array-like", None],
        "corrective": ["boolean", StrOptions({"auto"})],
        "max_rules": [Interval(Integral, 1, None, closed="left"), None],
        "learning_rate": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
        "l2": [Interval(Real, 0, None, closed="left")],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "min_gain": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "aggregates": ["boolean", StrOptions({"auto"}), list, tuple],
        "negations": ["boolean", StrOptions({"auto"})],
        "groups": [str, list, tuple, None],
    }
    history_columns = ("rule", "training_loss")

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        self.left_out_, self._cut_short = self._domains()[1], None
        training = super()._training(X, y, sample_weight)
        if len(training.y) == 1:
            raise DataError("there is one example only, n_samples=1, and nothing to tell it from; give at least two.")
        functions = self._functions()
        if not functions or self.database is None or self._near() == 0:
            return training
        choice = AggregateChoice(self._database, functions, self._near(), self._most_reached(), self.left_out_)
        # rules that a checkpoint holds need the aggregates, however long these take
        is_resumed = self.checkpoint is not None and Path(self.checkpoint).exists()
        with in_part_of_the_time(TRIALS), untimed() if is_resumed else nullcontext(), learning() as ending:
            training = training.with_aggregates(choice, **self._engine_options())
        if ending.reason is not None:
            self.left_out_["aggregates"] = f"{ending.reason} before they were computed"
            # what is found without them has no place in a checkpoint, whose next fit may have the time for them
            self._cut_short = None if self.checkpoint is None else ending.reason
        return training

    def _functions(self) -> tuple[str, ...]:
        """The functions that rows are aggregated by."""
        if isinstance(self.aggregates, bool | np.bool_ | str):
            return FUNCTIONS if self.aggregates else ()
        return checked_functions(self.aggregates)

    def _most_reached(self) -> int:
        """Rows that a path to be summed up may reach; unless that is said, all that there are are not too many."""
        is_said = self.max_entries != Booster.max_entries
        return self.max_entries if is_said else max(self.max_entries, self._database.n_rows)

    def _checkpoint(self, training: Training) -> Checkpoint | None:
        return None if self._cut_short is not None else super()._checkpoint(training)

    def _boost(self, training: Training, run: Run) -> Loop:
        problem = training.problem
        assert problem is not None
        if self._nothing is not None:
            return self._nothing
        descent = self._descent(problem, training.y, training.weights, self._setting, run.seed, run.memory)
        while True:
            changes = descent.step()
            if changes is None:
                return descent.ended
            clauses = [problem.clause_under(self._head(problem, table), state) for state, table in changes]
            votes = tuple(
                Vote(ClauseCells(clause, problem.examples, state.covered), table)
                for clause, (state, table) in zip(clauses, changes, strict=True)
            )
            loss = self._loss.mean(training.y, descent.scores + self._offset, training.weights)
            yield Round(votes, {"rule": str(clauses[0]), "training_loss": loss})

    def _descent(
        self, problem: Problem, y: Targets, weights: Floats, setting: Setting, seed: int, memory: Memory | None = None
    ) -> Descent:
        memory = Memory() if memory is None else memory
        sights = self._sights(problem, setting)
        search = NewtonSearch(problem, setting.max_literals, setting.min_gain, memory, sights)
        kind = Corrective if setting.corrective else Descent
        most = math.inf if self.max_rules is None else self.max_rules
        rate = self.learning_rate
        step = (STEP if setting.subsample == 1.0 else 0.5 * STEP) if isinstance(rate, str) else rate
        return kind(problem, y, weights, self._loss, search, self.l2, step, setting.subsample, seed, most)

    def _head(self, problem: Problem, table: Floats) -> Head:
        """What a clause says whose cells {not covered, covered} vote so."""
        raise NotImplementedError

    def _sights(self, problem: Problem, setting: Setting) -> tuple[Visible, ...]:
        """What clauses may look at under a setting: everything, and where that is more, single rows without names."""
        tables = {**problem.database.tables, problem.examples.name: problem.examples}
        attributes = {(table.name, column.name) for table in tables.values() for column in table.attributes}
        attributes |= {(table.name, table.age) for table in tables.values() if table.age is not None}
        named = self._named if setting.constants else frozenset()
        rows = Visible(frozenset(attributes | named), frozenset(tables), setting.max_depth, negations=setting.negations)
        return (replace(rows, aggregates=True), rows) if setting.aggregates else (rows,)

    def _engine_options(self) -> dict[str, Any]:
        options = super()._engine_options()
        is_far = isinstance(self.max_depth, str)
        depth = self._farthest() if is_far else self.max_depth
        if self.max_bins == MAX_BINS:
            options["max_thresholds"] = THRESHOLDS
        options |= {"max_depth": depth, "look_ahead": max(NEAR, depth), "constants": self._domains()[0]}
        return options if self.database is None or not is_far else {**options, "ways": affordable(self.database)}

    def _domains(self) -> tuple[tuple[str, ...], dict[str, str]]:
        """The kinds of keys that rules may name, never those that examples are known by; and why not others."""
        by_hand = self._named_by_hand()
        if self.database is None:
            if by_hand:
                raise DataError(f"constants: there are no keys of '{by_hand[0]}' without a database; leave it out")
            return (), {}
        database, target = self.database, self.database.target
        if by_hand is not None:
            return checked_domains(database, by_hand, self.max_bins), {}
        if not self.constants:
            return (), {}
        own = {database.tables[target.table].columns[name].domain for name in target.key}
        return nameable(database, (name for name in database.domains if name not in own), self.max_bins)

    def _named_by_hand(self) -> tuple[str, ...] | None:
        """The kinds of keys that rules were told to name, if they are given one by one."""
        return None if isinstance(self.constants, str | bool | np.bool_ | None) else tuple(self.constants)

    def _loss_of(self, training: Training) -> Loss:
        """The loss that is descended."""
        raise NotImplementedError

    def _nothing_to_learn(self, y: Targets) -> str | None:
        """Why no rule can be learned from labels, if none can."""
        raise NotImplementedError

    def _to_hold_out(self, training: Training, part: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """What of a part of the examples may be held out, so that the others tell of the same labels as all do."""
        return part

    def _start(self, training: Training) -> Floats:
        return self._loss.start(training.y, training.weights) + self._offset

    def _measure(self, scores: Floats, y: Targets, weights: Floats) -> dict[str, float]:
        return {self._loss.name: self._loss.mean(y, scores, weights)}

    def _n_rounds(self) -> int:
        return self._rounds

    def _run_name(self, label: str | None) -> str:
        # a fit whose tuning was cut short may go on with another setting, or with fewer joins
        return f"{self._setting}{self._ways}"

    def _prepare(self, training: Training, seed: int, checkpoint: Checkpoint | None) -> None:
        """Choose what is left to be chosen."""
        self._loss, self._nothing = self._loss_of(training), self._cut_short or self._nothing_to_learn(training.y)
        self._check_groups(training)
        fixed = None if isinstance(self.rounds, str) else int(self.rounds)
        choices = self._choices(training)
        assert training.problem is not None
        self._ways = _as_text(training.problem.engine.ways)
        self._setting = Setting(**{name: values[0] for name, values in choices.items()})
        is_open = any(len(values) > 1 for values in choices.values()) or (fixed is None and self.early_stopping is None)
        trials, best = list[Trial](), None
        self._evidence: dict[str, Any] = {"loss": self._loss.name, "folds": 0}
        if self._groups():
            self._evidence["groups"] = list(self._groups())
        if is_open and self._nothing is None and n_distinct(training) >= 2 * FOLDS:
            trials, best = self._trials(training, choices, fixed or MOST_ROUNDS, seed, checkpoint)
        self._rounds = fixed or (USUAL_ROUNDS if self.early_stopping is None else MOST_ROUNDS)
        self._held_out_losses = () if best is None else best.losses
        self._offset = 0.0
        if best is not None:
            self._setting = best.setting
        if best is not None and self.early_stopping is None:
            self._rounds = fixed or best.rounds
            self._offset = best.offsets[min(self._rounds, len(best.offsets)) - 1]
            if fixed is None and best.loss >= best.start and n_distinct(training) >= ENOUGH:
                self._offset, self._nothing = 0.0, NONE_BETTER
                best = None
        self.tuning_ = _as_frame(trials, best)
        self.tuning_.attrs.update(self._evidence)

    def _trials(
        self, training: Training, choices: Choices, most_rounds: int, seed: int, checkpoint: Checkpoint | None
    ) -> tuple[list[Trial], Trial | None]:
        """What was tried and the best of it; where there are many examples, the last trial is on all of them."""
        with in_part_of_the_time(TRIALS):
            some = sample(training, seed)
            if some is None:
                return search(choices, self._attempt(training, most_rounds, seed, checkpoint))
            self._evidence["sample"] = len(some)
            assert training.problem is not None
            ways = training.problem.engine.ways.of_share(len(some) / len(training.y))
            part = training.part(some, **self._engine_options() | {"ways": ways})
            trials, best = search(choices, self._attempt(part, most_rounds, seed, checkpoint))
            if best is None or not isinstance(self.rounds, str):
                return trials, best
            # a round that some examples are worth is one that all are, where these are not far more
            least = best.rounds if len(training.y) <= FAR_MORE * len(some) else 0
            on_all = self._attempt(training, most_rounds, seed, checkpoint, least)(best.setting, None, ())
            return (trials, best) if on_all is None else ([*trials, on_all], on_all)

    def _attempt(
        self,
        training: Training,
        most_rounds: int,
        seed: int,
        checkpoint: Checkpoint | None,
        least_rounds: int | None = None,
    ) -> Attempt:
        """How a setting is tried on some examples."""
        problem = training.problem
        assert problem is not None
        parts = (self._to_hold_out(training, part) for part in folds(training, seed, self._groups()))
        held_outs = [part for part in parts if part.any()]
        if self._groups() and not held_outs:
            raise DataError(
                f"groups: no fold of '{self._groups()[0]}' leaves all labels of what it holds out to learn from; name "
                "another column"
            )
        about = f"on {len(training.y)} examples in up to {most_rounds} rounds{_as_text(problem.engine.ways)}"
        kept = KeptTrials(checkpoint, about)

        def attempt(setting: Setting, best: Trial | None, others: Sequence[Trial]) -> Trial | None:
            def of_folds(memories: Sequence[Memory]) -> Trial | None:
                def descend(setting: Setting, weights: Floats, fold: int | None) -> Descent:
                    memory = None if fold is None else memories[fold]
                    return self._descent(problem, training.y, weights, setting, seed, memory)

                return tried(training, setting, descend, held_outs, most_rounds, best, others, least_rounds)

            trial = kept.trial(setting, len(held_outs), of_folds) if held_outs else None
            if held_outs and (trial is None or not trial.is_whole):
                self._note_end_of_trials()
            return trial

        self._evidence["folds"] = len(held_outs)
        return attempt

    def _groups(self) -> tuple[str, ...]:
        """The columns whose values are held out whole."""
        return (self.groups,) if isinstance(self.groups, str) else tuple(self.groups or ())

    def _check_groups(self, training: Training) -> None:
        groups = self._groups()
        if groups and self.early_stopping is not None:
            raise DataError(
                "groups: early_stopping holds out single examples, not groups; set early_stopping=None, so that the "
                "number of rounds is chosen on groups"
            )
        if groups:
            group_values(training, groups)

    def _note_end_of_trials(self) -> None:
        with learning() as ending:
            check()
        if ending.reason == OUT_OF_TIME:
            self.left_out_["further settings"] = (
                f"the time for tuning, {TRIALS:.0%} of what the limit leaves, ended before they were tried"
            )

    def _choices(self, training: Training) -> Choices:
        """The values that may be taken for what is left to be chosen, and those that are given."""
        problem = training.problem
        assert problem is not None
        depths = self._depths(problem)
        self._named: frozenset[tuple[str, str]] = frozenset()
        with in_part_of_the_time(TRIALS), learning():
            by_hand = self._named_by_hand() is not None
            self._named = _all_named(problem) if by_hand else recurring(problem.engine, depths[0])
        given = bool(problem.examples.aggregates)
        choices: Choices = {
            "aggregates": (True, False) if given and self.aggregates == "auto" else (given,),
            "constants": (False, True) if self._named and self.constants == "auto" else (bool(self._named),),
            "max_depth": depths,
            "negations": self._ways_to_exclude(training),
            "min_gain": self._worths(),
            "max_literals": LENGTHS if isinstance(self.max_literals, str) else (int(self.max_literals),),
            "corrective": self._ways_to_vote(),
            "subsample": (float(self.subsample),),
        }
        # with few rules most depends on it, and the rest is chosen for what it comes to
        return choices if self.max_rules is None else {"corrective": choices["corrective"], **choices}

    def _depths(self, problem: Problem) -> tuple[int, ...]:
        """How far rules may look: near, or as far as the farthest table is."""
        if not isinstance(self.max_depth, str):
            with in_part_of_the_time(TRIALS), learning():
                warn_if_wide(wide(problem.engine, min(NEAR, self.max_depth)), self.max_depth)
            return (self.max_depth,)
        found = problem.engine.graph.distances()
        farthest, near = self._farthest(), self._near()
        if not found:
            return (near,)
        wanted = min(FARTHEST, max(near + 1, *found.values()))
        if farthest < wanted:
            more = f"rules of {counted(farthest + 1, 'join')}" + (" or more" if wanted > farthest + 1 else "")
            self.left_out_[more] = (
                f"the partitions hold the rows within {counted(farthest, 'join')}; max_depth={farthest} gives the same "
                "rules from them and from their source"
            )
            self.left_out_ |= {
                table: f"it is {distance} joins away from an example; the partitions hold no rows so far away"
                for table, distance in found.items()
                if distance > farthest
            }
        with in_part_of_the_time(TRIALS), learning():
            narrow(problem.engine, near)
            self.left_out_ |= left_out(problem.engine, near)
        return tuple(dict.fromkeys((near, min(farthest, wanted))))

    def _ways_to_exclude(self, training: Training) -> tuple[bool, ...]:
        """Whether rules may exclude single values; they need a column with some to choose from."""
        assert training.problem is not None
        counts = training.weights > 0.0
        columns = [column.codes for column in training.problem.examples.attributes if column.kind == "nominal"]
        is_possible = any(np.count_nonzero(np.bincount(codes[counts & (codes >= 0)])) >= LEAST for codes in columns)
        if self.negations == "auto":
            return (False, True) if is_possible and isinstance(self.rounds, str) else (False,)
        return (bool(self.negations) and is_possible,)

    def _ways_to_vote(self) -> tuple[bool, ...]:
        if self.corrective == "auto":
            if not self._loss.is_smooth or not (isinstance(self.rounds, str) or self.max_rules is not None):
                return (False,)
            return (False, True) if self.max_rules is None else (True, False)
        if self.corrective and not self._loss.is_smooth:
            raise DataError(f"corrective: votes cannot be fitted again down the {self._loss.name}; set it to False")
        return (bool(self.corrective),)

    def _worths(self) -> tuple[float, ...]:
        """What a further condition of a rule may have to gain, in times of what one gains by chance."""
        if not isinstance(self.min_gain, str):
            return (float(self.min_gain),)
        return (SIGNIFICANT, 0.0) if isinstance(self.rounds, str) else (0.0,)

    def _finish(self, training: Training, runs: list[Run], reason: str | None) -> None:
        super()._finish(training, runs, reason)
        self.path_ = path(self._votes.rounds, self.history_, self._held_out_losses)
        self.path_.attrs["loss"] = self._loss.name
        self.n_conditions_ = sum(rule.clause.length for rule in self.ensemble_.rules)

    def _near(self) -> int:
        return min(NEAR, self._farthest()) if isinstance(self.max_depth, str) else self.max_depth

    def _farthest(self) -> int:
        """How far clauses may go where that is left to be chosen: partitions hold the rows within some joins only."""
        stored = None if self.database is None else self.database.stored
        return FARTHEST if stored is None else min(FARTHEST, stored.depth)


def _all_named(problem: Problem) -> frozenset[tuple[str, str]]:
    """The key columns whose values rules were told to name."""
    tables = {**problem.database.tables, problem.examples.name: problem.examples}
    return frozenset(
        (table.name, column.name)
        for table in tables.values()
        for column in table.keys
        if column.domain in problem.engine.constants
    )


def _as_text(ways: Ways) -> str:
    """What tells rounds apart that were found with other joins left out."""
    return "" if ways == EVERY_WAY else f", joins to {ways.reached} rows"


def _as_frame(trials: Sequence[Trial], best: Trial | None) -> pd.DataFrame:
    """A row a trial: the setting, its best number of rounds, the held-out loss there, and whether it was chosen.

    And the loss of the best setting before: of one that was given up, on the same folds after as many rounds.
    """
    import pandas as pd

    columns = [*(field.name for field in fields(Setting)), "rounds", "loss", "beside", "chosen"]
    rows = [(*astuple(one.setting), one.rounds, one.loss, one.beside, one is best) for one in trials]
    return pd.DataFrame(rows, columns=columns).astype({"beside": float})
