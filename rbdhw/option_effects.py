"""Where the options of a build have an effect. An option that would change nothing is refused."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from operator import attrgetter

from rbdhw.config import BY_TASK, LOOP, PROCESSORS, BuildOptions
from rbdhw.errors import InputError
from rbdhw.protocol import PARAMETERS, Function, functions_with
from rbdhw.robot.mounting import NO_LINKS

Condition = Callable[[BuildOptions], bool]

NOTHING: tuple[object, ...] = (None, (), {}, NO_LINKS, 0, 1, "auto")
"""The defaults that ask for nothing: an option that is given with one of them changes nothing anywhere."""


@dataclass(frozen=True)
class Effect:
    """Where an option has an effect, and its refusal elsewhere.

    Parameters
    ----------
    option
        Its name on the command line, without hyphens in front.
    value
        Its value in the options of a build; None where it is only seen on the command line.
    holds
        Whether it has an effect in a build.
    reason, expected, remedy
        The fields of the refusal; ``{target}`` stands for the build's target.
    """

    option: str
    value: Callable[[BuildOptions], object] | None
    holds: Condition
    reason: str
    expected: str = ""
    remedy: str = ""

    def is_asked(self, options: BuildOptions, given: Collection[str]) -> bool:
        """Return whether the option asks for something; ``given`` are those on the command line."""
        if self.value is None:
            return self.option in given
        default = self.value(_DEFAULTS)
        return self.value(options) != default or (self.option in given and default not in NOTHING)

    def refusal(self, options: BuildOptions) -> InputError:
        """Return the refusal of the option in a build in which it has no effect."""
        return InputError(self.option, self.reason.format(target=options.target), self.expected, self.remedy)


def check_effects(options: BuildOptions, given: Collection[str] = ()) -> None:
    """Refuse an option without effect in a build whose functions are known.

    Parameters
    ----------
    given
        The names of the options on the command line.

    Raises
    ------
    InputError
        An option has no effect; the message has the first one and what it needs.
    """
    for effect in EFFECTS:
        if effect.is_asked(options, given) and not effect.holds(options):
            raise effect.refusal(options)


_DEFAULTS = BuildOptions()


def _by_function(option: str, value: str, condition: Callable[[Function], bool], reason: str) -> Effect:
    """Return the effect of an option that some functions depend on."""
    names = functions_with(condition)
    expected = f"one of {', '.join(names)} in --functions"
    return Effect(option, attrgetter(value), lambda options: _has(options, names), reason, expected)


def _has(options: BuildOptions, names: Collection[str]) -> bool:
    return not set(names).isdisjoint(options.functions)


def _takes(array: str) -> Callable[[Function], bool]:
    return lambda function: array in function.inputs


def _is_first_order(function: Function) -> bool:
    """Return whether drives change a result: they are linear, so second derivatives lack them."""
    return function.takes_force or "second" not in function.algorithms


def _of_hardware(option: str, value: str | None) -> Effect:
    expected = "an FPGA as the target, or no hardware options"
    getter = None if value is None else attrgetter(value)
    return Effect(option, getter, _on_device, "has no effect with --target {target}", expected)


def _on_device(options: BuildOptions) -> bool:
    return options.target not in PROCESSORS


_HARDWARE = {
    "ii": "ii",
    "bandwidth": None,
    "fit": "fit",
    "clock": "clock_mhz",
    "max-error": "max_error",
    "width": "width",
    "tdata": "data_width",
    "streams": "streams",
    "number": "number",
    "priority": "priority",
    "share-limbs": "share_limbs",
    "share-stages": "share_stages",
    "core": "core",
    "cores": "cores",
    "copies": "copies",
    "mix": "mix",
    "parameters-by": "parameters_by",
    "parameter-sets": "parameter_sets",
    "name": "name",
    "domain": None,
    "seed": "seed",
}

_STAGED = functions_with(lambda own: own.stages > 1)

EFFECTS: tuple[Effect, ...] = (
    *(_of_hardware(option, value) for option, value in _HARDWARE.items()),
    _by_function("fext", "fext", _takes("fext"), "no function of the build takes external forces"),
    _by_function("gravity", "mounting.gravity", _takes("gravity"), "no function of the build depends on it"),
    Effect(
        "frames",
        attrgetter("mounting.frames"),
        lambda options: "kin" in options.functions,
        "only kin has results of frames",
        "none",
        "use --functions kin",
    ),
    Effect(
        "frame-axes",
        attrgetter("mounting.frame_axes"),
        lambda options: "kin" in options.functions,
        "only kin has results of frames",
        remedy="use --functions kin",
    ),
    _by_function(
        "time-step",
        "mounting.time_step",
        lambda own: own.integrates,
        "no function of the build takes a step in time",
    ),
    Effect(
        "rollout",
        attrgetter("rollout"),
        lambda options: options.horizon is not None,
        "the build has no rollouts",
        remedy="use --functions rollout",
    ),
    Effect(
        "horizon",
        attrgetter("horizon"),
        lambda options: "step" in options.functions,
        "the build has no rollouts",
        remedy="use --functions rollout",
    ),
    Effect(
        "functions",
        attrgetter("horizon"),
        _on_device,
        "rollouts return to a core of an accelerator",
        remedy="call step again and again, or use --target of a device",
    ),
    _by_function(
        "damping",
        "mounting.drives.damping",
        lambda own: "fext" in own.inputs and _is_first_order(own),
        "no function of the build depends on it",
    ),
    _by_function(
        "damping",
        "mounting.drives.from_file",
        lambda own: "fext" in own.inputs and _is_first_order(own),
        "no function of the build depends on it",
    ),
    _by_function(
        "armature",
        "mounting.drives.armature",
        lambda own: PARAMETERS in own.inputs and _is_first_order(own),
        "no function of the build depends on it",
    ),
    _by_function(
        "parameters",
        "mounting.parameters",
        _takes(PARAMETERS),
        "no function of the build depends on it",
    ),
    Effect(
        "parameters-by",
        attrgetter("parameters_by"),
        lambda options: options.mounting.parameters != NO_LINKS,
        "all parameters are constant",
        "some that are given at run time",
        "use --parameters LINK",
    ),
    Effect(
        "parameter-sets",
        attrgetter("parameter_sets"),
        lambda options: options.parameters_by != BY_TASK,
        "each task brings its own parameters",
        remedy="use --parameters-by load",
    ),
    Effect(
        "priority",
        attrgetter("priority"),
        lambda options: len(options.functions) > 1 or options.horizon is not None,
        "the build has one function",
        "several functions",
        "leave --priority out",
    ),
    Effect(
        "share-stages",
        attrgetter("share_stages"),
        lambda options: options.share_stages not in ("on", LOOP) or _has(options, _STAGED),
        "no function of the build works in stages",
        "auto or off",
        f"add {' or '.join(_STAGED)} to --functions",
    ),
    Effect(
        "core",
        attrgetter("core"),
        lambda options: not options.cores or any(own.core is None for own in options.cores),
        "each core in --cores has a kind of its own",
        remedy="leave --core out",
    ),
)
"""The options that have no effect in some builds, with their conditions. The first that fails is refused."""
