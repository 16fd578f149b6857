"""Refusals of the command line: a one-line message, exit status 2, and nothing written."""

import json
import subprocess
import sys

import pytest

from rbdhw.board import BOARDS
from rbdhw.cli.app import BAD_INPUT
from rbdhw.design.folder import write
from rbdhw.design.replacement import COMPANIONS, FILES
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.protocol import FUNCTIONS
from rbdhw.robots import path
from rbdhw.target import TARGETS

pytestmark = pytest.mark.usefixtures("without_verilog")

TOY = path("toy")
WRITTEN = {*FILES, *COMPANIONS} - {"accelerator.lpf"}
"""The files in a design folder for the default target."""

BASE = '<link name="base"/>'
TIP = '<child link="tip"/>\n    <origin xyz="0.4 0 0"/>\n  </joint>\n  <link name="tip"/>'
LOOP = """<link name="a"/><link name="b"/>
<joint name="ab" type="fixed"><parent link="a"/><child link="b"/></joint>
<joint name="ba" type="fixed"><parent link="b"/><child link="a"/></joint>
"""
AXIS = '<axis xyz="0 1 0"/>'
MASS = '<mass value="2"/>'
MOMENT = 'ixx="0.001"'
LIMIT = '<limit lower="-2.5" upper="2.5" velocity="8" effort="15"/>'

MOMENTS = "link 'upper_arm': <inertia>"
BAD_ROBOTS = {
    "not XML": (
        "</robot>",
        "",
        "not well-formed XML (no element found: line 46, column 0); expected a URDF file",
    ),
    "DOCTYPE": (
        "<robot ",
        '<!DOCTYPE robot SYSTEM "robot.dtd"><robot ',
        "a DOCTYPE declaration (robot); expected plain XML without one",
    ),
    "no root": (
        TIP,
        '<child link="base"/></joint>',
        "<robot>: no root link, but a cycle of 'upper_arm' -> 'forearm' -> 'base' -> 'upper_arm'; "
        "expected a tree with one root link",
    ),
    "two roots": (
        BASE,
        BASE + '<link name="lost"/>',
        "<robot>: 2 root links: 'base', 'lost'; expected one root link",
    ),
    "cycle": (
        "</robot>",
        LOOP + "</robot>",
        "link 'a': in or below a cycle of 'b' -> 'a' -> 'b'; expected a tree of links",
    ),
    "duplicate link": (BASE, BASE * 2, "link 'base': given twice; expected unique link names"),
    "duplicate joint": (
        '<joint name="elbow"',
        '<joint name="shoulder"',
        "joint 'shoulder': given twice; expected unique joint names",
    ),
    "unknown link": (
        '<parent link="forearm"/>',
        '<parent link="wrist"/>',
        "joint 'tip_mount': unknown parent link 'wrist'; expected a link of this file",
    ),
    "unsupported joint": (
        '"elbow" type="revolute"',
        '"elbow" type="screw"',
        "joint 'elbow': unsupported type 'screw'; expected one of revolute, continuous, prismatic, planar, "
        "spherical, floating, fixed",
    ),
    "mimic": (
        LIMIT,
        LIMIT + '<mimic joint="knee"/>',
        "joint 'elbow': mimics unknown joint 'knee'; expected a joint of this file",
    ),
    "zero axis": (
        AXIS,
        '<axis xyz="0 0 0"/>',
        "joint 'shoulder': <axis> is zero; expected a direction such as 0 0 1",
    ),
    "no axis": (AXIS, "", "joint 'shoulder': no <axis>; expected <axis> in <joint>"),
    "infinite axis": (
        AXIS,
        '<axis xyz="0 inf 0"/>',
        "joint 'shoulder': <axis> has xyz=\"0 inf 0\"; expected three finite numbers",
    ),
    "no mass": (MASS, "", "link 'upper_arm': no <mass>; expected <mass> in <inertial>"),
    "negative mass": (
        MASS,
        '<mass value="-2"/>',
        "link 'upper_arm': <mass> is -2; expected zero or more kilograms",
    ),
    "NaN mass": (
        MASS,
        '<mass value="nan"/>',
        "link 'upper_arm': <mass> has value=\"nan\"; expected a finite number",
    ),
    "mass with a unit": (
        MASS,
        '<mass value="1.0kg"/>',
        "link 'upper_arm': <mass> has value=\"1.0kg\"; expected a finite number",
    ),
    "negative moment": (
        MOMENT,
        'ixx="-0.001"',
        f"{MOMENTS} is not positive semidefinite (principal moments -0.001, 0.042, 0.042); "
        "expected none below zero",
    ),
    "triangle inequality": (
        MOMENT,
        'ixx="0.1"',
        f"{MOMENTS} breaks the triangle inequality (principal moments 0.042, 0.042, 0.1); "
        "expected no moment above the sum of the other two",
    ),
    "no limits": (LIMIT, "", "joint 'elbow': no <limit>; expected <limit> in <joint>"),
    "reversed limits": (
        LIMIT,
        LIMIT.replace('upper="2.5"', 'upper="-2.6"'),
        "joint 'elbow': <limit> has lower -2.5 above upper -2.6; expected lower <= upper",
    ),
}

WHOLE_FILE = ("not well-formed XML", "a DOCTYPE declaration")
"""The beginnings of refusals that name no element of the file."""

TAKEN_WITHOUT_STRICT = {
    "mimic": "as a joint of its own",
    "no axis": "as 1 0 0, as URDF says",
    "no mass": "as no inertia, as Pinocchio does",
    "negative moment": "as it is",
    "triangle inequality": "as it is",
    "no limits": "as no limit",
    "reversed limits": "the other way round",
}
"""How these robots are accepted without --strict."""

BAD_OPTIONS = {
    "link unknown": (
        ("--fext", "wrist"),
        "fext: link 'wrist' is unknown; expected none, all or some of upper_arm, forearm",
    ),
    "link fixed": (
        ("--fext", "tip"),
        "fext: link 'tip' is fixed to 'forearm'; expected a moving link of toy; use --fext forearm",
    ),
    "II": (("--ii", "0"), "ii: 0 is not possible; expected 1 to 4096 cycles between tasks"),
    "target": (
        ("--target", "z80"),
        f"target: 'z80' is unknown; expected one of {', '.join(sorted(TARGETS))}, c, cuda",
    ),
    "function": (
        ("--functions", "id,jacobian"),
        f"functions: 'jacobian' is unknown; expected one or more of {', '.join(FUNCTIONS)}",
    ),
}


@pytest.fixture(scope="module")
def toy():
    """Generate the toy with external forces on all links, 18 bits wide."""
    return generate(TOY, BuildOptions(width=18, fext="all"))


@pytest.fixture
def design(toy, tmp_path):
    """A folder with :func:`toy`."""
    write(toy, tmp_path / "design")
    return tmp_path / "design"


def bad_robot(folder, case):
    """Return the toy's file with a defect."""
    old, new, _ = BAD_ROBOTS[case]
    text = TOY.read_text()
    assert old in text
    urdf = folder / "bad.urdf"
    urdf.write_text(text.replace(old, new, 1))
    return urdf


class TestBadInput:
    @pytest.mark.parametrize("case", BAD_ROBOTS)
    def test_robot(self, told, tmp_path, case):
        line = BAD_ROBOTS[case][-1]
        if case in TAKEN_WITHOUT_STRICT:
            line += f"; leave out --strict (then taken {TAKEN_WITHOUT_STRICT[case]})"
        urdf = bad_robot(tmp_path, case)
        options = ("--strict",) if case in TAKEN_WITHOUT_STRICT else ()
        line = f"{urdf}{': ' if line.startswith(WHOLE_FILE) else ', '}{line}"
        assert told("generate", urdf, "-o", tmp_path / "out", "--width", 18, *options) == line
        assert told("info", urdf, *options) == line
        assert list(tmp_path.iterdir()) == [urdf]

    @pytest.mark.parametrize("case", TAKEN_WITHOUT_STRICT)
    def test_robot_that_is_taken_with_a_warning(self, rbdhw, tmp_path, case):
        urdf = bad_robot(tmp_path, case)
        status, out, err = rbdhw("info", urdf, "--functions", "id", "--json")
        assert (status, json.loads(out)["robot"]["nv"]) == (0, 2)
        reason = BAD_ROBOTS[case][-1].partition("; expected ")[0]
        warning = f"rbdhw: {urdf}: {reason}; taken {TAKEN_WITHOUT_STRICT[case]}\n"
        if case == "no limits":
            bounds = [line.partition(";")[0] for line in err.splitlines()]
            missing = ("position limits", "velocity limit", "effort limit")
            assert bounds == [f"rbdhw: domain: joint 'elbow': no {limit}" for limit in missing]
        else:
            assert err == warning

    @pytest.mark.parametrize("case", BAD_OPTIONS)
    def test_option(self, told, tmp_path, case):
        options, line = BAD_OPTIONS[case]
        assert told("generate", TOY, "-o", tmp_path / "out", "--width", 18, *options) == line
        assert list(tmp_path.iterdir()) == []

    def test_no_such_robot(self, told, tmp_path):
        urdf = tmp_path / "gone.urdf"
        line = told("generate", urdf, "-o", tmp_path / "out")
        assert line == f"{urdf}: no such file; expected the path of a URDF file"
        assert list(tmp_path.iterdir()) == []

    def test_budget_that_no_width_meets(self, told, tmp_path):
        line = told("generate", TOY, "-o", tmp_path / "out", "--max-error", "1e-12")
        assert line.startswith("max-error: no supported width meets 1e-12; 32 bits support ")
        assert ", limited by " in line
        assert "; use a larger --max-error, a domain with smaller bounds, another --root, or " in line
        assert list(tmp_path.iterdir()) == []

    def test_output_below_a_file(self, told, tmp_path):
        file = tmp_path / "file"
        file.write_text("kept")
        line = told("generate", TOY, "-o", file / "out", "--width", 18)
        assert line == f"{file}/out: {file} is not a folder; expected a folder to write a design to"
        assert file.read_text() == "kept"
        assert list(tmp_path.iterdir()) == [file]

    def test_output_that_holds_something_else(self, told, tmp_path):
        file = tmp_path / "model.c"
        file.write_text("kept")
        line = told("generate", TOY, "-o", tmp_path, "--width", 18)
        expected = "expected a folder in which nothing but an unchanged design would be replaced"
        assert line == (
            f"{file}: is no file of a design that manifest.json describes; {expected}; "
            "use another folder, or move the file away"
        )
        assert [(path, path.read_text()) for path in tmp_path.iterdir()] == [(file, "kept")]

    def test_bad_options_leave_an_earlier_design(self, told, design):
        before = {file.name: file.read_bytes() for file in design.iterdir()}
        told("generate", TOY, "-o", design, "--ii", 0)
        assert {file.name: file.read_bytes() for file in design.iterdir()} == before

    def test_board_and_target_of_synthesize(self, told, design):
        line = told("synthesize", design, "--board", "icebreaker")
        assert line == f"board: 'icebreaker' is unknown; expected one of {', '.join(sorted(BOARDS))}"
        line = told("synthesize", design, "--target", "z80")
        assert line == f"target: 'z80' is unknown; expected one of {', '.join(sorted(TARGETS))}"
        assert {file.name for file in design.iterdir()} == WRITTEN

    def test_function_that_the_design_lacks(self, told, design, tmp_path):
        line = told("run", design, "fd", "--input", tmp_path / "in.npz", "--output", tmp_path / "out.npz")
        assert line == f"function 'fd': not in the design {design}; expected one of id"
        assert list(tmp_path.iterdir()) == [design]

    def test_folder_without_a_design(self, told, tmp_path):
        line = told("simulate", tmp_path / "gone")
        assert line == f"{tmp_path}/gone: no such folder; expected one that `rbdhw generate` wrote"
        assert list(tmp_path.iterdir()) == []

    def test_as_a_process(self, tmp_path):
        command = [sys.executable, "-m", "rbdhw", "info", "gone.urdf"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        line = "rbdhw: gone.urdf: no such file; expected the path of a URDF file\n"
        assert (done.returncode, done.stdout, done.stderr) == (BAD_INPUT, "", line)
