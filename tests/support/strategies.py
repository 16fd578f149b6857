"""Random robots and random states of them for property tests."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from rbdhw.robot.model import (
    BASE,
    IDENTITY,
    UNLIMITED,
    Body,
    Inertia,
    Joint,
    JointKind,
    Limits,
    Matrix3,
    Mimic,
    Placement,
    Robot,
    Vector3,
)

ONE_DOF = (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC)
ALL_KINDS = tuple(JointKind)
_AXES: tuple[Vector3, ...] = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, -1.0, 0.0))
_SHAPES = ((0,), (0, 0, 0, 0, 1), (0, 0, 1, 2, 3))
"""How many bodies to climb toward the base before adding the next one: chains, limbs, bushes."""


@st.composite
def robots(
    draw: st.DrawFn, max_bodies: int = 12, kinds: Sequence[JointKind] = ONE_DOF, mimics: bool = False
) -> Robot:
    """Draw valid robots with bodies in depth-first order.

    There are chains, branches, and several trees on one base. Joints are of ``kinds`` about coordinate and
    skew axes; a floating joint is only the first and then carries all bodies. With ``mimics``, some joints of
    one DoF follow earlier or later ones. Placements have structural zeros or none. All bodies and the base
    have physical inertias. Joints have no offsets, and link frames are the body frames. The shape is drawn
    (and shrinks); the numbers come from one drawn seed.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    climbs = st.sampled_from(draw(st.sampled_from(_SHAPES)))
    bodies: list[Body] = []
    for i in range(draw(st.integers(1, max_bodies))):
        parent = i - 1
        for _ in range(draw(climbs)):
            parent = bodies[parent].parent if parent != BASE else BASE
        if i > 0 and parent == BASE and bodies[0].joint.kind is JointKind.FLOATING:
            parent = 0
        kind = draw(st.sampled_from([kind for kind in kinds if i == 0 or kind is not JointKind.FLOATING]))
        axis = draw(st.sampled_from(_AXES) | st.builds(lambda: random_direction(rng)))
        plain = draw(st.booleans())
        placement = Placement(_quarter_turn(rng) if plain else random_rotation(rng), _offset(rng, plain))
        bodies.append(Body(f"link_{i}", parent, _joint(i, kind, axis, placement, rng), random_inertia(rng)))
    bodies = (
        _with_mimics(bodies, draw(st.sets(st.sampled_from(range(len(bodies))))), rng) if mimics else bodies
    )
    return Robot("random", "base", tuple(bodies), base_inertia=random_inertia(rng))


def _joint(i: int, kind: JointKind, axis: Vector3, placement: Placement, rng: np.random.Generator) -> Joint:
    pitch = float(rng.uniform(-0.3, 0.3)) if kind is JointKind.HELICAL else 0.0
    second = _across(axis, rng) if kind is JointKind.UNIVERSAL else (0.0, 0.0, 0.0)
    return Joint(f"joint_{i}", kind, axis, placement, _limits(kind), pitch=pitch, second_axis=second)


def _with_mimics(bodies: Sequence[Body], wanted: set[int], rng: np.random.Generator) -> list[Body]:
    """Return ``bodies`` where the joints of one DoF among ``wanted`` follow some of the others, if any."""
    single = [i for i, body in enumerate(bodies) if body.joint.kind.nv == 1]
    followed = [bodies[i].joint.name for i in single if i not in wanted]
    mimicking = list(bodies)
    for i in sorted(wanted.intersection(single)) if followed else ():
        name = followed[rng.integers(len(followed))]
        multiplier, offset = rng.uniform(-2.0, 2.0, 2).tolist()
        joint = replace(bodies[i].joint, mimic=Mimic(name, multiplier, offset))
        mimicking[i] = replace(bodies[i], joint=joint)
    return mimicking


def random_states(robot: Robot, tasks: int, seed: int) -> dict[str, np.ndarray]:
    """Return all inputs of the functions, in the user's shapes: q, v, a, tau, fext, the multipliers, h.

    ``base_v``, ``base_a`` and ``gravity`` are included if tasks carry them. Coordinates are uniform within
    the joint limits, or within a full turn without limits. A floating body is within a metre of the origin,
    in any attitude.
    """
    rng = np.random.default_rng(seed)
    joints = [body.joint for body in robot.bodies if body.joint.mimic is None]
    states = {
        "q": np.hstack([np.zeros((tasks, 0)), *(_coordinates(joint, tasks, rng) for joint in joints)]),
        "v": rng.uniform(-2, 2, (tasks, robot.nv)),
        "a": rng.uniform(-5, 5, (tasks, robot.nv)),
        "tau": rng.uniform(-20, 20, (tasks, robot.nv)),
        "fext": rng.uniform(-10, 10, (tasks, len(robot.bodies), 6)),
    }
    states |= {name: rng.uniform(-1, 1, (tasks, robot.nv)) for name in ("lambda_tau", "lambda_a")}
    states["h"] = rng.uniform(1e-3, 2e-2, tasks)
    if robot.contacts.places:
        states["contact"] = rng.integers(2, size=(tasks, len(robot.contacts.places))).astype(float)
    if robot.base_given:
        states |= {"base_v": rng.uniform(-2, 2, (tasks, 6)), "base_a": rng.uniform(-5, 5, (tasks, 6))}
    if robot.base_chosen:
        states |= {"base_held": rng.permutation(tasks) % 2.0, "base_a": rng.uniform(-5, 5, (tasks, 6))}
    if robot.gravity_given:
        states["gravity"] = rng.uniform(-10, 10, (tasks, 3))
    return states


def _coordinates(joint: Joint, tasks: int, rng: np.random.Generator) -> np.ndarray:
    """Return random configurations (tasks, nq) of one joint."""
    kind = joint.kind
    if kind.quaternion is not None:
        attitude = rng.normal(size=(tasks, 4))
        attitude /= np.linalg.norm(attitude, axis=1)[:, None]
        return np.hstack([rng.uniform(-1, 1, (tasks, kind.quaternion.start)), attitude])
    reach = np.where(kind.angles, math.pi, 1.0)
    lower = [
        limits.lower if math.isfinite(limits.lower) else -r
        for limits, r in zip(joint.limits, reach, strict=True)
    ]
    upper = [
        limits.upper if math.isfinite(limits.upper) else r
        for limits, r in zip(joint.limits, reach, strict=True)
    ]
    return rng.uniform(lower, upper, (tasks, kind.nq))


def random_direction(rng: np.random.Generator) -> Vector3:
    """Return a unit vector, uniform on the sphere."""
    vector = rng.normal(size=3)
    return _vector(vector / np.linalg.norm(vector))


def random_rotation(rng: np.random.Generator) -> Matrix3:
    """Return a rotation matrix without zeros or ones."""
    basis, triangle = np.linalg.qr(rng.normal(size=(3, 3)))
    basis = basis * np.sign(np.diag(triangle))
    return _matrix(basis if np.linalg.det(basis) > 0 else -basis)


def random_inertia(rng: np.random.Generator) -> Inertia:
    """Return a solid body's inertia: 0.5 to 5 kg, radii of gyration and centre of mass of centimetres."""
    mass = rng.uniform(0.5, 5.0)
    centre = rng.uniform(-0.1, 0.1, 3)
    spread = np.diag(rng.uniform(0.03, 0.15, 3) ** 2)  # second moments per mass along the principal axes
    axes = np.array(random_rotation(rng))
    second = mass * (axes @ spread @ axes.T + np.outer(centre, centre))
    about_origin = np.trace(second) * np.eye(3) - second
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = about_origin.tolist()
    return Inertia(float(mass), _vector(mass * centre), (xx, xy, xz, yy, yz, zz))


def _quarter_turn(rng: np.random.Generator) -> Matrix3:
    """Return one of a few signed permutations, which include the identity."""
    turns: tuple[Matrix3, ...] = (
        IDENTITY,
        ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)),
        ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0)),
        ((0.0, -1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, -1.0)),
    )
    return turns[rng.integers(len(turns))]


def _offset(rng: np.random.Generator, plain: bool) -> Vector3:
    """Return a translation of up to half a metre per coordinate; ``plain`` sets some coordinates to zero."""
    translation = rng.uniform(-0.5, 0.5, 3)
    return _vector(translation * rng.integers(0, 2, 3) if plain else translation)


def _across(axis: Vector3, rng: np.random.Generator) -> Vector3:
    """Return a unit vector perpendicular to ``axis``; a coordinate axis if ``axis`` is one."""
    if axis in _AXES:
        return (axis[2], axis[0], axis[1])
    vector = np.cross(axis, rng.normal(size=3))
    return _vector(vector / np.linalg.norm(vector))


def _limits(kind: JointKind) -> tuple[Limits, ...]:
    """Return limits of each degree of freedom; none for the kinds that need no limits in a URDF."""
    if kind in (JointKind.PLANAR, JointKind.SPHERICAL, JointKind.FLOATING):
        return (UNLIMITED,) * kind.nv
    reach = math.inf if kind in (JointKind.CONTINUOUS, JointKind.CYLINDRICAL) else 2.5
    turn, shift = Limits(-reach, reach, 3.0, 100.0), Limits(-0.4, 0.6, 1.0, 200.0)
    return tuple(turn if turns else shift for turns in kind.angular)


def _vector(values: np.ndarray) -> Vector3:
    x, y, z = values.tolist()
    return (x, y, z)


def _matrix(values: np.ndarray) -> Matrix3:
    x, y, z = values
    return (_vector(x), _vector(y), _vector(z))
