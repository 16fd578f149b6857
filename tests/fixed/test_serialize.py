"""Programs as JSON: the round trip is exact, and bad data is refused."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

from rbdhw.arrays import Element
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.graph_inputs import graph_inputs, graph_ranges
from rbdhw.domain.sampling import sample
from rbdhw.errors import InputError
from rbdhw.fixed.lower import lower
from rbdhw.fixed.serialize import program_from_json, program_to_json
from rbdhw.fixed.widths import plain_widths
from rbdhw.frontend.functions import trace
from rbdhw.graph.interpret import node_values
from rbdhw.robot.frames import align_axes
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.designs import rail, rail_program
from tests.support.mixed import mixed_program


def toy_program(width):
    robot = align_axes(load_urdf(path("toy")))
    graph, domain = trace(robot, ("id",), (1,)), input_domain(robot)
    arrays = sample(robot, domain, 64, np.random.default_rng(0), (1,))
    values = node_values(graph, graph_inputs(robot, arrays))
    magnitudes = [float(np.max(np.abs(value))) for value in values]
    return lower(graph, magnitudes, graph_ranges(robot, domain, (1,)), plain_widths(graph, width))


@pytest.mark.parametrize("width", [12, 18, 32])
def test_round_trip_is_exact(width):
    program = toy_program(width)
    assert program_from_json(json.loads(json.dumps(program_to_json(program)))) == program


def test_a_word_lists_other_elements_only_if_it_names_some():
    program = toy_program(18)
    first, second = program.outputs["id"]
    joined = replace(first, also=(Element("id.tau[1]", True),))
    program = replace(program, outputs={"id": (joined, second)})
    data = json.loads(json.dumps(program_to_json(program)))
    assert [word[8:] for word in data["outputs"]["id"]] == [[[["id.tau[1]", True]]], []]
    assert program_from_json(data) == program


def test_an_operation_is_a_short_list():
    data = program_to_json(rail_program(rail()))
    assert data["operations"][9] == ["scale", [[3, False, 0]], 20, 12, 0, 13107, 8, True, ""]
    assert data["inputs"][0] == ["q[0]", "m", 0, 20, 19, -209715, 314573, 0]
    assert data["regions"] == [["accelerator", None]]
    assert (data["flags"], data["reciprocal"]) == ([], None)


@pytest.mark.parametrize("width", [8, 18, 27])
def test_flags_slots_and_the_reciprocal_unit_travel_too(width):
    program = mixed_program(width)
    data = json.loads(json.dumps(program_to_json(program)))
    assert data["flags"] == [
        ["acceleration_given", 5, ["id", "difd"], False],
        ["inverse_given", 6, ["difd"], True],
    ]
    assert [word[-1] for word in data["inputs"]] == [0, 1, 2, 2, 3]
    assert program_from_json(data) == program


def test_a_reciprocal_needs_its_unit():
    data = program_to_json(mixed_program(18)) | {"reciprocal": None}
    with pytest.raises(InputError) as refusal:
        program_from_json(data)
    assert str(refusal.value) == (
        "program data, operations.14: a reciprocal without its unit; expected the unit's parameters in "
        "'reciprocal'"
    )


def test_a_flag_needs_its_input():
    data = program_to_json(mixed_program(18))
    data["flags"][0][1] = 4
    with pytest.raises(InputError) as refusal:
        program_from_json(data)
    assert str(refusal.value) == (
        "program data, inputs: not the input operations and their names; expected one word or flag for each"
    )


def damage(where, value):
    """Return the error message for the rail's program with one entry replaced."""
    data = copy.deepcopy(program_to_json(rail_program(rail())))
    inner = data
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    with pytest.raises(InputError) as refusal:
        program_from_json(data)
    return str(refusal.value)


@pytest.mark.parametrize(
    ("where", "value", "text"),
    [
        (("port_widths",), None, "port_widths: Input should be a valid tuple"),
        (("operations", 9, 2), "20", "operations.9.2: Input should be a valid integer"),
        (("operations", 9, 6), -1, "operations.9.6: Input should be greater than or equal to 0"),
        (("operations", 9, 7), 1, "operations.9.7: Input should be a valid boolean"),
        (("regions", 0), ["decode"], "regions.0.1: Field required"),
    ],
)
def test_wrong_types_are_refused_in_one_line(where, value, text):
    assert damage(where, value) == f"program data, {text}; expected what program_to_json writes"


@pytest.mark.parametrize(
    ("where", "value", "text"),
    [
        (("operations", 9, 1), [], "operations.9: scale of 0 operands; expected 1"),
        (
            ("operations", 9, 1, 0, 0),
            9,
            "operations.9: operand 9; expected the index of an earlier operation",
        ),
        (("operations", 9, 4), 1, "operations.9: region 1; expected an index below 1"),
        (
            ("inputs", 0, 0),
            "v[0]",
            "inputs: not the input operations and their names; expected one word or flag for each",
        ),
        (("inputs", 0, 2), 99, "inputs, word 'q[0]': value 99; expected an index below 12"),
        (("outputs", "fd", 0, 2), 12, "outputs.fd, word 'fd.a[0]': value 12; expected an index below 12"),
    ],
)
def test_an_inconsistent_program_is_refused_in_one_line(where, value, text):
    assert damage(where, value) == f"program data, {text}"


def test_a_missing_part_is_named():
    data = program_to_json(rail_program(rail()))
    del data["outputs"]
    with pytest.raises(InputError) as refusal:
        program_from_json(data)
    assert str(refusal.value) == (
        "program data, outputs: Field required; expected what program_to_json writes"
    )
