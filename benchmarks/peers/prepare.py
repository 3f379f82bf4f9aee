"""Writes the folds of a set as files that every peer can read."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.peers.sets import SETS, load

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.papers.domains import Examples, Split
    from hornboost.data import Database

FORM = 1
"""The form of the files; a new one makes old folders stale."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A set that has been written: its first folds, the number of its tables, and a sentence about it."""

    folder: Path
    folds: tuple[str, ...]
    n_tables: int
    about: str


def prepare(name: str, data: Path | None, folder: Path, folds: int, *, known: bool = False) -> Prepared:
    """Write the first folds of a set, unless they are there, or only what is there already is asked for."""
    few = SETS[name].few
    folds = folds if few is None else min(folds, few)
    done = folder / "prepared.json"
    kept = json.loads(done.read_text(encoding="utf-8")) if done.exists() else {}
    if kept.get("form") != FORM or (len(kept["folds"]) < min(folds, kept["of"]) and not known):
        kept = write(name, data, folder, folds)
        done.write_text(json.dumps(kept), encoding="utf-8")
    return Prepared(folder, tuple(kept["folds"][:folds]), kept["tables"], kept["about"])


def write(name: str, data: Path | None, folder: Path, folds: int) -> dict[str, Any]:
    """Write the files of a set, and give back what is kept about them."""
    examples, splits = load(name, data)
    shutil.rmtree(folder, ignore_errors=True)
    write_tables(examples.database, folder / "tables")
    described = description(name, examples)
    (folder / "task.json").write_text(json.dumps(described, indent=1), encoding="utf-8")
    parts = splits()
    names = [f"fold{number}" for number in range(min(folds, len(parts)))]
    for fold, split in zip(names, parts, strict=False):
        write_fold(examples, split, folder, fold, described["label"])
    return {
        "form": FORM,
        "folds": names,
        "of": len(parts),
        "tables": len(described["columns"]),
        **about(examples, parts, SETS[name].few),
    }


def about(examples: Examples, parts: Sequence[Split], few: int | None) -> dict[str, str]:
    """How large a set is, and in how many parts it is compared."""
    tables = examples.database.tables
    rows = sum(table.n_rows for table in tables.values())
    positives = int(np.sum(examples.y.astype(str) == examples.positive))
    in_tables = "in one table" if len(tables) == 1 else f"{rows:,} rows in {len(tables)} tables"
    folds = "one split" if len(parts) == 1 else f"{len(parts)} folds"
    folds += f", of which {few} is compared" if few is not None else ""
    return {"about": f"{len(examples.y):,} examples, {positives:,} of them positive; {in_tables}; {folds}."}


def description(name: str, examples: Examples) -> dict[str, Any]:
    """What `task.json` says: see `theirs.drive.Task`."""
    database = examples.database
    classes = [str(value) for value in np.unique(examples.y)]
    (negative,) = set(classes) - {examples.positive}
    target = database.target
    return {
        "name": name,
        "target": target.table,
        "key": list(target.key),
        "label": target.label,
        "positive": examples.positive,
        "negative": negative,
        "columns": {
            table.name: {column.name: "date" if column.is_date else column.kind for column in table.columns.values()}
            for table in database.tables.values()
        },
        "domains": {
            table.name: {column.name: column.domain for column in table.keys} for table in database.tables.values()
        },
        "primary_keys": {
            table.name: table.primary_key[0]
            for table in database.schema.tables.values()
            if len(table.primary_key) == 1 and table.name in database.tables
        },
        "foreign_keys": [
            [f"{link.table}.{link.column}", f"{link.to_table}.{link.to_column}"]
            for link in database.schema.foreign_keys
            if {link.table, link.to_table} <= set(database.tables)
        ],
        "planted": SETS[name].planted,
        "noise_free": SETS[name].noise_free,
    }


def write_tables(database: Database, folder: Path) -> None:
    """A Parquet file for each table but the target's."""
    folder.mkdir(parents=True)
    for name in database.tables:
        if name != database.target.table:
            frame(database, name).to_parquet(folder / f"{name}.parquet", index=False)


def frame(database: Database, name: str, rows: Any = slice(None)) -> pd.DataFrame:
    """Rows of a table as learners see it: without labels and hidden columns, names as text, dates as such."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for column in database.tables[name].columns.values():
        values = column.values[rows]  # noqa: PD011 - no frame
        if column.kind == "numeric":
            columns[column.name] = values.astype("datetime64[us]") if column.is_date else values
            continue
        if column.kind == "key":
            domain = database.domains[str(column.domain)]
            names = np.asarray(domain.values.to_numpy(zero_copy_only=False))  # noqa: PD011 - no frame
        else:
            assert column.categories is not None
            names = column.categories
        shown = np.full(len(values), None, object)
        shown[values >= 0] = names[values[values >= 0]]
        whole = names.dtype.kind == "i"
        columns[column.name] = pd.array(shown, dtype="Int64" if (values < 0).any() else "int64") if whole else shown
    return pd.DataFrame(columns)


def write_fold(examples: Examples, split: Split, folder: Path, fold: str, label: str) -> None:
    """Training examples with classes, and test examples without: theirs go to a folder that no peer is told of."""
    rows = examples.database.example_rows
    for part, positions in zip(("train", "test"), split, strict=True):
        shown = frame(examples.database, examples.database.target.table, rows[positions])
        classes = examples.y[positions].astype(str)
        (folder / fold).mkdir(exist_ok=True)
        (folder / "truth").mkdir(exist_ok=True)
        if part == "train":
            shown[label] = classes
        else:
            np.save(folder / "truth" / f"{fold}.npy", classes == examples.positive)
        shown.to_parquet(folder / fold / f"{part}.parquet", index=False)


def digest(folder: Path, fold: str) -> str:
    """What identifies the data of a fold."""
    files = [folder / "task.json", folder / fold / "train.parquet", folder / fold / "test.parquet"]
    texts = b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files)
    return hashlib.sha256(texts).hexdigest()[:16]
