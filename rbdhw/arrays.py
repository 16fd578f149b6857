"""The arrays of the user's interface, and the names of words, which are elements of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from rbdhw.protocol import (
    BASE_HELD,
    CONTACT,
    FORCE_LIMITS,
    FUNCTIONS,
    HOLDING,
    NEXT_STATE,
    PARAMETERS,
    TRACKED,
    TRACKED_JACOBIAN,
)


@dataclass(frozen=True)
class ArrayKind:
    """An array of the user's interface."""

    dimensions: tuple[str | int, ...]
    """The length of each axis for one task: a number, or a name of :attr:`rbdhw.robot.model.Robot.sizes`."""
    exchangeable: tuple[int, int] | None = None
    """Two axes whose exchange leaves the array unchanged, if there are any. Only one of two such elements
    travels, the one with the larger index first."""
    ordered: bool = False
    """Whether an exchange within a joint of several degrees of freedom may change the array, as derivatives
    by two rotations depend on their order. Then both elements travel, unless they are equal."""
    one: tuple[int, ...] | None = None
    """The last indices of elements that are always one and therefore do not travel."""
    unit_diagonal: bool = False
    """Whether an element of the diagonal that does not travel is one instead of zero."""
    integrated: bool = False
    """Whether rows of the first half follow from those of the second, which are rates. An element of the
    first half that no word gives is what it is without a word, and the time step times the element as many
    rows below."""

    def is_one(self, index: tuple[int, ...]) -> bool:
        """Return whether an element is one if it does not travel."""
        if self.unit_diagonal:
            return len(set(index)) == 1
        return self.one is not None and index[-len(self.one) :] == self.one

    def ones(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """Return the indices of the elements that are one if they do not travel; ``shape`` is the array's."""
        if self.unit_diagonal:
            return tuple((k,) * len(shape) for k in range(min(shape)))
        if self.one is None:
            return ()
        leading = product(*map(range, shape[: -len(self.one)]))
        return tuple((*index, *self.one) for index in leading)

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape for one task of a robot with these sizes."""
        return tuple(size if isinstance(size, int) else sizes[size] for size in self.dimensions)

    def mirror(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """Return the index with the exchangeable axes exchanged; the index itself if there are none."""
        if self.exchangeable is None:
            return index
        one, other = self.exchangeable
        exchanged = list(index)
        exchanged[one], exchanged[other] = index[other], index[one]
        return tuple(exchanged)

    def integral(self, index: tuple[int, ...], nv: int) -> tuple[int, ...] | None:
        """Return the index of the element that follows from one of the last ``nv`` rows, or None."""
        return (index[0] - nv, *index[1:]) if self.integrated and index[0] >= nv else None


_VECTOR = ArrayKind(("nv",))
_MATRIX = ArrayKind(("nv", "nv"))
_SYMMETRIC = ArrayKind(("nv", "nv"), (0, 1))
_TENSOR = ArrayKind(("nv", "nv", "nv"))
_TWIST = ArrayKind(("frames", 6))
_TWIST_BY_JOINT = ArrayKind(("frames", 6, "nv"))
_BY_STATE = ArrayKind(("ndx", "ndx"), unit_diagonal=True)
_BY_CONTROL = ArrayKind(("ndx", "nv"))

ARRAYS: dict[str, ArrayKind] = {
    "q": ArrayKind(("nq",)),
    **dict.fromkeys(("v", "a", "tau", "std", "tau_ref", "tau_weight", "lambda_tau", "lambda_a"), _VECTOR),
    **dict.fromkeys(("base_v", "base_a"), ArrayKind((6,))),
    "gravity": ArrayKind((3,)),
    "fext": ArrayKind(("bodies", 6)),
    PARAMETERS: ArrayKind(("loaded", 10)),
    **dict.fromkeys(("M", "Minv"), _SYMMETRIC),
    **dict.fromkeys(("dtau_dq", "dtau_dv", "da_dq", "da_dv"), _MATRIX),
    **dict.fromkeys(("d2tau_dqdq", "d2a_dqdq"), ArrayKind(("nv", "nv", "nv"), (1, 2), ordered=True)),
    **dict.fromkeys(("d2tau_dqdv", "d2a_dqdv"), _TENSOR),
    **dict.fromkeys(("d2tau_dvdv", "d2a_dvdv"), ArrayKind(("nv", "nv", "nv"), (1, 2))),
    **dict.fromkeys(("dM_dq", "dMinv_dq"), ArrayKind(("nv", "nv", "nv"), (0, 1))),
    "H_qq": ArrayKind(("nv", "nv"), (0, 1), ordered=True),
    "H_vv": _SYMMETRIC,
    **dict.fromkeys(("H_qv", "H_qa", "H_qtau"), _MATRIX),
    "placement": ArrayKind(("frames", 4, 4), one=(3, 3)),
    **dict.fromkeys(("velocity", "acceleration"), _TWIST),
    **dict.fromkeys(("J", "dv_dq"), _TWIST_BY_JOINT),
    "position": ArrayKind(("frames", 3)),
    "J_position": ArrayKind(("frames", 3, "nv")),
    **dict.fromkeys(("com", "com_velocity", "dJ_com_v"), ArrayKind((3,))),
    "J_com": ArrayKind((3, "nv")),
    **dict.fromkeys(("h_g", "hdot_g", "dA_g_v"), ArrayKind((6,))),
    **dict.fromkeys(("A_g", "dh_dq", "dhdot_dq", "dhdot_dv"), ArrayKind((6, "nv"))),
    "Y": ArrayKind(("nv", "frames", 10)),
    **dict.fromkeys(("kinetic", "potential"), ArrayKind(())),
    BASE_HELD: ArrayKind(()),
    CONTACT: ArrayKind(("contacts",)),
    HOLDING: ArrayKind((3,)),
    **dict.fromkeys(("contact_force", "contact_impulse"), ArrayKind(("contacts", 6))),
    "contact_inertia": ArrayKind(("contact_rows", "contact_rows"), (0, 1)),
    **dict.fromkeys(("dtau_dfext", "da_dfext"), ArrayKind(("nv", "frames", 6))),
    "clearance": ArrayKind(("pairs",)),
    "dclearance_dq": ArrayKind(("pairs", "nv")),
    "v_after": _VECTOR,
    "da_dtau": _SYMMETRIC,
    **dict.fromkeys(("dforce_dq", "dforce_dv", "dforce_dtau"), ArrayKind(("contacts", 6, "nv"))),
    "da_dholding": ArrayKind(("nv", "holding")),
    "dforce_dholding": ArrayKind(("contacts", 6, "holding")),
    **dict.fromkeys(("h", "steps", "every", "seed", "row", "coordinate"), ArrayKind(())),
    **dict.fromkeys(("step", "first_flagged", "cost"), ArrayKind(())),
    **dict.fromkeys(("samples", "scale", "exponent", "least", "weight", "square", "counted"), ArrayKind(())),
    **dict.fromkeys(("iterations", "warm", "shift", "more", "problem"), ArrayKind(())),
    **dict.fromkeys(("regularisation", "solved", "followed"), ArrayKind(())),
    **dict.fromkeys((NEXT_STATE, "x", "x_ref", "x_weight", "x_nominal", "gain"), ArrayKind(("nx",))),
    **dict.fromkeys(("x_slope", "x_curvature"), ArrayKind(("nx",))),
    **dict.fromkeys(("tau_slope", "tau_curvature", *FORCE_LIMITS), _VECTOR),
    **dict.fromkeys((TRACKED, "p_ref", "p_weight", "p_slope", "p_curvature"), ArrayKind(("tracked", 3))),
    TRACKED_JACOBIAN: ArrayKind(("tracked", 3, "nv")),
    "C": ArrayKind(("nx",)),
    **dict.fromkeys(("y", "y_weight"), ArrayKind(("rows",))),
    "K": ArrayKind(("nv", "nx")),
    **dict.fromkeys(("d_weight", "d_curvature"), _VECTOR),
    "d_row": ArrayKind(("nv", "nq")),
    "A": _BY_STATE,
    "B": _BY_CONTROL,
}
"""The arrays of all functions, except those of :data:`OWN_ARRAYS`."""

OWN_ARRAYS: dict[tuple[str, str], ArrayKind] = {
    ("kin", "da_dq"): _TWIST_BY_JOINT,
    ("kin", "da_dv"): _TWIST_BY_JOINT,
    **{(step, "A"): replace(_BY_STATE, integrated=True) for step in ("dstep", "dcstep")},
    **{(step, "B"): replace(_BY_CONTROL, integrated=True) for step in ("dstep", "dcstep")},
}
"""Results that have the name, but not the kind, of another function's, by function and name."""


def kind_of(array: str, function: str | None = None) -> ArrayKind:
    """Return the kind of an array, as an input or as a result of a function; KeyError if there is none."""
    return OWN_ARRAYS.get((function or "", array)) or ARRAYS[array]


def results_of(function: str, sizes: Mapping[str, int], extended: bool) -> tuple[str, ...]:
    """Return the names of a function's results, or with optional ones, for a robot with these sizes.

    There are no derivatives by damping and gains of contacts that are constants, and neither positions nor
    Jacobians of frames that are not tracked.
    """
    entry = FUNCTIONS[function]
    names = entry.outputs + entry.optional_outputs if extended else entry.outputs
    absent = {axis for axis in (HOLDING, "tracked") if sizes[axis] == 0}
    return tuple(name for name in names if absent.isdisjoint(kind_of(name, function).dimensions))


SOLVE_INPUTS: dict[str, tuple[str | int, ...]] = {
    "q": ("nq",),
    "v": ("nv",),
    "h": (),
    "x_ref": ("knots", "nx"),
    "Q": ("knots", "ndx"),
    "C": ("rows", "ndx"),
    "y": ("knots", "rows"),
    "W": ("knots", "rows"),
    "x_min": ("nx",),
    "x_max": ("nx",),
    "limit_weight": ("ndx",),
    "tau_ref": ("steps", "nv"),
    "R": ("steps", "nv"),
    "tau_min": ("nv",),
    "tau_max": ("nv",),
    CONTACT: ("steps", "contacts"),
    "placement_ref": ("knots", "frames", 4, 4),
    "position_weight": ("knots", "frames", 3),
    "orientation_weight": ("knots", "frames"),
    "momentum_ref": ("knots", 6),
    "momentum_weight": ("knots", 6),
    "states": ("knots", "nx"),
    "tau": ("steps", "nv"),
    "K": ("steps", "nv", "ndx"),
}
"""The arrays of a problem of optimal control, and their axes. There is one knot more than steps."""

SOLVE_OUTPUTS: dict[str, tuple[str | int, ...]] = {
    "states": ("knots", "nx"),
    "tau": ("steps", "nv"),
    "K": ("steps", "nv", "ndx"),
    **dict.fromkeys(("cost", "decrease", "regularisation", "iterations", "status"), ()),
}
"""The arrays of its solution."""

MEAN_OUTPUTS: dict[str, tuple[str | int, ...]] = {
    "tau": ("steps", "nv"),
    "states": ("knots", "nx"),
    **dict.fromkeys(("cost", "least", "effective"), ()),
}
"""The arrays of a mean of samples."""

MULTIPLIERS = ("lambda_tau", "lambda_a")
"""The arrays of multipliers with which second derivatives are contracted."""

SYMMETRIC = ("M", "Minv")
"""The symmetric matrices."""


@dataclass(frozen=True)
class WordName:
    """The name of a word: an element of an array of the user's interface.

    The name of an input is only that element, such as ``q[3]`` or ``fext[4,2]``. The name of a result begins
    with its function: ``did.dtau_dq[2,5]``. A flag has no index.
    """

    array: str
    index: tuple[int, ...] = ()
    function: str | None = None

    def __str__(self) -> str:
        prefix = "" if self.function is None else f"{self.function}."
        return (
            f"{prefix}{self.array}[{','.join(map(str, self.index))}]" if self.index else prefix + self.array
        )

    @property
    def kind(self) -> ArrayKind:
        """The array's kind; KeyError for a flag."""
        return kind_of(self.array, self.function)

    @property
    def mirror(self) -> WordName:
        """The element at the mirror image's place; this one if the array has no symmetry."""
        index = self.kind.mirror(self.index)
        return self if index == self.index else replace(self, index=index)

    def integral(self, nv: int) -> WordName | None:
        """Return the element that follows from this one by the time step; None if none does."""
        index = self.kind.integral(self.index, nv)
        return None if index is None else replace(self, index=index)

    @staticmethod
    @lru_cache(maxsize=1 << 16)
    def parse(text: str) -> WordName:
        """Return the word name whose ``str`` is ``text``."""
        element, _, index = text.rstrip("]").partition("[")
        function, dot, array = element.rpartition(".")
        numbers = tuple(int(number) for number in index.split(",")) if index else ()
        return WordName(array, numbers, function if dot else None)


def is_optional(result: str) -> bool:
    """Return whether a word of a result, such as ``did.tau[0]``, travels only if the task asks for it."""
    name = WordName.parse(result)
    return name.function in FUNCTIONS and name.array in FUNCTIONS[name.function].optional_outputs


class Element(NamedTuple):
    """An element of a function's results that a word gives, such as ``sid.dM_dq[1,0,1]``."""

    name: str
    negative: bool = False
    """Whether the element is the negative of the word."""


class GivenElement(NamedTuple):
    """An element of a function's results, the index of the word that gives it, and whether it is negated."""

    word: int
    name: WordName
    negative: bool
    integrated: bool = False
    """Whether the time step times the word is added to what the element is without a word."""


def given_elements(words: Iterable[Iterable[Element]], nv: int) -> Iterator[GivenElement]:
    """Yield all elements of a function's results that its words give, in the order of words.

    ``words`` are the elements that each word names. A word also gives their mirror images and their
    integrals over a step, except those that a word names. ``nv`` is the robot's.
    """
    named = [
        GivenElement(k, WordName.parse(element.name), element.negative)
        for k, elements in enumerate(words)
        for element in elements
    ]
    names = {element.name for element in named}
    for element in named:
        yield element
        mirror, integral = element.name.mirror, element.name.integral(nv)
        if mirror not in names:
            yield element._replace(name=mirror)
        if integral is not None and integral not in names:
            yield element._replace(name=integral, integrated=True)
