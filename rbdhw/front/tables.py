"""Printed tables of a robot, a design, a simulation and a synthesis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rbdhw.control.table import STUDY_COLUMNS, study_rows
from rbdhw.design.entries import Operations, RobotEntry, SharingEntry
from rbdhw.design.error_entries import BackwardEntry, ErrorEntry, ProofEntry
from rbdhw.design.manifest import Manifest
from rbdhw.design.software_manifest import SoftwareManifest
from rbdhw.errors import one_line
from rbdhw.estimate.model import NAMES
from rbdhw.front.printing import print_table, print_text
from rbdhw.model.traffic import rate_text

LONGEST_NAME = 16
"""The most characters of a name beside the errors of five strata."""

INDENT = "  "

OPERATIONS, LATENCY, ERROR = "operations\nmul / add", "latency\ncycles / µs", "error\nmedian / max"
"""Two-line headings of cells with two figures."""


def freedoms_text(robot: RobotEntry) -> str:
    """Return the number of joints, a floating base, and the degrees of freedom if their number differs."""
    floats = robot.base in ("floating", "any")
    joints = len(robot.joints) - floats
    text = f"{joints} joint" + "s" * (joints != 1) + " and a floating base" * floats
    return text if robot.dof == joints else f"{text}, {robot.dof} degrees of freedom"


def print_manifest(manifest: Manifest, output: Path) -> None:
    """Print a short table of a design: the operations, latency, throughput and error of its functions."""
    robot = manifest.robot
    rows = [
        [
            name,
            _operations_cell(function.built),
            _latency_cell(function.latency_cycles, manifest.clock_mhz),
            str(function.core_latency_cycles),
            rate_text(function.tasks_per_second),
            _error_cell(manifest.error[name].median, manifest.error[name].max),
        ]
        for name, function in manifest.functions.items()
    ]
    columns = [OPERATIONS, LATENCY, "core\ncycles", "tasks/s", ERROR]
    print_table(
        f"{one_line(robot.name)} ({freedoms_text(robot)}) for {manifest.target} -> {output}\n"
        f"{_hardware_text(manifest)}\n"
        "latency: first beat in to last beat out, with nothing else in flight\n"
        "tasks/s: the most that the II and the beats of the function's packets allow",
        ["", *columns],
        rows,
    )
    print_accuracy(manifest.error)
    print_confidence(
        {name: each.confidence.model_dump() for name, each in manifest.error.items() if each.confidence}
    )
    for part in manifest.parts:
        print_text(f"widths: {part.formats.why}", INDENT)
    print_interval(manifest)
    solver = manifest.stream.solver
    if solver is not None and solver.problems > 1:
        print_text(f"solve: {solver.problems} problems together", INDENT)
    if solver is not None and solver.blocks > 1:
        print_text(f"solve: {solver.blocks} blocks of knots", INDENT)
    if manifest.cores > 1:
        print_parts(manifest)
        return
    limbs = manifest.parts[0].limbs
    if limbs is not None:
        print_sharing(limbs)


def print_software(manifest: SoftwareManifest, output: Path) -> None:
    """Print a short table of software: the operations of its functions."""
    rows = [
        [
            name,
            _operations_cell(entry),
            ", ".join(array.name for array in entry.inputs if not array.optional),
            ", ".join(array.name for array in entry.outputs if not array.optional),
        ]
        for name, entry in manifest.functions.items()
    ]
    print_table(
        f"{one_line(manifest.robot.name)} ({freedoms_text(manifest.robot)}) "
        f"in {manifest.target.upper()} -> {output}",
        ["", OPERATIONS, "takes", "gives"],
        rows,
    )
    if manifest.solver is not None:
        solver = manifest.solver
        print_text(f"solve: {solver.knots} steps, {solver.alphas} step lengths", "  ")


def print_accuracy(errors: Mapping[str, ErrorEntry]) -> None:
    """Print the errors of each result by stratum, its error floor and its largest step."""
    results = {
        f"{name}.{result}": figures
        for name, entry in errors.items()
        for result, figures in entry.results.items()
    }
    strata = {
        name: {kind: (part.median, part.max) for kind, part in figures.strata.items()}
        for name, figures in results.items()
    }
    _print_strata("errors by kind of tasks, median / largest", strata)
    _print_proofs({name: figures.proof for name, figures in results.items() if figures.proof})
    _print_backward({name: entry.backward for name, entry in errors.items() if entry.backward})
    rows = [
        [name, ", ".join(figures.units), f"{figures.step:.1e}", f"{figures.floor:.2g}"]
        for name, figures in results.items()
    ]
    title = (
        "errors are relative to the result's norm, or to the floor where that is larger\n"
        "floor: a quarter of the median norm of the result in ordinary motions"
    )
    print_table(title, ["", "unit", "largest\nstep", "error\nfloor"], rows)


def _print_proofs(proofs: Mapping[str, ProofEntry]) -> None:
    """Print proven bounds of errors, if there are any."""
    if proofs:
        rows = [[name, f"{proof.absolute:.1e}", f"{proof.relative:.1e}"] for name, proof in proofs.items()]
        title = "proven: no unflagged task of the domain errs by more (of the floor: as a share of it)"
        print_table(title, ["", "absolute", "of the floor"], rows)


def _print_backward(proofs: Mapping[str, BackwardEntry]) -> None:
    """Print proven backward errors, if there are any."""
    if proofs:
        rows = [
            [name, f"{max(map(max, proof.mass_matrix)):.1e}", f"{max(proof.forces):.1e}"]
            for name, proof in proofs.items()
        ]
        title = "proven: each answer is exact for a mass matrix and forces that differ by at most"
        print_table(title, ["", "M", "tau"], rows)


def print_confidence(functions: Mapping[str, Mapping[str, Any]]) -> None:
    """Print how many tasks in 10,000 at most err more than their limit, by function and stratum."""
    if not functions:
        return
    level = next(iter(functions.values()))["level"]
    kinds = list(dict.fromkeys(kind for entry in functions.values() for kind in entry["strata"]))
    rows = [
        [name, *(_share_cell(entry["strata"][kind]) if kind in entry["strata"] else "-" for kind in kinds)]
        for name, entry in functions.items()
    ]
    title = (
        f"with {100 * level:.7g} % confidence at most so many tasks in 10,000 err more than the limit\n"
        "in brackets the largest error among the tasks drawn, as a share of the limit"
    )
    print_table(title, ["", *kinds], rows)


def _share_cell(entry: Mapping[str, Any]) -> str:
    if entry["largest"] is None:
        return "-"
    tasks = 10_000 * entry["share"]
    return f"{tasks:.{0 if tasks >= 10.0 else 1}f} ({entry['largest']:.0%})"


def _print_strata(title: str, strata: Mapping[str, Mapping[str, tuple[float | None, float | None]]]) -> None:
    """Print a table of errors, results by strata; its numbers are short, so that five strata fit a line."""
    kinds = list(dict.fromkeys(kind for errors in strata.values() for kind in errors))
    rows = [
        [_short_name(name), *(_short_errors(*errors.get(kind, (None, None))) for kind in kinds)]
        for name, errors in strata.items()
    ]
    print_table(title, ["", *kinds], rows)


def _short_errors(median: float | None, largest: float | None) -> str:
    if median is None or largest is None:
        return "-"
    return f"{median:.0e}/{largest:.0e}".replace("e-0", "e-").replace("e+00", "")


def _short_name(result: str) -> str:
    """Return the name of a result, on two lines if it would not leave room for five strata."""
    return result if len(result) <= LONGEST_NAME else "\n.".join(result.rsplit(".", 1))


def _hardware_text(manifest: Manifest) -> str:
    width = " x ".join(str(bits) for bits in manifest.width)
    pace = f"{manifest.cores} cores" if manifest.cores > 1 else f"II {manifest.ii}"
    return f"{manifest.clock_mhz:g} MHz, {pace}, {manifest.multipliers:,} multipliers, width {width} bits"


def _operations_cell(counts: Operations) -> str:
    products = counts.multiplications
    return f"{products.variable + products.constant} / {counts.additions}"


def _latency_cell(cycles: int | None, clock_mhz: float) -> str:
    return "-" if cycles is None else f"{cycles} / {cycles / clock_mhz:.3f}"


def print_interval(manifest: Manifest) -> None:
    """Print the initiation interval, the estimated resources and the choice of the core, with the reasons."""
    chosen, estimate = manifest.interval, manifest.estimate
    resources = [
        f"{getattr(estimate, name):,} {NAMES[name]} ({share:.1%})" for name, share in estimate.shares.items()
    ]
    if manifest.cores == 1:
        print_text(f"II {chosen.ii}: {chosen.why}", INDENT)
    print_text(f"by estimate {', '.join(resources)} of {manifest.target}", INDENT)
    part = manifest.parts[0]
    if manifest.cores == 1 and part.core != part.cores.asked:
        print_text(f"core {part.core}: {part.cores.why}", INDENT)


def print_parts(manifest: Manifest) -> None:
    """Print the cores of an accelerator with several."""
    rows = [
        [
            ", ".join(part.functions),
            part.core,
            str(part.copies),
            str(part.ii),
            " x ".join(map(str, part.width)),
            f"{part.multipliers:,}",
            f"{part.dsp_blocks:,}",
        ]
        for part in manifest.parts
    ]
    of_each = ["multipliers\nof each", "DSP blocks\nof each"]
    print_table("cores", ["core", "kind", "copies", "II", "width\nbits", *of_each], rows)


def print_sharing(sharing: SharingEntry) -> None:
    """Print the groups of limbs, and the cost with and without shared hardware."""
    costs = sharing.costs
    if not costs:
        return
    chosen = "on" if sharing.shared else "off"
    columns = [f"share-limbs={way}" + "\ntaken" * (way == chosen) for way in costs]
    rows = [
        [name.replace("_", " "), *(f"{cost[name]:,}" for cost in costs.values())]
        for name in next(iter(costs.values()))
    ]
    print_table(f"limbs alike: {limbs_text(sharing.groups)}", ["", *columns], rows)


def limbs_text(groups: list[list[str]]) -> str:
    """Return groups of limbs in one line; a limb is named by its first link."""
    return "; ".join(", ".join(group) for group in groups)


def _error_cell(median: float | None, largest: float | None) -> str:
    return "-" if median is None or largest is None else f"{median:.1e} / {largest:.1e}"


def print_report(manifest: Manifest, report: dict[str, Any]) -> None:
    """Print a short table of a simulation."""
    rows = [
        [
            name,
            str(function["tasks"]),
            _latency_cell(function["latency_cycles"], manifest.clock_mhz),
            rate_text(manifest.functions[name].tasks_per_second),
            f"{function['mismatches']} / {function['flagged']}",
            _error_cell(function["error_median"], function["error_max"]),
        ]
        for name, function in report["functions"].items()
    ]
    title = [
        f"{one_line(manifest.robot.name)}: RTL in Verilator against the bit-exact model and the golden model",
        _hardware_text(manifest),
        f"{report['tasks']:,} tasks in {report['cycles']:,} cycles: {report['mismatches']:,} mismatches, "
        f"{report['flagged']:,} flagged",
        _traffic_text(report["traffic"]),
    ]
    if stray := report["stray"]:
        title.append(f"{stray} of no function: unknown answers, or breaches of the stream's protocol")
    if "rollouts" in report:
        rollouts = report["rollouts"]
        title.append(
            f"{rollouts['tasks']:,} rollouts of {rollouts['steps']:,} steps: "
            f"{rollouts['mismatches']:,} mismatches, {rollouts['flagged']:,} flagged"
        )
    if "solutions" in report:
        solutions = report["solutions"]
        title.append(
            f"{solutions['tasks']:,} solutions: {solutions['mismatches']:,} mismatches, "
            f"{solutions['unsolved']:,} that ended early"
        )
    if "means" in report:
        means = report["means"]
        title.append(
            f"{means['tasks']:,} means of samples: {means['mismatches']:,} mismatches, "
            f"{means['counted']:,} of {means['samples']:,} samples count"
        )
    columns = ["", "tasks", LATENCY, "tasks/s", "mismatches\n/ flagged", ERROR]
    print_table("\n".join(title), columns, rows)
    strata = {
        f"{name}.{result}": {
            kind: (part["error_median"], part["error_max"]) for kind, part in figures["strata"].items()
        }
        for name, function in report["functions"].items()
        for result, figures in function["results"].items()
    }
    _print_strata("errors by kind of tasks, median / largest", strata)
    print_confidence({name: function["confidence"] for name, function in report["functions"].items()})


def _traffic_text(traffic: dict[str, Any]) -> str:
    """Return a line about the traffic under which latencies were measured."""
    mixed = ", functions mixed" if traffic["mixed_functions"] else ""
    return (
        f"latency: least measured under {traffic['bubbles']:.0%} bubbles and "
        f"{traffic['back_pressure']:.0%} back-pressure{mixed}"
    )


MOST_CAUSES = 10
"""The most causes of flagged tasks that are printed; `--json` lists all."""

MOST_REGIONS = 10
"""The most regions of a timing check that are printed."""


def print_causes(causes: Sequence[Mapping[str, Any]]) -> None:
    """Print the causes of flagged tasks, the most frequent first."""
    for cause in causes[:MOST_CAUSES]:
        print_text(f"  {one_line(cause['text'])}", "    ")
    if len(causes) > MOST_CAUSES:
        print_text(f"  and {len(causes) - MOST_CAUSES} more causes, which --json lists")


def print_power(report: dict[str, Any]) -> None:
    """Print how often the signals of each region change, the most active first, and the estimate."""
    regions = sorted(report["regions"].items(), key=lambda pair: -pair[1]["bits"] * pair[1]["toggles"])
    rows = [[name, f"{entry['bits']:,}", f"{entry['toggles']:.3f}"] for name, entry in regions]
    print_table(
        f"{report['function']}: {report['tasks']} tasks in {report['cycles']:,} cycles; a signal of the core "
        f"changes {report['toggles']:.3f} times a cycle",
        ["region", "bits", "toggles\na cycle"],
        rows,
    )
    if report["energy"] is None:
        print_text("power: no estimate for this device; a vendor's tool reads the toggles of --saif", INDENT)
        return
    watts, nanojoules, product = (report["energy"][name] for name in ("watts", "nanojoules", "delay_product"))
    print_text(
        f"power, a coarse estimate: {watts:.2g} W, {nanojoules:.3g} nJ a task, {product:.3g} nJ us", INDENT
    )


def print_study(study: dict[str, Any]) -> None:
    """Print a row for each candidate of a study, and the narrowest that is as good as double precision."""
    unit = study["unit"] and f" in {study['unit']}"
    title = f"{study['robot']}, {study['task']}: errors{unit}"
    print_table(title, STUDY_COLUMNS, study_rows(study))
    for row in study["rows"]:
        if "refused" in row:
            print_text(f"{row['candidate']}: {row['refused']}", INDENT)
    chosen = study["narrowest"] or "no candidate"
    print_text(f"{chosen} is the narrowest that is as good as double precision", INDENT)


def print_synthesis(directory: Path, report: dict[str, Any]) -> None:
    """Print a short table of a synthesis, and the slowest paths of its netlist."""
    timing = report["timing"]
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    tries = ", ".join(f"seed {one['seed']}: {one['clock_mhz_achieved']:g} MHz" for one in report["tries"])
    link = report["link"] and _link_text(report["link"])
    rows = [
        [name.replace("_", " "), "-" if value in (None, "") else str(value)]
        for name, value in (report | {"versions": versions, "tries": tries, "link": link}).items()
        if name != "timing"
    ]
    print_table(str(directory), ["", ""], rows)
    if timing is not None:
        print_timing(timing)


def print_timing(timing: Mapping[str, Any]) -> None:
    """Print the clock that a timing check finds, and the slowest path into each region."""
    print_text(
        f"timing of the netlist ({timing['device']}, speed grade {timing['speed_grade']}): "
        f"{timing['clock_mhz']:.1f} MHz, with a margin of {timing['margin']:.0%} "
        f"{timing['safe_mhz']:.1f} MHz; the slowest paths by region:"
    )
    for path in timing["regions"][:MOST_REGIONS]:
        print_text(
            f"  {path['ns']:.2f} ns, of which {path['cells_ns']:.2f} ns in cells, into {path['region']}: "
            f"{path['start']} to {path['end']}",
            "    ",
        )
    if len(timing["regions"]) > MOST_REGIONS:
        print_text(f"  and {len(timing['regions']) - MOST_REGIONS} more regions, which --json lists")


def _link_text(link: dict[str, Any]) -> str:
    """Return the tasks a second that a link carries."""
    rates = ", ".join(f"{name} {rate:,}" for name, rate in link["tasks_per_second"].items())
    return f"{link['title']}: {rates} tasks/s ({link['source']})"
