"""Refusals of the command line: a one-line message, exit status 2, and nothing written."""

import json

import pytest

from rbdhw.design.folder import write
from rbdhw.design.replacement import COMPANIONS, FILES
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.robots import path

pytestmark = pytest.mark.usefixtures("without_verilog")

TOY = path("toy")
WRITTEN = {*FILES, *COMPANIONS} - {"accelerator.lpf"}
"""The files in a design folder for the default target."""

LIMIT = '<limit lower="-2.5" upper="2.5" velocity="8" effort="15"/>'
BAD_ROBOTS = {
    "not XML": ("</robot>", "", "not well-formed XML (no element found: line 46, column 0)"),
    "no limits": (LIMIT, "", "joint 'elbow': no <limit>"),
    "mimic": (LIMIT, LIMIT + '<mimic joint="knee"/>', "joint 'elbow': mimics unknown joint 'knee'"),
    "zero axis": ('<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>', "joint 'shoulder': <axis> is zero"),
    "no mass": ('<mass value="2"/>', "", "link 'upper_arm': no <mass>"),
}
"""Texts of the toy's file, what replaces them, and the reason of the refusal."""

TAKEN_WITHOUT_STRICT = {
    "mimic": "as a joint of its own",
    "no mass": "as no inertia, as Pinocchio does",
    "no limits": "as no limit",
}
"""How these robots are accepted without --strict."""


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
        urdf, reason = bad_robot(tmp_path, case), BAD_ROBOTS[case][-1]
        options = ("--strict",) if case in TAKEN_WITHOUT_STRICT else ()
        line = told("generate", urdf, "-o", tmp_path / "out", "--width", 18, *options)
        assert line.startswith((f"{urdf}: {reason}; expected ", f"{urdf}, {reason}; expected "))
        assert ("; leave out --strict (then taken " in line) == (case in TAKEN_WITHOUT_STRICT)
        assert told("info", urdf, *options) == line
        assert list(tmp_path.iterdir()) == [urdf]

    @pytest.mark.parametrize("case", TAKEN_WITHOUT_STRICT)
    def test_robot_that_is_taken_with_a_warning(self, rbdhw, tmp_path, case):
        urdf = bad_robot(tmp_path, case)
        status, out, err = rbdhw("info", urdf, "--functions", "id", "--json")
        assert (status, json.loads(out)["robot"]["nv"]) == (0, 2)
        warning = f"rbdhw: {urdf}: {BAD_ROBOTS[case][-1]}; taken {TAKEN_WITHOUT_STRICT[case]}\n"
        if case == "no limits":
            bounds = [line.partition(";")[0] for line in err.splitlines()]
            missing = ("position limits", "velocity limit", "effort limit")
            assert bounds == [f"rbdhw: domain: joint 'elbow': no {limit}" for limit in missing]
        else:
            assert err == warning

    def test_budget_that_no_width_meets(self, told, tmp_path):
        line = told("generate", TOY, "-o", tmp_path / "out", "--max-error", "1e-12")
        assert line.startswith("max-error: no supported width meets 1e-12; 32 bits support ")
        assert ", limited by " in line
        assert "; use a larger --max-error, a domain with smaller bounds, another --root, or " in line
        assert list(tmp_path.iterdir()) == []

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
