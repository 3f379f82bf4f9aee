"""Write walkthrough-postgres.md: every command is run against a PostgreSQL server of its own,
and its real output is kept.

Run: HORNBOOST_DATA=folder-of-data-sets python docs/walkthrough_postgres.py
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import tomllib
import warnings
from pathlib import Path
from typing import Any

import pandas as pd

HERE = Path(__file__).parent
TYPES = {"key": "BIGINT", "numeric": "DOUBLE PRECISION", "date": "DATE", "nominal": "TEXT"}
INTRODUCTION = """# From a PostgreSQL database to a model that scores inside it

The tables are those of a Czech bank (PKDD'99): accounts, clients, cards, permanent orders, transactions, districts, and
682 loans, of which 76 went bad. They are in a PostgreSQL database with primary and foreign keys; the variable `BANK`
holds its address, as in `postgresql://user:password@host/bank`. This page is written by `docs/walkthrough_postgres.py`:
each command was run and its output kept.
"""
MISSING_LINE = "… ({} more lines)"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class Page:
    """The page as it grows: text, and commands with what they print."""

    def __init__(self, folder: Path, address: str, tools: Path) -> None:
        self.parts = [INTRODUCTION]
        self.folder = folder
        python = f"{sys.executable} -m hornboost"
        self.functions = f'hornboost() {{ {python} "$@"; }}\npsql() {{ {tools / "psql"} "$@"; }}\n'
        self.environment = {**os.environ, "BANK": address, "COLUMNS": "140"}

    def text(self, text: str) -> None:
        self.parts.append(text.strip() + "\n")

    def command(self, command: str, lines: int = 40) -> str:
        """Run a command and show it with at most so many lines of its output, notices included."""
        done = subprocess.run(
            ["bash", "-c", self.functions + command],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{command}\n{done.stdout}")
        printed = [line if len(line) <= 200 else line[:199] + "…" for line in done.stdout.rstrip().splitlines()]
        printed = [line for line in printed if "compiling kernels" not in line]
        shown = printed if len(printed) <= lines else [*printed[:lines], MISSING_LINE.format(len(printed) - lines)]
        self.parts.append("```console\n$ " + command + "\n" + "".join(line.rstrip() + "\n" for line in shown) + "```\n")
        return done.stdout


def load_tables(address: str, source: Path) -> None:
    """Create the tables with their keys and copy the files into them."""
    import pyarrow as pa
    from adbc_driver_postgresql import dbapi

    with (source / "schema.toml").open("rb") as file:
        schema = tomllib.load(file)
    links = [(link["from"].split("."), link["to"].split(".")) for link in schema["foreign_keys"]]
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        for name, table in schema["tables"].items():
            kinds = {
                column["name"]: "TEXT" if column.get("domain") else TYPES[column["type"]] for column in table["columns"]
            }
            columns = [f"{quoted(column)} {kind}" for column, kind in kinds.items()]
            columns.append(f"PRIMARY KEY ({', '.join(map(quoted, table['primary_key']))})")
            cursor.execute(f"CREATE TABLE {quoted(name)} ({', '.join(columns)})")
            cursor.adbc_ingest(
                name, pa.Table.from_pandas(typed(source / table["file"], kinds), preserve_index=False), mode="append"
            )
        for (table, column), (other, to) in links:
            cursor.execute(
                f"ALTER TABLE {quoted(table)} ADD FOREIGN KEY ({quoted(column)}) REFERENCES {quoted(other)} "
                f"({quoted(to)})"
            )
        connection.commit()


def typed(path: Path, kinds: dict[str, str]) -> Any:
    frame = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])[list(kinds)]
    for column, kind in kinds.items():
        if kind == "BIGINT":
            frame[column] = frame[column].astype("int64")
        elif kind == "DOUBLE PRECISION":
            frame[column] = frame[column].astype("float64")
        elif kind == "DATE":
            frame[column] = pd.to_datetime(frame[column]).dt.date
    return frame


def compare(folder: Path) -> str:
    """How far the scores that PostgreSQL computed are from those of `hornboost predict`."""
    scores = []
    for name in ("python.csv", "postgres.csv"):
        with (folder / name).open(newline="") as file:
            scores.append({row["loan_id"]: float(row["score_of_0"]) for row in csv.DictReader(file)})
    assert scores[0].keys() == scores[1].keys()
    return f"{max(abs(scores[0][key] - scores[1][key]) for key in scores[0]):.1g}"


def write(page: Page) -> None:
    task = "--target loan --label good --positive 0 --exclude status --exclude account_to --exclude trans.account"
    page.text(
        "## What is there\n\n`inspect` reads the catalogue: "
        "types, keys and foreign keys come from the database's own constraints."
    )
    page.command(f'hornboost inspect "$BANK" {task}', lines=45)
    page.text(
        """## Learn

The label is `good`; its value `0`, a bad loan, is the positive class. `status` says the same in other words, and the
numbers of other banks' accounts are not something to learn from, so rules must not see them."""
    )
    page.command(f'hornboost fit "$BANK" {task} --estimator c2rib --rounds 50 -o loans.json')
    page.text("How well does it predict loans that it has not seen?")
    page.command(f'hornboost evaluate "$BANK" {task} --estimator c2rib --rounds 50 --cv 5')
    page.text(
        "## Read\n\nEach line is a rule with its vote; the comment says how many training loans it covers, "
        "and how many of them rightly."
    )
    page.command("hornboost rules loans.json --top 8")
    page.text("## Explain\n\nScore all loans and take the one most likely to go bad.")
    page.command('hornboost predict loans.json "$BANK" -o python.csv && head -3 python.csv')
    worst = max(
        (line.split(",") for line in (page.folder / "python.csv").read_text().splitlines()[1:]),
        key=lambda row: float(row[1]),
    )[0]
    page.command(f'hornboost explain loans.json "$BANK" --key {worst}')
    page.text("Every row named here can be looked up in the database.")
    page.text("## Score inside PostgreSQL\n\nThe model is one statement; the server needs nothing else.")
    page.command(
        "hornboost sql loans.json --dialect postgres -o score.sql && head -12 score.sql && wc -l score.sql", lines=14
    )
    page.command(
        'psql "$BANK" -q -c "CREATE VIEW loan_score AS $(cat score.sql)" -c "SELECT * FROM loan_score ORDER '
        'BY score_of_0 DESC LIMIT 5"'
    )
    page.command('psql "$BANK" -q --csv -c "SELECT * FROM loan_score" > postgres.csv && wc -l postgres.csv')
    page.text(
        f"The largest difference between the {682} scores of `hornboost predict` and those of PostgreSQL is "
        f"{compare(page.folder)}."
    )


def main() -> None:
    data = os.environ.get("HORNBOOST_DATA")
    if not data or not (Path(data) / "financial").is_dir():
        raise SystemExit("set HORNBOOST_DATA to the folder that holds the data set 'financial'")
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as place:
        warnings.simplefilter("ignore")
        import pgserver
        from pgserver._commands import POSTGRES_BIN_PATH

        server = pgserver.get_server(Path(place) / "server", cleanup_mode="stop")
        try:
            load_tables(server.get_uri(), Path(data) / "financial")
            work = Path(place) / "work"
            work.mkdir()
            page = Page(work, server.get_uri(), POSTGRES_BIN_PATH)
            write(page)
        finally:
            server.cleanup()
    (HERE / "walkthrough-postgres.md").write_text("\n".join(page.parts), encoding="utf-8")


if __name__ == "__main__":
    main()
