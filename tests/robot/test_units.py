"""Units of the interface: results scale with the units of length, mass and time as the unit names say."""

import re
from dataclasses import replace

import numpy as np
import pytest

from rbdhw.arrays import MULTIPLIERS
from rbdhw.golden.evaluation import evaluate
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.link_frames import choose_contacts, choose_frames, choose_spheres
from rbdhw.robot.model import JointKind, Placement, Robot
from rbdhw.robot.units import Units
from tests.support.marks import long
from tests.support.mechanisms import BRANCHED, mechanism

METRE, KILOGRAM, SECOND = 2.5, 0.3, 1.7
"""The number of new units in a metre, a kilogram and a second."""

KINDS = [
    (JointKind.FLOATING, JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.SPHERICAL, JointKind.CONTINUOUS),
    (JointKind.PLANAR, JointKind.CYLINDRICAL, JointKind.HELICAL, JointKind.UNIVERSAL, JointKind.TRANSLATION),
]


def size(unit: str) -> float:
    """Return the number of new units in one unit such as ``m/(rad s^2)``."""
    whole, _, divisor = unit.partition("/")
    return product(whole) / product(divisor.strip("()"))


def product(text: str) -> float:
    newton = KILOGRAM * METRE / SECOND**2
    known = {"m": METRE, "kg": KILOGRAM, "s": SECOND, "rad": 1.0, "1": 1.0}
    known |= {"N": newton, **dict.fromkeys(("Nm", "J"), newton * METRE)}
    value = 1.0
    for factor in text.split():
        name, _, exponent = factor.partition("^")
        value *= known[name] ** int(exponent or 1)
    return value


def rescale(robot: Robot) -> Robot:
    """Return the same robot in the new units."""
    bodies = []
    for body in robot.bodies:
        joint, inertia = body.joint, body.inertia
        joint = replace(joint, placement=rescale_pose(joint.placement), pitch=METRE * joint.pitch)
        if joint.kind is JointKind.PRISMATIC:
            joint = replace(joint, offset=METRE * joint.offset)
        inertia = replace(
            inertia,
            mass=KILOGRAM * inertia.mass,
            first_moment=tuple(KILOGRAM * METRE * x for x in inertia.first_moment),
            rotational=tuple(KILOGRAM * METRE**2 * x for x in inertia.rotational),
        )
        bodies.append(replace(body, joint=joint, inertia=inertia, link_frame=rescale_pose(body.link_frame)))
    x, y, z = (METRE / SECOND**2 * part for part in robot.gravity)
    contacts = replace(robot.contacts, damping=robot.contacts.damping / KILOGRAM)
    return replace(robot.with_bodies(bodies), gravity=(x, y, z), contacts=contacts)


def rescale_pose(placement: Placement) -> Placement:
    x, y, z = (METRE * part for part in placement.translation)
    return replace(placement, translation=(x, y, z))


def sizes(robot: Robot, array: str, shape: tuple[int, ...], function: str | None = None) -> np.ndarray:
    """Return the size of each element's unit in an array, an input or a result of a function."""
    units = Units(robot)
    magnitudes = np.empty(shape)
    for index in np.ndindex(*shape):
        magnitudes[index] = size(units.of(array, index, function))
    return magnitudes


@pytest.mark.parametrize(
    ("kinds", "function"),
    [
        (kinds, function) if k % len(KINDS) == i and function != "drk4" else long(kinds, function)
        for k, function in enumerate(FUNCTIONS)
        for i, kinds in enumerate(KINDS)
    ],
)
def test_results_change_with_the_units(kinds, function):
    robot = mechanism(kinds, BRANCHED, seed=5)
    robot = choose_frames(robot, [robot.bodies[-1].name], "local")
    robot = choose_contacts(robot, [(robot.bodies[-1].name, "point")])
    robot = replace(robot, contacts=replace(robot.contacts, damping=1e-2))
    ends = [(f"{robot.bodies[k].name}@0:0:0", 0.1) for k in (0, -1)]
    robot = choose_spheres(robot, [*ends, ("world@0:0:0", 0.2)])
    spheres = tuple(replace(sphere, radius=METRE * sphere.radius) for sphere in robot.spheres)
    other = replace(rescale(robot), spheres=spheres)
    rng = np.random.default_rng(6)
    arrays = {name: rng.normal(size=(3, robot.nv)) for name in ("v", "a", "tau", *MULTIPLIERS)}
    arrays |= {"fext": rng.normal(size=(3, len(robot.bodies), 6)), "q": rng.normal(size=(3, robot.nq))}
    arrays["h"] = rng.uniform(0.01, 0.02, 3)
    for body, coordinates in zip(robot.bodies, robot.q_of, strict=True):
        if body.joint.kind.quaternion is not None:
            part = arrays["q"][:, coordinates][:, body.joint.kind.quaternion]
            part /= np.linalg.norm(part, axis=1, keepdims=True)
    scaled = {
        name: array * sizes(robot, name, array.shape[1:]) for name, array in arrays.items() if name != "q"
    }
    lengths = np.ones(robot.nq)
    for body, coordinates in zip(robot.bodies, robot.q_of, strict=True):
        kind = body.joint.kind
        turns = np.array(kind.angles)
        if kind.quaternion is not None:
            turns[kind.quaternion] = True
        lengths[coordinates] = np.where(turns, 1.0, METRE)
    scaled["q"] = arrays["q"] * lengths
    plain, changed = (
        evaluate(*given, extended=True) for given in ((robot, function, arrays), (other, function, scaled))
    )
    for name, result in plain.items():
        expected = result * sizes(robot, name, result.shape[1:], function)
        tolerance = 1e-9 * np.abs(expected).max()
        np.testing.assert_allclose(changed[name], expected, rtol=1e-9, atol=tolerance, err_msg=name)


@pytest.mark.parametrize(
    ("array", "index", "unit"),
    [
        ("tau", (0,), "Nm"),
        ("tau", (1,), "N"),
        ("M", (0, 0), "kg m^2"),
        ("M", (1, 0), "kg m"),
        ("M", (1, 1), "kg"),
        ("Minv", (0, 0), "1/(kg m^2)"),
        ("Minv", (1, 0), "1/(kg m)"),
        ("Minv", (1, 1), "1/kg"),
        ("dtau_dq", (0, 0), "Nm/rad"),
        ("dtau_dq", (0, 1), "Nm/m"),
        ("dtau_dq", (1, 0), "N/rad"),
        ("dtau_dv", (1, 1), "N s/m"),
        ("da_dq", (0, 1), "rad/(m s^2)"),
        ("da_dv", (1, 0), "m/(rad s)"),
        ("fext", (4, 2), "N"),
        ("fext", (4, 3), "Nm"),
        ("base_a", (2,), "m/s^2"),
        ("base_v", (3,), "rad/s"),
        ("gravity", (0,), "m/s^2"),
        ("h", (), "s"),
        ("x_next", (0,), "rad"),
        ("x_next", (3,), "m/s"),
        ("A", (2, 0), "1/s"),
        ("A", (1, 2), "m s/rad"),
        ("B", (0, 1), "rad/N"),
        ("B", (3, 0), "m/(Nm s)"),
    ],
)
def test_units_by_joint(array, index, unit):
    """The robot has a rotation, then a translation."""
    robot = mechanism((JointKind.REVOLUTE, JointKind.PRISMATIC), (-1, 0), seed=1)
    assert Units(robot).of(array, index) == unit


def test_an_unknown_array_is_refused():
    robot = mechanism((JointKind.REVOLUTE,), (-1,), seed=1)
    with pytest.raises(KeyError, match=re.escape("'dq_dtau'")):
        Units(robot).of("dq_dtau", (0, 0))
