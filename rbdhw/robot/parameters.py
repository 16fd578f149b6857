"""Inertial parameters that are given at run time, and the numbers that the hardware holds of them.

The user gives for each chosen link its mass, its centre of mass, and its inertia about that centre. The
robot's rewrites move frames and regroup inertias (:mod:`rbdhw.robot.regroup`). Both are linear in the mass,
the first moment and the inertia about a frame's origin, and so the numbers that are left of all bodies follow
from those of the chosen links by a constant matrix. The second moments of mass take the place of the inertia
(:mod:`rbdhw.dynamics.inertia`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rbdhw.errors import InputError
from rbdhw.robot.model import Inertia, LoadedInertias, Robot
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.spatial import inverse, move_inertia

NUMBERS = ("mass", "x", "y", "z", "xx", "xy", "xz", "yy", "yz", "zz")
"""The parameters of a link at the user's interface: mass, centre, and inertia about the centre."""

UNITS = ("kg",) + ("kg m",) * 3 + ("kg m^2",) * 6
"""The units of the numbers that are held of a body: its mass, first moment, and second moments."""

SHARE = 0.2
"""The default range of a parameter, as a share of its value in the URDF."""

LEAST_SHARE = 1e-12
"""A coefficient below this share of the largest one of its parameter is a rounding error."""

Array = NDArray[np.float64]

Held = tuple[int, int]
"""A number that is held: the body, and the index in :data:`UNITS`."""


def load_inertias(robot: Robot, links: Sequence[str], payload: bool = False) -> Robot:
    """Return the robot with the inertial parameters of these moving links given at run time.

    Their bounds are :data:`SHARE` around those of the URDF; what is zero there stays zero. Raises InputError
    if a link is unknown, does not move, or has no mass or an inertia that no body has. ``payload`` states
    whether the links carry loads.
    """
    known = [robot.bodies[i].name for i in robot.links]
    for link in links:
        _check_link(robot, link, known)
    ordered = tuple(name for name in known if name in links)
    robot = replace(robot, loaded=LoadedInertias(ordered, payload))
    nominal = nominal_parameters(robot)
    for link, values in zip(ordered, nominal, strict=True):
        problem = unphysical(values)
        if problem:
            expected = "a link whose inertia in the URDF is that of a body"
            raise InputError("parameters", f"link '{link}' has {problem}", expected)
    slack = SHARE * np.abs(nominal)
    return with_bounds(robot, np.stack([nominal - slack, nominal + slack], axis=-1))


def _check_link(robot: Robot, link: str, known: Sequence[str]) -> None:
    expected = f"some of {', '.join(known)}"
    carrier = dict(robot.fixed_links).get(link, link)
    if link in known:
        return
    if carrier in known:
        reason, remedy = f"link '{link}' is fixed to '{carrier}'", f"use --parameters {carrier}"
        raise InputError("parameters", reason, expected, remedy)
    reason = "does not move" if carrier == robot.base else "is unknown"
    raise InputError("parameters", f"link '{link}' {reason}", expected)


def check_loaded(robot: Robot, link: str) -> None:
    """Check that the inertial parameters of a link are given at run time.

    Raises InputError if they are constant, or the link is fixed to another one.
    """
    links = robot.loaded.links if robot.loaded else ()
    if link in links:
        return
    reason, remedy = f"those of link '{link}' are constant", ""
    carrier = dict(robot.fixed_links).get(link)
    if carrier is not None:
        reason = f"link '{link}' is fixed to '{carrier}'"
    if carrier in links:
        remedy = f"give those of '{carrier}' together with all that is fixed to it"
    raise InputError("parameters", reason, f"of {', '.join(links)}", remedy)


def with_bounds(robot: Robot, bounds: Array) -> Robot:
    """Return the robot with these bounds (links, 10, 2) of the parameters that are given at run time."""
    assert robot.loaded is not None
    pairs = tuple((float(lower), float(upper)) for lower, upper in bounds.reshape(-1, 2))
    return replace(robot, loaded=replace(robot.loaded, bounds=pairs))


def bounds_by_link(robot: Robot) -> Array:
    """Return the bounds (links, 10, 2) of the parameters that are given at run time."""
    assert robot.loaded is not None
    return np.array(robot.loaded.bounds).reshape(-1, len(NUMBERS), 2)


def leaf_link(robot: Robot) -> str:
    """Return the link that carries a payload: the only one that carries no other.

    Raises InputError if there are several.
    """
    leaves = [robot.bodies[i].name for i in robot.links if not robot.children[i]]
    if len(leaves) != 1:
        reason = f"{robot.name} has {len(leaves)} links that carry no other"
        raise InputError("parameters", reason, "one", f"use --parameters {leaves[0]}, or another link")
    return leaves[0]


def nominal_parameters(robot: Robot) -> Array:
    """Return the parameters (links, 10) of the chosen links as the URDF gives them."""
    bodies = {body.name: body for body in robot.bodies}
    assert robot.loaded is not None
    rows = []
    for name in robot.loaded.links:
        inertia = move_inertia(bodies[name].inertia, inverse(bodies[name].link_frame))
        centre = np.array(inertia.first_moment) / inertia.mass if inertia.mass else np.zeros(3)
        shift = _about_origin(np.array(inertia.mass), centre)
        rows.append([inertia.mass, *centre, *(np.array(inertia.rotational) - shift)])
    return np.array(rows).reshape(-1, len(NUMBERS))


def linear_parameters(parameters: Array) -> Array:
    """Return mass, first moment and inertia about the frame's origin, (..., 10), of parameters (..., 10)."""
    mass, centre = parameters[..., :1], parameters[..., 1:4]
    about_origin = parameters[..., 4:] + _about_origin(mass, centre)
    return np.concatenate([mass, mass * centre, about_origin], axis=-1)


def _about_origin(mass: Array, centre: Array) -> Array:
    """Return the inertia (..., 6) of a point mass (..., 1) at ``centre`` (..., 3) about the origin."""
    x, y, z = np.moveaxis(centre, -1, 0)
    squares = np.stack([y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y], axis=-1)
    return np.asarray(mass * squares)


def with_payload(parameters: Array, mass: float, centre: Array, inertia: Array) -> Array:
    """Return the parameters (10,) of a link that carries a load.

    ``parameters`` are those of the link alone. ``mass``, ``centre`` and ``inertia`` are the load's mass (kg),
    centre of mass (3,) in the link's frame (m), and inertia (6,) about that centre.
    """
    total = linear_parameters(parameters) + linear_parameters(np.concatenate([[mass], centre, inertia]))
    common = total[1:4] / total[0]
    return np.concatenate([total[:1], common, total[4:] - _about_origin(total[:1], common)])


def unphysical(parameters: Array) -> str:
    """Return why no body has these parameters (10,), or nothing."""
    if not parameters[0] > 0.0:
        return f"a mass of {parameters[0]:g} kg"
    xx, xy, xz, yy, yz, zz = parameters[4:]
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    least, middle, largest = np.linalg.eigvalsh(inertia)
    if not least > 0.0:
        return f"an inertia with the principal moment {least:g} kg m^2"
    if largest > (1.0 + 1e-6) * (least + middle):
        moments = f"{least:g}, {middle:g} and {largest:g} kg m^2"
        return f"the principal moments {moments}, the last above the sum of the others"
    return ""


def held_numbers(robot: Robot) -> list[Held]:
    """Return the numbers that are held of a rewritten robot, which vary with the parameters of its links."""
    return [number for number, row in _coefficients(robot) if row.any()]


def with_held_map(source: Robot, robot: Robot) -> Robot:
    """Return ``source`` with the map from its parameters to the numbers that are held of ``robot``.

    ``robot`` is the same robot, rewritten.
    """
    assert source.loaded is not None
    nominal = linear_parameters(nominal_parameters(source)).ravel()
    whole = _flat(regroup_inertias(robot))
    rows = [(number, row) for number, row in _coefficients(robot) if row.any()]
    matrix = tuple(tuple(map(float, row)) for _, row in rows)
    constants = tuple(float(whole[number] - row @ nominal) for number, row in rows)
    units = tuple(UNITS[entry] for (_, entry), _ in rows)
    names = tuple(f"{_SYMBOLS[entry]} of {robot.bodies[body].name}" for (body, entry), _ in rows)
    loaded = replace(source.loaded, names=names, units=units, matrix=matrix, constants=constants)
    return replace(source, loaded=loaded)


def held_values(robot: Robot, parameters: Array) -> Array:
    """Return the numbers (N, held) that the hardware holds for parameters (N, links, 10)."""
    loaded = robot.loaded
    assert loaded is not None
    flat = linear_parameters(parameters).reshape(len(parameters), 10 * len(loaded.links))
    return np.asarray(flat @ np.array(loaded.matrix).T + np.array(loaded.constants), np.float64)


def nominal_words(robot: Robot) -> dict[str, float]:
    """Return the value of each word that holds a number, at the parameters of the URDF."""
    held = held_values(robot, nominal_parameters(robot)[np.newaxis])[0]
    return {f"parameters[{k}]": float(value) for k, value in enumerate(held)}


def held_bounds(robot: Robot) -> Array:
    """Return bounds (held, 2) of the numbers that are held."""
    loaded = robot.loaded
    assert loaded is not None
    matrix, constants = np.array(loaded.matrix), np.array(loaded.constants)
    lower, upper = np.concatenate([linear_bounds(bounds) for bounds in bounds_by_link(robot)]).T
    least = np.minimum(matrix * lower, matrix * upper).sum(axis=1)
    most = np.maximum(matrix * lower, matrix * upper).sum(axis=1)
    return np.stack([constants + least, constants + most], axis=1)


def linear_bounds(bounds: Array) -> Array:
    """Return bounds (10, 2) of :func:`linear_parameters` from bounds (10, 2) of the parameters of a link."""
    mass, (x, y, z), about = bounds[0], bounds[1:4], bounds[4:]
    xx, yy, zz = (_square(coordinate) for coordinate in (x, y, z))
    shifts = [yy + zz, _minus(_times(x, y)), _minus(_times(x, z)), xx + zz, _minus(_times(y, z)), xx + yy]
    moved = [moment + _times(mass, shift) for moment, shift in zip(about, shifts, strict=True)]
    return np.array([mass, *(_times(mass, coordinate) for coordinate in (x, y, z)), *moved])


def _square(one: Array) -> Array:
    low, high = np.sort(np.square(one))
    return np.array([0.0 if one[0] <= 0.0 <= one[1] else low, high])


def _minus(one: Array) -> Array:
    return np.array([-one[1], -one[0]])


def _times(one: Array, other: Array) -> Array:
    products = np.outer(one, other)
    return np.array([products.min(), products.max()])


_SYMBOLS = ("m", "hx", "hy", "hz", "sxx", "sxy", "sxz", "syy", "syz", "szz")


def _coefficients(robot: Robot) -> Iterator[tuple[Held, Array]]:
    """Yield each number of the bodies of a rewritten robot with its coefficients (10 links,).

    They are zero for what the bounds leave constant.
    """
    assert robot.loaded is not None
    index_of = {body.name: i for i, body in enumerate(robot.bodies)}
    columns: list[dict[Held, float]] = []
    for link, bounds in zip(robot.loaded.links, bounds_by_link(robot), strict=True):
        for k, (lower, upper) in enumerate(linear_bounds(bounds)):
            varies = link in index_of and lower < upper
            columns.append(_effect(robot, index_of[link], k) if varies else {})
    for body in range(len(robot.bodies)):
        for entry in range(len(NUMBERS)):
            yield (body, entry), np.array([column.get((body, entry), 0.0) for column in columns])


def _effect(robot: Robot, link: int, number: int) -> dict[Held, float]:
    """Return the numbers of all bodies that one of mass, first moment and inertia of a link brings."""
    mass, x, y, z, *rotational = (1.0 if k == number else 0.0 for k in range(len(NUMBERS)))
    xx, xy, xz, yy, yz, zz = rotational
    unit = Inertia(mass, (x, y, z), (xx, xy, xz, yy, yz, zz))
    moved = move_inertia(unit, robot.bodies[link].link_frame)
    bodies = [replace(body, inertia=Inertia()) for body in robot.bodies]
    bodies[link] = replace(bodies[link], inertia=moved)
    shares = _flat(regroup_inertias(robot.with_bodies(bodies)))
    largest = max(map(abs, shares.values()), default=0.0)
    return {held: value for held, value in shares.items() if abs(value) > LEAST_SHARE * largest}


def _flat(robot: Robot) -> dict[Held, float]:
    """Return mass, first moment and second moments of each body."""
    flat: dict[Held, float] = {}
    for i, body in enumerate(robot.bodies):
        xx, xy, xz, yy, yz, zz = body.inertia.rotational
        half = 0.5 * (xx + yy + zz)
        second = (half - xx, -xy, -xz, half - yy, -yz, half - zz)
        numbers = (body.inertia.mass, *body.inertia.first_moment, *second)
        flat |= {(i, k): float(number) for k, number in enumerate(numbers)}
    return flat
