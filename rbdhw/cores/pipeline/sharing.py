"""What shares hardware at an initiation interval: symmetric limbs, or the stages of a method in time."""

from __future__ import annotations

from rbdhw.cores.pipeline.limb_sharing import find_shared_limbs, limb_inputs
from rbdhw.cores.pipeline.stage_sharing import find_shared_stages
from rbdhw.cores.sharing import Sharing
from rbdhw.graph.graph import Graph, Op
from rbdhw.graph.twins import Twins, no_twins
from rbdhw.options.build import BuildOptions
from rbdhw.passes.twins import find_twins
from rbdhw.robot.model import Robot


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
