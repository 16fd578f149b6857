"""Bounds on the magnitude of input numbers: a number beyond them is a mistake, not a robot or a task.

The bounds are far beyond all that is built, so that they refuse no meaningful input, yet small enough that
products of several such numbers stay within double precision. A joint limit in a URDF beyond them is a
placeholder, and :mod:`rbdhw.robot.joints` treats it as no limit.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdhw.errors import InputError


@dataclass(frozen=True)
class Bound:
    """The largest magnitude of a quantity, its unit (empty for a ratio), the smallest other than zero."""

    largest: float
    unit: str
    smallest: float = 0.0

    def holds(self, *values: float) -> bool:
        """Return whether all values are zero or within the bounds."""
        return all(value == 0.0 or self.smallest <= abs(value) <= self.largest for value in values)

    @property
    def positive(self) -> str:
        """The expectation in a message about a quantity that must be positive."""
        return f"{self.smallest:g} to {self.largest:g} {self.unit}"

    @property
    def expected(self) -> str:
        """The expectation in a message."""
        unit = f" {self.unit}" if self.unit else ""
        if self.smallest:
            return f"0, or a magnitude of {self.smallest:g} to {self.largest:g}{unit}"
        return f"a magnitude of up to {self.largest:g}{unit}"


LENGTH = Bound(1e6, "m")
"""A length: up to a thousand kilometres."""

ANGLE = Bound(1e6, "rad")
"""An angle: some 160,000 turns. Beyond that, the sine of a double loses significant digits."""

POSITION = Bound(1e6, "rad or m")
"""A joint position."""

MASS = Bound(1e9, "kg", 1e-12)
"""A mass: from a nanogram to a million tonnes, more than the largest machines that move."""

INERTIA = Bound(1e15, "kg m^2")
"""A moment of inertia: up to the largest mass at a distance of a kilometre."""

ACCELERATION_OF_FREE_FALL = Bound(1e6, "m/s^2", 1e-9)
"""Gravity: from less than in a space station to a fast centrifuge."""

VELOCITY = Bound(1e6, "rad/s or m/s", 1e-9)
"""A joint velocity: from a turn in two hundred years to beyond the fastest spindle."""

ACCELERATION = Bound(1e9, "rad/s^2 or m/s^2", 1e-9)
"""A joint acceleration: up to the largest velocity within a millisecond."""

EFFORT = Bound(1e12, "N or Nm", 1e-12)
"""A joint effort: from the force that bends a cell to more than any drive delivers."""

ARMATURE = Bound(1e15, "kg m^2 or kg", 1e-12)
"""The inertia of a rotor, seen at its joint: up to the largest inertia of a link."""

DAMPING = Bound(1e12, "Nm s/rad or N s/m", 1e-12)
"""A coefficient of viscous friction: up to the largest effort at a unit of velocity."""

TIME_STEP = Bound(1.0, "s", 1e-7)
"""A step in time: up to a second; a robot falls five metres in it."""

RATIO = Bound(1e6, "", 1e-6)
"""The ratio of a mimic joint: a screw with a lead of 6 um turns by 1e6 rad/m, and moves 1e-6 m/rad."""

TASK_NUMBER = 1e15
"""The largest magnitude of a number in a task. A smaller number outside the domain is flagged; a larger
number is refused."""

NAME_CHARACTERS = 1000
"""The most characters of an attribute in a URDF."""

JOINTS = 10_000
"""The most moving joints of a robot; a large published robot has 73."""

MOST_II = 4096
"""The most cycles between tasks: a single multiplier computes several thousand products in this time."""

MOST_COPIES = 64
"""The most copies of a core: with more, one pair of streams could not keep them busy."""

TASKS_OF_MIX = Bound(1e6, "tasks", 1e-6)
"""The tasks of a function in a mix: only their proportion matters."""

CLOCK_MHZ = Bound(10_000.0, "MHz", 1e-3)
"""A clock: the upper bound is beyond all devices of today."""

BANDWIDTH = Bound(1e6, "GB/s", 1e-9)
"""The bandwidth of a link: up to a petabyte a second, beyond any link."""

LEAST_ERROR = 1e-12
"""The smallest error budget; errors are measured in double precision, which does not resolve smaller ones."""

CONFIDENCES = 0.5, 1.0 - 1e-9
"""The least and the largest confidence; the latter takes three times as many tasks as 99.9 %."""

MOST_TASKS = 10**9
"""The most tasks of a simulation: weeks of run time."""

LARGEST_SEED = 2**63 - 1
"""The largest seed of random numbers."""

URDF_BYTES = 16 << 20
"""The largest URDF in bytes; meshes are separate files."""

DOMAIN_BYTES = 1 << 18
"""The largest domain file in bytes: bounds for a thousand joints."""

DOMAIN_LINE = 2000
"""The most characters of a line of a domain file; reading a dotted key takes time quadratic in its parts."""


def check_confidence(name: str, confidence: float) -> None:
    """Refuse a confidence that is out of range."""
    if not CONFIDENCES[0] <= confidence <= CONFIDENCES[1]:
        raise InputError(name, f"{confidence:g} is not a confidence", "0.5 or more, and less than 1")
