"""Refusals: their one line, their place, and their way through pickle and context managers."""

import pickle
from contextlib import contextmanager
from pathlib import Path

import pytest

from rbdhw.errors import InputError, nearest, told_apart, unknown

AXIS = InputError("joint 'elbow'", "<axis> is zero", "a direction", "give one")


def test_the_fields_are_rendered_in_one_order():
    assert str(AXIS) == "joint 'elbow': <axis> is zero; expected a direction; give one"
    assert str(InputError("ii", "0 is too few", "1 to 4096")) == "ii: 0 is too few; expected 1 to 4096"
    assert str(InputError("fit", "too large", remedy="use --ii 6")) == "fit: too large; use --ii 6"
    assert str(InputError("simulation", "failed")) == "simulation: failed"


def test_an_element_is_put_within_its_file():
    error = AXIS.within(Path("robot.urdf"))
    assert error.where == "robot.urdf, joint 'elbow'"
    assert (error.reason, error.expected, error.remedy) == (AXIS.reason, AXIS.expected, AXIS.remedy)


def test_a_refusal_can_be_sent_to_another_process():
    error = pickle.loads(pickle.dumps(AXIS))
    assert (str(error), error.remedy) == (str(AXIS), "give one")


def test_a_refusal_passes_through_a_context_manager():
    @contextmanager
    def block():
        yield

    with pytest.raises(InputError) as error, block():
        raise AXIS
    assert error.value is AXIS


@pytest.mark.parametrize(
    ("number", "limit", "texts"),
    [
        (0.0028, 1e-3, ("0.0028", "0.001")),
        (0.0010003, 1e-3, ("0.0010003", "0.001")),
        (0.001234, 0.00123, ("0.001234", "0.00123")),
        (1e-3, 1e-3, ("0.001", "0.001")),
        (0.0010000000000000002, 1e-3, ("0.0010000000000000002", "0.001")),
        (float("inf"), 1e-3, ("inf", "0.001")),
    ],
)
def test_a_number_has_the_digits_that_tell_it_from_a_limit(number, limit, texts):
    assert told_apart(number, limit) == texts


@pytest.mark.parametrize(
    ("value", "known", "name"),
    [
        ("xcvu9", ("xc7a100t", "xcvu9p"), "xcvu9p"),
        ("XCVU9P-FLGA2104-2L-E", ("xc7a100t", "xcvu9p", "xcvu9"), "xcvu9p"),
        ("ice40", ("xc7a100t", "xcvu9p"), None),
        ("cyclone", ("xcvu9p", "c"), None),
    ],
)
def test_the_nearest_name(value, known, name):
    assert nearest(value, known) == name
    remedy = "" if name is None else f"the nearest is {name}"
    refusal = unknown("target", value, known)
    assert (refusal.expected, refusal.remedy) == (f"one of {', '.join(known)}", remedy)
