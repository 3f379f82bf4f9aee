"""From a clause to its tree of joins: coverage of any clause, whether or not it came from a search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Column, Table
from hornboost.dtypes import CODE
from hornboost.engine import kernels
from hornboost.engine.engine import Engine, stacked
from hornboost.engine.tree import NO_CODES, NO_MASK, Codes, Entries, Join, Ref, Spec, State, propagate, root_state
from hornboost.errors import ClauseError, DataError, LimitError, did_you_mean
from hornboost.logic.clause import Clause, Literal, Test
from hornboost.logic.text import MOST_LITERALS

if TYPE_CHECKING:
    from hornboost.data import Database


def covers(database: Database, clause: Clause | str, examples: Table | None = None) -> NDArray[np.bool_]:
    """Which examples a clause covers: those of `database.examples()`, or the encoded rows passed in.

    >>> import pandas as pd, hornboost as hb
    >>> molecules = pd.DataFrame({"m": ["a", "b"], "active": ["1", "0"]})
    >>> atoms = pd.DataFrame({"m": ["a", "a", "b"], "element": ["c", "n", "c"]})
    >>> db = hb.Database.from_frames(
    ...     {"molecule": molecules, "atom": atoms}, target="molecule", key="m", label="active", foreign_keys=[("atom.m", "molecule.m")]
    ... )
    >>> covers(db, 'active="1" :- molecule(m=M), atom(m=M, element="n").')
    array([ True, False])
    """
    if isinstance(clause, str):
        clause = Clause.parse(clause)
    rows = database.encode(database.examples()[0]) if examples is None else examples
    return _covered(database, clause, rows)


def _covered(database: Database, clause: Clause, rows: Table) -> NDArray[np.bool_]:
    """The coverage in as many parts of the examples as the limit on live entries asks for."""
    try:
        return clause_state(Engine(database, rows), clause).covered
    except LimitError:
        if rows.n_rows <= 1:
            raise
        half = rows.n_rows // 2
        parts = _part(rows, 0, half), _part(rows, half, rows.n_rows)
        return np.concatenate([_covered(database, clause, part) for part in parts])


def _part(table: Table, lo: int, hi: int) -> Table:
    columns = {name: replace(column, values=column.values[lo:hi]) for name, column in table.columns.items()}
    return Table(table.name, columns, hi - lo)


def clause_state(engine: Engine, clause: Clause) -> State:
    """The state of a clause over the engine's examples; node k of its tree is the k-th literal returned by `tree_specs`."""
    body = root_first(clause, engine.examples.name)
    _check(engine, clause, body)
    specs, order = tree_specs(clause, body)
    return _grown(engine, specs, lambda k: _allowed(engine, clause, body[order[k]], is_root=k == 0))


def specs_state(engine: Engine, specs: tuple[Spec, ...]) -> State:
    """The state of a tree that a search has grown, over the engine's examples."""

    def allowed(k: int) -> NDArray[np.bool_]:
        masks = [engine.passes(specs[k].table, test, None, k == 0) for test in specs[k].tests]
        return np.logical_and.reduce(masks) if masks else NO_MASK

    return _grown(engine, specs, allowed)


def _grown(engine: Engine, specs: tuple[Spec, ...], allowed: Callable[[int], NDArray[np.bool_]]) -> State:
    """Join node after node; `allowed` tells the rows that a node may bind, where it says something about them."""
    state = root_state(engine.examples.n_rows, specs[0].table)
    alive = allowed(0)
    state = State(specs[:1], state.entries, alive if alive.size else state.covered)
    for k in range(1, len(specs)):
        entries = _expand(engine, state, specs[k], allowed(k))
        state = propagate(specs[: k + 1], [*state.entries, entries], state.covered, {k: np.ones(len(entries), np.bool_)})
    return state


def tree_specs(clause: Clause, body: tuple[Literal, ...]) -> tuple[tuple[Spec, ...], list[int]]:
    """The literals as a tree in which everything related lies on one path, and which literal each node is.

    A depth-first search of the graph "shares a variable, or must differ" has no edge between branches, so each literal finds
    its equalities and inequalities among its ancestors. A variable links its literals to the one that brings it in first.
    """
    homes: dict[str, int] = {}
    for k, literal in enumerate(body):
        for _, variable in literal.bindings:
            homes.setdefault(variable, k)
    links = [(k, homes[variable]) for k, literal in enumerate(body) for _, variable in literal.bindings]
    links += [(homes[left], homes[right]) for left, right in clause.unequal]
    near: list[set[int]] = [set() for _ in body]
    for left, right in links:
        if left != right:
            near[left].add(right)
            near[right].add(left)
    order, parents = _depth_first(near)
    return tuple(_spec(clause, body, order, parents, n) for n in range(len(order))), order


def _depth_first(near: list[set[int]]) -> tuple[list[int], list[int]]:
    """Literals in the order of the search, and the position of each one's parent; unrelated ones hang at the root."""
    order: list[int] = []
    parents: list[int] = []
    seen: set[int] = set()

    def visit(k: int, parent: int) -> None:
        seen.add(k)
        order.append(k)
        parents.append(parent)
        mine = len(order) - 1
        for other in sorted(near[k]):
            if other not in seen:
                visit(other, mine)

    for k in range(len(near)):
        if k not in seen:
            visit(k, -1 if k == 0 else 0)
    return order, parents


def _spec(clause: Clause, body: tuple[Literal, ...], order: list[int], parents: list[int], n: int) -> Spec:
    literal = body[order[n]]
    path = []
    above = parents[n]
    while above >= 0:
        path.append(above)
        above = parents[above]
    known: dict[str, Ref] = {}
    for above in reversed(path):
        for column, variable in body[order[above]].bindings:
            known.setdefault(variable, Ref(above, column))
    if n == 0:
        return Spec(literal.table, -1, None, literal.tests)
    links = [(column, known[variable]) for column, variable in literal.bindings if variable in known]
    own = {variable: column for column, variable in literal.bindings if variable not in known}
    pairs = [*clause.unequal, *((right, left) for left, right in clause.unequal)]
    unequal = tuple((own[mine], known[theirs]) for mine, theirs in pairs if mine in own and theirs in known)
    column, source = links[0] if links else ("", None)
    return Spec(literal.table, parents[n], Join(literal.table, column, source, tuple(links[1:]), unequal), literal.tests)


def _expand(engine: Engine, state: State, spec: Spec, allowed: NDArray[np.bool_]) -> Entries:
    join = spec.join
    assert join is not None
    above = state.entries[spec.parent]
    constraints = (*_constraints(engine, state, spec, join.equal), *_constraints(engine, state, spec, join.unequal))
    if join.source is None:
        n_rows = engine.database.tables[spec.table].n_rows
        engine.check_count(len(above) * n_rows, (join,))
        return Entries(*kernels.expand_all(above.example, n_rows, *constraints, allowed))
    codes = np.where(state.covered[above.example], state.codes(spec.parent, join.source, engine.key), CODE(-1))
    index = engine.database.index(spec.table, join.column)
    engine.check_count(int(kernels.count_reached(codes, index.offsets)), (join,))
    return Entries(*kernels.expand(above.example, codes, index.offsets, index.rows, *constraints, allowed))


def _constraints(engine: Engine, state: State, spec: Spec, pairs: tuple[tuple[str, Ref], ...]) -> tuple[Codes, Codes]:
    if not pairs:
        return NO_CODES, NO_CODES
    columns = [engine.key(spec.table, column, False) for column, _ in pairs]
    return stacked(columns), stacked([state.codes(spec.parent, ref, engine.key) for _, ref in pairs])


def _allowed(engine: Engine, clause: Clause, literal: Literal, is_root: bool) -> NDArray[np.bool_]:
    """Which rows pass what a literal says about itself: its tests, a repeated variable, two of its own that must differ."""
    masks = [engine.passes(literal.table, test, None, is_root) for test in literal.tests]
    columns: dict[str, str] = {}
    for column, variable in literal.bindings:
        first = columns.setdefault(variable, column)
        if first != column:
            left, right = (engine.key(literal.table, name, is_root) for name in (first, column))
            masks.append((left == right) & (left >= 0))
    for one, other in clause.unequal:
        if one in columns and other in columns:
            left, right = (engine.key(literal.table, columns[name], is_root) for name in (one, other))
            masks.append((left != right) & (left >= 0) & (right >= 0))
    return np.logical_and.reduce(masks) if masks else NO_MASK


def root_first(clause: Clause, target: str) -> tuple[Literal, ...]:
    """The body with the first literal of the target table, which stands for the example, in front."""
    at = next((k for k, literal in enumerate(clause.body) if literal.table == target), None)
    if at is None:
        raise ClauseError(f"the clause has no literal of the target table '{target}'; begin its body with {target}(...)")
    return (clause.body[at], *clause.body[:at], *clause.body[at + 1 :])


def _check(engine: Engine, clause: Clause, body: tuple[Literal, ...]) -> None:
    """Refuse, in one sentence, a clause that does not fit the database."""
    if len(body) > MOST_LITERALS:
        raise ClauseError(f"the clause has {len(body):,} literals, and at most {MOST_LITERALS} can be followed; split it into several")
    domains: dict[str, tuple[str | None, str]] = {}
    for k, literal in enumerate(body):
        if k > 0 and literal.table not in engine.database.tables:
            raise DataError.unknown_table(literal.table, engine.database.tables)
        columns = (engine.examples if k == 0 else engine.database.tables[literal.table]).columns
        for name in [column for column, _ in literal.bindings] + [test.column for test in literal.tests]:
            if name not in columns:
                raise DataError.unknown_column(literal.table, name, columns)
        for name, variable in literal.bindings:
            if columns[name].kind != "key":
                kind = f"is {columns[name].kind}, not a key, so it takes no variable ('{variable}')"
                raise ClauseError(f"table '{literal.table}': column '{name}' {kind}")
            domain, where = domains.setdefault(variable, (columns[name].domain, f"{literal.table}.{name}"))
            if domain != columns[name].domain:
                raise ClauseError(f"variable '{variable}' joins {where} with {literal.table}.{name}, which are keys of different things")
        for test in literal.tests:
            check_test(literal.table, columns[test.column], test)
    for variable in {name for pair in clause.unequal for name in pair}:
        if variable not in domains:
            raise ClauseError(f"variable '{variable}' occurs in an inequality but in no literal{did_you_mean(variable, domains)}")


def check_test(table: str, column: Column, test: Test) -> None:
    if test.op in (">=", "<=") and column.kind != "numeric":
        raise ClauseError(f"table '{table}': column '{column.name}' is {column.kind}, so it has no order for '{test.op}'; use = instead")
    if test.op == "=" and column.kind == "numeric":
        try:
            float(test.value or "")
        except ValueError:
            raise ClauseError(f"table '{table}': column '{column.name}' is numeric, and {test.value!r} is no number") from None
