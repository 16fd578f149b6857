"""Uniform Q16.16 at its most exact: its arithmetic, its angles, and comparisons with other roundings."""

import numpy as np
import pytest

from benchmarks.q16_16 import Q16_16, best_algorithms, combinations, uniform_errors
from rbdhw import golden
from rbdhw.control.uniform import Grid, Uniform, evaluate_uniform
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.sampling import sample
from rbdhw.fixed.format import wrap
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.build_graph import prepare
from rbdhw.golden.error_norm import parts_of
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import JointKind
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.scalar import reciprocal
from tests.support.marks import long
from tests.support.mechanisms import mechanism

STEP = 2.0**-16


def numbers(*values):
    overflow = Grid(Q16_16, np.zeros(len(values), np.bool_))
    return Uniform.nearest(np.array(values), overflow), overflow


def test_factors_are_the_nearest_words():
    x, overflow = numbers(0.5, -1.25, 3.0)
    product = x * numbers(STEP, STEP, 2.0)[0]
    assert product.word.tolist() == [1, -1, 6 * 65536]
    assert (product * numbers(2.0, 2.0, 2.0)[0]).word.tolist() == [2, -2, 12 * 65536]
    assert (x * 0.3).word.tolist() == [9831, -24576, 58983]
    assert (1.0 - x).word.tolist() == [32768, 147456, -131072]
    assert not overflow.overflow.any()


def test_sums_of_products_are_rounded_once():
    """Three times four tenths of a step round to one step; rounded separately, each is zero."""
    x, y = numbers(0.4)[0], numbers(STEP)[0]
    product = x * y
    assert product.word.tolist() == [0]
    assert (product + product + product).word.tolist() == [1]
    assert (3.0 - (product + (product - (-product)))).word.tolist() == [3 * 65536 - 1]


def test_powers_of_two_shift_what_is_not_rounded():
    x, y = numbers(0.375)[0], numbers(STEP)[0]
    product = x * y
    assert (2.0 * product).word.tolist() == [1]
    assert (-4.0 * product).word.tolist() == [-1]
    assert (0.5 * (4.0 * product)).word.tolist() == [1]
    large, overflow = numbers(20000.0)
    assert (0.25 * (large * 2.0)).word.tolist() == [10000 * 65536]
    assert [(large * 2.0**-n).exact.tolist() for n in (62, 63, 64, 90)] == [[0]] * 4
    assert overflow.overflow.tolist() == [False]
    assert isinstance(large * 2.0**30, Uniform)
    assert overflow.overflow.tolist() == [True]


def test_zeros_and_ones_vanish():
    x, _ = numbers(2.0)
    assert x * 0.0 == 0.0
    assert (x * 1.0).word.tolist() == [131072]
    assert (x * -1.0).word.tolist() == [-131072]


def test_a_word_that_does_not_fit_wraps_and_is_flagged():
    x, overflow = numbers(30000.0, 1.0)
    doubled = x + x
    assert overflow.overflow.tolist() == [False, False]
    assert doubled.word.tolist() == [int(wrap(np.array(60000 * 65536), 32)), 131072]
    assert overflow.overflow.tolist() == [True, False]
    assert numbers(1e9, -1e9, 0.0)[1].overflow.tolist() == [False] * 3
    far, overflow = numbers(1e9, -1e9, 0.0)
    assert far.word[2] == 0
    assert overflow.overflow.tolist() == [True, True, False]


def test_reciprocals_are_rounded_and_zero_has_none():
    x, overflow = numbers(4.0, -3.0, 0.0, STEP)
    assert reciprocal(x).word.tolist()[:2] == [16384, -21845]
    assert overflow.overflow.tolist() == [False, False, True, True]


def arrays_of(robot, tasks, seed=3):
    return sample(robot, input_domain(robot), tasks, np.random.default_rng(seed))


def test_angles_are_words_of_radians_and_reduced_exactly():
    """Many turns away, a pendulum's torque equals that of the word's angle to a few steps."""
    pendulum = mechanism([JointKind.CONTINUOUS], [-1], 5)
    q = np.array([[1000.0], [-20000.5], [30000.25], [0.7]])
    zeros = np.zeros((4, 1))
    arrays = {"q": q, "v": zeros, "a": zeros, "tau": zeros, "fext": np.zeros((4, 1, 6))}
    robot = align_axes(elementary(pendulum))
    results, overflow = evaluate_uniform(pendulum, robot, "id", arrays, Algorithms(), Q16_16)
    words = {**arrays, "q": np.round(q / STEP) * STEP}
    expected = golden.evaluate(pendulum, "id", words)["tau"]
    assert not overflow.any()
    assert np.abs(results["tau"] - expected).max() < 60.0 * STEP
    assert np.abs(expected).max() > 1e4 * STEP


@pytest.mark.parametrize(
    ("function", "result", "least", "most"),
    [("id", "tau", 5e-6, 1.3e-5), long("did", "dtau_dq", 8e-6, 2e-5), long("minv", "Minv", 4e-5, 1e-4)],
)
def test_errors_of_a_light_arm(function, result, least, most):
    """With angles in turns and every product rounded, inverse dynamics has three times the error."""
    source = load_urdf(path("iiwa14"))
    robot = prepare(source, (function,)).robot
    floors = {str(part): 0.0 for part in parts_of(source, function)}
    errors, overflow = uniform_errors(source, robot, function, arrays_of(source, 512), floors)
    assert not overflow.any()
    assert errors[result].shape == (512,)
    assert least < np.median(errors[result]) < most


def test_the_algorithms_are_those_that_err_least():
    """Articulated bodies divide by large numbers; determinants of blocks are small."""
    source = load_urdf(path("iiwa14"))
    robot, arrays = align_axes(source), arrays_of(source, 256)
    reference = golden.evaluate(source, "minv", arrays)
    best = best_algorithms(source, robot, "minv", arrays, reference, {"minv.Minv": 0.0})
    assert best.inverse == "articulated"
    medians = {}
    for algorithms in (choice for choice in combinations(robot, "minv") if choice.axes == best.axes):
        results, _ = evaluate_uniform(source, robot, "minv", arrays, algorithms, Q16_16)
        difference = np.linalg.norm(results["Minv"] - reference["Minv"], axis=(1, 2))
        medians[algorithms.inverse] = np.median(difference / np.linalg.norm(reference["Minv"], axis=(1, 2)))
    assert medians["articulated"] == min(medians.values()) < 0.5 * medians["block_pivots"]
