"""Options that no build can satisfy, and the exact message for each."""

import math

import pytest

from rbdhw.errors import InputError
from rbdhw.options.build import DEFAULT_MAX_ERROR, BuildOptions, CoreRequest, Mounting, Pacing, reason
from rbdhw.options.checks import check_options
from rbdhw.protocol import ASKED


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"functions": ()}, f"functions: none given; expected one or more of {', '.join(ASKED)}"),
        ({"ii": 0}, "ii: 0 is not possible; expected 1 to 4096 cycles between tasks"),
        ({"max_error": 1.0}, "max-error: 1 is not a budget; expected 1e-12 or more, and less than 1"),
        (
            {"pacing": Pacing(bandwidth=math.inf)},
            "bandwidth: inf GB/s is not a bandwidth; expected 1e-09 to 1e+06 GB/s",
        ),
        ({"fit": 0.0}, "fit: 0 is not a share of a device; expected more than 0 and up to 1"),
        (
            {"functions": ("step",), "rollout": ("samples", "samples")},
            "rollout: 'samples' appears twice; expected each part once",
        ),
        ({"fit": 1.5}, "fit: 1.5 is not a share of a device; expected more than 0 and up to 1"),
    ],
)
def test_impossible_options_are_refused(options, text):
    """The command line's refusals are in :mod:`tests.support.bad.options`; limits are tested here."""
    with pytest.raises(InputError) as error:
        check_options(BuildOptions(**options))
    assert str(error.value) == text


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"functions": ("fd", "id"), "ii": 1000},
        {"width": 8, "max_error": 0.5},
        {"width": 32, "data_width": 32},
    ],
)
def test_possible_options_are_accepted(options):
    check_options(BuildOptions(**options))


@pytest.mark.parametrize(
    ("options", "budget"),
    [
        ({}, DEFAULT_MAX_ERROR),
        ({"width": 18}, None),
        ({"max_error": 0.1}, 0.1),
        ({"width": 18, "max_error": 0.1}, 0.1),
    ],
)
def test_a_width_alone_has_no_budget(options, budget):
    assert BuildOptions(**options).budget == budget


def test_omitted_options_have_defaults():
    assert (BuildOptions().least_ii, BuildOptions(ii=4).least_ii) == (1, 4)
    assert (BuildOptions().asked_core, BuildOptions(core="auto").asked_core) == ("pipeline", "auto")
    assert (reason(BuildOptions().core), reason(BuildOptions(ii=1).ii)) == ("the default", "asked for")


@pytest.mark.parametrize("step", [0.0, -0.001, 2.0, float("nan")])
def test_a_time_step_is_a_positive_time(step):
    options = BuildOptions(functions=("step",), mounting=Mounting(time_step=step))
    with pytest.raises(InputError, match=r"time-step: .* s is not a step; expected 1e-07 to 1 s"):
        check_options(options)


def test_a_time_step_needs_an_integrator():
    options = BuildOptions(functions=("fd",), mounting=Mounting(time_step=0.001))
    with pytest.raises(InputError, match="no function of the build takes a step in time; expected one of"):
        check_options(options)


def test_stages_loop_in_the_cores_that_have_them():
    cores = (CoreRequest(("drk4",), 4), CoreRequest(("id", "fd"), 8, "array"))
    options = BuildOptions(("id", "fd", "drk4"), cores=cores, share_stages="loop", width=18)
    assert [core.share_stages for core in options.each_core()] == ["loop", "auto"]
