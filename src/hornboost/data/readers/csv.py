"""CSV and CSV.gz files to Arrow, with errors that name file, row and column."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornboost.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 1 << 24
"""A row must fit into a block: 16 MB hold one of 10,000 columns and more."""


OTHERS = (";", "\t", "|")
"""What may stand between columns instead of a comma."""


def csv_header(path: Path) -> list[str]:
    """The column names of the first line."""
    names = _first_rows(path, csv_delimiter(path))[0]
    for name, count in Counter(names).items():
        if count > 1:
            raise DataError(f"{path.name}: the column '{name}' occurs twice in the first line; rename one of them")
    return names


def csv_delimiter(path: Path) -> str:
    """What stands between the columns: a comma where the first line has one.

    Otherwise a semicolon, a tab or a bar, if it divides the second line into as many fields as the first.
    """
    if len(_first_rows(path, ",")[0]) > 1:
        return ","
    for delimiter in OTHERS:
        if len(_first_rows(path, delimiter)[0]) > 1 and len({len(row) for row in _first_rows(path, delimiter, 2)}) == 1:
            return delimiter
    return ","


def has_decimal_commas(path: Path) -> bool:
    """Whether numbers in a file may have a comma for a point: where semicolons leave it free."""
    return path.name.endswith((".csv", ".csv.gz")) and path.is_file() and csv_delimiter(path) == ";"


def _first_rows(path: Path, delimiter: str, n: int = 1) -> list[list[str]]:
    """The fields of the first lines, of which there may be fewer."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as lines:
            rows = list(islice(csv.reader(lines, delimiter=delimiter), n))
    except UnicodeDecodeError:
        raise _not_utf8(path) from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path.name}: the file cannot be read ({error}); check that it is complete") from None
    except csv.Error as error:
        raise DataError(f"{path.name}: the first line cannot be read ({error}); write the column names there") from None
    if not rows or not rows[0]:
        raise DataError(f"{path.name}: the file is empty; write a line of column names first")
    return rows


def read_csv(path: Path, types: Mapping[str, str] | None) -> pa.Table:
    """The columns named in `types` (key, nominal, numeric, date); without types every column, as text."""
    import pyarrow as pa

    header = csv_header(path)
    text = pa.dictionary(pa.int32(), pa.string())
    wanted = dict.fromkeys(header if types is None else [name for name in header if name in types], text)
    for name, kind in (types or {}).items():
        if kind == "numeric" and name in wanted:
            wanted[name] = pa.float64()
    try:
        return _parse(path, wanted, threads=True)
    except pa.ArrowInvalid as error:
        if types is not None and "conversion error" in str(error) and "UTF8" not in str(error):
            return _with_numbers(path, read_csv(path, dict.fromkeys(wanted, "nominal")), wanted)
        raise _explain(path, wanted, str(error)) from None
    except OSError as error:
        raise DataError(f"{path.name}: the file cannot be read ({error}); check that it is complete") from None


def stream_csv(path: Path, names: Collection[str]) -> Iterator[pa.Table]:
    """Some columns as text, a block of the file at a time."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    wanted = dict.fromkeys([name for name in csv_header(path) if name in names], pa.string())
    try:
        with pacsv.open_csv(path, **_options(wanted, csv_delimiter(path), threads=False)) as blocks:
            yield blocks.schema.empty_table()
            for block in blocks:
                yield pa.Table.from_batches([block])
    except pa.ArrowInvalid as error:
        raise _explain(path, wanted, str(error)) from None
    except OSError as error:
        raise DataError(f"{path.name}: the file cannot be read ({error}); check that it is complete") from None


def _parse(path: Path, columns: Mapping[str, pa.DataType], threads: bool) -> pa.Table:
    import pyarrow.csv as pacsv

    return pacsv.read_csv(path, **_options(columns, csv_delimiter(path), threads))


def _options(columns: Mapping[str, pa.DataType], delimiter: str, threads: bool) -> dict[str, Any]:
    import pyarrow.csv as pacsv

    return {
        "read_options": pacsv.ReadOptions(block_size=BLOCK_BYTES, use_threads=threads),
        "parse_options": pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        "convert_options": pacsv.ConvertOptions(
            column_types=columns,
            include_columns=list(columns),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    }


def _with_numbers(path: Path, table: pa.Table, wanted: Mapping[str, pa.DataType]) -> pa.Table:
    """Numbers from text, with an error that names the first value that is none.

    Empty texts in quotes are missing as well.
    """
    import pyarrow as pa

    from hornboost.data.convert import parse_numbers
    from hornboost.data.text_numbers import uses_commas, with_points

    for position, (name, kind) in enumerate(wanted.items()):
        if kind == pa.float64():
            texts = table.column(name)
            texts = with_points(texts) if has_decimal_commas(path) and uses_commas(texts) else texts
            numbers = parse_numbers(
                texts.cast(pa.string()), f"{path.name}: table '{table_name(path)}', column '{name}'"
            )
            table = table.set_column(position, name, pa.array(numbers, from_pandas=True))
    return table


def _explain(path: Path, wanted: Mapping[str, pa.DataType], message: str) -> DataError:
    import pyarrow as pa

    if "UTF8" in message:
        return _not_utf8(path)
    try:
        _parse(path, wanted, threads=False)  # a single thread knows the number of the row
    except pa.ArrowInvalid as error:
        message = str(error)
    found = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", message)
    if found is not None:
        row = f"row {int(found[1]) - 1} has" if found[1] else "a row has"
        return DataError(
            f"{path.name}: {row} {found[3]} fields where the first line names {found[2]}; correct the row or its quotes"
        )
    return DataError(
        f"{path.name}: the file is no CSV that can be read ({message.splitlines()[0]}); write it as RFC 4180 in UTF-8"
    )


def _not_utf8(path: Path) -> DataError:
    return DataError(f"{path.name}: the file is not UTF-8 text; save it in that encoding")


def table_name(path: Path) -> str:
    """The name of the table in a file: `atom` for `atom.csv.gz`."""
    return re.sub(r"(\.csv\.gz|\.csv|\.parquet|\.pq)$", "", path.name)
