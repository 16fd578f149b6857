"""The arrays of a dynamics function, as parameters of C functions and of Python methods."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rbdhw.arrays import Element, given_elements, kind_of, results_of
from rbdhw.protocol import BASE, BASE_HELD, CONTACT, FUNCTIONS, HOLDING, PARAMETERS
from rbdhw.robot.model import Robot

UNITS = {
    "q": "configuration: rad, m, unit quaternions (x, y, z, w)",
    "v": "velocity: rad/s, m/s",
    "a": "acceleration: rad/s^2, m/s^2",
    "tau": "joint force: Nm, N",
    "fext": "external [force; moment] on each body in its frame: N, Nm",
    "Minv": "inverse of the mass matrix",
    "M": "mass matrix",
    "base_v": "velocity of the root [linear; angular] in its frame: m/s, rad/s",
    "base_a": "acceleration of the root [linear; angular] in its frame: m/s^2, rad/s^2",
    BASE_HELD: "1 if the root is held and moves by the velocity in v and by the acceleration given, 0 if it "
    "floats",
    HOLDING: "damping of contacts, and gains for velocity and position: 1/kg, 1/s, 1/s^2",
    CONTACT: "1 for each contact that the task has, 0 for the others",
    "contact_force": "[force; moment] of the world on each contact, at its frame: N, Nm",
    "v_after": "velocity after the impact: rad/s, m/s",
    "contact_impulse": "[impulse; its moment] of the world on each contact, at its frame: N s, Nm s",
    "da_dtau": "derivative of a by tau",
    "dforce_dq": "derivative of contact_force by the configuration, in the tangent space",
    "dforce_dv": "derivative of contact_force by v",
    "dforce_dtau": "derivative of contact_force by tau",
    "da_dholding": "derivative of a by the logarithm of damping of contacts, and by gains",
    "dforce_dholding": "derivative of contact_force by the logarithm of damping of contacts, and by gains",
    "gravity": "acceleration of free fall: m/s^2",
    "parameters": "the numbers that the hardware holds of inertial parameters; see robot.parameters of the "
    "manifest",
    "dtau_dq": "derivative of tau by the configuration, in the tangent space",
    "dtau_dv": "derivative of tau by v",
    "da_dq": "derivative of a by the configuration, in the tangent space",
    "da_dv": "derivative of a by v",
    "lambda_tau": "multiplier of each joint force: 1/Nm, 1/N",
    "lambda_a": "multiplier of each acceleration: s^2/rad, s^2/m",
    "d2tau_dqdq": "derivative of dtau_dq by the configuration, in the tangent space (last axis)",
    "d2tau_dqdv": "derivative of dtau_dq by v (last axis)",
    "d2tau_dvdv": "derivative of dtau_dv by v (last axis)",
    "dM_dq": "derivative of the mass matrix by the configuration, in the tangent space (last axis)",
    "d2a_dqdq": "derivative of da_dq by the configuration, in the tangent space (last axis)",
    "d2a_dqdv": "derivative of da_dq by v (last axis)",
    "d2a_dvdv": "derivative of da_dv by v (last axis)",
    "dMinv_dq": "derivative of Minv by the configuration, in the tangent space (last axis)",
    "H_qq": "second derivative by the configuration, in the tangent space",
    "H_qv": "derivative by the configuration (rows) and v (columns)",
    "H_vv": "second derivative by v",
    "H_qa": "derivative by the configuration (rows) and a (columns)",
    "H_qtau": "derivative by the configuration (rows) and tau (columns)",
    "placement": "homogeneous matrix of each frame's pose in the world: m",
    "J": "Jacobian [linear; angular] of each frame: velocity = J v",
    "velocity": "velocity [linear; angular] of each frame: m/s, rad/s",
    "acceleration": "spatial acceleration [linear; angular] of each frame, without gravity: m/s^2, rad/s^2",
    "dv_dq": "derivative of velocity by the configuration, in the tangent space",
    "kinetic": "kinetic energy, with that of rotors: J",
    "potential": "potential energy, zero at the world's origin: J",
    "position": "position of each frame in the world: m",
    "p_next": "position of each frame in the world behind the step: m",
    "J_position": "its Jacobian: velocity of the frame's origin = J_position v",
    "J_next": "derivative of p_next by the configuration behind the step, in the tangent space",
    "com": "centre of mass: m",
    "com_velocity": "velocity of the centre of mass: m/s",
    "J_com": "Jacobian of the centre of mass: com_velocity = J_com v",
    "dJ_com_v": "acceleration of the centre of mass at zero acceleration: m/s^2",
    "h_g": "momentum [linear; angular] about the centre of mass: kg m/s, kg m^2/s",
    "A_g": "centroidal momentum matrix: h_g = A_g v",
    "dA_g_v": "rate of change of h_g at zero acceleration: N, Nm",
    "hdot_g": "rate of change of h_g: N, Nm",
    "dh_dq": "derivative of h_g by the configuration, in the tangent space",
    "dhdot_dq": "derivative of its rate of change by the configuration, in the tangent space",
    "dhdot_dv": "derivative of its rate of change by v",
    "contact_inertia": "inverse of the inverse inertia that contacts' forces feel, along their six axes each",
    "dtau_dfext": "derivative of the joint forces by a [force; moment] on each frame",
    "da_dfext": "derivative of the accelerations by a [force; moment] on each frame",
    "clearance": "squared distance of the centres of two spheres less that of touching ones: m^2",
    "dclearance_dq": "its derivative by the configuration, in the tangent space",
    "Y": "regressor of each frame's link: tau = Y [m, h, xx, xy, yy, xz, yz, zz], about the frame's origin",
    "h": "step in time: s",
    "x_next": "configuration and velocity after the step: rad, m, unit quaternions, rad/s, m/s",
    "A": "derivative of x_next by q and v (columns), in the tangent space",
    "B": "derivative of x_next by tau (columns), in the tangent space",
}

_OF_FRAMES = {
    "da_dq": "derivative of acceleration by the configuration, in the tangent space",
    "da_dv": "derivative of acceleration by v",
}
"""Results of ``kin`` that have the names of other functions' results."""


def meaning_of(array: str, function: str) -> str:
    """Return the meaning and the units of an array of a function."""
    return (function == "kin" and _OF_FRAMES.get(array)) or UNITS[array]


@dataclass(frozen=True)
class Array:
    """An array of the user's interface: its shape for one task.

    ``meaning`` includes the units. ``ones`` are offsets of elements that are always one and do not travel.
    """

    name: str
    shape: tuple[int, ...]
    optional: bool = False
    meaning: str = ""
    ones: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """The numbers of one task."""
        return math.prod(self.shape)

    @property
    def rows(self) -> int:
        """The length of the first axis of a task's array of several axes; 1 for a vector."""
        return self.shape[0] if len(self.shape) > 1 else 1

    @property
    def description(self) -> str:
        """One line: name, shape, meaning and units."""
        optional = "; may be NULL" if self.optional else ""
        return f"  {self.name} ({', '.join(map(str, ('tasks', *self.shape)))}): {self.meaning}{optional}"

    def offset(self, index: tuple[int, ...]) -> int:
        """Return the offset of an element in the task's numbers, in row-major order."""
        return _offset(self.shape, index)


Sides = tuple[tuple[Array, ...], tuple[Array, ...]]
"""The inputs and the results of a function, in the order of the C function's parameters."""


def _offset(shape: tuple[int, ...], index: tuple[int, ...]) -> int:
    offset = 0
    for size, k in zip(shape, index, strict=True):
        offset = offset * size + k
    return offset


class ResultElement(NamedTuple):
    """An element of a function's results: array, offset there, word, and whether it is negated."""

    array: int
    offset: int
    word: int
    negative: bool

    @property
    def initialiser(self) -> str:
        return "{" + ", ".join(str(int(field)) for field in self) + "}"


def elements_of(
    words: Iterable[Iterable[Element]], arrays: Sequence[Array], nv: int, *, integrated: bool = False
) -> list[ResultElement]:
    """Return all elements that words of results give, in the order of words.

    ``words`` are the elements that each word names (:func:`rbdhw.arrays.given_elements`). The elements are
    those with a word's value or its negative, or those that follow by the time step (``integrated``).
    """
    elements = []
    for element in given_elements(words, nv):
        if element.integrated == integrated:
            name, index = element.name.array, element.name.index
            k = next(k for k, array in enumerate(arrays) if array.name == name)
            elements.append(ResultElement(k, arrays[k].offset(index), element.word, element.negative))
    return elements


def arrays_of(robot: Robot, function: str, present: Collection[str]) -> Sides:
    """Return a function's inputs and results, optional ones last in each.

    The build reads the arrays ``present``. ``fext``, the base's motion, gravity, the step in time and
    optional arrays are only among the inputs if they are present.
    """
    entry = FUNCTIONS[function]

    def array(name: str, optional: bool = False) -> Array:
        kind = kind_of(name, function)
        shape = kind.shape(robot.sizes)
        if name == PARAMETERS and robot.loaded is not None:
            shape = (len(robot.loaded.names),)
        ones = tuple(_offset(shape, index) for index in kind.ones(shape))
        return Array(name, shape, optional, meaning_of(name, function), ones)

    inputs = [array(name) for name in entry.inputs if name not in _CHOSEN or name in present]
    inputs += [array(name, True) for name in entry.optional_inputs if name in present]
    results = results_of(function, robot.sizes, extended=True)
    outputs = [array(name, name in entry.optional_outputs) for name in results]
    return tuple(inputs), tuple(outputs)


_CHOSEN = (BASE_HELD, HOLDING, *BASE, "fext", "h")
