"""Uniform Q16.16: its arithmetic, and how it compares with formats of each signal's own."""

import numpy as np
import pytest

from rbdhw.domain import input_domain
from rbdhw.fixed.format import wrapped
from rbdhw.robot.frames import align_axes
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.sampling import sample
from rbdhw.scalar import reciprocal
from rbdhw.tracing import Algorithms
from rbdhw.uniform import Overflow, Uniform, uniform_errors


def numbers(*values):
    overflow = Overflow(np.zeros(len(values), np.bool_))
    return Uniform(np.array([round(v * 65536) for v in values]), overflow), overflow


def test_products_are_rounded_to_the_nearest_step():
    x, overflow = numbers(0.5, -1.25, 3.0)
    product = x * numbers(1 / 65536, 1 / 65536, 2.0)[0]
    assert product.value.tolist() == [1, -1, 6 * 65536]
    assert (x * 0.25).value.tolist() == [8192, -20480, 49152]
    assert (1.0 - x).value.tolist() == [32768, 147456, -131072]
    assert not overflow.seen.any()


def test_zeros_and_ones_vanish():
    x, _ = numbers(2.0)
    assert x * 0.0 == 0.0
    assert x * 1.0 is x
    assert (x * -1.0).value.tolist() == [-131072]


def test_what_does_not_fit_wraps_and_is_flagged():
    x, overflow = numbers(30000.0, 1.0)
    doubled = x + x
    assert doubled.value.tolist() == [int(wrapped(np.array(60000 * 65536), 32)), 131072]
    assert overflow.seen.tolist() == [True, False]


def test_reciprocals_are_rounded_and_zero_has_none():
    x, overflow = numbers(4.0, -3.0, 0.0)
    assert reciprocal(x).value.tolist()[:2] == [16384, -21845]
    assert overflow.seen.tolist() == [False, False, True]


@pytest.mark.parametrize(("function", "least", "most"), [("id", 1e-5, 1e-4), ("minv", 1e-4, 5e-3)])
def test_the_inverse_of_a_light_arm_loses_most(function, least, most):
    source = load_urdf(path("iiwa14"))
    arrays = sample(source, input_domain(source), 512, np.random.default_rng(3))
    errors = uniform_errors(source, align_axes(source), function, arrays, Algorithms())
    assert least < np.median(errors) < most
