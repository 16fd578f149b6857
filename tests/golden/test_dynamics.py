"""The golden model compared with Pinocchio."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rbdhw.robots
from rbdhw import golden
from rbdhw.errors import InputError
from rbdhw.golden.evaluation import CHUNK
from rbdhw.golden.functions import TWINS
from rbdhw.protocol import DEFAULT_FUNCTIONS, FUNCTIONS
from rbdhw.robot.model import BASE, UNLIMITED, Body, Inertia, Joint, JointKind, Limits, Placement, Robot
from rbdhw.robot.urdf import load_urdf
from tests.support.combinations import pairwise
from tests.support.marks import long
from tests.support.mechanisms import mechanism, with_mimic
from tests.support.references import (
    Arrays,
    assert_close,
    assert_golden_is_pinocchio,
    reference,
    references,
    stacked,
)
from tests.support.strategies import random_rotation, random_states, robots

URDFS = Path(rbdhw.robots.__file__).parent
BUNDLED = ("toy", "iiwa14", "hyq", "atlas")


def with_link_frames(robot: Robot, seed: int) -> Robot:
    """Return ``robot`` with each body's external force given in another frame of the body."""
    rng = np.random.default_rng(seed)
    frames = [Placement(random_rotation(rng), tuple(rng.uniform(-0.3, 0.3, 3))) for _ in robot.bodies]
    return robot.with_bodies(
        [replace(body, link_frame=frame) for body, frame in zip(robot.bodies, frames, strict=True)]
    )


def with_offsets(robot: Robot, seed: int) -> Robot:
    """Return ``robot`` with random constants added to the coordinates of its one-DoF joints."""
    rng = np.random.default_rng(seed)
    return robot.with_bodies(
        [
            body
            if body.joint.kind is JointKind.FLOATING
            else replace(body, joint=replace(body.joint, offset=rng.uniform(-1, 1)))
            for body in robot.bodies
        ]
    )


def functions_of(robot: Robot) -> tuple[str, ...]:
    """Return the functions that exist for a bundled robot; a free base without inertia makes M singular."""
    base = robot.bodies[0]
    massless = base.joint.kind is JointKind.FLOATING and base.inertia.mass == 0.0
    return ("id", "m", "did") if massless else DEFAULT_FUNCTIONS


@pytest.fixture(params=BUNDLED)
def bundled(request: pytest.FixtureRequest) -> Robot:
    return load_urdf(URDFS / f"{request.param}.urdf")


@pytest.mark.parametrize(
    ("base", "fext", "function"),
    [*pairwise(["fixed", "floating"], [False, True], DEFAULT_FUNCTIONS)],
)
def test_bundled_robots_equal_pinocchio(bundled: Robot, function: str, base: str, fext: bool) -> None:
    robot = bundled if base == "fixed" else bundled.with_floating_base()
    arrays = random_states(robot, tasks=4, seed=1)
    if not fext:
        del arrays["fext"]
    if function not in functions_of(robot):
        assert message(robot, function, arrays).startswith(f"robot '{robot.name}': singular mass matrix;")
        return
    assert_close(golden.evaluate(robot, function, arrays), references(robot, function, arrays))


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", BUNDLED)
def test_urdf_equals_pinocchios_own_reading(name: str, base: str) -> None:
    path = URDFS / f"{name}.urdf"
    robot = load_urdf(path)
    if base == "floating":
        robot = robot.with_floating_base()
        model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    else:
        model = pin.buildModelFromUrdf(str(path))
    arrays = random_states(robot, tasks=4, seed=2)
    order = [model.getJointId(joint) for joint in robot.joints]
    rows = np.concatenate([model.idx_vs[j] + np.arange(model.nvs[j]) for j in order])

    for function in functions_of(robot):
        control = arrays["tau" if function in ("fd", "dfd") else "a"]
        results = []
        for k in range(4):
            q = urdf_configuration(model, robot, arrays["q"][k])
            fext = urdf_forces(model, robot, arrays["fext"][k])
            v, u = np.zeros(model.nv), np.zeros(model.nv)
            v[rows], u[rows] = arrays["v"][k], control[k]
            results.append(reference(model, function, q, v, u, fext))
        expected = {
            name: value[:, rows] if value.ndim == 2 else value[:, rows][:, :, rows]
            for name, value in stacked(results).items()
        }
        assert_close(golden.evaluate(robot, function, arrays), expected)


def urdf_configuration(model: pin.Model, robot: Robot, q: np.ndarray) -> np.ndarray:
    """Return one ``q`` (nq,) in Pinocchio's layout, with a continuous joint's angle as cosine and sine."""
    configuration, start = pin.neutral(model), 0
    for body in robot.bodies:
        kind, joint = body.joint.kind, model.getJointId(body.joint.name)
        part, start = q[start : start + kind.nq], start + kind.nq
        if kind is JointKind.CONTINUOUS:
            part = np.array([math.cos(part[0]), math.sin(part[0])])
        configuration[model.idx_qs[joint] : model.idx_qs[joint] + model.nqs[joint]] = part
    return configuration


def urdf_forces(model: pin.Model, robot: Robot, fext: np.ndarray) -> pin.StdVec_Force:
    """Return one task's external forces in the frames that Pinocchio read for the links."""
    forces = pin.StdVec_Force([pin.Force.Zero()] * model.njoints)
    for body, wrench in zip(robot.bodies, fext, strict=True):
        frame = model.frames[model.getFrameId(body.name, pin.FrameType.BODY)]
        forces[frame.parentJoint] += frame.placement.act(pin.Force(wrench))
    return forces


@given(robots(), st.booleans(), st.booleans(), st.integers(0, 2**32 - 1))
def test_random_trees_equal_pinocchio(robot: Robot, floating: bool, loaded: bool, seed: int) -> None:
    robot = with_offsets(with_link_frames(robot.with_floating_base() if floating else robot, seed), seed)
    arrays = random_states(robot, tasks=2, seed=seed)
    if not loaded:
        del arrays["fext"]
    for function in DEFAULT_FUNCTIONS:
        assert_close(golden.evaluate(robot, function, arrays), references(robot, function, arrays))


def test_floating_joint_away_from_the_origin_and_below_another_joint() -> None:
    turned = Placement(random_rotation(np.random.default_rng(3)), (0.3, -0.2, 0.5))
    free = (UNLIMITED,) * 6
    loose = Joint("loose", JointKind.FLOATING, (0.0, 0.0, 1.0), turned, free)
    slide = Joint("slide", JointKind.PRISMATIC, (0.6, 0.0, 0.8), turned, (Limits(-1.0, 1.0, 1.0, 100.0),))
    solid = Inertia(2.0, (0.1, 0.2, -0.1), (0.5, 0.01, 0.02, 0.4, -0.03, 0.6))
    robot = Robot("loose", "base", (Body("rail", BASE, slide, solid), Body("thing", 0, loose, solid)))
    arrays = random_states(robot, tasks=3, seed=4)
    for function in DEFAULT_FUNCTIONS:
        assert_close(golden.evaluate(robot, function, arrays), references(robot, function, arrays))


def test_gravity_may_point_anywhere(bundled: Robot) -> None:
    robot = replace(bundled, gravity=(1.5, -2.5, -3.5)).with_floating_base()
    arrays = random_states(robot, tasks=3, seed=5)
    for function in ("id", "did"):
        assert_close(golden.evaluate(robot, function, arrays), references(robot, function, arrays))


GIVEN = [(True, False), (False, True), (True, True)]
GIVEN_IDS = ["base", "gravity", "base and gravity"]


@pytest.mark.parametrize(("base", "gravity"), GIVEN, ids=GIVEN_IDS)
def test_a_base_and_gravity_of_each_task(base: bool, gravity: bool) -> None:
    robot = with_mimic(mechanism(list(JointKind), [BASE, 0, 1, 0, 3, 4, 3, 0, 7, 8], seed=12), 3, 2, 0.6, 0.1)
    assert_golden_is_pinocchio(replace(robot, base_given=base, gravity_given=gravity))


@pytest.mark.parametrize("bundled", ["toy", "iiwa14", "hyq", long("atlas")], indirect=True)
@pytest.mark.parametrize(("base", "gravity"), GIVEN, ids=GIVEN_IDS)
def test_bundled_robots_on_a_base_of_given_motion(bundled: Robot, base: bool, gravity: bool) -> None:
    assert_golden_is_pinocchio(replace(bundled, base_given=base, gravity_given=gravity))


def test_a_floating_robot_under_a_gravity_of_each_task() -> None:
    robot = mechanism([JointKind.SPHERICAL, JointKind.PLANAR], (BASE, 0), seed=13).with_floating_base()
    assert_golden_is_pinocchio(replace(robot, gravity_given=True))


def test_a_given_base_motion_has_the_torques_of_a_floating_base() -> None:
    """A floating robot has the same joint torques as a robot whose base motion is given."""
    robot = mechanism([JointKind.REVOLUTE, JointKind.SPHERICAL, JointKind.HELICAL], (BASE, 0, 1), seed=14)
    robot = replace(robot, gravity_given=True)
    arrays = random_states(replace(robot, base_given=True), 3, seed=14)
    still = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (3, 1))
    floating = {"q": np.hstack([still, arrays["q"]]), "gravity": arrays["gravity"]}
    floating["fext"] = np.concatenate([np.ones((3, 1, 6)), arrays["fext"]], axis=1)
    floating |= {name: np.hstack([arrays[f"base_{name}"], arrays[name]]) for name in ("v", "a")}
    carried = golden.evaluate(replace(robot, base_given=True), "did", arrays)
    free = golden.evaluate(robot.with_floating_base(), "did", floating)
    for name, matrix in carried.items():
        np.testing.assert_allclose(matrix, free[name][:, 6:, 6:], rtol=1e-12, atol=1e-12)


def test_quaternions_are_brought_to_unit_length() -> None:
    robot = mechanism([JointKind.SPHERICAL, JointKind.REVOLUTE], (BASE, 0), seed=15).with_floating_base()
    arrays = random_states(robot, 2, seed=15)
    longer = arrays["q"].copy()
    longer[:, 3:7] *= 3.5
    longer[:, 7:11] *= -1e-5
    for function in DEFAULT_FUNCTIONS:
        expected = golden.evaluate(robot, function, arrays)
        assert_close(golden.evaluate(robot, function, {**arrays, "q": longer}), expected)


@pytest.mark.parametrize(("column", "joint"), [(3, "root_joint"), (7, "j0")])
def test_a_quaternion_of_no_length(column: int, joint: str) -> None:
    robot = mechanism([JointKind.SPHERICAL, JointKind.REVOLUTE], (BASE, 0), seed=15).with_floating_base()
    arrays = random_states(robot, CHUNK + 3, seed=15)
    arrays["q"][CHUNK + 1, column : column + 4] = [0.0, 1e-7, 0.0, 0.0]
    assert message(robot, "m", arrays) == (
        f"array 'q', row {CHUNK + 1}: the quaternion of joint '{joint}' has length 1e-07; "
        "expected a unit quaternion [x y z w]"
    )


def test_a_pendulums_torque_is_the_textbooks() -> None:
    robot = pendulum(mass=2.0, length=0.5)
    q, v, a = 0.3, 1.7, -0.8
    result = golden.evaluate(robot, "id", {"q": [[q]], "v": [[v]], "a": [[a]]})
    np.testing.assert_allclose(result["tau"], [[2.0 * 0.25 * a + 2.0 * 9.81 * 0.5 * math.cos(q)]], rtol=1e-14)


def pendulum(mass: float, length: float) -> Robot:
    """Return a point mass at ``length`` along x that rotates about -y; a positive angle raises it."""
    joint = Joint("hinge", JointKind.REVOLUTE, (0.0, -1.0, 0.0), Placement(), (Limits(-3.0, 3.0, 2.0, 20.0),))
    about = mass * length**2
    bob = Inertia(mass, (mass * length, 0.0, 0.0), (0.0, 0.0, 0.0, about, 0.0, about))
    return Robot("pendulum", "base", (Body("bob", BASE, joint, bob),))


def test_difd_uses_the_inverse_it_is_given() -> None:
    robot = pendulum(mass=2.0, length=0.5)
    arrays = random_states(robot, tasks=3, seed=6)
    plain = golden.evaluate(robot, "difd", arrays)
    doubled = {**arrays, "Minv": 2 * golden.evaluate(robot, "minv", arrays)["Minv"]}
    given = golden.evaluate(robot, "difd", doubled)
    np.testing.assert_array_equal(given["da_dq"], 2 * plain["da_dq"])
    np.testing.assert_array_equal(given["da_dv"], 2 * plain["da_dv"])
    assert_close(golden.evaluate(robot, "dfd", doubled), references(robot, "dfd", arrays))


def test_tasks_do_not_depend_on_their_neighbours() -> None:
    robot = pendulum(mass=1.0, length=1.0).with_floating_base()
    arrays = random_states(robot, tasks=CHUNK + 2, seed=7)
    whole = golden.evaluate(robot, "did", arrays)
    last = golden.evaluate(robot, "did", {name: array[-3:] for name, array in arrays.items()})
    for name in last:
        np.testing.assert_allclose(whole[name][-3:], last[name], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function", DEFAULT_FUNCTIONS)
def test_no_tasks_give_empty_results(function: str) -> None:
    robot = pendulum(mass=1.0, length=1.0)
    results = golden.evaluate(robot, function, random_states(robot, tasks=0, seed=8))
    expected = (0, 1) if function in ("id", "fd") else (0, 1, 1)
    assert {result.shape for result in results.values()} == {expected}


def test_inputs_are_left_as_they_were() -> None:
    robot = pendulum(mass=1.0, length=1.0)
    arrays = random_states(robot, tasks=2, seed=9)
    before = {name: array.copy() for name, array in arrays.items()}
    golden.evaluate(robot, "dfd", arrays)
    for name in before:
        np.testing.assert_array_equal(arrays[name], before[name])


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        ("id", ("q", "v", "a")),
        ("fd", ("q", "v", "tau")),
        ("m", ("q",)),
        ("minv", ("q",)),
        ("did", ("q", "v", "a")),
        ("dfd", ("q", "v", "tau")),
        ("difd", ("q", "v", "a")),
    ],
)
def test_inputs_of(function: str, inputs: tuple[str, ...]) -> None:
    robot = pendulum(1.0, 1.0)
    assert golden.inputs_of(robot, function) == inputs
    base = () if function in ("m", "minv") else ("base_v", "base_a")
    gravity = () if function in ("m", "minv") else ("gravity",)
    assert golden.inputs_of(replace(robot, base_given=True), function) == (*inputs, *base)
    assert golden.inputs_of(replace(robot, gravity_given=True), function) == (*inputs, *gravity)
    both = replace(robot, base_given=True, gravity_given=True)
    assert golden.inputs_of(both, function) == (*inputs, *base, *gravity)


def message(robot: Robot, function: str, arrays: Arrays) -> str:
    with pytest.raises(InputError) as caught:
        golden.evaluate(robot, function, arrays)
    return str(caught.value)


def test_unknown_function() -> None:
    expected = f"function 'aba': unknown; expected one of {', '.join(FUNCTIONS)}"
    assert message(pendulum(1.0, 1.0), "aba", {}) == expected


def test_missing_array() -> None:
    arrays = {"q": np.zeros((2, 1)), "v": np.zeros((2, 1))}
    assert message(pendulum(1.0, 1.0), "fd", arrays) == "array 'tau': missing; expected q, v, tau for fd"


def test_missing_motion_of_the_base() -> None:
    robot = replace(pendulum(1.0, 1.0), base_given=True)
    arrays = {name: np.zeros((2, 1)) for name in ("q", "v", "a")}
    expected = "array 'base_v': missing; expected q, v, a, base_v, base_a for id"
    assert message(robot, "id", arrays) == expected


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("q", (3, 2), (3, 1)),
        ("q", (1,), (1, 1)),
        ("v", (2, 1), (3, 1)),
        ("fext", (3, 6), (3, 1, 6)),
        ("Minv", (3, 1), (3, 1, 1)),
        ("base_v", (3, 3), (3, 6)),
        ("base_a", (6,), (3, 6)),
        ("gravity", (3,), (3, 3)),
    ],
)
def test_array_of_another_shape(name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    robot = replace(pendulum(1.0, 1.0), base_given=True, gravity_given=True)
    arrays = {**random_states(robot, tasks=3, seed=0), name: np.zeros(shape)}
    assert message(robot, "difd", arrays) == (
        f"array '{name}': shape {shape}; expected {expected} for {expected[0]} tasks of robot 'pendulum'"
    )


@pytest.mark.parametrize(("values", "dtype"), [("one", "<U3"), (1j, "complex128")])
def test_array_that_is_not_of_real_numbers(values: object, dtype: str) -> None:
    text = message(pendulum(1.0, 1.0), "m", {"q": np.array([[values]])})
    assert text == f"array 'q': holds {dtype}; expected real numbers"


@pytest.mark.parametrize("function", ["fd", "minv", "dfd", "difd"])
@pytest.mark.parametrize(
    "robot",
    [pendulum(mass=0.0, length=1.0), pendulum(mass=1.0, length=1.0).with_floating_base()],
    ids=["massless", "massless base"],
)
def test_singular_mass_matrix(robot: Robot, function: str) -> None:
    assert message(robot, function, random_states(robot, tasks=2, seed=0)) == (
        "robot 'pendulum': singular mass matrix; expected every motion of its joints to move mass or inertia"
    )


def test_units_do_not_make_a_mass_matrix_singular() -> None:
    tiny = pendulum(mass=1e-15, length=1e-6)
    result = golden.evaluate(tiny, "minv", {"q": np.zeros((1, 1))})
    np.testing.assert_allclose(result["Minv"], [[[1e27]]], rtol=1e-12)


def test_every_function_has_a_twin() -> None:
    assert TWINS.keys() == FUNCTIONS.keys()
