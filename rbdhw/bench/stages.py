"""The stages of Runge-Kutta, each with its own hardware or all in turn in that of one; and limbs in turn.

A design that sends each stage's result back to its entry is not built. Its units are counted: those of one
stage, scheduled at a fourth of the interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rbdhw.bench.builds import robot_of
from rbdhw.bench.integrators import BITS
from rbdhw.bench.rows import Row, Rows
from rbdhw.config import BuildOptions
from rbdhw.cores.pipeline import PipelineCore, core_cost, schedule_pipeline
from rbdhw.estimate.core import counts
from rbdhw.explore.plan import Scheduled
from rbdhw.explore.search import BuildSearch, prepare_build
from rbdhw.fixed.program import Kind, Operation, Program, Word
from rbdhw.protocol import FUNCTIONS
from rbdhw.scalar import STAGE

BUILDS = (("iiwa14", "rk4"), ("iiwa14", "drk4"), ("hyq", "rk4"))
"""The robots and functions of the comparison."""

INTERVALS = (1, 2, 4, 8)


def stage_rows(builds: Sequence[tuple[str, str]] = BUILDS, among: Sequence[int] = INTERVALS) -> Rows:
    """Return units, resources and latency by robot, function and interval: stages in turn, and not.

    At intervals that are a multiple of the number of stages, a row of one stage at that part of it follows.
    """
    rows: Rows = []
    for name, function in builds:
        options = BuildOptions(functions=(function,), width=BITS, data_width=1024, samples=1024)
        search = BuildSearch(prepare_build(robot_of(name), options), options)
        for ii in among:
            found = [
                search.with_options(replace(options, share_stages=share)).schedule("pipeline", ii)
                for share in (("off", "on") if ii > 1 else ("off",))
            ]
            lines = [_row(own, function) for own in found]
            if ii % FUNCTIONS[function].stages == 0:
                lines.append(_returned_row(found[0], function, ii))
            rows += [{"robot": name, "function": function, "ii": ii, **line} for line in lines]
    return rows


def _row(own: Scheduled, function: str) -> Row:
    """Return the hardware of a build and its latency."""
    assert isinstance(own.core, PipelineCore)
    return {
        "in_turn": _in_turn(own),
        "adders": counts(own.program, own.core.schedule).adders,
        "dsp_blocks": own.core.dsp_blocks,
        "luts": own.estimate.luts,
        "flip_flops": own.estimate.flip_flops,
        "latency": own.core.latency[function],
    }


def _in_turn(build: Scheduled) -> str:
    """Return what shares hardware in a build."""
    assert isinstance(build.core, PipelineCore)
    if not build.core.schedule.twins:
        return "nothing"
    return "stages" if build.sharing.stages else "limbs"


def _returned_row(own: Scheduled, function: str, ii: int) -> Row:
    """Return the least that any design takes that sends results of a stage back to its entry.

    It has the units of the last stage at a fraction of the interval, and the edge of the build. What keeps a
    task's state while it returns, and what adds the stages up, are not counted.
    """
    assert isinstance(own.core, PipelineCore)
    stages, device = FUNCTIONS[function].stages, own.core.device
    one = one_stage(own.program, stages)
    options = BuildOptions(functions=(function,), ii=ii // stages, width=BITS)
    cost = core_cost(one, schedule_pipeline(one, device, options), device)
    whole = core_cost(own.program, own.core.schedule, device).estimate
    return {
        "in_turn": "one stage, at least",
        "adders": cost.counts.adders,
        "dsp_blocks": cost.estimate.dsp_blocks,
        "luts": own.estimate.luts - whole.luts + cost.estimate.luts,
        "flip_flops": own.estimate.flip_flops - whole.flip_flops + cost.estimate.flip_flops,
        "latency": None,
    }


def one_stage(program: Program, stage: int) -> Program:
    """Return what a program computes in one stage; it reads all other values as inputs."""
    operations = program.operations
    own = {i for i, o in enumerate(operations) if o.region.step.endswith(f"{STAGE}{stage}")}
    read = {operand.value for i in own for operand in operations[i].operands}
    kept = sorted(own | read)
    place = {value: k for k, value in enumerate(kept)}
    moved = [_moved(operations[i], place) if i in own else _entry(operations[i]) for i in kept]
    words = [Word(f"stage[{i}]", "1", place[i], operations[i].format) for i in sorted(own - read)]
    inputs = [
        Word(f"state[{i}]", "1", place[i], operations[i].format, slot=k)
        for k, i in enumerate(_read_from_outside(operations, read - own))
    ]
    return replace(
        program, operations=tuple(moved), inputs=tuple(inputs), flags=(), outputs={"stage": tuple(words)}
    )


def _moved(operation: Operation, place: dict[int, int]) -> Operation:
    operands = (replace(operand, value=place[operand.value]) for operand in operation.operands)
    return replace(operation, operands=tuple(operands))


def _entry(operation: Operation) -> Operation:
    """Return the operation that reads a value of another stage; constants stay what they are."""
    if operation.kind is Kind.CONSTANT:
        return operation
    return Operation(Kind.INPUT, (), operation.format, operation.region, name="state")


def _read_from_outside(operations: Sequence[Operation], values: Iterable[int]) -> list[int]:
    return sorted(i for i in values if operations[i].kind is not Kind.CONSTANT)


def stage_layout(rows: Rows) -> Rows:
    """Return a line for each build."""
    return [
        {
            "robot": row["robot"],
            "function": row["function"],
            "II": row["ii"],
            "in turn": row["in_turn"],
            "adders": f"{row['adders']:,}",
            "DSP blocks": f"{row['dsp_blocks']:,}",
            "LUTs, by estimate": f"{row['luts']:,}",
            "flip-flops": f"{row['flip_flops']:,}",
            "core latency": "-" if row["latency"] is None else f"{row['latency']} cycles",
        }
        for row in rows
    ]
