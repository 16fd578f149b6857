"""The bounds of inertial parameters that are given at run time.

By default they are those of :func:`rbdhw.robot.parameters.load_inertias`. A link that carries a payload may
have more mass than in the URDF, and no less. The payload lies in a cube about the origin of the link's frame.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbdhw.domain.overrides import ParameterBounds
from rbdhw.errors import InputError
from rbdhw.robot.model import Robot
from rbdhw.robot.parameters import bounds_by_link, nominal_parameters, with_bounds

PAYLOAD_SHARE = 0.1
"""The default largest payload, as a share of the mass of all moving links."""

REACH = 0.1
"""The default distance of a payload's parts from the origin of its link's frame, by component (m)."""

Array = NDArray[np.float64]


def bound_parameters(robot: Robot, asked: ParameterBounds) -> Robot:
    """Return the robot with the bounds of its parameters from a domain file, or the default ones.

    Raises InputError if the file has bounds of parameters, and none are given at run time.
    """
    loaded = robot.loaded
    if loaded is None:
        if asked != ParameterBounds():
            reason = f"all inertial parameters of {robot.name} are constant"
            raise InputError("domain, parameters", reason, "none", "use --parameters LINK")
        return robot
    nominal = nominal_parameters(robot)
    bounds = np.stack([nominal, nominal], axis=-1) if loaded.payload else bounds_by_link(robot)
    bounds = np.array(
        [_link_bounds(values, pairs, asked) for values, pairs in zip(nominal, bounds, strict=True)]
    )
    payload = asked.payload
    if payload is None and loaded.payload:
        payload = PAYLOAD_SHARE * sum(body.inertia.mass for body in robot.bodies)
    if payload is not None:
        reach = asked.reach or REACH
        bounds = np.array([_with_payload(pairs, payload, reach) for pairs in bounds])
    return with_bounds(robot, bounds)


def _link_bounds(nominal: Array, bounds: Array, asked: ParameterBounds) -> Array:
    """Return the bounds (10, 2) of a link without payload."""
    slack = np.max(np.abs(bounds - nominal[:, None]), axis=1)
    moments = nominal[[4, 7, 9]]
    if asked.mass is not None:
        slack[0] = asked.mass * nominal[0]
    if asked.centre is not None:
        slack[1:4] = asked.centre
    if asked.inertia is not None:
        xx, yy, zz = moments
        sizes = np.array([xx, min(xx, yy), min(xx, zz), yy, min(yy, zz), zz])
        slack[4:] = asked.inertia * sizes
    return np.stack([nominal - slack, nominal + slack], axis=1)


def _with_payload(bounds: Array, payload: float, reach: float) -> Array:
    """Return bounds (10, 2) of a link that also carries up to ``payload`` kg, each part within ``reach``."""
    lower, upper = bounds.copy().T
    upper[0] += payload
    lower[1:4], upper[1:4] = np.minimum(lower[1:4], -reach), np.maximum(upper[1:4], reach)
    # About the common centre, the parts of both bodies lie within the sides of the cube around them.
    sides = upper[1:4] - lower[1:4]
    xx, yy, zz = payload * np.square(sides)
    x, y, z = sides
    xy, xz, yz = payload * np.array([x * y, x * z, y * z])
    upper[4:] += np.array([yy + zz, xy, xz, xx + zz, yz, xx + yy])
    lower[[5, 6, 8]] -= np.array([xy, xz, yz])
    return np.stack([lower, upper], axis=1)
