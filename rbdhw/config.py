"""The options of a build, and the checks of them that do not need a robot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rbdhw.errors import InputError
from rbdhw.protocol import ROLLOUT, ROLLOUT_PARTS, functions_with
from rbdhw.robot.drives import NO_DRIVES, Drives
from rbdhw.robot.model import FRAME_AXES
from rbdhw.runtime.number_bounds import (
    ACCELERATION_OF_FREE_FALL,
    BANDWIDTH,
    CLOCK_MHZ,
    LARGEST_SEED,
    LEAST_ERROR,
    MOST_COPIES,
    MOST_II,
    TASKS_OF_MIX,
    TIME_STEP,
)

DATA_WIDTHS = (32, 64, 128, 256, 512, 1024)
"""The possible widths of TDATA of the streams."""

STREAMS = range(1, 9)
"""The possible numbers of pairs of streams."""

NUMBERS = ("fixed", "float32")
"""The possible number formats at the interface."""

WIDTHS = range(8, 33)
"""The possible operand widths of a multiplier."""

DEFAULT_HORIZON = 64
"""The most steps of a rollout if no number is given."""

HORIZONS = range(2, 4097)
"""The possible numbers of steps for which an accelerator keeps forces."""

DEFAULT_MAX_ERROR = 1e-3
"""The error budget if neither a budget nor a width is given."""


BASES = ("fixed", "floating", "given")
"""The motion of the root link: none, free, or given by each task."""

SHARING = ("auto", "on", "off")
"""Whether symmetric limbs share hardware: if that is cheaper, always, or never."""

CORES = ("pipeline", "array")
"""The kinds of cores: a pipeline with an operator for each sum and shared multipliers, or an array."""

PROCESSORS = ("c", "cuda")
"""The targets that are processors, for which ``generate`` writes software."""

MIXED = "mixed"
"""A value in place of a core: an accelerator with cores of both kinds."""

CHEAPER_CORE = "auto"
"""A value in place of a core: the core that takes less of the device."""

LEAST_ARRAY_II = 8
"""The least interval of an array; at fewer cycles between tasks its units share too little."""

WIDEST_ARRAY = 18
"""The largest operand width of an array."""

ASKED_FOR, THE_DEFAULT = "asked for", "the default"
"""The origin of an option's value: the user gave it, or did not."""

PER_TASK = "task"
"""A value in place of a gravity vector: each task has its own."""


JOINT_ORDERS = ("pinocchio", "file")
"""The order of a link's joints: by name, as Pinocchio visits them, or as in the file."""

CHEAPEST_ROOT = "auto"
"""A value in place of a root link: the one from which the accelerator costs least."""

LINK_PACE = "auto"
"""A value in place of an interval: as few cycles between tasks as the link and the device allow."""

NO_LINKS, ALL_LINKS = "none", "all"
"""Values in place of the links that take an external force."""

PAYLOAD, INERTIAS = "payload", "inertias"
"""Values in place of the links whose inertial parameters are given at run time."""

BY_TASK, BY_LOAD = WAYS_OF_PARAMETERS = ("task", "load")
"""What brings the parameters that are given at run time: each task, or packets of their own."""

Links = str | tuple[str, ...]
"""The links that take an external force: :data:`NO_LINKS`, :data:`ALL_LINKS`, or their names."""


@dataclass(frozen=True)
class Pacing:
    """The criteria that choose the number of cycles between tasks if it is not given.

    Parameters
    ----------
    link
        Whether tasks come no faster than their packets can be transferred.
    bandwidth
        The bandwidth of the link in each direction (GB/s, 10**9 bytes per second); None is the streams' own.
    """

    link: bool = True
    bandwidth: float | None = None


def reason(given: object | None) -> str:
    """Return the origin of an option's value: :data:`THE_DEFAULT` for None, else :data:`ASKED_FOR`."""
    return THE_DEFAULT if given is None else ASKED_FOR


def link_text(name: str) -> str:
    """Return a link's name in the syntax of :func:`rbdhw.cli.syntax.parse_links`."""
    if name in (NO_LINKS, ALL_LINKS):
        return f"\\{name}"
    return name.replace("\\", "\\\\").replace(",", "\\,")


@dataclass(frozen=True)
class Mounting:
    """The base, gravity and root of the robot in the world.

    Parameters
    ----------
    base
        ``fixed``, ``floating`` (six degrees of freedom at the root, in its frame) or ``given`` (each task
        contains the root's velocity and acceleration).
    gravity
        Acceleration of free fall (m/s^2) in the world frame, or in the root's frame for a given base; or
        :data:`PER_TASK`. None is 9.81 m/s^2 along -z.
    strict
        Whether to refuse a file with problems that could otherwise be tolerated with a remark.
    root
        The link that floats instead of the file's root, or :data:`CHEAPEST_ROOT`.
    joint_order
        One of :data:`JOINT_ORDERS`.
    frames
        The links of whose frames the kinematics are wanted, in their order.
    frame_axes
        One of :data:`rbdhw.robot.model.FRAME_AXES`: the axes of these frames' twists.
    time_step
        The step in time (s) of all tasks, or None if each task has its own.
    drives
        The rotor inertia and the viscous friction that joints have.
    parameters
        The links whose inertial parameters are given at run time: :data:`NO_LINKS`, :data:`PAYLOAD` (the
        link that carries no other), :data:`INERTIAS` (all that move and have mass), or their names.
    """

    base: str = "fixed"
    gravity: tuple[float, float, float] | str | None = None
    strict: bool = False
    root: str | None = None
    joint_order: str = JOINT_ORDERS[0]
    frames: tuple[str, ...] = ()
    frame_axes: str = FRAME_AXES[0]
    time_step: float | None = None
    drives: Drives = NO_DRIVES
    parameters: Links = NO_LINKS

    def check(self) -> None:
        """Refuse unknown values.

        Raises
        ------
        InputError
            The base, the gravity, the joint order or the frames' axes are unknown, or the gravity or the time
            step exceeds its bound.
        """
        if self.base not in BASES:
            raise _unknown("base", self.base, BASES)
        if isinstance(self.gravity, str) and self.gravity != PER_TASK:
            raise InputError("gravity", f"'{self.gravity}' is unknown", f"x,y,z in m/s^2 or {PER_TASK}")
        if isinstance(self.gravity, tuple) and not ACCELERATION_OF_FREE_FALL.holds(*self.gravity):
            text = ",".join(f"{value:g}" for value in self.gravity)
            raise InputError("gravity", text, f"of each {ACCELERATION_OF_FREE_FALL.expected}")
        if self.joint_order not in JOINT_ORDERS:
            raise _unknown("joint-order", self.joint_order, JOINT_ORDERS)
        if self.frame_axes not in FRAME_AXES:
            raise _unknown("frame-axes", self.frame_axes, FRAME_AXES)
        if self.time_step is not None and not (self.time_step > 0.0 and TIME_STEP.holds(self.time_step)):
            raise InputError("time-step", f"{self.time_step:g} s is not a step", TIME_STEP.positive)


@dataclass(frozen=True)
class CoreRequest:
    """One of several cores of an accelerator.

    Parameters
    ----------
    functions
        The functions that it computes.
    ii
        Cycles between its tasks.
    core
        One of :data:`CORES`, :data:`CHEAPER_CORE`, or None for the core of the build's options.
    copies
        The number of equal cores, whose tasks take turns.
    """

    functions: tuple[str, ...]
    ii: int = 1
    core: str | None = None
    copies: int = 1


@dataclass(frozen=True)
class BuildOptions:
    """The options of ``generate``.

    Parameters
    ----------
    functions
        The dynamics functions of the accelerator.
    ii
        Cycles between tasks; with ``pacing`` the fewest that may be chosen. None means 1.
    pacing
        The criteria that choose the cycles between tasks; None uses ``ii``.
    fit
        The largest share of the target's DSP blocks, look-up tables, flip-flops and block RAMs that the
        accelerator may use, by estimate; None is unchecked. With ``pacing`` the fewest cycles that fit are
        chosen.
    clock_mhz
        The clock to schedule for; None uses the target's default.
    max_error
        The largest relative error of any result (Frobenius norm). The cheapest widths that meet it on
        held-out samples are chosen.
    width
        The multipliers' operand width, instead of a search.
    fext
        The :data:`Links` that take an external force.
    data_width
        The width of TDATA in bits.
    streams
        The pairs of streams, one of requests and one of answers each.
    number
        The number format at the interface: ``fixed`` (packed, each number at its own width) or ``float32``.
    priority
        Functions whose answers are sent before others; the first one has the highest priority.
    algorithms
        Algorithms to use instead of the cheapest, by step.
    mounting
        The base, gravity and root of the robot in the world.
    share_limbs
        One of :data:`SHARING`.
    core
        One of :data:`CORES`, or :data:`CHEAPER_CORE`. None uses the first of :data:`CORES`.
    cores
        Several cores, which divide the functions among themselves; none for one core with all functions.
    copies
        The number of equal cores, if ``cores`` is empty.
    mix
        The tasks of some functions that are wanted in proportion. With it, cores and intervals are chosen.
    horizon
        The most steps of a rollout, which needs ``step`` among the functions; None for no rollouts.
    rollout
        What rollouts have beside forces that are loaded: some of :data:`rbdhw.protocol.ROLLOUT_PARTS`.
    parameters_by
        One of :data:`WAYS_OF_PARAMETERS`: what brings the parameters that are given at run time.
    samples
        The number of tasks drawn to find ranges, and of as many drawn to measure errors.
    seed
        The seed of all random draws.
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
    streams: int = 1
    number: str = "fixed"
    priority: tuple[str, ...] = ()
    algorithms: Mapping[str, str] = field(default_factory=dict)
    mounting: Mounting = field(default_factory=Mounting)
    share_limbs: str = "auto"
    core: str | None = None
    cores: tuple[CoreRequest, ...] = ()
    copies: int = 1
    mix: Mapping[str, float] = field(default_factory=dict)
    horizon: int | None = None
    rollout: tuple[str, ...] = ()
    parameters_by: str = BY_TASK
    samples: int = 4096
    seed: int = 0

    def __post_init__(self) -> None:
        """Build ``step`` for ``rollout``, with the horizon by default."""
        if ROLLOUT not in (*self.functions, *(name for own in self.cores for name in own.functions)):
            return
        cores = tuple(replace(own, functions=_with_steps(own.functions)) for own in self.cores)
        object.__setattr__(self, "functions", _with_steps(self.functions))
        object.__setattr__(self, "cores", cores)
        object.__setattr__(self, "horizon", DEFAULT_HORIZON if self.horizon is None else self.horizon)

    @property
    def several(self) -> bool:
        """Whether the options give several cores, or have them chosen."""
        return bool(self.cores or self.copies > 1 or self.mix)

    def check(self, known_functions: tuple[str, ...]) -> None:
        """Refuse options that no build can satisfy.

        Raises
        ------
        InputError
            An option cannot be satisfied; the message describes the first one and the expectation.
        """
        self.mounting.check()
        known = f"one or more of {', '.join(known_functions)}"
        for function in self.functions:
            if function not in known_functions:
                raise InputError("functions", f"'{function}' is unknown", known)
        if not self.functions:
            raise InputError("functions", "none given", known)
        self._check_priority()
        self._check_frames()
        self._check_time_step()
        if not 1 <= self.least_ii <= MOST_II:
            raise InputError("ii", f"{self.ii} is not possible", f"1 to {MOST_II} cycles between tasks")
        bandwidth = self.pacing.bandwidth if self.pacing else None
        if bandwidth is not None and not (bandwidth > 0.0 and BANDWIDTH.holds(bandwidth)):
            raise InputError("bandwidth", f"{bandwidth:g} GB/s is not a bandwidth", BANDWIDTH.positive)
        if self.fit is not None and not 0.0 < self.fit <= 1.0:
            raise InputError("fit", f"{self.fit:g} is not a share of a device", "more than 0 and up to 1")
        if self.share_limbs not in SHARING:
            raise _unknown("share-limbs", self.share_limbs, SHARING)
        self._check_core()
        self._check_cores()
        self._check_horizon()
        self._check_parameters()
        if self.width is not None and self.width not in WIDTHS:
            raise InputError("width", f"{self.width} is not supported", f"{WIDTHS[0]} to {WIDTHS[-1]} bits")
        if self.max_error is not None and not LEAST_ERROR <= self.max_error < 1.0:
            expected = f"{LEAST_ERROR:g} or more, and less than 1"
            raise InputError("max-error", f"{self.max_error:g} is not a budget", expected)
        if self.clock_mhz is not None and not (self.clock_mhz > 0.0 and CLOCK_MHZ.holds(self.clock_mhz)):
            raise InputError("clock", f"{self.clock_mhz:g} MHz is not a clock", CLOCK_MHZ.positive)
        if not 0 <= self.seed <= LARGEST_SEED:
            raise InputError("seed", f"{self.seed} is not a seed", f"0 to {LARGEST_SEED}")
        if self.data_width not in DATA_WIDTHS:
            expected = f"one of {', '.join(str(width) for width in DATA_WIDTHS)}"
            raise InputError("tdata", f"{self.data_width} bits are not supported", expected)
        if self.number not in NUMBERS:
            raise _unknown("number", self.number, NUMBERS)
        self._check_streams()

    def _check_streams(self) -> None:
        if self.streams not in STREAMS:
            expected = f"{STREAMS[0]} to {STREAMS[-1]} pairs of streams"
            raise InputError("streams", f"{self.streams} is not possible", expected)
        if self.streams > 1 and self.horizon is not None:
            reason = "rollouts return to the only pair of streams"
            remedy = "leave --streams out, or use step instead of rollout"
            raise InputError("streams", reason, remedy=remedy)

    def _check_priority(self) -> None:
        for place, function in enumerate(self.priority):
            if function not in self.functions:
                expected = f"some of the functions of the build: {', '.join(self.functions)}"
                raise InputError("priority", f"'{function}' is not built", expected)
            if function in self.priority[:place]:
                raise InputError("priority", f"'{function}' appears twice", "each function once")

    def _check_cores(self) -> None:
        if not 1 <= self.copies <= MOST_COPIES:
            raise InputError("copies", f"{self.copies} is not possible", f"1 to {MOST_COPIES}")
        self._check_mix()
        if not self.cores:
            return
        for name, given in (("ii", self.ii or self.pacing), ("copies", self.copies > 1)):
            if given:
                raise InputError(name, "has no effect with several cores", remedy=f"give {name} in --cores")
        for request in self.cores:
            if not request.functions:
                raise InputError("cores", "a core without functions", "one or more functions for each core")
            if not 1 <= request.ii <= MOST_II:
                raise InputError("cores", f"'{request.ii}' cycles", f"1 to {MOST_II} cycles between tasks")
            if not 1 <= request.copies <= MOST_COPIES:
                raise InputError("cores", f"{request.copies} copies", f"1 to {MOST_COPIES}")
        placed = Counter(function for request in self.cores for function in request.functions)
        for function in placed:
            if function not in self.functions:
                expected = f"some of the functions of the build: {', '.join(self.functions)}"
                raise InputError("cores", f"'{function}' is not built", expected)
            if placed[function] > 1:
                remedy = "use *2 behind a core for two copies of it"
                raise InputError("cores", f"'{function}' is in {placed[function]} cores", "one", remedy)
        for function in self.functions:
            if function not in placed:
                remedy = "add it to a core, or leave it out of --functions"
                raise InputError("cores", f"'{function}' is in no core", "each function in one", remedy)
        for own in self.each_core():
            own._check_core()  # of another instance

    def _check_mix(self) -> None:
        if not self.mix:
            return
        for function, tasks in self.mix.items():
            if function not in self.functions:
                expected = f"some of the functions of the build: {', '.join(self.functions)}"
                raise InputError("mix", f"'{function}' is not built", expected)
            if not (tasks > 0.0 and TASKS_OF_MIX.holds(tasks)):
                raise InputError("mix", f"{tasks:g} tasks of {function}", TASKS_OF_MIX.positive)
        given = {"cores": self.cores, "copies": self.copies > 1, "ii": self.ii, "core": self.core}
        for name in (name for name, value in given.items() if value):
            raise InputError("mix", f"chooses the cores and excludes --{name}", remedy=f"leave --{name} out")

    def each_core(self) -> tuple[BuildOptions, ...]:
        """Return the options of each core by itself; the options of this build if it has only one.

        Copies of one core divide the share of the device among themselves if it decides their interval.
        """
        if not self.cores and self.copies > 1:
            share = self.fit / self.copies if self.fit and self.pacing else None
            return (replace(self, copies=1, fit=share),)
        return tuple(
            replace(
                self,
                functions=tuple(name for name in self.functions if name in request.functions),
                ii=request.ii,
                core=request.core or self.core,
                cores=(),
                fit=None,
                priority=tuple(name for name in self.priority if name in request.functions),
                horizon=self.horizon if "step" in request.functions else None,
                rollout=self.rollout if "step" in request.functions else (),
            )
            for request in self.cores
        ) or (self,)

    def _check_frames(self) -> None:
        if "kin" in self.functions and not self.mounting.frames:
            raise InputError("frames", "none given for kin", "names of links", "use --frames LINK")
        if self.mounting.frames and "kin" not in self.functions:
            raise InputError("frames", "only kin has results of frames", "none", "use --functions kin")

    def _check_parameters(self) -> None:
        if self.parameters_by not in WAYS_OF_PARAMETERS:
            raise _unknown("parameters-by", self.parameters_by, WAYS_OF_PARAMETERS)
        if self.parameters_by == BY_TASK:
            return
        if self.mounting.parameters == NO_LINKS:
            reason = "all parameters are constant"
            raise InputError(
                "parameters-by", reason, "some that are given at run time", "use --parameters LINK"
            )
        if self.cores or self.mix:
            reason = "several cores hold parameters in formats of their own"
            raise InputError(
                "parameters-by", reason, "one core, or copies of one", "use --parameters-by task"
            )
        if self.horizon is not None:
            reason = "a rollout brings its own parameters"
            raise InputError("parameters-by", reason, BY_TASK, "use --parameters-by task")

    def _check_horizon(self) -> None:
        for place, part in enumerate(self.rollout):
            if part not in ROLLOUT_PARTS:
                raise InputError("rollout", f"'{part}' is unknown", f"some of {', '.join(ROLLOUT_PARTS)}")
            if part in self.rollout[:place]:
                raise InputError("rollout", f"'{part}' appears twice", "each part once")
        if self.horizon is None and self.rollout:
            raise InputError("rollout", "the build has no rollouts", remedy="use --functions rollout")
        if self.horizon is None:
            return
        if self.horizon not in HORIZONS:
            expected = f"{HORIZONS[0]} to {HORIZONS[-1]} steps"
            raise InputError("horizon", f"{self.horizon} is not possible", expected)
        if "step" not in self.functions:
            raise InputError("horizon", "the build has no rollouts", remedy="use --functions rollout")
        homes = [request.copies for request in self.cores if "step" in request.functions] or [self.copies]
        if max(homes) > 1:
            reason = "rollouts return to one core, and step has copies"
            raise InputError("cores", reason, remedy="give step a core without copies")
        if self.mix:
            raise InputError("mix", "does not choose cores for rollouts", remedy="use --cores")

    def _check_time_step(self) -> None:
        integrators = functions_with(lambda own: own.integrates)
        if self.mounting.time_step is not None and not set(integrators) & set(self.functions):
            expected = f"one of {', '.join(integrators)} in --functions"
            raise InputError("time-step", "no function of the build takes a step in time", expected)

    def _check_core(self) -> None:
        if self.asked_core not in (*CORES, CHEAPER_CORE):
            raise _unknown("core", self.asked_core, (*CORES, CHEAPER_CORE))
        least = self.least_ii if self.pacing is None else LEAST_ARRAY_II
        refusal = self.refusal(self.asked_core, least)
        if refusal is not None:
            raise refusal

    def refusal(self, core: str, ii: int) -> InputError | None:
        """Return the refusal of a core that cannot be built for one task every ``ii`` cycles, or None."""
        if core != "array":
            return None
        if self.width is None or self.width > WIDEST_ARRAY:
            reason = f"the array core supports up to {WIDEST_ARRAY} bits"
            return InputError("width", reason, f"8 to {WIDEST_ARRAY}")
        if ii < LEAST_ARRAY_II:
            return InputError("ii", f"{ii} is too few for the array core", f"{LEAST_ARRAY_II} or more")
        if self.share_limbs == "on":
            return InputError("share-limbs", "the array core shares all hardware anyway", "auto or off")
        return None

    @property
    def array_needs(self) -> tuple[str, ...]:
        """The options that an array core needs at any interval and that this build lacks."""
        needs = []
        if self.width is None or self.width > WIDEST_ARRAY:
            needs.append(f"--width {WIDEST_ARRAY}")
        if self.share_limbs == "on":
            needs.append("--share-limbs auto")
        return tuple(needs)

    @property
    def least_ii(self) -> int:
        """The cycles between tasks; with ``pacing``, the fewest that may be chosen."""
        return 1 if self.ii is None else self.ii

    @property
    def asked_core(self) -> str:
        """One of :data:`CORES`, or :data:`CHEAPER_CORE`."""
        return CORES[0] if self.core is None else self.core

    @property
    def budget(self) -> float | None:
        """The error budget that applies: None if only a width is given."""
        if self.max_error is None and self.width is None:
            return DEFAULT_MAX_ERROR
        return self.max_error


def _with_steps(names: Sequence[str]) -> tuple[str, ...]:
    """Return the functions that cores compute: rollouts take the steps of ``step``."""
    return tuple(dict.fromkeys("step" if name == ROLLOUT else name for name in names))


def _unknown(option: str, value: str, known: Sequence[str]) -> InputError:
    return InputError(option, f"'{value}' is unknown", f"one of {', '.join(known)}")
