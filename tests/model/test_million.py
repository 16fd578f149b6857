"""A million random tasks in the bit-exact model: every result is within the budget, or flagged."""

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.domain.sampling import sample
from rbdhw.domain.strata import error_floors
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.golden.error_norm import function_errors
from rbdhw.model.packets import decode, encode
from rbdhw.model.responses import respond
from rbdhw.options.build import DEFAULT_MAX_ERROR, BuildOptions
from rbdhw.protocol import DEFAULT_FUNCTIONS, FUNCTIONS
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.marks import long

AT_ONCE = 16384


def beyond_budget(design, function, floors, tasks, rng):
    """Return the number of unflagged results with errors beyond the budget, and that of flagged tasks."""
    extended = bool(FUNCTIONS[function].optional_outputs)
    arrays = sample(design.robot, design.domain, tasks, rng, design.fext)
    status, words = respond(design, function, encode(design, function, arrays, extended), extended)
    reference = golden.evaluate(design.robot, function, arrays, extended)
    results = decode(design, function, words, extended)
    errors = function_errors(design.robot, function, arrays, results, reference, floors)
    beyond = sum(np.count_nonzero((error > DEFAULT_MAX_ERROR) & (status == 0)) for error in errors.values())
    return beyond, np.count_nonzero(status)


@pytest.mark.parametrize(
    ("robot", "samples", "tasks"), [("toy", 512, AT_ONCE // 16), long("iiwa14", 4096, 9 * AT_ONCE)]
)
def test_every_result_is_within_the_budget_or_flagged(robot, samples, tasks):
    """There are ``tasks`` tasks of each of the seven functions."""
    options = BuildOptions(functions=DEFAULT_FUNCTIONS, samples=samples)
    plan = make_plan(load_urdf(path(robot)), options)
    design = plan.accelerator
    floors = error_floors(design.robot, design.domain, DEFAULT_FUNCTIONS, options.seed)
    rng = np.random.default_rng(99)
    for function in DEFAULT_FUNCTIONS:
        pieces = [min(AT_ONCE, tasks - start) for start in range(0, tasks, AT_ONCE)]
        counts = [beyond_budget(design, function, floors, piece, rng) for piece in pieces]
        beyond, flagged = np.sum(counts, axis=0)
        assert beyond == 0, function
        assert flagged <= 0.01 * tasks, function
