"""Toggles of the Verilog at work, and the power that is estimated from them."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rbdhw.design.folder import read, write
from rbdhw.domain.strata import draw
from rbdhw.errors import InputError
from rbdhw.model.packets import encode, merge, requests
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.robots import path
from rbdhw.sim.power import measure_power
from rbdhw.sim.saif import read_saif

TASKS = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("power") / "toy"
    write(generate(path("toy"), BuildOptions(("id", "m"), ii=2, width=18, samples=256)), folder)
    return folder


@pytest.fixture(scope="module")
def saif(folder: Path) -> Path:
    return folder.parent / "id.saif"


@pytest.fixture(scope="module")
def report(folder: Path, saif: Path):
    return measure_power(folder, "id", TASKS, seed=3, saif=saif)


@pytest.mark.usefixtures("report")
def test_the_bits_of_requests_toggle_as_the_packets_say(folder: Path, saif: Path) -> None:
    """Counted from the packets, without a simulator: a beat stays on the port until the next one."""
    design = read(folder)
    drawn = draw(design.robot, design.domain, TASKS, np.random.default_rng(3), design.fext)
    words = encode(design, "id", drawn.of("id"))
    places = np.arange(TASKS)
    beats = merge({"id": places}, {"id": requests(design, "id", places, words)})
    bits = np.unpackbits(beats.data, axis=1, bitorder="little").astype(int)
    expected = np.abs(np.diff(bits, axis=0, prepend=0)).sum(axis=0)
    matches = re.findall(r"\(s_axis_tdata\\\[(\d+)\\\] .*\(TC (\d+)\)\)", saif.read_text())
    counted = {int(bit): int(count) for bit, count in matches}
    assert [counted[bit] for bit in range(len(expected))] == list(expected)


def test_regions_are_those_of_the_manifest(folder: Path, report) -> None:
    regions = {name.removeprefix("core/") for name in report.regions if name.startswith("core/")}
    assert {entry.name for entry in read(folder).description.regions if entry.multipliers} <= regions
    assert report.regions["core/rnea_backward_1"].toggles > 10 * report.regions["completion_m"].toggles


def test_toggles_of_a_region_are_those_of_its_bits_in_a_cycle(report, saif: Path) -> None:
    activity = read_saif(saif)
    (top,) = activity.children(("TOP",))
    bits, toggles = activity.within((*top, "completion_m"))
    assert report.regions["completion_m"].bits == bits
    assert report.regions["completion_m"].toggles * bits * report.cycles == pytest.approx(toggles)


@pytest.mark.verify
def test_a_reader_of_expressions_finds_the_same_toggles(report, saif: Path) -> None:
    """SAIF is nested lists. The times of each bit add up to the duration, the toggles to the region's."""
    lists = re.sub(r"[^\s()]+", lambda word: json.dumps(word[0]), re.sub(r"^//.*", "", saif.read_text()))
    lists = re.sub(r'(?<=[)"])\s*(?=[("])', ",", lists).replace("(", "[").replace(")", "]")
    _, *entries = json.loads(lists)
    duration = next(int(entry[1]) for entry in entries if entry[0] == "DURATION")
    toggles: Counter[str] = Counter()

    def walk(instance: list, module: str) -> None:
        for kind, *content in instance:
            if kind == "INSTANCE":
                walk(content[1:], module if module == "completion_m" else content[0])
            for _, *counts in content if kind == "NET" else ():
                count = {name: int(value) for name, value in counts}
                assert sum(count[name] for name in ("T0", "T1", "TZ", "TX", "TB")) == duration
                toggles[module] += count["TC"]

    walk([entry for entry in entries if entry[0] == "INSTANCE"], "")
    region = report.regions["completion_m"]
    assert toggles["completion_m"] == pytest.approx(region.toggles * region.bits * report.cycles)


def test_a_seed_gives_the_same_energy_again(folder: Path, report) -> None:
    assert measure_power(folder, "id", TASKS, seed=3) == report
    assert measure_power(folder, "id", TASKS, seed=4) != report


def test_the_first_function_is_measured_by_default(folder: Path, report) -> None:
    assert measure_power(folder, tasks=TASKS, seed=3) == report


def test_other_functions_leave_the_regions_of_one_quiet(folder: Path, report) -> None:
    """``m`` leaves most of the hardware for ``id`` idle."""
    other = measure_power(folder, "m", TASKS, seed=3)
    assert other.regions["core/rnea_backward_1"].toggles < report.regions["core/rnea_backward_1"].toggles


def test_instances_and_nets_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "hand.saif"
    file.write_text(
        "(SAIFILE\n(DURATION 10)\n(INSTANCE TOP\n(NET\n(clk (T0 5) (T1 5) (TX 0) (TC 9))\n)\n"
        "(INSTANCE a\n(NET\n(x\\[0\\] (T0 1) (TC 3))\n(x\\[1\\] (T0 1) (TC 4))\n)\n"
        "(INSTANCE b\n(NET\n(y (T0 1) (TC 7))\n)\n)\n)\n"
        "(INSTANCE c\n(NET\n(z (T0 1) (TC 0))\n)\n)\n)\n)\n"
    )
    activity = read_saif(file)
    assert activity.within(("TOP",)) == (5, 23)
    assert activity.within(("TOP", "a")) == (3, 14)
    assert activity.within(("TOP", "a", "b")) == (1, 7)
    assert activity.children(("TOP",)) == [("TOP", "a"), ("TOP", "c")]


@pytest.mark.parametrize(
    ("arguments", "where"),
    [({"function": "fd"}, "function"), ({"tasks": 0}, "tasks"), ({"seed": -1}, "seed")],
)
def test_bad_input(folder: Path, arguments, where: str) -> None:
    with pytest.raises(InputError) as refused:
        measure_power(folder, **arguments)
    assert refused.value.where == where
