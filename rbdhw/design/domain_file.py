"""The domain in a folder: the bounds of every input, and the bodies that take an external force."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from rbdhw.arrays import MULTIPLIERS
from rbdhw.domain.bounds import Domain
from rbdhw.errors import InputError
from rbdhw.protocol import BASE_HELD, CONTACT, HOLDING, PARAMETERS
from rbdhw.robot.model import Robot

DOMAIN = "domain.json"


class _DomainFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    bounds: dict[str, list[tuple[float, float]]]
    wraps: tuple[bool, ...]
    fext: tuple[int, ...]
    any_forces: bool = False


def domain_to_json(domain: Domain, fext: Sequence[int]) -> dict[str, Any]:
    """Return the bounds of each array, the angles that wrap, and the bodies that take an external force.

    Infinite bounds are the strings "inf" and "-inf".
    """
    bounds = {
        array: [[x if np.isfinite(x) else str(x) for x in map(float, row)] for row in rows]
        for array, rows in domain.bounds.items()
    }
    wraps, forces = list(domain.wraps), domain.any_forces
    return {"bounds": bounds, "wraps": wraps, "fext": list(fext), "any_forces": forces}


def domain_from_json(data: dict[str, Any], robot: Robot) -> tuple[Domain, tuple[int, ...]]:
    """Return what :func:`domain_to_json` was given; InputError if it does not fit the robot."""
    try:
        file = _DomainFile.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"domain data, {where}", first["msg"], "what generate wrote") from None
    bodies = len(robot.bodies)
    rows = {"q": robot.nq, "v": robot.nv, "a": robot.nv, "tau": robot.nv, "fext": 6}
    if robot.base_given:
        rows |= {"base_v": 6, "base_a": 6}
    if robot.base_chosen:
        rows |= {"base_a": 6, BASE_HELD: 1}
    if robot.contacts.places:
        rows[CONTACT] = len(robot.contacts.places)
    if robot.contacts.by_task:
        rows[HOLDING] = 3
    if robot.gravity_given:
        rows["gravity"] = 3
    if robot.loaded is not None:
        rows[PARAMETERS] = len(robot.loaded.bounds)
    rows |= {name: robot.nv for name in MULTIPLIERS if name in file.bounds}
    if "h" in file.bounds:
        rows["h"] = 1
    if "Minv" in file.bounds:
        rows["Minv"] = robot.nv**2
    if {array: len(pairs) for array, pairs in file.bounds.items()} != rows or len(file.wraps) != robot.nq:
        expected = ", ".join(f"{size} of {array}" for array, size in rows.items())
        raise InputError("domain data, bounds", f"do not match robot '{robot.name}'", expected)
    if any(not lower <= upper for pairs in file.bounds.values() for lower, upper in pairs):
        raise InputError("domain data, bounds", "a lower bound exceeds its upper bound", "lower <= upper")
    if any(i not in range(bodies) for i in file.fext):
        raise InputError("domain data, fext", str(list(file.fext)), f"indices of the {bodies} bodies")
    bounds = {array: np.array(pairs) for array, pairs in file.bounds.items()}
    return Domain(bounds, file.wraps, any_forces=file.any_forces), file.fext
