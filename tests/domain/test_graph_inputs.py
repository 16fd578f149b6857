"""The inputs of a graph: their ranges and units, and their values from arrays."""

import math
from dataclasses import replace

import numpy as np

from rbdhw.domain.bounds import input_domain
from rbdhw.domain.graph_inputs import graph_inputs, graph_ranges
from rbdhw.domain.overrides import ForceBounds, Overrides
from rbdhw.fixed.lower import InputRange
from rbdhw.robot.model import JointKind, Limits
from tests.support.designs import rail


def test_the_graph_takes_angles_in_turns_and_shifts_in_metres():
    kinds = (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC)
    limits = (
        Limits(-math.pi / 2, math.pi, 2.0, 3.0),
        Limits(-math.inf, math.inf, 2.0, 3.0),
        Limits(-0.5, 1.0, 2.0, 3.0),
    )
    robot = rail(3)
    robot = robot.with_bodies(
        replace(body, joint=replace(body.joint, kind=kind, limits=(limit,)))
        for body, kind, limit in zip(robot.bodies, kinds, limits, strict=True)
    )
    ranges = graph_ranges(robot, input_domain(robot, Overrides(fext=ForceBounds(force=4.0))), (1,))
    assert [ranges[f"q[{i}]"] for i in range(3)] == [
        InputRange(-0.25, 0.5, "turn"),
        InputRange(-0.5, 0.5, "turn", wraps=True),
        InputRange(-0.5, 1.0, "m"),
    ]
    units = [[ranges[f"{array}[{i}]"].unit for array in ("v", "a", "tau")] for i in (0, 2)]
    assert units == [["rad/s", "rad/s^2", "Nm"], ["m/s", "m/s^2", "N"]]
    wrench = [ranges[f"fext[1,{k}]"] for k in range(6)]
    assert wrench == [InputRange(-4.0, 4.0, "N")] * 3 + [InputRange(-0.4, 0.4, "Nm")] * 3
    assert not any(name.startswith(("fext[0", "fext[2")) for name in ranges)
    arrays = {"q": np.array([[math.pi, -math.pi / 2, 0.3]]), "v": np.array([[1.0, 2.0, 3.0]])}
    inputs = graph_inputs(robot, arrays)
    assert [float(inputs[f"q[{i}]"][0]) for i in range(3)] == [0.5, -0.25, 0.3]
    assert [float(inputs[f"v[{i}]"][0]) for i in range(3)] == [1.0, 2.0, 3.0]
    assert set(inputs) == {f"{array}[{i}]" for array in "qv" for i in range(3)}
