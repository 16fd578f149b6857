"""The words of a goal of an accelerator that solves: references, weights and limits of each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import WordName
from rbdhw.errors import InputError
from rbdhw.fixed.angles import TURN
from rbdhw.fixed.cost import CostTerm
from rbdhw.fixed.format import Format, Integers
from rbdhw.fixed.solver import SolverShape
from rbdhw.fixed.wide_state import CoordinateDifference
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.packets import convert, encode
from rbdhw.model.responses import Words
from rbdhw.model.rollouts.positions import REFERENCE, WEIGHT, check_range
from rbdhw.model.rollouts.rows import nearest
from rbdhw.protocol import CONTACT, FORCE_LIMITS, GOAL

Array = NDArray[np.float64]

NOT_TAKEN = ("limit_weight", "orientation_weight", "momentum_weight", CONTACT)
"""The arrays of a problem, other than bounds of forces, for which accelerators have no words."""


@dataclass(frozen=True)
class Goal:
    """The words of a goal, those of a row for each step (N,), and the cost ``unit`` that counts as one.

    A row has the references ``x_ref`` of the state after the step, ``p_ref`` of the positions of frames there
    and ``tau_ref`` of the step's forces, and the weights, slopes and curvatures of these.
    """

    rows: Words
    unit: float = 1.0


def goal_of(model: AcceleratorModel, problem: Mapping[str, Array]) -> Goal:
    """Return the words of a problem's ``x_ref`` (N + 1, nq + nv), ``Q`` (N + 1, 2 nv) and ``R`` (N, nv).

    ``tau_ref`` (N, nv) is zero by default. If frames are tracked, there may be ``placement_ref`` (N + 1,
    frames, 4, 4) and ``position_weight`` (N + 1, frames, 3). The first rows of all but ``R`` and ``tau_ref``
    count for nothing. Weights are those that the words of their roots have. Raises InputError if the problem
    has other costs or contacts; if a weight is negative, or too large for the formats of the sweep; or if a
    reference that counts is outside the domain, or a position beyond its format.
    """
    shape = _shape(model)
    check_problem(problem, "a solver on words", ("W",) if shape.tracked else ("W", WEIGHT))
    weights = np.hstack([problem["Q"][1:], _position_weights(shape, problem), problem["R"]])
    if not np.all(weights >= 0.0):
        raise InputError("weights", "one is negative or not a number", "at least zero")
    rows = _references(model, problem, weights) | _coefficients(shape, problem)
    units = np.array([_unit(cost) for cost in shape.costs])
    largest = np.array([4.0**cost.exponent for cost in shape.costs])
    unit = float(np.max(weights * units**2 * largest)) or 1.0
    for k, cost in enumerate(shape.costs):
        root = cost.weight_format.quantise(np.sqrt(weights[:, k] / unit) * units[k])
        rows[cost.weight] = root
        exact = np.square(cost.weight_format.real(root) / units[k]) * unit
        rows |= _of_knots(model, problem, k, exact)
    return Goal(rows | _limits(model, problem), unit)


def _shape(model: AcceleratorModel) -> SolverShape:
    assert model.interface.solver is not None
    return model.interface.solver


def _unit(cost: CostTerm | CoordinateDifference) -> float:
    """Return the user's unit in that of a word of the state."""
    return TURN if isinstance(cost, CostTerm) and cost.word.unit == "turn" else 1.0


def _of_knots(
    model: AcceleratorModel, problem: Mapping[str, Array], number: int, weight: Array
) -> dict[str, Integers]:
    """Return the slope and the curvature of a cost whose ``weight`` (N,) a word of a weight has."""
    shape = _shape(model)
    hessian, slope = shape.hessian(number), shape.slopes[number]
    if hessian is None:
        return {}
    rate, rows = _time_step(shape, problem) if shape.is_rate(number) else 1.0, {}
    if slope is not None:
        rows[slope.name] = _fitting(slope.name, slope.format, weight * _unit(shape.costs[number]) / rate)
    word = next(each.word for each in shape.curvatures if each.number == hessian.name)
    curvature = _fitting(word.name, word.format, weight / rate**2)
    if model.interface.converts:  # it may have more bits than a single
        curvature = convert(word, word.format.real(curvature))
    return rows | {word.name: curvature}


def _limits(model: AcceleratorModel, problem: Mapping[str, Array]) -> dict[str, Integers]:
    """Return the words of the limits of forces: the accelerator's own where those are closer."""
    rows, shape = {}, _shape(model)
    for word in shape.limits:
        name = WordName.parse(word.name)
        low, high = (word.format.real(np.array(end)) for end in (word.lowest, word.highest))
        none = (low, high)[FORCE_LIMITS.index(name.array)]
        value = np.clip(problem[name.array][name.index[0]] if name.array in problem else none, low, high)
        number = word.format.quantise(value)
        if model.interface.converts:
            number = convert(word, _single_within(value, low, high))
        rows[word.name] = np.full(shape.knots, number)
    return rows


def _references(model: AcceleratorModel, problem: Mapping[str, Array], weights: Array) -> dict[str, Integers]:
    """Return the words of references, of which one that counts is within its bounds."""
    shape, states = _shape(model), problem["x_ref"][1:]
    forces = problem.get("tau_ref", np.zeros((len(states), shape.nv)))
    words = dict(encoded(model, states[:, : shape.nq], states[:, shape.nq :], forces))
    words |= _positions(model, problem) if shape.tracked else {}
    references = {}
    for k, (term, reference) in enumerate(zip(shape.terms, shape.references, strict=True)):
        word = words[term.word.name]
        limited = word if term.wraps else np.clip(word, term.word.lowest, term.word.highest)
        counts = True if shape.wide else weights[:, k] > 0.0
        outside = np.flatnonzero((limited != word) & counts)
        if len(outside):
            name = WordName.parse(reference)
            row = outside[0] + (name.array != "tau_ref")
            where = f"array '{name.array}', row {row}, element {name.index[0]}"
            expected = "references within the domain, on an accelerator"
            raise InputError(where, "is outside the domain", expected, "widen the domain")
        references[reference] = limited
    return references


def _position_weights(shape: SolverShape, problem: Mapping[str, Array]) -> Array:
    """Return the weights (N, tracked) of positions, zero by default."""
    none = np.zeros((shape.knots, len(shape.tracked)))
    return problem[WEIGHT][1:].reshape(none.shape) if shape.tracked and WEIGHT in problem else none


def _positions(model: AcceleratorModel, problem: Mapping[str, Array]) -> dict[str, Integers]:
    """Return the words (N,) of references by the names of positions; those without a weight are zero."""
    shape = _shape(model)
    weights = _position_weights(shape, problem)
    poses = problem.get(REFERENCE, np.zeros((shape.knots + 1, len(model.robot.frames), 4, 4)))
    reference = np.where(weights > 0.0, poses[1:, :, :3, 3].reshape(weights.shape), 0.0)
    check_range(model, GOAL, reference)
    words = (each.word for each in shape.tracked)
    return {word.name: nearest(model, word, of) for word, of in zip(words, reference.T, strict=True)}


def _coefficients(shape: SolverShape, problem: Mapping[str, Array]) -> dict[str, Integers]:
    """Return the coefficients of differences of coordinates."""
    words: dict[str, Integers] = {}
    for joint in shape.wide:
        words |= joint.coefficients(problem["x_ref"][1:, : shape.nq])
    return words


def encoded(model: AcceleratorModel, q: Array, v: Array, tau: Array, h: Array | None = None) -> Words:
    """Return the words of a step for states and forces, of which ``h`` is zero if there is none."""
    tasks = {"q": q, "v": v, "tau": tau}
    if _shape(model).time_word is not None:
        tasks["h"] = np.full(len(q), 0.0 if h is None else h)
    return encode(model, "step", tasks)


def _time_step(shape: SolverShape, problem: Mapping[str, Array]) -> float:
    """Return the time step that the word for a problem's has, or the fixed one; InputError if it is zero."""
    step = shape.time_step
    if step.constant is not None:
        return step.most
    seconds = float(step.format.real(step.format.quantise(problem["h"])))
    if seconds == 0.0:
        raise InputError("array 'h'", f"{problem['h']:g} s, which rounds to zero", f"up to {step.most:g} s")
    return seconds


def check_problem(
    problem: Mapping[str, Array], control: str, others: Sequence[str] = (), bounds: Array | None = None
) -> None:
    """Refuse what accelerators have no words for, ``others`` among it for this ``control``.

    With ``bounds`` (nv, 2) of the forces it has none for other limits than these, either.
    """
    other = [name for name in (*NOT_TAKEN, *others) if np.any(problem.get(name, 0.0))]
    *costs, last = (name for name in ("Q", "W", "R", "position_weight") if name not in others)
    taken = f"costs of {', '.join(costs)} and {last} alone, no contacts"
    if bounds is not None:
        taken += f", and the bounds of tau as {' and '.join(FORCE_LIMITS)}"
        other += [
            name
            for name, bound in zip(FORCE_LIMITS, bounds.T, strict=True)
            if np.any(problem.get(name, bound) != bound)
        ]
    if other:
        raise InputError("problem", f"{control} does not take its {', '.join(other)}", taken)


def _single_within(value: Array, low: Array, high: Array) -> Array:
    """Return the single nearest to a value between two bounds that is between them, too."""
    single = np.float32(value)
    return np.array(single if low <= single <= high else np.nextafter(single, np.float32(0.0)), np.float64)


def _fitting(name: str, format_: Format, values: Array) -> Integers:
    """Return the words of values; InputError if one is too large for the format."""
    if np.any(values > format_.highest * format_.step):
        remedy = "smaller weights, or formats from problems with such weights"
        raise InputError(f"weights: {name}", f"{np.max(values):g} is too large", remedy=remedy)
    return format_.quantise(values)
