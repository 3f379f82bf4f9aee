"""`hornboost predict` and `hornboost explain`: a model applied to a source."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from hornboost.cli import options as shared
from hornboost.cli.cluster import Cluster, working_on
from hornboost.cli.output import check_output, note, say, show_json, write_text
from hornboost.cli.source import TaskOptions
from hornboost.errors import DataError, counted, did_you_mean
from hornboost.memory import bytes_of

if TYPE_CHECKING:
    import pandas as pd

    from hornboost.data import Database
    from hornboost.estimators.fitted import FittedModel, FittedRegressor
    from hornboost.model.file import SavedModel


@shared.gathers(options=shared.reading_options, cluster=shared.cluster_options)
def predict(
    model: shared.Model,
    source: shared.Source,
    output: shared.Output = None,
    *,
    options: TaskOptions,
    as_of: shared.AsOf = None,
    unlabelled: Annotated[
        bool, typer.Option("--unlabelled", help="Only rows whose label is missing; all, if there is no such column.")
    ] = False,
    label: shared.Label = None,
    cluster: Cluster,
    memory: Annotated[
        str | None, typer.Option("--memory", help="The memory within which parts of a folder of partitions stay open.")
    ] = None,
    as_json: shared.Json = False,
) -> None:
    """Predict every row of SOURCE's target table, with a label or without: keys, score, probability, prediction.

    Where the model was learned with times, each row is predicted from what was known at its own cutoff, which stands
    beside its key, or from what was known at the moment that --as-of names.

    The output is CSV, or Parquet by its name. With two classes the score and the probability are those of the positive
    class, which their columns name. Of a number there is the prediction alone.
    """
    check_output(output, model, source)
    if memory is not None:
        bytes_of(memory, "--memory")
        if cluster.address is not None or cluster.workers is not None:
            raise DataError(
                "--memory is for partitions that this process opens; workers keep theirs open, so leave it out, or "
                "leave out --workers and --dask"
            )
    with ExitStack() as closing:
        options = replace(options, label=label, memory=memory)
        fitted, X, keys = load_with_examples(
            model,
            source,
            options,
            unlabelled,
            as_of,
            lambda database: closing.enter_context(working_on(database, cluster)),
        )
        frame = predictions(fitted, X, keys)
    if output is not None and output.suffix == ".parquet" and not as_json:
        _write_parquet(output, frame)
    else:
        frame = _with_moments_as_text(frame)
        if as_json:
            show_json([{name: _cell(value) for name, value in row.items()} for row in frame.to_dict("records")])
        else:
            write_text(output, frame.to_csv(index=False))
    if output is not None:
        note(f"wrote {counted(len(frame), 'prediction')} to {output}")


@shared.gathers(options=shared.reading_options)
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
    *,
    options: TaskOptions,
    as_of: shared.AsOf = None,
    as_json: shared.Json = False,
) -> None:
    """Say why an example is predicted as it is.

    Shows the rules that fired, the rows behind them, and what other rules lacked.
    """
    from hornboost.model.explanation import Explanations

    fitted, X, keys = load_with_examples(model, source, options, as_of=as_of)
    cutoff = fitted.model.times.get(fitted.model.target.table)
    rows = find_rows(keys, key, None if cutoff is None else cutoff.column)
    found = fitted.explain(X.iloc[rows], missed)
    records = _with_moments_as_text(keys.iloc[rows]).to_dict("records")
    names = [{str(name): _cell(value) for name, value in record.items()} for record in records]
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
    model: Path,
    source: str,
    options: TaskOptions,
    unlabelled: bool = False,
    as_of: str | None = None,
    on_workers: Callable[[Database], Database] = lambda database: database,
) -> tuple[FittedModel | FittedRegressor, Any, pd.DataFrame]:
    """The model bound to a source, all of the source's rows to predict or
    those without a label, and what identifies them.
    """
    from hornboost.cli.source import open_for_model, say_what_is_undated, shown
    from hornboost.estimators.fitted import fitted
    from hornboost.model import file

    if source.endswith(".json") and not model.name.endswith(".json"):
        raise DataError(f"'{model}' stands where the model is expected: write the model first, then the data")
    saved = file.load(model)
    if unlabelled and options.label is None:
        opened, unlabelled = _open_unlabelled(source, saved, options)
    else:
        opened = open_for_model(source, saved, options)
    database = on_workers(opened)
    if unlabelled and database.target.label is None:
        raise DataError(
            f"{model}: the model does not know the name of its label; "
            "name it with --label, so that rows without one are known"
        )
    for sentence in database.reading_warnings if database.stored is None else ():  # partitions have the types they have
        note(sentence)
    say_what_is_undated(database)
    X, _ = database.examples(labelled=False if unlabelled else None, as_of=as_of)
    cutoff = database.times.get(database.target.table)
    if cutoff is not None and cutoff not in X.columns:
        raise DataError(
            f"{shown(source)}: the rows of '{database.target.table}' have no '{cutoff}', up to which they may look; "
            "add the column, or name a moment for all with --as-of"
        )
    if len(X) == 0:
        raise DataError(
            f"{shown(source)}: every row of '{database.target.table}' has a value of '{database.target.label}'; "
            "leave out --unlabelled"
        )
    keys = _keys(database, X, saved.target.key)
    if unlabelled and "row" in keys.columns and "row" not in X.columns:  # by its number among all rows, as elsewhere
        keys["row"] = np.flatnonzero(database.examples(labelled=None, as_of=as_of)[1].isna()) + 1
    if saved.is_relational:
        return fitted(saved, database), X, keys
    return fitted(saved), X, keys


def _open_unlabelled(source: str, saved: SavedModel, options: TaskOptions) -> tuple[Database, bool]:
    """The source with the label that the model predicts, and whether it has that column; without it no row has one."""
    from hornboost.cli.source import open_for_model

    label = saved.target.label
    try:
        return open_for_model(source, saved, replace(options, label=label)), True
    except DataError:
        try:
            database = open_for_model(source, saved, options)
        except DataError:
            database = None
        target = None if database is None else database.tables.get(database.target.table)
        if database is None or target is None or label in target.columns or database.target.label is not None:
            raise
    note(f"'{target.name}' has no column '{label}', so that all of its rows are predicted")
    return database, False


def _keys(database: Database, X: Any, wanted: Sequence[str]) -> pd.DataFrame:
    """What identifies the rows: their keys, or else their numbers, and the cutoff where they have one."""
    import pandas as pd

    names = [name for name in (wanted or database.target.key) if name in X.columns]
    keys = X[names].reset_index(drop=True) if names else pd.DataFrame({"row": np.arange(1, len(X) + 1)})
    cutoff = database.times.get(database.target.table)
    return keys if cutoff is None else keys.assign(**{cutoff: X[cutoff].to_numpy()})


def _with_moments_as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Dates and times in ISO 8601, midnight left out."""
    from hornboost.logic.moment import moment_text

    texts = {}
    for name in frame.columns:
        values = frame[name].to_numpy()
        if values.dtype.kind == "M":
            distinct, codes = np.unique(values.astype("datetime64[us]"), return_inverse=True)
            shown = [None if np.isnat(moment) else moment_text(moment.astype(np.int64)) for moment in distinct]
            texts[name] = np.array(shown, object)[codes]
    return frame.assign(**texts)


def find_rows(keys: pd.DataFrame, wanted: Sequence[str], cutoff: str | None = None) -> list[int]:
    """The positions of the examples with these keys.

    A part of a compound key that holds a comma stands in quotes, as in CSV. Where one key has several cutoffs, the one
    that is meant follows it.
    """
    keys = _with_moments_as_text(keys)
    place: dict[tuple[str, ...], int] = {}
    by_text: dict[str, dict[tuple[str, ...], None]] = {}
    for position, key in enumerate(keys.astype(str).itertuples(index=False, name=None)):
        place.setdefault(key, position)
        for parts in (key, key[:-1]) if cutoff is not None else (key,):
            by_text.setdefault(",".join(parts), {})[key] = None
    found = []
    for text in wanted:
        alike = list(by_text.get(text, {}))
        if not alike:
            parts = tuple(next(csv.reader([text]), []))
            alike = [key for key in place if parts in ((key, key[:-1]) if cutoff is not None else (key,))]
        if not alike:
            raise DataError(
                f"there is no example with {', '.join(keys.columns)} = "
                f"'{text}'{did_you_mean(text, list(by_text)[:1000])}"
            )
        if len(alike) > 1:
            raise DataError(_ambiguous(text, alike, cutoff))
        found.append(place[alike[0]])
    return found


def _ambiguous(text: str, alike: Sequence[tuple[str, ...]], cutoff: str | None) -> str:
    if cutoff is not None and len({key[:-1] for key in alike}) == 1:
        return (
            f"--key {text}: there are {len(alike)} examples of it, with different values of '{cutoff}'; name one as "
            f"--key {text},{alike[0][-1]}"
        )
    return f"--key {text}: {len(alike)} examples are called so; put quotes around parts that hold commas, as in CSV"


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
