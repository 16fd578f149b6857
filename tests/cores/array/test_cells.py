"""The cells of an array."""

from rbdhw.cores.array.cells import array_cells
from rbdhw.cores.array.model import ArrayResource
from rbdhw.estimate.fabric import Cells
from rbdhw.target import target
from tests.support.array_programs import array_of, mixed


def test_an_accumulator_has_an_adder_and_two_registers_of_its_sum():
    """A sum has 18 bits of the result, 6 guard bits below them and about 6 bits above them."""
    program = mixed(18)
    array = array_of(program, 11)
    assert array.units.count(ArrayResource.ACCUMULATOR) == 3
    assert array_cells(program, array, target("ecp5-85"))["arithmetic"] == Cells(3 * 30.0, 3 * 60.0)
