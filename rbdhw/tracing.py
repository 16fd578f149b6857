"""A robot and the functions asked for, traced into one dataflow graph.

Inputs of the graph are named after the arrays of the user's interface: ``q[0]`` (in turns for an angle,
in metres for a shift), ``v[0]``, ``a[0]``, ``fext[3,5]`` (moment then force). Outputs carry the
function's name in front: ``id.tau[0]``.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbdhw.dynamics.joint import Coordinate, turns
from rbdhw.dynamics.rnea import Wrench, rnea
from rbdhw.graph.graph import Graph
from rbdhw.graph.trace import Recorder
from rbdhw.passes.prune import prune
from rbdhw.robot.model import Robot
from rbdhw.scalar import region

FUNCTIONS = ("id",)
"""The functions that an accelerator can be built for, as the command line names them."""


def trace(robot: Robot, functions: Sequence[str], fext: Sequence[int] = ()) -> Graph:
    """The graph of ``functions`` for a robot whose axes are all z.

    Parameters
    ----------
    fext
        Indices of the bodies that take an external force.
    """
    recorder = Recorder()
    bodies = range(len(robot.bodies))
    q = [_coordinate(recorder, robot, i) for i in bodies]
    with region("decode"):
        v = [recorder.input(f"v[{i}]") for i in bodies]
        a = [recorder.input(f"a[{i}]") for i in bodies]
        wrenches = {i: _wrench(recorder, i) for i in sorted(fext)}
    if "id" in functions:
        for i, tau in enumerate(rnea(robot, q, v, a, wrenches)):
            with region("rnea_backward", i):
                recorder.output(f"id.tau[{i}]", tau)
    return prune(recorder.builder.finish(recorder.outputs))


def _coordinate(recorder: Recorder, robot: Robot, i: int) -> Coordinate:
    joint = robot.bodies[i].joint
    with region("decode"):
        q = recorder.input(f"q[{i}]")
    with region("trigonometry"):
        if joint.kind.rotates:
            cos, sin = recorder.cos_sin(q, turns(joint.offset))
            return Coordinate(cos=cos, sin=sin)
        return Coordinate(shift=q + joint.offset)


def _wrench(recorder: Recorder, i: int) -> Wrench:
    x, y, z, fx, fy, fz = (recorder.input(f"fext[{i},{k}]") for k in range(6))
    return (x, y, z), (fx, fy, fz)
