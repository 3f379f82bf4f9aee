"""The tables as a graph: foreign keys between them, and the joins that the rules use lit up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from hornboost.aggregates.meaning import Paths
from hornboost.errors import counted
from hornboost.logic.clause import Clause
from hornboost.report.text import name, number

if TYPE_CHECKING:
    from hornboost.data import Database

BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y, MARGIN = 168, 62, 96, 26, 12
MOST_TABLES = 60


@dataclass(frozen=True)
class Edge:
    """A join between two columns; `rules` counts the rules that use it, 0 for a foreign key that none uses."""

    start: tuple[str, str]
    end: tuple[str, str]
    rules: int

    def __str__(self) -> str:
        return f"{'.'.join(map(name, self.start))} = {'.'.join(map(name, self.end))}"


@dataclass(frozen=True)
class Graph:
    """Tables by their distance from the target, and the edges between them; `n_left_out` tables are not drawn."""

    levels: Sequence[Sequence[str]]
    edges: Sequence[Edge]
    rows: Mapping[str, int]
    columns: Mapping[str, Mapping[str, int]]
    n_left_out: int = 0

    @classmethod
    def of(cls, database: Database, clauses: Sequence[Clause], rows: Mapping[str, int]) -> Graph:
        """The schema of a database, with what some clauses use of it, and the number of rows of each table."""
        used = _used_joins(clauses, Paths.of(database))
        links = {
            frozenset({(link.table, link.column), (link.to_table, link.to_column)}): link for link in database.links
        }
        edges = [
            Edge((link.table, link.column), (link.to_table, link.to_column), len(used.pop(ends, ())))
            for ends, link in links.items()
            if len(ends) == 2
        ]
        for ends, rules in used.items():
            start, end = sorted(ends) if len(ends) == 2 else [*ends, *ends]
            edges.append(Edge(start, end, len(rules)))
        tables = list(database.tables)
        levels = _levels(database.target.table, tables, edges)
        kept = [table for level in levels for table in level][:MOST_TABLES]
        levels = [[table for table in level if table in kept] for level in levels]
        edges = [edge for edge in edges if edge.start[0] in kept and edge.end[0] in kept]
        return cls(
            [_ordered(level, edges, levels[k - 1] if k else []) for k, level in enumerate(levels) if level],
            edges,
            rows,
            {table: _used_columns(clauses, table) for table in kept},
            len(tables) - len(kept),
        )

    def sentences(self) -> list[str]:
        """What is lit, in words."""
        lit = sorted((edge for edge in self.edges if edge.rules), key=lambda edge: -edge.rules)
        return [f"{edge}: in {number(edge.rules)} rule{'' if edge.rules == 1 else 's'}" for edge in lit]

    def svg(self) -> Markup:
        """The drawing: a column of boxes for each distance from the target."""
        tallest = max(len(level) for level in self.levels)
        height = 2 * MARGIN + tallest * (BOX_HEIGHT + GAP_Y) - GAP_Y
        width = 2 * MARGIN + len(self.levels) * (BOX_WIDTH + GAP_X) - GAP_X + 30
        place: dict[str, tuple[float, float]] = {}
        for column, level in enumerate(self.levels):
            top = (height - len(level) * (BOX_HEIGHT + GAP_Y) + GAP_Y) / 2
            for row, table in enumerate(level):
                place[table] = (MARGIN + column * (BOX_WIDTH + GAP_X), top + row * (BOX_HEIGHT + GAP_Y))
        parts = [_edge(edge, place) for edge in sorted(self.edges, key=lambda edge: edge.rules > 0)]
        parts += [self._box(table, *place[table], is_target=table == self.levels[0][0]) for table in place]
        lit = "; ".join(self.sentences()) or "no join is used"
        text = Markup(
            '<svg viewBox="0 0 {w} {h}" width="{w}" height="{h}" class="schema" role="img" '
            'aria-label="{label}">{body}</svg>'
        )
        return text.format(
            w=width, h=height, label=f"Tables and joins. Used by rules: {lit}", body=Markup("\n").join(parts)
        )

    def _box(self, table: str, x: float, y: float, *, is_target: bool) -> Markup:
        used = self.columns[table]
        css = (
            "box target"
            if is_target
            else "box lit"
            if used or any(e.rules and table in (e.start[0], e.end[0]) for e in self.edges)
            else "box"
        )
        tested = ", ".join(f"{_cut(column, 14)}" for column in used) or "no column tested"
        title = "; ".join(f"{name(column)} in {counted(count, 'rule')}" for column, count in used.items()) or tested
        text = Markup(
            '<g class="{css}"><title>{title}</title><rect x="{x}" y="{y}" width="{w}" height="{h}" rx="8"/>'
            '<text class="table" x="{tx}" y="{ty}">{table}</text><text class="rows" x="{tx}" '
            'y="{ry}">{rows} rows</text>'
            '<text class="tested" x="{tx}" y="{cy}">{tested}</text></g>'
        )
        return text.format(
            css=css,
            title=title,
            x=x,
            y=y,
            w=BOX_WIDTH,
            h=BOX_HEIGHT,
            tx=x + 10,
            ty=y + 20,
            ry=y + 36,
            cy=y + 52,
            table=_cut(table, 12) + " · target" if is_target else _cut(table, 20),
            rows=number(self.rows[table]),
            tested=_cut(tested, 26),
        )


def _used_joins(clauses: Sequence[Clause], paths: Paths) -> dict[frozenset[tuple[str, str]], set[int]]:
    """For each pair of columns that a variable, or the path of an aggregate, joins, the clauses in which it does."""
    used: dict[frozenset[tuple[str, str]], set[int]] = {}
    for place, clause in enumerate(clauses):
        first: dict[str, tuple[str, str]] = {}
        for literal in clause.body:
            for column, variable in literal.bindings:
                here = (literal.table, column)
                if variable in first:
                    used.setdefault(frozenset({first[variable], here}), set()).add(place)
                first.setdefault(variable, here)
        for hop in (hop for aggregate in clause.aggregates for hop in paths.meant(aggregate.path).steps):
            used.setdefault(frozenset({(hop.table, hop.column), (hop.to_table, hop.to_column)}), set()).add(place)
    return used


def _used_columns(clauses: Sequence[Clause], table: str) -> dict[str, int]:
    """The columns of a table that clauses test, with the number of clauses, the most used first."""
    counts: dict[str, int] = {}
    for clause in clauses:
        tested = {test.column for literal in clause.body if literal.table == table for test in literal.tests}
        names = {column for column in tested if isinstance(column, str)}
        for aggregate in clause.aggregates:
            if aggregate.table == table:
                conditions = [part[0] for part in (aggregate.where, aggregate.within) if part is not None]
                names |= {name for name in (aggregate.column, *conditions) if name is not None}
        for column in names:
            counts[column] = counts.get(column, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _levels(target: str, tables: Sequence[str], edges: Sequence[Edge]) -> list[list[str]]:
    levels, seen = [[target]], {target}
    while levels[-1]:
        near = [
            other
            for table in levels[-1]
            for edge in edges
            for here, other in ((edge.start[0], edge.end[0]), (edge.end[0], edge.start[0]))
            if here == table
        ]
        levels.append([table for table in dict.fromkeys(near) if table not in seen])
        seen.update(levels[-1])
    levels[-1] = [table for table in tables if table not in seen]
    return levels


def _ordered(level: Sequence[str], edges: Sequence[Edge], before: Sequence[str]) -> list[str]:
    """Tables beside those that they are joined with, so that fewer lines cross."""

    def centre(table: str) -> float:
        ends = [
            b
            for edge in edges
            for a, b in ((edge.start[0], edge.end[0]), (edge.end[0], edge.start[0]))
            if a == table and b in before
        ]
        return sum(before.index(end) for end in ends) / len(ends) if ends else len(before)

    return sorted(level, key=centre)


def _edge(edge: Edge, place: Mapping[str, tuple[float, float]]) -> Markup:
    (x0, y0), (x1, y1) = place[edge.start[0]], place[edge.end[0]]
    middle = BOX_HEIGHT / 2
    if x0 > x1:
        (x0, y0), (x1, y1) = (x1, y1), (x0, y0)
    if x0 == x1:
        right, drop = x0 + BOX_WIDTH, 14 if y0 == y1 else 0
        out, top, bottom = right + 34 + abs(y1 - y0) / 8, y0 + middle - drop, y1 + middle + drop
        path = f"M{right} {top}C{out} {top} {out} {bottom} {right} {bottom}"
    else:
        start, stop, half = x0 + BOX_WIDTH, x1, (x1 - x0 - BOX_WIDTH) / 2
        path = f"M{start} {y0 + middle}C{start + half} {y0 + middle} {stop - half} {y1 + middle} {stop} {y1 + middle}"
    css = "edge lit" if edge.rules else "edge"
    title = f"{edge}, in {edge.rules} rules" if edge.rules else f"{edge}, a foreign key that no rule uses"
    return Markup('<path class="{}" d="{}"><title>{}</title></path>').format(css, path, title)


def _cut(text: str, limit: int) -> str:
    plain = name(text)
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"
