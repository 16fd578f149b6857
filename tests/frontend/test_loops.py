"""Loops of links: golden against Pinocchio where they are closed, graphs against golden anywhere."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rbdhw
from rbdhw import golden
from rbdhw.domain.overrides import ContactNumbers, Overrides
from rbdhw.domain.robot_overrides import override_robot
from rbdhw.errors import InputError
from rbdhw.frontend.functions import trace
from rbdhw.frontend.read import load_mounted
from rbdhw.frontend.solvability import check_loops
from rbdhw.graph.graph import Op
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import plan_build
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.link_frames import choose_contacts, choose_loops
from rbdhw.robot.loops import read_loops
from rbdhw.robot.model import BASE, Contact, Contacts, Frame, JointKind, Placement, Robot
from rbdhw.robot.mounting import Mounting
from rbdhw.robots import path
from rbdhw.software import solver_library
from tests.support.contacts import HELD, constrained
from tests.support.graph_results import (
    assert_extended_graph_is_golden,
    assert_results_are_golden,
    prepared,
    results,
)
from tests.support.marks import long
from tests.support.mechanisms import mechanism
from tests.support.same_bits import assert_hardware_and_c_are_the_program
from tests.support.strategies import ALL_KINDS, random_rotation, random_states, robots

KINDS = tuple(kind for kind in ALL_KINDS if kind is not JointKind.UNIVERSAL)

TOUCHING = tuple(function for function, entry in FUNCTIONS.items() if entry.touches)

CHOSEN = ("cfd", "impulse", "dcstep")
"""Functions whose tasks choose the base of a floating robot in tests that take little."""

ANKLE = (("rod", "lf_lowerleg@0.1:0.02:0.03", "lf_hipassembly@0.1:0:0"),)

PARALLELOGRAM = Path(__file__).parents[1] / "robots" / "parallelogram.urdf"

PIN = (("pin", "coupler@0.5:0:0", "rocker@0:0:0.3"),)


def with_loops(robot: Robot, count: int, seed: int, numbers: Contacts = HELD) -> Robot:
    """Return the robot with loops between random frames of two of its bodies, or of one and the base."""
    rng = np.random.default_rng(seed)
    places = []
    for k in range(count):
        i, j = rng.permutation([-1, *range(len(robot.bodies))])[:2]
        first, second = max(i, j), min(i, j)
        frames = [
            Frame(
                f"loop {k}",
                robot.bodies[body].name if body >= 0 else "",
                Placement(random_rotation(rng), (x, y, z)),
            )
            for body in (first, second)
            for x, y, z in [rng.uniform(-0.3, 0.3, 3).tolist()]
        ]
        places.append(Contact(frames[0], "point", frames[1]))
    return replace(robot, contacts=replace(numbers, places=tuple(places), position_gain=5.0))


def closed(robot: Robot, arrays: dict[str, np.ndarray]) -> tuple[Robot, dict[str, np.ndarray]]:
    """Return the robot with its loops closed in the pose of the only task, and the task with them at rest."""
    places = []
    for loop in robot.contacts.places:
        gap = golden.loop_gaps(robot, (loop,), arrays["q"])[0][0]
        placement = loop.frame.placement
        shifted = np.array(placement.translation) - np.array(placement.rotation) @ gap
        moved = replace(placement, translation=tuple(shifted.tolist()))
        places.append(replace(loop, frame=replace(loop.frame, placement=moved)))
    robot = replace(robot, contacts=replace(robot.contacts, places=tuple(places)))
    gaps, jacobians = golden.loop_gaps(robot, places, arrays["q"])
    assert np.abs(gaps).max() < 1e-12
    v = arrays["v"][0] - np.linalg.pinv(jacobians[0]) @ jacobians[0] @ arrays["v"][0]
    return robot, arrays | {"v": v[None]}


@pytest.mark.parametrize("function", ["cfd", "cinertia"])
@settings(max_examples=10)
@given(robots(max_bodies=6, kinds=KINDS), st.integers(1, 3), st.integers(0, 99))
def test_golden_is_pinocchio_where_loops_are_closed(function, robot, count, seed):
    robot, arrays = closed(with_loops(robot, count, seed), random_states(robot, 1, seed=1))
    arrays["contact"] = np.ones((1, count))
    solution = golden.evaluate(robot, function, arrays)
    for name, expected in constrained(robot, function, arrays).items():
        tolerance = 1e-9 * max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(solution[name], expected, rtol=0, atol=tolerance, err_msg=name)


@pytest.mark.parametrize(
    "function",
    [function if function in ("cfd", "cinertia") else long(function) for function in TOUCHING],
)
@settings(max_examples=5)
@given(
    robots(max_bodies=3, kinds=ALL_KINDS, mimics=True), st.integers(1, 2), st.integers(0, 99), st.booleans()
)
def test_graphs_are_golden(function, robot, count, seed, base_given):
    assert_extended_graph_is_golden(with_loops(robot, count, seed), function, base_given)


@settings(max_examples=10)
@given(robots(max_bodies=6, kinds=KINDS), st.integers(1, 2), st.integers(0, 99))
def test_derivatives_are_pinocchios_differences_along_motions_that_loops_permit(robot, count, seed):
    """Pinocchio's own derivatives leave out how the forces of a loop turn."""
    robot, arrays = closed(with_loops(robot, count, seed), random_states(robot, 1, seed=1))
    arrays["contact"] = np.ones((1, count))
    _, jacobians = golden.loop_gaps(robot, robot.contacts.places, arrays["q"])
    free = np.eye(robot.nv) - np.linalg.pinv(jacobians[0]) @ jacobians[0]
    motion = free @ np.random.default_rng(2).uniform(-1.0, 1.0, robot.nv)
    after, before = (_moved(robot, arrays, step * motion) for step in (1e-5, -1e-5))
    expected = (constrained(robot, "cfd", after)["a"] - constrained(robot, "cfd", before)["a"])[0] / 2e-5
    change = (after["v"] - before["v"])[0] / 2e-5
    slopes = golden.evaluate(robot, "dcfd", arrays)
    slope = slopes["da_dq"][0] @ motion + slopes["da_dv"][0] @ change
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-4 * scale)


def test_derivatives_by_gains_are_differences_and_graphs_have_them():
    """The loop is open, so its gain for positions matters; a task leaves it out."""
    robot = with_loops(mechanism([JointKind.REVOLUTE] * 3, [BASE, 0, 1], seed=1), 2, seed=5)
    robot = replace(robot, contacts=replace(robot.contacts, by_task=True))
    holding = np.array([[1e-2, 3.0, 5.0], [0.1, 1.0, 9.0]])
    arrays = random_states(robot, 2, seed=2) | {
        "holding": holding,
        "contact": np.array([[1.0, 1.0], [1.0, 0.0]]),
    }
    graph = trace(prepared(robot), ("dcfd",), prepared(robot).links)
    assert_results_are_golden(graph, robot, arrays, ("dcfd",), 1e-6, extended=True)
    derivatives = golden.evaluate(robot, "dcfd", arrays, extended=True)
    for k in range(3):
        step = 1e-5 * np.eye(3)[k] * holding
        after, before = (
            golden.evaluate(robot, "cfd", arrays | {"holding": holding + change}) for change in (step, -step)
        )
        for array, slopes in (("a", "da_dholding"), ("contact_force", "dforce_dholding")):
            apart = 2.0 * (step[:, k] if k else step[:, k] / holding[:, k])
            apart = apart.reshape(-1, *[1] * (after[array].ndim - 1))
            expected = (after[array] - before[array]) / apart
            assert np.abs(expected[0]).max() > 0.0
            np.testing.assert_allclose(derivatives[slopes][..., k], expected, rtol=1e-5, atol=1e-6)
    assert not derivatives["dforce_dholding"][1, 1].any()


def _moved(robot: Robot, arrays: dict[str, np.ndarray], motion: np.ndarray) -> dict[str, np.ndarray]:
    """Return the task after a motion, with velocities that its loops permit."""
    q = golden.integrate(robot, arrays["q"], motion[None])
    _, jacobians = golden.loop_gaps(robot, robot.contacts.places, q)
    v = arrays["v"][0] - np.linalg.pinv(jacobians[0]) @ jacobians[0] @ arrays["v"][0]
    return arrays | {"q": q, "v": v[None]}


def test_impulses_stop_loops_whatever_the_restitution():
    robot = with_loops(load_mounted(path("iiwa14"), Mounting()), 1, seed=2, numbers=Contacts(restitution=0.5))
    arrays = random_states(robot, 2, seed=3) | {"contact": np.ones((2, 1))}
    after = golden.evaluate(robot, "impulse", arrays)["v_after"]
    _, jacobians = golden.loop_gaps(robot, robot.contacts.places, arrays["q"])
    assert np.abs(jacobians @ arrays["v"][..., None]).max() > 0.1
    assert np.abs(jacobians @ after[..., None]).max() < 1e-4


def test_a_parallelogram_moves_as_its_mimics_do(tmp_path):
    loop = choose_loops(load_mounted(PARALLELOGRAM, Mounting()), PIN)
    loop = replace(loop, contacts=replace(loop.contacts, damping=1e-9))
    text = PARALLELOGRAM.read_text()
    for joint, multiplier in (("coupler", -1), ("rocker", 1)):
        start = f'<joint name="{joint}_joint" type="revolute">'
        mimic = f'<mimic joint="crank_joint" multiplier="{multiplier}"/>'
        text = text.replace(start, f"{start} {mimic}")
    (tmp_path / "mimics.urdf").write_text(text)
    mimics = load_mounted(tmp_path / "mimics.urdf", Mounting())
    q, v, tau = np.array([[0.4]]), np.array([[-1.3]]), np.array([[2.0]])
    expected = golden.evaluate(mimics, "fd", {"q": q, "v": v, "tau": tau})["a"]
    spread = np.array([[1.0, -1.0, 1.0]])
    task = {"q": q * spread, "v": v * spread, "tau": tau * [[1.0, 0.0, 0.0]], "contact": np.ones((1, 1))}
    solution = results(trace(prepared(loop), ("cfd",)), loop, task | {"fext": np.zeros((1, 3, 6))}, ("cfd",))[
        "cfd"
    ]
    np.testing.assert_allclose(solution["a"], expected * spread, rtol=1e-6)
    assert solution["contact_force"][0, 0, 1] == 0.0  # nothing moves across the plane


def test_gains_keep_a_parallelogram_closed():
    robot = choose_loops(load_mounted(PARALLELOGRAM, Mounting(time_step=2e-3)), PIN)
    gaps = []
    for gain in (0.0, 30.0):
        held = replace(robot, contacts=replace(robot.contacts, velocity_gain=2 * gain, position_gain=gain**2))
        state = np.array([[0.4, -0.4, 0.41, 0.0, 0.0, 0.0]])
        for _ in range(200):
            task = {"q": state[:, :3], "v": state[:, 3:], "tau": np.zeros((1, 3)), "contact": np.ones((1, 1))}
            state = golden.evaluate(held, "cstep", task)["x_next"]
        assert np.abs(state[0, 0] - 0.4) > 0.1
        gaps.append(np.abs(golden.loop_gaps(held, held.contacts.places, state[:, :3])[0]).max())
    assert gaps[1] < 1e-4 < 1e-3 < gaps[0]


@pytest.mark.parametrize("function", ["cfd", long("dcfd")])
def test_a_loop_reaches_the_joints_between_alone(function):
    robot = prepared(load_mounted(path("hyq"), Mounting("floating")))

    def products(robot):
        graph = trace(robot, (function,))
        return graph.count(Op.MULTIPLY) + graph.count(Op.SCALE)

    ankle = choose_loops(robot, ANKLE)
    foot = choose_contacts(robot, [("lf_lowerleg@0.346:0:0", "point")])
    assert products(ankle) < products(foot)


@pytest.mark.parametrize(
    ("function", "by_task"), [long("cfd", False), ("cfd", True), long("dcfd", False), long("dcfd", True)]
)
def test_hardware_and_c_are_the_program(function, by_task):
    numbers = replace(HELD, by_task=by_task)
    robot = with_loops(mechanism([JointKind.REVOLUTE], [BASE], seed=1), 1, seed=1, numbers=numbers)
    options = BuildOptions((function,), width=12, ii=4, core="pipeline", samples=64)
    assert_hardware_and_c_are_the_program(plan_build(robot, options))


def test_software_has_loops(tmp_path):
    (tmp_path / "loops.toml").write_text('[pin]\nfirst = "coupler@0.5:0:0"\nsecond = "rocker@0:0:0.3"\n')
    (tmp_path / "domain.toml").write_text("[contacts]\nposition_gain = 400.0\nvelocity_gain = 40.0\n")
    files = {"loops": tmp_path / "loops.toml", "domain": tmp_path / "domain.toml"}
    rbdhw.generate(PARALLELOGRAM, tmp_path / "c", functions="cfd,dcfd", target="c", **files)
    acc = rbdhw.load(tmp_path / "c")
    assert acc.manifest["robot"]["contacts"]["loops"] == ["pin"]
    q, v, tau = np.array([0.4, -0.3, 0.4]), np.array([0.1, -0.1, 0.1]), np.zeros(3)
    held = Contacts(position_gain=400.0, velocity_gain=40.0)
    robot = choose_loops(replace(load_mounted(PARALLELOGRAM, Mounting()), contacts=held), PIN)
    for mask in (1.0, 0.0):
        task = {"q": q[None], "v": v[None], "tau": tau[None], "contact": np.array([[mask]])}
        result, exact = acc.cfd(q, v, tau, contact=[mask]), golden.evaluate(robot, "cfd", task)
        np.testing.assert_allclose(result.a, exact["a"][0], rtol=1e-7)
        np.testing.assert_allclose(result.contact_force, exact["contact_force"][0], rtol=1e-7, atol=1e-7)


def test_optimal_control_keeps_loops_closed(tmp_path, monkeypatch):
    """Only the crank is driven, and what it should do is said of the crank alone."""
    monkeypatch.setattr(solver_library, "OPTIMISED", ("-O1",))
    (tmp_path / "loops.toml").write_text('[pin]\nfirst = "coupler@0.5:0:0"\nsecond = "rocker@0:0:0.3"\n')
    (tmp_path / "domain.toml").write_text("[contacts]\nposition_gain = 400.0\nvelocity_gain = 40.0\n")
    files = {"loops": tmp_path / "loops.toml", "domain": tmp_path / "domain.toml"}
    rbdhw.generate(PARALLELOGRAM, tmp_path / "c", functions="solve", target="c", knots=20, **files)
    drive = {"tau_min": [-20.0, 0.0, 0.0], "tau_max": [20.0, 0.0, 0.0]}
    goal = {"x_ref": [0.5, 0, 0, 0, 0, 0], "Q": [10.0, 0, 0, 0.1, 0, 0], "R": [0.01, 0.01, 0.01]}
    start = {"q": [0.1, -0.1, 0.1], "v": [0.0, 0.0, 0.0], "h": 0.02}
    problem = start | goal | drive
    ours, theirs = (rbdhw.load(tmp_path / "c", engine=engine) for engine in ("float64", "golden"))
    first, wanted = (acc.solve(**problem, iterations=4) for acc in (ours, theirs))
    np.testing.assert_allclose(first.states, wanted.states, atol=1e-6)
    crank, coupler, rocker = ours.solve(**problem, iterations=20).states[:, :3].T
    assert crank[-1] == pytest.approx(0.5, abs=0.05)
    np.testing.assert_allclose([-coupler, rocker], [crank, crank], atol=1e-3)


def test_a_domain_file_has_gains_of_loops_for_loops_alone():
    asked = Overrides(contacts=ContactNumbers(position_gain=100.0))
    robot = load_mounted(PARALLELOGRAM, Mounting())
    assert override_robot(choose_loops(robot, PIN), asked).contacts.position_gain == 100.0
    with pytest.raises(InputError, match=r"contacts\.position_gain: parallelogram has no loops"):
        override_robot(choose_contacts(robot, [("rocker", "surface")]), asked)


@pytest.mark.parametrize(
    ("text", "where", "reason"),
    [
        ("", "", "has no loop"),
        ("pin = 3", ", pin", "is no table of two points"),
        ('[pin]\nfirst = "crank"', ", pin", "is no table of two points"),
        ('[pin]\nfirst = "crank"\nsecond = 3', ", pin", "is no table of two points"),
        ("[pin", "", "not a readable TOML file"),
    ],
)
def test_files_are_refused(tmp_path, text, where, reason):
    file = tmp_path / "loops.toml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        read_loops(file)
    assert caught.value.where == f"{file}{where}"
    assert caught.value.reason.startswith(reason)


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        (("nowhere@0:0:1", "crank"), "link 'nowhere' is unknown"),
        (("crank@0:0:0.1", "crank"), "'crank@0:0:0.1' and 'crank' are on one body"),
        (("crank@0:0", "rocker"), "'crank@0:0' has no point '0:0'"),
        (("ground", "ground@1:0:0"), "'ground' and 'ground@1:0:0' are on one body"),
        (("coupler@0.5:0:0", "rocker@0:0.1:0.3"), "cannot close: 0.1 m are left"),
        (("crank@0:0.2:0", "ground"), "no joint moves its points"),
    ],
)
def test_loops_are_refused(points, reason):
    robot = load_mounted(PARALLELOGRAM, Mounting())
    with pytest.raises(InputError) as caught:
        check_loops(choose_loops(robot, [("pin", *points)]))
    assert (caught.value.where, caught.value.reason) == ("loops, pin", reason)
    check_loops(choose_loops(robot, PIN))


def test_a_loop_and_a_contact_have_different_names():
    robot = choose_contacts(load_mounted(PARALLELOGRAM, Mounting()), [("rocker", "surface")])
    with pytest.raises(InputError, match="a contact has this name"):
        choose_loops(robot, [("rocker", *PIN[0][1:])])


@pytest.mark.parametrize(
    ("function", "chosen"),
    [
        (function, chosen)
        if chosen == (function in CHOSEN) and function != "dcstep"
        else long(function, chosen)
        for function in TOUCHING
        for chosen in (False, True)
    ],
)
def test_a_floating_robot_is_held_to_the_world(function, chosen):
    """Seen from there it falls, and its linear velocity turns; tasks may hold the base."""
    rng = np.random.default_rng(3)
    robot = mechanism([JointKind.FLOATING, JointKind.REVOLUTE], [BASE, 0], seed=2)
    places = []
    for k in (0, 1):
        first, second = (
            Placement(random_rotation(rng), tuple(rng.uniform(-0.3, 0.3, 3).tolist())) for _ in range(2)
        )
        places.append(Contact(Frame(f"rod {k}", f"b{k}", first), "point", Frame(f"rod {k}", "", second)))
    held = replace(HELD, places=tuple(places), position_gain=5.0)
    assert_extended_graph_is_golden(replace(robot, contacts=held, base_chosen=chosen), function, False)
