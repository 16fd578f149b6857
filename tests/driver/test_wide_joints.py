"""The arrays of a solver's commands in the driver, where configurations are longer than velocities."""

import pytest

from rbdhw.arrays import WordName
from rbdhw.design.folder import draft_design
from rbdhw.driver.description import arrays_in_order, design_header
from rbdhw.protocol import GOAL, PLAN, SOLVE
from rbdhw.robot.model import JointKind
from tests.support.fixed_solvers import fixed_solver
from tests.support.mechanisms import mechanism


def ball():
    """Return a link with a spherical joint behind one that turns."""
    return mechanism([JointKind.REVOLUTE, JointKind.SPHERICAL], [-1, 0], 4)


@pytest.fixture(scope="module")
def model():
    return fixed_solver(ball, 4, 3).model


@pytest.mark.verify
def test_arrays_have_the_elements_of_states_and_of_the_tangent_space(model):
    nq, nv = 5, 4
    inputs, _ = arrays_in_order(model, GOAL)
    shapes = {array.name: array.shape for array in inputs}
    assert shapes["x_ref"] == shapes["x_weight"] == (nq + nv,)
    assert (shapes["d_weight"], shapes["d_curvature"], shapes["d_row"]) == ((nv,), (nv,), (nv, nq))
    for command in (SOLVE, PLAN):
        _, outputs = arrays_in_order(model, command)
        assert next(array.shape for array in outputs if array.name == "K") == (nv, nq + nv)


@pytest.mark.verify
@pytest.mark.parametrize("command", [GOAL, SOLVE, PLAN])
def test_each_word_has_a_place_of_its_own(model, command):
    words = model.interface.words(command)
    sides = zip(arrays_in_order(model, command), (words.sent(True), words.returned(True)), strict=True)
    for arrays, of_side in sides:
        known, places = {array.name: array for array in arrays}, set()
        for word in of_side:
            name = WordName.parse(word.name)
            array = known[name.array]
            assert all(0 <= i < size for i, size in zip(name.index, array.shape, strict=True))
            places.add((array.name, array.offset(name.index)))
        assert len(places) == len(of_side)
    assert f'"{command}", ' in design_header(draft_design(model))
