"""The unit of each element of the arrays of the interface."""

from __future__ import annotations

from collections.abc import Mapping

from rbdhw.robot.coordinates import velocity_coordinates
from rbdhw.robot.model import Robot

FORCE, MOMENT = "N", "Nm"

_VECTORS: Mapping[str, tuple[str, str]] = {
    "v": ("rad/s", "m/s"),
    "a": ("rad/s^2", "m/s^2"),
    "tau": (MOMENT, FORCE),
}
"""Units of an element that belongs to a rotation, and of one that belongs to a translation."""

_MATRICES: Mapping[str, tuple[str, str, str, str]] = {
    "M": ("kg m^2", "kg m", "kg m", "kg"),
    "Minv": ("1/(kg m^2)", "1/(kg m)", "1/(kg m)", "1/kg"),
    "dtau_dq": ("Nm/rad", "Nm/m", "N/rad", "N/m"),
    "dtau_dv": ("Nm s/rad", "Nm s/m", "N s/rad", "N s/m"),
    "da_dq": ("1/s^2", "rad/(m s^2)", "m/(rad s^2)", "1/s^2"),
    "da_dv": ("1/s", "rad/(m s)", "m/(rad s)", "1/s"),
}
"""Units of an element by the kinds of its row and column: rotation-rotation, rotation-translation,
translation-rotation, translation-translation."""

_BASE: Mapping[str, tuple[str, ...]] = {
    "base_v": ("m/s",) * 3 + ("rad/s",) * 3,
    "base_a": ("m/s^2",) * 3 + ("rad/s^2",) * 3,
    "gravity": ("m/s^2",) * 3,
}


class Units:
    """The units of a robot's arrays except ``q``."""

    def __init__(self, robot: Robot) -> None:
        self._shifts = [coordinate.unit == "m/s" for coordinate in velocity_coordinates(robot)]

    def of(self, array: str, index: tuple[int, ...]) -> str:
        """Return the unit of an element.

        Parameters
        ----------
        array
            ``v``, ``a``, ``tau``, ``base_v``, ``base_a``, ``gravity``, ``fext`` (by body and component),
            ``M``, ``Minv``, or a derivative such as ``da_dv``.
            The indices of the element in the array.
            The element's place in the array.

        Raises
        ------
            The array is not one of these.
            For any other array.
        """
        if array == "fext":
            return FORCE if index[1] < 3 else MOMENT
        if array in _BASE:
            return _BASE[array][index[0]]
        if array in _VECTORS:
            return _VECTORS[array][self._shifts[index[0]]]
        row, column = (self._shifts[place] for place in index)
        return _MATRICES[array][2 * row + column]
