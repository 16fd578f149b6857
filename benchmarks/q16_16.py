"""The best algorithms in uniform Q16.16 (`rbdhw.control.uniform`), for comparison with formats by signal."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.control.uniform import chunks, evaluate_uniform
from rbdhw.fixed.format import Format
from rbdhw.frontend.algorithms import NEEDED_BY
from rbdhw.frontend.alternatives import DEFAULT, Algorithms
from rbdhw.golden.error_norm import function_errors
from rbdhw.options.algorithms import ALGORITHMS
from rbdhw.robot.model import Robot

Array = NDArray[np.float64]

Q16_16 = Format(32, 16)

TRIALS = 256
"""Tasks for the comparison of algorithms."""


def uniform_errors(
    source: Robot, robot: Robot, function: str, arrays: Mapping[str, Array], floors: Mapping[str, float]
) -> tuple[dict[str, Array], NDArray[np.bool_]]:
    """Return relative errors (tasks,) of the best algorithms against golden, and which tasks overflowed.

    The errors are by result. See :func:`rbdhw.control.uniform.evaluate_uniform` and
    :func:`rbdhw.golden.error_norm.function_errors` for the parameters.
    """
    reference = golden.evaluate(source, function, arrays)
    algorithms = best_algorithms(source, robot, function, arrays, reference, floors)
    results, overflow = evaluate_uniform(source, robot, function, arrays, algorithms, Q16_16)
    return function_errors(source, function, arrays, results, reference, floors), overflow


def best_algorithms(
    source: Robot,
    robot: Robot,
    function: str,
    arrays: Mapping[str, Array],
    reference: Mapping[str, Array],
    floors: Mapping[str, float],
) -> Algorithms:
    """Return the algorithms with the least median error in the first :data:`TRIALS` tasks.

    The error of a task is that of its worst result, and infinite if the task overflows. ``reference`` has the
    golden results of the tasks.
    """
    first, right = (next(chunks(part, TRIALS)) for part in (arrays, reference))

    def median(algorithms: Algorithms) -> float:
        results, overflow = evaluate_uniform(source, robot, function, first, algorithms, Q16_16)
        errors = function_errors(source, function, first, results, right, floors)
        return float(np.median(np.where(overflow, np.inf, np.max([*errors.values()], axis=0))))

    return min(combinations(robot, function), key=median)


def combinations(robot: Robot, function: str) -> list[Algorithms]:
    """Return all combinations of algorithms that compute a function of a robot.

    Propagation and constraint forces need no inverse, so they are combined with the default one only.
    """
    names = [
        alternatives if function in NEEDED_BY[step] else alternatives[:1]
        for step, alternatives in ALGORITHMS.items()
    ]
    every = (Algorithms(**dict(zip(ALGORITHMS, chosen, strict=True))) for chosen in product(*names))
    possible = [algorithms for algorithms in every if algorithms.possible_for(robot)]
    plain = DEFAULT.inverse, DEFAULT.products
    return [
        algorithms
        for algorithms in possible
        if algorithms.forward == "inverse" or (algorithms.inverse, algorithms.products) == plain
    ]
