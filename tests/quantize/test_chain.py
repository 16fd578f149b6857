"""Number formats of chains: errors by width, budgets, and words of long requests."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rbdhw.config import BuildOptions
from rbdhw.errors import InputError
from rbdhw.fixed.lower import InputRange
from rbdhw.frontend.chain import prepare_chain, record_chain
from rbdhw.quantize import chain as own
from rbdhw.quantize.chain import choose_chain_formats, given_ranges, narrow_words
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


def test_words_of_a_long_request_are_narrower(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = chain(4, "mixed")
    steps = program_of(robot, width=27).steps
    ranges = {f"{array}[{k}]": InputRange(-1.0, 1.0, "1") for array in own.GIVEN for k in range(4)}
    given = given_ranges(steps.sweeps, ranges)
    assert set(given) == {"motion_angle[0]", "motion_slide[0]", "motion_v[0]", "gather_tau[0]"}
    assert narrow_words(steps, given) == given
    bits = {word.name: word.format.width for word in steps.program.inputs}
    q = 3 * bits["motion_angle[0]"] + bits["motion_slide[0]"]
    whole = q + 4 * (bits["motion_v[0]"] + bits["gather_tau[0]"])
    monkeypatch.setattr(own, "MOST_REQUEST_BITS", whole - 13)
    narrow = narrow_words(steps, given)
    assert {name: bits[name] - (kept.most_bits or 0) for name, kept in narrow.items()} == dict.fromkeys(
        given, 2
    )
    assert sum(word.format.width for word in program_of(robot, width=27).inputs) <= whole - 13
    monkeypatch.setattr(own, "MOST_REQUEST_BITS", 100)
    with pytest.raises(InputError, match="a request of 4 links does not fit into 100 bits"):
        narrow_words(steps, given)
