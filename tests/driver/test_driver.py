"""The driver beside the Verilog: equal to the bit-exact model in every bit, and every refusal by its code."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import rbdhw
from rbdhw.cli.process import BAD_INPUT
from rbdhw.design import folder
from rbdhw.design.folder import read
from rbdhw.driver import simulated
from rbdhw.driver.library import Data, Library
from rbdhw.errors import DriverError, InputError
from rbdhw.options.arguments import asked_build
from rbdhw.pipeline import generate
from tests.support.driver_folder import run_at_a_board
from tests.support.urdf_documents import arm_with

TASKS = 100


@pytest.fixture(scope="module")
def engines(loaded_folder):
    return rbdhw.load(loaded_folder), rbdhw.load(loaded_folder, "driver")


@pytest.fixture(scope="module")
def arrays():
    q, v, a = np.random.default_rng(0).uniform(-0.9, 0.9, (3, TASKS, 2))
    return q, v, a


def assert_same(model, driver):
    assert type(model) is type(driver)
    for expected, answer in zip(model, driver, strict=True):
        np.testing.assert_array_equal(expected, answer)


@pytest.mark.parametrize("extended", [False, True])
def test_tasks(engines, arrays, extended):
    model, driver = engines
    assert_same(model.did(*arrays, extended=extended), driver.did(*arrays, extended=extended))
    far = [array * 100.0 for array in arrays]
    assert model.id(*far).status.all()
    assert_same(model.id(*far), driver.id(*far))


def test_one_task(engines, arrays):
    model, driver = engines
    one = [array[0] for array in arrays]
    assert_same(model.id(*one), driver.id(*one))


def test_parameters(engines, arrays):
    model, driver = map(copy.copy, engines)
    for accelerator in (model, driver):
        accelerator.load_payload(0.01)
    assert_same(model.id(*arrays), driver.id(*arrays))
    each = np.repeat(model.parameters[np.newaxis], TASKS, axis=0)
    each[::7] = engines[0].parameters
    assert_same(model.id(*arrays, parameters=each), driver.id(*arrays, parameters=each))


@pytest.mark.parametrize("every", [0, 3, 4])
def test_rollouts(engines, arrays, every):
    rng = np.random.default_rng(5)
    rows = {"std": [0.1, 0.1], "x_nominal": np.zeros(4), "K": rng.uniform(-0.1, 0.1, (8, 2, 4))}
    weights = {"x_ref": np.zeros(4), "Q": [10.0, 10.0, 0.1, 0.1], "R": [1e-4, 1e-4]}
    tau, seed = rng.uniform(-1.0, 1.0, (8, 2)), np.arange(TASKS)
    for states in (True, False):
        options = {"every": every * states, "seed": seed, "states": states, **rows, **weights}
        answers = [accelerator.rollout(*arrays[:2], tau, 0.002, **options) for accelerator in engines]
        assert answers[0].cost.all()
        assert_same(*answers)


@pytest.mark.verify
def test_floating_point_and_two_pairs_of_streams(arrays, tmp_path, capsys):
    options = {"functions": "id", "width": 18, "ii": 4, "tdata": 32, "number": "float32", "streams": 2}
    (tmp_path / "arm.urdf").write_text(arm_with())
    folder.write(generate(tmp_path / "arm.urdf", *asked_build(**options)), tmp_path / "floats")
    model, driver = (rbdhw.load(tmp_path / "floats", engine) for engine in ("model", "driver"))
    of_arm = [array[:, :1] for array in arrays]
    assert_same(model.id(*of_arm), driver.id(*of_arm))
    remark = f"rbdhw: {tmp_path / 'floats'}: the driver uses the first of 2 pairs of streams\n"
    assert capsys.readouterr().err.endswith(remark)


def test_futures_of_all_functions(engines, arrays):
    """Tasks are on their way together, and their answers are taken in another order."""
    model, driver = engines
    calls = [("id" if k % 3 else "did", [array[k] for array in arrays]) for k in range(60)]
    sent = [driver.submit(function, *call) for function, call in calls]
    for (function, call), pending in reversed([*zip(calls, sent, strict=True)]):
        assert_same(getattr(model, function)(*call), pending.result())
        assert pending.done()


def test_a_future_that_nobody_takes_gives_its_place_back(engines, arrays):
    model, driver = engines
    one = [array[0] for array in arrays]
    for _ in range(300):
        driver.submit("id", *one)
    assert_same(model.id(*one), driver.submit("id", *one).result())


def test_too_many_futures(engines, arrays):
    driver = engines[1]
    one, kept = [array[0] for array in arrays], []
    with pytest.raises(DriverError, match="nobody collects"):
        kept.extend(driver.submit("id", *one) for _ in range(300))
    del kept


def test_statistics(loaded_folder, arrays):
    driver = rbdhw.load(loaded_folder, "driver")
    driver.id(*arrays)
    counts = driver.statistics
    assert counts["tasks"] == TASKS
    assert counts["sent"] > 0
    assert counts["tasks_per_second"] > 0.0
    with pytest.raises(InputError, match="engine 'model' has no driver"):
        _ = rbdhw.load(loaded_folder).statistics


def test_a_pickled_object_opens_its_own_link(engines, arrays):
    model, driver = engines
    assert_same(model.id(*arrays), pickle.loads(pickle.dumps(driver)).id(*arrays))


def test_submit_refuses(engines, arrays):
    model, driver = engines
    with pytest.raises(InputError, match="has no driver"):
        model.submit("id", *[array[0] for array in arrays])
    with pytest.raises(InputError, match="those of one task"):
        driver.submit("id", *arrays)
    with pytest.raises(InputError, match="unknown; expected one of id, did"):
        driver.submit("nothing")


@pytest.fixture
def bare(loaded_folder):
    """Return a driver in C, and its simulation."""
    design = read(loaded_folder)
    simulation = simulated.Simulation(simulated.build(loaded_folder))
    driver = Library(design).open(simulation.transport(), simulation.options(quiet=1), "block")
    yield driver
    driver.close()
    simulation.close()


def test_c_limits_numbers_and_flags_those_that_are_not_finite(bare, loaded_folder):
    q, v, status = np.array([[0.1, 0.2], [0.1, np.nan], [0.1, 9.0]]), np.zeros((3, 2)), np.zeros(3, np.uint8)
    tau, limited = np.zeros((3, 2)), np.zeros((1, 2))
    bare.run("id", 0, 3, Data([q, v, v], [tau], status=status))
    assert (status.tolist(), np.isnan(tau).tolist()) == ([0, 8, 1], [[False] * 2, [True] * 2, [False] * 2])
    highest = read(loaded_folder).domain.bounds["q"][1, 1]
    bare.run("id", 0, 1, Data([np.array([[0.1, highest]]), v[:1], v[:1]], [limited], status=status[:1]))
    assert (tau[2].tolist(), status[0]) == (limited[0].tolist(), 0)
    ticket = bare.submit("id", 0, Data([q[1:2], v[:1], v[:1]]))
    bare.collect(ticket, 10**10, Data([], [limited], status=status[:1]))
    assert (status[0], np.isnan(limited).all()) == (8, True)
    with pytest.raises(DriverError, match="infinite or not a number"):
        bare.load_parameters(0, Data([np.full((1, 10), np.nan)], []))


def test_c_refuses_what_the_design_has_not(bare):
    q = np.zeros((1, 2))
    for options in (1, 2 << 8):  # no optional arrays, and no such set
        with pytest.raises(DriverError, match="no such function, set, row"):
            bare.run("id", options, 1, Data([q, q, q], [None]))
    with pytest.raises(DriverError, match="no such function, set, row"):
        bare.run("load", 0, 1, Data([q, q, q], [None]))
    with pytest.raises(DriverError, match="no such function, set, row"):
        bare.rollout(0, 1, 8, 0, Data(words=np.zeros((1, 20), np.int64)))  # no row was loaded
    with pytest.raises(DriverError, match="no such function, set, row"):
        bare.collect(12345, 0, Data())
    with pytest.raises(DriverError, match="no such function, set, row"):
        bare.load_parameters(2, Data(words=np.zeros((1, 10), np.int64)))


@pytest.mark.parametrize("index", [0, 63])
def test_another_design_is_refused(loaded_folder, index):
    """Its identity differs in a digit."""
    design = read(loaded_folder)
    digits = [*design.manifest["identity"]]
    digits[index] = "0" if digits[index] != "0" else "1"
    other = replace(design, manifest={**design.manifest, "identity": "".join(digits)})
    simulation = simulated.Simulation(simulated.build(loaded_folder))
    with pytest.raises(DriverError, match="the accelerator has another design"):
        Library(other).open(simulation.transport(), simulation.options(quiet=1), "block")
    simulation.close()


def board(folder, transport):
    return rbdhw.load(folder, "board", transport=transport, timeout=0.01, attempts=2)


@pytest.mark.parametrize(
    ("transport", "message"),
    [
        (None, "transport: none; expected serial:/dev/ttyUSB0"),
        ("usb:1", "transport: 'usb:1'; expected serial:"),
        ("serial:", "transport: 'serial:'; expected serial:"),
        ("serial:/dev/null,fast", "transport: 'serial:/dev/null,fast'; expected serial:"),
        ("udp:192.168.1.50", "transport: 'udp:192.168.1.50'; expected udp:"),
        ("udp:192.168.1.50:x", "transport: 'udp:192.168.1.50:x'; expected udp:"),
        ("uio:/dev/uio0", "transport: 'uio:/dev/uio0'; expected uio:"),
        (
            "serial:/dev/none",
            "serial:/dev/none: no such device, or it cannot be opened; expected a board with",
        ),
        ("serial:/dev/null", "serial:/dev/null: no such device, or it cannot be opened"),
        ("xdma:/dev/none", "xdma:/dev/none: no such device"),
        ("uio:/dev/none,/dev/none,/dev/none", "no such device"),
    ],
)
def test_boards_that_cannot_be_had(loaded_folder, transport, message):
    with pytest.raises(InputError) as refusal:
        board(loaded_folder, transport)
    assert message in str(refusal.value)


def test_options_that_cannot_be(loaded_folder):
    for engine, options, message in (
        ("model", {"transport": "serial:/dev/null"}, "engine 'model' reaches no board"),
        ("board", {"timeout": 0.0}, "timeout: 0.0; expected seconds"),
        ("board", {"attempts": 0}, "attempts: 0; expected 1 to"),
    ):
        with pytest.raises(InputError) as refusal:
            rbdhw.load(loaded_folder, engine, **options)
        assert message in str(refusal.value)


def test_run_prints_one_line(loaded_folder, tmp_path, capsys):
    assert run_at_a_board(loaded_folder, "serial:/dev/none", tmp_path) == BAD_INPUT
    assert capsys.readouterr().err.startswith("rbdhw: serial:/dev/none: no such device")
