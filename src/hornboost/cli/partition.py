"""`hornboost partition`: a source as a folder of partitions, for data that are larger than memory or one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hornboost.cli import options as shared
from hornboost.cli.interrupt import tidy_on_sigterm
from hornboost.cli.output import note
from hornboost.cli.progress import stage_progress
from hornboost.cli.source import TaskOptions
from hornboost.data.bins import MAX_BINS
from hornboost.data.partitions.writer import DEPTH, SMALL_TABLE
from hornboost.errors import counted


@shared.gathers(options=shared.task_options)
def partition(
    source: shared.Source,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to make; it must not exist yet.")],
    *,
    options: TaskOptions,
    partitions: Annotated[int, typer.Option("--partitions", min=1, help="The number of parts.")],
    depth: Annotated[
        int,
        typer.Option("--depth", min=1, help="How many joins away from an example the rows are that its part holds."),
    ] = DEPTH,
    small_table: Annotated[
        int, typer.Option("--small-table", min=0, help="Tables of at most so many rows are whole in every part.")
    ] = SMALL_TABLE,
    max_bins: Annotated[
        int,
        typer.Option("--max-bins", min=2, help="Distinct values of a numeric column up to which each is a threshold."),
    ] = MAX_BINS,
    memory: Annotated[
        str, typer.Option("--memory", help="The memory that may be used, such as 4GB; the source may be larger.")
    ] = "4GB",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a folder of partitions.")] = False,
) -> None:
    """Write SOURCE in partitions: some of the examples each, with every row that they reach."""
    from hornboost.cli.source import open_task, say_what_was_read, streamed_reader
    from hornboost.data import Database
    from hornboost.data.partitions.loaded import check_sizes
    from hornboost.data.partitions.streamed import partition_streamed
    from hornboost.data.partitions.writer import check_new
    from hornboost.memory import bytes_of

    sizes = {"partitions": partitions, "depth": depth, "small_table": small_table, "max_bins": max_bins}
    check_sizes(**sizes)
    check_new(output, overwrite)
    limit = bytes_of(memory, "--memory")
    read = streamed_reader(source, options)
    with tidy_on_sigterm():
        if read is None:
            made = open_task(source, options).partition(output, overwrite=overwrite, **sizes)
        else:
            with stage_progress() as progress:
                partition_streamed(read, output, limit, overwrite, progress, **sizes)
            made = Database.from_partitions(output)
            say_what_was_read(made)
    assert made.stored is not None
    way_on = f"learn from them with: hornboost fit {output}"
    if made.target.label is None:
        way_on = "no label was named, so nothing can be learned from them (name it with --target and --label)"
    rows = [sum(table.parts[part] for table in made.stored.manifest.tables) for part in range(partitions)]
    note(f"wrote {counted(partitions, 'partition')} of {min(rows):,} to {max(rows):,} rows to {output}; {way_on}")
