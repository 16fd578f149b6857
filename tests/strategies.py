"""Random robots and random states of them, for property tests."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from rbdhw.robot.model import (
    BASE,
    IDENTITY,
    Body,
    Inertia,
    Joint,
    JointKind,
    Limits,
    Matrix3,
    Placement,
    Robot,
    Vector3,
)

_ONE_DOF = (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC)
_AXES: tuple[Vector3, ...] = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, -1.0, 0.0))
_SHAPES = ((0,), (0, 0, 0, 0, 1), (0, 0, 1, 2, 3))
"""Bodies to climb toward the base before adding the next one: chains, limbs, bushes."""


@st.composite
def robots(draw: st.DrawFn, max_bodies: int = 12) -> Robot:
    """Valid fixed-base robots of one-DoF joints, bodies in depth-first order.

    Chains, branches and several trees on one base; revolute, continuous and prismatic joints about
    coordinate and skew axes; placements with and without structural zeros; physical inertias of all
    bodies and of the base; no joint offsets, and link frames that are the body frames. The shape is
    drawn (and shrinks), the numbers come from one drawn seed.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    climbs = st.sampled_from(draw(st.sampled_from(_SHAPES)))
    bodies: list[Body] = []
    for i in range(draw(st.integers(1, max_bodies))):
        parent = i - 1
        for _ in range(draw(climbs)):
            parent = bodies[parent].parent if parent != BASE else BASE
        kind = draw(st.sampled_from(_ONE_DOF))
        axis = draw(st.sampled_from(_AXES) | st.builds(lambda: random_direction(rng)))
        plain = draw(st.booleans())
        placement = Placement(_quarter_turn(rng) if plain else random_rotation(rng), _offset(rng, plain))
        joint = Joint(f"joint_{i}", kind, axis, placement, _limits(kind))
        bodies.append(Body(f"link_{i}", parent, joint, random_inertia(rng)))
    return Robot("random", "base", tuple(bodies), base_inertia=random_inertia(rng))


def random_states(robot: Robot, tasks: int, seed: int) -> dict[str, np.ndarray]:
    """All inputs of the seven functions, in the user's shapes: q, v, a, tau, fext.

    Coordinates are uniform within the joint limits (a full turn where there are none); a floating base is
    anywhere within a metre, in any attitude.
    """
    rng = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for joint in (body.joint for body in robot.bodies):
        if joint.kind is JointKind.FLOATING:
            quaternion = rng.normal(size=(tasks, 4))
            columns += [
                rng.uniform(-1, 1, (tasks, 3)),
                quaternion / np.linalg.norm(quaternion, axis=1)[:, None],
            ]
        else:
            (limits,) = joint.limits
            lower = limits.lower if math.isfinite(limits.lower) else -math.pi
            upper = limits.upper if math.isfinite(limits.upper) else math.pi
            columns.append(rng.uniform(lower, upper, (tasks, 1)))
    return {
        "q": np.hstack(columns),
        "v": rng.uniform(-2, 2, (tasks, robot.nv)),
        "a": rng.uniform(-5, 5, (tasks, robot.nv)),
        "tau": rng.uniform(-20, 20, (tasks, robot.nv)),
        "fext": rng.uniform(-10, 10, (tasks, len(robot.bodies), 6)),
    }


def random_direction(rng: np.random.Generator) -> Vector3:
    """A unit vector, uniform on the sphere."""
    vector = rng.normal(size=3)
    return _vector(vector / np.linalg.norm(vector))


def random_rotation(rng: np.random.Generator) -> Matrix3:
    """A rotation matrix without zeros or ones."""
    basis, triangle = np.linalg.qr(rng.normal(size=(3, 3)))
    basis = basis * np.sign(np.diag(triangle))
    return _matrix(basis if np.linalg.det(basis) > 0 else -basis)


def random_inertia(rng: np.random.Generator) -> Inertia:
    """A solid body's inertia: 0.5 to 5 kg, radii of gyration and centre of mass of some centimetres."""
    mass = rng.uniform(0.5, 5.0)
    centre = rng.uniform(-0.1, 0.1, 3)
    spread = np.diag(rng.uniform(0.03, 0.15, 3) ** 2)  # second moments per mass along the principal axes
    axes = np.array(random_rotation(rng))
    second = mass * (axes @ spread @ axes.T + np.outer(centre, centre))
    about_origin = np.trace(second) * np.eye(3) - second
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = about_origin.tolist()
    return Inertia(float(mass), _vector(mass * centre), (xx, xy, xz, yy, yz, zz))


def _quarter_turn(rng: np.random.Generator) -> Matrix3:
    """One of a few signed permutations, the unit matrix among them."""
    turns: tuple[Matrix3, ...] = (
        IDENTITY,
        ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)),
        ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0)),
        ((0.0, -1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, -1.0)),
    )
    return turns[rng.integers(len(turns))]


def _offset(rng: np.random.Generator, plain: bool) -> Vector3:
    """A translation of up to half a metre a coordinate; a plain one leaves some coordinates zero."""
    translation = rng.uniform(-0.5, 0.5, 3)
    return _vector(translation * rng.integers(0, 2, 3) if plain else translation)


def _limits(kind: JointKind) -> tuple[Limits, ...]:
    if kind is JointKind.PRISMATIC:
        return (Limits(-0.4, 0.6, 1.0, 200.0),)
    reach = 2.5 if kind is JointKind.REVOLUTE else math.inf
    return (Limits(-reach, reach, 3.0, 100.0),)


def _vector(values: np.ndarray) -> Vector3:
    x, y, z = values.tolist()
    return (x, y, z)


def _matrix(values: np.ndarray) -> Matrix3:
    x, y, z = values
    return (_vector(x), _vector(y), _vector(z))
