"""Solutions of robots with floating and spherical joints: the hardware answers as the model, bit for bit."""

import pytest

from rbdhw.robot.model import JointKind
from rbdhw.solving import Solved
from tests.cores.solver.test_commands import Script, planned, simulation
from tests.support.fixed_solvers import solver_problem
from tests.support.floating_robots import two_legs
from tests.support.marks import long
from tests.support.mechanisms import mechanism


def walker(_name):
    return two_legs()


def shoulder(_name):
    return mechanism([JointKind.REVOLUTE, JointKind.SPHERICAL], [-1, 0], 4)


def away(problem, joint):
    """Return the same problem with the other sign of a quaternion, which is the same orientation."""
    q = problem["q"].copy()
    q[joint] *= -1.0
    return problem | {"q": q}


@pytest.mark.parametrize(("make", "quaternion"), [(walker, slice(3, 7)), long(shoulder, slice(1, 5))])
def test_solutions_of_wide_joints(make, quaternion):
    options = {"make": make, "width": 27}
    model = planned(**options).accelerator
    script, one, other = Script(model), *(solver_problem(model, 3, seed) for seed in (1, 2))
    script.goal(one)
    _, solved = script.solve(one, 2, extended=True)
    assert solved["solve.solved"][0] == Solved.ITERATIONS
    script.plan()
    _, near = script.solve(away(one, quaternion), 1, follow=0, extended=True)
    script.goal(other)
    script.others(3, 1)
    script.solve(other, 3, extended=True)
    script.plan()
    script.solve(away(other, quaternion), 1, follow=1)
    script.plan()
    script.check(simulation(**options), pause=0.2, back_pressure=0.3, seed=3)
    assert near["solve.cost"][0] <= solved["solve.cost"][0] * (1 + 2.0**-14)
