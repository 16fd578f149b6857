"""The options of a build."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rbdhw.errors import InputError
from rbdhw.protocol import FUNCTIONS, ROLLOUT, staged
from rbdhw.robot.mounting import NO_LINKS, Links
from rbdhw.robot.mounting import Mounting as Mounting  # users import it beside the options
from rbdhw.verilog_names import DEFAULT_NAME

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


SHARING = ("auto", "on", "off")
"""Whether symmetric limbs or stages share hardware: if that is cheaper, always, or never."""

CORES = ("pipeline", "array")
"""The kinds of cores: a pipeline with an operator for each sum and shared multipliers, or an array."""

CHAIN_CORE = "chain"
"""A core for the forward dynamics of robots of many links: the hardware of one, through which all pass."""

CHAIN_FUNCTION = "fd"
"""The function of a chain core."""

LOOP, LOOP_CORE = "loop", "loop"
"""A way to share one stage's hardware, and its core: each stage of a task enters it in a cycle of its own."""

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

LINK_PACE = "auto"
"""A value in place of an interval: as few cycles between tasks as the link and the device allow."""

BY_TASK, BY_LOAD = WAYS_OF_PARAMETERS = ("task", "load")
"""What brings the parameters that are given at run time: each task, or packets of their own."""

PARAMETER_SETS = range(1, 9)
"""The possible numbers of sets of loaded parameters."""


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


def reason(value: object | None) -> str:
    """Return the origin of an option's value: :data:`THE_DEFAULT` for None, else :data:`ASKED_FOR`."""
    return THE_DEFAULT if value is None else ASKED_FOR


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
    share_limbs, share_stages
        Each one of :data:`SHARING`; stages can also :data:`LOOP` through the hardware of one.
    core
        One of :data:`CORES`, :data:`CHAIN_CORE`, or :data:`CHEAPER_CORE`. None uses the first of
        :data:`CORES`.
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
    parameter_sets
        The number of sets of loaded parameters, of which each task takes one.
    name
        The name of the Verilog's top module, with which the names of all its modules begin.
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
    share_stages: str = "auto"
    core: str | None = None
    cores: tuple[CoreRequest, ...] = ()
    copies: int = 1
    mix: Mapping[str, float] = field(default_factory=dict)
    horizon: int | None = None
    rollout: tuple[str, ...] = ()
    parameters_by: str = BY_TASK
    parameter_sets: int = 1
    name: str = DEFAULT_NAME
    samples: int = 4096
    seed: int = 0

    def __post_init__(self) -> None:
        """Build ``step`` for ``rollout``, with the horizon by default."""
        if ROLLOUT not in (*self.functions, *(name for request in self.cores for name in request.functions)):
            return
        cores = tuple(replace(request, functions=_with_steps(request.functions)) for request in self.cores)
        object.__setattr__(self, "functions", _with_steps(self.functions))
        object.__setattr__(self, "cores", cores)
        object.__setattr__(self, "horizon", DEFAULT_HORIZON if self.horizon is None else self.horizon)

    @property
    def several(self) -> bool:
        """Whether the options give several cores, or have them chosen."""
        return bool(self.cores or self.copies > 1 or self.mix)

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
                share_stages=self.share_stages if staged(request.functions) else "auto",
            )
            for request in self.cores
        ) or (self,)

    def refusal(self, core: str, ii: int) -> InputError | None:
        """Return the refusal of a core that cannot be built for one task every ``ii`` cycles, or None."""
        if core == CHAIN_CORE:
            return self._chain_refusal()
        if core == LOOP_CORE:
            return self._loop_refusal(ii)
        if core != "array":
            return None
        if self.width is None or self.width > WIDEST_ARRAY:
            reason = f"the array core supports up to {WIDEST_ARRAY} bits"
            return InputError("width", reason, f"8 to {WIDEST_ARRAY}")
        if ii < LEAST_ARRAY_II:
            return InputError("ii", f"{ii} is too few for the array core", f"{LEAST_ARRAY_II} or more")
        for name, share in self._sharing:
            if share in ("on", LOOP):
                return InputError(name, "the array core shares all hardware anyway", "auto or off")
        return None

    def _chain_refusal(self) -> InputError | None:
        """Return the refusal of a chain core by options that do not depend on the robot, or None."""
        other = "use --core pipeline or --core array"
        if self.functions != (CHAIN_FUNCTION,):
            expected = f"--functions {CHAIN_FUNCTION}"
            return InputError("core", f"the chain core computes {CHAIN_FUNCTION} only", expected, other)
        if self.fext != NO_LINKS:
            return InputError("fext", "the chain core takes no external forces", "none", other)
        if self.algorithms:
            return InputError("algorithm", "the chain core has its own algorithm", "none", other)
        for name, share in self._sharing:
            if share == "on":
                return InputError(name, "the links of a chain core share all hardware anyway", "auto or off")
        return None

    def _loop_refusal(self, ii: int) -> InputError | None:
        """Return the refusal of a loop core by options that do not depend on the robot, or None."""
        if len(self.functions) > 1 or not staged(self.functions):
            reason = "stages loop in a core of their own"
            return InputError("share-stages", reason, "one function, in stages", "give it a core in --cores")
        stages = FUNCTIONS[self.functions[0]].stages
        if ii % stages:
            reason = f"the {stages} stages cannot loop at an ii of {ii}"
            remedy = f"use --ii {math.ceil(ii / stages) * stages}"
            return InputError("share-stages", reason, f"a multiple of {stages}", remedy)
        if self.share_limbs == "on":
            return InputError("share-limbs", "limbs do not share the hardware of a loop", "auto or off")
        if self.share_stages not in ("auto", LOOP):
            return InputError("share-stages", "stages do not loop", f"auto or {LOOP}")
        return None

    @property
    def array_needs(self) -> tuple[str, ...]:
        """The options that an array core needs at any interval and that this build lacks."""
        needs = []
        if self.width is None or self.width > WIDEST_ARRAY:
            needs.append(f"--width {WIDEST_ARRAY}")
        needs += [f"--{name} auto" for name, share in self._sharing if share in ("on", LOOP)]
        return tuple(needs)

    @property
    def _sharing(self) -> tuple[tuple[str, str], ...]:
        """The options that state what shares hardware, by name."""
        return ("share-limbs", self.share_limbs), ("share-stages", self.share_stages)

    @property
    def least_ii(self) -> int:
        """The cycles between tasks; with ``pacing``, the fewest that may be chosen."""
        return 1 if self.ii is None else self.ii

    @property
    def asked_core(self) -> str:
        """One of :data:`CORES`, :data:`CHAIN_CORE`, or :data:`CHEAPER_CORE`."""
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
