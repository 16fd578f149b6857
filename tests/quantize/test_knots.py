"""Magnitudes of a knot's step over all knots."""

import numpy as np

from rbdhw.frontend.knot_step import REGULARISATION, driven, record_sweep
from rbdhw.golden.riccati import sweep_back
from rbdhw.model.knot_numbers import knot_numbers
from rbdhw.quantize.knots import knot_magnitudes
from tests.support.knots import random_expansion
from tests.support.optimal_control import STEP, toy

KNOTS = 4


def test_magnitudes_are_the_largest_of_all_knots_and_sweeps_with_headroom():
    robot = toy()
    sweeps, expansions = record_sweep(robot, KNOTS), [random_expansion(robot, KNOTS, seed) for seed in (1, 2)]
    step = sweeps.sweeps[0].step
    sampled = [
        knot_numbers(each, STEP, driven(robot)) | {REGULARISATION: np.array(0.5)} for each in expansions
    ]
    sizes = knot_magnitudes(sweeps, sampled, headroom_bits=1)
    assert sizes[step.inputs[REGULARISATION]] == 1.0
    changes = [sweep_back(each, 0.5).changes[:, 0] for each in expansions]
    edge = dict(step.outputs)["knot.k[0]"]
    np.testing.assert_allclose(np.ldexp(sizes[edge.node], edge.shift), 2.0 * np.abs(changes).max(), rtol=1e-9)
