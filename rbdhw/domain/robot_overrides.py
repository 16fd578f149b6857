"""What a domain file says of the robot itself: the bounds of its parameters, and how contacts are held."""

from __future__ import annotations

from dataclasses import replace

from rbdhw.domain.overrides import ContactNumbers, Overrides
from rbdhw.domain.parameter_bounds import bound_parameters
from rbdhw.errors import InputError
from rbdhw.robot.model import Robot


def override_robot(robot: Robot, overrides: Overrides | None) -> Robot:
    """Return the robot with the parameter bounds and the numbers of contacts of a domain file.

    Raises InputError if the file has some, and the build has no such parameters or contacts.
    """
    overrides = overrides or Overrides()
    return bound_parameters(_hold_contacts(robot, overrides.contacts), overrides.parameters)


def _hold_contacts(robot: Robot, asked: ContactNumbers) -> Robot:
    numbers = asked.model_dump(exclude_none=True)
    if numbers and not robot.contacts.places:
        raise InputError("domain, contacts", f"{robot.name} has none", "none", "use --contacts LINK:point")
    if asked.position_gain is not None and not robot.contacts.loops:
        raise InputError(
            "domain, contacts.position_gain", f"{robot.name} has no loops", "none", "use --loops FILE"
        )
    return replace(robot, contacts=replace(robot.contacts, **numbers))
