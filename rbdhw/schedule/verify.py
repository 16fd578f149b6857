"""The schedule verifier: the rules for a schedule, without code shared with the solver."""

from __future__ import annotations

from rbdhw.schedule.model import Problem, Schedule

TOLERANCE = 1e-9
"""The tolerance (ns) for rounding in sums of delays."""

Slot = tuple[str, int, int]
"""A kind of units (the resource, and the limbs that it serves), and a slot."""


class ScheduleError(Exception):
    """A schedule violates a rule; the message names the step and the rule."""


def verify(problem: Problem, schedule: Schedule) -> None:
    """Check a schedule against its problem.

    - Every step starts within a cycle, after its operands are ready, with enough time left for its setup.
    - The result of a step with latency is ready within its last cycle.
    - A registered step starts with its cycle.
    - No slot has more steps on a resource than the resource has units.
    - The steps of twins are in slots that are as many parts of the interval apart as their limbs.

    Raises ScheduleError if a rule is violated; the first violation is reported.
    """
    if len(schedule.starts) != len(problem.steps):
        raise ScheduleError(f"{len(problem.steps)} steps, but {len(schedule.starts)} starts")
    stands = {value: (cycle, 0.0) for value, cycle in problem.available.items()}
    for step, start in zip(problem.steps, schedule.starts, strict=True):
        for value in step.results:
            offset = step.delay if step.latency else start.offset + step.delay
            stands[value] = (start.cycle + step.latency, offset)
    load: dict[Slot, int] = {}
    for i, (step, start) in enumerate(zip(problem.steps, schedule.starts, strict=True)):
        if start.cycle < 0 or start.offset < 0.0:
            raise ScheduleError(f"step {i}: starts before its task")
        if start.offset + step.setup > problem.period + TOLERANCE:
            raise ScheduleError(f"step {i}: does not end within its cycle")
        if step.latency and step.delay > problem.period + TOLERANCE:
            raise ScheduleError(f"step {i}: its result is not ready within its last cycle")
        if step.registered and start.offset != 0.0:
            raise ScheduleError(f"step {i}: must start with its cycle")
        for value in step.operands:
            if value not in stands:
                raise ScheduleError(f"step {i}: no step computes its operand {value}")
            cycle, offset = stands[value]
            if cycle > start.cycle or (cycle == start.cycle and offset > start.offset + TOLERANCE):
                raise ScheduleError(f"step {i}: starts before its operand {value} is ready")
        if step.resource is not None:
            slot = (step.resource.value, step.limbs, start.cycle % problem.ii)
            load[slot] = load.get(slot, 0) + 1
            if load[slot] > problem.limit(step):
                raise ScheduleError(f"step {i}: exceeds the number of {slot[0]} units in slot {slot[2]}")
    _verify_twins(problem, stands)


def _verify_twins(problem: Problem, stands: dict[int, tuple[int, float]]) -> None:
    limbs = {value: step.limbs for step in problem.steps for value in step.results}
    seen: set[int] = set()
    for group in problem.twins:
        if problem.ii % len(group) != 0:
            reason = f"an ii of {problem.ii} is not a multiple of {len(group)} limbs"
            raise ScheduleError(f"value {group[0]}: {reason}")
        for limb, value in enumerate(group):
            if limbs[value] != len(group) or value in seen:
                raise ScheduleError(f"value {value}: is not one of {limbs[value]} twins in exactly one group")
            seen.add(value)
            (first, offset), (second, other) = stands[group[0]], stands[value]
            apart = limb * problem.ii // len(group)
            if (second - first) % problem.ii != apart or other != offset:
                raise ScheduleError(f"value {value}: is not {apart} slots after its twin {group[0]}")
    alone = [value for value, count in limbs.items() if count > 1 and value not in seen]
    if alone:
        raise ScheduleError(f"value {alone[0]}: has no twins")
