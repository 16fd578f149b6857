"""The checks of a build's options that do not need a robot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from rbdhw.errors import InputError
from rbdhw.graph.knots import check_blocks
from rbdhw.options.build import LOOP, PROCESSORS, BuildOptions
from rbdhw.options.table import BY_NAME, OPTIONS
from rbdhw.protocol import ASKED, FUNCTIONS, GAINS, MPPI, SOLVE
from rbdhw.robot.mounting import NO_LINKS, OF_DOMAIN, PER_TASK
from rbdhw.runtime.number_bounds import BANDWIDTH, MOST_COPIES, MOST_II, TASKS_OF_MIX

SOLVED_BASES = ("fixed", "floating")
"""The motions of the root with which optimal control is built."""


def check_options(options: BuildOptions, named: Collection[str] = ()) -> None:
    """Refuse options that no build can satisfy, and those without effect, whatever the kind of core.

    ``named`` has the names in Python of the options that were given by name. Raises InputError if an option
    cannot be satisfied; the message describes the first one and the expectation.
    """
    for option in OPTIONS:
        option.check_value(options)
    _check_functions(options)
    _check_pacing(options)
    _check_sharing(options)
    _check_cores(options)
    _check_rollouts(options)
    _check_solver(options)
    for option in OPTIONS:
        option.check_effects(options, named)


def _check_functions(options: BuildOptions) -> None:
    known = f"one or more of {', '.join(ASKED)}"
    if MPPI in options.functions:
        reason = f"--target {options.target} has no mppi"
        raise InputError("functions", reason, remedy="use --target c, or that of a device")
    for function in options.functions:
        if function not in FUNCTIONS:
            raise InputError("functions", f"'{function}' is unknown", known)
    if not options.functions:
        raise InputError("functions", "none given", known)
    framed = [function for function in options.functions if FUNCTIONS[function].framed]
    if framed and not options.mounting.frames:
        raise InputError("frames", f"none given for {framed[0]}", "names of links", "use --frames LINK")
    touching = [function for function in options.functions if FUNCTIONS[function].touches]
    if touching and not options.mounting.constrained:
        remedy = "use --contacts LINK:point or --loops FILE"
        raise InputError("contacts", f"none given for {touching[0]}", "links", remedy)
    clearing = [function for function in options.functions if FUNCTIONS[function].clears]
    if clearing and not options.mounting.spheres:
        remedy = "use --spheres LINK@X:Y:Z:RADIUS,..."
        raise InputError("spheres", f"none given for {clearing[0]}", "points of links, and radii", remedy)
    budgets = options.max_error if isinstance(options.max_error, Mapping) else {}
    for name, chosen in (("priority", options.priority), ("max-error", budgets)):
        for function in chosen:
            if function not in options.functions:
                expected = f"some of the functions of the build: {', '.join(options.functions)}"
                raise InputError(name, f"'{function}' is not built", expected)


def _check_pacing(options: BuildOptions) -> None:
    if not 1 <= options.least_ii <= MOST_II:
        raise InputError("ii", f"{options.ii} is not possible", f"1 to {MOST_II} cycles between tasks")
    bandwidth = options.pacing.bandwidth if options.pacing else None
    if bandwidth is not None and not (bandwidth > 0.0 and BANDWIDTH.holds(bandwidth)):
        raise InputError("bandwidth", f"{bandwidth:g} GB/s is not a bandwidth", BANDWIDTH.positive)


def _check_cores(options: BuildOptions) -> None:
    _check_mix(options)
    if not options.cores:
        return
    for name, asked in (("ii", options.ii or options.pacing), ("copies", options.copies > 1)):
        if asked:
            raise InputError(name, "has no effect with several cores", remedy=f"give {name} in --cores")
    for request in options.cores:
        if not request.functions:
            raise InputError("cores", "a core without functions", "one or more functions for each core")
        if not 1 <= request.ii <= MOST_II:
            raise InputError("cores", f"'{request.ii}' cycles", f"1 to {MOST_II} cycles between tasks")
        if not 1 <= request.copies <= MOST_COPIES:
            raise InputError("cores", f"{request.copies} copies", f"1 to {MOST_COPIES}")
        if request.core is not None:
            BY_NAME["core"].check("core", request.core)
    placed = Counter(function for request in options.cores for function in request.functions)
    for function in placed:
        if function not in options.functions:
            expected = f"some of the functions of the build: {', '.join(options.functions)}"
            raise InputError("cores", f"'{function}' is not built", expected)
        if placed[function] > 1:
            remedy = "use *2 behind a core for two copies of it"
            raise InputError("cores", f"'{function}' is in {placed[function]} cores", "one", remedy)
    for function in options.functions:
        if function not in placed:
            remedy = "add it to a core, or leave it out of --functions"
            raise InputError("cores", f"'{function}' is in no core", "each function in one", remedy)


def _check_mix(options: BuildOptions) -> None:
    if not options.mix:
        return
    for function, tasks in options.mix.items():
        if function not in options.functions:
            expected = f"some of the functions of the build: {', '.join(options.functions)}"
            raise InputError("mix", f"'{function}' is not built", expected)
        if not (tasks > 0.0 and TASKS_OF_MIX.holds(tasks)):
            raise InputError("mix", f"{tasks:g} tasks of {function}", TASKS_OF_MIX.positive)
    interval = options.ii or (options.pacing is not None and options.pacing.link)
    asked = {"cores": options.cores, "copies": options.copies > 1, "ii": interval, "core": options.core}
    for name in (name for name, value in asked.items() if value):
        raise InputError("mix", f"chooses the cores and excludes --{name}", remedy=f"leave --{name} out")


def _check_rollouts(options: BuildOptions) -> None:
    if options.horizon is None:
        return
    if options.means and GAINS in options.rollout:
        reason = "the samples of mppi have no feedback"
        raise InputError("rollout", f"{reason}, and {GAINS} are asked for", f"without {GAINS}")
    if options.target in PROCESSORS:
        reason = f"--target {options.target} has no rollouts"
        raise InputError("functions", reason, remedy="use --target c, or that of a device")
    if options.hold > options.horizon:
        raise InputError("hold", f"{options.hold} steps", f"at most the horizon of {options.horizon}")
    if options.streams > 1:
        reason = "rollouts return to the only pair of streams"
        remedy = f"leave --streams out, or use {options.rolled} instead of rollout"
        raise InputError("streams", reason, remedy=remedy)
    homes = [request.copies for request in options.cores if options.rolled in request.functions] or [
        options.copies
    ]
    if max(homes) > 1:
        reason = f"rollouts return to one core, and {options.rolled} has copies"
        raise InputError("cores", reason, remedy=f"give {options.rolled} a core without copies")
    if options.mix:
        raise InputError("mix", "does not choose cores for rollouts", remedy="use --cores")


def _check_solver(options: BuildOptions) -> None:
    if not (options.solves or options.means):
        return
    if options.target in PROCESSORS and options.target != "c":
        reason = f"--target {options.target} has no solver"
        raise InputError("functions", reason, remedy="use --target c, or that of a device")
    mounting = options.mounting
    if options.target not in PROCESSORS:
        if mounting.constrained:
            reason = "accelerators solve without contacts"
            raise InputError("contacts", reason, "none", "use --target c")
        if options.solves:
            _check_solver_core(options)
    for name, varies, expected in (
        ("base", mounting.base not in SOLVED_BASES, " or ".join(SOLVED_BASES)),
        ("gravity", mounting.gravity == PER_TASK, "x,y,z in m/s^2"),
        ("contact-gains", mounting.contact_gains == PER_TASK, OF_DOMAIN),
        ("fext", options.fext != NO_LINKS, NO_LINKS),
        ("parameters", mounting.parameters != NO_LINKS, NO_LINKS),
    ):
        if varies:
            control = SOLVE if options.solves else MPPI
            raise InputError(name, f"{control} has the same robot in all steps", expected)


def _check_solver_core(options: BuildOptions) -> None:
    """Refuse cores around which an accelerator cannot solve."""
    if options.streams > 1:
        raise InputError("streams", "a solver answers on the only pair of streams", "1")
    if options.mix:
        raise InputError("mix", "does not choose cores for a solver", remedy="use --cores")
    assert options.knots is not None
    check_blocks(options.knots, options.blocks)
    homes = [request for request in options.cores if {"step", "dstep"}.intersection(request.functions)]
    if max([options.copies, *(request.copies for request in homes)]) > 1:
        remedy = "give step and dstep cores without copies"
        raise InputError("cores", "a solver takes steps, and derivatives, in one core", remedy=remedy)


def _check_sharing(options: BuildOptions) -> None:
    if options.share_stages == LOOP and options.mix:
        reason = "a mix chooses cores, in which stages may not loop"
        raise InputError("share-stages", reason, "auto or off with --mix")
