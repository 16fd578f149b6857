"""Sentences on the nodes that limit the accuracy of results."""

from __future__ import annotations

from rbdhw.graph.graph import Graph
from rbdhw.remarks import subject
from rbdhw.robot.model import Robot
from rbdhw.scalar import STAGE

CANCELS = 8.0
"""A value is reported as cancelling if its effect on the result exceeds the result by this factor."""

BY_VELOCITY = (
    "factorization",
    "inverse",
    "solve",
    "inverse_product",
    "forward_dynamics",
    "correction",
    "mean_row",
)
"""Steps whose regions are numbered by velocity coordinates instead of bodies."""


def node_reason(robot: Robot, graph: Graph, node: int, times: float) -> str:
    """Return a sentence on a node whose rounding dominates the errors.

    ``times`` is the effect of the node's largest value relative to the function's result.
    """
    region = graph.nodes[node].region
    place = region.step
    if region.joint is not None:
        place += f" at {subject('joint', [joint_of(robot, region.step, region.joint)])}"
    what = region.quantity or "values"
    text = f"most of the error comes from rounding {what} of {place}"
    return f"{text}, up to {times:.1g} times the result that is left of it" if times > CANCELS else text


def joint_of(robot: Robot, step: str, index: int) -> str:
    """Return the joint of a region; ``index`` is that of a body, or of a velocity in steps of BY_VELOCITY."""
    if step.partition(STAGE)[0] not in BY_VELOCITY:
        return robot.bodies[index].joint.name
    pairs = zip(robot.bodies, robot.v_of, strict=True)
    return next(
        body.joint.name
        for body, place in pairs
        if body.joint.mimic is None and place.start <= index < place.stop
    )
