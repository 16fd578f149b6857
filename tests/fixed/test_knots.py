"""The program of a knot's step: products that a pivot divides are wider than other operands."""

import pytest

from rbdhw.fixed.knots import wider_bits
from rbdhw.fixed.program import Kind
from tests.support.knots import fixed_sweep
from tests.support.optimal_control import toy

KNOTS, WIDTH = 4, 27


@pytest.mark.parametrize(("width", "wider"), [(18, 26), (24, 32), (27, 35), (30, 32), (32, 32)])
def test_a_product_and_a_reciprocal_fit_an_integer(width, wider):
    assert wider_bits(width) == wider


def test_only_products_that_a_pivot_divides_are_wider():
    program = fixed_sweep(toy(), KNOTS, WIDTH).program
    operations = program.operations
    wide = {i for i, operation in enumerate(operations) if operation.format.width > WIDTH}
    readers = [x for x in operations if any(operand.value in wide for operand in x.operands)]
    assert program.port_widths == (wider_bits(WIDTH), WIDTH)
    assert len(wide) == len(readers) == 1  # the toy has two forces
    assert all(operations[i].kind is Kind.DOT and len(list(operations[i].pairs)) == 1 for i in wide)
    kinds = {operations[operand.value].kind for operand in readers[0].operands if operand.value not in wide}
    assert Kind.RECIPROCAL in kinds
