"""The estimate of energy: its two published points, and what it counts."""

import pytest

from rbdhw.estimate.energy import DADU_RBD, PICOJOULES, ROBOMORPHIC, SPREAD, block_cycles, energy_of
from rbdhw.frontend.read import load_mounted
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import plan_build
from rbdhw.robots import path
from rbdhw.target import target

DEVICE = target("xcvu9p")


def test_published_points_are_a_spread_apart_from_the_estimate() -> None:
    assert DADU_RBD.picojoules == pytest.approx(PICOJOULES * SPREAD)
    assert ROBOMORPHIC.picojoules == pytest.approx(PICOJOULES / SPREAD)
    assert DADU_RBD.picojoules == pytest.approx((31.2 - 3.0) / (0.62 * 6840 * 125e6) * 1e12)


@pytest.fixture(scope="module")
def program():
    options = BuildOptions(("id", "fd"), ii=1, width=18, samples=256, target="xcvu9p")
    (part,) = plan_build(load_mounted(path("toy"), options.mounting), options).parts
    return part.plan


def test_a_task_uses_each_block_of_a_design_for_all_once_at_most(program) -> None:
    uses = {function: block_cycles(program.program, (function,), DEVICE) for function in ("id", "fd")}
    assert 0 < uses["id"] < uses["fd"] <= program.core.dsp_blocks


def test_power_grows_with_rate_and_energy_falls(program) -> None:
    slow, fast = (energy_of(program.program, "fd", rate, 0.2, DEVICE) for rate in (1e6, 1e8))
    assert slow.watts < fast.watts
    assert slow.nanojoules > fast.nanojoules
    assert fast.nanojoules * 1e8 * 1e-9 == pytest.approx(fast.watts)
    assert fast.delay_product == pytest.approx(0.2 * fast.nanojoules)


def test_there_is_none_for_other_families(program) -> None:
    assert energy_of(program.program, "fd", 1e6, 0.2, target("ecp5-85")) is None
