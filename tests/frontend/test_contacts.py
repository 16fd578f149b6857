"""Contacts: golden against Pinocchio, graphs against golden, by every mask and on random trees."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rbdhw
from rbdhw import golden
from rbdhw.domain.overrides import ContactNumbers, Overrides
from rbdhw.domain.robot_overrides import override_robot
from rbdhw.errors import InputError
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.functions import trace
from rbdhw.frontend.read import load_mounted
from rbdhw.frontend.solvability import check_contacts
from rbdhw.graph.graph import Op
from rbdhw.model.arrays import check_arrays
from rbdhw.options.arguments import asked_build
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.link_frames import choose_contacts, choose_frames
from rbdhw.robot.model import BASE, FRAME_AXES, Contacts, JointKind
from rbdhw.robot.mounting import Mounting
from rbdhw.robots import path
from tests.support.contacts import HELD, constrained, with_contacts
from tests.support.graph_results import (
    assert_extended_graph_is_golden,
    assert_graph_is_golden,
    assert_results_are_golden,
    prepared,
    results,
)
from tests.support.marks import long, quick_among
from tests.support.mechanisms import mechanism
from tests.support.strategies import ALL_KINDS, random_states, robots

FEET = tuple((f"{leg}_lowerleg@0.346:0:0", "point") for leg in ("lf", "lh", "rf", "rh"))

TOUCHING = tuple(function for function, entry in FUNCTIONS.items() if entry.touches)

QUICK = ("world-cfd", "local-dcfd")
"""Axes and functions of graphs that others resemble."""

KINDS = tuple(kind for kind in ALL_KINDS if kind is not JointKind.UNIVERSAL)
"""Pinocchio's constrained dynamics take every motion subspace for constant in its body."""


def hyq():
    return load_mounted(path("hyq"), Mounting("floating", contacts=FEET))


@pytest.mark.parametrize(
    ("function", "axes"),
    quick_among(
        [*product(("cfd", "impulse", "cinertia"), FRAME_AXES), ("dcfd", "local")],
        *(("cfd", "local"), ("impulse", "world"), ("cinertia", "local"), ("dcfd", "local")),
    ),
)
@settings(max_examples=10)
@given(robots(max_bodies=6, kinds=KINDS), st.integers(1, 3))
def test_golden_is_pinocchio(function, axes, robot, count):
    robot = with_contacts(robot, count, axes)
    arrays = random_states(robot, 2, seed=1)
    solution = golden.evaluate(robot, function, arrays)
    for name, expected in constrained(robot, function, arrays).items():
        tolerance = 1e-9 * max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(solution[name], expected, rtol=0, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("axes", FRAME_AXES)
def test_the_inertia_of_contacts_gives_their_forces(axes):
    """Forces are the inertia times what the contacts lack: a change of the joint forces shows it."""
    robot = with_contacts(hyq(), 2, axes, seed=3)
    arrays = random_states(robot, 2, seed=4) | {"contact": np.array([[1.0, 1.0], [0.0, 1.0]])}
    solution = golden.evaluate(robot, "cfd", arrays)
    inertia = golden.evaluate(robot, "cinertia", arrays)["contact_inertia"]
    assert inertia == pytest.approx(inertia.swapaxes(1, 2), abs=1e-9)
    assert not inertia[1, :6].any()
    pushed = arrays | {"tau": arrays["tau"] + 1.0}
    change = golden.evaluate(robot, "cfd", pushed)["contact_force"] - solution["contact_force"]
    free = golden.evaluate(robot, "minv", arrays)["Minv"].sum(axis=2)
    rows = np.concatenate([*golden.contact_jacobians(robot, arrays["q"]).values()], axis=1)
    kept = np.concatenate(
        [np.arange(6 * k, 6 * k + place.rows) for k, place in enumerate(robot.contacts.places)]
    )
    lacking = -np.einsum("tij,tj->ti", rows, free)
    expected = np.einsum("tij,tj->ti", inertia[:, kept][:, :, kept], lacking)
    np.testing.assert_allclose(change.reshape(2, -1)[:, kept], expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("axes", ["local", long("world")])
def test_derivatives_of_forces_are_differences(axes):
    robot = with_contacts(hyq(), 2, axes, seed=3)
    arrays = random_states(robot, 2, seed=4) | {"contact": np.array([[1.0, 1.0], [1.0, 0.0]])}
    derivatives = golden.evaluate(robot, "dcfd", arrays, extended=True)
    for name in ("v", "tau"):
        for k in range(robot.nv):
            step = 1e-5 * np.eye(robot.nv)[k]
            after, before = (
                golden.evaluate(robot, "cfd", arrays | {name: arrays[name] + change})["contact_force"]
                for change in (step, -step)
            )
            slope, expected = derivatives[f"dforce_d{name}"][..., k], (after - before) / 2e-5
            np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("axes", [long("local"), "world"])
def test_derivatives_by_damping_and_gains_are_pinocchios_differences(axes):
    arrays = random_states(hyq(), 2, seed=4) | {"contact": np.array([[1.0, 1.0], [1.0, 0.0]])}

    def results(numbers):
        robot = with_contacts(hyq(), 2, axes, seed=3, numbers=replace(HELD, **numbers))
        return constrained(robot, "cfd", arrays)

    robot = with_contacts(hyq(), 2, axes, seed=3, numbers=replace(HELD, by_task=True))
    holding = np.tile([HELD.damping, HELD.velocity_gain, 0.0], (2, 1))
    derivatives = golden.evaluate(robot, "dcfd", arrays | {"holding": holding}, extended=True)
    for k, number in enumerate(("damping", "velocity_gain")):
        value = getattr(HELD, number)
        after, before = (results({number: value + step}) for step in (1e-5 * value, -1e-5 * value))
        for array, slopes in (("a", "da_dholding"), ("contact_force", "dforce_dholding")):
            expected = (after[array] - before[array]) / (2e-5 * (value if k else 1.0))
            atol = 1e-6 * np.abs(expected).max()
            np.testing.assert_allclose(derivatives[slopes][..., k], expected, rtol=1e-6, atol=atol)
    assert not derivatives["da_dholding"][..., 2].any()
    assert not derivatives["dforce_dholding"][1, 1].any()
    constant = with_contacts(hyq(), 2, axes, seed=3)
    assert "da_dholding" not in golden.evaluate(constant, "dcfd", arrays, extended=True)


@pytest.mark.parametrize(
    ("function", "axes"),
    [
        (function, axes) if f"{axes}-{function}" in QUICK else long(function, axes)
        for axes in FRAME_AXES
        for function in TOUCHING
    ],
)
@settings(max_examples=5)
@given(robots(max_bodies=3, kinds=ALL_KINDS, mimics=True), st.integers(1, 3), st.booleans())
def test_graphs_are_golden(function, axes, robot, count, base_given):
    assert_extended_graph_is_golden(with_contacts(robot, count, axes), function, base_given)


@pytest.mark.parametrize(
    ("function", "base", "algorithms"),
    [
        (function, base, algorithms)
        if k % 6 == i and function == "impulse"
        else long(function, base, algorithms)
        for k, function in enumerate(TOUCHING)
        for i, (base, algorithms) in enumerate(
            product(
                ("floating", "any"),
                (
                    Algorithms(),
                    Algorithms(
                        axes="shared", products="solves", inverse="single_pivots", gradient="repeated"
                    ),
                    Algorithms(axes="shared", inverse="block_pivots"),
                ),
            )
        )
    ],
)
def test_hyq_by_every_algorithm(function, base, algorithms):
    robot = load_mounted(path("hyq"), Mounting(base, contacts=FEET))
    robot = replace(robot, contacts=replace(robot.contacts, damping=1e-2))
    assert_graph_is_golden(robot, 3, algorithms, (function,), within=1e-7)


def test_every_mask_is_the_robot_with_these_contacts_alone():
    robot = hyq()
    masks = np.array([*product((0.0, 1.0), repeat=len(FEET))])
    arrays = random_states(robot, len(masks), seed=4) | {"contact": masks}
    del arrays["fext"]
    graph = trace(prepared(robot), ("cfd",))
    solution = results(graph, robot, arrays, ("cfd",))["cfd"]
    for row, mask in enumerate(masks):
        feet = [foot for foot, there in zip(FEET, mask, strict=True) if there]
        task = {name: array[row : row + 1] for name, array in arrays.items() if name != "contact"}
        alone = choose_contacts(robot, feet) if feet else robot
        expected = golden.evaluate(alone, "cfd" if feet else "fd", task)
        np.testing.assert_allclose(solution["a"][row], expected["a"][0], rtol=1e-7, atol=1e-7)
        forces = solution["contact_force"][row]
        assert not forces[mask == 0.0].any()
        if feet:
            np.testing.assert_allclose(
                forces[mask == 1.0], expected["contact_force"][0], rtol=1e-7, atol=1e-7
            )


@pytest.mark.parametrize(("function", "free", "most"), [("cfd", "fd", 2200), long("dcfd", "dfd", 20000)])
def test_contacts_of_hyq_take_few_products(function, free, most):
    robot = prepared(hyq())
    solves = Algorithms(products="solves")

    def products(function):
        graph = trace(robot, (function,), (), solves)
        return graph.count(Op.MULTIPLY) + graph.count(Op.SCALE)

    assert products(function) - products(free) <= most


def test_damping_holds_contacts_that_depend_on_each_other():
    feet = [(body.name, "surface") for body in hyq().bodies[1:]]
    robot = choose_contacts(hyq(), feet)
    arrays = random_states(robot, 2, seed=5) | {"contact": np.ones((2, len(feet)))}
    still = arrays | {"v": 0.0 * arrays["v"]}
    assert np.abs(golden.evaluate(robot, "cfd", still)["a"]).max() < 1e-2


def test_masks_are_checked():
    robot = hyq()
    arrays = {name: array for name, array in random_states(robot, 2, seed=6).items() if name in ("q", "v")}
    assert check_arrays(robot, (), arrays)["contact"].all()
    with pytest.raises(
        InputError, match=r"row 1, contact 'rf_lowerleg@0.346:0:0': 0\.5; expected 1 for a contact, 0"
    ):
        check_arrays(robot, (), arrays | {"contact": np.array([[1, 0, 0, 1], [0, 0, 0.5, 1]])})
    with pytest.raises(InputError, match="array 'contact': shape"):
        check_arrays(robot, (), arrays | {"contact": np.ones((2, 3))})
    with pytest.raises(InputError, match="array 'contact': no contacts are built"):
        check_arrays(replace(robot, contacts=Contacts()), (), arrays | {"contact": np.ones((2, 4))})


def test_a_domain_file_says_how_contacts_are_held():
    asked = Overrides(contacts=ContactNumbers(damping=1e-3, velocity_gain=10.0))
    contacts = override_robot(hyq(), asked).contacts
    assert (contacts.damping, contacts.velocity_gain, contacts.restitution) == (1e-3, 10.0, 0.0)
    with pytest.raises(InputError, match="domain, contacts: toy has none"):
        override_robot(load_mounted(path("toy"), Mounting()), asked)


def test_a_point_that_no_joint_moves_is_refused():
    robot = load_mounted(path("iiwa14"), Mounting())
    with pytest.raises(InputError, match="the origin of link 'iiwa_link_1' does not move"):
        check_contacts(choose_contacts(robot, [("iiwa_link_1", "point")]))
    check_contacts(choose_contacts(robot, [("iiwa_link_1", "surface"), ("iiwa_link_7", "point")]))


@pytest.mark.parametrize(
    "function", [long(function) if function in ("dcfd", "dcstep") else function for function in TOUCHING]
)
def test_tasks_bring_damping_and_gains(function):
    robot = with_contacts(mechanism([JointKind.REVOLUTE] * 3, [BASE, 0, 1], seed=1), 2, "world")
    robot = replace(robot, contacts=replace(robot.contacts, by_task=True))
    arrays = random_states(robot, 2, seed=2) | {"holding": np.array([[1e-2, 3.0, 0.0], [0.1, 0.0, 0.0]])}
    entry, elements = FUNCTIONS[function], prepared(robot)
    graph = trace(elements, (function,), elements.links)
    assert_results_are_golden(graph, robot, arrays, (function,), 1e-6, bool(entry.optional_outputs))
    solution = golden.evaluate(robot, function, arrays)
    numbers = {"damping": 1e-2, "velocity_gain": 3.0, "by_task": False}
    alone = replace(robot, contacts=replace(robot.contacts, **numbers))
    for name, expected in golden.evaluate(alone, function, arrays).items():
        np.testing.assert_allclose(solution[name][0], expected[0], rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("without_verilog")
@pytest.mark.usefixtures("few_samples", "only_heading")
def test_hardware_and_c_take_damping_and_gains(tmp_path):
    options = {
        "contacts": "tip:point",
        "contact_gains": "task",
        "functions": "cfd,dcfd",
        "domain": tmp_path / "d.toml",
    }
    options["domain"].write_text("[contacts]\ndamping = 1e-2\n")
    task = {"q": [0.2, -0.4], "v": [1.0, 0.5], "tau": [3.0, 1.0], "holding": [0.1, 20.0, 0.0]}
    robot = load_mounted(path("toy"), Mounting(contacts=(("tip", "point"),), contact_gains="task"))
    tasks = {name: np.array([x]) for name, x in task.items()}
    expected = golden.evaluate(robot, "cfd", tasks)["a"][0]
    slopes = golden.evaluate(robot, "dcfd", tasks, extended=True)
    for name, more in (
        ("c", {"target": "c"}),
        ("v", {"ii": 16, "width": 24, "max_error": 0.1}),
    ):
        rbdhw.generate(path("toy"), tmp_path / name, **options, **more)
        acc = rbdhw.load(tmp_path / name)
        rtol = 1e-2 if name == "v" else 1e-9
        np.testing.assert_allclose(acc.cfd(**task).a, expected, rtol=rtol)
        derivatives = acc.dcfd(**task, extended=True)
        for array in ("da_dholding", "dforce_dholding"):
            np.testing.assert_allclose(getattr(derivatives, array), slopes[array][0], rtol=rtol)
        with pytest.raises(InputError, match="holding"):
            acc.cfd(task["q"], task["v"], task["tau"])


def test_gains_of_tasks_are_for_builds_that_take_them():
    with pytest.raises(InputError, match="contact-gains: solve has the same robot in all steps"):
        asked_build(functions="solve", target="c", contacts="tip:point", contact_gains="task")
    with pytest.raises(InputError, match="contact-gains: 'maybe' is unknown"):
        asked_build(functions="cfd", contacts="tip:point", contact_gains="maybe")
    arrays = {name: array for name, array in random_states(hyq(), 2, seed=6).items() if name in ("q", "v")}
    with pytest.raises(InputError, match="array 'holding': damping and gains are constant in this build"):
        check_arrays(hyq(), (), arrays | {"holding": np.ones((2, 3))})


@pytest.mark.parametrize(("step", "derivatives"), [long("step", "dstep"), ("cstep", "dcstep")])
def test_external_forces_move_a_step_as_joint_forces_do(step, derivatives):
    """``dfext`` and the step's ``B`` have the derivatives by forces on links."""
    robot = hyq()
    links = [body.name for body in robot.bodies]
    robot = replace(choose_frames(robot, links, "local"), time_step=2.0**-7)
    arrays = random_states(robot, 1, seed=7) | {"contact": np.ones((1, len(FEET)))}
    B = golden.evaluate(robot, derivatives, arrays)["B"][0]
    columns = golden.evaluate(robot, "dfext", arrays)["dtau_dfext"][0]
    push = np.random.default_rng(8).uniform(-1.0, 1.0, (len(links), 6))
    after, before = (
        golden.evaluate(robot, step, arrays | {"fext": arrays["fext"] + size * push})["x_next"][0, robot.nq :]
        for size in (1e-4, -1e-4)
    )
    expected = -B @ np.einsum("vlk,lk->v", columns, push)
    np.testing.assert_allclose((after - before) / 2e-4, expected[robot.nv :], rtol=1e-5, atol=1e-6)
