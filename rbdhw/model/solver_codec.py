"""Problems and solutions of an accelerator that solves, in the arrays of the user's interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import WordName
from rbdhw.errors import InputError
from rbdhw.fixed.angles import TURN
from rbdhw.fixed.cost import HALF, CostTerm
from rbdhw.fixed.format import Integers
from rbdhw.fixed.program import Word
from rbdhw.fixed.solver import SolverShape
from rbdhw.fixed.wide_state import WideState
from rbdhw.golden.kinematics import placements
from rbdhw.golden.rollout import errors_of
from rbdhw.model.fixed_solver import FixedSolver
from rbdhw.model.responses import Words
from rbdhw.model.rollouts.positions import REFERENCE, WEIGHT
from rbdhw.model.solver_goal import Goal
from rbdhw.protocol import PLAN, SOLVE

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """A problem that is to be solved with so many iterations at most.

    With ``follow`` it begins with the last solution of its slot, so many steps later.
    """

    problem: Mapping[str, Array]
    iterations: int
    follow: int | None = None


def goal_words(solver: FixedSolver, goal: Goal, slot: int = 0) -> dict[str, Integers]:
    """Return the words (N,) of the packets that load a goal into a slot."""
    return {**goal.rows, **_rows(solver, solver.shape.knots, slot)}


def plan_words(solver: FixedSolver, slot: int = 0) -> dict[str, Integers]:
    """Return the words (N + 1,) of the packets that read all knots of the last solution of a slot."""
    return _rows(solver, solver.shape.knots + 1, slot)


def _rows(solver: FixedSolver, count: int, slot: int) -> dict[str, Integers]:
    """Return the words of so many rows; those of builds of one problem name no slot."""
    several = solver.shape.problems > 1
    return {"row": np.arange(count)} | ({"problem": np.full(count, slot)} if several else {})


def group_words(solver: FixedSolver, group: Sequence[Asked]) -> dict[str, Integers]:
    """Return the words (problems,) of the packets that ask for the solutions of a group, slot after slot.

    Raises InputError as :func:`task_words`.
    """
    tasks = [task_words(solver, asked.problem, asked.iterations, asked.follow) for asked in group]
    if solver.shape.problems > 1:
        for k, task in enumerate(tasks):
            task |= {"more": np.array([int(k + 1 < len(tasks))]), "problem": np.array([k])}
    return joined(tasks)


def joined(packets: Sequence[Words]) -> dict[str, Integers]:
    """Return the words (N,) of packets of one command, one after the other."""
    return {name: np.concatenate([words[name] for words in packets]) for name in packets[0]}


def task_words(
    solver: FixedSolver, problem: Mapping[str, Array], iterations: int, follow: int | None
) -> dict[str, Integers]:
    """Return the words (1,) of a packet that asks for the solution of a problem, the only one of its group.

    With ``follow`` it begins with the last solution, so many steps later. Raises InputError for more
    iterations or a larger shift than the accelerator has, and if the first forces are not held.
    """
    shape, tau = solver.shape, problem["tau"]
    if not 0 <= iterations <= shape.iterations:
        remedy = "generate with a larger --iterations"
        raise InputError("iterations", str(iterations), f"0 to {shape.iterations}", remedy)
    if follow is not None and not 0 <= follow < shape.knots:
        raise InputError("shift", f"{follow} steps", f"0 to {shape.knots - 1}")
    if np.any(tau != tau[0]) or np.any(problem["K"]):
        expected = "the same forces in all steps, without K, or warm"
        raise InputError("arrays 'tau' and 'K'", "are those of a trajectory", expected)
    words = solver.task(problem, tau[0])
    words |= {"iterations": iterations, "warm": int(follow is not None), "shift": follow or 0}
    words |= {"more": 0, "problem": 0} if shape.problems > 1 else {}
    return {name: np.array([number], np.int64) for name, number in words.items()}


def decode_solution(
    solver: FixedSolver, problem: Mapping[str, Array], goal: Goal, solved: Words, plan: Words
) -> dict[str, NDArray[Any]]:
    """Return the solution of a problem (:data:`rbdhw.arrays.SOLVE_OUTPUTS`) from the words of answers.

    ``solved`` (1,) are those to ``solve``, and ``plan`` (N + 1,) those to ``plan``. The cost is that of
    the problem in all knots. The expected decrease is not a number: an accelerator does not tell. There is
    also whether the solution ``followed`` the one before.
    """
    interface, shape = solver.model.interface, solver.shape
    knots, size = shape.knots, len(shape.state)
    states, tau = np.zeros((knots + 1, size)), np.zeros((knots + 1, shape.nv))
    K = np.zeros((knots + 1, shape.nv, size))
    angles = [term.word.unit == "turn" for term in shape.followed]
    for word in interface.outputs(PLAN):
        name, real = WordName.parse(word.name), word.format.real(plan[word.name])
        if name.array == "x":
            states[:, name.index[0]] = real * (TURN if angles[name.index[0]] else 1.0)
        elif name.array == "tau":
            tau[:, name.index[0]] = real
        else:
            i, j = name.index
            K[:, i, j] = real / (TURN if angles[j] else 1.0)
    numbers = {name: _number(interface.outputs(SOLVE), solved, name) for name in _NUMBERS}
    behind = HALF * goal.unit * numbers["cost"]
    first = np.sum(problem["Q"][0] * _first_difference(solver, problem) ** 2)
    first += _of_first_positions(solver, problem)
    return {
        "states": states,
        "tau": tau[:-1],
        "K": _tangent_gains(shape, states[:-1], K[:-1]),
        "cost": np.array(behind + HALF * first),
        "decrease": np.array(np.nan),
        "regularisation": np.array(numbers["regularisation"]),
        "iterations": np.array(int(numbers["iterations"])),
        "status": np.array(int(numbers["solved"])),
        "followed": np.array(numbers["followed"] == 1.0),
    }


def _first_difference(solver: FixedSolver, problem: Mapping[str, Array]) -> Array:
    """Return the difference (2 nv,) of the first state from its reference."""
    first, reference = np.hstack([problem["q"], problem["v"]]), problem["x_ref"][0]
    errors, shape = errors_of(first, reference, np.array(solver.model.domain.wraps)), solver.shape
    return _in_tangent_space(
        shape, errors, lambda joint: joint.differences_of(reference[np.newaxis], errors[np.newaxis])[0]
    )


def _of_first_positions(solver: FixedSolver, problem: Mapping[str, Array]) -> float:
    """Return twice the cost of the positions of frames in the first state."""
    if not solver.shape.tracked or WEIGHT not in problem:
        return 0.0
    (placed,) = placements(solver.model.robot, problem["q"][np.newaxis])
    error = (placed - problem[REFERENCE][0])[:, :3, 3]
    return float(np.sum(problem[WEIGHT][0] * error**2))


def _tangent_gains(shape: SolverShape, states: Array, gains: Array) -> Array:
    """Return the gains (N, nv, 2 nv) of differences from those (N, nv, nq + nv) of elements of the state."""
    return _in_tangent_space(shape, gains, lambda joint: joint.gains_of(states, gains))


def _in_tangent_space(
    shape: SolverShape, of_elements: Array, of_joint: Callable[[WideState], Array]
) -> Array:
    """Return numbers (..., 2 nv) of coordinates from those (..., nq + nv) of elements of the state.

    ``of_joint`` returns those (..., nv_i) of a joint of several degrees of freedom.
    """
    columns = [cost.element if isinstance(cost, CostTerm) else 0 for cost in shape.costs[: 2 * shape.nv]]
    numbers = of_elements[..., columns]
    for joint in shape.wide:
        numbers[..., joint.joint.rates] = of_joint(joint)
    return numbers


_NUMBERS = ("cost", "iterations", "regularisation", "solved", "followed")


def _number(words: tuple[Word, ...], solved: Words, name: str) -> float:
    word = next(word for word in words if word.array == name)
    return float(word.format.real(solved[word.name])[0])
