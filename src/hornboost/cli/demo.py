"""`hornboost demo`: generated trains, and what the rules planted in them cover."""

from __future__ import annotations

from typing import Annotated

import typer


def demo(
    n: Annotated[int, typer.Option("--trains", min=1, help="How many trains to generate.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Other seeds give other trains.")] = 0,
) -> None:
    """Generate trains, load them as a database and check the planted rules against it."""
    from rich.console import Console
    from rich.table import Table

    from hornboost.datasets import trains
    from hornboost.logic import Clause

    console = Console()
    data = trains(n, seed=seed)
    tables = Table(title=f"{n} trains; which of them go east?", title_justify="left")
    tables.add_column("table")
    tables.add_column("rows", justify="right")
    tables.add_column("columns")
    for name, table in data.tables.items():
        tables.add_row(name, f"{table.num_rows:,}", ", ".join(table.column_names))
    console.print(tables)

    rules = Table(title="The rules behind it, over all three tables", title_justify="left", show_lines=True)
    rules.add_column("rule")
    rules.add_column("covered", justify="right")
    rules.add_column("eastbound", justify="right")
    with console.status("Asking the engine what each rule covers"):
        db = data.database()
        covered = [db.covers(Clause.parse(rule)) for rule in data.rules]
    anywhere = covered[0] | covered[1] | covered[2]
    for rule, mask in zip([*data.rules, "any of them"], [*covered, anywhere], strict=True):
        rules.add_row(
            rule, f"{mask.sum():,}", f"{data.labels[mask].mean():.0%}" if mask.any() else "-", style="bold" if mask is anywhere else ""
        )
    console.print(rules)
    console.print(f"{data.labels.sum():,} trains go east, and a rule covers {(data.labels & anywhere).sum():,} of them.")
