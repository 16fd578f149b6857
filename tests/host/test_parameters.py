"""Accelerators with inertial parameters at run time: all engines, and what is refused."""

import numpy as np
import pytest

import rbdhw
from rbdhw import golden
from rbdhw.config import BuildOptions, Mounting
from rbdhw.design.folder import read, write
from rbdhw.errors import InputError
from rbdhw.pipeline import generate
from rbdhw.robot.parameters import nominal_parameters
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.sim.simulate import simulate

OPTIONS = BuildOptions(
    functions=("id", "fd"),
    ii=2,
    width=18,
    samples=512,
    data_width=64,
    mounting=Mounting(parameters="inertias"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("parameters") / "toy"
    write(generate(path("toy"), OPTIONS), made)
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


def test_the_verilog_is_the_model_with_other_parameters_in_every_task(folder):
    report = simulate(folder, 300, seed=5)
    assert (report.mismatches, report.flagged) == (0, 0)


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
    words = [word["name"] for word in acc.manifest["inputs"]["fd"] if word["name"].startswith("parameters")]
    assert words
    assert len(entry["matrix"]) == len(entry["constants"]) == len(entry["held"]) >= len(words)
