"""The protocol on the accelerator's streams: the header, the status, and the functions with their arrays.

The hardware, the host and the generator all read these tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from itertools import product
from typing import NamedTuple

HEADER_BITS = 32
HEADER = {"tag": (0, 16), "function": (16, 5), "options": (21, 3), "status": (24, 8)}
"""The fields of a packet's header: lowest bit and width. A request's ``status`` is zero."""

EXTENDED = 0
"""The bit of ``options``, in requests and responses, that is set if the optional arrays travel, too."""


LOADED = 2
"""The bit of ``options`` in responses of builds that load parameters: an odd number of loads came before."""


class Status(IntEnum):
    """The bits of a response's status."""

    OUTSIDE = 0
    """An input word was outside its domain."""
    OVERFLOW = 1
    """A value inside the core did not fit its format."""
    MALFORMED = 2
    """Unknown function or option, reserved bits set, or wrong length of the request; all words are zero."""
    NOT_FINITE = 3
    """An input word was infinite, not a number, or subnormal (``float32`` only)."""


@dataclass(frozen=True)
class Function:
    """An entry of the registry: the arrays of a function, and its relations to other functions.

    Parameters
    ----------
    title
        The function's name in prose.
    inputs, outputs
        The arrays of every request and of every response, in the order in which their words travel.
    optional_inputs, optional_outputs
        Arrays that follow the others in tasks with the option :data:`EXTENDED`.
    algorithms
        The steps of :data:`rbdhw.frontend.alternatives.ALGORITHMS` that the function contains.
    derivative_of
        The function of which it is a derivative.
    cost_like
        A function whose graph depends on the robot's frames in the same way. The cost of rewrites is
        evaluated with that function; by default with this one.
    """

    title: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    optional_inputs: tuple[str, ...] = ()
    optional_outputs: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    derivative_of: str | None = None
    cost_like: str | None = None

    @property
    def extensible(self) -> bool:
        """Whether tasks of the function may set the option :data:`EXTENDED`."""
        return bool(self.optional_inputs or self.optional_outputs)

    @property
    def inverts(self) -> bool:
        """Whether the function needs the inverse of the mass matrix."""
        return "inverse" in self.algorithms

    @property
    def takes_inverse(self) -> bool:
        """Whether a task may bring the inverse of its mass matrix."""
        return "Minv" in self.optional_inputs

    @property
    def takes_force(self) -> bool:
        """Whether tasks bring joint forces instead of accelerations."""
        return "tau" in self.inputs

    @property
    def integrates(self) -> bool:
        """Whether the function takes a step in time."""
        return NEXT_STATE in self.outputs


NEXT_STATE = "x_next"
"""The array of the state after a step in time: the configuration, then the velocity."""

PARAMETERS = "parameters"
"""The inertial parameters of chosen links: mass, centre of mass, and inertia about it."""

BASE = ("base_v", "base_a", "gravity", PARAMETERS)
"""The base's motion, gravity and inertial parameters, which tasks bring if the build is configured so."""

_BY_ACCELERATION = ("q", "v", "a", *BASE, "fext")
_BY_FORCE = ("q", "v", "tau", *BASE, "fext")
_BY_STEP = ("q", "v", "tau", "h", *BASE, "fext")

FUNCTIONS: dict[str, Function] = {
    "id": Function("inverse dynamics", _BY_ACCELERATION, ("tau",), algorithms=("axes",)),
    "fd": Function(
        "forward dynamics",
        _BY_FORCE,
        ("a",),
        algorithms=("axes", "inverse", "products", "forward"),
        cost_like="id",
    ),
    "m": Function("mass matrix", ("q", PARAMETERS), ("M",), algorithms=("axes",)),
    "minv": Function(
        "inverse of the mass matrix",
        ("q", PARAMETERS),
        ("Minv",),
        algorithms=("axes", "inverse"),
        cost_like="m",
    ),
    "did": Function(
        "derivatives of inverse dynamics",
        _BY_ACCELERATION,
        ("dtau_dq", "dtau_dv"),
        optional_outputs=("tau", "M"),
        algorithms=("axes", "derivatives"),
        derivative_of="id",
    ),
    "dfd": Function(
        "derivatives of forward dynamics",
        _BY_FORCE,
        ("da_dq", "da_dv"),
        optional_outputs=("Minv", "a"),
        algorithms=("axes", "derivatives", "inverse", "products", "gradient"),
        derivative_of="fd",
        cost_like="did",
    ),
    "difd": Function(
        "derivatives of forward dynamics at given accelerations",
        _BY_ACCELERATION,
        ("da_dq", "da_dv"),
        optional_inputs=("Minv",),
        algorithms=("axes", "derivatives", "inverse", "products"),
        derivative_of="fd",
        cost_like="did",
    ),
    "sid": Function(
        "second derivatives of inverse dynamics",
        _BY_ACCELERATION,
        ("d2tau_dqdq", "d2tau_dqdv", "d2tau_dvdv", "dM_dq"),
        algorithms=("axes", "second"),
    ),
    "sfd": Function(
        "second derivatives of forward dynamics",
        _BY_FORCE,
        ("d2a_dqdq", "d2a_dqdv", "d2a_dvdv", "dMinv_dq"),
        algorithms=("axes", "derivatives", "inverse", "products", "second", "rates"),
    ),
    "hid": Function(
        "second derivatives of lambda_tau . tau, of inverse dynamics",
        ("q", "v", "a", "lambda_tau", *BASE, "fext"),
        ("H_qq", "H_qv", "H_vv", "H_qa"),
        algorithms=("axes", "second"),
    ),
    "hfd": Function(
        "second derivatives of lambda_a . a, of forward dynamics",
        ("q", "v", "tau", "lambda_a", *BASE, "fext"),
        ("H_qq", "H_qv", "H_vv", "H_qtau"),
        algorithms=("axes", "derivatives", "inverse", "products", "second"),
    ),
    "kin": Function(
        "kinematics of the chosen frames",
        ("q", "v", "a", "base_v", "base_a"),
        ("placement", "J", "velocity"),
        optional_outputs=("acceleration", "dv_dq", "da_dq", "da_dv"),
    ),
    "step": Function(
        "state after a step by semi-implicit Euler",
        _BY_STEP,
        ("x_next",),
        algorithms=("axes", "inverse", "products", "forward"),
        cost_like="id",
    ),
    "dstep": Function(
        "state after a step by semi-implicit Euler, and its derivatives",
        _BY_STEP,
        ("x_next", "A", "B"),
        algorithms=("axes", "derivatives", "inverse", "products", "gradient"),
        cost_like="did",
    ),
    "rk4": Function(
        "state after a step by Runge-Kutta",
        _BY_STEP,
        ("x_next",),
        algorithms=("axes", "inverse", "products", "forward"),
        cost_like="id",
    ),
    "drk4": Function(
        "state after a step by Runge-Kutta, and its derivatives",
        _BY_STEP,
        ("x_next", "A", "B"),
        algorithms=("axes", "derivatives", "inverse", "products", "gradient"),
        cost_like="did",
    ),
}
"""The registry of functions, in the order of their codes in the header."""

DEFAULT_FUNCTIONS = ("id", "fd", "m", "minv", "did", "dfd", "difd")
"""The functions of a build for which no others are asked."""

ROLLOUT, LOAD, LOAD_PARAMETERS = "rollout", "load", "load_parameters"
LOAD_COST = "load_cost"

COMMANDS: dict[str, Function] = {
    ROLLOUT: Function(
        "state after several steps, without the link between them",
        ("q", "v", "h", *BASE, "fext", "steps", "every", "seed"),
        ("x_next", "step", "first_flagged", "cost"),
    ),
    LOAD: Function("load the forces of one step of rollouts", ("tau", "row", "std"), ()),
    LOAD_PARAMETERS: Function("load the inertial parameters of later tasks", (PARAMETERS,), ()),
    LOAD_COST: Function(
        "load the reference and the weights of one step", ("x_ref", "x_weight", "tau_weight", "row"), ()
    ),
}
"""What an accelerator does beside the functions of a core, in the order of the codes, which follow theirs.

A rollout takes steps of ``step`` whose results go back into the core (:mod:`rbdhw.rtl.rollout`)."""

ROW_COMMANDS = (LOAD, LOAD_COST)
"""The commands that load a row for a step of rollouts."""

SAMPLES, COST = "samples", "cost"

ROLLOUT_PARTS: dict[str, str] = {
    SAMPLES: "normal samples, drawn on the chip, are added to the forces",
    COST: "squares of weighted errors and forces are added up",
}
"""What rollouts of a build may have beside the forces that are loaded."""

CODES = {name: code for code, name in enumerate([*FUNCTIONS, *COMMANDS])}


def functions_with(condition: Callable[[Function], bool]) -> tuple[str, ...]:
    """Return the names of the functions whose entries meet a condition, in the order of their codes."""
    return tuple(name for name, own in FUNCTIONS.items() if condition(own))


SECOND_ORDER = functions_with(lambda own: "second" in own.algorithms)
"""The functions with second derivatives. Many elements of their results are equal because of what they mean.
Hence equal numbers are merged in graphs with one of them, and equal elements of its results travel in one
word. Of the other functions only mirror images do, as few other elements are equal."""


def any_takes(functions: Iterable[str], array: str) -> bool:
    """Return whether tasks of any of the functions may bring an array."""
    return any(array in FUNCTIONS[name].inputs + FUNCTIONS[name].optional_inputs for name in functions)


def function_giving(array: str, function: str) -> str:
    """Return the function whose only result is an optional result of ``function``, if there is one.

    Otherwise no other function gives it, and ``function`` itself is returned.
    """
    return next((name for name, own in FUNCTIONS.items() if own.outputs == (array,)), function)


@dataclass(frozen=True)
class ArrayKind:
    """An array of the user's interface.

    Parameters
    ----------
    dimensions
        The length of each axis for one task: a number, or a name of :attr:`rbdhw.robot.model.Robot.sizes`.
    exchangeable
        Two axes whose exchange leaves the array unchanged, if there are any. Only one of two such elements
        travels, the one with the larger index first.
    ordered
        Whether an exchange within a joint of several degrees of freedom may change the array, as derivatives
        by two rotations depend on their order. Then both elements travel, unless they are equal.
    one
        The last indices of elements that are always one and therefore do not travel.
    unit_diagonal
        Whether an element of the diagonal that does not travel is one instead of zero.
    """

    dimensions: tuple[str | int, ...]
    exchangeable: tuple[int, int] | None = None
    ordered: bool = False
    one: tuple[int, ...] | None = None
    unit_diagonal: bool = False

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


_VECTOR = ArrayKind(("nv",))
_MATRIX = ArrayKind(("nv", "nv"))
_SYMMETRIC = ArrayKind(("nv", "nv"), (0, 1))
_TENSOR = ArrayKind(("nv", "nv", "nv"))
_TWIST = ArrayKind(("frames", 6))
_TWIST_BY_JOINT = ArrayKind(("frames", 6, "nv"))

ARRAYS: dict[str, ArrayKind] = {
    "q": ArrayKind(("nq",)),
    **dict.fromkeys(("v", "a", "tau", "std", "tau_weight", "lambda_tau", "lambda_a"), _VECTOR),
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
    **dict.fromkeys(("h", "steps", "every", "seed", "row", "step", "first_flagged", "cost"), ArrayKind(())),
    **dict.fromkeys((NEXT_STATE, "x_ref", "x_weight"), ArrayKind(("nx",))),
    "A": ArrayKind(("ndx", "ndx"), unit_diagonal=True),
    "B": ArrayKind(("ndx", "nv")),
}
"""The arrays of all functions, except those of :data:`OWN_ARRAYS`."""

OWN_ARRAYS: dict[tuple[str, str], ArrayKind] = {
    ("kin", "da_dq"): _TWIST_BY_JOINT,
    ("kin", "da_dv"): _TWIST_BY_JOINT,
}
"""Results that have the name, but not the shape, of another function's, by function and name."""


def kind_of(array: str, function: str | None = None) -> ArrayKind:
    """Return the kind of an array, as an input or as a result of a function; KeyError if there is none."""
    return OWN_ARRAYS.get((function or "", array)) or ARRAYS[array]


MULTIPLIERS = ("lambda_tau", "lambda_a")
"""The arrays of multipliers with which second derivatives are contracted."""

SYMMETRIC = ("M", "Minv")
"""The symmetric matrices."""


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


def given_elements(words: Iterable[Iterable[Element]]) -> Iterator[GivenElement]:
    """Yield all elements of a function's results that its words give, in the order of words.

    Parameters
    ----------
    words
        The elements that each word names. A word also gives their mirror images, except those that a word
        names.
    """
    named = [
        GivenElement(k, WordName.parse(element.name), element.negative)
        for k, own in enumerate(words)
        for element in own
    ]
    names = {element.name for element in named}
    for element in named:
        yield element
        mirror = element.name.mirror
        if mirror not in names:
            yield element._replace(name=mirror)


FLAGS: dict[str, tuple[tuple[str, ...], bool]] = {
    "acceleration_given": (functions_with(lambda own: "a" in own.inputs), False),
    "inverse_given": (functions_with(lambda own: own.takes_inverse), True),
}
"""Flags that a core derives from the header. For each, the functions whose tasks set it, and whether these
tasks must also have the option :data:`EXTENDED`."""


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


def flag_values(function: str, extended: bool) -> dict[str, bool]:
    """Return the value of every flag for a task of a function, with or without the option EXTENDED."""
    return {
        flag: function in functions and (extended or not optional)
        for flag, (functions, optional) in FLAGS.items()
    }
