"""Counts of the generated hardware: operations, cycles and resources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchmarks.builds import ALL, graph_of, plan_of, robot_of
from benchmarks.rows import Row, Rows, by_function, robot_label
from rbdhw.cores.pipeline.cells import counts
from rbdhw.cores.pipeline.core import PipelineCore
from rbdhw.design.entries import Operations
from rbdhw.emit.manifest import function_counts
from rbdhw.emit.operation_counts import program_counts
from rbdhw.explore.algorithm_search import search_build
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.functions import unmerged
from rbdhw.options.build import BuildOptions
from rbdhw.passes.factor import factor
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes

ROBOTS = (
    ("iiwa14", "fixed"),
    ("hyq", "fixed"),
    ("atlas", "fixed"),
    ("hyq", "floating"),
    ("iiwa14", "given"),
    ("tiago", "fixed"),
    ("hand22", "fixed"),
)
"""Robots with a fixed, floating, planar or moving base, and with many branches."""

BESIDE_PAPERS = ("iiwa14", "hyq", "atlas")
"""Robots whose operations by the published algorithms, on a fixed base, are shown, too."""

TABLED = (1.0, 0.3, 0.25, 0.2)
"""The shares of the device for which products move to look-up tables; with the first none does."""

PAPERS = Algorithms(derivatives="columns", inverse="articulated", gradient="repeated")
"""The algorithms of the published accelerators."""


def operations(robots: Iterable[tuple[str, str]] = ROBOTS) -> Rows:
    """Return the operations of every function, in the program of all functions and in graphs.

    Programs are 18 bits wide. The graphs are that of the function alone and, for :data:`BESIDE_PAPERS`,
    that of the published accelerators' algorithms.
    """
    rows = []
    for name, base in robots:
        source = robot_of(name, base)
        plain = align_axes(elementary(source))
        published = name in BESIDE_PAPERS and PAPERS.possible_for(source)
        program = plan_of(name, base=base).program
        for function in ALL:
            built = program_counts(program, function)
            alone = function_counts(graph_of(name, (function,), base), function)
            rows.append(
                {
                    "robot": name,
                    "base": base,
                    "degrees of freedom": source.nv,
                    "function": function,
                    "multiplications": products(built),
                    "additions": built.additions,
                    "reciprocals": built.reciprocals,
                    "multiplications of the function alone": products(alone),
                    "multiplications by columns and articulated bodies": (
                        products(function_counts(factor(unmerged(plain, (function,), (), PAPERS)), function))
                        if published
                        else None
                    ),
                }
            )
    return rows


def operations_layout(rows: Rows) -> Rows:
    """Return lines of built multiplications / those of the graph alone, and of published algorithms.

    The second column has the degrees of freedom.
    """
    published = [row for row in rows if row["multiplications by columns and articulated bodies"] is not None]
    freedoms = {robot_label(row): row["degrees of freedom"] for row in rows}
    shown = by_function(rows, (robot_label, _both_counts)) + by_function(
        published,
        (
            lambda row: f"{robot_label(row)}, published algorithms",
            lambda row: f"{row['multiplications by columns and articulated bodies']:,}",
        ),
    )
    return [{"": line[""]} | {"nv": freedoms[line[""].partition(", pub")[0]]} | line for line in shown]


def limbs(bases: Iterable[str] = ("fixed", "floating")) -> Rows:
    """Return the resources of HyQ with and without shared limb hardware: all functions, 18x18 bits."""
    rows = []
    for base in bases:
        for ii, share in ((4, "off"), (4, "on")):
            plan = plan_of("hyq", ii=ii, base=base, share=share)
            assert isinstance(plan.core, PipelineCore)
            taken = vars(counts(plan.program, plan.core.schedule))
            named = {name.replace("_", " "): count for name, count in taken.items()}
            rows.append(
                {"base": base, "II": ii, "limbs": "in turn" if share == "on" else "each its own"} | named
            )
    return rows


def tabled(shares: Iterable[float] = TABLED) -> Rows:
    """Return builds of the iiwa14's functions at an interval of 1 within shares of the VU9P, 18x18 bits."""
    options = BuildOptions(ALL, width=18, ii=1)
    search = search_build(robot_of("iiwa14"), options)
    rows = []
    for share in shares:
        plan = search.with_options(replace(options, fit=share)).plan(search.interval())
        assert isinstance(plan.core, PipelineCore)
        taken = plan.estimate
        rows.append(
            {
                "--fit": f"{share:.0%}",
                "DSP blocks": f"{taken.dsp_blocks:,} ({taken.dsp_blocks / plan.core.device.dsp_blocks:.1%})",
                "look-up tables": f"{taken.luts:,} ({taken.luts / plan.core.device.luts:.1%})",
                "flip-flops": f"{taken.flip_flops:,}",
                "products without blocks": len(plan.core.shift_add_products()),
            }
            | plan.core.latency
        )
    return rows


def _both_counts(row: Row) -> str:
    """Return the multiplications in the program of all functions / those of the function's graph alone."""
    return f"{row['multiplications']:,} / {row['multiplications of the function alone']:,}"


def products(counts: Operations) -> int:
    """Return all multiplications of a function's counts."""
    return counts.multiplications.variable + counts.multiplications.constant
