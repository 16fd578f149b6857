"""The choice of a clock, by times that are known and for small builds."""

import math
from collections.abc import Callable

import pytest

from rbdhw.errors import InputError
from rbdhw.explore import intervals
from rbdhw.explore.accelerator import plan_accelerator
from rbdhw.explore.clock import MOST_TRIED, best_clock
from rbdhw.explore.search import prepare_build
from rbdhw.options.arguments import asked_build
from rbdhw.options.build import BEST_LATENCY, BEST_RATE
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.marks import long


def whole_cycles(
    clock: float, fastest: float = 337.0, operators: float = 40.0, beats: int = 0
) -> float | None:
    """Return the time (us) of operators (ns) in whole cycles, of which each loses 0.8 ns, and of beats."""
    return (math.ceil(operators / (1e3 / clock - 0.8)) + beats) / clock if clock <= fastest else None


def stairs(cycles: list[tuple[float, int]]) -> Callable[[float], float | None]:
    """Return the time (us) of numbers of cycles, each up to a clock."""
    return lambda clock: next((number / clock for fastest, number in cycles if clock <= fastest), None)


def test_the_fastest_clock_is_found_to_a_megahertz() -> None:
    asked: list[float] = []
    assert best_clock(BEST_RATE, 125.0, lambda clock: asked.append(clock) or whole_cycles(clock)) == 337.0
    assert len(asked) < 16
    assert best_clock(BEST_RATE, 125.0, lambda clock: whole_cycles(clock, 125.0)) == 125.0


@pytest.mark.parametrize("beats", [0, 8, 20])
@pytest.mark.parametrize("operators", [40.0, 150.0, 800.0])
def test_the_soonest_answer_is_found_with_few_schedules(operators: float, beats: int) -> None:
    asked: list[float] = []
    best = best_clock(
        BEST_LATENCY, 125.0, lambda clock: asked.append(clock) or whole_cycles(clock, 337.0, operators, beats)
    )
    assert len(asked) == len(set(asked)) <= MOST_TRIED + 1
    assert set(asked) <= set(range(62, 400))
    least = min(whole_cycles(clock, 337.0, operators, beats) for clock in range(62, 338))
    assert whole_cycles(best, 337.0, operators, beats) <= 1.01 * least


def test_the_soonest_answer_comes_at_the_fastest_clock_of_a_number_of_cycles() -> None:
    """Only up to 87 MHz, or 164, do the cycles suffice; no clock of the first round is one of these."""
    cycles = [(87.0, 4), (164.0, 8), (337.0, 19)]
    assert best_clock(BEST_LATENCY, 125.0, stairs(cycles)) == 87.0
    assert best_clock(BEST_LATENCY, 125.0, stairs([(70.0, 4), *cycles[1:]])) == 164.0
    assert best_clock(BEST_LATENCY, 125.0, stairs([*cycles[:2], (337.0, 15)])) == 337.0
    assert best_clock(BEST_LATENCY, 125.0, stairs([(30.0, 1)])) == 125.0


def test_the_soonest_answer_may_come_at_a_slow_clock() -> None:
    assert best_clock(BEST_LATENCY, 125.0, lambda clock: 1.0 + clock if clock < 300 else None) == 62.0


def planned(clock: str, **options: object):
    build, overrides = asked_build(functions="id", width=18, clock=clock, **options)
    return plan_accelerator(prepare_build(load_urdf(path("toy")), build, overrides), build)


@pytest.mark.parametrize("cores", [long({"ii": 4}), {"cores": "id:4*2"}])
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
