"""The candidates of a study: builds of a width or a budget, uniform formats, and double precision."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.control.uniform import evaluate_uniform
from rbdhw.cores.checks import check_build
from rbdhw.design.folder import draft_design
from rbdhw.domain.overrides import Overrides
from rbdhw.domain.robot_overrides import override_robot
from rbdhw.engines.engine import Answer, Engine, Source
from rbdhw.engines.model import ModelEngine
from rbdhw.engines.software import CEngine
from rbdhw.errors import InputError
from rbdhw.explore.search import software_domain
from rbdhw.fixed.format import Format
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.header import Status
from rbdhw.model.traffic import traffic
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import build_software, plan_build
from rbdhw.protocol import ROLLOUT
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Robot
from rbdhw.robot.parameters import load_inertias
from rbdhw.software.folder import Software

EXACT = "float64"
"""The name of the candidate in double precision."""

MOST_BITS = 32
"""Of a word of a uniform format."""

_FORMAT = re.compile(r"Q(\d+)(?:-(\d+))?\.(\d+)(?:-(\d+))?")

NOWHERE = Path()
"""The folder of an engine whose design is in no folder."""


@dataclass(frozen=True)
class Candidate:
    """A build with its options, or a uniform format; neither is double precision."""

    name: str
    options: BuildOptions | None = None
    word: Format | None = None


def parse_formats(text: str) -> list[str]:
    """Return the uniform formats ``QI.F`` of a grid such as ``Q8-12.10-18``; InputError for other text.

    A format has I bits with the sign before the binary point, and F behind it.
    """
    match = _FORMAT.fullmatch(text)
    low, high, least, most = (int(bits or 0) for bits in match.groups()) if match else (0, 0, 0, 0)
    high, most = max(low, high), max(least, most)
    if not (low >= 1 and high + most <= MOST_BITS):
        expected = f"QI.F with I from 1 on, of at most {MOST_BITS} bits, or ranges of both"
        raise InputError("formats", f"'{text}'", expected)
    return [f"Q{before}.{behind}" for before in range(low, high + 1) for behind in range(least, most + 1)]


def format_of(name: str) -> Format:
    """Return the format of the words of a name of :func:`parse_formats`."""
    before, behind = map(int, name.removeprefix("Q").split("."))
    return Format(before + behind, behind)


class UniformEngine(Engine):
    """All words of one format: no hardware, but what it would compute at best."""

    def __init__(self, source: Source, word: Format) -> None:
        super().__init__("uniform", source)
        self._word, self._graph_robot = word, align_axes(elementary(self.robot))

    def check_optional(self, function: str, arrays: Mapping[str, NDArray[np.float64]]) -> None:
        """Accept all arrays."""

    def compute(self, function: str, tasks: Mapping[str, NDArray[np.float64]], extended: bool) -> Answer:
        results, overflow = evaluate_uniform(
            self.robot, self._graph_robot, function, tasks, Algorithms(), self._word, extended=extended
        )
        return overflow * (1 << Status.OVERFLOW), results


def _software(robot: Robot, options: BuildOptions, functions: tuple[str, ...]) -> Software:
    """Return functions in C, and rollouts if the options have them."""
    rolls = (ROLLOUT,) if options.horizon is not None else ()
    return build_software(robot, replace(options, target="c", functions=(*functions, *rolls)))


def plant_of(robot: Robot, options: BuildOptions) -> Engine:
    """Return an engine of ``step`` in double precision; tasks bring the inertial parameters of all links."""
    loaded = load_inertias(robot, [body.name for body in robot.bodies if body.inertia.mass > 0.0])
    return CEngine(EXACT, Source(NOWHERE, "", _software(loaded, replace(options, horizon=None), ("step",))))


def engine_of(
    candidate: Candidate, robot: Robot, options: BuildOptions, overrides: Overrides
) -> tuple[Engine, dict[str, Any]]:
    """Return an engine of a candidate, and its hardware: estimated resources, and bytes of a task.

    Raises InputError if its options cannot be met.
    """
    if candidate.options is None:
        exact = _software(override_robot(robot, overrides), options, options.functions)
        domain = software_domain(robot, options, overrides)  # as the builds have it: trial steps end there
        source = Source(NOWHERE, "", replace(exact, domain=domain))
        if candidate.word is None:
            return CEngine(EXACT, source), {}
        return UniformEngine(source, candidate.word), {"bits": candidate.word.width}
    check_build(candidate.options)
    plan = plan_build(robot, candidate.options, overrides)
    design = draft_design(plan.accelerator)
    packets = traffic(plan.interface)
    hardware = plan.estimate.json() | {
        "bits": candidate.options.width,
        "bytes": {
            name: packets[name].bytes_in + packets[name].bytes_out for name in candidate.options.functions
        },
    }
    return ModelEngine("model", Source(NOWHERE, "", design)), hardware
