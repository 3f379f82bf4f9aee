"""HornBoost's column in the tables of a page that another command writes."""

from __future__ import annotations

from collections.abc import Mapping

HEAD = "| domain | published |"
NAME = "HornBoost"
NOTE = (
    "- HornBoost's column is written by `python -m benchmarks.flagship --results docs/results.md`: its defaults on the "
    "same folds, beside the best published figure of any system ([all figures](flagship.md))."
)


def with_column(page: str, figures: Mapping[str, str]) -> str:
    r"""The page with a last column in its tables of published figures, which takes the place of one that is there.

    >>> page = "- A.\n\n| domain | published | C²RIB |\n| --- | --- | --- |\n| a | 1 | 2 |\n| b | 3 | 4 |"
    >>> once = with_column(page, {"a": "**5**"})
    >>> print(once.split("\n\n")[1])
    | domain | published | C²RIB | HornBoost |
    | --- | --- | --- | --- |
    | a | 1 | 2 | **5** |
    | b | 3 | 4 | n/a |
    >>> with_column(once, {"a": "**5**"}) == once
    True
    """
    lines = [line for line in page.split("\n") if line != NOTE]
    out: list[str] = []
    inside = had_one = noted = False
    for line in lines:
        if not noted and out and out[-1].startswith("- ") and line == "":
            out.append(NOTE)
            noted = True
        if line.startswith(HEAD):
            inside, had_one = True, line.endswith(f"| {NAME} |")
            out.append(_with_cell(line, NAME, had_one))
        elif inside and line.startswith("|"):
            row = line.split("|")[1].strip()
            out.append(_with_cell(line, "---" if row == "---" else figures.get(row, "n/a"), had_one))
        else:
            inside = False
            out.append(line)
    return "\n".join(out)


def _with_cell(line: str, cell: str, replaces: bool) -> str:
    cells = line.rstrip().removesuffix("|").split("|")
    return "|".join([*(cells[:-1] if replaces else cells), f" {cell} ", ""])
