"""How large and how small numbers may be: what lies beyond is a mistake, not a robot or a task.

The bounds are far from all that is built, so that they refuse nothing that is meant, and near enough that
products of several such numbers stay in the range of double precision. Where a limit of a URDF is beyond them
it is a placeholder, and :mod:`rbdhw.robot.joints` takes no limit instead.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """The magnitudes that a quantity may have.

    Parameters
    ----------
    largest
        The largest magnitude.
    unit
        What it is counted in, as messages name it; empty for a ratio.
    smallest
        The smallest magnitude above zero.
    """

    largest: float
    unit: str
    smallest: float = 0.0

    def holds(self, *values: float) -> bool:
        """Whether all values are zero or within the bounds."""
        return all(value == 0.0 or self.smallest <= abs(value) <= self.largest for value in values)

    @property
    def positive(self) -> str:
        """What a message says was expected of a quantity that is more than zero."""
        return f"{self.smallest:g} to {self.largest:g} {self.unit}"

    @property
    def expected(self) -> str:
        """What a message says was expected."""
        unit = f" {self.unit}" if self.unit else ""
        if self.smallest:
            return f"0, or a magnitude of {self.smallest:g} to {self.largest:g}{unit}"
        return f"a magnitude of up to {self.largest:g}{unit}"


LENGTH = Bound(1e6, "m")
"""A thousand kilometres."""

ANGLE = Bound(1e6, "rad")
"""Some 160,000 turns; beyond, the sine of a double loses digits that matter."""

POSITION = Bound(1e6, "rad or m")
"""The range of a joint."""

MASS = Bound(1e9, "kg", 1e-12)
"""From a nanogram to a million tons, more than the largest machines that move."""

INERTIA = Bound(1e15, "kg m^2")
"""The largest mass on a lever of a kilometre."""

ACCELERATION_OF_FREE_FALL = Bound(1e6, "m/s^2", 1e-9)
"""From less than a space station feels to a fast centrifuge."""

VELOCITY = Bound(1e6, "rad/s or m/s", 1e-9)
"""From a turn in two hundred years to beyond the fastest spindle."""

ACCELERATION = Bound(1e9, "rad/s^2 or m/s^2", 1e-9)
"""What reaches the largest velocity within a millisecond."""

EFFORT = Bound(1e12, "N or Nm", 1e-12)
"""From what bends a cell to more than any drive gives."""

RATIO = Bound(500.0, "", 1e-6)
"""Of a joint that mimics another: more than one gear reduces, and the pitch of the finest screw."""

TASK_NUMBER = 1e15
"""The largest magnitude of a number in a task. Beyond the domain the task is flagged, beyond this refused."""

NAME_CHARACTERS = 1000
"""Of an attribute in a URDF: no name or number has more."""

JOINTS = 10_000
"""Moving joints of a robot; a large published one has 73."""

MOST_II = 4096
"""Cycles between tasks: an accelerator of one multiplier does several thousand products in as many."""

CLOCK_MHZ = Bound(10_000.0, "MHz", 1e-3)
"""No device of today reaches the largest clock."""

BANDWIDTH = Bound(1e6, "GB/s", 1e-9)
"""A petabyte a second is beyond any link."""

LEAST_ERROR = 1e-12
"""The smallest error budget: double precision, by which errors are measured, tells no smaller ones apart."""

MOST_TASKS = 10**9
"""Tasks of a simulation: weeks of work."""

LARGEST_SEED = 2**63 - 1
"""Of random numbers."""

URDF_BYTES = 16 << 20
"""Of a URDF; meshes are files of their own."""

DOMAIN_BYTES = 1 << 18
"""Of a domain file: bounds for a thousand joints."""

DOMAIN_LINE = 2000
"""Characters of a line of a domain file: a key of many parts is read in the square of their number."""
