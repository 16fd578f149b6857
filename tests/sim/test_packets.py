"""Arrays, words and packets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rbdhw.domain import sample
from rbdhw.errors import InputError
from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.robot.model import JointKind
from rbdhw.sim import packets
from rbdhw.sim.model import respond
from tests.designs import rail_design


def as_integer(packet):
    return int.from_bytes(packet.tobytes(), "little")


def random_words(widths, tasks, seed):
    rng = np.random.default_rng(seed)
    return [rng.integers(-(2 ** (w - 1)), 2 ** (w - 1), tasks) for w in widths]


@pytest.mark.parametrize("data_width", [32, 64, 128, 256, 512])
@pytest.mark.parametrize("widths", [(), (16,), (7, 63, 1, 20), (18,) * 21])
def test_packing_is_undone_by_unpacking(data_width, widths):
    words = random_words(widths, 50, data_width)
    header = np.random.default_rng(1).integers(0, 2**32, 50)
    packed = packets.pack(header, words, widths, data_width)
    assert packed.shape == (50, -(-(32 + sum(widths)) // data_width), data_width // 8)
    back, values = packets.unpack(packed, widths)
    np.testing.assert_array_equal(back, header)
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
    assert str(refusal.value) == f"array 'a': row 2, column 1: {value}; expected finite numbers"


def test_a_matrix_of_wrenches_names_both_columns():
    array = np.zeros((4, 2, 6))
    array[3, 1, 5] = np.nan
    with pytest.raises(InputError, match=r"^array 'fext': row 3, column 1, 5: nan; expected finite numbers$"):
        packets.check_finite("fext", array)


def turning_design():
    """The rail's design with its joint called continuous and its position an angle that wraps."""
    design = rail_design()
    body = design.robot.bodies[0]
    robot = design.robot.with_bodies([replace(body, joint=replace(body.joint, kind=JointKind.CONTINUOUS))])
    word = Word("q[0]", "turn", 0, Format(19, 19))
    program = replace(design.program, inputs=(word, *design.program.inputs[1:]))
    return replace(design, robot=robot, program=program, domain=replace(design.domain, wraps=(True,)))


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
    design = replace(design, program=replace(design.program, outputs=outputs))
    words = {word.name: np.array([1024 * k, -512]) for k, word in enumerate(outputs["did"], 1)}
    arrays = packets.decode(design, "did", words)
    expected = {"dtau_dq": np.zeros((2, 3, 3)), "dtau_dv": np.zeros((2, 3, 3))}
    expected["dtau_dq"][:, 0, 2] = [1.0, -0.5]
    expected["dtau_dq"][:, 2, 1] = [2.0, -0.5]
    expected["dtau_dv"][:, 1, 1] = [3.0, -0.5]
    assert list(arrays) == list(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(arrays[name], array)


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
        (word,) = design.outputs(function)
        values = {word.name: rng.integers(word.format.lowest, word.format.highest, len(where))}
        sent[function] = packets.responses(design, function, tags[where], tags[where] % 4, values)
    beats = packets.merged(places, sent)
    assert beats.data.shape == (18, 4)
    assert beats.last.tolist() == [False, True] * 9
    for function, answers in packets.answers(design, beats).items():
        np.testing.assert_array_equal(answers.places, places[function])
        np.testing.assert_array_equal(answers.packets, sent[function])
        assert answers.whole.all()
        status, _ = packets.contents(design, function, answers.packets)
        np.testing.assert_array_equal(status, places[function] % 4)


def test_a_response_of_the_wrong_length_is_not_whole():
    design = rail_design(data_width=32)
    words = {design.outputs("id")[0].name: np.arange(3)}
    sent = packets.responses(design, "id", np.arange(3), np.zeros(3, np.int64), words)
    data = np.delete(sent.reshape(6, 4), 3, axis=0)
    beats = packets.Beats(data, np.array([False, True, True, False, True]))
    answers = packets.answers(design, beats)
    assert answers["id"].whole.tolist() == [True, False, True]
    np.testing.assert_array_equal(answers["id"].packets[[0, 2]], sent[[0, 2]])
    assert not answers["id"].packets[1].any()
    assert len(answers["fd"].places) == 0


def test_no_beats_no_answers():
    design = rail_design()
    beats = packets.Beats(np.zeros((0, 8), np.uint8), np.zeros(0, np.bool_))
    for function, found in packets.answers(design, beats).items():
        status, words = packets.contents(design, function, found.packets)
        assert len(found.places) == len(status) == 0
        assert [word.shape for word in words.values()] == [(0,)]
    assert packets.encode(design, "id", {name: np.zeros((0, 1)) for name in "qva"})["q[0]"].shape == (0,)
