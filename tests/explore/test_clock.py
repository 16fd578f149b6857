"""The choice of a clock, by times that are known and for small builds."""

import math

import pytest

from rbdhw.errors import InputError
from rbdhw.explore import intervals
from rbdhw.explore.accelerator import plan_accelerator
from rbdhw.explore.clock import best_clock
from rbdhw.explore.search import prepare_build
from rbdhw.options.arguments import asked_build
from rbdhw.options.build import BEST_LATENCY, BEST_RATE
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path


def whole_cycles(clock: float, fastest: float = 337.0) -> float | None:
    """Return the time (us) of 40 ns of operators in whole cycles, of which each loses 0.8 ns."""
    return math.ceil(40.0 / (1e3 / clock - 0.8)) / clock if clock <= fastest else None


def test_the_fastest_clock_is_found_to_a_megahertz() -> None:
    asked: list[float] = []
    assert best_clock(BEST_RATE, 125.0, lambda clock: asked.append(clock) or whole_cycles(clock)) == 337.0
    assert len(asked) < 16
    assert best_clock(BEST_RATE, 125.0, lambda clock: whole_cycles(clock, 125.0)) == 125.0


def test_the_soonest_answer_may_come_at_a_slow_clock() -> None:
    best = best_clock(BEST_LATENCY, 125.0, whole_cycles)
    times = {clock: whole_cycles(clock) for clock in (62.0, 80.0, 125.0, 200.0, 337.0)}
    assert whole_cycles(best) <= min(times.values())
    assert best_clock(BEST_LATENCY, 125.0, lambda clock: 1.0 + clock if clock < 300 else None) == 62.0


def planned(clock: str, **options: object):
    build, overrides = asked_build(functions="id", width=18, clock=clock, **options)
    return plan_accelerator(prepare_build(load_urdf(path("toy")), build, overrides), build)


@pytest.mark.parametrize("cores", [{"ii": 4}, {"cores": "id:4*2"}])
def test_the_clock_of_a_build_is_chosen(cores: dict[str, object]) -> None:
    default, soonest, fastest = (planned(clock, **cores) for clock in ("125", BEST_LATENCY, BEST_RATE))
    assert 125.0 < soonest.clock_mhz <= fastest.clock_mhz
    times = [plan.latency("id") / plan.clock_mhz for plan in (default, soonest, fastest)]
    assert times[1] == min(times) < times[0]
    with pytest.raises(InputError, match="clock"):
        planned(str(fastest.clock_mhz + 1.0), **cores)


def test_the_best_clock_is_refused_where_intervals_are_compared() -> None:
    build, _ = asked_build(functions="id", width=18, clock=BEST_RATE)
    with pytest.raises(InputError) as refusal:
        intervals.explore(path("toy"), build)
    assert (refusal.value.where, refusal.value.expected) == ("clock", "a number of MHz")
