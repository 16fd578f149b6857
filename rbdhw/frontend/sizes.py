"""Which functions of a robot can be had, and about how many operations they take, before a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from rbdhw.errors import InputError
from rbdhw.frontend.algorithms import without_long_inverse
from rbdhw.frontend.alternatives import freedoms_to, is_too_long, pairs_on
from rbdhw.frontend.solvability import check_solvable, check_weighed
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.elementary import elementary
from rbdhw.robot.model import Robot

MOST_COUNTED = 300_000
"""The most operations of a function that are counted: tracing as many takes some ten seconds."""

MOST_BUILT = 1_500_000
"""The most operations of a function that is built: of more a search takes hours, and so does a compiler."""

_ID, _M, _MINV, _DID = (200, 0, 0), (0, 50, 0), (0, 50, 6), (0, 220, 0)
_FD, _DFD = (200, 50, 3), (0, 270, 26)
_SECOND, _PROPAGATED = (0, 0, 320), (700, 0, 0)

WEIGHTS: Mapping[str, tuple[int, int, int]] = {
    "id": _ID,
    "fd": _FD,
    "m": _M,
    "minv": _MINV,
    "did": _DID,
    "dfd": _DFD,
    "difd": _DFD,
    "step": _FD,
    "rk4": (800, 200, 12),
    "dstep": _DFD,
    "drk4": (0, 2700, 260),
    "kin": (0, 220, 0),
    "sid": _SECOND,
    "sfd": (0, 0, 1300),
    "hid": (0, 320, 0),
    "hfd": (0, 370, 60),
    "gravity": (60, 0, 0),
    "bias": _ID,
    "energy": (260, 0, 0),
    "com": (60, 60, 0),
    "centroidal": (100, 120, 0),
    "dcentroidal": (400, 300, 0),
    "dfext": _MINV,
    "clearance": (60, 60, 0),
    "regressor": (200, 130, 0),
    **dict.fromkeys(("cfd", "impulse", "cstep", "cinertia"), _FD),
    **dict.fromkeys(("dcfd", "dcstep"), _DFD),
    "pose": (60, 0, 0),
    "position": (40, 60, 0),
}
"""Operations of each function for each freedom, each freedom on the path to it, and each pair of these.
Fitted to chains of 8 to 32 joints without zeros among their constants; robots with right angles take
fewer."""


@dataclass
class Countable:
    """The functions of a robot whose operations can be counted, and why others cannot."""

    functions: list[str] = field(default_factory=list)
    """Those that can be had and counted promptly."""
    refused: dict[str, InputError] = field(default_factory=dict)
    """For each function that cannot be had, the refusal."""
    large: dict[str, int] = field(default_factory=dict)
    """For each function that is too large to be counted, about how many operations it takes."""


def countable(
    robot: Robot, functions: Sequence[str], forced: Mapping[str, str] = MappingProxyType({})
) -> Countable:
    """Return which of some functions can be had and counted; ``forced`` are the algorithms asked for."""
    result = Countable()
    plain = elementary(robot)
    inverting = [function for function in functions if FUNCTIONS[function].inverts]
    singular = _refusal(check_solvable, robot, inverting)
    for function in functions:
        refusal = _refusal(without_long_inverse, plain, [function], forced)
        refusal = singular if singular and function in inverting else refusal
        refusal = refusal or _refusal(check_weighed, robot, [function])
        if refusal is not None:
            result.refused[function] = refusal
            continue
        size = estimated_operations(robot, function)
        if size > MOST_COUNTED:
            result.large[function] = size
        else:
            result.functions.append(function)
    return result


def check_sizes(robot: Robot, functions: Sequence[str]) -> None:
    """Refuse functions that take more than :data:`MOST_BUILT` operations; InputError names the first."""
    for function in functions:
        size = estimated_operations(robot, function)
        if size > MOST_BUILT:
            reason = f"{function} of {robot.name} takes about {size:,} operations"
            expected = f"at most {MOST_BUILT:,}: fewer joints or a smaller function"
            raise InputError("functions", reason, expected)


def _refusal(check: Callable[..., object], *arguments: object) -> InputError | None:
    """Return what a check of these arguments raises, if it does."""
    try:
        check(*arguments)
    except InputError as refusal:
        return refusal
    return None


def estimated_operations(robot: Robot, function: str) -> int:
    """Return about how many operations a function takes: up to three times as many as there are."""
    depths = freedoms_to(robot)
    measures = sum(body.joint.kind.nv for body in robot.bodies), sum(depths), pairs_on(depths)
    weights = _PROPAGATED if is_too_long(robot) and function in ("fd", "step") else WEIGHTS[function]
    return sum(weight * measure for weight, measure in zip(weights, measures, strict=True))
