"""`hornboost demo`: from generated tables to rules, an explanation and SQL, in one run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hornboost.cli.output import note, say, show_table
from hornboost.errors import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hornboost.data import Database
    from hornboost.datasets.generated import Generated

SHOWN = 6
"""Rules to print; there may be dozens."""


def demo(
    loans: Annotated[int, typer.Option(min=50, help="How many loans to generate.")] = 1500,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Rounds of boosting, instead of the number that is chosen.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Other seeds give other loans.")] = 0,
    files: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Only write the CSV files of a shop into this new folder, to try other verbs on."
        ),
    ] = None,
) -> None:
    """Generate a bank, learn which loans are risky, explain one prediction, and score all loans with SQL in DuckDB."""
    if files is not None:
        _write_shop(files)
        return
    import numpy as np

    from hornboost.boosting.hornboost import HornBoostClassifier
    from hornboost.cli.fit import fit_with_progress
    from hornboost.datasets import bank

    data = bank(loans, transactions=20, noise=0.05, seed=seed)
    database = data.database()
    X, y = database.examples()
    _heading(f"A bank with {loans:,} loans. Which of them are risky?")
    _show_tables(database)
    train = np.arange(len(X)) % 3 != 0
    _heading(f"Learning from {int(train.sum()):,} loans")
    model = HornBoostClassifier(database, rounds="auto" if rounds is None else rounds, random_state=0)
    fit_with_progress(model, X[train], y[train])
    _show_choice(model)
    _show_rules(model)
    _show_planted(data, database, model)
    accuracy = float(np.mean(model.predict(X[~train]) == y[~train].to_numpy()))
    majority = float(y[~train].value_counts(normalize=True).max())
    _heading(f"Held-out loans: {accuracy:.1%} right (always guessing the larger class: {majority:.1%})")
    _show_explanation(model, X[~train])
    _show_sql(data, model, X)


def _write_shop(folder: Path) -> None:
    """The files of the first tutorial."""
    from hornboost.datasets import shop

    data = shop(500, new=50, noise=0.02)
    data.write_csv(folder)
    note(f"wrote {', '.join(f'{name}.csv' for name in data.tables)} to {folder}")


def _heading(text: str) -> None:
    typer.echo()
    typer.secho(text, bold=True)


def _show_tables(database: Database) -> None:
    rows = [(name, f"{table.n_rows:,}", ", ".join(table.columns)) for name, table in database.tables.items()]
    show_table(["table", "rows", "columns"], rows, right=("rows",))
    links = [f"{link.table}.{link.column} -> {link.to_table}.{link.to_column}" for link in database.links]
    say(f"linked by {', '.join(links)}")


def _show_choice(model: Any) -> None:
    """What was left to be chosen, and on what evidence it was."""
    tried = model.tuning_
    if tried.empty:
        return
    first, chosen = tried.iloc[0], tried[tried["chosen"]].iloc[0]
    fell = f", and the log-loss there fell from {first['loss']:.3f} to {chosen['loss']:.3f}" if len(tried) > 1 else ""
    say(f"{len(tried)} settings were tried on held-out parts of these loans{fell}. Chosen:")
    say(
        f"  {chosen['rounds']} rounds; rules of up to {chosen['max_literals']} refinements, on rows up to "
        f"{chosen['max_depth']} joins away, {'with' if chosen['aggregates'] else 'without'} aggregates, "
        f"{'with' if chosen['constants'] else 'without'} names of single things; "
        f"votes {'of all rules fitted again in each round' if chosen['corrective'] else 'fitted once'}"
        + (f"; each rule grown on {chosen['subsample']:.0%} of the loans" if chosen["subsample"] < 1.0 else "")
    )


def _show_rules(model: Any) -> None:
    n = len(model.rules_)
    strongest = sorted(model.rules_, key=lambda rule: -abs(rule.votes[0]))[:SHOWN]
    rules = counted(n, "rule")
    say(f"{rules} from all tables at once" + (". The strongest:" if n > SHOWN else ":"))
    for rule in strongest:
        say(f"  {rule.votes[0]:+.2f}  {rule.clause}")


def _show_planted(data: Generated, database: Database, model: Any) -> None:
    """Each planted rule beside the learned one that covers most nearly the same loans."""
    import numpy as np

    from hornboost.logic import Clause

    _heading("The rules that were planted, and the learned rule nearest to each")
    coverage = model.ensemble_.coverage(database)
    learned: NDArray[np.bool_] = coverage.covered(database.encoded_examples())
    for text in data.rules:
        truth = database.covers(Clause.parse(text))
        agreement = (learned & truth[:, None]).sum(axis=0) / np.maximum((learned | truth[:, None]).sum(axis=0), 1)
        say(f"  planted  {text}")
        if agreement.size:
            best = int(agreement.argmax())
            say(f"  learned  {model.rules_[best].clause}  ({agreement[best]:.0%} the same loans)")


def _show_explanation(model: Any, X: Any) -> None:
    import numpy as np

    _heading("One of them explained")
    strongest = int(np.argmax(model.decision_function(X)))
    say(str(model.explain(X.iloc[[strongest]], missed=1)))


def _show_sql(data: Generated, model: Any, X: Any) -> None:
    """Score in DuckDB and compare with Python."""
    import duckdb
    import numpy as np

    text = model.to_sql("duckdb")
    lines = text.splitlines()
    _heading("The model as one SQL statement (also for SQLite, PostgreSQL, Spark, BigQuery)")
    shown = [line if len(line) <= 120 else line[:117] + "..." for line in lines[:14]]
    say("\n".join([*shown, f"... ({len(lines)} lines)"]))
    with duckdb.connect() as connection:
        for name, table in data.tables.items():
            connection.register(name, table)
        scored = connection.sql(text).df().sort_values("loan_id")
    scores = model.decision_function(X.sort_values("loan_id"))
    difference = float(np.abs(scored["score_of_1"].to_numpy() - scores).max())
    say()
    show_table(
        list(scored.columns),
        [[f"{v:.4f}" if isinstance(v, float) else v for v in row] for row in scored.head(3).itertuples(index=False)],
    )
    say(f"DuckDB scored {len(scored):,} loans; the largest difference from Python is {difference:.1g}.")
    say()
    say("Next, with your own folder of CSV files, the table to predict and its column:")
    say("  hornboost inspect FOLDER --target TABLE --label COLUMN")
    say("  hornboost fit FOLDER --target TABLE --label COLUMN -o model.json")
