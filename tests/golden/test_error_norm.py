"""The error metric: norms computed by hand, and the manifest's errors against Pinocchio's results."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.arrays import WordName, kind_of
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.strata import draw
from rbdhw.golden.error_norm import function_errors, measure, parts_of, relative_errors
from rbdhw.model.packets import decode, encode
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.link_frames import choose_contacts, choose_spheres
from rbdhw.robot.model import Contacts, JointKind
from rbdhw.robots import path
from tests.support.marks import long
from tests.support.mechanisms import mechanism
from tests.support.references import references
from tests.support.tracking import tracking

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
def test_arrays_together_have_one_norm(name, other):
    """The reference's norm is sqrt(121 + 64), over both matrices; the differences are 3 and 4."""
    reference = {name: np.array([[[1.0, 2.0], [4.0, 10.0]]]), other: np.full((1, 2, 2), 4.0)}
    results = {name: reference[name] + np.array([[3.0, 0.0], [0.0, -4.0]]), other: reference[other]}
    np.testing.assert_allclose(relative_errors(results, reference), [5.0 / np.sqrt(185.0)], rtol=1e-12)
    results[other] = results[other] + np.array([[0.0, 12.0], [0.0, 0.0]])
    np.testing.assert_allclose(relative_errors(results, reference), [13.0 / np.sqrt(185.0)], rtol=1e-12)


def robot_with_frames():
    """Return an arm whose configuration is longer than its velocity, with frames, a contact and spheres."""
    robot = mechanism([JointKind.REVOLUTE, JointKind.SPHERICAL, JointKind.PRISMATIC], [-1, 0, 1], 5)
    robot = choose_spheres(robot, [("b0@0:0:0", 0.1), ("b2@0:0:0", 0.1), ("world@0:0:0", 0.1)])
    robot = replace(robot, contacts=Contacts(by_task=True))
    return choose_contacts(tracking(robot, "b1", "b2"), [("b1", "point")])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_parts_of_a_functions_results_have_each_element_once(function):
    """The optional results have parts, too."""
    robot, entry = robot_with_frames(), FUNCTIONS[function]
    parts = parts_of(robot, function)
    assert len({str(part) for part in parts}) == len(parts)
    assert list(dict.fromkeys(part.array for part in parts)) == [*entry.outputs, *entry.optional_outputs]
    for array in entry.outputs + entry.optional_outputs:
        shape = kind_of(array, function).shape(robot.sizes)
        assert 0 not in shape
        gains = shape[:-1] if "holding" in kind_of(array, function).dimensions else None
        if gains:  # contacts have no gain for positions
            shape = (*gains, 2)
        indices = [WordName(array, index, function) for index in np.ndindex(shape)]
        assert all(sum(word in part for part in parts) == 1 for word in indices)


def test_each_array_of_a_result_has_an_error_of_its_own():
    """The differences are 3 of 12, and 4 of 8; the norms of both together would hide the second."""
    robot = mechanism([JointKind.REVOLUTE] * 2, [-1, 0], 5)
    reference = {"dtau_dq": np.array([[[12.0, 0.0], [0.0, 0.0]]]), "dtau_dv": np.full((1, 2, 2), 4.0)}
    results = {name: array.copy() for name, array in reference.items()}
    results["dtau_dq"][0, 1, 0], results["dtau_dv"][0, 0, 0] = 3.0, 8.0
    floors = {"did.dtau_dq": 1.0, "did.dtau_dv": 1.0}
    errors = function_errors(robot, "did", {}, results, reference, floors)
    assert {name: values.tolist() for name, values in errors.items()} == {"dtau_dq": [0.25], "dtau_dv": [0.5]}


def test_rotations_and_positions_of_placements_are_apart():
    """A rotation has the norm sqrt(3); the position's is a length, without the one below it."""
    robot = robot_with_frames()
    arrays = draw(robot, input_domain(robot), 5, np.random.default_rng(0)).arrays
    placement = golden.evaluate(robot, "kin", arrays)["placement"]
    rotation, position, *_ = (measure(robot, part, arrays, placement) for part in parts_of(robot, "kin")[:2])
    assert (rotation**2).sum(axis=(1, 2, 3)) == pytest.approx(np.full(5, 6.0))
    lengths = (placement[:, :, :3, 3] ** 2).sum(axis=(1, 2))
    assert (position**2).sum(axis=(1, 2, 3)) == pytest.approx(lengths)


pytestmark = pytest.mark.usefixtures("without_verilog")


@pytest.fixture(scope="module")
def narrow():
    """The errors of the toy are about 0.1%, far above the difference of two float64 libraries."""
    options = BuildOptions(functions=("id", "fd", "did", "dfd"), width=14, samples=SAMPLES)
    return generate(path("toy"), options)


@pytest.mark.parametrize("function", [long("id"), "fd", "did", long("dfd")])
def test_the_manifests_median_is_that_of_the_difference_from_pinocchio(narrow, function):
    """The tasks differ from the manifest's, so medians over a thousand tasks differ by a tenth."""
    tasks = 4 * SAMPLES
    arrays = draw(narrow.robot, narrow.domain, tasks, np.random.default_rng(77), narrow.fext).arrays
    status, words = respond(narrow, function, encode(narrow, function, arrays))
    results = decode(narrow, function, words)
    right, told = references(narrow.robot, function, arrays), narrow.manifest["error"][function]
    for name, exact in right.items():
        figures, axes = told["results"][name], tuple(range(1, exact.ndim))
        sizes = np.maximum(np.sqrt((exact**2).sum(axis=axes)), figures["floor"])
        errors = np.sqrt(((results[name] - exact) ** 2).sum(axis=axes)) / sizes
        assert figures["median"] == pytest.approx(np.median(errors[status == 0]), rel=0.15)
        assert 0.2 < figures["max"] / errors[status == 0].max() < 5.0
    assert told["median"] == max(result["median"] for result in told["results"].values())
    assert told["max"] == max(result["max"] for result in told["results"].values())
