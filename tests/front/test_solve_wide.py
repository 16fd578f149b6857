"""`solve` of accelerators whose robots have joints of several degrees of freedom: the bits of the model."""

import numpy as np
import pytest

import rbdhw as package
from rbdhw.design.folder import draft_design, read, write
from rbdhw.errors import InputError
from rbdhw.golden import with_unit_quaternions
from rbdhw.model.solver_codec import decode_solution, goal_words, plan_words, task_words
from rbdhw.model.solver_problems import random_problem
from rbdhw.model.solver_session import SolverSession
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import generate
from rbdhw.protocol import GOAL, PLAN, SOLVE
from rbdhw.robots import path
from rbdhw.solving import Solved
from tests.support.exact_solvers import on_one_side
from tests.support.fixed_solvers import fixed_solver, solver_problem
from tests.support.floating_robots import shoulder, two_legs
from tests.support.marks import long

KNOTS = 4

ASKED = ("x_ref", "Q", "R", "tau", "tau_min", "tau_max")
"""The arrays of a problem with which a folder is called, besides its first state and time step."""


@pytest.fixture(scope="module", params=[shoulder, long(two_legs)])
def solver(request):
    return fixed_solver(request.param, KNOTS, 3)


@pytest.fixture(scope="module")
def folder(solver, tmp_path_factory):
    made = tmp_path_factory.mktemp("wide") / "robot"
    write(draft_design(solver.model), made)
    return made


@pytest.fixture
def acc(folder):
    return package.load(folder)


@pytest.fixture
def problem(solver):
    made = solver_problem(solver.model, KNOTS, 3)
    made["x_ref"] = made["x_ref"].copy()
    for q in (made["q"][np.newaxis], made["x_ref"][:, : solver.shape.nq]):
        q[:] = with_unit_quaternions(solver.model.robot, q)
    return made


def solve(acc, problem, **others):
    return acc.solve(problem["q"], problem["v"], problem["h"], **{k: problem[k] for k in ASKED}, **others)


def with_quaternions(solver, problem, factor):
    """Return a problem whose quaternions are multiplied by a factor."""
    q, x_ref = problem["q"].copy(), problem["x_ref"].copy()
    for joint in solver.shape.joints:
        q[list(joint.quaternion)] *= factor
        x_ref[:, list(joint.quaternion)] *= factor
    return problem | {"q": q, "x_ref": x_ref}


class Model:
    """The model of a solver, which answers as a folder does."""

    def __init__(self, solver):
        self.solver, self.session = solver, SolverSession(solver.model)

    def solve(self, problem, iterations, follow=None):
        goal = self.solver.goal(problem)
        self.session.respond(GOAL, goal_words(self.solver, goal))
        _, solved = self.session.respond(SOLVE, task_words(self.solver, problem, iterations, follow))
        _, plan = self.session.respond(PLAN, plan_words(self.solver))
        return decode_solution(self.solver, problem, goal, solved, plan)


def assert_same(one, other):
    """Compare solutions; costs of a first state that is normalised again may differ in their last bit."""
    for name in ("states", "tau", "K", "regularisation", "iterations", "status"):
        np.testing.assert_array_equal(getattr(one, name), other[name], err_msg=name)
    assert float(one.cost) == pytest.approx(float(other["cost"]), rel=1e-14)


@pytest.mark.parametrize("engine", [None, long("numpy")])
def test_a_folder_solves_as_the_model(solver, folder, problem, engine):
    acc, model = package.load(folder, engine), Model(solver)
    problem = on_one_side(solver, problem)
    first = solve(acc, problem, iterations=3)
    assert first.status == Solved.ITERATIONS
    nq, nv = solver.shape.nq, solver.shape.nv
    assert first.states.shape == (KNOTS + 1, nq + nv)
    assert first.K.shape == (KNOTS, nv, 2 * nv)
    assert_same(first, model.solve(problem, 3))
    later = problem | {"q": first.states[1, :nq], "v": first.states[1, nq:]}
    later["q"] = with_unit_quaternions(solver.model.robot, later["q"][np.newaxis])[0]
    expected = model.solve(on_one_side(solver, later, first.states[1]), 1, follow=1)
    for factor in (1.0, -1.0):
        first = solve(acc, problem, iterations=3)
        warm = with_quaternions(solver, later, factor)
        assert_same(solve(acc, warm, iterations=1, warm=first, shift=1), expected)


def test_a_solution_is_near_that_of_double_precision(folder, acc, problem):
    golden = solve(package.load(folder, "golden"), problem, iterations=8)
    solved = solve(acc, problem, iterations=6)
    followed = solve(package.load(folder, "golden"), problem | {"tau": solved.tau}, iterations=0)
    assert golden.status == Solved.CONVERGED
    assert solved.cost == pytest.approx(golden.cost, rel=1e-3)
    assert golden.cost <= followed.cost == pytest.approx(golden.cost, rel=1e-4)
    assert solved.states == pytest.approx(followed.states, abs=1e-4)
    assert pytest.approx(golden.K, abs=0.1) == solved.K


def test_quaternions_come_to_unit_length(solver, acc, problem):
    solution = solve(acc, problem, iterations=2)
    longer = solve(acc, with_quaternions(solver, problem, 1.5), iterations=2)
    np.testing.assert_array_equal(longer.tau, solution.tau)
    (joint,) = solver.shape.joints
    x_ref = problem["x_ref"].copy()
    x_ref[2, list(joint.quaternion)] = 0.0
    with pytest.raises(InputError, match=r"a quaternion of joint .* has length 0; expected unit quaternions"):
        solve(acc, problem | {"x_ref": x_ref})


def test_problems_of_a_batch_have_weights_of_the_tangent_space(solver, acc, problem):
    nv = solver.shape.nv
    weights = np.stack([problem["Q"], 2.0 * problem["Q"]])
    solved = solve(acc, problem | {"Q": weights}, iterations=2)
    assert solved.K.shape == (2, KNOTS, nv, 2 * nv)
    for k in range(2):
        alone = solve(acc, problem | {"Q": weights[k]}, iterations=2)
        np.testing.assert_array_equal(solved.K[k], alone.K)
    with pytest.raises(InputError, match=rf"array 'Q': shape .*; expected \({KNOTS + 1}, {2 * nv}\)"):
        solve(acc, problem | {"Q": np.ones((KNOTS + 1, len(problem["x_ref"][0])))})


INERTIAL = """<link name="base"><inertial>
    <origin xyz="0.02 0 1"/><mass value="4"/>
    <inertia ixx="0.05" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.07"/>
  </inertial></link>"""


@pytest.mark.verify(minutes=4)
@pytest.mark.timeout(1800)
def test_engines_agree_bit_for_bit(tmp_path):
    """A floating toy with a heavy base: a warm solution begins with the other sign of its quaternion."""
    urdf, folder = tmp_path / "hopper.urdf", tmp_path / "hopper"
    urdf.write_text(path("toy").read_text().replace('<link name="base"/>', INERTIAL))
    sizes = {"width": 27, "ii": 8, "knots": KNOTS, "alphas": 2, "iterations": 8, "samples": 256}
    write(generate(urdf, BuildOptions(("solve",), mounting=Mounting("floating"), **sizes)), folder)
    design = read(folder)
    problem = random_problem(design.robot, design.domain, KNOTS, 0.01, 5) | {"v": np.zeros(8)}

    def solved(engine):
        acc = package.load(folder, engine)
        first = solve(acc, problem, iterations=3)
        q, v = np.split(first.states[1], [9])
        q[3:7] *= -1.0
        return first, solve(acc, problem | {"q": q, "v": v}, iterations=1, warm=first, shift=1)

    expected = solved(None)
    assert expected[1].followed
    assert expected[1].cost < expected[0].cost
    for engine in ("numpy", "driver", "rtl"):
        for one, other in zip(solved(engine), expected, strict=True):
            for name in one._fields:
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_a_folder_that_is_read_has_the_forces_that_change(solver, folder):
    assert read(folder).interface.solver.forces == solver.shape.forces
