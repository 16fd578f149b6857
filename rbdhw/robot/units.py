"""The unit of each element of the arrays of the interface."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from rbdhw.robot.coordinates import configuration_coordinates, velocity_coordinates
from rbdhw.robot.model import Robot

FORCE, MOMENT = "N", "Nm"

Unit = Mapping[str, int]
"""The exponents of the units of a product."""

ORDER = ("kg", MOMENT, FORCE, "rad", "m", "s")
"""The order in which the units of a product are written."""

_ANGLE: tuple[Unit, Unit] = ({"rad": 1}, {"m": 1})
_FORCES: tuple[Unit, Unit] = ({MOMENT: 1}, {FORCE: 1})

_QUANTITIES: Mapping[str, tuple[Unit, Unit]] = {
    "q": _ANGLE,
    "v": ({"rad": 1, "s": -1}, {"m": 1, "s": -1}),
    "a": ({"rad": 1, "s": -2}, {"m": 1, "s": -2}),
    "tau": _FORCES,
}
"""The units of a quantity at a rotation and at a translation."""

_LEVER: tuple[Unit, Unit] = ({"m": 1}, {})
"""What a mass is multiplied with for each index, to give an inertia."""

_QUOTIENTS: Mapping[str, tuple[str, ...]] = {
    "v": ("v",),
    "v_after": ("v",),
    "a": ("a",),
    "tau": ("tau",),
    "std": ("tau",),
    "lambda_tau": ("1", "tau"),
    "lambda_a": ("1", "a"),
    "dtau_dq": ("tau", "q"),
    "dtau_dv": ("tau", "v"),
    "da_dq": ("a", "q"),
    "da_dv": ("a", "v"),
    "d2tau_dqdq": ("tau", "q", "q"),
    "d2tau_dqdv": ("tau", "q", "v"),
    "d2tau_dvdv": ("tau", "v", "v"),
    "d2a_dqdq": ("a", "q", "q"),
    "d2a_dqdv": ("a", "q", "v"),
    "d2a_dvdv": ("a", "v", "v"),
    "H_qq": ("1", "q", "q"),
    "H_qv": ("1", "q", "v"),
    "H_vv": ("1", "v", "v"),
    "H_qa": ("1", "q", "a"),
    "H_qtau": ("1", "q", "tau"),
}
"""For each array, the quantity of its first index, divided by those of the others; ``1`` has no index."""

_WHOLE_BODY: Mapping[str, tuple[str, str]] = {
    "com": ("m", "m"),
    "com_velocity": ("m/s", "m/s"),
    "dJ_com_v": ("m/s^2", "m/s^2"),
    "h_g": ("kg m/s", "kg m^2/s"),
    **dict.fromkeys(("hdot_g", "dA_g_v"), (FORCE, MOMENT)),
    "kinetic": ("J", "J"),
    "potential": ("J", "J"),
}
"""The units of a robot as a whole: of the first three elements of an array, and of the others."""

_MOMENTA: tuple[Unit, Unit] = ({"kg": 1, "m": 2, "s": -1}, {"kg": 1, "m": 1, "s": -1})

_HOLDING: tuple[Unit, ...] = ({}, {"s": -1}, {"s": -2})
"""The units of what derivatives are by: the logarithm of the damping of contacts, and gains."""

_WRENCH_SLOPES: Mapping[str, tuple[tuple[Unit, Unit], str]] = {
    "dforce_dq": (_FORCES, "q"),
    "dforce_dv": (_FORCES, "v"),
    "dforce_dtau": (_FORCES, "tau"),
    "dh_dq": (_MOMENTA, "q"),
    "dhdot_dq": (_FORCES, "q"),
    "dhdot_dv": (_FORCES, "v"),
}
"""For each array of derivatives of forces or momenta, linear rows first, their units, and the quantity of its
last index."""

_INERTIAS: Mapping[str, int] = {"M": 1, "Minv": -1, "da_dtau": -1, "dM_dq": 1, "dMinv_dq": -1}
"""The arrays whose first two indices are those of a mass matrix, and their power of the mass."""

_TWISTS: Mapping[str, tuple[str, ...]] = {
    "velocity": ("v",),
    "acceleration": ("a",),
    "J": ("v", "v"),
    "dv_dq": ("v", "q"),
    "da_dq": ("a", "q"),
    "da_dv": ("a", "v"),
}
"""For each array of frames' twists, the quantity of the twist, and that of the columns if there are any."""

BASE_UNITS: Mapping[str, tuple[str, ...]] = {
    "base_v": ("m/s",) * 3 + ("rad/s",) * 3,
    "base_a": ("m/s^2",) * 3 + ("rad/s^2",) * 3,
    "gravity": ("m/s^2",) * 3,
    "holding": ("1/kg", "1/s", "1/s^2"),
}

COUNTS = ("base_held", "contact", "steps", "every", "seed", "row", "step", "first_flagged", "cost")
"""The arrays of numbers without a unit."""

WITH_UNITS = frozenset(
    (
        "fext",
        "contact_force",
        "contact_impulse",
        "h",
        "x_next",
        "A",
        "B",
        "placement",
        "position",
        "p_next",
        "p_ref",
        "J_next",
        "J_position",
        "J_com",
        "A_g",
        "Y",
        "contact_inertia",
        "da_dholding",
        "dforce_dholding",
        "dtau_dfext",
        "da_dfext",
        "clearance",
        "dclearance_dq",
        *_WHOLE_BODY,
        *_WRENCH_SLOPES,
        *BASE_UNITS,
        *COUNTS,
        *_TWISTS,
        *_INERTIAS,
        *_QUOTIENTS,
    )
)
"""The arrays of whose elements :class:`Units` has the unit."""


class Units:
    """The units of a robot's arrays except ``q``."""

    def __init__(self, robot: Robot) -> None:
        self._shifts = [coordinate.unit == "m/s" for coordinate in velocity_coordinates(robot)]
        self._states = ["q"] * robot.nv + ["v"] * robot.nv
        self._positions = [coordinate.unit for coordinate in configuration_coordinates(robot)]

    def of(self, array: str, index: tuple[int, ...], function: str | None = None) -> str:
        """Return the unit of an element of one of :data:`WITH_UNITS`, a result of ``function`` if it is one.

        ``index`` is without the axis of tasks.
        """
        if array in ("fext", "contact_force"):
            return FORCE if index[1] < 3 else MOMENT
        if array == "contact_impulse":
            return "N s" if index[1] < 3 else "Nm s"
        if array in _WRENCH_SLOPES:
            return self._of_wrench_slope(array, index)
        if array in ("da_dholding", "dforce_dholding"):
            return self._of_holding(array, index)
        if array in BASE_UNITS:
            return BASE_UNITS[array][index[0]]
        if array == "h":
            return "s"
        if array in COUNTS:
            return "1"
        if array in _WHOLE_BODY:
            return _WHOLE_BODY[array][bool(index) and index[0] > 2]
        if array in ("clearance", "dclearance_dq"):
            angle = len(index) > 1 and not self._shifts[index[1]]
            return "m^2/rad" if angle else "m" if len(index) > 1 else "m^2"
        if array == "contact_inertia":
            return write_unit(_inertia(1, [k % 6 < 3 for k in index]))
        if array in ("dtau_dfext", "da_dfext"):
            return self._of_push(array, index)
        if array == "Y":
            return self._of_parameter(index)
        if array in ("position", "p_next", "p_ref"):
            return "m"
        if array in ("J_com", "J_position", "J_next"):
            return "1" if self._shifts[index[-1]] else "m/rad"
        if array == "A_g":
            return write_unit(_inertia(1, [index[0] < 3, self._shifts[index[1]]]))
        if function == "kin" or array == "placement":
            return self._of_frame(array, index)
        if array == "x_next":
            row = index[0] - len(self._positions)
            return self._positions[index[0]] if row < 0 else self.of("v", (row,))
        if array in ("A", "B"):
            return self._of_step(array, index)
        shifts = [self._shifts[k] for k in index]
        if array in _INERTIAS:
            return write_unit(_inertia(_INERTIAS[array], shifts))
        numerator, *denominators = _QUOTIENTS[array]
        product: Counter[str] = Counter()
        if numerator != "1":
            product.update(_QUANTITIES[numerator][shifts.pop(0)])
        for quantity, shift in zip(denominators, shifts, strict=True):
            product.subtract(_QUANTITIES[quantity][shift])
        return write_unit(product)

    def _of_push(self, array: str, index: tuple[int, ...]) -> str:
        """Return the unit of a joint force or acceleration by a force on a frame."""
        product = Counter(_QUANTITIES["tau" if array == "dtau_dfext" else "a"][self._shifts[index[0]]])
        product.subtract(_FORCES[index[2] < 3])
        return write_unit(product)

    def _of_parameter(self, index: tuple[int, ...]) -> str:
        """Return the unit of a joint force by a mass, a first moment or an inertia of a link."""
        row, _, parameter = index
        product = Counter(_QUANTITIES["tau"][self._shifts[row]])
        product.subtract({"kg": 1, "m": 0 if parameter == 0 else 1 if parameter < 4 else 2})
        return write_unit(product)

    def _of_wrench_slope(self, array: str, index: tuple[int, ...]) -> str:
        *_, row, column = index
        units, quantity = _WRENCH_SLOPES[array]
        product = Counter(units[row < 3])
        product.subtract(_QUANTITIES[quantity][self._shifts[column]])
        return write_unit(product)

    def _of_holding(self, array: str, index: tuple[int, ...]) -> str:
        """Return the unit of an acceleration or of a contact's force by damping or by a gain."""
        *_, row, column = index
        product = Counter(_QUANTITIES["a"][self._shifts[row]] if array == "da_dholding" else _FORCES[row < 3])
        product.subtract(_HOLDING[column])
        return write_unit(product)

    def _of_step(self, array: str, index: tuple[int, ...]) -> str:
        row, column = index
        shifts = self._shifts + self._shifts
        product = Counter(_QUANTITIES[self._states[row]][shifts[row]])
        other = self._states[column] if array == "A" else "tau"
        product.subtract(_QUANTITIES[other][shifts[column]])
        return write_unit(product)

    def _of_frame(self, array: str, index: tuple[int, ...]) -> str:
        if array == "placement":
            return "m" if index[2] == 3 and index[1] < 3 else "1"
        quantity, *others = _TWISTS[array]
        product = Counter(_QUANTITIES[quantity][index[1] < 3])
        for other, k in zip(others, index[2:], strict=True):
            product.subtract(_QUANTITIES[other][self._shifts[k]])
        return write_unit(product)


def _inertia(power: int, shifts: list[bool]) -> Unit:
    """Return the unit of an element of the mass matrix, its inverse, or of their derivatives by ``q``."""
    product = Counter({"kg": power})
    for shift in shifts[:2]:
        for unit, exponent in _LEVER[shift].items():
            product[unit] += power * exponent
    for shift in shifts[2:]:
        product.subtract(_ANGLE[shift])
    return product


def write_unit(unit: Unit) -> str:
    """Return the text of a unit, such as ``rad/(m s^2)``."""
    powers = {name: unit.get(name, 0) for name in ORDER}
    above = [_power(name, exponent) for name, exponent in powers.items() if exponent > 0]
    below = [_power(name, -exponent) for name, exponent in powers.items() if exponent < 0]
    numerator = " ".join(above) or "1"
    if not below:
        return numerator
    return f"{numerator}/{below[0]}" if len(below) == 1 else f"{numerator}/({' '.join(below)})"


def _power(name: str, exponent: int) -> str:
    return name if exponent == 1 else f"{name}^{exponent}"
