"""Inertial parameters of every task in Verilator: steps of the payload, tasks outside, and random ones."""

from dataclasses import replace

import numpy as np
import pytest

import rbdhw
from rbdhw.design.folder import read, write
from rbdhw.domain.overrides import Overrides, ParameterBounds
from rbdhw.domain.sampling import sample
from rbdhw.engines.registry import open_engine
from rbdhw.header import LOADED, Status
from rbdhw.model.interface import stored_as
from rbdhw.model.packets import answers, contents, encode, field, merge, requests, unpack
from rbdhw.model.responses import respond
from rbdhw.options.build import CoreRequest, Mounting
from rbdhw.pipeline import generate
from rbdhw.protocol import LOAD_PARAMETERS, PARAMETERS
from rbdhw.robot.parameters import nominal_parameters
from rbdhw.robots import path
from rbdhw.sim.simulate import simulate
from rbdhw.verilator.bulk import build, exchange
from rbdhw.verilator.simulator import Disturbance
from tests.support.marks import long
from tests.support.parameters import OPTIONS, SETS, toy_with_parameters

CORES = CoreRequest(("id",), 1), CoreRequest(("fd",), 4)
STEPS = {"functions": ("id", "step"), "width": 24, "horizon": 6, "parameters_by": "load", "parameter_sets": 3}
WHOLE = Overrides(parameters=ParameterBounds(mass=0.2, centre=0.02, inertia=0.2))


@pytest.fixture(scope="module")
def loading(tmp_path_factory):
    made = tmp_path_factory.mktemp("loading") / "toy"
    write(toy_with_parameters("load"), made)
    return made


@pytest.fixture(scope="module")
def bringing(tmp_path_factory):
    made = tmp_path_factory.mktemp("bringing") / "toy"
    write(toy_with_parameters("task"), made)
    return made


@pytest.fixture(scope="module", params=[long("bringing"), "loading"])
def folder(request):
    return request.getfixturevalue(request.param)


def words_of(design, loads, function="fd"):
    """Return the words of tasks that differ only in the mass of the forearm (kg)."""
    arrays = sample(design.robot, design.domain, 1, np.random.default_rng(1))
    tasks = {name: np.repeat(array, len(loads), axis=0) for name, array in arrays.items()}
    tasks[PARAMETERS] = np.repeat(nominal_parameters(design.robot)[None], len(loads), axis=0)
    tasks[PARAMETERS][:, 1, 0] += loads
    return encode(design, function, tasks)


def most_mass(design):
    """Return the largest change of the mass of the forearm."""
    return 0.5 * np.ptp(design.domain.bounds[PARAMETERS][10])


def test_a_payload_in_the_middle_of_a_stream(folder):
    """Each task is computed wholly with its own parameters."""
    design = read(folder)
    words = words_of(design, np.repeat([0.0, 0.9 * most_mass(design), 0.0], 8))
    status, results = open_engine(folder, "rtl").respond("fd", words)
    assert not status.any()
    for name, values in respond(design, "fd", words)[1].items():
        np.testing.assert_array_equal(results[name], values)
    first = np.stack(list(results.values()))
    assert len(np.unique(first[:, :8], axis=1).T) == len(np.unique(first[:, 8:16], axis=1).T) == 1
    assert (first[:, 0] != first[:, 8]).any()
    np.testing.assert_array_equal(first[:, :8], first[:, 16:])


def test_tasks_with_parameters_outside_are_flagged(folder):
    design = read(folder)
    words = words_of(design, most_mass(design) * np.array([0.0, 3.0, 0.5, -3.0]))
    status, _ = open_engine(folder, "rtl").respond("fd", words)
    np.testing.assert_array_equal(status & 1 << Status.OUTSIDE, [0, 1, 0, 1])
    np.testing.assert_array_equal(status, respond(design, "fd", words)[0])


def test_loads_of_wrong_length_change_nothing(loading):
    """Nor do those of a set that is not there. The answers to tasks say which loads came before them."""
    design = read(loading)
    each = {f: words_of(design, np.array([0.0, 0.5 * most_mass(design)]), f) for f in design.functions}
    words, interface = each["fd"], design.interface
    load = {
        interface.stored(word).name: of_function[word.name][1:]
        for function, of_function in each.items()
        for word in interface.words(function).held
    }
    good = requests(design, LOAD_PARAMETERS, np.array([7]), load)
    longer, shorter = np.concatenate([good, good[:, :1]], axis=1), good[:, :-1]
    elsewhere = requests(design, LOAD_PARAMETERS, np.array([7]), load, sets=np.array([SETS]))
    task = requests(design, "fd", np.array([1]), {name: column[:1] for name, column in words.items()})
    packets = dict(
        zip("abcdefghi", (task, longer, task, elsewhere, task, shorter, task, good, task), strict=True)
    )
    sequence = merge({name: np.array([k]) for k, name in enumerate(packets)}, packets)
    came = exchange(build(loading), [sequence], Disturbance())[0].responses
    tasks, loads = (answers(design, came)[name] for name in ("fd", LOAD_PARAMETERS))
    headers = unpack(loads.packets, [])[0]
    malformed = 1 << Status.MALFORMED
    np.testing.assert_array_equal(field(headers, "status"), [malformed, malformed, malformed, 0])
    headers = unpack(tasks.packets, [])[0]
    np.testing.assert_array_equal(field(headers, "options") >> LOADED, [0, 0, 0, 0, 1])
    _, results = contents(design, "fd", tasks.packets)
    _, expected = respond(design, "fd", words)
    for name, values in results.items():
        np.testing.assert_array_equal(values, expected[name][[0, 0, 0, 0, 1]])


def test_random_parameters_of_tasks(folder):
    """Loads come between tasks, and each task takes a set."""
    report = simulate(folder, 300, seed=6, bulk=True)
    assert (report.mismatches, report.flagged) == (0, 0)


def test_several_cores_take_loads(loading):
    """A load has a word for each format, in slots of its own: ``m`` has parameters where ``id`` has rates."""
    design = read(loading)
    for function in ("id", "m"):
        words = words_of(design, most_mass(design) * np.array([0.0, 3.0, 0.5, -3.0]), function)
        status, results = open_engine(loading, "rtl").respond(function, words)
        np.testing.assert_array_equal(status & 1 << Status.OUTSIDE, [0, 1, 0, 1])
        expected = respond(design, function, words)
        np.testing.assert_array_equal(status, expected[0])
        for name, values in results.items():
            np.testing.assert_array_equal(values, expected[1][name])
    interface = design.interface
    loads, held = interface.inputs(LOAD_PARAMETERS), (*interface.words("id").held, *interface.words("m").held)
    assert {interface.stored(word) for word in held} == set(loads)
    assert {stored_as(word) for word in held} == {stored_as(word) for word in loads}
    assert min(word.slot for word in loads) > max(word.slot for word in held)
    names = [word.name for word in loads]
    assert len(set(names)) == len(names) > len(interface.words("id").held)


@pytest.mark.verify
def test_rollouts_take_loads(tmp_path):
    """A rollout has the parameters of its set when it enters, whatever is loaded while it takes steps."""
    options = replace(OPTIONS, functions=("step",), ii=4, horizon=6, parameters_by="load")
    write(generate(path("toy"), replace(options, width=24, parameter_sets=2)), tmp_path / "toy")
    report = simulate(tmp_path / "toy", 100, seed=3)
    assert report.mismatches == report.rollouts.mismatches == 0
    model, verilog = (rbdhw.load(tmp_path / "toy", engine) for engine in ("model", "rtl"))
    state, forces = np.zeros((3, 2)), np.zeros((5, 2))
    parameters = np.repeat(model.parameters[None], 3, axis=0)
    parameters[1, 1, 0] *= 1.1
    expected = model.rollout(state, state, forces, 1e-3, parameters=parameters)
    simulated = verilog.rollout(state, state, forces, 1e-3, parameters=parameters)
    np.testing.assert_array_equal(simulated.states, expected.states)
    assert (simulated.states[0] == simulated.states[2]).all()
    assert (simulated.states[0] != simulated.states[1]).any()
    model.load_parameters(parameters[1], set=1)
    chosen = model.rollout(state[0], state[0], forces, 1e-3, parameter_set=1)
    np.testing.assert_array_equal(chosen.states, expected.states[1])


@pytest.mark.parametrize(
    ("name", "base", "functions", "way"),
    [
        long("toy", "fixed", ("id", "fd", "dfd"), "load", minutes=1),
        long("toy", "given", ("id", "fd", "did"), "task", minutes=1),
        long("hyq", "floating", ("id",), "load", minutes=3),
    ],
)
def test_ten_thousand_random_parameters(tmp_path, name, base, functions, way):
    mounting = Mounting(base, parameters="inertias")
    options = replace(OPTIONS, mounting=mounting, functions=functions, ii=4, parameters_by=way)
    write(generate(path(name), options, WHOLE), tmp_path / name)
    report = simulate(tmp_path / name, 10_000, seed=7, bulk=True)
    assert report.mismatches == 0
    assert report.flagged <= 100


@pytest.mark.verify(minutes=0.5)
@pytest.mark.parametrize(
    "changes",
    [
        {"core": "array", "ii": 32},
        {"number": "float32"},
        {"cores": CORES, "ii": None},
        {"core": "array", "ii": 32, "parameters_by": "load"},
        {"number": "float32", "parameters_by": "load"},
        {"copies": 2, "parameters_by": "load", "parameter_sets": 8},
        {"cores": CORES, "ii": None, "number": "float32", "parameters_by": "load"},
        STEPS | {"rollout": ("samples", "cost")},
        STEPS
        | {"number": "float32", "cores": (CoreRequest(("id",), 1), CoreRequest(("step",), 4)), "ii": None},
        {"streams": 2, "parameters_by": "load", "parameter_sets": 2},
    ],
    ids=[
        "array",
        "float32",
        "cores",
        "array-load",
        "float32-load",
        "copies-load",
        "cores-float32-load",
        "rollouts-load",
        "rollouts-cores-float32-load",
        "streams-load",
    ],
)
def test_other_accelerators(tmp_path, changes):
    options = replace(OPTIONS, mounting=Mounting(parameters="inertias"), **changes)
    write(generate(path("toy"), options, WHOLE), tmp_path / "toy")
    report = simulate(tmp_path / "toy", 1000, seed=8, bulk=True)
    assert report.mismatches == 0
    assert report.rollouts is None or report.rollouts.mismatches == 0
    assert report.flagged <= 10
