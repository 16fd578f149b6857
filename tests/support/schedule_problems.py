"""Random scheduling problems, and problems with hand-written schedules."""

import math

from hypothesis import strategies as st

from rbdhw.scalar import Region
from rbdhw.schedule.model import Problem, Resource, Schedule, Step, Time

REGION = Region("rnea_forward", 0)
INPUTS = (0, 1, 2)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw acyclic problems of sums, products and trigonometry; steps need not be in topological order."""
    ii = draw(st.integers(1, 9))
    steps: list[Step] = []
    values = list(INPUTS)
    for number in range(draw(st.integers(1, 40))):
        operands = tuple(draw(st.lists(st.sampled_from(values[-8:]), max_size=2, unique=True)))
        kind = draw(st.sampled_from(("add", "multiply", "turn")))
        region = Region("rnea_forward", number % 3)
        results: tuple[int, ...] = (len(values),)
        if kind == "add":
            delay = draw(st.sampled_from((0.0, 1.1, 2.5)))
            step = Step(results, operands, region, None, delay + 0.5, 0, delay)
        elif kind == "multiply":
            timing = draw(st.sampled_from(((4.3, 0, 3.8), (1.5, 1, 2.5), (0.5, 3, 6.7))))
            registered = ii > 1 and timing[1] == 0
            step = Step(results, operands, region, Resource.MULTIPLIER, *timing, registered=registered)
        else:
            results = (len(values), len(values) + 1)
            step = Step(results, operands[:1], region, Resource.TRIGONOMETRY, 1.6, 2, 1.6)
        steps.append(step)
        values.extend(results)
    limits = {r: math.ceil(sum(step.resource is r for step in steps) / ii) for r in Resource}
    order = draw(st.permutations(steps)) if draw(st.booleans()) else steps
    arrivals = {value: draw(st.sampled_from((0, 0, 1, 4))) for value in INPUTS}
    return Problem(tuple(order), arrivals, ii, 125.0, 7.2, limits)


def small(ii: int = 2) -> tuple[Problem, Schedule]:
    """Return a problem (a product, a sine, sums of both) and a valid schedule."""
    steps = (
        Step((3,), (0, 1), REGION, Resource.MULTIPLIER, 4.3, 0, 3.8, registered=True),
        Step((4, 5), (2,), REGION, Resource.TRIGONOMETRY, 1.6, 2, 1.6),
        Step((6,), (3, 4), REGION, None, 1.6, 0, 1.1),
        Step((7,), (3, 6), REGION, Resource.MULTIPLIER, 4.3, 0, 3.8, registered=True),
    )
    limits = {Resource.MULTIPLIER: 1, Resource.TRIGONOMETRY: 1}
    starts = (Time(0, 0.0), Time(0, 0.0), Time(2, 1.6), Time(3, 0.0))
    return Problem(steps, dict.fromkeys(INPUTS, 0), ii, 125.0, 7.2, limits), Schedule(starts)


def twinned() -> tuple[Problem, Schedule]:
    """Return a problem with twins and a valid schedule: two limbs at II 4 that share a multiplier."""
    entries = [Step((value,), (), REGION, None, 0.5, 0, 0.5, limbs=2) for value in (10, 11)]
    products = [
        Step((value + 10,), (value, 0), REGION, Resource.MULTIPLIER, 4.3, 0, 3.8, True, limbs=2)
        for value in (10, 11)
    ]
    steps = (*entries, *products, Step((30,), (20, 21), REGION, None, 1.6, 0, 1.1))
    starts = (Time(0, 0.0), Time(2, 0.0), Time(1, 0.0), Time(3, 0.0), Time(3, 3.8))
    limits = dict.fromkeys(Resource, 0)
    twins, units = ((10, 11), (20, 21)), {(Resource.MULTIPLIER, 2): 1}
    return Problem(steps, {0: 0}, 4, 125.0, 7.2, limits, twins, units), Schedule(starts)
