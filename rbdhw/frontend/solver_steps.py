"""The graphs of optimal control beside those of the functions: derivatives of a step, and costs of a state.

The names of their inputs and results are those of arrays: ``x_ref`` is a reference state in radians, ``v`` of
:func:`_displacements` the velocity behind a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rbdhw.arrays import WordName
from rbdhw.dynamics.integration import displacement_derivatives
from rbdhw.dynamics.kinematics import FrameMotion, frame_motion
from rbdhw.dynamics.state_cost import PlacementGoal, Turn, joint_difference
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, Model, optimise, trace_model
from rbdhw.frontend.random_states import random_states
from rbdhw.frontend.setting import Setting
from rbdhw.frontend.whole_body import WholeBody
from rbdhw.graph.graph import Graph
from rbdhw.graph.trace import Recorder
from rbdhw.passes.merge import merge
from rbdhw.passes.prune import prune
from rbdhw.protocol import SOLVE, steps_with
from rbdhw.robot.link_frames import chosen_frames
from rbdhw.robot.model import JointKind
from rbdhw.robot.wide_joints import wide_joints
from rbdhw.scalar import Scalar, region

Matrix = list[list[Scalar]]


@dataclass(frozen=True)
class SolverGraphs:
    """The graphs of a robot, each with the results that it names."""

    rows: Graph
    """``rows`` (nv, 3 nv): the derivatives of the velocity behind a step."""
    displacements: Graph | None
    """``transport`` and ``jacobian`` (nv, nv) of a step of Riccati's recursion, of joints of several degrees
    of freedom; None if there are none."""
    difference: Graph | None
    """``difference`` (nv,), likewise, and its derivative ``turned`` (nv, nv)."""
    goal: Graph | None
    """``cost`` of the frames; None if there are none."""
    goal_expansion: Graph | None
    """``gradient`` (nv,) and ``hessian`` (nv, nv), of which the lower triangle."""
    momentum: Graph | None
    """``momentum`` (6,) about the centre of mass; None if it costs nothing."""
    momentum_expansion: Graph | None
    """The same, and its derivatives ``momentum_rows`` (6, 2 nv) by q and v."""


def trace_solver(model: Model, momentum: bool = False) -> SolverGraphs:
    """Return the graphs of a prepared robot, of which the ``momentum`` may cost something."""
    wide, frames = wide_joints(model.robot), model.robot.frames
    return SolverGraphs(
        _rows(model),
        _traced(model, _displacements) if wide else None,
        _traced(model, _differences) if wide else None,
        _traced(model, _goal) if frames else None,
        _traced(model, _goal_expansion) if frames else None,
        _traced(model, _momentum) if momentum else None,
        _traced(model, _momentum_expansion) if momentum else None,
    )


def _rows(model: Model) -> Graph:
    """Return the lower half of the derivatives ``A`` and ``B`` of a step."""
    _, derivatives = steps_with(contacts=bool(model.robot.contacts.places))
    graph, nv = trace_model(model, (derivatives,)), model.robot.nv
    outputs = []
    for name, edge in graph.outputs:
        word = WordName.parse(name)
        if word.array in ("A", "B") and word.index[0] >= nv:
            row, column = word.index[0] - nv, word.index[1] + (2 * nv if word.array == "B" else 0)
            outputs.append((f"{SOLVE}.rows[{row},{column}]", edge))
    return optimise(prune(replace(graph, outputs=tuple(outputs))), DEFAULT_DELAYS)


Record = Callable[[Setting], Iterator[tuple[str, Scalar]]]


def _traced(model: Model, record: Record) -> Graph:
    recorder = Recorder()
    setting = Setting(recorder, model.robot, ("kin",), (), model.choice.algorithms)
    for name, value in record(setting):
        recorder.output(f"{SOLVE}.{name}", value)
    graph = prune(recorder.builder.finish(recorder.outputs))
    return optimise(prune(merge(graph, random_states(model.robot, graph.inputs))), DEFAULT_DELAYS)


def _displacements(setting: Setting) -> Iterator[tuple[str, Scalar]]:
    for i, (joint, _, rates) in enumerate(wide_joints(setting.robot)):
        with region("moved", i):
            displacement = [setting.task.h * rate for rate in setting.task.v[rates]]
            transport, jacobian = displacement_derivatives(joint.kind, displacement)
            yield from _block("transport", transport, rates.start)
            scaled = [[setting.task.h * entry for entry in row] for row in jacobian]
            yield from _block("jacobian", scaled, rates.start)


def _differences(setting: Setting) -> Iterator[tuple[str, Scalar]]:
    for i, (joint, span, rates) in enumerate(wide_joints(setting.robot)):
        with region("difference", i):
            reference: list[Scalar] = [
                setting.recorder.input(f"x_ref[{k}]") for k in range(span.start, span.stop)
            ]
            q, turn = list(setting.task.q[span]), None
            if joint.kind is JointKind.PLANAR:
                angles = (1.0 / (2.0 * math.pi)) * reference[2], q[2]
                turn = Turn(*(setting.recorder.cos_sin(angle, 0.0) for angle in angles))
                q[2] = (2.0 * math.pi) * q[2]
            difference, turned = joint_difference(joint.kind, reference, q, turn)
            for k, entry in enumerate(difference):
                yield f"difference[{rates.start + k}]", entry
            yield from _block("turned", turned, rates.start)


def _block(name: str, rows: Matrix, start: int) -> Iterator[tuple[str, Scalar]]:
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            yield f"{name}[{start + i},{start + j}]", entry


def _goal(setting: Setting) -> Iterator[tuple[str, Scalar]]:
    total: Scalar = 0.0
    for goal, motion in _frames(setting):
        total = total + goal.cost(motion.placement)
    yield "cost", total


def _goal_expansion(setting: Setting) -> Iterator[tuple[str, Scalar]]:
    expansions = [goal.expansion(motion) for goal, motion in _frames(setting)]
    for i in range(setting.robot.nv):
        yield f"gradient[{i}]", sum((gradient[i] for gradient, _ in expansions), 0.0)
        for j in range(i + 1):
            yield f"hessian[{i},{j}]", sum((hessian[i][j] for _, hessian in expansions), 0.0)


def _momentum(setting: Setting) -> Iterator[tuple[str, Scalar]]:
    for k, entry in enumerate(WholeBody(setting).momentum_alone):
        yield f"momentum[{k}]", entry


def _momentum_expansion(setting: Setting) -> Iterator[tuple[str, Scalar]]:
    body = WholeBody(setting)
    rows = zip(body.momentum, body.momentum_slopes, body.momentum_map, strict=True)
    for i, (entry, by_position, by_velocity) in enumerate(rows):
        yield f"momentum[{i}]", entry
        for j, slope in enumerate((*by_position, *by_velocity)):
            yield f"momentum_rows[{i},{j}]", slope


def _frames(setting: Setting) -> Iterator[tuple[PlacementGoal, FrameMotion]]:
    """Yield the goal of each frame, and its motion at rest, with columns for the robot's velocities."""
    robot, zeros, make = setting.robot, setting.zeros, setting.recorder.input
    for k, frame in enumerate(chosen_frames(robot)):
        motion = frame_motion(robot, frame, setting.task.poses, zeros, zeros, in_world=True)
        jacobian = [setting.coupling.gather(row) for row in motion.jacobian]
        placement = [[make(f"placement_ref[{k},{i},{j}]") for j in range(4)] for i in range(3)]
        x, y, z = (make(f"position_weight[{k},{i}]") for i in range(3))
        goal = PlacementGoal(placement, (x, y, z), make(f"orientation_weight[{k}]"))
        yield goal, replace(motion, jacobian=jacobian)
