"""Where options of a build have an effect."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from rbdhw.options.build import PROCESSORS, BuildOptions
from rbdhw.protocol import FUNCTIONS, Function, functions_with

Condition = Callable[[BuildOptions], bool]

DEPENDS = "no function of the build depends on it"


@dataclass(frozen=True)
class Effect:
    """Where an option has an effect, and the fields of its refusal elsewhere."""

    holds: Condition
    reason: str
    """Of the refusal elsewhere; ``{target}`` stands for the build's target."""
    expected: str = ""
    remedy: str = ""


def of_functions(condition: Callable[[Function], bool], reason: str) -> Effect:
    """Return the effect of an option on which some functions depend."""
    names = functions_with(condition)
    expected = f"one of {', '.join(names)} in --functions"
    return Effect(lambda options: has_any(options, names), reason, expected)


def has_any(options: BuildOptions, names: Collection[str]) -> bool:
    """Return whether a build has one of some functions."""
    return not set(names).isdisjoint(options.functions)


def takes(array: str, reason: str) -> Effect:
    """Return the effect of an option on which the functions depend that take an array."""
    return of_functions(lambda entry: array in entry.inputs, reason)


def of_drives(array: str) -> Effect:
    """Return the effect of drives, which are linear: second derivatives lack them."""

    def depends(function: Function) -> bool:
        return array in function.inputs and (function.takes_force or "second" not in function.algorithms)

    return of_functions(depends, DEPENDS)


STAGED = functions_with(lambda function: function.stages > 1)

ON_DEVICE = Effect(
    lambda options: options.target not in PROCESSORS,
    "has no effect with --target {target}",
    "an FPGA as the target, or no hardware options",
)

ROLLOUTS = Effect(
    lambda options: options.horizon is not None,
    "the build has no rollouts",
    remedy="use --functions rollout",
)


def not_of_software(reason: str, option: str) -> Effect:
    """Return the effect of an option that generated C does not have."""
    return Effect(lambda options: options.target != "c", reason, "none", f"leave {option} out")


PARTS = not_of_software("software has all parts", "--rollout")

FRAMES = Effect(
    lambda options: (
        any(FUNCTIONS[function].framed for function in options.functions)
        or options.knots is not None
        or options.tracks
    ),
    "no function of the build has results of frames",
    remedy="use --functions kin",
)

VECTORS = Effect(
    lambda options: not {"kin", "dfext"}.isdisjoint(options.functions),
    "only kin and dfext have vectors of frames",
    remedy="use --functions kin",
)

CONTACTS = of_functions(lambda entry: entry.touches, "no function of the build has contacts")

LOOPS = replace(
    CONTACTS, holds=lambda options: bool(options.mounting.embedded_loops) or CONTACTS.holds(options)
)

SPHERES = of_functions(lambda entry: entry.clears, "no function of the build has spheres")

SOLVER = Effect(
    lambda options: options.solves,
    "the build has no solver",
    remedy="use --functions solve",
)
