"""The search for the narrowest width."""

from itertools import pairwise

import pytest

from rbdhw.domain import input_domain
from rbdhw.errors import InputError
from rbdhw.fixed.search import ErrorFigures, narrowest
from rbdhw.pipeline import BuildOptions, fix
from tests.builds import graph_of, model_of

WIDTHS = list(range(8, 33))


class Programs:
    """Stands for programs: a width, whose error is a power of two."""

    def __init__(self, functions=("id",)):
        self.lowered = []
        self.functions = functions

    def lower(self, width):
        assert width not in self.lowered
        self.lowered.append(width)
        return width

    def measure(self, width):
        return {
            f: ErrorFigures(2.0**-width, 2.0 ** (k - width - 1), 10, 0) for k, f in enumerate(self.functions)
        }


@pytest.mark.parametrize("width", WIDTHS)
def test_the_narrowest_width_is_found_in_few_steps(width):
    programs = Programs()
    found, errors = narrowest(programs.lower, programs.measure, 2.0**-width, WIDTHS)
    assert found == width
    assert errors == {"id": ErrorFigures(2.0**-width, 2.0 ** (-width - 1), 10, 0)}
    assert len(programs.lowered) <= 6


def test_the_worst_function_decides():
    programs = Programs(("id", "fd", "m"))
    assert narrowest(programs.lower, programs.measure, 2.0**-10, WIDTHS)[0] == 12


def test_a_budget_that_the_narrowest_meets_takes_the_narrowest():
    programs = Programs()
    assert narrowest(programs.lower, programs.measure, 0.5, WIDTHS)[0] == 8


def test_a_budget_that_no_width_meets_is_refused():
    programs = Programs()
    with pytest.raises(InputError) as error:
        narrowest(programs.lower, programs.measure, 1e-12, WIDTHS)
    assert str(error.value) == (
        "max-error: 1e-12 is met by no supported width; "
        "32 bits support 2.3e-10, a budget of at least that was expected"
    )
    assert programs.lowered == [32]


def figures(robot, **options):
    model = model_of(robot)
    return fix(model, graph_of(robot), input_domain(model.source), BuildOptions(samples=1024, **options))


@pytest.mark.parametrize("robot", ["toy", "iiwa14"])
def test_errors_fall_as_widths_grow(robot):
    errors = [figures(robot, width=width)[1]["id"] for width in (8, 12, 16, 18, 28, 32)]
    assert all(wider.median < narrow.median / 2 for narrow, wider in pairwise(errors))
    assert all(wider.max < narrow.max for narrow, wider in pairwise(errors))


def test_eighteen_bits_are_enough_for_the_iiwa():
    assert figures("iiwa14", width=18)[1]["id"].median <= 1e-4


def test_the_width_found_meets_the_budget_and_the_next_one_does_not():
    program, errors = figures("iiwa14", max_error=1e-3)
    width = program.port_widths[0]
    assert errors["id"].bound <= 1e-3
    assert figures("iiwa14", width=width - 1)[1]["id"].bound > 1e-3


def test_a_width_that_misses_a_budget_is_refused():
    with pytest.raises(InputError) as error:
        figures("toy", width=8, max_error=1e-6)
    start, _, rest = str(error.value).partition("which support ")
    assert start == "max-error: 1e-06 is not met at a width of 8 bits, "
    reached, _, end = rest.partition("; ")
    assert float(reached) > 1e-3
    assert end == "a wider width or a larger budget was expected"
