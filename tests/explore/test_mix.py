"""The choice of cores for a mix of tasks."""

from itertools import pairwise

import pytest

from rbdhw.errors import InputError
from rbdhw.explore.mix import Group, Mix, choose_cores, covers
from rbdhw.frontend.read import load_mounted
from rbdhw.options.build import BuildOptions, CoreRequest
from rbdhw.pipeline import plan_build
from rbdhw.robots import path

GROUPS = {
    names: Group(names, products)
    for names, products in ((("a",), 100), (("b",), 1000), (("a", "b"), 1050), (("c",), 10))
}
ALONE = {names: group for names, group in GROUPS.items() if "c" not in names}


def mix_of(beats: float = 1.0, **tasks: float) -> Mix:
    return Mix(tasks, dict.fromkeys(tasks, beats))


def test_covers_are_all_ways_to_have_each_function_once() -> None:
    ways = {
        frozenset(group.functions for group in cover) for cover in covers(list(GROUPS.values()), set("abc"))
    }
    assert ways == {frozenset({("a",), ("b",), ("c",)}), frozenset({("a", "b"), ("c",)})}


def test_a_frequent_and_cheap_function_gets_a_core_of_its_own() -> None:
    """A shared core would take ten tasks of 1,050 products for each one that needs them."""
    cores = choose_cores(ALONE, mix_of(a=10.0, b=1.0), 200.0)
    assert {core.functions for core in cores} == {("a",), ("b",)}
    paces = {core.functions[0]: core.ii for core in cores}
    assert paces["b"] >= 10 * paces["a"]


def test_more_multipliers_never_serve_fewer_mixes() -> None:
    mix = mix_of(a=3.0, b=1.0)
    rates = [mix.rate(choose_cores(ALONE, mix, blocks)) for blocks in range(20, 1500, 60)]
    assert all(one <= other for one, other in pairwise(rates))
    assert rates[-1] == mix.link_rate == 0.25


def test_the_link_limits_the_rate() -> None:
    mix = mix_of(beats=4.0, a=1.0, b=1.0)
    cores = choose_cores(ALONE, mix, 1e6)
    assert mix.limited_by_link(cores)
    assert mix.rate(cores) == 0.125
    assert mix.entry(cores, 100.0).data() == {
        "tasks": {"a": 1.0, "b": 1.0}, "mixes_per_second": 12_500_000, "limited_by": "the streams"
    }  # fmt: skip


def test_the_slowest_core_is_named() -> None:
    mix = mix_of(a=1.0, b=1.0)
    cores = (CoreRequest(("a",), 2), CoreRequest(("b",), 9, copies=2))
    assert mix.entry(cores, 90.0).limited_by == "the core of b"
    assert mix.entry(cores, 90.0).mixes_per_second == 20_000_000


def test_a_build_serves_a_mix_within_its_share() -> None:
    options = BuildOptions(("id", "m", "dfd"), width=18, samples=256, mix={"id": 20.0, "dfd": 1.0}, fit=0.004)
    plan = plan_build(load_mounted(path("toy"), options.mounting), options)
    assert plan.estimate.dsp_blocks <= 0.004 * 6840
    assert plan.part_of("m") == plan.part_of("dfd")
    fast, slow = plan.part_of("id"), plan.part_of("dfd")
    assert fast.plan.ii < slow.plan.ii
    assert plan.mix is not None
    stated = plan.mix.mixes_per_second / (plan.clock_mhz * 1e6)
    assert stated <= fast.copies / fast.plan.ii / 20.0 + 1e-6
    assert stated <= slow.copies / slow.plan.ii + 1e-6


def test_a_mix_that_cannot_fit_is_refused() -> None:
    options = BuildOptions(("id", "dfd"), width=18, samples=256, mix={"id": 1.0}, fit=1e-5)
    with pytest.raises(InputError, match=r"^mix: no cores fit 0% of xcvu9p; use a larger --fit$"):
        plan_build(load_mounted(path("toy"), options.mounting), options)
