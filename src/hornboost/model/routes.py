"""The joins behind the aggregates of a model's rules: told in its file, so that it means the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from hornboost.aggregates.meaning import Paths, fits
from hornboost.data.linked import linked
from hornboost.data.schema import ForeignKey
from hornboost.errors import HornBoostError, ModelError
from hornboost.logic.aggregate import LAST, Aggregate, KeyStep, Route
from hornboost.logic.text import print_path
from hornboost.model.part import ParsedPart

if TYPE_CHECKING:
    from hornboost.data import Database
    from hornboost.model.ensemble import Rule
    from hornboost.model.file import SavedColumn, SavedModel
    from hornboost.model.times import SavedTime

Routes = Mapping[str, Route]
"""Routes by the text of the path."""


def aggregates_of(rules: Iterable[Rule]) -> list[Aggregate]:
    """The aggregates that rules look at, each once."""
    return list(dict.fromkeys(aggregate for rule in rules for aggregate in rule.clause.aggregates))


def routes_in(database: Database, rules: Iterable[Rule]) -> dict[str, Route]:
    """What the paths of the rules' aggregates mean in a database."""
    paths = Paths.of(database)
    found = {}
    for aggregate in aggregates_of(rules):
        steps = paths.meant(aggregate.path).steps
        found[print_path(aggregate.path)] = tuple(KeyStep(hop.column, hop.to_table, hop.to_column) for hop in steps)
    return found


def linked_by(model: SavedModel, database: Database) -> Database:
    """The database with the links that the model's aggregates follow, where its own lead elsewhere or nowhere.

    Links that are inferred depend on the rows: those of a batch may be of other examples. A partitioned database states
    its links.
    """
    if database.parts is not None or database.target.table != model.target.table or _means_the_same(model, database):
        return database
    links = _links(model)
    if not all(_are_joined(database, link) for link in links):  # which are not is for `check_routes` to say
        return database
    return linked(database, links)


def _links(model: SavedModel) -> list[ForeignKey]:
    """What the aggregates of a model join, each once."""
    links: dict[ForeignKey, None] = {}
    for route in model.routes.values():
        before = model.target.table
        for step in route:
            links[ForeignKey(before, step.before, step.table, step.column)] = None
            before = step.table
    return list(links)


def _are_joined(database: Database, link: ForeignKey) -> bool:
    """Whether both ends of a link are keys of one domain."""
    domains = set()
    for table, name in ((link.table, link.column), (link.to_table, link.to_column)):
        column = database.tables[table].columns.get(name) if table in database.tables else None
        domains.add(None if column is None or column.kind != "key" else column.domain)
    return len(domains) == 1 and None not in domains


def _means_the_same(model: SavedModel, database: Database) -> bool:
    try:
        check_routes(model, database)
    except ModelError:
        return False
    return True


def check_routes(model: SavedModel, database: Database) -> None:
    """Refuse a database in which a path of an aggregate means something else."""
    for link in _links(model):
        if not _are_joined(database, link):
            raise ModelError(
                f"the model joins {link.table}.{link.column} with {link.to_table}.{link.to_column}, and in this "
                "database these are different keys; declare the foreign key between them"
            )
    for aggregate in aggregates_of(model.ensemble.rules):
        try:
            found = Paths.of(database).meant(aggregate.path).steps
        except HornBoostError as error:
            raise ModelError(f"the model needs the aggregate '{aggregate}', and in this database {error}") from None
        here = tuple((hop.column, hop.to_table, hop.to_column) for hop in found)
        if here != tuple(model.routes[print_path(aggregate.path)]):
            raise ModelError(
                f"the model's aggregate '{aggregate}' follows other foreign keys than those of this database; "
                "declare the same ones"
            )


def written(routes: Routes) -> dict[str, list[list[str]]]:
    """Routes as JSON holds them."""
    return {path: [list(step) for step in route] for path, route in routes.items()}


def read(content: ParsedPart | None) -> dict[str, Route]:
    """Routes as a file holds them."""
    if content is None:
        return {}
    return {path: tuple(_step(step) for step in route) for path, route in content.record().items()}


def _step(content: ParsedPart) -> KeyStep:
    if len(content) != 3:
        content.fail("does not hold 3 values")
    return KeyStep(*content.texts())


def check_aggregates(model: SavedModel) -> None:
    """Refuse rules of a file whose aggregates do not fit its routes and its schema."""
    known = {table: {column.name: column for column in columns} for table, columns in model.schema.items()}
    for rule in model.ensemble.rules:
        for literal in rule.clause.body[1:]:
            if any(isinstance(test.column, Aggregate) for test in literal.tests):
                raise ModelError(f"a rule has an aggregate in the literal of '{literal.table}', not the target's")
        for aggregate in rule.clause.aggregates:
            _check(aggregate, model, known)


def _check(aggregate: Aggregate, model: SavedModel, known: Mapping[str, Mapping[str, SavedColumn]]) -> None:
    route = model.routes.get(print_path(aggregate.path))
    if not route or route[-1].table != aggregate.table:
        raise ModelError(f"the aggregate '{aggregate}' has no path")
    if len(aggregate.path) > 1 or aggregate.path[0].keys is not None:
        named = [(step.table, step.keys) for step in aggregate.path]
        is_same = len(named) == len(route) and all(
            table == step.table and keys in (None, (step.before, step.column))
            for (table, keys), step in zip(named, route, strict=True)
        )
        if not is_same:
            raise ModelError(f"the aggregate '{aggregate}' names another path than its own")
    before = model.target.table
    for step in route:
        ends = known.get(before, {}).get(step.before), known.get(step.table, {}).get(step.column)
        if any(end is None or end.type != "key" or end.given for end in ends):
            raise ModelError(f"the path of the aggregate '{aggregate}' joins columns that are no keys of the schema")
        before = step.table
    _check_columns(aggregate, model.times.get(before), known[before])


def _check_columns(aggregate: Aggregate, time: SavedTime | None, columns: Mapping[str, SavedColumn]) -> None:
    """Refuse an aggregate that looks at what rows do not have."""
    kinds = {name: column.type for name, column in columns.items()} | ({} if time is None else {time.age: "age"})
    names = [aggregate.column, None if aggregate.where is None else aggregate.where[0]]
    if any(name is not None and name not in kinds for name in names):
        raise ModelError(f"the aggregate '{aggregate}' names a column that the schema does not hold")
    if aggregate.column is not None:
        kind = kinds[aggregate.column]
        if not fits(aggregate.function, "numeric" if kind == "date" else kind, kind == "date"):
            raise ModelError(f"the aggregate '{aggregate}' looks at a column that is {kind}")
    if aggregate.where is not None and kinds[aggregate.where[0]] != "nominal":
        raise ModelError(f"the condition of the aggregate '{aggregate}' looks at a column that is not nominal")
    if aggregate.within is None and aggregate.function != LAST:
        return
    if time is None or (aggregate.within is not None and not _is_length(aggregate.within, time)):
        raise ModelError(f"the aggregate '{aggregate}' asks for a time that rows do not have")


def _is_length(within: tuple[str, str | float], time: SavedTime) -> bool:
    return within[0] == time.age and isinstance(within[1], str) == (time.type == "date")
