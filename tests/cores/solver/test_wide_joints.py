"""Solutions of robots with floating and spherical joints: the hardware answers as the model, bit for bit."""

import pytest

from rbdhw.model.solver_session import SolverSession
from rbdhw.robot.model import JointKind
from rbdhw.solving import Solved
from tests.support.fixed_solvers import solver_problem
from tests.support.floating_robots import shoulder, two_legs
from tests.support.marks import long
from tests.support.mechanisms import mechanism
from tests.support.packet_script import accelerator_of
from tests.support.simulation import Simulation
from tests.support.solver_script import Script, planned, simulation
from tests.support.tracking import tracking

KNOTS = 2


def ball(_name):
    return mechanism([JointKind.SPHERICAL], [-1], 4)


def turned(problem, quaternion):
    """Return the same problem with the other sign of a quaternion, which is the same orientation."""
    q = problem["q"].copy()
    q[quaternion] *= -1.0
    return problem | {"q": q}


def tracked(_name):
    return tracking(ball(_name), "b0@0.1:0.2:0.3")


def solver_of(make, **options):
    return planned(make=make, knots=KNOTS, ii=16, **options)


def test_a_joint_of_three_degrees_of_freedom():
    """There are costs of a frame's position, too."""
    plan = solver_of(tracked, samples=64)
    model = plan.accelerator
    script, problem = Script(model), solver_problem(model, KNOTS, 1)
    script.goal(problem)
    _, solved = script.solve(problem, 1)
    assert solved["solve.solved"][0] == Solved.ITERATIONS
    script.solve(turned(problem, slice(0, 4)), 0, follow=0, extended=True)
    script.plan()
    script.check(Simulation(accelerator_of(plan)))


@pytest.mark.parametrize(
    ("make", "quaternion", "options"),
    [
        long(ball, slice(0, 4), {}),
        long(lambda _name: shoulder(), slice(1, 5), {"width": 27}, minutes=4),
        long(lambda _name: two_legs(), slice(3, 7), {"width": 27}, minutes=6),
        long(ball, slice(0, 4), {"problems": 2}, minutes=1),
    ],
)
def test_the_hardware_solves_as_the_model(make, quaternion, options):
    model = solver_of(make, **options).accelerator
    script, one, other = Script(model), *(solver_problem(model, KNOTS, seed) for seed in (1, 2))
    slots = range(script.solver.shape.problems)
    for slot in slots:
        script.goal(one, slot)
    _, solved = script.group(*[(one, 2)] * len(slots), extended=True)
    assert solved["solve.solved"][0] == Solved.ITERATIONS
    script.plans()
    script.group((turned(one, quaternion), 1, 0), extended=True)
    script.goal(other)
    script.others(3, 1)
    script.group((turned(other, quaternion), 2, 1))
    script.plans()
    simulated = simulation(make=make, knots=KNOTS, ii=16, **options)
    script.check(simulated, pause=0.2, back_pressure=0.3, seed=3)


def test_either_sign_of_a_quaternion_is_the_same_orientation():
    """A warm solution follows the plan as well with the other sign of the state that it begins with."""
    model = solver_of(tracked, samples=64).accelerator
    script, problem = Script(model), solver_problem(model, KNOTS, 1)
    answers = []
    for start in (problem, turned(problem, slice(0, 4))):
        script.session = SolverSession(model)
        script.goal(problem)
        _, first = script.solve(problem, 2)
        answers.append(script.solve(start, 1, follow=0, extended=True)[1])
        assert answers[-1]["solve.cost"][0] <= first["solve.cost"][0]
    for name, words in answers[0].items():
        assert abs(int(words[0]) - int(answers[1][name][0])) <= 64
