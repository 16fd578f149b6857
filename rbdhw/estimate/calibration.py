"""Calibrate estimates with Yosys' results: weights for the parts of a design, and the remaining errors.

``calibration.json`` stores designs with the cells computed from their structure and Yosys' counts. Weights of
the parts are fitted to relative errors and kept near 1, so that few designs suffice. ``make
calibrate`` measures the designs and fits the weights again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from rbdhw.estimate.fabric import Cells
from rbdhw.estimate.resources import RESOURCES, Resources

TABLE = Path(__file__).with_name("calibration.json")
"""The file with the results, in the repository and in a wheel."""

PARTS = ("arithmetic", "selection", "waiting", "units", "edge", "buffers")
"""Operators, multiplexers by slot, delay lines, units for sine and reciprocal, packets, queues of results."""

WEIGHED = ("luts", "flip_flops")
"""The resources that are estimated with weights; blocks are counted."""

COUNTED = ("dsp_blocks", "block_rams")

STIFFNESS = 0.003
"""The weight of a fitted weight's squared distance from 1, relative to the mean squared relative error."""


class Sample(BaseModel):
    """A design, the cells of each part computed from its structure, and Yosys' counts.

    ``parts`` are look-up tables, flip-flops and block RAMs by :data:`PARTS`; ``dsp_blocks`` is the number in
    the manifest. ``verilog`` is a digest of the synthesised files and ``yosys`` the version used; a design
    with the same values need not be synthesised again.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    robot: str
    functions: tuple[str, ...]
    ii: int
    width: int
    target: str
    tdata: int
    number: str
    clock_mhz: float | None
    core: str = "pipeline"
    base: str = "fixed"
    parts: dict[str, tuple[float, float, float]]
    dsp_blocks: int
    verilog: str
    yosys: str
    measured: Resources

    def entry(self) -> dict[str, Any]:
        """Return the entry for the table, without default values."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def cells(self) -> dict[str, Cells]:
        return {part: Cells(*self.parts[part]) for part in PARTS}


class Calibration(BaseModel):
    """The table and the results fitted to it, by target and core: weights by resource and part, and errors.

    ``yosys`` names the versions that synthesised the designs; there are several while the designs are being
    measured again.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    yosys: str
    designs: tuple[Sample, ...]
    weights: dict[str, dict[str, dict[str, dict[str, float]]]]
    errors: dict[str, dict[str, dict[str, dict[str, float]]]]

    def text(self) -> str:
        """Return the text of the file, with one line for each design."""
        designs = ",\n".join("    " + json.dumps(design.entry()) for design in self.designs)
        rest = json.dumps(self.model_dump(mode="json", exclude={"designs"}), indent=2)
        return rest.removesuffix("\n}") + f',\n  "designs": [\n{designs}\n  ]\n}}\n'


def weigh(
    cells: Mapping[str, Cells], dsp_blocks: int, weights: Mapping[str, Mapping[str, float]]
) -> Resources:
    """Return the estimate of a design from its parts; ``weights`` are those of its target and core."""
    luts, flip_flops = (
        round(sum(weights[resource][part] * getattr(cells[part], resource) for part in cells))
        for resource in WEIGHED
    )
    rams = sum(part.block_rams for part in cells.values())
    return Resources(luts, flip_flops, dsp_blocks, int(np.ceil(rams)))


def fit_weights(designs: Sequence[Sample]) -> dict[str, dict[str, float]]:
    """Fit the weights of a target's designs with one core, by resource and part."""
    return {resource: _weights(designs, resource) for resource in WEIGHED}


def _weights(designs: Sequence[Sample], resource: str) -> dict[str, float]:
    """Return non-negative weights, kept near 1, with the least mean squared relative error."""
    number, parts = len(designs), len(PARTS)
    said = np.array([[getattr(design.cells()[part], resource) for part in PARTS] for design in designs])
    counted = np.array([getattr(design.measured, resource) for design in designs], float)
    shares = said.reshape(number, parts) / counted[:, None]
    stiffness = np.sqrt(STIFFNESS * max(number, 1))
    left = np.vstack([shares, stiffness * np.eye(parts)])
    right = np.concatenate([np.ones(number), np.full(parts, stiffness)])
    free = np.ones(len(PARTS), bool)
    weights = np.zeros(len(PARTS))
    while True:
        weights[free] = np.linalg.lstsq(left[:, free], right, rcond=None)[0]
        if (weights >= 0.0).all():
            return dict(zip(PARTS, (round(float(weight), 3) for weight in weights), strict=True))
        free &= weights > 0.0
        weights[~free] = 0.0


def leave_out_errors(designs: Sequence[Sample]) -> dict[str, dict[str, float]]:
    """Return the errors of a target's estimates with weights fitted without designs of the same robot.

    They are the errors to expect for a robot that is not in the table: for look-up tables and flip-flops
    relative to Yosys' counts, for blocks as numbers of blocks. The median and the largest error are given.
    """
    errors: dict[str, list[float]] = {resource: [] for resource in RESOURCES}
    for robot in dict.fromkeys(design.robot for design in designs):
        weights = fit_weights([design for design in designs if design.robot != robot])
        for design in (design for design in designs if design.robot == robot):
            estimate = weigh(design.cells(), design.dsp_blocks, weights)
            for resource in RESOURCES:
                counted = getattr(design.measured, resource)
                difference = abs(getattr(estimate, resource) - counted)
                errors[resource].append(difference / counted if resource in WEIGHED else difference)
    return {
        resource: {"median": round(median(values), 3), "largest": round(max(values), 3)}
        for resource, values in errors.items()
    }


def fit_calibration(designs: Sequence[Sample]) -> Calibration:
    """Return the table of these designs with fitted weights and errors."""
    by_target: dict[str, dict[str, list[Sample]]] = {}
    for design in sorted(designs, key=lambda design: design.target):
        by_target.setdefault(design.target, {}).setdefault(design.core, []).append(design)
    return Calibration(
        yosys=" and ".join(sorted({design.yosys for design in designs})),
        designs=tuple(designs),
        weights={
            target: {core: fit_weights(of) for core, of in cores.items()}
            for target, cores in by_target.items()
        },
        errors={
            target: {core: leave_out_errors(of) for core, of in cores.items()}
            for target, cores in by_target.items()
        },
    )


@cache
def calibration() -> Calibration:
    return Calibration.model_validate_json(TABLE.read_bytes())
