"""One self-contained HTML page about a model.

What was learned, how good it is, and why examples are predicted as they are.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.distances import FARTHEST, about_unreached, unreached
from hornboost.errors import ModelError, counted
from hornboost.report import examples as chosen_examples
from hornboost.report.evaluation import (
    Evaluation,
    WantedFolds,
    attempt,
    cross_validate,
    learner_of,
    stratified_folds,
    summary,
)
from hornboost.report.in_time import AskedInTime
from hornboost.report.text import name, number, shown

if TYPE_CHECKING:
    from jinja2 import Environment

    from hornboost.data import Database

Progress = Callable[[str], None]
MOST_CV_EXAMPLES = 5_000


def write_report(model: Any, X: Any, y: Any = None, path: str | Path = "report.html", **options: Any) -> Path:
    """Write the page that `report_html` makes to a file, whole or not at all.

    Parameters
    ----------
    model, X, y, **options
        As in `report_html`.
    path : path
        The file to write.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile, hornboost as hb
    >>> db = hb.datasets.trains(100, seed=1).database()
    >>> X, y = db.examples()
    >>> clf = hb.C2RIBClassifier(db, rounds=5, random_state=0).fit(X, y)
    >>> write_report(clf, X, y, tempfile.mkdtemp() + "/report.html", cv=2).name
    'report.html'
    """
    from hornboost.model.whole import write_whole

    write_whole(path, report_html(model, X, y, **options).encode("utf-8"))
    return Path(path)


def report_html(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    cv: Any = 5,
    groups: str | None = None,
    explained: int = 120,
    cv_examples: int = MOST_CV_EXAMPLES,
    title: str | None = None,
    time: Any = None,
    rolling: int | None = None,
    horizon: Any = None,
    step: Progress = lambda _: None,
) -> str:
    """Make one HTML page about a fitted estimator with rules, or about a loaded model.

    Parameters
    ----------
    model : estimator
        A fitted estimator with rules, or what `hornboost.load` returns.
    X : data frame or array
        The examples to explain and to cross-validate on.
    y : array or None
        Their labels; without them there is no cross-validation.
    cv : int, str or list of pairs
        The number of folds, 0 for no cross-validation, the name of folds that the database's schema knows, or the
        positions to learn from and those to predict of each fold.
    groups : str or None
        A column whose values folds keep together, as in `Database.folds`; X and y are then the database's examples.
    explained : int
        The most examples to explain on the page.
    cv_examples : int
        The most examples to use for cross-validation; the page says so when they are a sample.
    title : str or None
        The title of the page.
    time, rolling, horizon
        Splits in time to evaluate as well, as in `Database.folds`; X and y are then the database's examples.
    step : function
        Called with a few words when a part of the work begins.

    Returns
    -------
    str
        The HTML of the page, which loads nothing else.
    """
    environment = _environment()
    saved = model._saved()
    if not hasattr(model, "_database"):
        raise ModelError("the report looks at the rows behind the rules; load the model with database=")
    asked, folds = AskedInTime(time, rolling, horizon), WantedFolds(cv, groups)
    if saved.ensemble.is_of_numbers:
        context = _about_numbers(model, saved, X, y, folds, explained, cv_examples, title, step)
        in_time = asked.evaluated(model, saved, X, None if y is None else np.asarray(y, np.float64), cv_examples, step)
        return _rendered(environment, context | {"in_time": in_time})
    texts = dict(zip(saved.classes.tolist(), saved.ensemble.classes, strict=True))
    labels = None if y is None else np.array([texts.get(value, str(value)) for value in np.asarray(y).tolist()], object)
    evaluation, missing = _evaluation(model, saved, X, labels, folds, cv_examples, step)
    in_time = asked.evaluated(model, saved, X, labels, cv_examples, step)
    step("explaining examples")
    scored = _Scored.of(model, X, labels)
    payload = _explanations(model, X, labels, scored, explained)
    step("drawing the page")
    context = _context(saved, model._database, labels, scored, payload, len(X)) | _quality(evaluation, missing)
    target = saved.target
    context |= {
        **_learning(saved, evaluation),
        "in_time": in_time,
        "title": shown(title, 120) if title else f"Predicting {name(target.label or 'class')} in {name(target.table)}",
        "data": chosen_examples.script_json(
            {"label": context["label"], "examples": payload.examples, "rules": [card.text for card in context["cards"]]}
        ),
    }
    return _rendered(environment, context)


def _about_numbers(
    model: Any,
    saved: Any,
    X: Any,
    y: Any,
    asked: WantedFolds,
    explained: int,
    cv_examples: int,
    title: str | None,
    step: Progress,
) -> dict[str, Any]:
    """What the page says about a model of numbers."""
    from hornboost.report import number_page

    labels = None if y is None else np.asarray(y, np.float64)
    evaluation, missing = number_page.evaluated(model, saved, X, labels, asked, cv_examples, step)
    step("explaining examples")
    scored = number_page.ScoredNumbers.of(model, X)
    payload = number_page.explanations(model, X, labels, scored, explained)
    step("drawing the page")
    ensemble, target = saved.ensemble, saved.target
    label = name(target.label or "y")
    cards = number_page.number_cards(ensemble, scored.covered.tolist(), len(scored.rows))
    data = {"label": label, "link": ensemble.link, "examples": payload.examples, "rules": [card.text for card in cards]}
    return {
        **_about_all(saved, model._database, payload, len(X)),
        **number_page.number_quality(evaluation, missing, label),
        "numbers": True,
        "label": label,
        "base": number(float(ensemble.numbers(np.array([ensemble.intercept]))[0])),
        "is_log": ensemble.link == "log",
        "classes": (),
        "about": None,
        "intercept": (),
        "has_labels": labels is not None,
        "n_scored": number(len(scored.rows)),
        "cards": cards,
        **_learning(saved, None),
        "title": shown(title, 120) if title else f"Predicting {label} in {name(target.table)}",
        "data": chosen_examples.script_json(data),
    }


def _evaluation(
    model: Any, saved: Any, X: Any, y: NDArray[Any] | None, asked: WantedFolds, most: int, step: Progress
) -> tuple[Evaluation | None, str]:
    if y is None:
        return None, "The data has no labels, so the predictions cannot be compared with the truth."
    if asked.is_none:
        return None, "Cross-validation was left out."

    def evaluate() -> Evaluation:
        estimator = learner_of(model, saved)
        folds = asked.found(model._database, len(y), most, lambda k: stratified_folds(y, k, most))
        what = asked.said(len(folds), "stratified folds")
        return cross_validate(
            estimator,
            X,
            y,
            folds,
            positive=saved.target.positive,
            what=what,
            on_fold=lambda k, n: step(f"cross-validation, fold {k + 1} of {n}"),
        )

    return attempt(evaluate)


@dataclass(frozen=True, eq=False)
class _Scored:
    """What the model says about the examples, or about a sample of them.

    Their rows in X, scores, and whom each rule covers by class.
    """

    rows: NDArray[np.intp]
    sureness: NDArray[np.float64]
    wrong: NDArray[np.bool_]
    coverage: NDArray[np.float64]
    totals: NDArray[np.float64]

    @classmethod
    def of(cls, model: Any, X: Any, labels: NDArray[Any] | None) -> _Scored:
        from sklearn.utils import _safe_indexing

        ensemble = model.ensemble_
        n = min(len(X), chosen_examples.MOST_SCORED)
        rows = np.arange(n) if n == len(X) else np.sort(np.random.default_rng(0).permutation(len(X))[:n])
        examples = model._encoded(_safe_indexing(X, rows))
        scores = ensemble.scores(model._database, examples)
        decision, choice = ensemble.decision(scores), ensemble.choices(scores)
        sureness = decision if decision.ndim == 1 else decision.max(axis=1) - np.median(decision, axis=1)
        wrong = np.zeros(n, np.bool_) if labels is None else labels[rows] != np.array(ensemble.classes, object)[choice]
        place = {value: k for k, value in enumerate(ensemble.classes)}
        classes = choice if labels is None else np.array([place.get(value, -1) for value in labels[rows]])
        is_class = (classes[:, None] == np.arange(len(ensemble.classes))).astype(np.float64)
        coverage = np.zeros((len(ensemble.rules), len(ensemble.classes)))
        if ensemble.rules:
            found = ensemble.coverage(model._database)
            for start, covered in found.blocks(examples):
                of_block = covered.T.astype(np.float64) @ is_class[start : start + len(covered)]
                coverage += of_block[list(found.of_clause)]
        return cls(rows, sureness, wrong, coverage, is_class.sum(axis=0))


def _explanations(
    model: Any, X: Any, labels: NDArray[Any] | None, scored: _Scored, most: int
) -> chosen_examples.Payload:
    from sklearn.utils import _safe_indexing

    chosen = chosen_examples.choose(scored.sureness, scored.wrong, min(most, len(scored.rows)))
    payload = chosen_examples.Payload({id(rule): k for k, rule in enumerate(model.ensemble_.rules)})
    rows = scored.rows[chosen.rows]
    for row, one, reason in zip(rows.tolist(), model.explain(_safe_indexing(X, rows)), chosen.reasons, strict=True):
        if not payload.add(one, row, None if labels is None else str(labels[row]), reason):
            break
    return payload


def _context(
    saved: Any,
    database: Database,
    labels: NDArray[Any] | None,
    scored: _Scored,
    payload: chosen_examples.Payload,
    n: int,
) -> dict[str, Any]:
    from hornboost.model.ensemble import vote_for
    from hornboost.report.cards import class_css, rule_cards

    ensemble, target = saved.ensemble, saved.target
    classes = ensemble.classes
    about = ensemble.about(target.positive)
    spoken_of = range(len(classes)) if len(classes) > 2 else [about]
    return {
        **_about_all(saved, database, payload, n),
        "numbers": False,
        "label": name(target.label or "class"),
        "about": name(classes[about]) if len(classes) == 2 else None,
        "classes": [
            (name(value), class_css(k, len(classes), about), number(scored.totals[k]))
            for k, value in enumerate(classes)
        ],
        "has_labels": labels is not None,
        "n_scored": number(len(scored.rows)),
        "cards": rule_cards(ensemble, about, scored.coverage, scored.totals),
        "intercept": [(name(classes[k]), f"{vote_for(ensemble.intercept, k):+.4f}") for k in spoken_of],
    }


def _about_all(saved: Any, database: Database, payload: chosen_examples.Payload, n: int) -> dict[str, Any]:
    """What every page says, whatever is predicted."""
    from hornboost import __version__
    from hornboost.model.times import what_counts
    from hornboost.report.schema_graph import Graph

    target, training = saved.target, saved.training
    rows = (
        {table.name: table.n_rows for table in database.tables.values()} if saved.is_relational else {target.table: n}
    )
    return {
        "version": __version__,
        "target": name(target.table),
        "n_examples": number(n),
        "n_rows": number(sum(rows.values())),
        "n_tables": len(database.tables),
        "fired": payload.typical(),
        "examples": payload.examples,
        "graph": Graph.of(database, [rule.clause for rule in saved.ensemble.rules], rows),
        "warnings": [shown(text, 300) for text in (*_left_out(database, training), *database.warnings[:20])],
        "known": shown(what_counts(saved), 500),
        "estimator": name(str(training.get("estimator", "model"))),
        "parameters": [(name(key), shown(str(value))) for key, value in dict(training.get("parameters", {})).items()],
    }


def _left_out(database: Database, training: Mapping[str, Any]) -> list[str]:
    """What of the data the page is not about."""
    rows, target = database.unlabelled_rows.size, database.target.table
    have = "has no label and is" if rows == 1 else "have no label and are"
    said = [f"{counted(rows, 'row')} of {target} {have} left out"] if rows else []
    depth = dict(training.get("parameters", {})).get("max_depth", 0)
    depth = FARTHEST if depth == "auto" else depth
    missed = unreached(database.tables, target, depth) if isinstance(depth, int) and depth > 0 else {}
    unread = [f"not read: {', '.join(database.left_out)}"] if database.left_out else []
    return [*said, *unread, *about_unreached(missed, target, depth)]


def _learning(saved: Any, evaluation: Evaluation | None) -> dict[str, Any]:
    """How it was learned: figures round by round, what was tried before, and the path to the model."""
    from hornboost.report.learning import learning_figures
    from hornboost.report.tuning import RulePath, Trials

    training, histories = saved.training, () if evaluation is None else evaluation.histories
    return {
        "learning": learning_figures(training.get("history", []), histories),
        "trials": Trials.of(training),
        "path": RulePath.of(training),
    }


def _quality(evaluation: Evaluation | None, missing: str) -> dict[str, Any]:
    from hornboost.report.figures import curve_figures

    if evaluation is None:
        return {"evaluation": None, "missing": shown(missing, 500)}
    rows = evaluation.metrics()
    means = {metric: summary(values) for metric, values in rows.items()}
    return {
        "evaluation": evaluation,
        "missing": "",
        "n_evaluated": number(len(evaluation.truth)),
        "is_sample": len(evaluation.truth) < evaluation.n_all,
        "means": means,
        "baseline": evaluation.baseline,
        "folds": [[f"{values[k]:.4f}" for values in rows.values()] for k in range(evaluation.n_folds)],
        "confusion": [[number(int(count)) for count in row] for row in evaluation.confusion()],
        "curves": curve_figures(evaluation),
        "evaluated_classes": [name(value) for value in evaluation.classes],
    }


def _environment() -> Environment:
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError:
        raise ModelError(
            "the report needs the package jinja2; install it with: pip install 'hornboost[report]'"
        ) from None
    return Environment(
        autoescape=True, loader=FunctionLoader(_file), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def _rendered(environment: Environment, context: Mapping[str, Any]) -> str:
    """The page; its policy lets a browser run this script and style only, and load nothing."""
    from markupsafe import Markup

    script, style = _file("report.js"), _file("report.css")
    own = {
        "script": Markup(script),
        "style": Markup(style),
        "script_hash": _digest(script),
        "style_hash": _digest(style),
    }
    return environment.get_template("report.html").render(**context, **own)


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _file(which: str) -> str:
    return resources.files("hornboost.report").joinpath("templates", which).read_text(encoding="utf-8")
