"""Binding: steps to units, values to delay lines, both to the regions that hold them."""

from __future__ import annotations

from collections import Counter, defaultdict

from rbdhw.fixed.program import Program
from rbdhw.scalar import Region
from rbdhw.schedule.model import Bound, Problem, Resource, Schedule, Unit, stage


def bind(program: Program, problem: Problem, schedule: Schedule, memory_stages: int) -> Bound:
    """Bind a verified schedule to hardware.

    A unit that serves several regions is held by the one it serves most.
    """
    starts = tuple(start.cycle for start in schedule.starts)
    units = tuple(unit for resource in Resource for unit in _units(problem, starts, resource))
    ready = dict.fromkeys(sorted(problem.available), 0)
    hosts = {i: operation.region for i, operation in enumerate(program.operations)}
    for step, start in zip(problem.steps, starts, strict=True):
        for value in step.results:
            ready[value] = start + step.latency
    for unit in units:
        for index in unit.steps.values():
            hosts.update(dict.fromkeys(problem.steps[index].results, unit.host))
    latency = {
        function: max((ready.get(word.value, 0) for word in words), default=0)
        for function, words in program.outputs.items()
    }
    stages = _stages(program, problem, starts, ready, latency)
    return Bound(
        problem.ii,
        problem.clock_mhz,
        problem.steps,
        starts,
        ready,
        hosts,
        units,
        stages,
        latency,
        memory_stages,
    )


def _units(problem: Problem, starts: tuple[int, ...], resource: Resource) -> list[Unit]:
    """Give every step of a resource a unit that is free in its slot, preferring its neighbours'."""
    chosen: list[dict[int, int]] = []
    steps = [i for i, step in enumerate(problem.steps) if step.resource is resource]
    for i in sorted(steps, key=lambda i: (problem.steps[i].region, starts[i])):
        slot = starts[i] % problem.ii
        free = [unit for unit in chosen if slot not in unit]
        best = max(free, key=lambda unit: _affinity(problem, unit, i), default=None)
        alone = best is None or _affinity(problem, best, i)[0] == 0
        if alone and len(chosen) < problem.limits[resource]:
            best = {}
            chosen.append(best)
        assert best is not None, "a slot never holds more steps than there are units"
        best[slot] = i
    return [Unit(resource, unit, _host(problem, unit)) for unit in chosen]


def _affinity(problem: Problem, unit: dict[int, int], i: int) -> tuple[int, int]:
    """How many of a unit's steps share the step's region, and how many operands they share."""
    step = problem.steps[i]
    others = [problem.steps[other] for other in unit.values()]
    shared = sum(len(set(step.operands).intersection(other.operands)) for other in others)
    return sum(other.region == step.region for other in others), shared


def _host(problem: Problem, unit: dict[int, int]) -> Region:
    count = Counter(problem.steps[i].region for i in unit.values())
    return min(count, key=lambda region: (-count[region], str(region)))


def _stages(
    program: Program,
    problem: Problem,
    starts: tuple[int, ...],
    ready: dict[int, int],
    latency: dict[str, int],
) -> dict[int, tuple[int, ...]]:
    read: dict[int, set[int]] = defaultdict(set)

    def reads(values: tuple[int, ...], cycle: int) -> None:
        for value in values:
            if value in ready:
                read[value].add(stage(cycle - ready[value], problem.ii))

    for step, start in zip(problem.steps, starts, strict=True):
        reads(step.operands, start)
    for function, words in program.outputs.items():
        reads(tuple(word.value for word in words), latency[function])
    return {value: tuple(sorted(stages)) for value, stages in read.items()}
