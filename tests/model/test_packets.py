"""Arrays, words and packets."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw.domain.sampling import sample
from rbdhw.errors import InputError
from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Kind, Operation, Word
from rbdhw.model import packets
from rbdhw.model.responses import respond
from rbdhw.protocol import FLAGS
from rbdhw.robot.model import JointKind
from rbdhw.scalar import Region
from tests.support.designs import rail_design, with_program


def as_integer(packet):
    return int.from_bytes(packet.tobytes(), "little")


def random_words(widths, tasks, seed):
    rng = np.random.default_rng(seed)
    return [rng.integers(-(2 ** (w - 1)), 2 ** (w - 1), tasks) for w in widths]


@pytest.mark.parametrize("data_width", [32, 64, 128, 256, 512, 1024])
@pytest.mark.parametrize("widths", [(), (16,), (7, 63, 1, 20), (18,) * 21])
def test_packing_is_undone_by_unpacking(data_width, widths):
    words = random_words(widths, 50, data_width)
    header = np.random.default_rng(1).integers(0, 2**32, 50)
    packed = packets.pack(header, words, widths, data_width)
    assert packed.shape == (50, -(-(32 + sum(widths)) // data_width), data_width // 8)
    back, values = packets.unpack(packed, widths)
    np.testing.assert_array_equal(back, header)
    np.testing.assert_array_equal(values, words)


def test_there_is_no_limit_on_the_words_of_a_packet():
    """As many as the second derivatives of Atlas on a floating base have."""
    widths = tuple(18 + k % 11 for k in range(16_307))
    words = random_words(widths, 2, 1)
    header, values = packets.unpack(packets.pack(np.array([7, 8]), words, widths, 1024), widths)
    assert header.tolist() == [7, 8]
    np.testing.assert_array_equal(values, words)


def test_bits_are_tight_and_lowest_first():
    packed = packets.pack(np.array([0x0102FFFE]), [np.array([-1]), np.array([5])], [4, 5], 64)
    assert as_integer(packed) == 0x0102FFFE | 0xF << 32 | 5 << 36


def test_many_tasks_pack_alike_in_chunks(monkeypatch):
    words, header = random_words((13, 22), 100, 3), np.arange(100)
    whole = packets.pack(header, words, (13, 22), 32)
    monkeypatch.setattr(packets, "_CHUNK", 7)
    np.testing.assert_array_equal(packets.pack(header, words, (13, 22), 32), whole)
    np.testing.assert_array_equal(packets.unpack(whole, (13, 22))[1], words)


def test_a_request_carries_tag_code_and_the_functions_words():
    design = rail_design()
    arrays = {"q": np.array([[0.5]]), "v": np.array([[-1.0]]), "tau": np.array([[128.0]])}
    words = packets.encode(design, "fd", arrays)
    assert {name: int(word[0]) for name, word in words.items()} == {
        "q[0]": 1 << 18,
        "v[0]": -(1 << 18),
        "tau[0]": 1 << 14,
        "acceleration_given": 0,
        "inverse_given": 0,
    }
    packed = packets.requests(design, "fd", np.array([0x1ABCD]), words)
    payload = (1 << 18) | (((-1 << 18) % (1 << 20)) << 20) | (1 << 14) << 40
    assert as_integer(packed) == 0x0001ABCD | payload << 32


def test_numbers_beyond_a_word_saturate_outside_the_domain():
    design = rail_design()
    arrays = {"q": np.array([[0.0], [1e30]]), "v": np.zeros((2, 1)), "a": np.array([[-1e300], [0.0]])}
    status, _ = respond(design, "id", packets.encode(design, "id", arrays))
    assert (status & packets.OUTSIDE).tolist() == [1, 1]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_with_its_place(value):
    design = rail_design(bodies=2)
    arrays = {name: np.zeros((3, 2)) for name in ("q", "v", "a")}
    arrays["a"][2, 1] = value
    with pytest.raises(InputError) as refusal:
        packets.encode(design, "id", arrays)
    assert str(refusal.value) == f"array 'a', row 2, column 1: {value}; expected finite numbers"


def test_a_matrix_of_wrenches_names_both_columns():
    array = np.zeros((4, 2, 6))
    array[3, 1, 5] = np.nan
    with pytest.raises(InputError, match=r"^array 'fext', row 3, column 1, 5: nan; expected finite numbers$"):
        packets.check_finite("fext", array)


def turning_design():
    """Return the rail's design with its joint declared continuous and its position an angle that wraps."""
    design = rail_design()
    body = design.robot.bodies[0]
    robot = design.robot.with_bodies([replace(body, joint=replace(body.joint, kind=JointKind.CONTINUOUS))])
    word = Word("q[0]", "turn", 0, Format(19, 19))
    program = replace(design.programs[0], inputs=(word, *design.programs[0].inputs[1:]))
    turning = replace(design, robot=robot, domain=replace(design.domain, wraps=(True,)))
    return with_program(turning, program, 64)


def test_an_angle_without_limits_wraps():
    turns = np.array([0.0, 0.25, 0.5, -0.5, 0.75, 1.0 - 2.0**-21, 1e6 + 0.25, -3.125])
    arrays = {"q": 2 * np.pi * turns[:, np.newaxis], "v": np.zeros((8, 1)), "a": np.zeros((8, 1))}
    words = packets.encode(turning_design(), "id", arrays)["q[0]"]
    quarter, half = 1 << 17, 1 << 18
    assert words.tolist() == [0, quarter, -half, -half, -quarter, 0, quarter, -half // 4]


def test_a_huge_angle_keeps_its_sine():
    arrays = {"q": np.array([[1e15]]), "v": np.zeros((1, 1)), "a": np.zeros((1, 1))}
    angle = packets.encode(turning_design(), "id", arrays)["q[0]"] * 2.0 * np.pi / 2**19
    assert np.sin(angle) == pytest.approx(np.sin(1e15), abs=2**-17)


def test_output_words_become_arrays():
    design = rail_design(bodies=3)
    outputs = {
        "did": tuple(
            Word(f"did.{name}[{i},{j}]", "", 0, Format(20, 10))
            for name, i, j in (("dtau_dq", 0, 2), ("dtau_dq", 2, 1), ("dtau_dv", 1, 1))
        )
    }
    design = with_program(design, replace(design.programs[0], outputs=outputs))
    words = {word.name: np.array([1024 * k, -512]) for k, word in enumerate(outputs["did"], 1)}
    arrays = packets.decode(design, "did", words)
    expected = {"dtau_dq": np.zeros((2, 3, 3)), "dtau_dv": np.zeros((2, 3, 3))}
    expected["dtau_dq"][:, 0, 2] = [1.0, -0.5]
    expected["dtau_dq"][:, 2, 1] = [2.0, -0.5]
    expected["dtau_dv"][:, 1, 1] = [3.0, -0.5]
    assert list(arrays) == list(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(arrays[name], array)


def of_three(**outputs):
    """Return the design of three bodies with the output words named, each one step below one."""
    design = rail_design(bodies=3)
    words = {f: tuple(Word(name, "", 0, Format(20, 10)) for name in names) for f, names in outputs.items()}
    design = with_program(design, replace(design.programs[0], outputs=words))
    values = {
        f: {name: np.array([k, k + 1]) for k, name in enumerate(names, 1)} for f, names in outputs.items()
    }
    return design, values


def test_a_symmetric_matrix_is_whole_again():
    design, words = of_three(m=["m.M[0,0]", "m.M[2,0]", "m.M[2,1]"])
    (matrix,) = packets.decode(design, "m", words["m"]).values()
    expected = np.array([[1, 0, 2], [0, 0, 3], [2, 3, 0]]) / 1024
    np.testing.assert_array_equal(matrix[0], expected)
    assert matrix.shape == (2, 3, 3)


def test_other_matrices_are_not_mirrored():
    design, words = of_three(did=["did.dtau_dv[2,0]"])
    arrays = packets.decode(design, "did", words["did"])
    assert list(arrays) == ["dtau_dq", "dtau_dv"]
    assert np.argwhere(arrays["dtau_dv"]).tolist() == [[0, 2, 0], [1, 2, 0]]
    assert arrays["dtau_dq"].shape == (2, 3, 3)
    assert not arrays["dtau_dq"].any()


def test_optional_arrays_are_told_only_when_asked():
    design, words = of_three(dfd=["dfd.da_dq[0,1]", "dfd.Minv[1,0]", "dfd.a[2]"])
    short = {"dfd.da_dq[0,1]": words["dfd"]["dfd.da_dq[0,1]"]}
    assert list(packets.decode(design, "dfd", short)) == ["da_dq", "da_dv"]
    arrays = packets.decode(design, "dfd", words["dfd"], extended=True)
    assert {name: array.shape for name, array in arrays.items()} == {
        "da_dq": (2, 3, 3),
        "da_dv": (2, 3, 3),
        "Minv": (2, 3, 3),
        "a": (2, 3),
    }
    assert arrays["Minv"][0, 0, 1] == arrays["Minv"][0, 1, 0] == 2 / 1024
    assert arrays["a"][1].tolist() == [0.0, 0.0, 4 / 1024]


def supplied_design(number="fixed"):
    """Return two bodies; ``difd`` takes an inverse mass matrix, ``dfd`` a force in an acceleration's slot."""
    design = rail_design(bodies=2)
    names = ["q[0]", "a[0]", "tau[0]", "Minv[0,0]", "Minv[1,0]", "Minv[1,1]"]
    slots, widths = [0, 1, 1, 2, 3, 4], [30, 12, 14, 27, 20, 20]
    inputs = tuple(
        Word(name, "", 0, Format(width, 8), -(1 << width - 2), 1 << width - 2, slot)
        for name, slot, width in zip(names, slots, widths, strict=True)
    )
    outputs = {f: (Word(f"{f}.da_dq[0,0]", "", 0, Format(36, 8)),) for f in ("dfd", "difd")}
    program = replace(design.programs[0], inputs=inputs, outputs=outputs)
    return with_program(design, program, number=number)


def test_a_function_that_takes_no_words_is_answered():
    design = rail_design()
    operations = (
        *design.programs[0].operations,
        Operation(Kind.CONSTANT, (), Format(8, 2), Region("mass"), 77),
    )
    outputs = {"m": (Word("m.M[0,0]", "kg", len(operations) - 1, Format(8, 2)),)}
    program = replace(design.programs[0], operations=operations, inputs=(), outputs=outputs)
    design = with_program(design, program)
    words = packets.encode(design, "m", {"q": np.zeros((3, 1))})
    status, results = respond(design, "m", words)
    assert status.tolist() == [0, 0, 0]
    np.testing.assert_array_equal(packets.decode(design, "m", results)["M"], np.full((3, 1, 1), 19.25))
    asked = packets.requests(design, "m", np.arange(3), words)
    np.testing.assert_array_equal(asked[:, 0].view(np.uint32)[:, 0], [0x20000, 0x20001, 0x20002])


def supplied_arrays(tasks):
    return sample_of(tasks) | {"Minv": np.arange(4.0 * tasks).reshape(tasks, 2, 2)}


def sample_of(tasks):
    return {name: np.full((tasks, 2), k / 4) for k, name in enumerate(("q", "v", "a", "tau"), 1)}


def test_the_lower_triangle_travels_with_the_option():
    design, arrays = supplied_design(), supplied_arrays(2)
    assert list(packets.encode(design, "difd", arrays)) == ["q[0]", "a[0]", *FLAGS]
    words = packets.encode(design, "difd", arrays, extended=True)
    assert {name: values.tolist() for name, values in words.items()} == {
        "q[0]": [64, 64],
        "a[0]": [192, 192],
        "Minv[0,0]": [0, 1024],
        "Minv[1,0]": [512, 1536],
        "Minv[1,1]": [768, 1792],
        "acceleration_given": [1, 1],
        "inverse_given": [1, 1],
    }
    packed = packets.requests(design, "difd", np.array([7, 8]), words, extended=True)
    payload = 64 | 192 << 30 | 1024 << 44 | 1536 << 71 | 1792 << 91
    assert as_integer(packed[1]) == 8 | 6 << 16 | 1 << 21 | payload << 32


def test_a_word_fills_its_slot_with_its_sign():
    design = supplied_design()
    words = {"q[0]": np.array([1]), "a[0]": np.array([-1])}
    assert (
        as_integer(packets.requests(design, "difd", np.array([0]), words)) == 6 << 16 | 1 << 32 | 0x3FFF << 62
    )


def test_singles_travel_for_the_words_they_become():
    design = supplied_design("float32")
    arrays = sample_of(3) | {"q": np.array([[1.0, 0], [-0.001, 0], [3e38, 0]])}
    words = packets.encode(design, "dfd", arrays)
    assert words["q[0]"].tolist() == [256, 0, 2**31 - 1]
    assert words["tau[0]"].tolist() == [256] * 3
    packed = packets.requests(design, "dfd", np.arange(3), words)
    assert packed.shape == (3, 3, 4)
    singles = packed.view(np.float32)[:, 1:, 0]
    np.testing.assert_array_equal(singles, [[1.0, 1.0], [0.0, 1.0], [2.0**23, 1.0]])


def test_results_are_rounded_to_singles_in_packets_and_arrays():
    design = supplied_design("float32")
    values = {"dfd.da_dq[0,0]": np.array([2**24 + 1, -(2**35), 5, 0])}
    sent = packets.responses(design, "dfd", np.arange(4), np.zeros(4, np.int64), values)
    np.testing.assert_array_equal(
        sent.view(np.float32)[:, 1, 0], np.array([2**24, -(2**35), 5, 0], np.float32) / 256
    )
    words = packets.contents(design, "dfd", sent)[1]
    assert words["dfd.da_dq[0,0]"].tolist() == [2**24, -(2**35), 5, 0]
    for results in (values, words):
        arrays = packets.decode(design, "dfd", results)
        np.testing.assert_array_equal(arrays["da_dq"][:, 0, 0], sent.view(np.float32)[:, 1, 0])


def test_no_number_in_a_response_is_no_word():
    design = supplied_design("float32")
    sent = np.array([5 << 16, 0x7F800000, 5 << 16, 0x7FC00000], np.uint32).view(np.uint8).reshape(2, 2, 4)
    assert packets.contents(design, "dfd", sent)[1]["dfd.da_dq[0,0]"].tolist() == [0, 0]


def test_vectors_come_back_as_they_went():
    design = rail_design(bodies=3)
    arrays = sample(design.robot, design.domain, 20, np.random.default_rng(0))
    status, words = respond(design, "id", packets.encode(design, "id", arrays))
    assert not status.any()
    tau = packets.decode(design, "id", words)["tau"]
    np.testing.assert_allclose(tau, 2.5 * (arrays["a"] + 9.81), atol=0.02)


def test_mixed_functions_merge_and_part_again():
    design = rail_design(data_width=32)
    tags, rng = np.arange(9), np.random.default_rng(5)
    places = {"id": np.array([0, 3, 4, 8]), "fd": np.array([1, 2, 5, 6, 7])}
    sent = {}
    for function, where in places.items():
        (word,) = design.interface.outputs(function)
        values = {word.name: rng.integers(word.format.lowest, word.format.highest, len(where))}
        sent[function] = packets.responses(design, function, tags[where], tags[where] % 4, values)
    beats = packets.merge(places, sent)
    assert beats.data.shape == (18, 4)
    assert beats.last.tolist() == [False, True] * 9
    for function, answers in packets.answers(design, beats).items():
        np.testing.assert_array_equal(answers.places, places[function])
        np.testing.assert_array_equal(answers.packets, sent[function])
        assert answers.whole.all()
        status, _ = packets.contents(design, function, answers.packets)
        np.testing.assert_array_equal(status, places[function] % 4)


def test_responses_are_told_apart_by_their_option():
    design, values = of_three(dfd=["dfd.da_dq[0,1]", "dfd.Minv[1,0]", "dfd.a[2]"])
    tags, status = np.arange(2), np.zeros(2, np.int64)
    sent = {x: packets.responses(design, "dfd", tags, status, values["dfd"], x) for x in (False, True)}
    places = {False: np.array([0, 3]), True: np.array([1, 2])}
    beats = packets.merge(places, sent)
    assert beats.last.tolist() == [False, True, False, False, True, False, False, True, False, True]
    for extended in (False, True):
        answers = packets.answers(design, beats, extended)["dfd"]
        np.testing.assert_array_equal(answers.places, places[extended])
        np.testing.assert_array_equal(answers.packets, sent[extended])
        _, words = packets.contents(design, "dfd", answers.packets, extended)
        assert list(words) == list(values["dfd"])[: 3 if extended else 1]
        for name, values_found in words.items():
            np.testing.assert_array_equal(values_found, values["dfd"][name])


def test_a_response_of_the_wrong_length_is_not_whole():
    """The second lacks a beat; the fourth has a surplus beat, which is not taken for a response."""
    design = rail_design(data_width=32)
    words = {design.interface.outputs("id")[0].name: np.arange(4)}
    sent = packets.responses(design, "id", np.arange(4), np.zeros(4, np.int64), words)
    data = np.vstack([np.delete(sent.reshape(8, 4), 3, axis=0), sent[0, 1]])
    beats = packets.Beats(data, np.array([False, True, True, False, True, False, False, True]))
    answers = packets.answers(design, beats)
    assert answers["id"].whole.tolist() == [True, False, True, False]
    np.testing.assert_array_equal(answers["id"].packets[[0, 2]], sent[[0, 2]])
    assert not answers["id"].packets[[1, 3]].any()
    assert len(answers["fd"].places) == 0


def test_no_beats_no_answers():
    design = rail_design()
    beats = packets.Beats(np.zeros((0, 8), np.uint8), np.zeros(0, np.bool_))
    for function, answers in packets.answers(design, beats).items():
        status, words = packets.contents(design, function, answers.packets)
        assert len(answers.places) == len(status) == 0
        assert [word.shape for word in words.values()] == [(0,)]
    assert packets.encode(design, "id", {name: np.zeros((0, 1)) for name in "qva"})["q[0]"].shape == (0,)
