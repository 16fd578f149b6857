"""The options of a build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from rbdhw.protocol import COST, MPPI, ROLLOUT, SAMPLES, SOLVE, rolled_by, staged, steps_with
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

HOLDS = tuple(1 << k for k in range(9))
"""The possible numbers of steps for which it holds a sample: powers of two."""

COST_ROWS = range(33)
"""The possible numbers of residuals in the costs of its rollouts."""

DEFAULT_KNOTS, DEFAULT_ALPHAS = 64, 4
"""The steps of a horizon for which a build solves, and the step lengths of its line search."""

KNOTS, ALPHAS = range(1, 1025), range(1, 33)
"""The possible numbers of both."""

DEFAULT_ITERATIONS, ITERATIONS = 10, range(1, 256)
"""The most iterations of a solution of an accelerator if no number is given, and the possible numbers."""

PROBLEMS, BLOCKS = range(1, 65), range(1, 17)
"""The possible numbers of problems that take turns in a solver, and of blocks of its sweep."""

SWEEP_IIS = range(4, 4097)
"""The possible cycles between the knots of a solver's sweep."""

DEFAULT_MAX_ERROR = 1e-3
"""The error budget if neither a budget nor a width is given."""


SHARING = ("auto", "on", "off")
"""Whether symmetric limbs share hardware: if that is cheaper, always, or never."""

CoreName = Literal["pipeline", "array", "chain", "loop"]
"""The kinds of cores, by name; :data:`rbdhw.cores.KINDS` has the class of each."""

CORES: tuple[CoreName, ...] = ("pipeline", "array", "chain")
"""The kinds of cores that ``--core`` names."""

DEFAULT_CORE: CoreName = "pipeline"
"""The kind of core if none is named."""

LOOP: Final = "loop"
"""The way in which stages share hardware, and its kind of core: each stage of a task enters it in turn."""

STAGE_SHARING = ("auto", LOOP, "off")
"""Whether the stages of a method share hardware: if that is cheaper, always, or never."""

PROCESSORS = ("c", "cuda")
"""The targets that are processors, for which ``generate`` writes software."""

MIXED: Final = "mixed"
"""A value in place of a core: an accelerator with cores of several kinds."""

CHEAPER_CORE = "auto"
"""A value in place of a core: the core that takes less of the device."""

ASKED_FOR, THE_DEFAULT = "asked for", "the default"
"""The origin of an option's value: the user gave it, or did not."""

BEST_LATENCY, BEST_RATE = "best-latency", "best-rate"
CLOCK_GOALS = (BEST_LATENCY, BEST_RATE)
"""Values in place of a clock: that of the soonest answer, or the fastest one."""

LINK_PACE = "auto"
"""A value in place of an interval: as few cycles between tasks as the link and the device allow."""

BY_TASK, BY_LOAD = WAYS_OF_PARAMETERS = ("task", "load")
"""What brings the parameters that are given at run time: each task, or packets of their own."""

PARAMETER_SETS = range(1, 9)
"""The possible numbers of sets of loaded parameters."""


@dataclass(frozen=True)
class Pacing:
    """The criteria that choose the number of cycles between tasks if it is not given."""

    link: bool = True
    """Whether tasks come no faster than their packets can be transferred."""
    bandwidth: float | None = None
    """The bandwidth of the link each way (GB/s, 10**9 bytes per second); None is the streams' own."""


def reason(value: object | None) -> str:
    """Return the origin of an option's value: :data:`THE_DEFAULT` for None, else :data:`ASKED_FOR`."""
    return THE_DEFAULT if value is None else ASKED_FOR


@dataclass(frozen=True)
class CoreRequest:
    """One of several cores of an accelerator."""

    functions: tuple[str, ...]
    """The functions that it computes."""
    ii: int = 1
    """Cycles between its tasks."""
    core: str | None = None
    """One of :data:`CORES`, or :data:`CHEAPER_CORE`; None is the core of the build's options."""
    copies: int = 1
    """The number of equal cores, whose tasks take turns."""


@dataclass(frozen=True)
class BuildOptions:
    """The options of ``generate``."""

    functions: tuple[str, ...] = ("id",)
    """The dynamics functions of the accelerator."""
    ii: int | None = None
    """Cycles between tasks; with ``pacing`` the fewest that may be chosen. None means 1."""
    pacing: Pacing | None = None
    """The criteria that choose the cycles between tasks; None uses ``ii``."""
    fit: float | None = None
    """The largest share of each of the target's resources that the accelerator may use, by estimate; None is
    unchecked. With ``pacing`` the fewest cycles that fit are chosen. Products move into look-up tables where
    DSP blocks are short."""
    target: str = "xcvu9p"
    clock_mhz: float | None = None
    """The clock to schedule for; None uses the target's default, or that of ``clock_goal``."""
    clock_goal: str | None = None
    """What the clock is chosen for, one of :data:`CLOCK_GOALS`; None if it is given or the default."""
    stream_clock_mhz: float | None = None
    """The clock of the streams and registers of ``accelerator_axi``; None is the clock of the cores."""
    max_error: float | Mapping[str, float] | None = None
    """The largest relative error of any result (Frobenius norm), or of those of some functions by name. The
    cheapest widths that meet it on held-out samples are chosen."""
    width: int | None = None
    """The multipliers' operand width, instead of a search."""
    fext: Links = NO_LINKS
    """The :data:`Links` that take an external force."""
    data_width: int = 512
    """The width of TDATA in bits."""
    streams: int = 1
    """The pairs of streams, one of requests and one of answers each."""
    number: str = "fixed"
    """The number format at the interface: ``fixed`` (packed, each number at its own width) or ``float32``."""
    priority: tuple[str, ...] = ()
    """Functions whose answers are sent before others; the first one has the highest priority."""
    algorithms: Mapping[str, str] = field(default_factory=dict)
    """Algorithms to use instead of the cheapest, by step."""
    mounting: Mounting = field(default_factory=Mounting)
    """The base, gravity and root of the robot in the world."""
    share_limbs: str = "auto"
    """One of :data:`SHARING`."""
    share_stages: str = "auto"
    """One of :data:`STAGE_SHARING`."""
    core: str | None = None
    """One of :data:`CORES`, or :data:`CHEAPER_CORE`. None uses :data:`DEFAULT_CORE`."""
    cores: tuple[CoreRequest, ...] = ()
    """Several cores, which divide the functions among themselves; none for one core with all functions."""
    copies: int = 1
    """The number of equal cores, if ``cores`` is empty."""
    mix: Mapping[str, float] = field(default_factory=dict)
    """The tasks of some functions that are wanted in proportion. With it, cores and intervals are chosen."""
    horizon: int | None = None
    """The most steps of a rollout, which needs ``step`` or ``cstep`` among the functions; None for no
    rollouts."""
    rollout: tuple[str, ...] = ()
    """What rollouts have beside forces that are loaded: some of :data:`rbdhw.protocol.ROLLOUT_PARTS`."""
    hold: int = 1
    """The steps for which a sample of rollouts is held, one of :data:`HOLDS`."""
    cost_rows: int = 0
    """The residuals C d - y in the costs of rollouts."""
    means: bool = False
    """Whether an accelerator takes means of samples of rollouts, as ``mppi`` does."""
    knots: int | None = None
    """The steps of the horizon of ``solve``; None if the build has none."""
    alphas: int = DEFAULT_ALPHAS
    """The step lengths of its line search."""
    iterations: int = DEFAULT_ITERATIONS
    """The most iterations of a solution of an accelerator."""
    problems: int = 1
    """The problems that take turns in the solver of an accelerator."""
    blocks: int = 1
    """The blocks of knots that it sweeps back at the same time."""
    sweep_ii: int | None = None
    """The cycles between the knots of its sweep; None takes those for 26 accumulators."""
    parameters_by: str = BY_TASK
    """One of :data:`WAYS_OF_PARAMETERS`: what brings the parameters that are given at run time."""
    parameter_sets: int = 1
    """The number of sets of loaded parameters, of which each task takes one."""
    name: str = DEFAULT_NAME
    """The name of the Verilog's top module, with which the names of all its modules begin."""
    samples: int = 4096
    """The number of tasks drawn to find ranges, and of as many drawn to measure errors."""
    prove: bool = False
    """Whether errors are proven, and within the budget by proof."""
    confidence: float | None = None
    """The confidence of a statement on errors from further tasks; None draws none."""
    seed: int = 0
    """The seed of all random draws."""

    def __post_init__(self) -> None:
        """Build the steps of ``rollout``, ``solve`` and ``mppi``, with the horizon by default.

        In software one solver serves all three, with contacts if the build has any.
        """
        steps = steps_with(contacts=self.mounting.constrained)
        if self.target == "c":
            controls = {SOLVE, MPPI, ROLLOUT}
            if not controls.isdisjoint(self.functions):
                functions = [name for name in self.functions if name not in controls]
                counts = (steps for steps in (self.knots, self.horizon) if steps is not None)
                object.__setattr__(self, "functions", tuple(dict.fromkeys((*functions, *steps))))
                object.__setattr__(self, "knots", next(counts, DEFAULT_KNOTS))
                object.__setattr__(self, "horizon", None)
            return
        if SOLVE in self._named:
            self._build_instead(SOLVE, steps)
            object.__setattr__(self, "knots", DEFAULT_KNOTS if self.knots is None else self.knots)
        if MPPI in self._named and self.target not in PROCESSORS:
            self._build_instead(MPPI, (ROLLOUT,))
            parts = (SAMPLES, COST)
            rollout = (*parts, *(name for name in self.rollout if name not in parts))
            object.__setattr__(self, "rollout", rollout)
            object.__setattr__(self, "means", True)
        if ROLLOUT in self._named:
            self._build_instead(ROLLOUT, (rolled_by(self._named) or steps[0],))
            object.__setattr__(self, "horizon", DEFAULT_HORIZON if self.horizon is None else self.horizon)

    @property
    def _named(self) -> set[str]:
        """The functions of the build and of its cores."""
        return {*self.functions, *(name for request in self.cores for name in request.functions)}

    def _build_instead(self, control: str, steps: Sequence[str]) -> None:
        """Build functions of steps in place of what takes them."""
        cores = (
            replace(request, functions=_in_place(request.functions, control, steps)) for request in self.cores
        )
        object.__setattr__(self, "functions", _in_place(self.functions, control, steps))
        object.__setattr__(self, "cores", tuple(cores))

    @property
    def soonest(self) -> bool:
        """Whether the soonest answer matters more than operations."""
        return self.clock_goal == BEST_LATENCY

    @property
    def solves(self) -> bool:
        """Whether the build has a solver."""
        derivatives = steps_with(contacts=self.mounting.constrained)[1]
        return self.knots is not None and derivatives in self.functions

    @property
    def serves_solver(self) -> bool:
        """Whether this is the build of a core in which a solver takes steps, derivatives of them, or both."""
        return self.knots is not None and not {"step", "dstep"}.isdisjoint(self.functions)

    @property
    def tracks(self) -> bool:
        """Whether rollouts, or solutions of an accelerator, have costs of the positions of frames.

        Their steps give these.
        """
        solves = self.serves_solver and self.target not in PROCESSORS
        return (COST in self.rollout or solves) and bool(self.mounting.frames)

    @property
    def rolled(self) -> str | None:
        """The function whose steps rollouts take, if one is built."""
        return rolled_by(self.functions)

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
                horizon=self.horizon if self.rolled in request.functions else None,
                knots=self.knots if {"step", "dstep"}.intersection(request.functions) else None,
                rollout=self.rollout if self.rolled in request.functions else (),
                hold=self.hold if self.rolled in request.functions else 1,
                cost_rows=self.cost_rows if self.rolled in request.functions else 0,
                means=self.means and self.rolled in request.functions,
                share_stages=self.share_stages if staged(request.functions) else "auto",
            )
            for request in self.cores
        ) or (self,)

    @property
    def sharing(self) -> dict[str, str]:
        """The options that state what shares hardware, by name."""
        return {"share-limbs": self.share_limbs, "share-stages": self.share_stages}

    @property
    def least_ii(self) -> int:
        """The cycles between tasks; with ``pacing``, the fewest that may be chosen."""
        return 1 if self.ii is None else self.ii

    @property
    def asked_core(self) -> str:
        """One of :data:`CORES`, or :data:`CHEAPER_CORE`."""
        return DEFAULT_CORE if self.core is None else self.core

    @property
    def compares_cores(self) -> bool:
        """Whether the cheapest kind of core is to be chosen."""
        return self.core == CHEAPER_CORE and self.share_stages != LOOP

    @property
    def budget(self) -> float | None:
        """The error budget of functions without one of their own: None if only a width is given."""
        if self.max_error is None:
            return DEFAULT_MAX_ERROR if self.width is None else None
        return DEFAULT_MAX_ERROR if isinstance(self.max_error, Mapping) else self.max_error

    @property
    def budgets(self) -> dict[str, float]:
        """The error budgets that functions of the build have of their own."""
        budgets = self.max_error if isinstance(self.max_error, Mapping) else {}
        return {function: budgets[function] for function in self.functions if function in budgets}

    def budget_share(self, function: str) -> float:
        """Return the ratio of :attr:`budget` to the function's own: errors times it are comparable."""
        return (self.budget or 1.0) / self.budgets[function] if function in self.budgets else 1.0


def _in_place(names: Sequence[str], control: str, steps: Sequence[str]) -> tuple[str, ...]:
    """Return the functions that cores compute: those of steps in place of what takes them."""
    computed = (step for name in names for step in (steps if name == control else (name,)))
    return tuple(dict.fromkeys(computed))
