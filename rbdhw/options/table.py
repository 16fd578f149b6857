"""The table of all options of a build.

The command line, the Python interface, the checks and the documentation are made from it. Two or more options
that make one value of a build together have no attribute of their own; :mod:`rbdhw.options.arguments` joins
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rbdhw.board import BOARDS
from rbdhw.errors import InputError, told_apart
from rbdhw.options.algorithms import ALGORITHMS
from rbdhw.options.build import (
    ALPHAS,
    BLOCKS,
    BY_TASK,
    CHEAPER_CORE,
    CORES,
    COST_ROWS,
    DATA_WIDTHS,
    DEFAULT_ALPHAS,
    DEFAULT_CORE,
    DEFAULT_HORIZON,
    DEFAULT_ITERATIONS,
    DEFAULT_KNOTS,
    HOLDS,
    HORIZONS,
    ITERATIONS,
    KNOTS,
    LOOP,
    NUMBERS,
    PARAMETER_SETS,
    PROBLEMS,
    SHARING,
    STAGE_SHARING,
    STREAMS,
    SWEEP_IIS,
    WAYS_OF_PARAMETERS,
    WIDTHS,
)
from rbdhw.options.effects import (
    CONTACTS,
    DEPENDS,
    FRAMES,
    LOOPS,
    ON_DEVICE,
    PARTS,
    ROLLOUTS,
    SOLVER,
    SPHERES,
    STAGED,
    VECTORS,
    Effect,
    has_any,
    not_of_software,
    of_drives,
    of_functions,
    takes,
)
from rbdhw.options.option import (
    HARDWARE,
    ROBOT,
    Option,
    among,
    between,
    distinct_names,
    positive,
)
from rbdhw.options.syntax import (
    parse_algorithms,
    parse_budgets,
    parse_contacts,
    parse_cores,
    parse_frames,
    parse_gravity,
    parse_links,
    parse_mix,
    parse_names,
    parse_share,
    parse_spheres,
)
from rbdhw.protocol import (
    ASKED,
    COST,
    DEFAULT_FUNCTIONS,
    PARAMETERS,
    ROLLOUT_PARTS,
    SAMPLES,
)
from rbdhw.robot.loops import read_loops
from rbdhw.robot.model import CONTACT_KINDS, FRAME_AXES, WORLD, Contacts
from rbdhw.robot.mounting import (
    ALL_LINKS,
    BASES,
    INERTIAS,
    JOINT_ORDERS,
    NO_LINKS,
    OF_DOMAIN,
    PAYLOAD,
    PER_TASK,
    WAYS_OF_GAINS,
)
from rbdhw.runtime.number_bounds import (
    ACCELERATION_OF_FREE_FALL,
    CLOCK_MHZ,
    LARGEST_SEED,
    LEAST_ERROR,
    MOST_COPIES,
    TIME_STEP,
    check_confidence,
)
from rbdhw.target import TARGETS
from rbdhw.verilog_names import DEFAULT_NAME, check_name

ALL_FUNCTIONS = ",".join(DEFAULT_FUNCTIONS)

_NAMES_HELP = "comma-separated names; may be repeated. A backslash escapes the next character of a name."

_ALGORITHM_HELP = "; ".join(f"{step}={' | '.join(names)}" for step, names in ALGORITHMS.items())


def _check_gravity(name: str, gravity: tuple[float, float, float] | str) -> None:
    if isinstance(gravity, str) and gravity != PER_TASK:
        raise InputError(name, f"'{gravity}' is unknown", f"x,y,z in m/s^2 or {PER_TASK}")
    if isinstance(gravity, tuple) and not ACCELERATION_OF_FREE_FALL.holds(*gravity):
        text = ",".join(f"{value:g}" for value in gravity)
        raise InputError(name, text, f"of each {ACCELERATION_OF_FREE_FALL.expected}")


def _check_budgets(name: str, budgets: float | Mapping[str, float]) -> None:
    for budget in budgets.values() if isinstance(budgets, Mapping) else (budgets,):
        if not LEAST_ERROR <= budget < 1.0:
            asked, least = told_apart(budget, LEAST_ERROR)
            raise InputError(name, f"{asked} is not a budget", f"{least} or more, and less than 1")


def _check_fit(name: str, share: float) -> None:
    if not 0.0 < share <= 1.0:
        asked, most = told_apart(share, 1.0)
        raise InputError(name, f"{asked} is not a share of a device", f"more than 0 and up to {most}")


def _check_seed(name: str, seed: int) -> None:
    if not 0 <= seed <= LARGEST_SEED:
        raise InputError(name, f"{seed} is not a seed", f"0 to {LARGEST_SEED}")


def _check_stage_sharing(name: str, share: str) -> None:
    if share == "on":
        reason = "the stages share no hardware in turn"
        raise InputError(name, reason, f"one of {', '.join(STAGE_SHARING)}", f"use --share-stages {LOOP}")
    among(STAGE_SHARING)(name, share)


def _check_top_name(_: str, name: str) -> None:
    check_name(name)


def _hardware(name: str, kind: object, text: str, *effects: Effect, **settings: object) -> Option:
    """Return a hardware option, which has an effect on devices only."""
    return Option(name, HARDWARE, kind, text, effects=(ON_DEVICE, *effects), **settings)  # type: ignore[arg-type]


OPTIONS: tuple[Option, ...] = (
    Option(
        "functions",
        ROBOT,
        str | None,
        f"The functions, comma-separated: {', '.join(ASKED)}. By default those "
        f"of --cores, or {ALL_FUNCTIONS}.",
    ),
    Option(
        "fext",
        ROBOT,
        list[str] | None,
        f"Links with an external force: none, all, or {_NAMES_HELP}",
        attribute="fext",
        metavar="LINKS",
        parse=lambda texts: parse_links("fext", texts or (), (NO_LINKS, ALL_LINKS)),
        effects=(takes("fext", "no function of the build takes external forces"),),
    ),
    Option(
        "algorithm",
        ROBOT,
        list[str] | None,
        f"Overrides the cheapest algorithm; may be repeated: {_ALGORITHM_HELP}.",
        attribute="algorithms",
        parse=lambda texts: parse_algorithms(texts or (), ALGORITHMS),
    ),
    Option(
        "base",
        ROBOT,
        str,
        f"The motion of the root: {', '.join(BASES)}.",
        BASES[0],
        "mounting.base",
        check=among(BASES),
    ),
    Option(
        "gravity",
        ROBOT,
        str | None,
        "x,y,z in m/s^2, or 'task' to send it with each task; 0,0,-9.81 by default.",
        attribute="mounting.gravity",
        parse=parse_gravity,
        check=_check_gravity,
        effects=(takes("gravity", DEPENDS),),
    ),
    Option(
        "root",
        ROBOT,
        str | None,
        "The link that floats instead of the root, or 'auto' for the cheapest.",
        attribute="mounting.root",
    ),
    Option(
        "joint-order",
        ROBOT,
        str,
        "The order of the joints: pinocchio (a link's joints by name) or file (as listed).",
        JOINT_ORDERS[0],
        "mounting.joint_order",
        check=among(JOINT_ORDERS),
    ),
    Option(
        "frames",
        ROBOT,
        list[str] | None,
        f"Links, or LINK@X:Y:Z, whose kinematics kin gives, whose columns regressor, and whose positions "
        f"the costs of rollouts and of solutions have: {_NAMES_HELP}",
        attribute="mounting.frames",
        metavar="LINKS",
        parse=lambda texts: parse_frames(texts or ()),
        effects=(FRAMES,),
    ),
    Option(
        "frame-axes",
        ROBOT,
        str,
        "The axes of these frames' velocities: local (each frame's own) or world.",
        FRAME_AXES[0],
        "mounting.frame_axes",
        check=among(FRAME_AXES),
        effects=(VECTORS,),
    ),
    Option(
        "contacts",
        ROBOT,
        list[str] | None,
        f"Links that may touch the world, as LINK:{' or LINK:'.join(CONTACT_KINDS)}: {_NAMES_HELP}",
        attribute="mounting.contacts",
        metavar="LINK:KIND",
        parse=lambda texts: parse_contacts(texts or ()),
        effects=(CONTACTS,),
    ),
    Option(
        "loops",
        ROBOT,
        Path | None,
        "A TOML file with the points at which links form loops.",
        attribute="mounting.loops",
        metavar="FILE",
        parse=lambda path: read_loops(path) if path else (),
        effects=(LOOPS,),
    ),
    Option(
        "contact-axes",
        ROBOT,
        str,
        "The axes of the forces of contacts: world, or local (those of each link's frame).",
        Contacts.axes,
        "mounting.contact_axes",
        check=among(FRAME_AXES),
        effects=(CONTACTS,),
    ),
    Option(
        "contact-gains",
        ROBOT,
        str,
        "What has the damping and the gains of contacts: the domain file, or each task.",
        OF_DOMAIN,
        "mounting.contact_gains",
        check=among(WAYS_OF_GAINS),
        effects=(CONTACTS,),
    ),
    Option(
        "spheres",
        ROBOT,
        list[str] | None,
        f"Spheres for clearance, as LINK@X:Y:Z:RADIUS or {WORLD}@X:Y:Z:RADIUS in metres, comma-separated.",
        attribute="mounting.spheres",
        metavar="SPHERES",
        parse=lambda texts: parse_spheres(texts or ()),
        effects=(SPHERES,),
    ),
    Option(
        "time-step",
        ROBOT,
        float | None,
        "The step in time (s) of all tasks; by default each has its own.",
        attribute="mounting.time_step",
        metavar="H",
        check=positive(TIME_STEP, "s is not a step"),
        effects=(
            of_functions(lambda entry: entry.integrates, "no function of the build takes a step in time"),
        ),
    ),
    Option(
        "horizon",
        ROBOT,
        int | None,
        f"The most steps of a rollout, 2 to {HORIZONS[-1]}; {DEFAULT_HORIZON} by default.",
        attribute="horizon",
        metavar="K",
        check=between(HORIZONS, "steps"),
        effects=(
            Effect(
                lambda options: options.rolled is not None,
                "the build has no rollouts",
                remedy="use --functions rollout",
            ),
        ),
    ),
    Option(
        "rollout",
        ROBOT,
        str | None,
        "What rollouts have beside the forces that are loaded, comma-separated: "
        + "; ".join(f"{name}: {text}" for name, text in ROLLOUT_PARTS.items())
        + ".",
        attribute="rollout",
        metavar="PARTS",
        parse=lambda text: parse_names("rollout", text),
        check=distinct_names(tuple(ROLLOUT_PARTS), "part"),
        effects=(PARTS, ROLLOUTS),
    ),
    Option(
        "hold",
        ROBOT,
        int,
        f"The steps for which a sample of rollouts is held, a power of two up to {HOLDS[-1]}.",
        HOLDS[0],
        attribute="hold",
        metavar="N",
        check=between(HOLDS, listed=True),
        effects=(
            Effect(
                lambda options: SAMPLES in options.rollout,
                "the build draws no samples",
                remedy="use --functions rollout --rollout samples",
            ),
        ),
    ),
    Option(
        "cost-rows",
        ROBOT,
        int,
        f"The residuals C d - y in the costs of rollouts, up to {COST_ROWS[-1]}.",
        COST_ROWS[0],
        attribute="cost_rows",
        metavar="N",
        check=between(COST_ROWS, "rows"),
        effects=(
            Effect(
                lambda options: COST in options.rollout,
                "the build computes no costs",
                remedy="use --functions rollout --rollout cost",
            ),
        ),
    ),
    Option(
        "knots",
        ROBOT,
        int | None,
        f"The steps of the horizon of solve, {KNOTS[0]} to {KNOTS[-1]}; {DEFAULT_KNOTS} by default.",
        attribute="knots",
        metavar="N",
        check=between(KNOTS, "steps"),
        effects=(
            Effect(
                lambda options: options.solves or options.horizon is None,
                "the build has no solver",
                remedy="use --horizon",
            ),
            SOLVER,
        ),
    ),
    Option(
        "alphas",
        ROBOT,
        int,
        f"The step lengths 1, 1/2, 1/4, ... of its line search, {ALPHAS[0]} to {ALPHAS[-1]}.",
        DEFAULT_ALPHAS,
        attribute="alphas",
        metavar="N",
        check=between(ALPHAS, "step lengths"),
        effects=(SOLVER,),
    ),
    Option(
        "iterations",
        ROBOT,
        int,
        f"The most iterations of a solution on an accelerator, {ITERATIONS[0]} to {ITERATIONS[-1]}.",
        DEFAULT_ITERATIONS,
        attribute="iterations",
        metavar="N",
        check=between(ITERATIONS, "iterations"),
        effects=(
            SOLVER,
            not_of_software("software takes the number of iterations with each problem", "--iterations"),
        ),
    ),
    Option(
        "problems",
        ROBOT,
        int,
        "The problems that take turns in the solver of an accelerator, "
        f"{PROBLEMS[0]} to {PROBLEMS[-1]}: a solution of all takes less time than one after the other.",
        1,
        attribute="problems",
        metavar="N",
        check=between(PROBLEMS, "problems"),
        effects=(
            SOLVER,
            not_of_software("software takes any number of problems in a call", "--problems"),
        ),
    ),
    Option(
        "blocks",
        ROBOT,
        int,
        "The blocks of knots that an accelerator's solver sweeps back at the same time, "
        f"{BLOCKS[0]} to {BLOCKS[-1]}: more need fewer cycles for an iteration, and more iterations.",
        1,
        attribute="blocks",
        metavar="N",
        check=between(BLOCKS, "blocks"),
        effects=(
            SOLVER,
            not_of_software("software sweeps back through all knots", "--blocks"),
            Effect(
                lambda options: options.problems == 1,
                "several problems take turns in the sweep",
                "none",
                "leave --blocks or --problems out",
            ),
        ),
    ),
    Option(
        "damping",
        ROBOT,
        list[str] | None,
        "Viscous friction of joints (Nm s/rad or N s/m), comma-separated, or 'urdf' for <dynamics damping>; "
        "may be repeated. Several degrees of freedom: JOINT=D:D:D.",
        attribute="mounting.drives.friction",
        metavar="JOINT=D",
        effects=(of_drives("fext"),),
    ),
    Option(
        "armature",
        ROBOT,
        list[str] | None,
        "Inertia of rotors, seen at their joints (kg m^2 or kg), comma-separated; may be repeated.",
        attribute="mounting.drives.armature",
        metavar="JOINT=J",
        effects=(of_drives(PARAMETERS),),
    ),
    Option(
        "parameters",
        ROBOT,
        list[str] | None,
        "Links whose mass, centre of mass and inertia are given at run time: none, payload (the link at the "
        "end), inertias (all), or comma-separated names; may be repeated.",
        attribute="mounting.parameters",
        metavar="LINKS",
        parse=lambda texts: parse_links("parameters", texts or (), (NO_LINKS, PAYLOAD, INERTIAS)),
        effects=(takes(PARAMETERS, DEPENDS),),
    ),
    Option("strict", ROBOT, bool, "Treat warnings about the URDF file as errors.", False, "mounting.strict"),
    Option(
        "target",
        ROBOT,
        str,
        f"The device: {', '.join(TARGETS)}; c or cuda for software.",
        "xcvu9p",
        "target",
    ),
    _hardware(
        "board",
        str | None,
        f"The board, which sets --target, --clock and --tdata where they are not given: {', '.join(BOARDS)}.",
    ),
    _hardware(
        "ii",
        str | None,
        "Cycles between tasks; auto: the fewest that the link allows. By default 1, or with --fit the fewest "
        "that fit.",
        metavar="N|auto",
    ),
    _hardware(
        "sweep-ii",
        int | None,
        "Cycles between knots in the sweep of solve; more take less hardware.",
        SOLVER,
        attribute="sweep_ii",
        metavar="N",
        check=between(SWEEP_IIS, "cycles"),
    ),
    _hardware(
        "bandwidth",
        float | None,
        "Bandwidth of the link each way; by default that of the streams.",
        metavar="GB/s",
    ),
    _hardware(
        "fit",
        str | None,
        "The largest estimated share of the target; chooses the II, and moves products into look-up tables "
        "where that keeps it short.",
        attribute="fit",
        metavar="PERCENT",
        parse=parse_share,
        check=_check_fit,
    ),
    _hardware(
        "clock",
        str | None,
        "The clock; the target's own by default. best-latency: the one at which the slowest function answers "
        "soonest; best-rate: the fastest one.",
        attribute="clock_mhz",
        metavar="MHZ|best-latency|best-rate",
        check=positive(CLOCK_MHZ, "MHz is not a clock"),
    ),
    _hardware(
        "stream-clock",
        float | None,
        "The clock of the streams and registers of accelerator_axi; that of the cores by default.",
        attribute="stream_clock_mhz",
        metavar="MHZ",
        check=positive(CLOCK_MHZ, "MHz is not a clock"),
    ),
    _hardware(
        "max-error",
        str | None,
        "The largest relative error, of all functions or of some, such as dstep=0.1,kin=1e-4; 1e-3 by "
        "default if no width is given.",
        attribute="max_error",
        metavar="E",
        parse=parse_budgets,
        check=_check_budgets,
    ),
    _hardware(
        "prove",
        bool,
        "Prove bounds of the errors over the whole domain; formats are chosen so that they meet the budget.",
        Effect(
            lambda options: options.number == NUMBERS[0],
            "numbers on the streams are rounded to float32",
            remedy="leave --number out",
        ),
        Effect(
            lambda options: {options.core, *(each.core for each in options.cores)} <= {None, DEFAULT_CORE},
            "only a pipeline rounds as the proofs assume",
            remedy="use --core pipeline",
        ),
        default=False,
        attribute="prove",
    ),
    _hardware(
        "confidence",
        float | None,
        "The confidence, such as 0.999, of a bound on the share of tasks with errors beyond the limit; the "
        "compiled model takes as many further tasks as it needs.",
        attribute="confidence",
        metavar="P",
        check=check_confidence,
    ),
    _hardware(
        "width",
        int | None,
        "Bits of the multipliers' operands, 8 to 32.",
        attribute="width",
        check=between(WIDTHS, "bits", "is not supported"),
    ),
    _hardware(
        "tdata",
        int,
        "Bits of the streams: 32, 64, 128, 256, 512 or 1024.",
        default=512,
        attribute="data_width",
        check=between(DATA_WIDTHS, wrong="bits are not supported", listed=True),
    ),
    _hardware(
        "streams",
        int,
        "Pairs of streams, 1 to 8, of requests and of responses each. Responses return to the pair from "
        "which their requests came.",
        default=1,
        attribute="streams",
        check=between(STREAMS, "pairs of streams"),
    ),
    _hardware(
        "number",
        str,
        "The number format on the streams: fixed or float32.",
        default=NUMBERS[0],
        attribute="number",
        check=among(NUMBERS),
    ),
    _hardware(
        "priority",
        str | None,
        "Comma-separated functions whose responses are sent first, in this order. By default short responses "
        "are sent before long ones, and all functions share the output.",
        Effect(
            lambda options: len(options.functions) > 1 or options.horizon is not None,
            "the build has one function",
            "several functions",
            "leave --priority out",
        ),
        attribute="priority",
        metavar="FUNCTIONS",
        parse=lambda text: parse_names("priority", text),
        check=distinct_names(what="function"),
    ),
    _hardware(
        "share-limbs",
        str,
        "Whether symmetric limbs share the hardware of one: auto, on or off.",
        default=SHARING[0],
        attribute="share_limbs",
        check=among(SHARING),
    ),
    _hardware(
        "share-stages",
        str,
        "Whether the stages of Runge-Kutta share the hardware of one: auto, loop (a task passes it four "
        "times) or off.",
        Effect(
            lambda options: options.share_stages != LOOP or has_any(options, STAGED),
            "no function of the build works in stages",
            "auto or off",
            f"add {' or '.join(STAGED)} to --functions",
        ),
        default=SHARING[0],
        attribute="share_stages",
        check=_check_stage_sharing,
    ),
    _hardware(
        "core",
        str | None,
        "The core: pipeline; array (smaller from an II of about 16 on, with more latency); auto, which "
        "selects the smaller of these; or chain (fd of robots of many links, on the hardware of one). "
        "generate uses pipeline by default; info --explore compares pipeline and array.",
        Effect(
            lambda options: not options.cores or any(request.core is None for request in options.cores),
            "each core in --cores has a kind of its own",
            remedy="leave --core out",
        ),
        attribute="core",
        check=among((*CORES, CHEAPER_CORE)),
    ),
    _hardware(
        "cores",
        str | None,
        "Several cores: the functions, the cycles between tasks, and optionally the kind and the number of "
        "copies of each, such as 'id,fd,m,minv,did:1 dfd,difd:4*2'.",
        attribute="cores",
        metavar="CORES",
        parse=parse_cores,
    ),
    _hardware(
        "copies",
        int,
        "The number of equal cores, whose tasks take turns.",
        default=1,
        attribute="copies",
        metavar="N",
        check=between(range(1, MOST_COPIES + 1)),
    ),
    _hardware(
        "mix",
        str | None,
        "Tasks that are wanted in proportion, such as 'id=10,dfd=1': chooses the cores and intervals with "
        "the highest rate within --fit.",
        attribute="mix",
        metavar="TASKS",
        parse=parse_mix,
    ),
    _hardware(
        "parameters-by",
        str,
        "What brings the parameters of --parameters: each task, or load, packets of their own.",
        Effect(
            lambda options: options.mounting.parameters != NO_LINKS,
            "all parameters are constant",
            "some that are given at run time",
            "use --parameters LINK",
        ),
        default=BY_TASK,
        attribute="parameters_by",
        check=among(WAYS_OF_PARAMETERS),
    ),
    _hardware(
        "parameter-sets",
        int,
        "Sets of loaded parameters, 1 to 8. Each load and each task names one in its header.",
        Effect(
            lambda options: options.parameters_by != BY_TASK,
            "each task brings its own parameters",
            remedy="use --parameters-by load",
        ),
        default=1,
        attribute="parameter_sets",
        check=between(PARAMETER_SETS, "sets"),
    ),
    _hardware(
        "name",
        str,
        "The top module of the Verilog, with whose name those of all its modules begin: several designs can "
        "stand in one.",
        default=DEFAULT_NAME,
        attribute="name",
        check=_check_top_name,
    ),
    Option("domain", HARDWARE, Path | None, "A TOML file with bounds of the inputs.", metavar="FILE"),
    _hardware("seed", int, "Seed of all random numbers.", default=0, attribute="seed", check=_check_seed),
)
"""All options, in the order of the help."""

BY_NAME = {option.name: option for option in OPTIONS}
"""All options by their names on the command line."""
