"""The solver around a core: the interval of its sweep, and the steps that the memory of a device holds."""

import re
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from rbdhw.cores.array.model import ArrayResource
from rbdhw.cores.solver import core as solver_core
from rbdhw.cores.solver.core import build_solver
from rbdhw.cores.sweep.array import build_sweep, least_handover
from rbdhw.errors import InputError
from rbdhw.estimate.energy import PICOJOULES, STATIC_WATTS, block_cycles
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import plan_build
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.fixed_solvers import fixed_solver, plan_of
from tests.support.marks import long
from tests.support.optimal_control import toy

SMALL = "xc7a100t"
"""A device with 135 block RAMs."""


@cache
def core():
    options = BuildOptions(("step", "dstep"), width=27, ii=8, target=SMALL, samples=256)
    (built,) = plan_build(load_urdf(path("toy")), options).cores
    return built


def built(interval=None, knots=3, alphas=2, block_rams=None):
    interface = fixed_solver("toy", 3, alphas).model.interface
    sweeps = replace(interface.solver.sweeps, links=knots + 1)
    longer = replace(interface, solver=replace(interface.solver, sweeps=sweeps))
    device = replace(core().device, block_rams=block_rams or core().device.block_rams)
    of_device = replace(core(), device=device)
    return build_solver(longer, of_device, of_device, None, interval)


def test_a_longer_interval_takes_less_hardware_and_more_cycles():
    soonest, *longer = built(), built(150), built(300)
    assert [each.sweep.schedule.ii for each in longer] == [150, 300]
    tables = [each.sweep.estimate().luts for each in (soonest, *longer)]
    cycles = [each.timing.solution(1) for each in (soonest, *longer)]
    assert tables == sorted(tables, reverse=True)
    assert cycles == sorted(cycles)
    assert {each.sweep.between for each in (soonest, *longer)} == {1}


def test_spare_accumulators_make_a_short_interval_possible():
    tried = []

    def build(cycles, spare, in_time):
        tried.append((cycles, spare, in_time))
        if spare < 20:
            raise InputError("ii", "late")
        return spare

    assert solver_core._at_interval(build, 30, 60, SimpleNamespace(problems=2, blocks=1)) == 20
    assert tried == [(30, 0, True), (30, 4, True), (30, 20, True)]


def test_a_shorter_interval_takes_more_hardware():
    units = [built(interval).sweep.schedule.units for interval in (28, 40, 56)]
    assert len(units[0]) > len(units[1]) > len(units[2])


def test_an_interval_that_is_too_short_is_refused(monkeypatch):
    monkeypatch.setattr(solver_core, "least_handover", Mock(return_value=25))
    most = "with any number of units; expected an interval of at least 25; use --problems 2$"
    with pytest.raises(InputError, match=f"^sweep-ii: a knot hands results on after 25 cycles, {most}"):
        built(24)
    for effect, expected in (
        (InputError("ii", "no place"), "^sweep-ii: no place; expected a longer interval$"),
        (InputError("clock", "no place"), "^clock: no"),
    ):
        monkeypatch.setattr(solver_core, "build_sweep", Mock(side_effect=effect))
        with pytest.raises(InputError, match=expected):
            built(30)


def test_no_sweep_hands_on_before_the_least_handover_and_many_units_come_near():
    shape, device = fixed_solver("toy", 3, 2).shape, core().device
    least = least_handover(shape.sweeps, shape.program, device, 28)
    sweep = build_sweep(shape.sweeps, shape.program, device, 28, {ArrayResource.ACCUMULATOR: 60})
    assert least <= sweep.handed_on <= least + 3


def test_steps_beyond_the_memory_of_the_device_are_refused_with_what_fits():
    with pytest.raises(
        InputError, match=r"knots: 1000 steps take \d+ block RAMs; xc7a100t has 135"
    ) as refusal:
        built(300, 1000, 32)
    said = re.search(r"expected at most (\d+) steps; use a smaller --knots or --alphas", str(refusal.value))
    fits = int(said[1])
    assert 100 < fits < 1000
    built(300, fits, 32)
    with pytest.raises(InputError, match="block RAMs"):
        built(300, fits + 1, 32)


def test_a_memory_that_is_exactly_full_is_enough():
    """A device with fewer block RAMs has more of the memories in look-up tables."""
    needed = built(300, 60, 32).estimate().block_rams
    while (fewer := built(300, 60, 32, needed).estimate().block_rams) < needed:
        needed = fewer
    with pytest.raises(InputError, match="block RAMs"):
        built(300, 60, 32, needed - 1)
    with pytest.raises(InputError, match="block RAMs") as refusal:
        built(300, 1000, 32, needed)
    assert int(re.search(r"at most (\d+) steps", str(refusal.value))[1]) >= 60


def test_words_enter_a_register_and_forces_arrive_late():
    """The register takes a cycle, late forces take none."""
    options = BuildOptions(("step", "dstep"), width=27, ii=4, number="fixed", samples=256)
    (alone,), (with_solver,) = (plan.cores for plan in (plan_build(toy(), options), plan_of("toy")))
    assert (alone.late, with_solver.late > 0) == (0, True)
    assert (alone.entry, with_solver.entry) == (0, 1)
    assert with_solver.latency == {name: cycles + 1 for name, cycles in alone.latency.items()}
    late = [word.array for word in with_solver.component(None).late_words]
    assert late == ["tau", "tau"]


@pytest.mark.parametrize("alphas", [2, long(4)])
def test_an_iteration_uses_each_block_in_each_cycle_once_at_most(alphas):
    solver, step = built(alphas=alphas), core().program
    assert solver.energy(100.0) is None  # no estimate for the family
    steps = 3 * alphas * block_cycles(step, ("step",), core().device)
    blocks = core().dsp_blocks + solver.sweep.dsp_blocks
    assert steps < solver.block_cycles() < blocks * solver.timing.iteration


def test_energy_is_the_power_for_the_time_of_an_iteration():
    model, (steps,) = fixed_solver("toy", 3, 2).model, plan_of("toy").cores
    solver = build_solver(model.interface, steps, steps, None)
    energy, microseconds = solver.energy(100.0), solver.timing.iteration / 100.0
    assert energy.nanojoules == pytest.approx(1e3 * energy.watts * microseconds)
    assert energy.delay_product == pytest.approx(energy.nanojoules * microseconds)
    dynamic = 1e-3 * PICOJOULES * solver.block_cycles()
    assert energy.nanojoules - dynamic == pytest.approx(1e3 * STATIC_WATTS * microseconds)
