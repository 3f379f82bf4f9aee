"""Options that several verbs share."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import typer

from hornboost.cli.cluster import Cluster
from hornboost.cli.learner import ESTIMATORS, Learner
from hornboost.cli.source import TaskOptions
from hornboost.errors import DataError


def _complete_estimator(incomplete: str) -> list[str]:
    return [name for name in ESTIMATORS if name.startswith(incomplete)]


def _complete_predicts(incomplete: str) -> list[str]:
    return [name for name in ("classes", "numbers") if name.startswith(incomplete)]


def _complete_features(incomplete: str) -> list[str]:
    return [name for name in ("none", "margin", *(f"V{k}" for k in range(1, 17))) if name.startswith(incomplete)]


def _complete_dialect(incomplete: str) -> list[str]:
    return [name for name in ("duckdb", "sqlite", "postgres", "spark", "bigquery") if name.startswith(incomplete)]


Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A folder of CSV or Parquet files, a DuckDB or SQLite file, postgresql://…, a folder of Aleph, Popper or "
        "srlearn, one CSV or ARFF file.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file that 'fit' wrote.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="The file to write instead of stdout.")]
Target = Annotated[str | None, typer.Option(help="The table whose rows are the examples.")]
Key = Annotated[
    list[str] | None, typer.Option("--key", help="A key column of the target table; repeat it for a compound key.")
]
Label = Annotated[str | None, typer.Option(help="The column of the target table to predict.")]
Positive = Annotated[str | None, typer.Option(help="The value of the label that is positive; the others are negative.")]
Negative = Annotated[
    str | None,
    typer.Option(help="The value of the label that is negative; without --positive the others are positive."),
]
Predicts = Annotated[
    str | None,
    typer.Option(
        help="classes or numbers: what the label is, where its values should not decide that.",
        autocompletion=_complete_predicts,
    ),
]
TaskName = Annotated[str | None, typer.Option("--task", help="A task that the folder's schema.toml names.")]
Exclude = Annotated[
    list[str] | None, typer.Option("--exclude", help="A column that rules must not use, as column or table.column.")
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        help="The type of a column instead of the one that is found, as table.column=nominal; numeric, date and key "
        "are the others, and day-first or month-first for dates such as 03/04/2025.",
    ),
]
Link = Annotated[
    list[str] | None,
    typer.Option("--link", help="A foreign key, as table.column=table.column, beside those that are found."),
]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--tables",
        help="The tables to read, with commas between them: only these, and views only if they are named here.",
    ),
]
ExcludeTable = Annotated[
    list[str] | None, typer.Option("--exclude-table", help="A table that is not read; repeat it for more.")
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        help="Only rows of the target with this value, as column=value; "
        "values of one column are alternatives, columns add up.",
    ),
]
AllowOutside = Annotated[
    bool,
    typer.Option(
        "--allow-outside", help="Also read files outside the folder that its schema.toml or background file names."
    ),
]
Times = Annotated[
    list[str] | None,
    typer.Option(
        "--time",
        help="The column with the time of a table's rows, as table.column; the target's is the cutoff of its examples, "
        "which see only rows from before. Repeat it for more tables.",
    ),
]
KnownLater = Annotated[
    list[str] | None,
    typer.Option(
        "--known-later",
        help="Columns that are filled in after their row, with the column that says when, as table.when=column,column.",
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", help="The moment up to which all examples may look, such as 2024-06-30, not their own."),
]
SqlSchema = Annotated[str | None, typer.Option("--schema", help="The schema of a PostgreSQL or DuckDB database.")]
Estimator = Annotated[str, typer.Option(help=f"One of {', '.join(ESTIMATORS)}.", autocompletion=_complete_estimator)]
Features = Annotated[
    str | None,
    typer.Option(
        help="none, margin, or V1 to V16: how the features that c2rib sees evolve.", autocompletion=_complete_features
    ),
]
Rounds = Annotated[
    int | None, typer.Option(min=1, help="Rounds of boosting at most, instead of the estimator's own number.")
]
Depth = Annotated[
    int | None, typer.Option("--max-depth", min=0, help="Joins between an example and a row that a rule looks at.")
]
MaxRules = Annotated[int | None, typer.Option("--max-rules", min=1, help="Rules at most, of hornboost: a small model.")]
MaxBins = Annotated[
    int | None,
    typer.Option(
        "--max-bins", min=2, help="Distinct values of a numeric column up to which each of them is a threshold."
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        help="The memory to use, as in 4GB, instead of 80 % of what there is; joins that do not fit are left out. "
        "Each worker may use as much.",
    ),
]
TimeLimit = Annotated[
    float | None, typer.Option(min=0.001, help="Seconds after which the search ends, keeping what was learned.")
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        help="A file that keeps what was found, every few seconds; where it exists, the fit goes on from it.",
    ),
]
DaskAddress = Annotated[
    str | None,
    typer.Option(
        "--dask", metavar="ADDRESS", help="The scheduler of a Dask cluster whose workers work on the partitions."
    ),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes of this machine that work on the partitions, by Dask.")
]
Seed = Annotated[int | None, typer.Option(min=0, max=2**31 - 1, help="Seed of all random choices; 0 if not given.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="Any other parameter of the estimator, as name=value.")]
Split = Annotated[
    list[str] | None,
    typer.Option(
        "--split",
        metavar="MOMENT",
        help="Learn from the examples before this moment and predict those from it on, as in 2024-01-01; repeat it for "
        "several moments, each up to the next.",
    ),
]
Rolling = Annotated[
    int | None, typer.Option(min=1, help="The same at as many moments, which divide the examples evenly.")
]
Horizon = Annotated[
    str | None,
    typer.Option(
        help="How long after its time the label of an example is known, as in 90d: examples whose label was not known "
        "at a split are left out there."
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="COLUMN",
        help="Keep examples with one value of this column in one fold: a column of the target, or table.column of a "
        "table that it refers to.",
    ),
]
Dialect = Annotated[
    str, typer.Option(help="duckdb, sqlite, postgres, spark or bigquery.", autocompletion=_complete_dialect)
]


def task_options(
    target: Target = None,
    key: Key = None,
    label: Label = None,
    positive: Positive = None,
    negative: Negative = None,
    predicts: Predicts = None,
    task: TaskName = None,
    exclude: Exclude = None,
    link: Link = None,
    schema: SqlSchema = None,
    tables: Tables = None,
    exclude_table: ExcludeTable = None,
    where: Where = None,
    allow_outside: AllowOutside = False,
    times: Times = None,
    known_later: KnownLater = None,
    types: Types = None,
) -> TaskOptions:
    """What a verb that learns is told about its source."""
    return TaskOptions(
        target,
        key or (),
        label,
        positive,
        task,
        exclude or (),
        link or (),
        schema,
        tables=[name for text in tables or () for name in _names(text)],
        exclude_tables=exclude_table or (),
        where=_conditions(where or ()),
        allow_outside=allow_outside,
        predicts=predicts,
        times=_times(times or ()),
        known_later=_known_later(known_later or ()),
        negative=negative,
        types=_types(types or ()),
    )


def reading_options(
    target: Target = None,
    task: TaskName = None,
    link: Link = None,
    schema: SqlSchema = None,
    tables: Tables = None,
    exclude_table: ExcludeTable = None,
    where: Where = None,
    allow_outside: AllowOutside = False,
    times: Times = None,
    known_later: KnownLater = None,
) -> TaskOptions:
    """What a verb with a model is told about its source; the model says the rest."""
    return task_options(
        target=target,
        task=task,
        link=link,
        schema=schema,
        tables=tables,
        exclude_table=exclude_table,
        where=where,
        allow_outside=allow_outside,
        times=times,
        known_later=known_later,
    )


def learner_options(
    estimator: Estimator = "hornboost",
    features: Features = None,
    rounds: Rounds = None,
    max_depth: Depth = None,
    max_rules: MaxRules = None,
    max_bins: MaxBins = None,
    memory: Memory = None,
    time_limit: TimeLimit = None,
    seed: Seed = None,
    settings: Set = None,
) -> Learner:
    """The estimator that a verb learns with."""
    return Learner(
        estimator, features, rounds, max_depth, max_rules, max_bins, memory, time_limit, seed, settings or ()
    )


def cluster_options(dask: DaskAddress = None, workers: Workers = None) -> Cluster:
    """Who works on partitions."""
    return Cluster(dask, workers)


Verb = TypeVar("Verb", bound=Callable[..., None])


def gathers(**options: Callable[..., Any]) -> Callable[[Verb], Verb]:
    """A verb with parameters each of which stands for several options: those of a function, which makes its value.

    So options that verbs share are declared once. Typer reads the signature that the verb has then.
    """

    def gathering(verb: Verb) -> Verb:
        of_each = {name: signature(make, eval_str=True).parameters for name, make in options.items()}
        own = signature(verb, eval_str=True).parameters
        asked = [option for name in own for option in of_each.get(name, {name: own[name]}).values()]

        @wraps(verb)
        def gathered(**given: Any) -> None:
            for name, make in options.items():
                given[name] = make(**{option: given.pop(option) for option in of_each[name]})
            verb(**given)

        del gathered.__wrapped__
        gathered.__annotations__ = {option.name: option.annotation for option in asked}
        gathered.__signature__ = Signature([option.replace(kind=Parameter.KEYWORD_ONLY) for option in asked])  # type: ignore[attr-defined]
        return cast(Verb, gathered)

    return gathering


def _names(text: str) -> list[str]:
    """Names with commas between them, as in CSV."""
    return [name.strip() for row in csv.reader([text], skipinitialspace=True) for name in row]


def _times(texts: Sequence[str]) -> dict[str, str]:
    """`table.column` texts as the readers take them."""
    found: dict[str, str] = {}
    for text in texts:
        table, dot, column = (part.strip() for part in text.partition("."))
        if not dot or not table or not column:
            raise DataError(f"--time: '{text}' is not of the form table.column; write for example --time orders.date")
        if found.setdefault(table, column) != column:
            raise DataError(
                f"--time: table '{table}' has both '{found[table]}' and '{column}'; name the one from which on its "
                "rows are known, and the other with --known-later"
            )
    return found


def _known_later(texts: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """`table.when=column,column` texts as the readers take them."""
    found: dict[str, dict[str, list[str]]] = {}
    for text in texts:
        place, equals, columns = text.partition("=")
        table, dot, dating = (part.strip() for part in place.partition("."))
        if not (dot and table and dating) or (equals and not columns.strip()):
            raise DataError(
                f"--known-later: '{text}' is not of the form table.when=column,column; "
                "write for example --known-later orders.paid=method"
            )
        found.setdefault(table, {}).setdefault(dating, []).extend(_names(columns) if equals else [])
    return found


def _types(texts: Sequence[str]) -> dict[str, str]:
    """`table.column=type` texts as the readers take them."""
    found: dict[str, str] = {}
    for text in texts:
        place, equals, kind = (part.strip() for part in text.rpartition("="))
        if not equals or "." not in place or not kind:
            raise DataError(
                f"--type: '{text}' is not of the form table.column=type; write for example --type orders.zip=nominal"
            )
        if found.setdefault(place, kind) != kind:
            raise DataError(f"--type: '{place}' has both the type '{found[place]}' and '{kind}'; name one of them")
    return found


def _conditions(texts: Sequence[str]) -> dict[str, list[str]]:
    """`column=value` texts as the readers take them: several values of one column are alternatives."""
    found: dict[str, list[str]] = {}
    for text in texts:
        column, equals, value = text.partition("=")
        if not equals or not column.strip() or column.rstrip()[-1] in "<>!" or value.startswith("="):
            raise DataError(
                f"--where: '{text}' is not of the form column=value; repeat the option for further values and columns"
            )
        found.setdefault(column.strip(), []).append(value.strip())
    return found
