"""Proven errors of the results of functions, in the norms in which errors are measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.arrays import WordName
from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.errors import InputError
from rbdhw.fixed.backward import BackwardErrors, backward_errors
from rbdhw.fixed.program import Program
from rbdhw.fixed.proof import SUMMED, prove
from rbdhw.golden.error_norm import parts_of
from rbdhw.protocol import CERTIFIED, FUNCTIONS, flag_values
from rbdhw.quantize.observation import Observed
from rbdhw.robot.model import Robot

Array = NDArray[np.float64]

FORWARD_DYNAMICS = "fd"

RECOGNISED = 16
"""Tasks by whose numbers the steps of a factorization are found in the graph."""


@dataclass(frozen=True)
class Proven:
    """A bound of the error of a part of a function's results, in every unflagged task of the domain."""

    absolute: float
    """The Frobenius norm of the error, in the units of the results."""
    relative: float
    """The same over the floor of the result: the error as it is measured is no larger."""
    node: int
    """The node whose rounding adds most to it."""


def prove_results(observed: Observed, program: Program, function: str) -> dict[str, Proven]:
    """Return the proven errors of a function by part of its results; none if only backward errors are proven.

    Raises
    ------
    InputError
        The function has no proof.
    """
    proof = prove(observed.graph, program, function)
    if proof is None:
        if prove_backward(observed, program, function) is None:
            raise no_proof(function)
        return {}
    edges = {WordName.parse(name): edge for name, edge in observed.graph.outputs}
    proven = {}
    for part in parts_of(observed.model.source, function):
        words = [word for word in edges if word in part]
        bounds = {word: math.ldexp(proof.errors[edges[word].node], edges[word].shift) for word in words}
        squares = sum((1 if word.mirror in edges else 2) * bounds[word] ** 2 for word in words)
        absolute = SUMMED * math.sqrt(squares)
        floor = observed.trials.floors[str(part)]
        worst = max(words, key=bounds.__getitem__, default=None)
        node = 0 if worst is None else proof.limits[edges[worst].node]
        proven[part.result] = Proven(absolute, SUMMED * absolute / floor, node)
    return proven


def prove_backward(observed: Observed, program: Program, function: str) -> BackwardErrors | None:
    """Return proven backward errors of forward dynamics; None if it has none, or for other functions."""
    if function != FORWARD_DYNAMICS:
        return None
    robot = observed.model.source
    tasks = {name: array[:RECOGNISED] for name, array in observed.trials.tasks.of(function).items()}
    M = golden.evaluate(robot, "m", tasks)["M"]
    bias = proper_bias(robot, tasks)
    inputs = dict.fromkeys(observed.graph.inputs, np.zeros(RECOGNISED)) | graph_inputs(robot, tasks)
    inputs |= {name: np.asarray(float(on)) for name, on in flag_values(function, extended=False).items()}
    return backward_errors(observed.graph, program, function, inputs, M, tasks["tau"] - bias)


def proper_bias(robot: Robot, tasks: Mapping[str, Array]) -> Array:
    """Return the forces (N, nv) at which nothing accelerates, on a floating base in the proper sense.

    See :mod:`rbdhw.dynamics.floating_base`.
    """
    if robot.floats:
        robot = replace(robot, gravity=(0.0, 0.0, 0.0))
        tasks = {**tasks, "v": np.where(np.arange(robot.nv) < 3, 0.0, tasks["v"])}
    return golden.evaluate(robot, "bias", tasks)["tau"]


def no_proof(function: str) -> InputError:
    """Return the refusal of a function that has no proof, with what tells of its errors instead."""
    instead = "--confidence" + ", or certify=True for single answers" * (function in CERTIFIED)
    if function == FORWARD_DYNAMICS:
        instead += ", or --algorithm inverse=single_pivots --algorithm products=solves for backward errors"
    return InputError(
        "prove",
        f"the errors of {function} have no proof: it divides by what tasks bring",
        f"functions such as {', '.join(name for name in ('id', 'm', 'did', 'kin') if name in FUNCTIONS)}",
        f"use {instead}",
    )
