"""Number formats of chains: errors by width, and budgets."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.errors import InputError
from rbdhw.fixed.lower import InputRange
from rbdhw.frontend.chain import prepare_chain, record_chain
from rbdhw.model.packets import decode, encode
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions
from rbdhw.quantize.formats import Formats, accelerator_model
from rbdhw.quantize.steps import (
    COMMON_WIDTHS,
    ObservedSteps,
    choose_step_formats,
    given_ranges,
    observe_links,
)
from tests.support.chains import chain, domain_of, program_of


@cache
def observed(links: int, functions: tuple[str, ...], effort: float | None) -> ObservedSteps:
    robot = chain(links)
    model = prepare_chain(robot)
    bounds = Overrides(default=JointBounds(velocity=1.0, effort=effort))
    domain = domain_of(robot) if effort is None else input_domain(robot, bounds)
    options = replace(OPTIONS, functions=functions)
    return observe_links(model, record_chain(model.robot, *functions), domain, options)


def formats(links: int, options: BuildOptions, effort: float | None = None) -> Formats:
    return choose_step_formats(observed(links, options.functions, effort), options)


OPTIONS = BuildOptions(("fd",), core="chain", samples=128)


def test_more_bits_err_less_and_few_tasks_overflow() -> None:
    errors = [formats(3, replace(OPTIONS, width=width)).errors["fd"].whole for width in (18, 27, 32)]
    medians = [figures.median for figures in errors]
    assert medians[0] > medians[1] > 100.0 * medians[2]
    assert all(figures.flagged <= 5 and figures.samples == 512 for figures in errors)


def test_slow_motions_err_little_if_the_forces_hold_the_chain() -> None:
    """Formats that hold what forces up to these bounds can do err by 90 %."""
    robot, rng = chain(12), np.random.default_rng(1)
    model, width = prepare_chain(robot), replace(OPTIONS, width=27)
    chosen = formats(12, width, effort=1000.0)
    assert all(stratum.clipped == 0 for stratum in chosen.errors["fd"].strata.values())
    scales = {"q": 3.0, "v": 0.05, "a": 0.3}
    tasks = {name: rng.uniform(-scale, scale, (300, 12)) for name, scale in scales.items()}
    tasks |= golden.evaluate(robot, "id", tasks)
    domain = input_domain(robot, Overrides(default=JointBounds(velocity=1.0, effort=1000.0)))
    design = accelerator_model(model, domain, [chosen.program], width)
    status, words = respond(design, "fd", encode(design, "fd", tasks))
    assert np.count_nonzero(status) <= 3
    off = np.linalg.norm(decode(design, "fd", words)["a"] - tasks["a"], axis=1)
    assert np.median(off / np.linalg.norm(tasks["a"], axis=1)) < 0.03


@pytest.mark.verify
def test_no_error_is_stated_for_motions_of_a_chain_that_its_forces_do_not_hold() -> None:
    errors = formats(12, replace(OPTIONS, width=27), effort=10.0).errors["fd"]
    stated = {name: stratum.stated for name, stratum in errors.strata.items()}
    assert stated == {"box": True, "motion": False, "rest": True, "balanced": False, "single": False}
    assert set(errors.results["a"].bounds) == {"box", "rest"}
    assert errors.bound < 0.1


def test_inverse_dynamics_takes_motions_beyond_the_forces() -> None:
    """Any motion within the domain is in range, also one that the joint forces could not cause."""
    options = replace(OPTIONS, functions=("id",), width=27)
    errors = formats(12, options, effort=0.1).errors["id"]
    assert errors.whole.flagged <= 5
    assert errors.whole.median < 1e-3


def test_a_budget_takes_the_narrowest_width() -> None:
    chosen = formats(3, replace(OPTIONS, max_error=1e-4))
    assert [taken.widths[0][0] for taken in chosen.tries] == list(COMMON_WIDTHS[: len(chosen.tries)])
    assert chosen.errors["fd"].bound <= 1e-4 < min(taken.bound for taken in chosen.tries[:-1])
    assert chosen.program.port_widths[0] == chosen.taken.widths[0][0]


def test_a_budget_that_no_width_meets() -> None:
    with pytest.raises(InputError) as refusal:
        formats(3, replace(OPTIONS, max_error=1e-11))
    text = str(refusal.value)
    assert text.startswith("max-error: 1e-11 is not reached on the chain core: 32 bits support ")
    assert text.endswith("or --width without a budget")


def test_links_of_both_kinds_read_an_input_each() -> None:
    steps = program_of(chain(4, "mixed"), width=27).steps
    ranges = {f"{array}[{k}]": InputRange(-1.0, 1.0, "1") for array in ("q", "v", "tau") for k in range(4)}
    given = given_ranges(steps.sweeps, ranges)
    assert set(given) == {"motion_angle[0]", "motion_slide[0]", "motion_v[0]", "gather_tau[0]"}
