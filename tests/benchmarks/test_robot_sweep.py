"""A sweep: passing, failing and refused robots and remarks, in tables and exit statuses."""

import gc
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import robot_check, robot_sweep
from benchmarks.robot_check import DRAWS, Evaluated
from benchmarks.robot_sweep import HEADINGS, File, Row, Sweep, markdown, remarks_of, sweep
from rbdhw.cli.process import FOUND_WRONG
from rbdhw.fixed.figures import ErrorFigures, FunctionErrors, ResultErrors
from rbdhw.protocol import DEFAULT_FUNCTIONS
from tests.support.example_robots import EXAMPLES

LIMIT = '<limit lower="-2.5" upper="2.5" velocity="8" effort="15"/>'
BASE = '<link name="base"/>'
INERTIAL = """<inertial><origin xyz="0.1 0 0.2"/><mass value="2"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial>"""
PENDULUM = f"""<robot name="pendulum">{BASE}<link name="rod">{INERTIAL}</link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>{LIMIT}</joint>
</robot>"""
EMPTY = f'<robot name="plate"><link name="plate">{INERTIAL}</link></robot>'


def errors(*figures) -> FunctionErrors:
    """Return a function's errors with the same figures for all tasks and for its only stratum."""
    entry = ErrorFigures(*figures)
    return FunctionErrors({"tau": ResultErrors(entry, {"box": entry})})


FEW = replace(DRAWS, ranging=256, held_out=128, chunk=128, probed=128)

GOOD = errors(1e-6, 1e-5, 100, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Make a folder of robots, with a duplicate, and one with a massless base and without useful limits."""
    folder = tmp_path_factory.mktemp("robots")
    text = PENDULUM.replace(BASE, f'<link name="base">{INERTIAL}</link>')
    (folder / "below").mkdir()
    (folder / "one.urdf").write_text(text)
    (folder / "below" / "same.urdf").write_text(text)
    weightless = PENDULUM.replace(BASE, '<link name="base"><inertial/></link>')
    (folder / "weightless.urdf").write_text(weightless.replace(LIMIT, '<limit velocity="0" effort="0"/>'))
    (folder / "broken.urdf").write_text(text.replace("</robot>", ""))
    (folder / "plate.urdf").write_text(EMPTY)
    (folder / "notes.txt").write_text("no robot")
    return folder


def in_this_process(work, jobs, *, told, **_rest):
    results = {}
    for name, job in jobs.items():
        results[name] = work(job)
        told(name, results[name], len(results))
    return results


@pytest.fixture(scope="module")
def swept(folder: Path) -> tuple[Sweep, list[str]]:
    """Sweep the folder; return the result and its progress."""
    texts: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(robot_sweep, "SELDOM", gc.get_threshold())
        patch.setattr(robot_sweep, "execute", in_this_process)
        patch.setattr(robot_check, "DRAWS", FEW)
        return sweep(folder, texts.append, jobs=1), texts


def test_every_robot_passes_on_both_bases_and_an_empty_one_floats(swept):
    rows = [(row.name, row.base, row.dof, row.depth) for row in swept[0].rows]
    assert rows == [
        ("below/same.urdf", "fixed", 1, 1),
        ("below/same.urdf", "floating", 7, 2),
        ("one.urdf", "fixed", 1, 1),
        ("one.urdf", "floating", 7, 2),
        ("plate.urdf", "floating", 6, 1),
        ("weightless.urdf", "fixed", 1, 1),
        ("weightless.urdf", "floating", 7, 2),
    ]
    assert [row.failures for row in swept[0].rows] == [()] * 7
    assert swept[0].passed


def test_files_of_the_same_robot_are_evaluated_once(swept):
    same, other = (
        next(row for row in swept[0].rows if row.name == name) for name in ("below/same.urdf", "one.urdf")
    )
    assert same.evaluated is other.evaluated or same.evaluated == other.evaluated
    counts = [text.partition(", last ")[0] for text in swept[1]]
    assert counts == [f"checking: {k} of 5 robots" for k in range(1, 6)]


def test_errors_are_small_but_measured(swept):
    for row in swept[0].rows:
        assert 0.0 < row.golden < 1e-9
        assert row.evaluated.graph < 1e-9
        singular = (row.name, row.base) == ("weightless.urdf", "floating")
        functions = ("id", "m", "did") if singular else DEFAULT_FUNCTIONS
        assert list(row.evaluated.errors) == list(row.evaluated.operations) == list(functions)
        assert 0.0 < max(figures.whole.max for figures in row.evaluated.errors.values()) < 1e-3


def test_what_is_refused_has_its_reason(swept):
    assert {file.name: file.refusal for file in swept[0].files if file.robot is None} == {
        "broken.urdf": "not well-formed XML (no element found: line 5, column 0); expected a URDF file"
    }


def test_what_is_taken_and_what_bounds_nothing_is_remarked(swept):
    remarks = remarks_of(swept[0])
    assert list(remarks) == ["weightless.urdf"]
    told = [
        "link 'base': no <mass>; taken as no inertia, as Pinocchio does",
        "floating base: the mass matrix is singular, or nearly so, in some poses; "
        "only id, m, did are checked",
    ]
    assert set(told) <= set(remarks["weightless.urdf"])
    where, override = "domain: joint 'hinge'", "in [joints.hinge] of a domain file overrides it"
    of_domain = [remark for remark in remarks["weightless.urdf"] if remark not in told]
    assert of_domain[:2] == [
        f"{where}: no position limits; taken as a full turn, which wraps; position {override}",
        f"{where}: velocity limit 0 bounds nothing; taken within 4 rad/s; velocity {override}",
    ]
    effort = f"{where}: effort limit 0 bounds nothing; taken within "
    assert [remark.startswith(effort) for remark in of_domain[2:]] == [True, True]


def test_tables_in_markdown(swept, folder):
    text = markdown(swept[0])
    assert f"`make sweep` on the 5 URDF files of {folder.name}, read without" in text
    assert "1 file is refused. 7 of 7 robots and bases pass." in text
    lines = text.splitlines()
    assert sum(line.startswith("| `one.urdf` | f") for line in lines) == 2
    assert any(line.startswith("| `broken.urdf` | not well-formed XML") for line in lines)
    assert "## Failing" not in text
    assert "- link 'base': no &lt;mass>; taken as no inertia, as Pinocchio does" in lines
    assert text.index("## Passing") < text.index("## Refused") < text.index("## Remarks")


def test_a_robot_that_fails_is_listed_with_what_failed():
    bad = Evaluated(1e-6, {"id": GOOD, "fd": errors(1e-4, 0.2, 100, 30)}, {"id": 7, "fd": 9})
    rows = (Row("a.urdf", "fixed", 1, 1, 1e-12, bad, 0.1, tuple(bad.complaints)),)
    failed = Sweep(Path("some"), (File("a.urdf", Path("a.urdf"), None, (), ""),), rows, 1.0, 1.0, 1)
    assert not failed.passed
    assert (
        "| `a.urdf` | fixed | graph off by 1.0e-06; tau of fd off by 2.0e-01, 30 of 100 flagged |"
        in markdown(failed)
    )


REPORT = Path(__file__).parents[2] / "docs" / "robots.md"


SMALL = ("double_pendulum", "double_pendulum_simple", "finger_edu", "TwoDofs", "iris")
"""Robots of docs/robots.md whose check takes seconds."""


@pytest.mark.verify
def test_the_report_in_the_documents_is_what_a_sweep_finds(tmp_path):
    """Cells of small robots agree; errors in double precision agree in magnitude."""
    lines = REPORT.read_text(encoding="utf-8").splitlines()
    rows = {tuple(row[:2]): row for line in lines if line.startswith("| `") for row in [_row(line)]}
    folder = tmp_path / "example-robot-data"
    for name in SMALL:
        (cell,) = {file for file, _ in rows if Path(file.strip("`")).stem == name}
        copy = folder / cell.strip("`")
        (source,) = (path for path in EXAMPLES if path.as_posix().endswith(f"/{cell.strip('`')}"))
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
    result = sweep(folder, lambda _: None, jobs=2)
    assert _row(next(line for line in lines if line.startswith("| URDF"))) == list(HEADINGS)
    measured = [_row(line) for line in markdown(result).splitlines() if line.startswith("| `")]
    assert len(measured) == 2 * len(SMALL)
    for row in measured:
        written = rows[tuple(row[:2])]
        if len(row) < len(HEADINGS):  # of those that fail: what fails
            assert row == written
            continue
        assert (row[:4], row[6:]) == (written[:4], written[6:])
        assert max(*map(float, row[4:6]), *map(float, written[4:6])) < 1e-10


def _row(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


class TestCommandLine:
    def test_tables_go_to_a_file(self, monkeypatch, tmp_path, swept, benchmark):
        asked = []
        monkeypatch.setattr("benchmarks.robot_sweep.sweep", lambda *given: asked.append(given) or swept[0])
        output = tmp_path / "robots.md"
        assert benchmark("sweep", tmp_path, "--jobs", 3, "--output", output)[0] == 0
        assert output.read_text() == markdown(swept[0])
        assert (asked[0][0], asked[0][2]) == (tmp_path, 3)

    def test_a_failure_is_an_exit_status_and_json_tells_all(self, monkeypatch, tmp_path, benchmark):
        row = Row("plate.urdf", "floating", 6, 1, 0.5, None, 0.0, ("golden model off Pinocchio by 5.0e-01",))
        file = File("plate.urdf", tmp_path, None, (), "")
        result = Sweep(tmp_path, (file,), (row,), 1.0, 1.0, 1)
        monkeypatch.setattr("benchmarks.robot_sweep.sweep", lambda *_: result)
        output = tmp_path / "robots.md"
        status, out, _ = benchmark("sweep", tmp_path, "--json", "--output", output)
        assert status == FOUND_WRONG
        assert output.read_text() == markdown(result)
        assert json.loads(out)["rows"][0]["failures"] == list(row.failures)

    def test_a_folder_without_robots_is_bad_input(self, tmp_path, refused):
        expected = "no URDF file; expected a folder with *.urdf files in or below it"
        assert refused("sweep", tmp_path) == f"{tmp_path}: {expected}"
