"""Units of sines, cosines and reciprocals equal their models for all inputs of the formats in use."""

import numpy as np
import pytest

from rbdhw.fixed.program import Kind
from rbdhw.fixed.reciprocal import ReciprocalSpec, reciprocal
from rbdhw.fixed.trigonometry import TrigonometrySpec, sin_cos, trigonometry_spec
from rbdhw.rtl import polynomial
from rbdhw.rtl.reciprocal import ReciprocalUnit
from rbdhw.rtl.trigonometry import TrigonometryUnit
from tests.support.chosen_programs import chosen_program
from tests.support.exhaustion import Exhaustion

pytestmark = pytest.mark.verify

CHUNK = 1 << 22
"""The inputs that are compared at a time."""


def phases_that_differ(spec, phases, folder, registers=0, less=0):
    """Return how many of the lowest phases have another sine or cosine than in the model.

    The unit has this number of cycles ``less``.
    """
    hardware = TrigonometryUnit(spec, 1 + spec.order * (1 + registers) - less, registers)
    unit = Exhaustion(hardware, "angle", ("sin", "cos"), folder)
    different = 0
    for first in range(0, phases, CHUNK):
        last = min(first + CHUNK, phases)
        pairs = zip(unit.results(first, last), sin_cos(spec, np.arange(first, last)), strict=True)
        different += int(np.any([result != expected for result, expected in pairs], axis=0).sum())
    return different


@pytest.mark.parametrize(
    ("width", "registers", "less"), [(12, 0, 0), (18, 0, 0), (18, 0, 1), (18, 2, 0), (20, 0, 0), (22, 0, 0)]
)
def test_every_angle(tmp_path, width, registers, less):
    spec = trigonometry_spec(width)
    assert phases_that_differ(spec, 1 << spec.phase_bits, tmp_path, registers, less) == 0


def operands_that_differ(spec, width, shift, folder, extra=0):
    """Return how many operands of a width have another reciprocal than in the model; for zero a small one."""
    unit = ReciprocalUnit(spec, 1 + spec.order + extra)
    exhaustion = Exhaustion(unit, "x", ("y",), folder, shift=shift)
    different = 0
    for first in range(-(1 << width - 1), 1 << width - 1, CHUNK):
        last = min(first + CHUNK, 1 << width - 1)
        (results,) = exhaustion.results(first, last)
        operands = np.arange(first, last)
        zero = (operands == 0) & (results >> spec.result_bits - 1 > 0)
        different += int(((results != reciprocal(spec, operands, shift)) & ~zero).sum())
    return different


@pytest.mark.parametrize(
    ("name", "functions", "width", "extra"),
    [
        ("toy", ("fd",), 12, 0),
        ("toy", ("fd",), 18, 0),
        ("toy", ("fd",), 18, -1),
        ("iiwa14", ("fd",), 18, 0),
        ("hyq", ("fd",), 18, 0),
    ],
)
def test_every_reciprocal_of_a_design(tmp_path, name, functions, width, extra):
    program = chosen_program(name, functions, width)
    cases = set()
    for operation in program.operations:
        if operation.kind is Kind.RECIPROCAL:
            (operand,) = operation.operands
            cases.add((program.operations[operand.value].format.width, operation.constant))
    assert cases
    for k, (bits, shift) in enumerate(sorted(cases)):
        folder = tmp_path / str(k)
        folder.mkdir()
        assert operands_that_differ(program.reciprocal, bits, shift, folder, extra) == 0


@pytest.mark.parametrize("unit", ["sine", "reciprocal"])
def test_a_wrong_unit_is_refuted(tmp_path, monkeypatch, unit):
    """One bit of the cut of Horner's rule."""
    step = polynomial.horner_step
    module = f"rbdhw.rtl.{'trigonometry' if unit == 'sine' else 'reciprocal'}.horner_step"
    monkeypatch.setattr(module, lambda *given: step(*given) ^ 1)
    if unit == "sine":
        assert phases_that_differ(TrigonometrySpec(9, 12, 3, 2), 1 << 12, tmp_path) > 0
    else:
        assert operands_that_differ(ReciprocalSpec(10, 12, 3, 2), 10, -12, tmp_path) > 0
