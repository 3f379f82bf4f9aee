"""`hornboost predict` and `hornboost explain`: a model applied to a source."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from hornboost.cli import options as shared
from hornboost.cli.output import check_output, note, say, show_json, write_text
from hornboost.errors import DataError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from hornboost.cli.source import TaskOptions
    from hornboost.data import Database
    from hornboost.estimators.fitted import FittedModel, FittedRegressor


def predict(
    model: shared.Model,
    source: shared.Source,
    output: shared.Output = None,
    target: shared.Target = None,
    task: shared.TaskName = None,
    link: shared.Link = None,
    schema: shared.SqlSchema = None,
    tables: shared.Tables = None,
    exclude_table: shared.ExcludeTable = None,
    where: shared.Where = None,
    allow_outside: shared.AllowOutside = False,
    unlabelled: Annotated[bool, typer.Option("--unlabelled", help="Only rows whose label is missing.")] = False,
    label: shared.Label = None,
    as_json: shared.Json = False,
) -> None:
    """Predict every row of SOURCE's target table, with a label or without: keys, score, probability, prediction.

    The output is CSV, or Parquet by its name. With two classes the score and the probability are those of the positive
    class, which their columns name. Of a number there is the prediction alone.
    """
    check_output(output, model, source)
    options = shared.task_options(
        target, None, label, None, task, None, link, schema, tables, exclude_table, where, allow_outside
    )
    fitted, X, keys = load_with_examples(model, source, options, unlabelled)
    frame = predictions(fitted, X, keys)
    if as_json:
        show_json([{name: _cell(value) for name, value in row.items()} for row in frame.to_dict("records")])
    elif output is not None and output.suffix == ".parquet":
        _write_parquet(output, frame)
    else:
        write_text(output, frame.to_csv(index=False))
    if output is not None:
        note(f"wrote {len(frame):,} predictions to {output}")


def explain(
    model: shared.Model,
    source: shared.Source,
    key: Annotated[
        list[str],
        typer.Option(
            "--key", help="The key of an example (parts of a compound key with commas, as in CSV); repeat it for more."
        ),
    ],
    missed: Annotated[int, typer.Option(min=0, help="Rules that did not fire to show for each example.")] = 3,
    target: shared.Target = None,
    task: shared.TaskName = None,
    link: shared.Link = None,
    schema: shared.SqlSchema = None,
    tables: shared.Tables = None,
    exclude_table: shared.ExcludeTable = None,
    where: shared.Where = None,
    allow_outside: shared.AllowOutside = False,
    as_json: shared.Json = False,
) -> None:
    """Say why an example is predicted as it is.

    Shows the rules that fired, the rows behind them, and what other rules lacked.
    """
    from hornboost.model.explanation import Explanations

    options = shared.task_options(
        target, None, None, None, task, None, link, schema, tables, exclude_table, where, allow_outside
    )
    fitted, X, keys = load_with_examples(model, source, options)
    rows = find_rows(keys, key)
    found = fitted.explain(X.iloc[rows], missed)
    names = [
        {str(name): _cell(value) for name, value in record.items()} for record in keys.iloc[rows].to_dict("records")
    ]
    found = Explanations(replace(one, keys=name) for one, name in zip(found, names, strict=True))
    if as_json:
        show_json(found.to_json())
    else:
        say(str(found))


def predictions(fitted: FittedModel | FittedRegressor, X: Any, keys: pd.DataFrame) -> pd.DataFrame:
    """What the model's SQL gives, under the same names.

    Scores and probabilities are about the positive one of two classes; of a number there is the prediction alone.
    """
    from hornboost.estimators.regressor import RelationalRegressor
    from hornboost.model.outputs import output_names

    ensemble = fitted.ensemble_
    about = ensemble.about(fitted.model.target.positive)
    names = output_names(ensemble.classes, about, keys.columns)
    if isinstance(fitted, RelationalRegressor):
        return keys.assign(**{names.prediction: fitted.predict(X)})
    decision, probabilities = fitted.decision_function(X), fitted.predict_proba(X)
    if decision.ndim == 1:
        is_turned = about == 0 and len(ensemble.classes) == 2
        # 0 - x, not -x: a score of -0.0 puzzles whoever reads it
        decision, probabilities = (0.0 - decision if is_turned else decision)[:, None], probabilities[:, [about]]
    columns = {name: decision[:, k] for k, name in enumerate(names.scores)}
    columns |= {name: probabilities[:, k] for k, name in enumerate(names.probabilities)}
    return keys.assign(**columns, **{names.prediction: fitted.predict(X)})


def load_with_examples(
    model: Path, source: str, options: TaskOptions, unlabelled: bool = False
) -> tuple[FittedModel | FittedRegressor, Any, pd.DataFrame]:
    """The model bound to a source, all of the source's rows to predict or
    those without a label, and what identifies them.
    """
    from hornboost.cli.source import open_for_model, shown
    from hornboost.estimators.fitted import fitted
    from hornboost.model import file

    saved = file.load(model)
    if unlabelled and options.label is None:
        options = replace(options, label=saved.target.label)
    database = open_for_model(source, saved, options)
    if unlabelled and database.target.label is None:
        raise DataError(
            f"{model}: the model does not know the name of its label; "
            "name it with --label, so that rows without one are known"
        )
    X, _ = database.examples(labelled=False if unlabelled else None)
    if len(X) == 0:
        raise DataError(
            f"{shown(source)}: every row of '{database.target.table}' has a value of '{database.target.label}'; "
            "leave out --unlabelled"
        )
    keys = _keys(database, X, saved.target.key)
    if saved.is_relational:
        return fitted(saved, database), X, keys
    return fitted(saved), X, keys


def _keys(database: Database, X: Any, wanted: Sequence[str]) -> pd.DataFrame:
    names = [name for name in (wanted or database.target.key) if name in X.columns]
    if names:
        return X[names].reset_index(drop=True)
    import pandas as pd

    return pd.DataFrame({"row": np.arange(1, len(X) + 1)})


def find_rows(keys: pd.DataFrame, wanted: Sequence[str]) -> list[int]:
    """The positions of the examples with these keys.

    A part of a compound key that holds a comma stands in quotes, as in CSV.
    """
    parts = list(keys.astype(str).itertuples(index=False, name=None))
    place: dict[tuple[str, ...], int] = {}
    by_text: dict[str, set[tuple[str, ...]]] = {}
    for position, key in enumerate(parts):
        place.setdefault(key, position)
        by_text.setdefault(",".join(key), set()).add(key)
    found = []
    for text in wanted:
        alike = by_text.get(text, set())
        if len(alike) > 1:
            raise DataError(
                f"--key {text}: {len(alike)} examples are called so; "
                "put quotes around parts that hold commas, as in CSV"
            )
        key = next(iter(alike)) if alike else tuple(next(csv.reader([text]), []))
        if key not in place:
            raise DataError(
                f"there is no example with {', '.join(keys.columns)} = "
                f"'{text}'{did_you_mean(text, list(by_text)[:1000])}"
            )
        found.append(place[key])
    return found


def _write_parquet(output: Path, frame: pd.DataFrame) -> None:
    from hornboost.model.whole import write_whole

    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    write_whole(output, buffer.getvalue())


def _cell(value: Any) -> Any:
    import pandas as pd

    if value is pd.NA or value is pd.NaT:
        return None
    return value.item() if isinstance(value, np.generic) else value
