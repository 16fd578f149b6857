"""What shares hardware at an initiation interval: symmetric limbs, or the stages of a method in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rbdhw.cores.pipeline.core import PipelineCore
from rbdhw.explore.limb_sharing import find_shared_limbs, limb_inputs
from rbdhw.explore.stage_sharing import StageGroup, find_shared_stages
from rbdhw.fixed.program import Kind
from rbdhw.graph.graph import Graph, Op
from rbdhw.graph.twins import Twins, no_twins
from rbdhw.options.build import BuildOptions
from rbdhw.passes.twins import find_twins
from rbdhw.robot.model import Robot
from rbdhw.robot.symmetry import LimbGroup


@dataclass(frozen=True)
class Sharing:
    """The groups of limbs, or of stages, that share hardware, and their twins in the graph."""

    twins: Twins
    limbs: tuple[LimbGroup, ...] = ()
    stages: tuple[StageGroup, ...] = ()


def choose_sharing(robot: Robot, graph: Graph, options: BuildOptions, ii: int) -> Sharing:
    """Return what shares hardware: limbs or stages, whichever saves more adders, unless one is required.

    Raises
    ------
    InputError
        If sharing is required but impossible.
    """
    limbs = find_shared_limbs(robot, options.share_limbs, ii)
    stages = find_shared_stages(graph, options.share_stages, ii)
    if limbs and options.share_stages != "on":
        of_limbs = Sharing(find_twins(graph, limb_inputs(robot, limbs)), limbs=limbs)
        if not stages or options.share_limbs == "on":
            return of_limbs
        of_stages = Sharing(find_twins(graph, stages, stages=True), stages=stages)
        return max(of_stages, of_limbs, key=lambda sharing: _saved_adders(graph, sharing.twins))
    if stages:
        return Sharing(find_twins(graph, stages, stages=True), stages=stages)
    return Sharing(no_twins(graph))


def _saved_adders(graph: Graph, twins: Twins) -> int:
    """Return the additions and choices that need no operator of their own."""
    return sum(len(group) - 1 for group in twins.groups if graph.nodes[group[0]].op in (Op.ADD, Op.SELECT))


def sharing_entry(groups: list[list[str]], core: PipelineCore) -> dict[str, Any]:
    """Return the manifest's entry on groups that share hardware: their names, shared operations and costs."""
    operations, bound = core.program.operations, core.schedule
    computed = [value for value in bound.producer if operations[value].kind is not Kind.INPUT]
    products = [value for value in computed if operations[value].kind in (Kind.MULTIPLY, Kind.SCALE)]

    def split(values: Sequence[int]) -> dict[str, int]:
        shared = sum(len(bound.group(value)) > 1 for value in values) if groups else 0
        return {"shared": shared, "alone": len(values) - shared}

    return {
        "groups": groups,
        "shared": bool(groups and bound.twins),
        "operations": split(computed),
        "multiplications": split(products),
        "costs": {way: cost.json() for way, cost in core.costs.items()} if groups else {},
    }
