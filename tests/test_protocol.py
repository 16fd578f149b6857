"""The wire's contract in numbers: what clients written from the README rely on."""

import pytest

from rbdhw.protocol import (
    ARRAYS,
    CODES,
    DEFAULT_FUNCTIONS,
    EXTENDED,
    FLAGS,
    FUNCTIONS,
    HEADER,
    HEADER_BITS,
    SECOND_ORDER,
    Element,
    Status,
    WordName,
    function_giving,
    functions_with,
    given_elements,
    kind_of,
)

STEPS = ("step", "dstep", "rk4", "drk4")


def test_the_header_is_laid_out_as_documented():
    assert HEADER == {"tag": (0, 16), "function": (16, 5), "options": (21, 3), "status": (24, 8)}
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
    first = {"id": 0, "fd": 1, "m": 2, "minv": 3, "did": 4, "dfd": 5, "difd": 6}
    second = {"sid": 7, "sfd": 8, "hid": 9, "hfd": 10}
    steps = {"step": 12, "dstep": 13, "rk4": 14, "drk4": 15}
    commands = {"rollout": 16, "load": 17, "load_parameters": 18, "load_cost": 19}
    assert {**first, **second, "kin": 11, **steps, **commands} == CODES
    assert tuple(first) == DEFAULT_FUNCTIONS
    assert max(CODES.values()) < 1 << HEADER["function"][1]


def test_arrays_travel_in_their_order():
    base = ("base_v", "base_a", "gravity", "parameters", "fext")
    assert {name: own.inputs for name, own in FUNCTIONS.items()} == {
        "id": ("q", "v", "a", *base),
        "fd": ("q", "v", "tau", *base),
        "m": ("q", "parameters"),
        "minv": ("q", "parameters"),
        "did": ("q", "v", "a", *base),
        "dfd": ("q", "v", "tau", *base),
        "difd": ("q", "v", "a", *base),
        "sid": ("q", "v", "a", *base),
        "sfd": ("q", "v", "tau", *base),
        "hid": ("q", "v", "a", "lambda_tau", *base),
        "hfd": ("q", "v", "tau", "lambda_a", *base),
        "kin": ("q", "v", "a", "base_v", "base_a"),
        **dict.fromkeys(STEPS, ("q", "v", "tau", "h", *base)),
    }
    assert {name: own.outputs for name, own in FUNCTIONS.items()} == {
        "id": ("tau",),
        "fd": ("a",),
        "m": ("M",),
        "minv": ("Minv",),
        "did": ("dtau_dq", "dtau_dv"),
        "dfd": ("da_dq", "da_dv"),
        "difd": ("da_dq", "da_dv"),
        "sid": ("d2tau_dqdq", "d2tau_dqdv", "d2tau_dvdv", "dM_dq"),
        "sfd": ("d2a_dqdq", "d2a_dqdv", "d2a_dvdv", "dMinv_dq"),
        "hid": ("H_qq", "H_qv", "H_vv", "H_qa"),
        "hfd": ("H_qq", "H_qv", "H_vv", "H_qtau"),
        "kin": ("placement", "J", "velocity"),
        **dict.fromkeys(("step", "rk4"), ("x_next",)),
        **dict.fromkeys(("dstep", "drk4"), ("x_next", "A", "B")),
    }
    assert FUNCTIONS["did"].optional_outputs == ("tau", "M")
    assert FUNCTIONS["dfd"].optional_outputs == ("Minv", "a")
    assert FUNCTIONS["kin"].optional_outputs == ("acceleration", "dv_dq", "da_dq", "da_dv")
    assert FUNCTIONS["difd"].optional_inputs == ("Minv",)
    assert [name for name, own in FUNCTIONS.items() if own.extensible] == ["did", "dfd", "difd", "kin"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("q[3]", WordName("q", (3,))),
        ("fext[4,2]", WordName("fext", (4, 2))),
        ("id.tau[0]", WordName("tau", (0,), "id")),
        ("did.dtau_dq[2,15]", WordName("dtau_dq", (2, 15), "did")),
        ("inverse_given", WordName("inverse_given")),
        ("h", WordName("h")),
        ("dstep.A[3,0]", WordName("A", (3, 0), "dstep")),
    ],
)
def test_names_of_words_are_read_as_they_are_written(text, name):
    assert WordName.parse(text) == name
    assert str(name) == text


def test_the_registry_says_what_functions_need():
    assert functions_with(lambda own: own.inverts) == ("fd", "minv", "dfd", "difd", "sfd", "hfd", *STEPS)
    assert functions_with(lambda own: own.takes_force) == ("fd", "dfd", "sfd", "hfd", *STEPS)
    assert functions_with(lambda own: own.integrates) == STEPS
    assert functions_with(lambda own: own.derivative_of == "fd") == ("dfd", "difd")
    assert FLAGS["acceleration_given"] == (("id", "did", "difd", "sid", "hid", "kin"), False)
    assert FLAGS["inverse_given"] == (("difd",), True)


def test_relations_are_between_functions():
    for name, own in FUNCTIONS.items():
        assert {own.derivative_of, own.cost_like} <= {None, *FUNCTIONS}, name


def test_optional_results_may_be_those_of_other_functions():
    optional = [(array, name) for name, own in FUNCTIONS.items() for array in own.optional_outputs]
    assert {pair: function_giving(*pair) for pair in optional} == {
        ("tau", "did"): "id",
        ("M", "did"): "m",
        ("Minv", "dfd"): "minv",
        ("a", "dfd"): "fd",
        ("acceleration", "kin"): "kin",
        ("dv_dq", "kin"): "kin",
        ("da_dq", "kin"): "kin",
        ("da_dv", "kin"): "kin",
    }


def test_every_array_of_a_function_has_its_kind():
    for name, own in FUNCTIONS.items():
        used = {*own.inputs, *own.outputs, *own.optional_inputs, *own.optional_outputs}
        assert used <= ARRAYS.keys(), name


def test_shapes_are_of_the_robots_sizes():
    sizes = {"nq": 8, "nv": 7, "bodies": 9, "frames": 2, "nx": 15, "ndx": 14}
    assert [ARRAYS[name].shape(sizes) for name in ("h", "x_next", "A", "B")] == [(), (15,), (14, 14), (14, 7)]
    assert {name: ARRAYS[name].shape(sizes) for name in ("q", "v", "fext", "M", "d2tau_dqdv")} == {
        "q": (8,),
        "v": (7,),
        "fext": (9, 6),
        "M": (7, 7),
        "d2tau_dqdv": (7, 7, 7),
    }
    assert kind_of("da_dq", "dfd").shape(sizes) == (7, 7)
    assert kind_of("da_dq", "kin").shape(sizes) == (2, 6, 7)
    assert WordName.parse("kin.da_dq[1,5,6]").kind == kind_of("da_dq", "kin")


def test_an_element_that_is_always_one():
    kind = kind_of("placement", "kin")
    assert kind.ones((2, 4, 4)) == ((0, 3, 3), (1, 3, 3))
    assert [kind.is_one(index) for index in ((1, 3, 3), (1, 3, 2), (3, 3, 0))] == [True, False, False]
    assert kind_of("M").ones((4, 4)) == ()


def given(*words):
    """Return the elements that words give, as text with signs, by the index of the word."""
    found = given_elements(
        [[Element(name.lstrip("-"), name.startswith("-")) for name in own] for own in words]
    )
    return [(element.word, f"{'-' * element.negative}{element.name}") for element in found]


def test_a_word_gives_the_mirror_image_of_its_element():
    assert given(
        ["minv.Minv[1,0]"], ["minv.Minv[1,1]"], ["sid.d2tau_dqdq[0,2,1]"], ["sid.d2tau_dqdv[0,2,1]"]
    ) == [
        (0, "minv.Minv[1,0]"),
        (0, "minv.Minv[0,1]"),
        (1, "minv.Minv[1,1]"),
        (2, "sid.d2tau_dqdq[0,2,1]"),
        (2, "sid.d2tau_dqdq[0,1,2]"),
        (3, "sid.d2tau_dqdv[0,2,1]"),
    ]


def test_an_element_that_a_word_names_is_not_a_mirror_image():
    assert given(["hid.H_qq[4,3]"], ["hid.H_qq[3,4]"]) == [(0, "hid.H_qq[4,3]"), (1, "hid.H_qq[3,4]")]
    assert given(["hid.H_qq[4,3]", "-hid.H_qq[3,4]"]) == [(0, "hid.H_qq[4,3]"), (0, "-hid.H_qq[3,4]")]


def test_a_word_gives_the_mirror_images_of_all_its_elements_with_their_signs():
    assert given(["sid.d2tau_dqdv[0,1,2]"], ["sid.d2tau_dvdv[0,2,2]", "-sid.dM_dq[2,0,2]"]) == [
        (0, "sid.d2tau_dqdv[0,1,2]"),
        (1, "sid.d2tau_dvdv[0,2,2]"),
        (1, "-sid.dM_dq[2,0,2]"),
        (1, "-sid.dM_dq[0,2,2]"),
    ]


def test_functions_with_second_derivatives():
    assert SECOND_ORDER == ("sid", "sfd", "hid", "hfd")


def test_elements_of_a_unit_diagonal_that_do_not_travel_are_one():
    assert ARRAYS["A"].ones((4, 4)) == ((0, 0), (1, 1), (2, 2), (3, 3))
    assert ARRAYS["A"].is_one((2, 2))
    assert not ARRAYS["A"].is_one((2, 3))
    assert ARRAYS["B"].ones((4, 2)) == ()
