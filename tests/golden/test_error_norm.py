"""The error metric: norms computed by hand, and the manifest's errors against Pinocchio's results."""

from __future__ import annotations

import numpy as np
import pytest

from rbdhw.config import BuildOptions
from rbdhw.domain.strata import draw
from rbdhw.golden.error_norm import relative_errors
from rbdhw.pipeline import generate
from rbdhw.robots import path
from rbdhw.sim.model import respond
from rbdhw.sim.packets import decode, encode
from tests.support.references import references

SAMPLES = 256


def test_the_error_is_the_norm_of_the_difference_over_that_of_the_reference():
    """The errors are 0.5 of 5, and the norm 1 of (0.6, 0.8) of 2."""
    reference = {"tau": np.array([[3.0, 4.0], [0.0, -2.0]])}
    results = {"tau": np.array([[3.0, 4.5], [0.6, -1.2]])}
    np.testing.assert_allclose(relative_errors(results, reference), [0.1, 0.5], rtol=1e-12)


def test_errors_are_divided_by_at_least_the_floor():
    """The errors are 0.5 of 5, above the floor of 4; 1 of the floor, above the norm 2; and 0 of zero."""
    reference = {"tau": np.array([[3.0, 4.0], [0.0, -2.0], [0.0, 0.0]])}
    results = {"tau": np.array([[3.0, 4.5], [0.6, -1.2], [0.0, 0.0]])}
    np.testing.assert_allclose(relative_errors(results, reference, 4.0), [0.1, 0.25, 0.0], rtol=1e-12)


@pytest.mark.parametrize(("name", "other"), [("dtau_dq", "dtau_dv"), ("dtau_dv", "dtau_dq")])
def test_every_matrix_of_a_result_counts(name, other):
    """The reference's norm is sqrt(121 + 64), over both matrices; the differences are 3 and 4."""
    reference = {name: np.array([[[1.0, 2.0], [4.0, 10.0]]]), other: np.full((1, 2, 2), 4.0)}
    results = {name: reference[name] + np.array([[3.0, 0.0], [0.0, -4.0]]), other: reference[other]}
    np.testing.assert_allclose(relative_errors(results, reference), [5.0 / np.sqrt(185.0)], rtol=1e-12)
    results[other] = results[other] + np.array([[0.0, 12.0], [0.0, 0.0]])
    np.testing.assert_allclose(relative_errors(results, reference), [13.0 / np.sqrt(185.0)], rtol=1e-12)


pytestmark = pytest.mark.usefixtures("without_verilog")


@pytest.fixture(scope="module")
def narrow():
    """The errors of the toy are about 0.1%, far above the difference of two float64 libraries."""
    options = BuildOptions(functions=("id", "fd", "did", "dfd"), width=14, samples=SAMPLES)
    return generate(path("toy"), options)


@pytest.mark.parametrize("function", ["id", "fd", "did", "dfd"])
def test_the_manifests_median_is_that_of_the_difference_from_pinocchio(narrow, function):
    """The tasks differ from the manifest's, so medians over a thousand tasks differ by a tenth."""
    tasks = 4 * SAMPLES
    arrays = draw(narrow.robot, narrow.domain, tasks, np.random.default_rng(77), narrow.fext).arrays
    status, words = respond(narrow, function, encode(narrow, function, arrays))
    results = decode(narrow, function, words)
    right = references(narrow.robot, function, arrays)
    ours, exact = (
        np.hstack([values[name].reshape(tasks, -1) for name in sorted(right)]) for values in (results, right)
    )
    told = narrow.manifest["error"][function]
    sizes = np.maximum(np.sqrt((exact**2).sum(axis=1)), told["floor"])
    errors = np.sqrt(((ours - exact) ** 2).sum(axis=1)) / sizes
    assert told["median"] == pytest.approx(np.median(errors[status == 0]), rel=0.15)
    assert 0.2 < told["max"] / errors[status == 0].max() < 5.0
