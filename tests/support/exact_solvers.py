"""The bit-exact solver in C beside its model, and problems that end in every way."""

import ctypes

import numpy as np

from rbdhw.explore.solver import solver_model
from rbdhw.golden import with_unit_quaternions
from rbdhw.golden.evaluation import evaluate
from rbdhw.golden.kinematics import placements
from rbdhw.model.fixed_solver import FixedSolver
from rbdhw.model.solver_codec import decode_solution, goal_words, plan_words, task_words
from rbdhw.model.solver_session import SolverSession
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import plan_build
from rbdhw.protocol import FORCE_LIMITS, GOAL, PLAN, SOLVE
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.software.exact_library import ExactSolver
from rbdhw.solving import Solved
from tests.support.bit_exact import assert_same_bits, draw_words
from tests.support.fixed_solvers import fixed_solver, solver_problem, with_close_limits
from tests.support.remembered import remembered

KNOTS, ALPHAS = 6, 4


@remembered
def fixed(number="fixed", time_step=None, together=1, blocks=1):
    """Return a small solver of the toy, of so many problems ``together``, or with a sweep in blocks."""
    sizes = {"together": together, "blocks": blocks}
    return fixed_solver("toy", KNOTS, ALPHAS, number=number, time_step=time_step, **sizes)


def solver_of(robot, knots, blocks=1):
    """Return the solver of a build for any robot."""
    options = BuildOptions(("step", "dstep"), width=27, ii=4, samples=256)
    solver = BuildOptions(("solve",), knots=knots, alphas=2, iterations=8, blocks=blocks)
    return FixedSolver(solver_model(plan_build(robot, options).accelerator, solver))


def across_half_a_turn(folder, blocks=1, before=0.05):
    """Return a solver of the toy without limits, and a problem whose goal is behind half a turn.

    It begins so many radians ``before``.
    """
    (folder / "turning.urdf").write_text(path("toy").read_text().replace("revolute", "continuous"))
    robot = load_urdf(folder / "turning.urdf")
    solver = solver_of(robot, KNOTS, blocks)
    assert solver.model.domain.wraps == (True, True)
    q, still = np.array([np.pi - before, 0.3]), np.zeros(2)
    held = evaluate(robot, "id", {"q": q[np.newaxis], "v": still[np.newaxis], "a": still[np.newaxis]})["tau"]
    problem = problem_of(solver, 0)
    problem |= {"q": q, "v": still, "h": np.array(0.02), "tau": np.tile(held, (KNOTS, 1))}
    problem["x_ref"] = np.tile([0.05 - np.pi, 0.3, 0.0, 0.0], (KNOTS + 1, 1))
    return solver, problem


class Both:
    """The solver in C and its model, which have the same packets and are to give the same answers."""

    def __init__(self, solver, flags=()):
        self.solver, self.knots = solver, solver.shape.knots
        self.exact, self.session = ExactSolver(solver.model, flags), SolverSession(solver.model)

    def send(self, command, words, extended=False):
        """Send packets with words (N,); return their statuses and the words of their answers."""
        answer = self.exact.respond(command, words, extended)
        assert_same_bits(answer, self.session.respond(command, words, extended))
        return answer

    def solve(self, problem, iterations, follow=None, goal=(), task=()):
        """Load a goal and solve, with some words in place of a problem's; return the words of the answer."""
        rows = goal_words(self.solver, self.solver.goal(problem))
        self.send(GOAL, rows | {name: np.full(self.knots, word) for name, word in dict(goal).items()})
        return self.solve_last(problem, iterations, follow, task)

    def solve_last(self, problem, iterations, follow=None, task=()):
        words = task_words(self.solver, problem, iterations, follow)
        words |= {name: np.array([word]) for name, word in dict(task).items()}
        _, answer = self.send(SOLVE, words, extended=True)
        self.send(PLAN, plan_words(self.solver))
        return {name.partition(".")[2]: int(numbers[0]) for name, numbers in answer.items()}


def problem_of(solver, seed):
    """Return a random problem, with closer limits of the forces if the seed is odd."""
    problem = solver_problem(solver.model, solver.shape.knots, seed)
    problem = with_close_limits(problem, 0.02) if seed % 2 else problem
    return problem | {"tau_ref": problem["tau"] * np.linspace(0.2, 0.9, solver.shape.knots)[:, np.newaxis]}


def uphill(solver, seed, speed):
    """Return a problem and words of its goal: the robot moves towards it, and slopes lead to rest."""
    problem, shape = problem_of(solver, seed), solver.shape
    angles = len(shape.state) // 2
    problem["v"] = speed * np.sign(problem["x_ref"][0, :angles] - problem["q"])
    costless = {term.weight: 0 for term in shape.terms[angles:]}
    return problem, costless | {each.name: 0 for each in shape.slopes[:angles]}


def check_loop(both, seed, iterations):
    """Compare solutions from rest, which follow one another by several shifts, with two goals."""
    first, second = (problem_of(both.solver, 10 * seed + k) for k in range(2))
    for problem in (first, second):
        problem["v"] = np.zeros_like(problem["v"])
    answer = both.solve(first, iterations)
    assert (answer["solved"], answer["iterations"]) == (Solved.ITERATIONS, iterations)
    assert any(word for name, word in answer.items() if name.startswith("K["))
    assert answer["followed"] == 0
    assert both.solve_last(first, 2, follow=seed)["followed"] == 1
    followed = both.solve(second, 1, follow=both.knots - 1)
    assert followed["cost"] != both.solve_last(second, 1)["cost"]


def check_ends(both):
    """Compare solutions that end in every way."""
    problem, shape = problem_of(both.solver, 0), both.solver.shape
    both.solve(problem, 3)
    fast = next(word for word in shape.step.inputs if word.name == "v[0]")
    beyond = {"v[0]": fast.highest + 1}
    for follow, taken in ((0, 0), (None, 9)):
        answer = both.solve_last(problem, 255, follow, beyond)
        assert (answer["solved"], answer["iterations"]) == (Solved.NOT_FINITE, taken)
    both.solve_last(problem, 1)
    assert both.solve_last(problem, 3, follow=0, task=beyond)["solved"] == Solved.NOT_FINITE
    after = both.solve_last(problem, 2, follow=1)  # that solution has no policy, so forces are held
    assert after == both.solve_last(problem, 2)
    assert after["followed"] == 0
    both.solve_last(problem, 0)
    after = both.solve_last(problem, 1, follow=0)
    assert after["followed"] == 0  # one without iterations has no policy, either
    steep = {each.name: each.format.highest for each in shape.slopes if each is not None}
    assert both.solve(problem, 4, goal=steep)["solved"] == Solved.INDEFINITE
    if not shape.joints:  # of whose coordinates the goal has no slopes
        check_stall(both)


def check_stall(both):
    """Compare solutions of which the last finds no cheaper trajectory."""
    problem, goal = uphill(both.solver, 0, 0.1)
    both.solve(problem, 1)
    answer = both.solve(problem, 255, follow=0, goal=goal)
    assert (answer["solved"], answer["iterations"]) == (Solved.STALLED, 9)
    assert answer["regularisation"] > 0
    problem["v"] = np.append(-10.0 * problem["v"][:-1], 0.0)  # away from the goal: it costs more than rest
    both.solve(problem, 1, goal=goal)


def check_any(both, seed):
    """Compare answers to random packets: weights do not belong together, and words exceed their bounds.

    Only the limits of forces are in order, and quaternions of tasks have unit length.
    """
    model = both.solver.model
    slots = range(both.solver.shape.problems)
    for slot in slots:
        rows = draw_words(model, GOAL, False, both.knots, seed + 100 * slot) | {
            "row": np.arange(both.knots),
            "problem": np.full(both.knots, slot),
        }
        for least, most in both.solver.shape.limits_of_forces:
            rows[least.name], rows[most.name] = np.sort([rows[least.name], rows[most.name]], axis=0)
        both.send(GOAL, rows)
    for name, words in draw_words(model, SOLVE, False, 12, seed).items():
        rows[name] = words
    both.send(SOLVE, with_directions(both.solver, rows), extended=True)
    for slot in (*slots, -1, len(slots)):
        both.send(PLAN, {"row": np.arange(-1, both.knots + 3), "problem": np.full(both.knots + 4, slot)})


def with_directions(solver, words):
    """Return words (N,) of tasks whose quaternions have unit length."""
    of_unit, known = dict(words), {word.name: word for word in solver.shape.step.inputs}
    for joint in solver.shape.joints:
        names = [f"q[{k}]" for k in joint.quaternion]
        q = np.stack([known[name].format.real(words[name]) for name in names])
        for name, numbers in zip(names, q / np.linalg.norm(q, axis=0), strict=True):
            of_unit[name] = known[name].format.quantise(numbers)
    return of_unit


POSITIONS = ("placement_ref", "position_weight", "position")
"""The arrays of frames' positions, which are the last, so that others do not read them."""


def _pointers(*names, **others):
    return [*((name, ctypes.c_void_p) for name in names), *others.items()]


def _problem_type(numbers):
    """Return the structure of a problem with numbers of these types."""
    names = ("x_ref", "Q", "R", "tau", "tau_ref", *FORCE_LIMITS, *POSITIONS)
    fields = [*_pointers("q", "v", **numbers), *_pointers(*names)]
    return type("Problem", (ctypes.Structure,), {"_fields_": fields})


class _Solution(ctypes.Structure):
    _fields_ = _pointers("states", "tau", "K", "cost", "regularisation", "iterations", "followed")


def solve_arrays(exact, problem, iterations, follow=None, takes=("h",)):
    """Return how a problem in arrays ends by the function in C, and the arrays of its solution.

    ``takes`` is empty if the time step is fixed.
    """
    names = ("q", "v", "x_ref", "Q", "R", "tau_ref", *FORCE_LIMITS, *POSITIONS)
    given = {name: np.ascontiguousarray(problem[name]) for name in names if name in problem}
    given["tau"] = np.ascontiguousarray(problem["tau"][0])
    (steps, nv), size = problem["R"].shape, problem["x_ref"].shape[1]
    shapes = {"states": (steps + 1, size), "tau": (steps, nv), "K": (steps, nv, 2 * nv)}
    arrays = {name: np.full(shape, np.nan) for name, shape in shapes.items()}
    arrays |= {
        "cost": np.array(np.nan),
        "regularisation": np.array(np.nan),
        **{name: np.array(-1, np.int32) for name in ("iterations", "followed")},
    }
    numbers = {name: float(problem[name]) for name in takes}
    pointers = {name: array.ctypes.data for name, array in given.items()}
    asked = _problem_type(dict.fromkeys(takes, ctypes.c_double))(**numbers, **pointers)
    written = _Solution(**{name: array.ctypes.data for name, array in arrays.items()})
    warm, shift = int(follow is not None), follow or 0
    call = exact.library.rbdhw_solve
    end = call(exact.memory, ctypes.byref(asked), iterations, warm, shift, ctypes.byref(written))
    return end, arrays


def moving_goal(solver, x_ref):
    """Return references (N + 1, nq + nv) that differ from knot to knot, every third with other quaternions.

    These are the negatives, the same orientations.
    """
    moving, nq = x_ref * np.linspace(1.0, 0.8, len(x_ref))[:, np.newaxis], solver.shape.nq
    moving[:, :nq] = with_unit_quaternions(solver.model.robot, moving[:, :nq])
    for joint in solver.shape.joints:
        moving[::3, list(joint.quaternion)] *= -1.0
    return moving


def moving_positions(solver, problem):
    """Return arrays of frames' positions that differ from knot to knot, and the positions in the first state.

    One reference that is far away has no weight.
    """
    steps, robot = np.linspace(0.0, 1.0, solver.shape.knots + 1), solver.model.robot
    poses = problem["placement_ref"] + 0.02 * steps[:, np.newaxis, np.newaxis, np.newaxis]
    weights = problem["position_weight"] * (0.5 + steps)[:, np.newaxis, np.newaxis]
    poses[2, 0, 0, 3], weights[2, 0, 0] = 1e6, 0.0
    first = placements(robot, problem["q"][np.newaxis])[0, :, :3, 3]
    return dict(zip(POSITIONS, (poses, weights, first), strict=True))


def on_one_side(solver, problem, state=None):
    """Return the same problem with quaternions near to those of a state, and each reference to the last one.

    Without a state the first quaternions stay.
    """
    q, x_ref = problem["q"].copy(), problem["x_ref"].copy()
    for joint in solver.shape.joints:
        part = list(joint.quaternion)
        before = q[part] if state is None else state[part]
        for row in (q, *x_ref):
            row[part] *= -1.0 if row[part] @ before < 0.0 else 1.0
            before = row[part]
    return problem | {"q": q, "x_ref": x_ref}


def check_arrays(solver):
    """Compare solutions of problems in arrays with those of the model, converted by Python."""
    exact, session, knots = ExactSolver(solver.model), SolverSession(solver.model), solver.shape.knots
    takes, last = () if solver.shape.time_word is None else ("h",), None
    most = 0.0 if solver.shape.nv < 4 else 1e-14  # NumPy adds eight numbers or more in another order
    for seed, (iterations, follow) in enumerate([(3, None), (1, 2), (0, 0), (2, None), (4, knots - 1)]):
        problem = problem_of(solver, seed)
        problem["q"] = problem["q"] + 2.0 * np.pi * np.array(solver.model.domain.wraps)
        problem["Q"] *= np.linspace(0.5, 1.5, knots + 1)[:, np.newaxis]
        problem["x_ref"] = moving_goal(solver, problem["x_ref"])
        problem |= moving_positions(solver, problem) if solver.shape.tracked else {}
        asked = problem
        problem = on_one_side(solver, asked, None if follow is None else last[follow])
        goal = solver.goal(problem)
        session.respond(GOAL, goal_words(solver, goal))
        _, solved = session.respond(SOLVE, task_words(solver, problem, iterations, follow))
        _, plan = session.respond(PLAN, plan_words(solver))
        expected = decode_solution(solver, problem, goal, solved, plan)
        last = expected["states"]
        end, arrays = solve_arrays(exact, asked, iterations, follow, takes)
        assert end == expected["status"]
        np.testing.assert_allclose(arrays.pop("cost"), expected["cost"], most)
        for name, array in arrays.items():
            np.testing.assert_array_equal(array, expected[name], err_msg=name)
