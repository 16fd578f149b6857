"""The domain file: a TOML file with bounds in place of the default ones.

For a joint of several degrees of freedom a bound applies to each of them::

    any_forces = true            # of these bounds, not only those of motions within the domain

    [default]
    acceleration = 50.0          # symmetric, or [lower, upper]

    [joints.iiwa_joint_1]
    position = [-1.0, 1.0]       # rad, or m
    velocity = 5.0
    multiplier = 2.0             # of this joint's force or acceleration

    [base]                       # floating, or with its motion given
    linear_velocity = 3.0
    angular_velocity = 5.0
    linear_acceleration = 30.0
    angular_acceleration = 50.0
    force = 300.0
    moment = 50.0

    [fext]
    force = 100.0
    moment = 20.0

    [integration]
    time_step = [0.0005, 0.01]   # s, of tasks that bring it

    [parameters]                 # of the links that are given at run time
    mass = 0.3                   # share of that in the URDF, either way
    centre = 0.02                # m, of each component, either way
    inertia = 0.3                # share of the moments, and of products by the smaller moment
    payload = 3.0                # kg that a link carries at most
    reach = 0.1                  # m, of each component, of the payload's parts from the link's frame

    [contacts]                   # no bounds: how contacts are held
    damping = 1e-6               # added to the inverse inertia that their forces feel, 1/kg
    velocity_gain = 0.0          # 1/s, Baumgarte's
    restitution = 0.0            # of impacts
    position_gain = 0.0          # 1/s^2, Baumgarte's of loops
"""

from __future__ import annotations

import math
import sys
import tomllib
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from rbdhw.arrays import MULTIPLIERS
from rbdhw.domain.default_limits import Pair
from rbdhw.errors import InputError
from rbdhw.runtime.files import read
from rbdhw.runtime.number_bounds import (
    ACCELERATION,
    DOMAIN_BYTES,
    DOMAIN_LINE,
    EFFORT,
    LENGTH,
    MASS,
    POSITION,
    TIME_STEP,
    VELOCITY,
    Bound,
)


def _pair(value: object, bound: Bound) -> Pair:
    """Return ``b`` as ``(-b, b)`` and ``[l, u]`` as ``(l, u)``; ValueError if it is neither or too large."""
    match value:
        case [lower, upper]:
            pair = _number(lower), _number(upper)
        case _:
            pair = -_number(value), _number(value)
    if not pair[0] < pair[1]:
        raise ValueError(_EXPECTED)
    if not bound.holds(max(pair, key=abs)):
        raise ValueError(bound.expected)
    return pair


def _switch(value: object) -> bool:
    """Return a truth value; ValueError for anything else."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _number(value: object) -> float:
    """Return a finite number as a float, and NaN, which no comparison holds for, in place of all else."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= sys.float_info.max:
        return math.nan
    return float(value)


def _times(value: object) -> Pair:
    """Return ``[l, u]`` as ``(l, u)``; ValueError unless both are time steps and ``l`` is the smaller."""
    match value:
        case [lower, upper]:
            pair = _number(lower), _number(upper)
            if 0.0 < pair[0] < pair[1] and TIME_STEP.holds(*pair):
                return pair
    raise ValueError(f"[lower, upper], each of {TIME_STEP.positive}, with lower below upper")


def _positive(value: object, bound: Bound) -> float:
    """Return a positive number within a bound; ValueError for anything else."""
    number = _number(value)
    if not (number > 0.0 and bound.holds(number)):
        raise ValueError(bound.positive)
    return number


def _from_zero(value: object, bound: Bound) -> float:
    """Return a number from zero on within a bound; ValueError for anything else."""
    number = _number(value)
    if not (number >= 0.0 and bound.holds(number)):
        raise ValueError(f"0 to {bound.largest:g} {bound.unit}")
    return number


_SHARE = Bound(0.9, "of the value in the URDF", 1e-6)

Share = Annotated[float, BeforeValidator(partial(_positive, bound=_SHARE))]
Distance = Annotated[float, BeforeValidator(partial(_positive, bound=Bound(LENGTH.largest, "m", 1e-6)))]
Damping = Annotated[float, BeforeValidator(partial(_positive, bound=Bound(1e3, "1/kg", 1e-12)))]
Gain = Annotated[float, BeforeValidator(partial(_from_zero, bound=Bound(1e4, "1/s")))]
PositionGain = Annotated[float, BeforeValidator(partial(_from_zero, bound=Bound(1e6, "1/s^2")))]
Restitution = Annotated[float, BeforeValidator(partial(_from_zero, bound=Bound(1.0, "of the velocity")))]
Load = Annotated[float, BeforeValidator(partial(_positive, bound=MASS))]

Switch = Annotated[bool, BeforeValidator(_switch)]

_EXPECTED = "a positive number or [lower, upper] with lower below upper"

Positions = Annotated[Pair, BeforeValidator(partial(_pair, bound=POSITION))]
Velocities = Annotated[Pair, BeforeValidator(partial(_pair, bound=VELOCITY))]
Accelerations = Annotated[Pair, BeforeValidator(partial(_pair, bound=ACCELERATION))]
Efforts = Annotated[Pair, BeforeValidator(partial(_pair, bound=EFFORT))]
Times = Annotated[Pair, BeforeValidator(_times)]


class JointBounds(BaseModel):
    """Overrides of the bounds of one joint or of all."""

    model_config = ConfigDict(extra="forbid")
    position: Positions | None = None
    velocity: Velocities | None = None
    acceleration: Accelerations | None = None
    effort: Efforts | None = None
    multiplier: Efforts | None = None


class ForceBounds(BaseModel):
    """Bounds of each component of an external wrench (N, Nm)."""

    model_config = ConfigDict(extra="forbid")
    force: Efforts | None = None
    moment: Efforts | None = None


class BaseBounds(ForceBounds):
    """Bounds of each component of a moving base's motion, and of the wrench on a floating base."""

    linear_velocity: Velocities | None = None
    angular_velocity: Velocities | None = None
    linear_acceleration: Accelerations | None = None
    angular_acceleration: Accelerations | None = None


class IntegrationBounds(BaseModel):
    """Bounds of the steps in time."""

    model_config = ConfigDict(extra="forbid")
    time_step: Times | None = None


class ParameterBounds(BaseModel):
    """Bounds of the inertial parameters that are given at run time, around those of the URDF."""

    model_config = ConfigDict(extra="forbid")
    mass: Share | None = None
    centre: Distance | None = None
    inertia: Share | None = None
    payload: Load | None = None
    reach: Distance | None = None


class ContactNumbers(BaseModel):
    """How contacts are held, in place of the defaults of :class:`rbdhw.robot.model.Contacts`."""

    model_config = ConfigDict(extra="forbid")
    damping: Damping | None = None
    velocity_gain: Gain | None = None
    restitution: Restitution | None = None
    position_gain: PositionGain | None = None


class Overrides(BaseModel):
    """The contents of a domain file."""

    model_config = ConfigDict(extra="forbid")
    any_forces: Switch = False
    default: JointBounds = JointBounds()
    joints: dict[str, JointBounds] = {}
    base: BaseBounds = BaseBounds()
    fext: ForceBounds = ForceBounds()
    integration: IntegrationBounds = IntegrationBounds()
    parameters: ParameterBounds = ParameterBounds()
    contacts: ContactNumbers = ContactNumbers()

    def idle_remarks(self, arrays: Collection[str]) -> list[str]:
        """Return a remark on each part of the file that bounds nothing of a build.

        ``arrays`` are the names of the arrays that tasks bring.
        """
        multiplied = any(bounds.multiplier for bounds in (self.default, *self.joints.values()))
        parts = (
            ("any_forces", self.any_forces, {"tau"}),
            ("table fext", self.fext != ForceBounds(), {"fext"}),
            ("table integration", self.integration != IntegrationBounds(), {"h"}),
            ("multiplier", multiplied, {*MULTIPLIERS}),
        )
        return [
            f"domain, {part}: has no effect, as no task of the build brings {' or '.join(sorted(bounded))}"
            for part, is_there, bounded in parts
            if is_there and bounded.isdisjoint(arrays)
        ]


def read_overrides(path: Path) -> Overrides:
    """Read the overrides in a TOML file.

    Raises InputError if the file cannot be read or is not a valid domain file.
    """
    data = read(path, "a TOML file with bounds of the inputs", DOMAIN_BYTES)
    longest = max(map(len, data.split(b"\n")))
    if longest > DOMAIN_LINE:
        raise InputError(str(path), f"a line of {longest:,} characters", f"at most {DOMAIN_LINE:,}")
    try:
        return Overrides.model_validate(tomllib.loads(data.decode("utf-8")))
    except ValidationError as error:
        raise _refusal(path, error.errors()[0]) from error
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else error
        raise InputError(str(path), f"not a readable TOML file ({reason})") from error


def _refusal(path: Path, error: ErrorDetails) -> InputError:
    where = f"{path}, {'.'.join(str(part) for part in error['loc'])}"
    if error["type"] == "extra_forbidden":
        tables: dict[object, type[BaseModel]] = {
            "default": JointBounds,
            "joints": JointBounds,
            "base": BaseBounds,
            "fext": ForceBounds,
            "integration": IntegrationBounds,
            "parameters": ParameterBounds,
            "contacts": ContactNumbers,
        }
        table = tables[error["loc"][0]] if len(error["loc"]) > 1 else Overrides
        return InputError(where, "unknown", f"one of {', '.join(table.model_fields)}")
    expected = str(error["ctx"]["error"]) if error["type"] == "value_error" else "a table"
    return InputError(where, f"is {error['input']!r}", expected)
