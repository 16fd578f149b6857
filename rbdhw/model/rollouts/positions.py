"""Costs of frames' positions in rollouts: the user's arrays, their words, and random ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdhw.arrays import WordName
from rbdhw.errors import InputError
from rbdhw.fixed.format import Integers
from rbdhw.golden.kinematics import placements
from rbdhw.golden.rollout import Positions
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.arrays import as_numbers
from rbdhw.model.rollouts.arrays import check_rows
from rbdhw.model.rollouts.data import Array
from rbdhw.model.rollouts.random_states import random_states
from rbdhw.model.rollouts.rows import nearest
from rbdhw.protocol import LOAD_COST

LARGEST_WEIGHT = 1e12
"""The largest weight of a cost, and the largest magnitude of a residual's coefficient and constant."""

OF_POSITIONS = REFERENCE, WEIGHT = ("placement_ref", "position_weight")
"""The arrays of frames' positions: poses, of which the positions count, and the weights of these."""


def check_positions(model: AcceleratorModel, arrays: Mapping[str, Array], steps: int) -> Positions | None:
    """Return the checked references and weights of a build; without any given, those have no weight."""
    given = [name for name in OF_POSITIONS if name in arrays]
    if not model.robot.tracks:
        if given:
            remedy = "generate with --frames LINK"
            raise InputError(f"array '{given[0]}'", "the costs of this build have no frames", remedy=remedy)
        return None
    frames = len(model.robot.frames)
    if len(given) == 1:
        (missing,) = {*OF_POSITIONS} - {*given}
        raise InputError(f"array '{missing}'", "missing", f"one beside {given[0]}")
    axes = {REFERENCE: (frames, 4, 4), WEIGHT: (frames, 3)}
    poses, weights = (
        _of_steps(name, arrays.get(name, np.zeros(shape)), steps, shape) for name, shape in axes.items()
    )
    none = np.zeros(3 * frames)
    checked = check_rows(WEIGHT, weights.reshape(steps, -1), steps, none, none + LARGEST_WEIGHT)
    reference = np.where(checked > 0.0, poses[..., :3, 3].reshape(steps, -1), 0.0)
    check_range(model, LOAD_COST, reference)
    return Positions(*(rows.reshape(steps, frames, 3) for rows in (reference, checked)))


def _of_steps(name: str, values: Array, steps: int, axes: tuple[int, ...]) -> Array:
    """Return an array (K, ...) of all steps, for which one without their axis serves, too."""
    array = as_numbers(f"array '{name}'", values)
    if array.shape not in (axes, (steps, *axes)):
        expected = f"{(steps, *axes)}, or {axes} for all steps"
        raise InputError(f"array '{name}'", f"shape {array.shape}", expected)
    return np.broadcast_to(array, (steps, *axes))


def check_range(model: AcceleratorModel, command: str, reference: Array) -> None:
    """Refuse positions (K, 3 frames) beyond the numbers that a ``command`` has for those of frames."""
    word = next(word for word in model.interface.inputs(command) if word.array == "p_ref")
    lowest, highest = (word.format.real(np.array(end)) for end in (word.lowest, word.highest))
    bad = np.argwhere(~((reference >= lowest) & (reference <= highest)))
    if len(bad):
        row, column = bad[0].tolist()
        frame = model.robot.frames[column // 3].name
        where = f"array '{REFERENCE}', step {row + 1}, {'xyz'[column % 3]} of frame '{frame}'"
        raise InputError(where, f"{reference[row, column]:g} m", f"{lowest:g} to {highest:.9g} m")


def position_words(model: AcceleratorModel, positions: Positions) -> dict[str, Integers]:
    """Return the words (K,) of references."""
    reference, words = np.moveaxis(positions.reference, 0, -1), {}
    for word in model.interface.inputs(LOAD_COST):
        if word.array == "p_ref":
            words[word.name] = nearest(model, word, reference[WordName.parse(word.name).index])
    return words


def draw_positions(model: AcceleratorModel, steps: int, rng: np.random.Generator) -> dict[str, Array]:
    """Return poses of random states, and random weights of their positions."""
    q = random_states(model, steps, rng)[:, : model.robot.nq]
    weights = rng.uniform(0.0, 1.0, (steps, len(model.robot.frames), 3))
    return {REFERENCE: placements(model.robot, q), WEIGHT: weights}
