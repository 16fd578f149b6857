"""The wire's contract in numbers: what clients written from the README rely on."""

import pytest

from rbdhw.protocol import (
    CODES,
    EXTENDED,
    FLAGS,
    FUNCTIONS,
    HEADER,
    HEADER_BITS,
    Status,
    WordName,
    function_giving,
    functions_with,
)


def test_the_header_is_laid_out_as_documented():
    assert HEADER == {"tag": (0, 16), "function": (16, 4), "options": (20, 4), "status": (24, 8)}
    assert sum(width for _, width in HEADER.values()) == HEADER_BITS == 32
    assert EXTENDED == 0


def test_each_status_has_its_bit():
    assert {status.name: int(status) for status in Status} == {
        "OUTSIDE": 0,
        "OVERFLOW": 1,
        "MALFORMED": 2,
        "NOT_FINITE": 3,
    }
    assert len(Status.__members__) == 4


def test_each_function_has_its_code():
    assert CODES == {"id": 0, "fd": 1, "m": 2, "minv": 3, "did": 4, "dfd": 5, "difd": 6}


def test_arrays_travel_in_their_order():
    base = ("base_v", "base_a", "gravity", "fext")
    assert {name: own.inputs for name, own in FUNCTIONS.items()} == {
        "id": ("q", "v", "a", *base),
        "fd": ("q", "v", "tau", *base),
        "m": ("q",),
        "minv": ("q",),
        "did": ("q", "v", "a", *base),
        "dfd": ("q", "v", "tau", *base),
        "difd": ("q", "v", "a", *base),
    }
    assert {name: own.outputs for name, own in FUNCTIONS.items()} == {
        "id": ("tau",),
        "fd": ("a",),
        "m": ("M",),
        "minv": ("Minv",),
        "did": ("dtau_dq", "dtau_dv"),
        "dfd": ("da_dq", "da_dv"),
        "difd": ("da_dq", "da_dv"),
    }
    assert FUNCTIONS["dfd"].optional_outputs == ("Minv", "a")
    assert FUNCTIONS["difd"].optional_inputs == ("Minv",)
    assert [name for name, own in FUNCTIONS.items() if own.extensible] == ["dfd", "difd"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("q[3]", WordName("q", (3,))),
        ("fext[4,2]", WordName("fext", (4, 2))),
        ("id.tau[0]", WordName("tau", (0,), "id")),
        ("did.dtau_dq[2,15]", WordName("dtau_dq", (2, 15), "did")),
        ("inverse_given", WordName("inverse_given")),
    ],
)
def test_names_of_words_are_read_as_they_are_written(text, name):
    assert WordName.parse(text) == name
    assert str(name) == text


def test_the_registry_says_what_functions_need():
    assert functions_with(lambda own: own.inverts) == ("fd", "minv", "dfd", "difd")
    assert functions_with(lambda own: own.takes_force) == ("fd", "dfd")
    assert functions_with(lambda own: own.derivative_of == "fd") == ("dfd", "difd")
    assert FLAGS["acceleration_given"] == (("id", "did", "difd"), False)
    assert FLAGS["inverse_given"] == (("difd",), True)


def test_relations_are_between_functions():
    for name, own in FUNCTIONS.items():
        assert {own.derivative_of, own.cost_like} <= {None, *FUNCTIONS}, name


def test_every_optional_result_is_the_result_of_a_function():
    optional = {array for own in FUNCTIONS.values() for array in own.optional_outputs}
    assert {array: function_giving(array) for array in optional} == {"Minv": "minv", "a": "fd"}
