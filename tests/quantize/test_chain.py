"""Number formats of chains: errors by width, and budgets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rbdhw.errors import InputError
from rbdhw.fixed.lower import InputRange
from rbdhw.frontend.chain import prepare_chain, record_chain
from rbdhw.options.build import BuildOptions
from rbdhw.quantize import chain as own
from rbdhw.quantize.chain import choose_chain_formats, given_ranges
from rbdhw.quantize.formats import Formats
from tests.support.chains import chain, domain_of, program_of


def formats(links: int, options: BuildOptions) -> Formats:
    robot = chain(links)
    model = prepare_chain(robot)
    return choose_chain_formats(model, record_chain(model.robot), domain_of(robot), options)


OPTIONS = BuildOptions(("fd",), core="chain", samples=128)


def test_more_bits_err_less_and_few_tasks_overflow() -> None:
    found = [formats(5, replace(OPTIONS, width=width)).errors["fd"].whole for width in (18, 27, 32)]
    medians = [figures.median for figures in found]
    assert medians[0] > medians[1] > 100.0 * medians[2]
    assert all(figures.flagged <= 5 and figures.samples == 512 for figures in found)


def test_a_budget_takes_the_narrowest_width() -> None:
    found = formats(3, replace(OPTIONS, max_error=1e-4))
    assert [taken.widths[0][0] for taken in found.tries] == list(own.COMMON_WIDTHS[: len(found.tries)])
    assert found.errors["fd"].bound <= 1e-4 < min(taken.bound for taken in found.tries[:-1])
    assert found.program.port_widths[0] == found.taken.widths[0][0]


def test_a_budget_that_no_width_meets() -> None:
    with pytest.raises(InputError) as refusal:
        formats(3, replace(OPTIONS, max_error=1e-11))
    text = str(refusal.value)
    assert text.startswith("max-error: 1e-11 is not reached on the chain core: 32 bits support ")
    assert text.endswith("or --width without a budget")


def test_links_of_both_kinds_read_an_input_each() -> None:
    steps = program_of(chain(4, "mixed"), width=27).steps
    ranges = {f"{array}[{k}]": InputRange(-1.0, 1.0, "1") for array in own.GIVEN for k in range(4)}
    given = given_ranges(steps.sweeps, ranges)
    assert set(given) == {"motion_angle[0]", "motion_slide[0]", "motion_v[0]", "gather_tau[0]"}
