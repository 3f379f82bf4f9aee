"""`hornboost rules` and `hornboost sql`: a model as text, Prolog and SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from hornboost.cli import options as shared
from hornboost.cli.output import check_output, note, say, show_json, write_text

if TYPE_CHECKING:
    from hornboost.estimators.fitted import FittedModel, FittedRegressor
    from hornboost.model.ensemble import Rule


def rules(
    model: shared.Model,
    top: Annotated[int | None, typer.Option(min=1, help="Only so many rules, of the largest influence.")] = None,
    prolog: Annotated[bool, typer.Option("--prolog", help="Print Prolog clauses.")] = False,
    as_json: shared.Json = False,
) -> None:
    """Print the rules of MODEL with their votes, how many training examples they cover,
    and how many of those are of the class, or the mean of their label; then the vote where a rule does not hold.

    Of two classes, all votes are for the positive one, as in `explain`: a rule for the other votes against it.

    Those that move the scores of the training examples most come first: a large vote for a handful of them has little
    influence.
    """
    from hornboost.estimators.fitted import FittedRegressor, load
    from hornboost.model.ensemble import vote_for
    from hornboost.model.influence import in_order

    fitted = load(model)
    if prolog:
        write_text(None, fitted.to_prolog())
        return
    if isinstance(fitted, FittedRegressor):
        _number_rules(fitted, top, as_json)
        return
    ensemble, target = fitted.ensemble_, fitted.model.target
    about = ensemble.about(target.positive)
    votes = [_votes(rule, ensemble.classes, about) for rule in fitted.rules_]
    frame = in_order(fitted.rules_frame().assign(votes=votes), "influence")
    frame = frame.head(top) if top else frame
    spoken_of = range(len(ensemble.classes)) if len(ensemble.classes) > 2 else [about]
    start = {ensemble.classes[k]: vote_for(ensemble.intercept, k) for k in spoken_of}
    if as_json:
        show_json(
            {
                "target": {
                    "table": target.table,
                    "key": list(target.key),
                    "label": target.label,
                    "positive": target.positive,
                },
                "classes": list(ensemble.classes),
                "start": start,
                "training": {name: value for name, value in fitted.training_.items() if name != "history"},
                "rules": frame.drop(columns="votes").to_dict("records"),
            }
        )
        return
    for row in frame.to_dict("records"):
        vote, otherwise = row["votes"]
        covered = [float(row[f"covered {name}"]) for name in ensemble.classes if f"covered {name}" in row]
        known = sum(covered) if covered and all(value == value for value in covered) else None
        told = [f"{known:g} covered, {row['precision']:.0%} right"] if known else []
        told += [f"{otherwise:+.4f} otherwise"] if otherwise else []
        say(f"{vote:+.4f}  {row['rule']}" + (f"  % {'; '.join(told)}" if told else ""))
    for name, value in start.items():
        say(f'{value:+.4f}  for "{name}", before any rule fires')
    if len(ensemble.classes) == 2 and any(vote < 0 for vote, _ in frame["votes"]):
        one, other = ensemble.classes[about], ensemble.classes[1 - about]
        say(f'a vote above zero speaks for "{one}", one below zero for "{other}"')
    _say_what_counts(fitted)


def _votes(rule: Rule, classes: Sequence[str], about: int) -> tuple[float, float]:
    """What a rule votes where it holds and where it does not: of two classes for the one that scores speak of."""
    from hornboost.model.ensemble import vote_for

    if len(classes) != 2:
        return rule.confidence(classes), rule.elsewhere(classes)
    return vote_for(rule.votes, about), vote_for(rule.otherwise, about) if rule.otherwise else 0.0


def _number_rules(fitted: FittedRegressor, top: int | None, as_json: bool) -> None:
    """The rules that change a number, those of the largest influence first."""
    import numpy as np

    frame = fitted.rules_frame(sort="influence")
    frame = frame.head(top) if top else frame
    ensemble, target = fitted.ensemble_, fitted.model.target
    base = float(ensemble.numbers(np.array([ensemble.intercept]))[0])
    if as_json:
        show_json(
            {
                "target": {"table": target.table, "key": list(target.key), "label": target.label},
                "link": ensemble.link,
                "base": base,
                "training": {name: value for name, value in fitted.training_.items() if name != "history"},
                "rules": frame.to_dict("records"),
            }
        )
        return
    for row in frame.to_dict("records"):
        means = f"mean {row['mean']:.4g} against {row['mean of others']:.4g}"
        say(f"{row['rule']}  % {row['covered']:g} covered, {means}")
    say(f"{base:.6g} is the base value, where no rule fires")
    _say_what_counts(fitted)


def _say_what_counts(fitted: FittedModel | FittedRegressor) -> None:
    from hornboost.model.times import what_counts

    if text := what_counts(fitted.model):
        say(text)


def sql(
    model: shared.Model,
    dialect: shared.Dialect = "duckdb",
    table: Annotated[str | None, typer.Option(help="The target table's name where the statement will run.")] = None,
    key: Annotated[
        list[str] | None, typer.Option("--key", help="A column that identifies its rows there; repeat it for more.")
    ] = None,
    schema: Annotated[
        str | None, typer.Option(help="The schema that holds the tables there, if not the one they came from.")
    ] = None,
    probability: Annotated[
        bool, typer.Option(help="Compute probabilities; SQLite needs its mathematical functions for it.")
    ] = True,
    as_of: Annotated[
        str | None,
        typer.Option(
            help="The moment up to which all examples may look, not their own; a name such as :cutoff makes it a "
            "parameter of the statement."
        ),
    ] = None,
    output: shared.Output = None,
) -> None:
    """Print MODEL as one SQL statement that scores every row of the target table.

    It selects keys, score, probability and prediction; of a number, keys and prediction. Where rows have times, it
    counts those from before the cutoff of each example, which stands beside its key.
    """
    from hornboost.estimators.fitted import load

    check_output(output, model)
    fitted = load(model)
    text = fitted.to_sql(dialect, table=table, key=key or None, schema=schema, probability=probability, as_of=as_of)
    write_text(output, text + ";\n")
    if output is not None:
        note(f"wrote the statement for {dialect} to {output}")
