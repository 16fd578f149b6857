"""Rollouts whose steps have contacts: rows say which, and each rollout how they are held."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import rbdhw
from rbdhw import golden
from rbdhw.design.folder import read, write
from rbdhw.domain.overrides import ContactNumbers, Overrides
from rbdhw.errors import InputError
from rbdhw.front.run import run
from rbdhw.frontend.read import load_mounted
from rbdhw.model.packets import OUTSIDE
from rbdhw.model.rollouts.codec import prepare
from rbdhw.options.arguments import asked_build
from rbdhw.options.build import BuildOptions, CoreRequest, Mounting
from rbdhw.pipeline import generate, plan_build
from rbdhw.protocol import LOAD, ROLLOUT, ROLLOUT_PARTS
from rbdhw.robot.mounting import OF_DOMAIN, PER_TASK
from rbdhw.robots import path
from rbdhw.sim.simulate import simulate
from rbdhw.verilator.simulator import Disturbance
from tests.support.headings import headings
from tests.support.marks import long
from tests.support.rollouts import HORIZON, Stream, calm, first_states
from tests.support.shared import shared_folder

TIP = (("tip", "point"),)
SOFT = Overrides(contacts=ContactNumbers(damping=0.1, velocity_gain=3.0))
GAIT = np.array([[1], [1], [0], [1], [0], [0]])


def options_of(parts: tuple[str, ...]) -> BuildOptions:
    gains = PER_TASK if parts else OF_DOMAIN
    return BuildOptions(
        ("id", "rollout"),
        width=24,
        samples=512,
        data_width=128,
        horizon=HORIZON,
        rollout=parts,
        mounting=Mounting(contacts=TIP, contact_gains=gains),
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return the folder of the toy with rollouts with a contact and some parts; with parts, tasks hold it."""

    def made(*parts: str) -> Path:
        options = options_of(parts)
        name = "-".join(("touching", *parts))
        return shared_folder(
            tmp_path_factory, name, lambda folder: write(generate(path("toy"), options, SOFT), folder)
        )

    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder without parts, and without Verilog."""
    folder = tmp_path_factory.mktemp("touching") / "toy"
    with headings():
        write(generate(path("toy"), options_of(()), SOFT), folder)
    return folder


def touching(folder: Path, tasks: int, seed: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return calm first states, in different ways held by contacts if tasks say how, and rows."""
    design = read(folder)
    arrays = calm(design, tasks, seed)
    rows = {"tau": arrays.pop("tau"), "contact": GAIT}
    if design.robot.contacts.by_task:
        bounds = np.asarray(design.domain.bounds["holding"]).T
        arrays["holding"] = np.random.default_rng(seed).uniform(*bounds, (tasks, 3))
    return arrays, rows


@pytest.mark.parametrize("parts", [(), long(tuple(ROLLOUT_PARTS))])
def test_a_rollout_is_a_loop_of_steps_with_the_contacts_of_their_rows(
    made: Callable[..., Path], folder: Path, parts: tuple[str, ...]
) -> None:
    design = made(*parts) if parts else folder
    acc, (state, rows) = rbdhw.load(design, "numpy"), touching(design, 5, seed=1)
    rollouts = acc.rollout(**state, **rows, every=1)
    assert not rollouts.status.any()
    for force, contact, states in zip(rows["tau"], GAIT, rollouts.states.swapaxes(0, 1), strict=True):
        after = acc.cstep(**state, tau=force, contact=contact).x_next
        np.testing.assert_array_equal(states, after)
        state |= {"q": after[:, :2], "v": after[:, 2:]}


def test_contacts_change_rollouts(folder: Path) -> None:
    acc, (state, rows) = rbdhw.load(folder, "numpy"), touching(folder, 5, seed=1)
    near = rbdhw.load(folder, "golden").rollout(**state, **rows, every=1).states
    reached = acc.rollout(**state, **rows, every=1).states
    np.testing.assert_allclose(reached, near, atol=5e-3)
    every = acc.rollout(**state, tau=rows["tau"]).states
    np.testing.assert_array_equal(every, acc.rollout(**state, tau=rows["tau"], contact=[1]).states)
    assert np.abs(every - reached[:, -1:]).max() > 0.1


def test_golden_rollouts_are_golden_steps(folder: Path) -> None:
    acc, (state, rows) = rbdhw.load(folder, "golden"), touching(folder, 5, seed=2)
    rollouts = acc.rollout(**state, **rows, every=1)
    limits = read(folder).domain.bounds["tau"]
    for k, force in enumerate(np.clip(rows["tau"], limits[:, 0], limits[:, 1])):
        shared = {"tau": np.tile(force, (5, 1)), "contact": np.tile(GAIT[k], (5, 1))}
        after = golden.evaluate(acc.robot, "cstep", state | shared)["x_next"]
        np.testing.assert_array_equal(rollouts.states[:, k], after)
        state |= {"q": after[:, :2], "v": after[:, 2:]}


@pytest.mark.parametrize("parts", [long(()), long(("cost",)), long(tuple(ROLLOUT_PARTS))])
def test_the_hardware_has_the_contacts_of_each_row(made: Callable[..., Path], parts: tuple[str, ...]) -> None:
    report = simulate(made(*parts), 60, seed=4, bulk=True)
    assert report.rollouts is not None
    assert (report.rollouts.tasks, report.mismatches) == (60, 0)
    assert report.rollouts.flagged < 20


@pytest.mark.verify
def test_contacts_beyond_one_are_limited_when_they_are_loaded(made: Callable[..., Path]) -> None:
    design = read(made())
    rollouts = prepare(design, first_states(design, 2, seed=3), 0)
    word = next(word for word in design.interface.inputs(LOAD) if word.array == "contact")
    assert (word.name, word.highest) == ("contact[0]", 1)
    row = {name: int(values[0]) for name, values in rollouts.rows.items()}
    stream = Stream(design)
    stream.row(0, row | {word.name: word.format.lowest}, 1, OUTSIDE)
    limited = {name: np.array([value]) for name, value in (row | {word.name: 0}).items()}
    stream.rollouts(dict(rollouts.words), limited, 1, 0, np.arange(2))
    stream.check(made(), Disturbance())


@pytest.mark.verify
@pytest.mark.parametrize("parts", [(), tuple(ROLLOUT_PARTS)])
def test_the_driver_loads_contacts(made: Callable[..., Path], parts: tuple[str, ...]) -> None:
    folder = made(*parts)
    state, rows = touching(folder, 5, seed=5)
    expected = rbdhw.load(folder, "numpy").rollout(**state, **rows)
    rollouts = rbdhw.load(folder, "driver").rollout(**state, **rows)
    np.testing.assert_array_equal(rollouts.states, expected.states)


def test_contacts_from_a_file(folder: Path, tmp_path: Path) -> None:
    state, rows = touching(folder, 5, seed=5)
    expected = rbdhw.load(folder, "numpy").rollout(**state, **rows)
    np.savez(tmp_path / "x.npz", **state, **rows)
    outcome = run(folder, ROLLOUT, tmp_path / "x.npz", tmp_path / "y.npz", "numpy")
    assert (outcome.tasks, outcome.ignored) == (5, ())
    np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["states"], expected.states)


def test_contacts_that_cannot_be(folder: Path) -> None:
    (state, rows), acc = touching(folder, 5, seed=6), rbdhw.load(folder, "numpy")
    for contact, text in (
        (np.ones((2, 1)), r"array 'contact': shape \(2, 1\); expected \(6, 1\), or \(1,\) for all steps"),
        (2.0 * GAIT, "array 'contact', row 0, column 0: 2; expected 0 to 1"),
        (0.5 * GAIT, "array 'contact', row 0, contact 'tip': 0.5; expected 1 for a contact, 0 for none"),
    ):
        with pytest.raises(InputError, match=text):
            acc.rollout(**state, **rows | {"contact": contact})


@pytest.mark.verify
def test_how_contacts_are_held_is_told(made: Callable[..., Path], folder: Path) -> None:
    state, rows = touching(folder, 5, seed=6)
    with pytest.raises(InputError, match="array 'holding': missing; expected q, v, h, holding for cstep"):
        rbdhw.load(made(*ROLLOUT_PARTS), "numpy").rollout(**state, **rows)


def test_rollouts_of_free_steps_take_no_contacts() -> None:
    options = BuildOptions(
        ("rollout", "step"), width=24, samples=128, horizon=HORIZON, mounting=Mounting(contacts=TIP)
    )
    model = plan_build(load_mounted(path("toy"), options.mounting), options, SOFT).accelerator
    states = {"q": np.zeros((1, 2)), "v": np.zeros((1, 2)), "h": np.full(1, 2e-3)}
    with pytest.raises(InputError, match="array 'contact': rollouts of this folder have no contacts"):
        prepare(model, states | {"tau": np.zeros((HORIZON, 2)), "contact": GAIT}, 0)


def test_which_steps_rollouts_take() -> None:
    """Those with contacts where the build has any, unless it names the others."""
    for functions, expected in (
        ("rollout,cfd", ("cstep", "cfd")),
        ("rollout,cstep", ("cstep",)),
        ("rollout,step,cfd", ("step", "cfd")),
    ):
        options, _ = asked_build(functions=functions, contacts="tip:point")
        assert (options.functions, options.rolled) == (expected, expected[0])
    options, _ = asked_build(cores="rollout:2 id", contacts="tip:point", horizon=9)
    assert options.cores == (CoreRequest(("cstep",), 2), CoreRequest(("id",), 1))
    assert [core.horizon for core in options.each_core()] == [9, None]
    with pytest.raises(InputError, match="cores: rollouts return to one core, and cstep has copies"):
        asked_build(functions="rollout", contacts="tip:point", copies=2)


@pytest.mark.verify(minutes=8)
def test_a_floating_quadruped_on_its_feet(tmp_path: Path) -> None:
    feet = tuple((f"{leg}_lowerleg@0.346:0:0", "point") for leg in ("lf", "rf", "lh", "rh"))
    sizes = {"width": 24, "ii": 16, "samples": 512, "horizon": HORIZON}
    options = BuildOptions(("rollout",), **sizes, mounting=Mounting("floating", contacts=feet))
    design = generate(path("hyq"), options, Overrides(contacts=ContactNumbers(damping=1e-2)))
    write(design, tmp_path / "design")
    report = simulate(tmp_path / "design", 100, seed=5, bulk=True)
    assert report.rollouts is not None
    assert (report.mismatches, report.ok) == (0, True)
