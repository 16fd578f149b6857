"""Accelerators with inertial parameters at run time: all engines, and what is refused."""

import numpy as np
import pytest

import rbdhw
from rbdhw import golden
from rbdhw.design.folder import read, write
from rbdhw.errors import InputError
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.robot.parameters import nominal_parameters
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.parameters import SETS, toy_with_parameters

pytestmark = pytest.mark.usefixtures("without_verilog")


@pytest.fixture(scope="module", params=["task", "load"])
def folder(tmp_path_factory, request):
    made = tmp_path_factory.mktemp("parameters") / "toy"
    write(toy_with_parameters(request.param), made)
    return made


@pytest.fixture(scope="module")
def tasks(folder):
    robot = read(folder).robot
    rng = np.random.default_rng(1)
    arrays = {name: rng.uniform(-1.0, 1.0, (40, 2)) for name in ("q", "v", "tau")}
    shares = rng.uniform(0.85, 1.15, (40, 2, 1))
    parameters = np.broadcast_to(nominal_parameters(robot), (40, 2, 10)).copy()
    parameters[..., [0, 4, 5, 6, 7, 8, 9]] *= shares
    return arrays | {"parameters": parameters}


def test_all_engines_agree(folder, tasks):
    model, numpy, exact = (rbdhw.load(folder, engine).fd(**tasks) for engine in ("model", "numpy", "golden"))
    np.testing.assert_array_equal(model.a, numpy.a)
    assert not model.status.any()
    assert np.abs(model.a - exact.a).max() < 0.02 * np.abs(exact.a).max()


def test_without_parameters_they_are_those_of_the_file(folder, tasks):
    acc = rbdhw.load(folder)
    given = {name: tasks[name] for name in ("q", "v", "tau")}
    nominal = nominal_parameters(acc.robot)
    np.testing.assert_array_equal(acc.fd(**given).a, acc.fd(**given, parameters=nominal).a)
    assert np.abs(acc.fd(**given).a - acc.fd(**tasks).a).max() > 0.01
    plain = golden.evaluate(load_urdf(path("toy")), "fd", given)["a"]
    np.testing.assert_allclose(golden.evaluate(acc.robot, "fd", given)["a"], plain, rtol=1e-12)


@pytest.mark.parametrize("engine", ["model", "numpy", "golden"])
@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        (0, 50.0, r"row 0, link 'upper_arm': mass is 50; .* widen .parameters."),
        (4, 1e-9, "link 'upper_arm': xx is 1e-09; expected"),
    ],
)
def test_parameters_outside_their_bounds(folder, tasks, engine, entry, value, message):
    given = {**tasks, "parameters": tasks["parameters"].copy()}
    given["parameters"][:, 0, entry] = value
    with pytest.raises(InputError, match=message):
        rbdhw.load(folder, engine).fd(**given)


def test_the_manifest_has_the_map(folder):
    acc = rbdhw.load(folder)
    entry = acc.manifest["robot"]["parameters"]
    assert entry["links"] == ["upper_arm", "forearm"]
    inputs = acc.manifest["inputs"]
    words = [word["name"] for word in inputs.get("load_parameters", inputs["fd"])]
    words = [name for name in words if name.startswith("parameters")]
    assert words
    assert len(entry["matrix"]) == len(entry["constants"]) == len(entry["held"]) >= len(words)


def test_loaded_parameters_serve_later_calls(folder, tasks):
    acc = rbdhw.load(folder)
    task = {name: tasks[name][0] for name in ("q", "v", "tau")}
    before = acc.fd(**task)
    others = tasks["parameters"][3]
    acc.load_parameters({"forearm": others[1]})
    np.testing.assert_array_equal(acc.parameters[1], others[1])
    loaded = acc.fd(**task)
    np.testing.assert_array_equal(loaded.a, acc.fd(**task, parameters=acc.parameters).a)
    assert (loaded.a != before.a).any()
    acc.load_parameters(nominal_parameters(acc.robot))
    np.testing.assert_array_equal(acc.fd(**task).a, before.a)


def test_a_call_takes_one_of_several_sets(folder, tasks):
    acc = rbdhw.load(folder)
    task = {name: tasks[name][0] for name in ("q", "v", "tau")}
    sets = SETS if "load_parameters" in acc.manifest["inputs"] else 1
    assert acc.parameter_sets.shape == (sets, 2, 10)
    before, last = acc.fd(**task), sets - 1
    acc.load_parameters({"forearm": tasks["parameters"][3, 1]}, set=last)
    loaded = acc.fd(**task, parameter_set=last)
    np.testing.assert_array_equal(loaded.a, acc.fd(**task, parameters=acc.parameter_sets[last]).a)
    assert (loaded.a != before.a).any()
    for other in range(last):
        np.testing.assert_array_equal(acc.fd(**task, parameter_set=other).a, before.a)
    acc.load_payload(0.0, link="forearm", set=last)
    np.testing.assert_array_equal(acc.fd(**task, parameter_set=last).a, before.a)
    for number in (sets, -1, 0.5):
        with pytest.raises(
            InputError, match=rf"^set: {number} is not a set of .*; expected 0.*; generate with"
        ):
            acc.load_payload(0.0, set=number)
        with pytest.raises(InputError, match=rf"^parameter_set: {number} is not a set of .*; expected 0"):
            acc.fd(**task, parameter_set=number)
    with pytest.raises(
        InputError, match="parameter_set: the call brings its own parameters; expected one of"
    ):
        acc.fd(**task, parameter_set=0, parameters=acc.parameters)


def test_the_manifest_has_the_sets_and_the_bit_of_loads(folder):
    stream = rbdhw.load(folder).manifest["stream"]
    loads = "load_parameters" in stream["functions"]
    assert stream["options"] == {"extended": 0, "loaded": 2} if loads else {"extended": 0}
    assert stream.get("parameter_sets") == (SETS if loads else None)


def test_a_payload_is_a_body_more(folder):
    """The forces that hold a point mass at the forearm's centre are those of a heavier forearm."""
    acc, nominal = rbdhw.load(folder, "golden"), nominal_parameters(rbdhw.load(folder).robot)
    state = np.array([0.3, -0.7]), np.zeros(2), np.zeros(2)
    acc.load_payload(0.05, nominal[1, 1:4], link="forearm")
    assert acc.parameters[1, 0] == pytest.approx(nominal[1, 0] + 0.05)
    np.testing.assert_allclose(acc.parameters[1, 1:], nominal[1, 1:], rtol=1e-12, atol=1e-15)
    loaded = acc.id(*state).tau
    acc.load_payload(0.0, link="forearm")
    assert np.abs(loaded - acc.id(*state).tau).max() > 0.01


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"hand": np.ones(10)},
            "parameters: those of link 'hand' are constant; expected of upper_arm, forearm",
        ),
        (
            {"tip": np.ones(10)},
            "link 'tip' is fixed to 'forearm'; expected of upper_arm, forearm; give those of 'forearm'",
        ),
        ({"forearm": np.ones(9)}, r"parameters, link 'forearm': shape \(9,\); expected \(10,\)"),
        (np.ones((3, 10)), r"parameters: shape \(3, 10\); expected \(2, 10\)"),
        ({"forearm": np.full(10, np.nan)}, "array 'parameters', .*: nan; expected finite numbers"),
        ({"forearm": np.full(10, 9.0)}, "link 'forearm': mass is 9; expected"),
    ],
)
def test_parameters_that_cannot_be_loaded(folder, given, message):
    acc = rbdhw.load(folder)
    before = acc.parameters
    with pytest.raises(InputError, match=message):
        acc.load_parameters(given)
    np.testing.assert_array_equal(acc.parameters, before)


def test_constant_parameters_cannot_be_loaded(tmp_path):
    write(generate(path("toy"), BuildOptions(functions=("m",), ii=8, width=12, samples=64)), tmp_path / "toy")
    acc = rbdhw.load(tmp_path / "toy")
    assert acc.parameters is None
    with pytest.raises(InputError, match=r"all inertial parameters of .* are constant; .*; generate with"):
        acc.load_payload(1.0)
    with pytest.raises(InputError, match=r"^parameter_set: all inertial parameters of .* are constant"):
        acc.m(np.zeros(2), parameter_set=0)
    with pytest.raises(InputError, match="array 'parameters'"):
        acc.m(np.zeros(2), parameters=np.ones((1, 10)))
