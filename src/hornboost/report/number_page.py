"""What a report says about a model of numbers, beside what every report says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from hornboost.logic.text import in_few_digits
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.report import examples as chosen_examples
from hornboost.report.cards import Card, rule_lines
from hornboost.report.charts import bar_of_shares
from hornboost.report.evaluation import WantedFolds, attempt, learner_of, summary
from hornboost.report.number_evaluation import NumberEvaluation, cross_validate_numbers, shuffled_folds
from hornboost.report.number_figures import number_curves
from hornboost.report.text import RULE, name, number, shown

Floats = NDArray[np.float64]


def evaluated(
    model: Any, saved: Any, X: Any, y: Floats | None, asked: WantedFolds, most: int, step: Callable[[str], None]
) -> tuple[NumberEvaluation | None, str]:
    """The cross-validation, or the sentence that says why there is none."""
    if y is None:
        return None, "The data has no labels, so the predictions cannot be compared with the truth."
    if asked.is_none:
        return None, "Cross-validation was left out."

    def evaluate() -> NumberEvaluation:
        estimator = learner_of(model, saved)
        folds = asked.found(model._database, len(y), most, lambda k: shuffled_folds(len(y), k, most))
        what = asked.said(len(folds), "folds")
        return cross_validate_numbers(
            estimator, X, y, folds, what=what, on_fold=lambda k, n: step(f"cross-validation, fold {k + 1} of {n}")
        )

    return attempt(evaluate)


@dataclass(frozen=True, eq=False)
class ScoredNumbers:
    """What the model says about the examples, or a sample of them: their rows in X, what is predicted of them, and the
    number that each rule covers.
    """

    rows: NDArray[np.intp]
    predicted: Floats
    covered: NDArray[np.int64]

    @classmethod
    def of(cls, model: Any, X: Any) -> ScoredNumbers:
        from sklearn.utils import _safe_indexing

        ensemble = model.ensemble_
        n = min(len(X), chosen_examples.MOST_SCORED)
        rows = np.arange(n) if n == len(X) else np.sort(np.random.default_rng(0).permutation(len(X))[:n])
        examples = model._encoded(_safe_indexing(X, rows))
        predicted = ensemble.numbers(ensemble.scores(model._database, examples))
        counts = np.zeros(len(ensemble.rules), np.int64)
        if ensemble.rules:
            found = ensemble.coverage(model._database)
            for _, covered in found.blocks(examples):
                counts += covered.sum(axis=0)[list(found.of_clause)]
        return cls(rows, predicted, counts)


def explanations(model: Any, X: Any, y: Floats | None, scored: ScoredNumbers, most: int) -> chosen_examples.Payload:
    """The examples worth a look, explained: large errors, high and low predictions, and some at random."""
    from sklearn.utils import _safe_indexing

    errors = np.zeros(len(scored.rows)) if y is None else np.abs(y[scored.rows] - scored.predicted)
    chosen = _choose(scored.predicted, errors, min(most, len(scored.rows)), has_errors=y is not None)
    payload = chosen_examples.Payload({id(rule): k for k, rule in enumerate(model.ensemble_.rules)})
    rows = scored.rows[chosen.rows]
    for row, one, reason in zip(rows.tolist(), model.explain(_safe_indexing(X, rows)), chosen.reasons, strict=True):
        if not payload.add(one, row, None if y is None else number(float(y[row])), reason):
            break
    return payload


def _choose(predicted: Floats, errors: Floats, n: int, *, has_errors: bool) -> chosen_examples.ShownExamples:
    order = np.argsort(predicted, kind="stable")
    wanted = [
        ("large error", np.argsort(-errors, kind="stable") if has_errors else order[:0], n // 4),
        ("high", order[::-1], n // 4),
        ("low", order, n // 4),
        ("random", np.random.default_rng(0).permutation(len(predicted)), n),
    ]
    found: dict[int, str] = {}
    for reason, candidates, room in wanted:
        new = [row for row in candidates[: 4 * n].tolist() if row not in found]
        found |= dict.fromkeys(new[: min(max(room, 1), n - len(found))], reason)
    return chosen_examples.ShownExamples(np.array(list(found), np.intp), list(found.values()))


def number_cards(ensemble: Ensemble, covered: Sequence[int], n: int) -> list[Card]:
    """The rules as the page shows them."""
    return [_card(k, rule, ensemble.link, int(covered[k - 1]), n) for k, rule in enumerate(ensemble.rules, start=1)]


def _card(place: int, rule: Rule, link: str, covered: int, n: int) -> Card:
    (vote,), (mean, other) = rule.votes, rule.means or (float("nan"), float("nan"))
    share, css = covered / max(n, 1), "pos" if vote >= 0 else "neg"
    said = str(rule.clause.head.value)
    predicts = f"× {said}" if link == "log" else f"+ {said}" if vote >= 0 else f"− {in_few_digits(-vote)}"
    bar: Markup = bar_of_shares([(share, css, f"{number(covered)} examples")], f"covers {share:.1%} of the examples")
    return Card(
        number=place,
        text=shown(str(rule.clause), RULE),
        lines=rule_lines(rule.clause),
        unequal=[(name(a), name(b)) for a, b in rule.clause.unequal],
        predicts=predicts,
        css=css,
        vote=vote,
        otherwise=0.0,
        covered=float(covered),
        share=share,
        precision=abs(mean - other),
        lift=0.0,
        length=rule.clause.length,
        origin=rule.origin,
        bar=bar,
        coverage=(),
        tables=sorted({name(literal.table) for literal in rule.clause.body}),
        means=(number(mean), number(other)),
    )


def number_quality(evaluation: NumberEvaluation | None, missing: str, label: str) -> dict[str, Any]:
    """What the page says about how good the predictions are."""
    if evaluation is None:
        return {"evaluation": None, "missing": shown(missing, 500)}
    rows = evaluation.metrics()
    return {
        "evaluation": evaluation,
        "missing": "",
        "n_evaluated": number(len(evaluation.truth)),
        "is_sample": len(evaluation.truth) < evaluation.n_all,
        "means": {metric: tuple(f"{figure:.4g}" for figure in summary(values)) for metric, values in rows.items()},
        "baseline": f"{evaluation.baseline:.4g}",
        "folds": [[number(values[k]) for values in rows.values()] for k in range(evaluation.n_folds)],
        "curves": number_curves(evaluation, label),
    }
