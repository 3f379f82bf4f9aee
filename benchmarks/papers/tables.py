"""The tables that can be repeated, and how: jobs, a summary in plain values, and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import loans_in_time
from benchmarks.papers import c2rib_tables, evolution_table, kbs_table, mlynx_table, ranking, results
from benchmarks.papers.protocol import Cache, Job, Result, run_jobs
from hornboost.errors import DataError, did_you_mean


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a paper."""

    title: str
    jobs: Callable[[Path, bool], list[Job]]
    summary: Callable[[Sequence[Job], Sequence[Result]], dict[str, Any]]
    markdown: Callable[[Mapping[str, Any]], str]
    draw: Callable[[Mapping[str, Any], Path], list[Path]] | None = None


TABLES: Mapping[str, Table] = {
    name: Table(title, partial(c2rib_tables.jobs, name), partial(c2rib_tables.summary, name), results.c2rib)
    for name, title in c2rib_tables.TITLES.items()
} | {
    "evolution-2": Table(evolution_table.TITLE, evolution_table.jobs, evolution_table.summary, results.evolution),
    "prankboost-2": Table(ranking.TITLE, ranking.jobs, ranking.summary, results.prankboost),
    "kbs-1": Table(kbs_table.TITLE, kbs_table.jobs, kbs_table.summary, results.kbs, kbs_table.draw),
    "mlynx-1": Table(mlynx_table.TITLE, mlynx_table.jobs, mlynx_table.summary, mlynx_table.markdown),
}


def table(name: str) -> Table:
    """The table of this name."""
    if name not in TABLES:
        raise DataError(
            f"there is no table '{name}'{did_you_mean(name, TABLES)}; 'python -m benchmarks.papers --list' shows all"
        )
    return TABLES[name]


def reproduce(
    name: str,
    data: str | Path,
    *,
    quick: bool = False,
    plain: bool = False,
    cache: str | Path,
    fresh: bool = False,
    n_jobs: int = 2,
    starting: Callable[[int], Callable[[], None]] = lambda total: lambda: None,
) -> dict[str, Any]:
    """Run what is missing of a table and sum it up.

    `starting` is told the number of jobs and gives what is called after each.

    `plain` leaves out the lines whose settings are chosen by nested validation, which take most of the time.
    """
    chosen = table(name)
    listed = [job for job in chosen.jobs(Path(data), quick) if not (plain and "grid" in job.arguments)]
    known = Cache(Path(cache) / f"{name}.jsonl")
    if fresh:
        known.clear()
    found = run_jobs(listed, known, n_jobs, starting(len(listed)))
    content = chosen.summary(listed, found)
    return content | {
        "quick": quick,
        "jobs": len(listed),
        "processor_minutes": sum(result["job_seconds"] for result in found) / 60,
    }


def write_page(path: Path, contents: Sequence[Mapping[str, Any]], plain: bool = False) -> None:
    """Write the page of results, headed by the command that gives it, and the pictures in it."""
    names = [content["table"] for content in contents]
    chosen = "all" if names == list(TABLES) else " ".join(names)
    command = f"python -m benchmarks.papers {chosen}{' --plain' if plain else ''} --data DATA --output docs/results.md"
    minutes = sum(content["processor_minutes"] for content in contents)
    total = (
        f"All tables together took {minutes:.0f} minutes of processor time, half of it by the clock on two "
        "idle cores.\n"
    )
    text = results.page(
        [total, results.headline(contents), *(_section(content, path.parent) for content in contents)], command
    )
    other = loans_in_time.kept(path.read_text(encoding="utf-8")) if path.exists() else ""
    path.write_text(loans_in_time.with_section(text, other) if other else text, encoding="utf-8")


def _section(content: Mapping[str, Any], folder: Path) -> str:
    """A table's part of the page.

    Its pictures go into a folder beside the page, where there is matplotlib to draw them.
    """
    of = TABLES[content["table"]]
    text = of.markdown(content)
    if of.draw is None or find_spec("matplotlib") is None:
        return text
    (folder / "images").mkdir(exist_ok=True)
    pictures = [f"![{path.stem}](images/{path.name})" for path in of.draw(content, folder / "images")]
    return text + "\n" + "\n".join(pictures) + "\n"
