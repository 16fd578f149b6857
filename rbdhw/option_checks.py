"""The checks of a build's options that do not need a robot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from rbdhw.config import (
    CHAIN_CORE,
    CHEAPER_CORE,
    CORES,
    DATA_WIDTHS,
    HORIZONS,
    LEAST_ARRAY_II,
    LOOP,
    LOOP_CORE,
    NUMBERS,
    PARAMETER_SETS,
    SHARING,
    STREAMS,
    WAYS_OF_PARAMETERS,
    WIDTHS,
    BuildOptions,
)
from rbdhw.errors import InputError, told_apart, unknown
from rbdhw.option_effects import check_effects
from rbdhw.protocol import ROLLOUT_PARTS
from rbdhw.runtime.number_bounds import (
    BANDWIDTH,
    CLOCK_MHZ,
    LARGEST_SEED,
    LEAST_ERROR,
    MOST_COPIES,
    MOST_II,
    TASKS_OF_MIX,
)
from rbdhw.verilog_names import check_name


def check_options(options: BuildOptions, known_functions: tuple[str, ...]) -> None:
    """Refuse options that no build can satisfy, and those without effect.

    Raises
    ------
    InputError
        An option cannot be satisfied; the message describes the first one and the expectation.
    """
    check_values(options, known_functions)
    _check_core(options)


def check_values(
    options: BuildOptions, known_functions: tuple[str, ...], given: Collection[str] = ()
) -> None:
    """Refuse options that no build of any core and interval can satisfy, and those without effect.

    Parameters
    ----------
    given
        The names of the options on the command line.

    Raises
    ------
    InputError
        As :func:`check_options`.
    """
    options.mounting.check()
    check_name(options.name)
    known = f"one or more of {', '.join(known_functions)}"
    for function in options.functions:
        if function not in known_functions:
            raise InputError("functions", f"'{function}' is unknown", known)
    if not options.functions:
        raise InputError("functions", "none given", known)
    _check_priority(options)
    if "kin" in options.functions and not options.mounting.frames:
        raise InputError("frames", "none given for kin", "names of links", "use --frames LINK")
    if not 1 <= options.least_ii <= MOST_II:
        raise InputError("ii", f"{options.ii} is not possible", f"1 to {MOST_II} cycles between tasks")
    bandwidth = options.pacing.bandwidth if options.pacing else None
    if bandwidth is not None and not (bandwidth > 0.0 and BANDWIDTH.holds(bandwidth)):
        raise InputError("bandwidth", f"{bandwidth:g} GB/s is not a bandwidth", BANDWIDTH.positive)
    if options.fit is not None and not 0.0 < options.fit <= 1.0:
        asked, most = told_apart(options.fit, 1.0)
        raise InputError("fit", f"{asked} is not a share of a device", f"more than 0 and up to {most}")
    _check_sharing(options)
    _check_cores(options)
    _check_horizon(options)
    _check_parameters(options)
    if options.width is not None and options.width not in WIDTHS:
        raise InputError("width", f"{options.width} is not supported", f"{WIDTHS[0]} to {WIDTHS[-1]} bits")
    if options.max_error is not None and not LEAST_ERROR <= options.max_error < 1.0:
        asked, least = told_apart(options.max_error, LEAST_ERROR)
        raise InputError("max-error", f"{asked} is not a budget", f"{least} or more, and less than 1")
    if options.clock_mhz is not None and not (options.clock_mhz > 0.0 and CLOCK_MHZ.holds(options.clock_mhz)):
        raise InputError("clock", f"{options.clock_mhz:g} MHz is not a clock", CLOCK_MHZ.positive)
    if not 0 <= options.seed <= LARGEST_SEED:
        raise InputError("seed", f"{options.seed} is not a seed", f"0 to {LARGEST_SEED}")
    if options.data_width not in DATA_WIDTHS:
        expected = f"one of {', '.join(str(width) for width in DATA_WIDTHS)}"
        raise InputError("tdata", f"{options.data_width} bits are not supported", expected)
    if options.number not in NUMBERS:
        raise unknown("number", options.number, NUMBERS)
    _check_streams(options)
    check_effects(options, given)


def _check_streams(options: BuildOptions) -> None:
    if options.streams not in STREAMS:
        expected = f"{STREAMS[0]} to {STREAMS[-1]} pairs of streams"
        raise InputError("streams", f"{options.streams} is not possible", expected)
    if options.streams > 1 and options.horizon is not None:
        reason = "rollouts return to the only pair of streams"
        remedy = "leave --streams out, or use step instead of rollout"
        raise InputError("streams", reason, remedy=remedy)


def _check_priority(options: BuildOptions) -> None:
    for place, function in enumerate(options.priority):
        if function not in options.functions:
            expected = f"some of the functions of the build: {', '.join(options.functions)}"
            raise InputError("priority", f"'{function}' is not built", expected)
        if function in options.priority[:place]:
            raise InputError("priority", f"'{function}' appears twice", "each function once")


def _check_cores(options: BuildOptions) -> None:
    if not 1 <= options.copies <= MOST_COPIES:
        raise InputError("copies", f"{options.copies} is not possible", f"1 to {MOST_COPIES}")
    _check_mix(options)
    if not options.cores:
        return
    for name, given in (("ii", options.ii or options.pacing), ("copies", options.copies > 1)):
        if given:
            raise InputError(name, "has no effect with several cores", remedy=f"give {name} in --cores")
    for request in options.cores:
        if not request.functions:
            raise InputError("cores", "a core without functions", "one or more functions for each core")
        if not 1 <= request.ii <= MOST_II:
            raise InputError("cores", f"'{request.ii}' cycles", f"1 to {MOST_II} cycles between tasks")
        if not 1 <= request.copies <= MOST_COPIES:
            raise InputError("cores", f"{request.copies} copies", f"1 to {MOST_COPIES}")
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
    for own in options.each_core():
        if own.asked_core == CHAIN_CORE:
            remedy = "use --core chain, with --copies for several"
            raise InputError("cores", "a chain core stands alone", "pipeline, array or auto", remedy)
        _check_core(own)


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


def _check_parameters(options: BuildOptions) -> None:
    if options.parameters_by not in WAYS_OF_PARAMETERS:
        raise unknown("parameters-by", options.parameters_by, WAYS_OF_PARAMETERS)
    if options.parameter_sets not in PARAMETER_SETS:
        expected = f"{PARAMETER_SETS[0]} to {PARAMETER_SETS[-1]} sets"
        raise InputError("parameter-sets", f"{options.parameter_sets} is not possible", expected)


def _check_horizon(options: BuildOptions) -> None:
    for place, part in enumerate(options.rollout):
        if part not in ROLLOUT_PARTS:
            raise InputError("rollout", f"'{part}' is unknown", f"some of {', '.join(ROLLOUT_PARTS)}")
        if part in options.rollout[:place]:
            raise InputError("rollout", f"'{part}' appears twice", "each part once")
    if options.horizon is None:
        return
    if options.horizon not in HORIZONS:
        expected = f"{HORIZONS[0]} to {HORIZONS[-1]} steps"
        raise InputError("horizon", f"{options.horizon} is not possible", expected)
    homes = [request.copies for request in options.cores if "step" in request.functions] or [options.copies]
    if max(homes) > 1:
        reason = "rollouts return to one core, and step has copies"
        raise InputError("cores", reason, remedy="give step a core without copies")
    if options.mix:
        raise InputError("mix", "does not choose cores for rollouts", remedy="use --cores")


def _check_sharing(options: BuildOptions) -> None:
    for name, share in (("share-limbs", options.share_limbs), ("share-stages", options.share_stages)):
        known = (*SHARING, LOOP) if name == "share-stages" else SHARING
        if share not in known:
            raise unknown(name, share, known)
    if options.share_stages == LOOP and options.mix:
        reason = "a mix chooses cores, in which stages may not loop"
        raise InputError("share-stages", reason, "auto, on or off with --mix")
    if options.share_limbs == options.share_stages == "on":
        reason = "limbs and stages cannot both share hardware"
        raise InputError("share-stages", reason, "auto or off with --share-limbs on")


def _check_core(options: BuildOptions) -> None:
    known = (*CORES, CHAIN_CORE, CHEAPER_CORE)
    if options.asked_core not in known:
        raise unknown("core", options.asked_core, known)
    least = options.least_ii if options.pacing is None else LEAST_ARRAY_II
    refusal = options.refusal(options.asked_core, least)
    if refusal is None and options.share_stages == LOOP and not options.cores:
        refusal = options.refusal(LOOP_CORE, least)
    if refusal is not None:
        raise refusal
