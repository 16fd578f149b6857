"""A client written only from ``docs/interface.md`` and the manifest communicates with the Verilog."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rbdhw.design.folder import Design, read, write
from rbdhw.domain.strata import ordinary_motions
from rbdhw.golden.evaluation import evaluate
from rbdhw.model.packets import decode, encode, responses
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.protocol import DEFAULT_FUNCTIONS, FUNCTIONS
from rbdhw.robots import path
from rbdhw.verilator import bulk
from rbdhw.verilator.simulator import Disturbance
from tests.support.documents import client_of
from tests.support.marks import long

PAGE = Path(__file__).parents[2] / "docs" / "interface.md"

ARM = """
<robot name="arm">
  <link name="base"/>
  {links}
  <joint name="a_lift" type="prismatic"><parent link="base"/><child link="lift"/><axis xyz="0 0 1"/>
    <limit lower="-0.4" upper="0.5" velocity="1" effort="60"/></joint>
  <joint name="b_elbow" type="continuous"><parent link="lift"/><child link="elbow"/>
    <origin xyz="0.1 0 0.2"/><axis xyz="0 1 0"/><limit velocity="3" effort="20"/></joint>
  <joint name="c_other" type="revolute"><parent link="base"/><child link="other"/>
    <axis xyz="1 0 0"/><limit lower="-1" upper="1" velocity="2" effort="9"/></joint>
</robot>
"""
LINK = """<link name="{name}"><inertial><origin xyz="0.02 0.01 0.15"/><mass value="{mass}"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.01" ixy="0.001" ixz="0" iyz="0.002"/></inertial></link>"""

MALFORMED, NOT_FINITE = 4, 8


@dataclass(frozen=True)
class Answer:
    tag: int
    function: str | None
    status: int
    values: dict[str, float]
    beats: int
    cycle: int
    came: int


@dataclass(frozen=True)
class Device:
    """A design in Verilator and its client."""

    design: Design
    simulator: Path
    client: Any

    def talk(self, packets: list[list[int]], traffic: Disturbance | None = None) -> list[Answer]:
        """Return the responses, with the cycles of their last beats, and those in which requests began."""
        size = self.client.stream["tdata_width"] // 8
        beats = [beat for packet in packets for beat in packet]
        data = np.frombuffer(b"".join(beat.to_bytes(size, "little") for beat in beats), np.uint8)
        last = [k == len(packet) - 1 for packet in packets for k in range(len(packet))]
        requests = SimpleNamespace(data=data.reshape(-1, size), last=np.array(last))
        (told,) = bulk.exchange(self.simulator, [requests], traffic or Disturbance())  # type: ignore[list-item]
        assert told.violations == 0
        starts = np.concatenate([[0], np.flatnonzero(last)[:-1] + 1])
        came = {k: int(told.sent[start]) for k, start in enumerate(starts)}
        answers, packet = [], []
        for row, end, cycle in zip(told.responses.data, told.responses.last, told.taken, strict=True):
            packet.append(int.from_bytes(row.tobytes(), "little"))
            if end:
                tag, function, status, values = self.client.answer(packet)
                answers.append(
                    Answer(tag, function, status, values, len(packet), int(cycle), came.get(tag, 0))
                )
                packet = []
        return answers


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("arm") / "arm.urdf"
    masses = {"lift": 3, "elbow": 2, "other": 1.5}
    links = "".join(LINK.format(name=name, mass=mass) for name, mass in masses.items())
    file.write_text(ARM.format(links=links))
    return file


def device(arm: Path, **options: Any) -> Device:
    folder = arm.with_name(options.get("number", "fixed"))
    write(generate(arm, BuildOptions(width=24, samples=256, **options)), folder)
    return Device(read(folder), bulk.build(folder), client_of(folder))


@pytest.fixture(scope="module")
def fixed(arm: Path) -> Device:
    return device(arm, functions=DEFAULT_FUNCTIONS, ii=1, data_width=32)


@pytest.fixture(scope="module")
def singles(arm: Path) -> Device:
    return device(arm, functions=("id", "difd"), ii=2, data_width=64, number="float32", priority=("difd",))


SMALL = 0.05
"""The share of the bounds of forces that tasks have."""


def any_value(word: dict[str, Any], rng: np.random.Generator) -> float:
    """Return a value within the word's bounds; forces are small, so that they throw nothing."""
    step = 2.0 ** -word["binary_point"]
    if "lowest" not in word:
        return float(rng.uniform(-0.5, 0.5))
    share = SMALL if word["name"].startswith("tau") else 1.0
    return share * float(rng.uniform(word["lowest"] * step, word["highest"] * step))


def tasks_of(device: Device, count: int, seed: int) -> list[tuple[str, bool, dict[str, float]]]:
    """Return functions in turn, options and values; ``difd`` gets the correct inverse mass matrix."""
    rng = np.random.default_rng(seed)
    client, tasks = device.client, []
    for k in range(count):
        function = device.design.functions[k % len(device.design.functions)]
        extended = function in ("dfd", "difd") and bool(rng.integers(2))
        values = {word["name"]: any_value(word, rng) for word in client.manifest["inputs"][function]}
        if extended and function == "difd":
            inverse = evaluate(device.design.robot, "minv", arrays_of(device, values, rng))["Minv"][0]
            words = client.manifest["optional_inputs"]["difd"]
            values |= {word["name"]: float(inverse[index_of(word["name"])]) for word in words}
        tasks.append((function, extended, values))
    return tasks


def index_of(name: str) -> tuple[int, ...]:
    return tuple(int(k) for k in name.partition("[")[2].rstrip("]").split(","))


def arrays_of(device: Device, values: dict[str, float], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the arrays of these values; coordinates that are not sent are arbitrary."""
    robot = device.design.robot
    arrays = {name: rng.normal(size=(1, robot.nv)) for name in ("q", "v", "a", "tau")}
    units = {
        word["name"]: word["unit"] for words in device.client.manifest["inputs"].values() for word in words
    }
    for name, value in values.items():
        array = name.partition("[")[0]
        if array in arrays:
            arrays[array][0, index_of(name)[0]] = value * (2 * np.pi if units[name] == "turn" else 1.0)
    return arrays


def expected_of(
    device: Device, function: str, extended: bool, values: dict[str, float]
) -> dict[str, np.ndarray]:
    """Return the golden model's results."""
    robot, arrays = device.design.robot, arrays_of(device, values, np.random.default_rng(1))
    results = dict(evaluate(robot, function, arrays))
    if function == "dfd" and extended:
        results |= evaluate(robot, "minv", arrays) | evaluate(robot, "fd", arrays)
    return {name: result[0] for name, result in results.items()}


def results_of(values: dict[str, float], nv: int) -> dict[str, np.ndarray]:
    """Return arrays from a response's words: other entries are zero, and symmetric matrices are completed."""
    results: dict[str, np.ndarray] = defaultdict(lambda: np.zeros((nv, nv)))
    for name, value in values.items():
        array, index = name.partition("[")[0].partition(".")[2], index_of(name)
        if len(index) == 1:
            results.setdefault(array, np.zeros(nv))
        results[array][index] = value
        if array in ("M", "Minv"):
            results[array][index[::-1]] = value
    return results


@pytest.mark.parametrize("name", ["fixed", long("singles")])
@pytest.mark.parametrize(
    "traffic", [long(Disturbance()), Disturbance(0.3, 0.5, 3)], ids=["steady", "disturbed"]
)
def test_a_client_of_the_page_gets_the_right_answers(name, traffic, request):
    device = request.getfixturevalue(name)
    tasks = tasks_of(device, 84, seed=5)
    packets = [device.client.request(f, k, values, x) for k, (f, x, values) in enumerate(tasks)]
    answers = device.talk(packets, traffic)
    assert sorted(answer.tag for answer in answers) == list(range(len(tasks)))
    good = 0
    for answer in answers:
        function, extended, values = tasks[answer.tag]
        assert answer.function == function
        assert not answer.status & (MALFORMED | NOT_FINITE)
        if answer.status:
            continue
        good += 1
        expected = expected_of(device, function, extended, values)
        results = results_of(answer.values, len(device.design.robot.joints))
        assert set(results) == set(expected)
        for array, result in expected.items():
            assert np.linalg.norm(results[array] - result) <= 5e-3 * np.linalg.norm(result), (function, array)
    assert good > 0.9 * len(tasks)
    for function in device.design.functions:
        tags = [answer.tag for answer in answers if answer.function == function]
        assert tags == sorted(tags)


def test_structure_is_left_out_and_units_are_those_of_the_joints(fixed):
    """There are two limbs, lift and elbow in one of them. Nothing depends on the lift's position."""
    manifest = fixed.client.manifest
    units = {word["name"]: word["unit"] for words in manifest["outputs"].values() for word in words}
    assert not [name for name in units if re.search(r"\[2,[01]\]|\[[01],2\]", name)]
    assert not [name for name in units if "_dq" in name and name.endswith(",0]")]
    assert "q[0]" not in {word["name"] for words in manifest["inputs"].values() for word in words}
    assert [units[f"id.tau[{k}]"] for k in range(3)] == ["N", "Nm", "Nm"]
    assert (units["m.M[0,0]"], units["m.M[1,0]"], units["m.M[1,1]"]) == ("kg", "kg m", "kg m^2")
    assert (units["minv.Minv[0,0]"], units["minv.Minv[1,0]"]) == ("1/kg", "1/(kg m)")
    assert (units["did.dtau_dq[0,1]"], units["did.dtau_dq[1,1]"]) == ("N/rad", "Nm/rad")
    assert (units["did.dtau_dv[0,1]"], units["dfd.da_dv[0,1]"]) == ("N s/rad", "m/(rad s)")
    optional = {word["name"]: word["unit"] for word in manifest["optional_inputs"]["difd"]}
    assert optional["Minv[1,1]"] == "1/(kg m^2)"


def test_the_tables_of_the_page_are_the_units_of_the_manifest(fixed):
    """Each unit of a word is in the page's row of its array."""
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.read_text(), re.MULTILINE))
    manifest = fixed.client.manifest
    kinds = [coordinate["unit"] == "m/s" for coordinate in manifest["coordinates"]["v"]]
    for words in (*manifest["inputs"].values(), *manifest["outputs"].values()):
        for word in words:
            array = word["name"].partition("[")[0].rpartition(".")[2]
            cells, index = rows[array].split(" | "), index_of(word["name"])
            places = [kinds[k] for k in index]
            assert word["unit"] == cells[places[0] if len(index) == 1 else 2 * places[0] + places[1]]


@pytest.mark.parametrize("name", ["fixed", long("singles")])
def test_bits_behind_the_last_slot_are_ignored(name, request):
    device = request.getfixturevalue(name)
    client, size = device.client, device.client.stream["tdata_width"]
    for function, _, values in tasks_of(device, len(device.design.functions), seed=2):
        slots = max(word["slot"] + 1 for word in client.manifest["inputs"][function])
        used = 32 + sum(32 if client.singles else width for width in client.stream["slots"][:slots])
        *whole, last = client.request(function, 1, values)
        rest = (1 << size) - (1 << (used - 1) % size + 1)
        first, second = device.talk([[*whole, last], [*whole, last | rest]])
        assert first.status == second.status == 0
        assert first.values == second.values


def malformed(client: Any, functions: Sequence[str]) -> list[tuple[list[int], str | None, int]]:
    """Return malformed packets, the function of each response, and the repeated options."""
    rng = np.random.default_rng(9)
    bits = client.stream["tdata_width"]
    packets: list[tuple[list[int], str | None, int]] = []
    for function in functions:
        values = {word["name"]: any_value(word, rng) for word in client.manifest["inputs"][function]}
        good = client.request(function, 0, values)
        packets += [(good + [0] * more, function, 0) for more in (1, 2, 30)]
        packets += [(good[:-less], function, 0) for less in range(1, len(good))]
        packets += [([good[0] | 1 << bit, *good[1:]], function, 0) for bit in range(24, 32)]
        options = [4, 5] + [1] * (not FUNCTIONS[function].extensible)
        packets += [([good[0] | option << 21, *good[1:]], function, option) for option in options]
        # Codes above 31.
        packets += [([good[0] | option << 21, *good[1:]], None, option) for option in (2, 7)]
    difd = client.request("difd", 0, {w["name"]: 0.1 for w in client.manifest["inputs"]["difd"]})
    packets.append(([difd[0] | 1 << 21, *difd[1:]], "difd", 1))
    for code, more, options in product((7, 15, 31), (0, 1, 40), (0, 5)):
        header = code << 16 | options << 21
        packets.append(([header, *[(1 << bits) - 1] * more], None, options))
    return packets


@pytest.mark.parametrize("name", ["fixed", long("singles")])
def test_malformed_packets_are_answered_as_the_page_says(name, request):
    """Each is between two valid packets, whose responses it does not change."""
    device = request.getfixturevalue(name)
    client, (_, _, values) = device.client, tasks_of(device, 1, seed=3)[0]
    cases = malformed(client, device.design.functions)
    packets = []
    for k, (packet, _, _) in enumerate(cases):
        tagged = [packet[0] & ~0xFFFF | 2 * k + 1, *packet[1:]]
        packets += [client.request("id", 2 * k, values), tagged]
    answers = {answer.tag: answer for answer in device.talk(packets)}
    assert len(answers) == len(packets)
    (right,) = {tuple(answers[2 * k].values.items()) for k in range(len(cases))}
    assert {answers[2 * k].status for k in range(len(cases))} == {0}
    assert dict(right) != dict.fromkeys(dict(right), 0.0)
    for k, (_, function, options) in enumerate(cases):
        answer = answers[2 * k + 1]
        assert (answer.function, answer.status) == (function, MALFORMED)
        extended = bool(options & 1) and function is not None and FUNCTIONS[function].extensible
        words = client._words("outputs", function, extended) if function else []
        assert answer.values == {word["name"]: 0.0 for word in words}
        widths = [32 if client.singles else word["width"] for word in words]
        assert answer.beats == -(-(32 + sum(widths)) // client.stream["tdata_width"])


@pytest.mark.verify
@pytest.mark.parametrize("bad", [float("inf"), float("-inf"), float("nan"), 1e-40])
def test_singles_that_are_no_numbers_are_answered_as_the_page_says(singles, bad):
    client = singles.client
    for function, extended, values in tasks_of(singles, 2, seed=4):
        for word in client.manifest["inputs"][function]:
            (answer,) = singles.talk([client.request(function, 7, values | {word["name"]: bad}, extended)])
            assert (answer.tag, answer.function, answer.status) == (7, function, NOT_FINITE)
            assert set(answer.values.values()) == {0.0}


def test_words_outside_their_bounds_are_flagged(fixed):
    client = fixed.client
    for function, _, values in tasks_of(fixed, len(DEFAULT_FUNCTIONS), seed=6):
        for word in client.manifest["inputs"][function]:
            for bound, by in (("highest", 1), ("lowest", -1)):
                if bound in word:
                    step = 2.0 ** -word["binary_point"]
                    beyond = {word["name"]: (word[bound] + by) * step}
                    within = {word["name"]: word[bound] * step}
                    outside, inside = fixed.talk(
                        [
                            client.request(function, 1, values | beyond),
                            client.request(function, 2, values | within),
                        ]
                    )
                    assert (outside.status & 1, inside.status & 1) == (1, 0)


def test_the_client_refuses_numbers_that_do_not_fit_their_slots(fixed):
    (function, _, values), *_ = tasks_of(fixed, 1, seed=6)
    bounded = [word for word in fixed.client.manifest["inputs"][function] if "lowest" in word]
    for word in bounded:
        for value in (1e9, -1e9, float("nan")):
            with pytest.raises(ValueError, match=r"does not fit its slot|NaN"):
                fixed.client.request(function, 1, values | {word["name"]: value})
    assert bounded


@pytest.mark.parametrize("name", ["fixed", long("singles")])
def test_a_function_alone_is_answered_at_the_pace_of_the_manifest(name, request):
    device = request.getfixturevalue(name)
    manifest, tasks = device.client.manifest, tasks_of(device, len(device.design.functions), seed=7)
    for function, _, values in tasks:
        packets = [device.client.request(function, k, values) for k in range(80)]
        answers = device.talk(packets)
        pace = manifest["functions"][function]["cycles_per_task"]
        assert pace == max(manifest["ii"], len(packets[0]), answers[0].beats)
        assert answers[-1].cycle - answers[40].cycle == 39 * pace


def test_short_answers_do_not_wait_for_many_long_ones(fixed):
    """Requests of all functions have no pauses; responses share the output in rounds."""
    tasks = tasks_of(fixed, 70, seed=8)
    rng = np.random.default_rng(1)
    chosen = [tasks[k] for k in rng.integers(len(tasks), size=3000)]
    packets = [fixed.client.request(f, k, values, x) for k, (f, x, values) in enumerate(chosen)]
    answers = fixed.talk(packets)
    manifest = fixed.client.manifest
    waits: dict[str, list[int]] = defaultdict(list)
    for answer in answers:
        waits[str(answer.function)].append(answer.cycle - answer.came)
    longest = max(answer.beats for answer in answers)
    for function in ("id", "fd"):
        least = manifest["functions"][function]["latency_cycles"]
        assert least <= min(waits[function])
        assert median(waits[function]) <= least + longest
        assert max(waits[function]) <= least + 4 * longest
    cycles = max(answer.cycle for answer in answers) - min(answer.came for answer in answers)
    means = [sum(len(packet) for packet in packets), sum(answer.beats for answer in answers)]
    assert max(means) <= cycles <= 1.02 * max(means)


@pytest.mark.usefixtures("only_heading")
@pytest.mark.parametrize("number", [long("fixed"), "float32"])
def test_a_client_of_the_page_fills_tensors(tmp_path, number):
    """Elements that share a word and mirror images are found by the manifest and the page alone."""
    options = {"ii": 4, "width": 24, "samples": 256, "number": number}
    write(generate(path("toy"), BuildOptions(("sid", "hid"), **options)), tmp_path / "design")
    client, model = client_of(tmp_path / "design"), read(tmp_path / "design")
    rng = np.random.default_rng(11)
    for function in ("sid", "hid"):
        arrays = ordinary_motions(model.robot, model.domain, 5, rng)
        words = encode(model, function, arrays)
        status, results = respond(model, function, words)
        expected = decode(model, function, results)
        packets = responses(model, function, np.arange(5), status, results)
        for k, packet in enumerate(packets):
            beats = [int.from_bytes(beat.tobytes(), "little") for beat in packet]
            tag, name, _, values = client.answer(beats)
            assert (tag, name) == (k, function)
            assert len(values) > len(results)
            tensors = {
                array: tensor_of(values, f"{function}.{array}", reference[k])
                for array, reference in expected.items()
            }
            for array, reference in expected.items():
                np.testing.assert_array_equal(tensors[array], reference[k], err_msg=array)


SYMMETRIC_AXES = {"d2tau_dqdq": (1, 2), "d2tau_dvdv": (1, 2), "dM_dq": (0, 1), "H_qq": (0, 1), "H_vv": (0, 1)}


def tensor_of(values: dict[str, float], name: str, like: np.ndarray) -> np.ndarray:
    """Return an array from the elements of an answer; the others mirror them or are zero."""
    tensor = np.zeros_like(like)
    axes = SYMMETRIC_AXES.get(name.partition(".")[2])
    for index in np.ndindex(like.shape):
        mirror = list(index)
        if axes:
            mirror[axes[0]], mirror[axes[1]] = mirror[axes[1]], mirror[axes[0]]
        texts = [f"{name}[{','.join(map(str, indices))}]" for indices in (index, mirror)]
        tensor[index] = next((values[text] for text in texts if text in values), 0.0)
    return tensor
