"""What a build is asked to be, checked as far as it can be without a robot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rbdhw.errors import InputError
from rbdhw.runtime.number_bounds import (
    ACCELERATION_OF_FREE_FALL,
    BANDWIDTH,
    CLOCK_MHZ,
    LARGEST_SEED,
    LEAST_ERROR,
    MOST_II,
)

DATA_WIDTHS = (32, 64, 128, 256, 512)
"""Bits of TDATA that the streams may have."""

NUMBERS = ("fixed", "float32")
"""What numbers at the edge may be."""

WIDTHS = range(8, 33)
"""Operand widths that a multiplier may have."""

DEFAULT_MAX_ERROR = 1e-3
"""The error budget where neither a budget nor a width is asked for."""


BASES = ("fixed", "floating", "given")
"""How the root link may move: not at all, freely, or as each task says."""

SHARING = ("auto", "on", "off")
"""Whether symmetric limbs share hardware: where that is cheaper, always, or never."""

CORES = ("pipeline", "array")
"""What computes: operators of their own for sums, with products in turn; or units that all jobs share."""

CHEAPER_CORE = "auto"
"""In place of a core: the one that takes less of the device."""

LEAST_ARRAY_II = 8
"""The fewest cycles between tasks in which an array's units have something to share."""

WIDEST_ARRAY = 18
"""Operand bits of the widest products of an array."""

ASKED_FOR, THE_DEFAULT = "asked for", "the default"
"""Why an option has its value: the user gave it, or did not."""

PER_TASK = "task"
"""In place of a gravity vector: each task brings its own."""


JOINT_ORDERS = ("pinocchio", "file")
"""The order of a link's joints: by name, as Pinocchio visits them, or as the file lists them."""

CHEAPEST_ROOT = "auto"
"""In place of a root link: the one from which the accelerator costs least."""

LINK_PACE = "auto"
"""In place of cycles between tasks: as few as the link allows and the device holds."""

NO_LINKS, ALL_LINKS = "none", "all"
"""In place of the links that take an external force."""

Links = str | tuple[str, ...]
"""Which links take an external force: :data:`NO_LINKS`, :data:`ALL_LINKS`, or their names."""


@dataclass(frozen=True)
class Pacing:
    """What decides how many cycles lie between tasks, where they are not given.

    Parameters
    ----------
    link
        Whether tasks come no faster than their packets can come and go.
    bandwidth
        GB/s (10**9 bytes a second) of that link, each way; None is the streams' own.
    """

    link: bool = True
    bandwidth: float | None = None


def reason(given: object | None) -> str:
    """Why an option has its value: :data:`THE_DEFAULT` for None, which stands for an option not given."""
    return THE_DEFAULT if given is None else ASKED_FOR


def parse_links(texts: Sequence[str]) -> Links:
    """The links that texts name, each one name or several with commas; without texts no links.

    A backslash makes the character behind it a part of the name: ``left\\,lower`` is one link, and ``\\all``
    is a link of that name, where ``all`` stands for every link.

    Raises
    ------
    InputError
        For an empty name, and where what stands for every link or none is not alone.
    """
    words = [word for text in texts for word in _words(text)]
    for name, plain in words:
        if not name:
            raise InputError(f"fext: '' is no link; expected {NO_LINKS}, {ALL_LINKS}, or names of links")
        if plain and name in (NO_LINKS, ALL_LINKS):
            if len(words) == 1:
                return name
            expected = f"expected it alone, or '\\{name}' for a link of that name"
            raise InputError(f"fext: '{name}' beside other links; {expected}")
    return tuple(dict.fromkeys(name for name, _ in words)) or NO_LINKS


def link_text(name: str) -> str:
    """A link's name as :func:`parse_links` takes it."""
    if name in (NO_LINKS, ALL_LINKS):
        return f"\\{name}"
    return name.replace("\\", "\\\\").replace(",", "\\,")


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """The names in a text, and whether each stands there without a backslash."""
    name, plain = "", True
    characters = iter(text)
    for character in characters:
        if character == ",":
            yield name, plain
            name, plain = "", True
        elif character == "\\":
            name, plain = name + next(characters, character), False
        else:
            name += character
    yield name, plain


def parse_interval(
    text: str | None, bandwidth: float | None, fit: float | None
) -> tuple[int | None, Pacing | None]:
    """Cycles between tasks if they are given, and what chooses them if they are to be chosen.

    Parameters
    ----------
    text
        A number, :data:`LINK_PACE`, or None: the default, or with ``fit`` as few as fit.

    Raises
    ------
    InputError
        For anything else, and for a bandwidth that decides nothing.
    """
    if text == LINK_PACE:
        return None, Pacing(bandwidth=bandwidth)
    if bandwidth is not None:
        raise InputError(
            f"bandwidth: {bandwidth:g} GB/s decide nothing here; expected it with ii {LINK_PACE}"
        )
    if text is None:
        return None, None if fit is None else Pacing(link=False)
    try:
        return int(text), None
    except ValueError:
        expected = f"expected a number of cycles or {LINK_PACE}"
        raise InputError(f"ii: '{text}' is no interval; {expected}") from None


def parse_share(text: str | None) -> float | None:
    """``60%`` or ``0.6`` as a share of 1.

    Raises
    ------
    InputError
        For anything that is no share above 0 and up to 1.
    """
    if text is None:
        return None
    try:
        share = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        share = math.nan
    if not 0.0 < share <= 1.0:
        raise InputError(f"fit: '{text}' is no share of a device; expected a percentage such as 60%")
    return share


@dataclass(frozen=True)
class Mounting:
    """How the robot stands in the world.

    Parameters
    ----------
    base
        ``fixed``, ``floating`` (six degrees of freedom at the root, in its frame) or ``given`` (each task
        brings the root's velocity and acceleration).
    gravity
        Acceleration of free fall in the world frame (m/s^2), the root's frame for a given base, or
        :data:`PER_TASK`; None is the usual one, 9.81 m/s^2 down z.
    strict
        Whether a file is refused where something in it is amiss or missing that could be taken with a remark.
    root
        The link that floats instead of the file's root, or :data:`CHEAPEST_ROOT`.
    joint_order
        One of :data:`JOINT_ORDERS`.
    """

    base: str = "fixed"
    gravity: tuple[float, float, float] | str | None = None
    strict: bool = False
    root: str | None = None
    joint_order: str = JOINT_ORDERS[0]

    def check(self) -> None:
        """Refuse what no robot can stand on.

        Raises
        ------
        InputError
            For an unknown base, gravity or joint order.
        """
        if self.base not in BASES:
            raise InputError(f"base: '{self.base}' is unknown; expected one of {', '.join(BASES)}")
        if isinstance(self.gravity, str) and self.gravity != PER_TASK:
            raise InputError(f"gravity: '{self.gravity}' is unknown; expected x,y,z in m/s^2 or {PER_TASK}")
        if isinstance(self.gravity, tuple) and not ACCELERATION_OF_FREE_FALL.holds(*self.gravity):
            text = ",".join(f"{value:g}" for value in self.gravity)
            raise InputError(f"gravity: {text}; expected of each {ACCELERATION_OF_FREE_FALL.expected}")
        if self.joint_order not in JOINT_ORDERS:
            expected = ", ".join(JOINT_ORDERS)
            raise InputError(f"joint-order: '{self.joint_order}' is unknown; expected one of {expected}")


def parse_gravity(text: str | None) -> tuple[float, float, float] | str | None:
    """``x,y,z`` in m/s^2 as numbers, :data:`PER_TASK` as it is.

    Raises
    ------
    InputError
        For anything else.
    """
    if text is None or text == PER_TASK:
        return text
    try:
        x, y, z = (float(part) for part in text.split(","))
    except ValueError:
        x = y = z = math.nan
    if not all(map(math.isfinite, (x, y, z))):
        raise InputError(f"gravity: '{text}' is no vector; expected x,y,z in m/s^2 or {PER_TASK}")
    return x, y, z


@dataclass(frozen=True)
class BuildOptions:
    """The options of ``generate``.

    Parameters
    ----------
    functions
        Which of the dynamics functions the accelerator answers.
    ii
        Cycles between tasks; with ``pacing`` the fewest that may be chosen. None takes 1.
    pacing
        By what the cycles between tasks are chosen; None takes ``ii``.
    fit
        The share of the target's DSP blocks, look-up tables, flip-flops and block RAMs that the accelerator
        may take, by estimate; None leaves it unchecked. With ``pacing`` the fewest cycles that fit are taken.
    clock_mhz
        The clock to schedule for; None takes the target's own.
    max_error
        The largest relative error of any result (Frobenius norm); the narrowest width that meets it
        on held-out samples is taken.
    width
        The multipliers' operand width, instead of searching one.
    fext
        The :data:`Links` that take an external force.
    data_width
        Bits of TDATA.
    number
        What a number at the edge is: ``fixed`` (packed, each at its own width) or ``float32``.
    priority
        Functions whose answers are sent before those of others, the first of them first.
    algorithms
        Algorithms asked for instead of the cheapest, by step.
    mounting
        How the robot of a file stands in the world.
    share_limbs
        One of :data:`SHARING`.
    core
        One of :data:`CORES`, or :data:`CHEAPER_CORE`. None takes the first of :data:`CORES`.
    samples
        Tasks drawn to find ranges, and again to measure errors.
    seed
        Of all random draws.
    """

    functions: tuple[str, ...] = ("id",)
    ii: int | None = None
    pacing: Pacing | None = None
    fit: float | None = None
    target: str = "xcvu9p"
    clock_mhz: float | None = None
    max_error: float | None = None
    width: int | None = None
    fext: Links = NO_LINKS
    data_width: int = 512
    number: str = "fixed"
    priority: tuple[str, ...] = ()
    algorithms: Mapping[str, str] = field(default_factory=dict)
    mounting: Mounting = field(default_factory=Mounting)
    share_limbs: str = "auto"
    core: str | None = None
    samples: int = 4096
    seed: int = 0

    def check(self, known_functions: tuple[str, ...]) -> None:
        """Refuse what no build can be.

        Raises
        ------
        InputError
            For the first option that cannot be met, with what was expected.
        """
        self.mounting.check()
        for function in self.functions:
            if function not in known_functions:
                known = ", ".join(known_functions)
                raise InputError(f"functions: '{function}' is unknown; expected one or more of {known}")
        if not self.functions:
            raise InputError(f"functions: none given; expected one or more of {', '.join(known_functions)}")
        self._check_priority()
        if not 1 <= self.least_ii <= MOST_II:
            raise InputError(f"ii: {self.ii} is not possible; expected 1 to {MOST_II} cycles between tasks")
        bandwidth = self.pacing.bandwidth if self.pacing else None
        if bandwidth is not None and not (bandwidth > 0.0 and BANDWIDTH.holds(bandwidth)):
            raise InputError(f"bandwidth: {bandwidth:g} GB/s is no bandwidth; expected {BANDWIDTH.positive}")
        if self.fit is not None and not 0.0 < self.fit <= 1.0:
            raise InputError(f"fit: {self.fit:g} is no share of a device; expected more than 0 and up to 1")
        if self.share_limbs not in SHARING:
            expected = ", ".join(SHARING)
            raise InputError(f"share-limbs: '{self.share_limbs}' is unknown; expected one of {expected}")
        self._check_core()
        if self.width is not None and self.width not in WIDTHS:
            raise InputError(
                f"width: {self.width} is not supported; expected {WIDTHS[0]} to {WIDTHS[-1]} bits"
            )
        if self.max_error is not None and not LEAST_ERROR <= self.max_error < 1.0:
            expected = f"expected {LEAST_ERROR:g} or more, and less than 1"
            raise InputError(f"max-error: {self.max_error:g} is no budget; {expected}")
        if self.clock_mhz is not None and not (self.clock_mhz > 0.0 and CLOCK_MHZ.holds(self.clock_mhz)):
            raise InputError(f"clock: {self.clock_mhz:g} MHz is no clock; expected {CLOCK_MHZ.positive}")
        if not 0 <= self.seed <= LARGEST_SEED:
            raise InputError(f"seed: {self.seed} starts no random numbers; expected 0 to {LARGEST_SEED}")
        if self.data_width not in DATA_WIDTHS:
            expected = ", ".join(str(width) for width in DATA_WIDTHS)
            raise InputError(f"tdata: {self.data_width} bits are not supported; expected one of {expected}")
        if self.number not in NUMBERS:
            raise InputError(f"number: '{self.number}' is unknown; expected one of {', '.join(NUMBERS)}")

    def _check_priority(self) -> None:
        for place, function in enumerate(self.priority):
            if function not in self.functions:
                expected = f"expected some of the functions of the build: {', '.join(self.functions)}"
                raise InputError(f"priority: '{function}' is not built; {expected}")
            if function in self.priority[:place]:
                raise InputError(f"priority: '{function}' appears twice; expected each function once")

    def _check_core(self) -> None:
        if self.asked_core not in (*CORES, CHEAPER_CORE):
            expected = ", ".join((*CORES, CHEAPER_CORE))
            raise InputError(f"core: '{self.core}' is unknown; expected one of {expected}")
        least = self.least_ii if self.pacing is None else LEAST_ARRAY_II
        refusal = self.refusal(self.asked_core, least)
        if refusal is not None:
            raise InputError(refusal)

    def refusal(self, core: str, ii: int) -> str | None:
        """Return the reason that a core cannot be built for one task every ``ii`` cycles, or None."""
        if core != "array":
            return None
        if self.width is None or self.width > WIDEST_ARRAY:
            return f"width: the array core was expected with one of up to {WIDEST_ARRAY} bits"
        if ii < LEAST_ARRAY_II:
            return f"ii: {ii} is too few for the array core; expected {LEAST_ARRAY_II} or more"
        if self.share_limbs == "on":
            return "share-limbs: the array core shares all hardware anyway; expected auto or off"
        return None

    @property
    def array_needs(self) -> tuple[str, ...]:
        """The options that an array core needs at any interval and this build does not have."""
        needs = []
        if self.width is None or self.width > WIDEST_ARRAY:
            needs.append(f"--width {WIDEST_ARRAY}")
        if self.share_limbs == "on":
            needs.append("--share-limbs auto")
        return tuple(needs)

    @property
    def least_ii(self) -> int:
        """Cycles between tasks, with ``pacing`` the fewest that may be chosen."""
        return 1 if self.ii is None else self.ii

    @property
    def asked_core(self) -> str:
        """One of :data:`CORES`, or :data:`CHEAPER_CORE`."""
        return CORES[0] if self.core is None else self.core

    @property
    def budget(self) -> float | None:
        """The error budget that applies: none where a width alone was asked for."""
        if self.max_error is None and self.width is None:
            return DEFAULT_MAX_ERROR
        return self.max_error
