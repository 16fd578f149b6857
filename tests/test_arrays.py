"""The arrays of the interface: shapes, symmetries, names of elements, and the elements that words give."""

import pytest

from rbdhw.arrays import ARRAYS, Element, WordName, given_elements, kind_of
from rbdhw.protocol import FUNCTIONS


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


def test_every_array_of_a_function_has_its_kind():
    for name, function in FUNCTIONS.items():
        used = {*function.inputs, *function.outputs, *function.optional_inputs, *function.optional_outputs}
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
    elements = given_elements(
        [[Element(name.lstrip("-"), name.startswith("-")) for name in word] for word in words], 2
    )
    return [
        (element.word, f"{'h ' * element.integrated}{'-' * element.negative}{element.name}")
        for element in elements
    ]


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


def test_rows_of_positions_follow_from_those_of_velocities_unless_a_word_names_them():
    words = ["dstep.A[2,0]", "-dstep.A[3,1]"], ["dstep.B[3,0]"], ["dstep.A[1,1]"], ["drk4.A[2,0]"]
    assert given(*words) == [
        (0, "dstep.A[2,0]"),
        (0, "h dstep.A[0,0]"),
        (0, "-dstep.A[3,1]"),
        (1, "dstep.B[3,0]"),
        (1, "h dstep.B[1,0]"),
        (2, "dstep.A[1,1]"),
        (3, "drk4.A[2,0]"),
    ]


def test_elements_of_a_unit_diagonal_that_do_not_travel_are_one():
    assert ARRAYS["A"].ones((4, 4)) == ((0, 0), (1, 1), (2, 2), (3, 3))
    assert ARRAYS["A"].is_one((2, 2))
    assert not ARRAYS["A"].is_one((2, 3))
    assert ARRAYS["B"].ones((4, 2)) == ()


def test_functions_with_results_of_frames_say_so():
    for name, entry in FUNCTIONS.items():
        arrays = (kind_of(array, name).dimensions for array in entry.outputs)
        assert entry.framed == any("frames" in dimensions for dimensions in arrays), name
