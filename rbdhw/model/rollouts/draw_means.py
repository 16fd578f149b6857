"""Random means of samples, around plans that hold a robot near a state."""

from __future__ import annotations

import numpy as np

from rbdhw.fixed.cost import COST_POINT
from rbdhw.fixed.softmin import FRACTION, SCALE
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.responses import Words
from rbdhw.model.rollouts.codec import prepare
from rbdhw.model.rollouts.draw import draw_plans
from rbdhw.model.rollouts.packets import row_words
from rbdhw.model.rollouts.stream import draw_tasks
from rbdhw.protocol import MEAN, MPPI

OCTAVES = 6, 12
"""The octaves by which a weight falls with a cost of one, at least and at most, as powers of two."""


def draw_mean(model: AcceleratorModel, samples: int, rng: np.random.Generator) -> list[tuple[str, Words]]:
    """Return packets that load a plan and its costs, take the mean of samples twice, and read it.

    The second mean begins a step later.
    """
    shape = model.interface.rollout
    assert shape is not None
    steps = np.array([shape.horizon])
    (plan,) = draw_plans(model, draw_tasks(model, 1, rng), steps, shape.horizon, rng)
    rollouts = prepare(model, plan.arrays, 0, states=False)
    exponent = COST_POINT - FRACTION + SCALE.width - 2 - int(rng.integers(*OCTAVES))
    scale = int(rng.integers(SCALE.highest // 2, SCALE.highest + 1))
    numbers = {"samples": samples, "scale": scale, "exponent": exponent}
    asked = dict(rollouts.words) | {name: np.array([number]) for name, number in numbers.items()}
    loads = [(name, row_words(model, rollouts.rows, name)) for name in model.interface.row_commands]
    means: list[tuple[str, Words]] = []
    for shift in (0, 1):
        means.append((MPPI, asked | {"shift": np.array([shift])}))
        means.append((MEAN, {"row": np.arange(shape.horizon)}))
    return [*loads, *means]
