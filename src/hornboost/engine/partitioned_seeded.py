"""The bottom clauses of seeds where examples lie in partitions: read off where the seed is, weighed everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hornboost.engine.elsewhere import ClauseElsewhere, Group
from hornboost.engine.engine import Engine
from hornboost.engine.frontier import Frontier, NodeOptions, Option, Refinement
from hornboost.engine.joins import Chain
from hornboost.engine.part import Asked, Part, Setup, Step, followed, placed
from hornboost.engine.partitioned import PartitionedEngine
from hornboost.engine.reach import NO_OFFSETS, Codes, Longs
from hornboost.engine.roots import RootPart
from hornboost.engine.seeded import Found, Mask, Position, SeededEngine, Tree, alone, conditions_of, only
from hornboost.engine.state import State
from hornboost.engine.tree import Spec
from hornboost.engine.united import Told

Conditions = tuple[Longs, Longs, Longs, Longs]
NONE: Conditions = (NO_OFFSETS, NO_OFFSETS, NO_OFFSETS, NO_OFFSETS)


class PartitionedSeeded(SeededEngine):
    """Legal literals and their weights for clauses over examples that lie in partitions."""

    engine: PartitionedEngine

    def _built_parts(self) -> list[RootPart]:
        engine, root = self.engine, self.engine.root()
        chains = engine.graph.chains(root, 0, None, engine.max_depth, engine.look_ahead)
        wanted = [one for chain in chains for one in engine.wanted(root, chain)]
        group = engine.group(root, [one._replace(even_idle=self._meets(one.chain)) for one in wanted])
        return [RootPart(group, np.arange(len(group.options)), engine.examples.n_rows, None)]

    def _meets(self, chain: Chain) -> bool:
        """Whether the rows of a chain are looked up from both ends, so that it is not asked what its closing says."""
        joins = chain.joins
        return len(joins) == 2 and bool(joins[1].equal) and not any(self.engine.facts.is_dated(j.table) for j in joins)

    def _add(
        self, engine: Engine, state: State, group: NodeOptions, live: Longs, classes: Codes, out: Longs, at: int
    ) -> None:
        out[at : at + group.size] = engine.score(Frontier.of(state, (group,)), live, classes, 2)

    def _of_part(self, part: RootPart, chosen: Codes) -> Conditions:
        assert isinstance(part.group, Group)
        answers = self.engine.of_part(root_conditions, self.engine.root(), part.group, chosen)
        found = [NONE]
        for positions, (who, *rest) in zip(self.engine.placement.positions, answers, strict=True):
            mine = np.flatnonzero(np.isin(chosen, positions))
            found.append((mine[who], *rest))
        who, number, raw, candidate = (np.concatenate(column) for column in zip(*found, strict=True))
        return who, number, raw, candidate

    def _of_one(self, tree: Tree, group: NodeOptions, example: int) -> Found:
        assert isinstance(tree.engine, PartitionedEngine)
        assert isinstance(group, Group)
        answers = tree.engine.of_part(node_conditions, tree.state, group, np.array([example]))
        _, number, raw, candidate = (np.concatenate(column) for column in zip(NONE, *answers, strict=True))
        return number, raw, candidate

    def _group(self, tree: Tree, node: int) -> NodeOptions:
        return tree.engine.frontier(tree.state, nodes=[node]).groups[0]

    def _tree(self, position: Position, examples: Longs) -> Tree:
        engine = self.engine.over(self.engine.examples.take(examples))
        engine.placement = self.engine.placement.taken(examples)
        root = engine.root()
        assert isinstance(root, ClauseElsewhere)
        return Tree(engine, replace(root, specs=position.specs), examples)

    def _tested(self, tree: Tree, step: Refinement, passes: Mask, specs: tuple[Spec, ...]) -> State:
        return tree.engine.refine(tree.state, step)

    def _covered(self, option: Option, raw: int) -> Mask:
        block = option.block
        k = int(np.searchsorted(block.bases, raw, side="right")) - 1
        test = None if raw == 0 else option.test(block.attributes[k], raw - int(block.bases[k]))
        step = Refinement(option.chain.node, option.chain.joins, test)
        return self.engine.refine(self.engine.root(), step).covered


def root_conditions(
    part: Part, setup: Setup, path: Sequence[Step], asked: Asked, seeds: Codes, together: tuple[Told, ...]
) -> Conditions:
    """The conditions at the root that hold for some examples of a partition."""
    if seeds.size == 0:
        return NONE
    engine = part.engine(setup)
    return conditions_of(engine, alone(engine, seeds), placed(engine, engine.root(), asked, together), seeds.size)


def node_conditions(
    part: Part, setup: Setup, path: Sequence[Step], asked: Asked, seeds: Codes, together: tuple[Told, ...]
) -> Conditions:
    """The conditions at a node of a clause that hold for one example, where the partition has it."""
    if seeds.size == 0:
        return NONE
    engine = part.engine(setup)
    state = followed(engine, path)
    return conditions_of(engine, only(state, int(seeds[0])), placed(engine, state, asked, together), 1)
