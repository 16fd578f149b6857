"""Adders and choices are proven for all inputs, in every format of a design; so are products by 12 bits.

Wider products by constants take a solver too long; tests compare those with the model.
"""

import pytest
from amaranth.hdl import Assert, Assume, Cat, Elaboratable, Module, Mux, Signal, signed

from rbdhw.fixed.program import Kind
from rbdhw.rtl import arithmetic
from tests.support.chosen_programs import chosen_program
from tests.support.formal import prove

WIDE = 128
"""Bits in which sums and products are exact."""


ADDERS = (Kind.ADD, Kind.SELECT)


def operators(name, functions, width, kinds=(*ADDERS, Kind.SCALE)):
    """Return the different operations of a program: formats, signs, shifts, constants and rounding."""
    program = chosen_program(name, functions, width)
    different = {}
    for operation in program.operations:
        if operation.kind in kinds:
            widths = tuple(program.operations[operand.value].format.width for operand in operation.operands)
            shifts = tuple((operand.negative, operand.shift) for operand in operation.operands)
            shape = operation.kind, widths, shifts, operation.constant, operation.drop, operation.format
            different[shape] = operation, widths
    return list(different.values())


class Operators(Elaboratable):
    """Each operation as hardware beside the integers that it stands for.

    Signs that vary, as those of twins in the same hardware, are inputs: one for each operand but a flag. No
    program negates both operands of a sum.
    """

    def __init__(self, cases, signs_vary=False):
        self.cases = cases
        self.values = [
            [Signal(signed(width), name=f"x{k}_{j}") for j, width in enumerate(widths)]
            for k, (_, widths) in enumerate(cases)
        ]
        self.signs = [
            [
                Signal(name=f"sign{k}_{j}") if signs_vary and (j or operation.kind is Kind.ADD) else None
                for j in range(len(widths))
            ]
            for k, (operation, widths) in enumerate(cases)
        ]
        signs = [sign for row in self.signs for sign in row if sign is not None]
        self.ports = [value for row in self.values for value in row] + signs

    def elaborate(self, _platform):
        m = Module()
        for k, (operation, _) in enumerate(self.cases):
            values, signs = self.values[k], self.signs[k]
            if operation.kind is Kind.ADD and signs[0] is not None:
                m.d.comb += Assume(~Cat(signs).all())
            if operation.kind is Kind.SCALE:
                full = arithmetic.scale(m, f"scale_{k}", values[0], operation.constant, operation.drop)
            else:
                columns = zip(operation.operands, values, signs, strict=True)
                full = arithmetic.combine(operation, list(columns))
            value, overflow = arithmetic.cut(full, operation)
            whole = self.exact(m, k, operation, values, signs)
            lowest, highest = operation.format.lowest, operation.format.highest
            fits = (whole >= lowest) & (whole <= highest)
            m.d.comb += Assert(value == whole[: operation.format.width].as_signed())
            if operation.checked:
                m.d.comb += Assert(overflow == ~fits)
        return m

    def exact(self, m, k, operation, values, signs):
        """Return the result before it wraps."""
        parts = []
        for operand, value, sign in zip(operation.operands, values, signs, strict=True):
            shifted = value << operand.shift if operand.shift >= 0 else value >> min(-operand.shift, WIDE)
            parts.append(Mux(operand.negative if sign is None else sign, -shifted, shifted))
        total = Signal(signed(WIDE), name=f"total_{k}")
        match operation.kind:
            case Kind.ADD:
                m.d.comb += total.eq(sum(parts[1:], parts[0]))
            case Kind.SELECT:
                m.d.comb += total.eq(Mux(values[0][0], parts[1], parts[2]))
            case Kind.SCALE:
                m.d.comb += total.eq(values[0] * operation.constant)
        half = (1 << operation.drop) >> 1
        return ((total + half) >> operation.drop).as_signed()


CASES = [
    ("toy", ("id", "m"), 12, (*ADDERS, Kind.SCALE)),
    ("toy", ("did", "fd"), 18, ADDERS),
    ("iiwa14", ("id", "m"), 18, ADDERS),
]


@pytest.mark.verify
@pytest.mark.parametrize(("name", "functions", "width", "kinds"), CASES)
def test_operators_are_those_of_the_program(tmp_path, name, functions, width, kinds):
    cases = operators(name, functions, width, kinds)
    assert Kind.ADD in {operation.kind for operation, _ in cases}
    outcome = prove(Operators(cases), tmp_path, depth=1, mode="bmc")
    outcome.assert_proven()


@pytest.mark.verify
@pytest.mark.parametrize(
    ("name", "functions", "width"), [("toy", ("id", "fd"), 12), ("toy", ("did", "fd"), 18)]
)
def test_operators_with_signs_that_vary_are_those_of_the_program(tmp_path, name, functions, width):
    cases = operators(name, functions, width, ADDERS)
    assert {operation.kind for operation, _ in cases} == {*ADDERS}
    outcome = prove(Operators(cases, signs_vary=True), tmp_path, depth=1, mode="bmc")
    outcome.assert_proven()


@pytest.mark.verify
@pytest.mark.parametrize(
    ("attribute", "wrong"),
    [
        ("half", lambda drop: 1 << drop >> 2),
        ("align", lambda value, _operand: value),
    ],
)
def test_a_wrong_operator_is_refuted(tmp_path, monkeypatch, attribute, wrong):
    monkeypatch.setattr(arithmetic, attribute, wrong)
    outcome = prove(Operators(operators("toy", ("id", "m"), 12)), tmp_path, depth=1, mode="bmc")
    outcome.assert_refuted()


@pytest.mark.verify
def test_a_sign_that_is_ignored_is_refuted(tmp_path, monkeypatch):
    monkeypatch.setattr(arithmetic, "negate", lambda value, _sign: value)
    choices = operators("toy", ("id", "fd"), 12, (Kind.SELECT,))
    prove(Operators(choices, signs_vary=True), tmp_path, depth=1, mode="bmc").assert_refuted()
