"""Fused programs, their jobs and their array schedules."""

import numpy as np

from rbdhw.cores.array.annealing import anneal
from rbdhw.cores.array.build import timing
from rbdhw.cores.array.jobs import jobs
from rbdhw.cores.array.model import ArrayResource, ArraySchedule, Constant, Job, Term
from rbdhw.cores.array.placement import place_jobs
from rbdhw.cores.array.verify import verify
from rbdhw.fixed.fusion import fuse
from rbdhw.fixed.lower import InputRange, lower
from rbdhw.fixed.program import Program
from rbdhw.fixed.widths import plain_widths
from rbdhw.graph.interpret import node_values
from rbdhw.graph.trace import Recorder
from tests.support.mixed import mixed_program

MOST_TERMS = 4

LIMITS = [(22, 21), (14, 33), (13, 37), (11, 43), (9, 55)]
"""Jobs of a chain and cycles between tasks for which the first word reaches the age limit of the memories."""


def mixed(width: int = 18) -> Program:
    """Return the synthetic accelerator with all its sums fused."""
    return fuse(mixed_program(width), MOST_TERMS)


def crowded(angles: int, words: int) -> Program:
    """Return a sum of the sines of many angles, each times a word, plus the squares of all words: 18 bits."""
    recorder = Recorder()
    turns = [recorder.input(f"q[{k}]") for k in range(angles)]
    others = [recorder.input(f"v[{k}]") for k in range(words)]
    total = others[0]
    for k, turn in enumerate(turns):
        total = total + recorder.cos_sin(turn, 0.0)[1] * others[k]
    for other in others:
        total = total + other * other
    recorder.output("id.tau[0]", total)
    graph = recorder.builder.finish(recorder.outputs)
    ranges = {f"q[{k}]": InputRange(-0.5, 0.5, "turn", wraps=True) for k in range(angles)}
    ranges |= {f"v[{k}]": InputRange(-1.0, 1.0, "m") for k in range(words)}
    drawn = np.random.default_rng(1)
    values = node_values(graph, {name: drawn.uniform(-1, 1, 50) for name in graph.inputs})
    sizes = [float(np.abs(value).max()) for value in values]
    return fuse(lower(graph, sizes, ranges, plain_widths(graph, 18)), MOST_TERMS)


def chained(between: int, ends: int = 1) -> list[Job]:
    """Return a chain of dependent jobs, with last sums that also take the first word."""
    chain = [Job((0,), ArrayResource.SOURCE)]
    for value in range(1, between + 1):
        chain.append(Job((value,), ArrayResource.ACCUMULATOR, (Term((value - 1, Constant(3))),)))
    last = Term((0, between)), Term((between, between))
    return chain + [Job((between + 1 + end,), ArrayResource.ACCUMULATOR, last) for end in range(ends)]


def oldest(array: ArraySchedule) -> int:
    """Return the most cycles from the write of a word to a read of it."""
    reads = ((port, cycle, factor) for port in array.ports() for cycle, factor in array.reads(port))
    return max(
        cycle - array.written[port, factor].cycle
        for port, cycle, factor in reads
        if not isinstance(factor, Constant)
    )


def shared(words: int) -> Program:
    """Return products that are results of one function and factors of products of another."""
    recorder = Recorder()
    given = [recorder.input(f"v[{k}]") for k in range(words)]
    products = [given[k - 1] * given[k] + given[k - 3] * given[k - 2] for k in range(words)]
    further = [products[k - 1] * products[k] + products[k - 2] * given[k] for k in range(words)]
    for k in range(words):
        recorder.output(f"id.tau[{k}]", products[k])
        recorder.output(f"fd.a[{k}]", further[k - 1] * further[k] + given[k] * further[k - 2])
    graph = recorder.builder.finish(recorder.outputs)
    ranges = {f"v[{k}]": InputRange(-1.0, 1.0, "m") for k in range(words)}
    sizes = [4.0] * len(graph.nodes)
    return fuse(lower(graph, sizes, ranges, plain_widths(graph, 18)), MOST_TERMS)


def placed_of(program: Program, ii: int, registers: int = 2) -> ArraySchedule:
    """Return the array schedule of a fused program after placement."""
    work, outputs = jobs(program), outputs_of(program)
    return place_jobs(work, outputs, ii, 50.0, timing(program, registers), registers, program.port_widths)


def outputs_of(program: Program) -> dict[str, tuple[int, ...]]:
    """Return the values that leave an array."""
    return {function: tuple(word.value for word in words) for function, words in program.outputs.items()}


def array_of(program: Program, ii: int, registers: int = 2) -> ArraySchedule:
    """Return the verified array schedule of a fused program after annealing."""
    array = anneal(placed_of(program, ii, registers), outputs_of(program), program.port_widths)
    verify(array, jobs(program), outputs_of(program))
    return array
