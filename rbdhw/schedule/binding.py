"""Binding: assign steps to units, values to delay lines, and both to the regions that contain them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace

from rbdhw.fixed.program import Program
from rbdhw.scalar import Region
from rbdhw.schedule.model import Bound, Problem, Resource, Schedule, Step, Unit


def bind(program: Program, problem: Problem, schedule: Schedule, memory_stages: int) -> Bound:
    """Bind a verified schedule to hardware.

    A unit that serves several regions is placed in the region it serves most.
    """
    starts = tuple(start.cycle for start in schedule.starts)
    units = tuple(unit for resource in Resource for unit in _units(problem, starts, resource))
    leader = {value: group[0] for group in problem.twins for value in group}
    ready = dict(sorted(problem.available.items()))
    hosts = {i: program.operations[leader.get(i, i)].region for i in range(len(program.operations))}
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
    bound = Bound(
        problem.ii,
        problem.clock_mhz,
        problem.steps,
        starts,
        ready,
        hosts,
        units,
        {},
        latency,
        memory_stages,
        problem.twins,
        problem.registers,
    )
    return replace(bound, stages=_stages(program, bound))


def _units(problem: Problem, starts: tuple[int, ...], resource: Resource) -> list[Unit]:
    """Assign every step of a resource to a unit that is free in its slot, near other steps of its region.

    Steps with different numbers of limbs have separate units. Twins have the same unit.
    """
    units: list[Unit] = []
    groups = [group for group in problem.groups if problem.steps[group[0]].resource is resource]
    for limbs in sorted(set(map(len, groups))):
        alike = [group for group in groups if len(group) == limbs]
        pool = _Pool(problem, problem.limit(problem.steps[alike[0][0]]), problem.ii // limbs)
        alike.sort(key=lambda group: (problem.steps[group[0]].region, starts[group[0]]))
        for group in alike:
            pool.place({starts[i] % problem.ii: i for i in group})
        units += [Unit(resource, unit, _host(problem, unit)) for unit in pool.units]
    return units


class _Pool:
    """Units of one resource, to which steps are assigned region by region; few are examined for each step.

    The steps that are assigned together take all slots that are multiples of ``interval`` apart.
    """

    def __init__(self, problem: Problem, limit: int, interval: int) -> None:
        self.units: list[dict[int, int]] = []
        self._taken: list[set[int]] = []
        self._problem = problem
        self._limit = limit
        self._interval = interval
        self._read: list[Counter[int]] = []
        self._served: list[Counter[Region]] = []
        self._of_region: dict[Region, list[int]] = defaultdict(list)
        self._readers: dict[int, list[int]] = defaultdict(list)
        self._first_free: Counter[int] = Counter()

    def place(self, slots: dict[int, int]) -> None:
        """Assign steps by slot (a step and its twins) to a free unit.

        The unit that serves the step's region most is preferred, then the one that shares most operands with
        it. If no unit serves the region, a new unit is used, as long as the limit allows.
        """
        step = self._problem.steps[next(iter(slots.values()))]
        slot = next(iter(slots)) % self._interval
        best = self._best(self._of_region[step.region], step, slot)
        if best is None and len(self.units) < self._limit:
            best = self._add()
        if best is None:
            best = self._best({u for value in step.operands for u in self._readers[value]}, step, slot)
        if best is None:
            best = self._lowest_free(slot)
        self.units[best].update(slots)
        self._taken[best].add(slot)
        if step.region not in self._served[best]:
            self._of_region[step.region].append(best)
        self._served[best][step.region] += 1
        for value in step.operands:
            self._read[best][value] += 1
            self._readers[value].append(best)

    def _best(self, candidates: Iterable[int], step: Step, slot: int) -> int | None:
        """Return the free unit among ``candidates`` that has most in common with a step."""

        def affinity(unit: int) -> tuple[int, int, int]:
            shared = sum(self._read[unit][value] for value in step.operands)
            return self._served[unit][step.region], shared, -unit

        return max((unit for unit in candidates if slot not in self._taken[unit]), key=affinity, default=None)

    def _add(self) -> int:
        self.units.append({})
        self._taken.append(set())
        self._read.append(Counter())
        self._served.append(Counter())
        return len(self.units) - 1

    def _lowest_free(self, slot: int) -> int:
        """Return the first unit that is free in a slot; an occupied slot never becomes free again."""
        while slot in self._taken[self._first_free[slot]]:
            self._first_free[slot] += 1
        return self._first_free[slot]


def _host(problem: Problem, unit: dict[int, int]) -> Region:
    count = Counter(problem.steps[i].region for i in unit.values())
    return min(count, key=lambda region: (-count[region], str(region)))


def _stages(program: Program, bound: Bound) -> dict[int, tuple[int, ...]]:
    read: dict[int, set[int]] = defaultdict(set)

    def reads(values: tuple[int, ...], cycle: int) -> None:
        for value in values:
            if value in bound.ready:
                tap = bound.tap(value, cycle)
                read[tap.value].add(tap.stage)

    for step, start in zip(bound.steps, bound.starts, strict=True):
        reads(step.operands, start)
    for function, words in program.outputs.items():
        reads(tuple(word.value for word in words), bound.latency[function])
    return {value: tuple(sorted(stages)) for value, stages in read.items()}
