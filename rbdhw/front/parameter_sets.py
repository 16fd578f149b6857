"""The inertial parameters that an object of :func:`rbdhw.load` sends with its calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.errors import InputError
from rbdhw.model.arrays import as_numbers, check_parameters
from rbdhw.model.packets import check_finite
from rbdhw.protocol import PARAMETERS
from rbdhw.robot.model import Robot
from rbdhw.robot.parameters import check_loaded, nominal_parameters, with_payload

Array = NDArray[np.float64]


class ParameterSets:
    """Sets of inertial parameters, those of the URDF at first.

    Parameters
    ----------
    robot, folder
        The robot, and the folder that messages name.
    count
        The number of sets.

    Attributes
    ----------
    numbers
        The parameters (sets, links, 10); None if all are constant. When some are loaded, another array takes
        its place, so that other threads may compute.
    """

    def __init__(self, robot: Robot, folder: Path, count: int) -> None:
        self._robot, self._folder = robot, folder
        self._links = robot.loaded.links if robot.loaded else ()
        self.numbers: Array | None = (
            np.repeat(nominal_parameters(robot)[np.newaxis], count, axis=0) if robot.loaded else None
        )

    def load(self, parameters: Any, number: int) -> None:
        """See :meth:`rbdhw.front.accelerator.Accelerator.load_parameters`."""
        if self.numbers is None:
            raise self._all_constant("parameters", "some that are given at run time")
        numbers = self._set(self.numbers, "set", number).copy()
        if isinstance(parameters, Mapping):
            for link, values in parameters.items():
                check_loaded(self._robot, link)
                where = f"parameters, link '{link}'"
                numbers[self._links.index(link)] = _shaped(where, values, numbers.shape[1:])
        else:
            numbers = _shaped("parameters", parameters, numbers.shape)
        check_finite(PARAMETERS, numbers)
        check_parameters(self._robot, numbers[np.newaxis])
        sets = self.numbers.copy()
        sets[number] = numbers
        self.numbers = sets

    def load_payload(self, mass: float, centre: Any, inertia: Any, link: str | None, number: int) -> None:
        """See :meth:`rbdhw.front.accelerator.Accelerator.load_payload`."""
        name = link or (self._links[0] if self._links else "")
        known, heavy = name in self._links, float(_shaped("mass", mass, ()))
        load = _shaped("centre", centre, (3,)), _shaped("inertia", inertia, (6,))
        alone = nominal_parameters(self._robot)[self._links.index(name)] if known else np.zeros(10)
        self.load({name: with_payload(alone, heavy, *load) if known else alone}, number)

    def add_to(self, arrays: dict[str, Array], chosen: int | None) -> None:
        """Add the parameters of a set, by default the first, to arrays that bring none."""
        if chosen is not None and PARAMETERS in arrays:
            raise InputError("parameter_set", "the call brings its own parameters", "one of both")
        if self.numbers is not None:
            arrays.setdefault(PARAMETERS, self._set(self.numbers, "parameter_set", chosen or 0))
        elif chosen is not None:
            raise self._all_constant("parameter_set", "none")

    def _set(self, sets: Array, where: str, number: Any) -> Array:
        """Return the parameters (links, 10) of a set; InputError if there is no such set."""
        if not isinstance(number, int | np.integer) or number not in range(len(sets)):
            expected = "0" if len(sets) == 1 else f"0 to {len(sets) - 1}"
            remedy = "generate with --parameters-by load and more --parameter-sets"
            raise InputError(where, f"{number!r} is not a set of {self._folder}", expected, remedy)
        parameters: Array = sets[number]
        return parameters

    def _all_constant(self, where: str, expected: str) -> InputError:
        reason = f"all inertial parameters of {self._folder} are constant"
        return InputError(where, reason, expected, "generate with --parameters LINK")


def _shaped(where: str, numbers: Any, shape: tuple[int, ...]) -> Array:
    """Return numbers of the user, which must have this shape."""
    array = as_numbers(where, numbers)
    if array.shape != shape:
        raise InputError(where, f"shape {array.shape}", str(shape))
    return array
