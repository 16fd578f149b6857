"""The page of a report: what each of its sections shows, and the template that shows it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from rbdhw.control.table import STUDY_COLUMNS, study_rows
from rbdhw.design.manifest import Manifest, PartEntry
from rbdhw.design.software_manifest import SoftwareManifest
from rbdhw.errors import printable
from rbdhw.page.figures import (
    Roof,
    error_limits,
    group_of,
    grouped,
    histogram,
    roofline,
    slots,
    study_figure,
    timeline,
)
from rbdhw.page.packets import packets_of
from rbdhw.page.register_rows import register_rows
from rbdhw.page.robot_tree import tree_rows
from rbdhw.page.svg import SERIES
from rbdhw.protocol import COMMANDS, FUNCTIONS
from rbdhw.robot.model import Robot
from rbdhw.target import Target, target

Study = Mapping[str, Any] | None
"""The results of a study of number formats, if there are any."""

NONE = "–"
"""What stands in a cell without a number."""

RESOURCES = {
    "luts": "LUTs",
    "flip_flops": "flip-flops",
    "dsp_blocks": "DSP blocks",
    "block_rams": "block RAMs",
}
"""The resources of a device, as fields of the estimate and of the target, and in words."""

TITLES = {
    "functions": "Functions",
    "robot": "Robot",
    "blocks": "Blocks",
    "timeline": "Pipeline timeline",
    "slots": "Multipliers by slot",
    "resources": "Resources",
    "errors": "Errors",
    "link": "Link",
    "packets": "Packets",
    "registers": "Registers",
    "study": "Number formats in a closed loop",
    "choices": "Choices",
    "remarks": "Remarks",
    "commands": "Commands and versions",
}
"""The sections of a page in order, by their anchors."""


def design_page(manifest: Manifest, robot: Robot, folder: str, digest: str, study: Study = None) -> str:
    """Return the page on an accelerator in a folder, whose manifest has this digest, with a study if any."""
    packets = list(packets_of(manifest))
    arrays = dict.fromkeys(section.array for packet in packets for section in packet.sections)
    shown: dict[str, Any] = {
        "timelines": _timelines(manifest),
        "slot_figures": _slot_figures(manifest),
        "resources": _resources(manifest, target(manifest.target)),
        "histograms": _histograms(manifest),
        "strata": _strata(manifest),
        "roofs": _roofs(manifest),
        "packets": packets,
        "registers": register_rows(manifest),
        "colours": {array: k % len(SERIES) for k, array in enumerate(arrays)},
        "streams": stream_bandwidth(manifest),
        "names": {words: name for name, words in RESOURCES.items()},
        "steps": [_steps(manifest, k) for k in range(len(manifest.parts))],
    }
    shown["link_figure"] = roofline(
        shown["roofs"], stream_bandwidth(manifest), manifest.interval.link.bandwidth
    )
    needed = {"timeline": "timelines", "slots": "slot_figures", "registers": "registers"}
    absent = {section: not shown[name] for section, name in needed.items()}
    return _fill(manifest, robot, folder, digest, study, absent, hardware=True, **shown)


def software_page(
    manifest: SoftwareManifest, robot: Robot, folder: str, digest: str, study: Study = None
) -> str:
    """Return the page on software for processors in a folder, whose manifest has this digest."""
    of_hardware = ("blocks", "timeline", "slots", "resources", "errors", "link", "packets", "registers")
    return _fill(manifest, robot, folder, digest, study, dict.fromkeys(of_hardware, True), hardware=False)


def _fill(
    manifest: Manifest | SoftwareManifest,
    robot: Robot,
    folder: str,
    digest: str,
    study: Study,
    absent: Mapping[str, bool],
    **shown: Any,
) -> str:
    """Return the template with the sections that are not absent."""
    left_out = {**absent, "remarks": not manifest.remarks, "study": study is None}
    return (
        _environment()
        .from_string(_template())
        .render(
            manifest=manifest,
            tree=tree_rows(robot, manifest.coordinates),
            titles={name: title for name, title in TITLES.items() if not left_out.get(name)},
            functions={**FUNCTIONS, **COMMANDS},
            folder=shlex.quote(folder),
            folder_text=json.dumps(folder),
            digest=digest,
            study=study,
            study_columns=STUDY_COLUMNS,
            study_rows=study_rows(study) if study else (),
            study_figure=study and study_figure(study),
            **shown,
        )
    )


@cache
def _template() -> str:
    return files("rbdhw.page").joinpath("page.html.template").read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    """Return the environment of the template, in which every text is made printable, and then escaped."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_printable
    )
    environment.filters.update(
        count=lambda number: f"{number:,}",
        short=short,
        error=_error,
        percent=lambda share: f"{share:.1%}",
        times=lambda numbers: " × ".join(map(str, numbers)),
        lines=_lines,
        powers=lambda unit: unit.replace("^2", "²").replace("^3", "³"),
        json=json.dumps,
    )
    return environment


def _printable(value: Any) -> Any:
    return printable(value, "\n") if isinstance(value, str) and not isinstance(value, Markup) else value


def short(number: float | None) -> str:
    """Return a number with up to four digits as text, and a dash for one that is unknown."""
    return NONE if number is None else f"{number:.4g}".replace("e-0", "e-")


def _error(error: float | None) -> Markup:
    """Return an error in two digits, in one piece."""
    text = NONE if error is None else f"{error:.1e}".replace("e-0", "e-") if error else "0"
    return Markup('<span class="figure">{}</span>').format(text)


def _lines(texts: Iterable[str]) -> Markup:
    """Return texts below each other."""
    return Markup("<br>").join(_printable(text) for text in texts)


def _timelines(manifest: Manifest) -> list[tuple[str, int, Markup]]:
    """Return for each function the cycles between its tasks in the core, and the figure of its steps."""
    every = [steps for part in manifest.parts for steps in part.timeline.values()]
    names = dict.fromkeys(name for steps in every for name in grouped(steps))
    colours = {name: k for k, name in enumerate(names)}
    return [
        (function, part.ii, timeline(function, steps, part.ii, colours))
        for part in manifest.parts
        for function, steps in part.timeline.items()
        if steps
    ]


def _slot_figures(manifest: Manifest) -> list[tuple[PartEntry, Markup | None]]:
    """Return each core with multipliers, with a figure if an interval has several slots."""
    return [
        (part, slots(k, used, part.multipliers) if len(used := part.multipliers_by_slot) > 1 else None)
        for k, part in enumerate(manifest.parts)
        if part.multipliers_by_slot
    ]


def _resources(manifest: Manifest, device: Target) -> list[tuple[str, int, int, float]]:
    """Return the name, the estimate, the number on the device and the share of each resource."""
    estimate = manifest.estimate
    return [
        (words, getattr(estimate, name), getattr(device, name), estimate.shares[name])
        for name, words in RESOURCES.items()
        if name in estimate.shares
    ]


def _results(manifest: Manifest) -> dict[str, Any]:
    """Return the errors of each result by its whole name."""
    return {
        f"{f}.{name}": errors for f, entry in manifest.error.items() for name, errors in entry.results.items()
    }


def _histograms(manifest: Manifest) -> list[tuple[str, Any, Markup | None]]:
    """Return for each result its name, its errors, and the figure if there is one."""
    results = _results(manifest)
    limits = error_limits(list(results.values()))
    return [(name, errors, histogram(name, errors, limits)) for name, errors in results.items()]


def _strata(manifest: Manifest) -> list[str]:
    """Return the kinds of tasks of all results."""
    return list(dict.fromkeys(kind for errors in _results(manifest).values() for kind in errors.strata))


def _roofs(manifest: Manifest) -> list[Roof]:
    """Return what each function asks of the link."""
    return [
        Roof(name, max(traffic.bytes_in, traffic.bytes_out), manifest.functions[name].tasks_per_second)
        for name, traffic in manifest.interval.link.functions.items()
    ]


def stream_bandwidth(manifest: Manifest) -> float:
    """Return the GB/s that all pairs of streams carry each way."""
    return manifest.stream.pairs * manifest.stream.tdata_width / 8.0 * manifest.clock_mhz / 1e3


def _steps(manifest: Manifest, part: int) -> list[tuple[str, int, int]]:
    """Return the steps of a core as they follow each other: the name, its submodules, their multipliers."""
    first: dict[str, int] = {}
    for steps in manifest.parts[part].timeline.values():
        for name, spans in grouped(steps).items():
            first[name] = min(first.get(name, spans[0][0]), *(start for start, _ in spans))
    modules: dict[str, list[int]] = {}
    for region in manifest.regions:
        if region.part == part:
            modules.setdefault(group_of(region.name)[0], []).append(region.multipliers)
    ordered = sorted(modules, key=lambda name: (first.get(name, 0), name))
    return [(name, len(modules[name]), sum(modules[name])) for name in ordered]
