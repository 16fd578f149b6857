"""The report's page: its sections by kind of folder, its numbers, and that nothing outside belongs to it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import rbdhw
from rbdhw.design.folder import Design, write
from rbdhw.errors import InputError
from rbdhw.options.arguments import asked_build
from rbdhw.page.contents import TITLES, short
from rbdhw.pipeline import generate, generate_software
from rbdhw.robots import path
from rbdhw.software.folder import write as write_software
from rbdhw.target import TARGETS
from tests.support.marks import long

pytestmark = pytest.mark.usefixtures("without_verilog")

HARDWARE: dict[str, dict[str, Any]] = {
    "pipeline": {"functions": "id,did", "ii": 4},
    "every cycle": {"functions": "id", "ii": 1, "base": "floating"},
    "array": {"functions": "id,fd", "ii": 32, "core": "array", "target": "ecp5-85"},
    "chain": {"functions": "fd", "ii": 6, "core": "chain"},
    "loop": {"functions": "rk4", "ii": 4, "share_stages": "loop"},
    "several cores": {"functions": "id,fd", "cores": "id:1 fd:4*2"},
    "rollout": {"functions": "rollout,fd", "ii": 4, "rollout": "samples,cost,gains"},
    "parameters": {"functions": "m", "ii": 4, "parameters": "payload", "parameters_by": "load", "streams": 2},
    "floats": {"functions": "id", "ii": "auto", "number": "float32", "bandwidth": 2.0},
}
SOFTWARE = ("c", "cuda")
LONG = ("every cycle", "chain", "cuda")
OF_HARDWARE = [long(kind) if kind in LONG else kind for kind in HARDWARE]
KINDS = [*OF_HARDWARE, *(long(kind) if kind in LONG else kind for kind in SOFTWARE)]
OF_SOFTWARE = {"functions", "robot", "choices", "remarks", "commands"}
NAME = 'a<b>&"c" \u202e\x85d'
"""A name with markup and with characters that do not print."""

SLIDER = """\
<robot name="slider">
  <link name="rail"/>
  <link name="cart">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="along" type="prismatic">
    <parent link="rail"/><child link="cart"/><limit lower="-1" upper="1" velocity="1" effort="10"/>
  </joint>
</robot>
"""

VOID = {"br", "meta", "path", "use", "rect"}


class Page(HTMLParser):
    """A page: the text of each row of a table by section, the ids, and what it refers to.

    Tags that do not match are refused.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.open, self.ids, self.refers = text, [], [], []
        self.section, self.rows = "", {}
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        values = dict(attributes)
        assert len(values) == len(attributes), self.get_starttag_text()
        self.ids += [values["id"]] if "id" in values else []
        self.refers += [values[name] for name in ("href", "src", "xlink:href") if name in values]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self.section = values["id"]
            self.rows[self.section] = []
        if tag == "tr":
            self.rows[self.section].append([])
        if tag in ("td", "th"):
            self.rows[self.section][-1].append("")

    def handle_startendtag(self, tag: str, attributes: Any) -> None:
        assert tag in VOID, tag
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.rows[self.section][-1][-1] += data

    def row(self, section: str, first: str) -> list[str]:
        (row,) = (cells for cells in self.rows[section] if cells[0].strip() == first)
        return [" ".join(cell.split()) for cell in row]


class Made(dict[str, Any]):
    """Things by kind, each of which is made when it is first asked for."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, kind: str) -> Any:
        self[kind] = self.make(kind)
        return self[kind]


def design(urdf: Path, **given: Any) -> Design:
    """The design of an accelerator, with few random tasks."""
    options, overrides = asked_build(width=18, **given)
    return generate(urdf, replace(options, samples=256), overrides)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each kind."""

    def make(kind: str) -> Path:
        folder = tmp_path_factory.mktemp("page") / kind
        if kind in HARDWARE:
            write(design(path("toy"), **HARDWARE[kind]), folder)
        else:
            options, _ = asked_build(functions="id,fd", target=kind)
            write_software(generate_software(path("toy"), options), folder)
        return folder

    return Made(make)


@pytest.fixture(scope="module")
def pages(folders: dict[str, Path]) -> dict[str, Page]:
    return Made(lambda kind: Page(rbdhw.report(folders[kind]).read_text()))


@pytest.fixture(scope="module")
def manifests(folders: dict[str, Path]) -> dict[str, Any]:
    return Made(lambda kind: json.loads((folders[kind] / "manifest.json").read_text()))


@pytest.mark.parametrize("kind", KINDS)
def test_sections(pages: dict[str, Page], manifests: dict[str, Any], kind: str) -> None:
    expected = set(TITLES) if kind in HARDWARE else set(OF_SOFTWARE)
    expected.discard("study")
    if not manifests[kind]["remarks"]:
        expected.discard("remarks")
    assert list(pages[kind].rows) == [name for name in TITLES if name in expected]
    links = [target for target in pages[kind].refers if target[1:] in TITLES]
    assert links == [f"#{name}" for name in pages[kind].rows]


def test_steps_of_a_core_are_told_with_their_modules(pages: dict[str, Page]) -> None:
    """The first step of the recursion has a module for each joint."""
    (steps,) = re.findall(r'<div class="steps">(.*?)</div>', pages["pipeline"].text)
    told = re.findall(r'<span title="\d+ multipliers">(.*?)</span>', steps)
    assert told.index("rnea forward × 2") < told.index("rnea backward")


@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_within(pages: dict[str, Page], kind: str) -> None:
    page = pages[kind]
    assert len(set(page.ids)) == len(page.ids)
    assert {target.partition("#")[0] for target in page.refers} == {""}
    assert {target[1:] for target in page.refers} <= set(page.ids)
    assert set(re.findall(r"url\(#([^)]*)\)", page.text)) <= set(page.ids)
    assert not re.search(r"https?:|<script|<link|@import|url\((?!#)", page.text)
    assert "#0102" not in page.text, "a colour of no style sheet"


@pytest.mark.parametrize("kind", OF_HARDWARE)
def test_numbers_of_functions_and_errors(
    pages: dict[str, Page], manifests: dict[str, Any], kind: str
) -> None:
    page, manifest = pages[kind], manifests[kind]
    for name, facts in manifest["functions"].items():
        _, _, products, sums, cycles, _, core, pace, rate, *energy, median, largest = page.row(
            "functions", name
        )
        errors, estimate = (median, largest), facts.get("energy")
        built, error = facts["built"], manifest["error"][name]
        assert products == f"{sum(built['multiplications'].values()):,}"
        assert (sums, cycles, core) == tuple(
            f"{n:,}" for n in (built["additions"], facts["latency_cycles"], facts["core_latency_cycles"])
        )
        assert (pace, rate) == (short(facts["cycles_per_task"]), f"{facts['tasks_per_second']:,}")
        figures = [short(estimate[key]) for key in ("watts", "nanojoules")] if estimate else ["–", "–"]
        assert energy == figures
        assert [float(text) for text in errors] == [float(f"{error[key]:.1e}") for key in ("median", "max")]
        for result, figures in error["results"].items():
            _, units, floor, step, *strata = page.row("errors", f"{name}.{result}")
            assert (units, floor, step) == (
                ", ".join(figures["units"]).replace("^2", "²"),
                short(figures["floor"]),
                short(figures["step"]),
            )
            stated = [[stratum["median"], stratum["max"]] for stratum in figures["strata"].values()]
            shown = [[float(text) for text in cell.split(" / ")] for cell in strata]
            assert shown == [[float(f"{number:.1e}") for number in pair] for pair in stated]


@pytest.mark.parametrize("kind", OF_HARDWARE)
def test_numbers_of_hardware(pages: dict[str, Page], manifests: dict[str, Any], kind: str) -> None:
    page, manifest = pages[kind], manifests[kind]
    device = TARGETS[manifest["target"]]
    for words, name in (("LUTs", "luts"), ("block RAMs", "block_rams")):
        _, number, every, share, *_ = page.row("resources", words)
        assert (number, every) == (f"{manifest['estimate'][name]:,}", f"{getattr(device, name):,}")
        assert share == f"{manifest['estimate']['shares'][name]:.1%}"
    for name, link in manifest["interval"]["link"]["functions"].items():
        _, *traffic, rate, bandwidth = page.row("link", name)
        assert traffic == [f"{link[key]:,}" for key in ("bytes_in", "bytes_out", "beats_in", "beats_out")]
        most = manifest["functions"][name]["tasks_per_second"]
        assert rate == f"{most:,}"
        assert bandwidth == short(most * max(link["bytes_in"], link["bytes_out"]) / 1e9)


@pytest.mark.parametrize("kind", OF_HARDWARE)
def test_packets_have_the_bits_of_the_manifest(
    pages: dict[str, Page], manifests: dict[str, Any], kind: str
) -> None:
    matches = re.findall(r"<b>(\w+)</b> (request|answer), ([\d,]+) bits", pages[kind].text)
    bits = {(function, way): int(number.replace(",", "")) for function, way, number in matches}
    for function, link in manifests[kind]["interval"]["link"]["functions"].items():
        octets = [math.ceil(bits[function, way] / 8) for way in ("request", "answer")]
        assert octets == [link["bytes_in"], link["bytes_out"]]


@pytest.mark.parametrize("kind", OF_HARDWARE)
def test_registers_hold_the_constants_of_the_design(
    pages: dict[str, Page], manifests: dict[str, Any], kind: str
) -> None:
    page, manifest = pages[kind], manifests[kind]
    assert page.row("registers", "0x020…0x03C") == ["0x020…0x03C", "identity", manifest["identity"]]
    assert page.row("registers", "0x014") == ["0x014", "interval", f"{manifest['ii']} cycles"]
    codes = sum(1 << code for code in manifest["stream"]["functions"].values())
    assert page.row("registers", "0x00C") == ["0x00C", "functions", f"0x{codes:08X}"]
    assert page.row("registers", "0x040")[2] == "bits: enable 0, soft_reset 1, clear_counters 2"
    assert page.row("registers", "0x080…0x084")[1] == "cycles"


@pytest.mark.parametrize("kind", KINDS)
def test_coordinates(pages: dict[str, Page], manifests: dict[str, Any], kind: str) -> None:
    rows = pages[kind].rows["robot"][1:]
    cells = [[cell for row in rows for cell in [row[column].strip()] if cell] for column in (4, 8)]
    shown = [re.findall(r"([qv]\[\d+\])", " ".join(column)) for column in cells]
    coordinates = manifests[kind]["coordinates"]
    assert shown == [
        [f"{array}[{coordinate['index']}]" for coordinate in coordinates[array]] for array in "qv"
    ]
    assert [row[2] for row in rows if row[2]] == manifests[kind]["robot"]["joints"]


@pytest.mark.parametrize("kind", OF_HARDWARE)
def test_the_manifest_says_when_and_where(manifests: dict[str, Any], kind: str) -> None:
    """Steps begin and end within a task; slots are as full as the multipliers' uses say."""
    manifest = manifests[kind]
    for part in manifest["parts"]:
        assert sum(part["multipliers_by_slot"]) == part["multiplier_slots"]["used"]
        assert max(part["multipliers_by_slot"]) <= part["multipliers"]
        assert list(part["timeline"]) == part["functions"]
        for function, steps in part["timeline"].items():
            spans = list(steps.values())
            assert all(0 <= first <= last for first, last in spans)
            core = manifest["functions"][function]["core_latency_cycles"]
            assert max(last for _, last in spans) < core
            if part["core"] in ("pipeline", "array"):
                assert max(last for _, last in spans) == core - 1


@pytest.mark.parametrize("kind", OF_HARDWARE)
def test_histograms_hold_every_task_that_counts(manifests: dict[str, Any], kind: str) -> None:
    for entry in manifests[kind]["error"].values():
        for figures in entry["results"].values():
            bars = figures["histogram"]
            assert bars["below"] + sum(bars["counts"]) <= figures["samples"] - figures["flagged"]
            assert (
                bars["below"] + sum(bars["counts"])
                >= figures["samples"] - figures["flagged"] - figures["clipped"]
            )
            edges = [10 ** ((bars["lowest"] + len(bars["counts"]) - k) / 4) for k in (1, 0)]
            assert edges[0] <= figures["max"] < edges[1]
            assert figures["strata"][figures["worst"]["stratum"]]["max"] == figures["max"]


def test_the_worst_task_has_the_largest_error(folders: dict[str, Path], manifests: dict[str, Any]) -> None:
    worst = manifests["pipeline"]["error"]["id"]["results"]["tau"]["worst"]["inputs"]
    model, golden = (rbdhw.load(folders["pipeline"], engine=name) for name in ("model", "golden"))
    forces, exact = (engine.id(*(worst[name] for name in "qva")).tau for engine in (model, golden))
    figures = manifests["pipeline"]["error"]["id"]["results"]["tau"]
    size = max(math.hypot(*exact), figures["floor"])
    assert math.dist(forces, exact) / size == pytest.approx(figures["max"])


def test_results_without_an_error_have_no_figure(tmp_path: Path) -> None:
    """The mass matrix of a slider is its mass, which a format holds."""
    slider = tmp_path / "slider.urdf"
    slider.write_text(SLIDER, encoding="utf-8")
    rbdhw.generate(slider, tmp_path / "design", functions="m,fd", ii=1, width=18)
    text = rbdhw.report(tmp_path / "design").read_text(encoding="utf-8")
    assert "errors-fd-a" in text
    assert "errors-m-M" not in text
    assert '<b>m.M</b> median <span class="figure">0</span>, largest <span class="figure">0</span>' in text


def test_names_are_escaped(tmp_path: Path) -> None:
    text = path("toy").read_text()
    given = NAME.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    for name in ("toy", "upper_arm", "shoulder"):
        text = text.replace(f'"{name}"', f'"{given}{name}"')
    urdf = tmp_path / "odd.urdf"
    urdf.write_text(text, encoding="utf-8")
    write(design(urdf, functions="id"), tmp_path / "odd")
    page = Page(rbdhw.report(tmp_path / "odd").read_text(encoding="utf-8"))
    assert [row[2] for row in page.rows["robot"][2:]] == [r'a<b>&"c" \u202e\x85d' + "shoulder", "elbow"]
    assert "<b>&" not in page.text
    assert all(character.isprintable() for character in page.text.replace("\n", ""))


def test_equal_folders_have_equal_pages(folders: dict[str, Path], tmp_path: Path) -> None:
    first, second = (rbdhw.report(folders["loop"], tmp_path / name) for name in ("a.html", "b.html"))
    assert first.read_bytes() == second.read_bytes()


def test_the_command_names_the_file(folders: dict[str, Path], tmp_path: Path, rbdhw: Any) -> None:
    made = folders["c"] / "build-report" / "report.html"
    assert rbdhw("report", folders["c"]) == (0, f"{made}\n", "")
    status, out, _ = rbdhw("report", folders["c"], "-o", tmp_path / "page.html", "--json")
    assert (status, json.loads(out)) == (0, {"report": str(tmp_path / "page.html")})
    assert (tmp_path / "page.html").read_bytes() == made.read_bytes()


def test_a_changed_folder_is_refused(tmp_path: Path) -> None:
    options, _ = asked_build(functions="id", target="c")
    write_software(generate_software(path("toy"), options), tmp_path / "c")
    (tmp_path / "c" / "robot.json").write_text("{}")
    with pytest.raises(InputError, match=r"robot\.json: is not the file that manifest\.json describes"):
        rbdhw.report(tmp_path / "c")
    with pytest.raises(InputError, match="no such file"):
        rbdhw.report(tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        rbdhw.report(tmp_path / "c", tmp_path / "none" / "page.html")
