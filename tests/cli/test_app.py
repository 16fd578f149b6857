"""The command line: exit statuses, one-line messages about bad input, JSON for scripts, user vectors."""

import json
import subprocess
import sys
from importlib.metadata import version

import numpy as np
import pytest

from rbdhw.cli.app import BAD_INPUT
from rbdhw.config import BuildOptions
from rbdhw.design.folder import read, write
from rbdhw.design.replacement import COMPANIONS, FILES
from rbdhw.domain.sampling import sample
from rbdhw.pipeline import generate
from rbdhw.protocol import DEFAULT_FUNCTIONS, FUNCTIONS
from rbdhw.robots import path

TOY = path("toy")
TASKS = 50
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
    "target": (("--target", "z80"), "target: 'z80' is unknown; expected one of ecp5-85, xc7a200t, xcvu9p"),
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
        assert err == ("" if case == "no limits" else warning)

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
        file = tmp_path / "thesis.tex"
        file.write_text("kept")
        line = told("generate", TOY, "-o", tmp_path, "--width", 18)
        expected = "expected a new or empty folder, or the folder of an earlier design"
        assert line == f"{tmp_path}: contains 'thesis.tex', which is no part of a design; {expected}"
        assert list(tmp_path.iterdir()) == [file]

    def test_bad_options_leave_an_earlier_design(self, told, design):
        before = {file.name: file.read_bytes() for file in design.iterdir()}
        told("generate", TOY, "-o", design, "--ii", 0)
        assert {file.name: file.read_bytes() for file in design.iterdir()} == before

    def test_board_and_target_of_synthesize(self, told, design):
        line = told("synthesize", design, "--board", "icebreaker")
        assert line == "board: 'icebreaker' is unknown; expected one of ulx3s-85f, vcu118"
        line = told("synthesize", design, "--target", "z80")
        assert line == "target: 'z80' is unknown; expected one of ecp5-85, xc7a200t, xcvu9p"
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


def test_info_has_exactly_the_documented_keys(rbdhw):
    status, out, err = rbdhw("info", TOY, "--json")
    data = json.loads(out)
    assert (status, err) == (0, "")
    names = {"robot", "functions", "joints", "coordinates", "algorithms", "limbs", "roots"}
    assert set(data) == names
    joints = ["shoulder", "elbow"]
    assert data["robot"] == {
        "name": "toy",
        "dof": 2,
        "nq": 2,
        "nv": 2,
        "joints": joints,
        "joint_order": "pinocchio",
        "depth": 2,
        "base": "fixed",
    }
    shoulder, elbow = data["joints"]
    units = {"position": "rad", "velocity": "rad/s", "effort": "Nm"}
    assert elbow == {
        "name": "elbow",
        "kind": "revolute",
        "link": "forearm",
        "parent": "upper_arm",
        "mimics": None,
        "limits": [{"lower": -2.5, "upper": 2.5, "velocity": 8.0, "effort": 15.0, "units": units}],
    }
    assert (shoulder["kind"], shoulder["link"], shoulder["parent"]) == ("revolute", "upper_arm", "base")
    assert set(data["algorithms"]) == {"derivatives", "inverse", "products", "gradient"}
    for choice in data["algorithms"].values():
        assert choice["chosen"] in choice["costs"]
    assert (data["limbs"]["groups"], data["roots"]) == ([], [])
    assert list(data["functions"]) == ["id", "fd", "m", "minv", "did", "dfd", "difd"]
    for counts in data["functions"].values():
        assert set(counts) == {"multiplications", "additions", "reciprocals"}
        assert set(counts["multiplications"]) == {"variable", "constant"}


def test_info_as_tables(rbdhw):
    status, out, _ = rbdhw("info", TOY)
    assert status == 0
    assert out.startswith("toy: 2 joints, depth 2\n")
    for name in ("shoulder", "elbow", "upper_arm", "forearm", "revolute", "inverse=articulated"):
        assert name in out


@pytest.mark.parametrize(
    ("robot", "base", "counted"),
    [
        ("iiwa14", "fixed", "iiwa14: 7 joints, depth 7"),
        ("hyq", "fixed", "hyq: 12 joints, depth 3"),
        ("hyq", "floating", "hyq: 12 joints and a floating base, 18 degrees of freedom, depth 4"),
        ("hyq", "given", "hyq: 12 joints, depth 3"),
        ("tiago", "fixed", "tiago: 12 joints, 14 degrees of freedom, depth 10"),
    ],
)
def test_joints_bases_and_degrees_of_freedom_are_counted_apart(rbdhw, robot, base, counted):
    status, out, _ = rbdhw("info", path(robot), "--base", base, "--functions", "m")
    assert (status, out.splitlines()[0]) == (0, counted)


def test_a_design_that_floats_is_told_with_its_joints(rbdhw, tmp_path):
    command = (
        "generate",
        TOY,
        "-o",
        tmp_path / "out",
        "--functions",
        "m",
        "--width",
        18,
        "--base",
        "floating",
    )
    status, out, _ = rbdhw(*command)
    assert status == 0
    counted = "toy (2 joints and a floating base, 8 degrees of freedom) for xcvu9p"
    assert " ".join(out.split()).startswith(counted)


def test_options_that_are_not_given_are_the_default(rbdhw, tmp_path):
    command = ("generate", TOY, "-o", tmp_path / "out", "--functions", "m", "--width", 18)
    _, out, _ = rbdhw(*command)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "II 1: the default\n" in out
    assert "asked for" not in out
    assert (manifest["interval"]["why"], manifest["cores"]["why"]) == ("the default", "the default")
    assert manifest["cores"]["asked"] == "pipeline"
    _, out, _ = rbdhw(*command, "--ii", 1, "--core", "pipeline")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "II 1: asked for\n" in out
    assert (manifest["interval"]["why"], manifest["cores"]["why"]) == ("asked for", "asked for")


def test_builds_of_an_earlier_design_go_with_it(rbdhw, tmp_path):
    folder = tmp_path / "out"
    command = ("generate", TOY, "-o", folder, "--functions", "m")
    assert rbdhw(*command, "--width", 18)[0] == 0
    (folder / "build-sim").mkdir()
    (folder / "build-sim" / "simulator").write_text("of the earlier design")
    before = (folder / "accelerator.v").read_bytes()
    assert rbdhw(*command, "--max-error", "1e-12")[0] == BAD_INPUT
    assert (folder / "build-sim" / "simulator").read_text() == "of the earlier design"
    assert (folder / "accelerator.v").read_bytes() == before
    assert rbdhw(*command, "--width", 20)[0] == 0
    assert {file.name for file in folder.iterdir()} == WRITTEN
    assert (folder / "accelerator.v").read_bytes() != before


class TestUsage:
    """Help, version, completion, and invalid command lines."""

    COMMANDS = ("info", "generate", "simulate", "run", "synthesize", "bench")

    def test_the_version_is_that_of_the_package(self, rbdhw):
        assert rbdhw("--version") == (0, f"rbdhw {version('rbdhw')}\n", "")

    @pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
    def test_help_has_two_names(self, rbdhw, command):
        short, long = rbdhw(*command, "-h"), rbdhw(*command, "--help")
        assert short == long
        assert (short[0], short[2]) == (0, "")
        assert " ".join(["Usage: rbdhw", *command]) in short[1]

    def test_no_command_is_answered_with_help(self, rbdhw):
        status, out, err = rbdhw()
        assert (status, err) == (BAD_INPUT, "")
        assert "Usage: rbdhw [OPTIONS] COMMAND" in out

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_a_shell_gets_its_completion(self, rbdhw, monkeypatch, shell):
        monkeypatch.setattr("shellingham.detect_shell", lambda: (shell, f"/bin/{shell}"))
        status, out, err = rbdhw("--show-completion")
        assert (status, err) == (0, "")
        assert f"_RBDHW_COMPLETE=complete_{shell}" in out

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            ("rbdhw ", list(COMMANDS)),
            ("rbdhw generate --sh", ["--share-limbs"]),
            ("rbdhw run out id --engine g", ["golden"]),
        ],
    )
    def test_words_are_completed(self, rbdhw, monkeypatch, words, expected):
        monkeypatch.setenv("_RBDHW_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
        status, out, err = rbdhw()
        assert (status, out.split(), err) == (0, expected, "")

    @pytest.mark.parametrize(
        ("command", "line"),
        [
            (("forge",), "no such command 'forge'; expected what `rbdhw --help` describes"),
            (("info",), "missing argument 'URDF'; expected what `rbdhw info --help` describes"),
            (
                ("generate", TOY),
                "missing option '--output' / '-o'; expected what `rbdhw generate --help` describes",
            ),
            (
                ("simulate", "out", "--taks", 3),
                "no such option: --taks (Possible options: --tasks); "
                "expected what `rbdhw simulate --help` describes",
            ),
            (
                ("info", TOY, "--width", "wide"),
                "invalid value for '--width': Input should be a valid integer, unable to parse string as an "
                "integer; expected what `rbdhw info --help` describes",
            ),
            (
                ("simulate", "out", "--tasks", 0),
                "invalid value for '--tasks': Input should be greater than or equal to 1; "
                "expected what `rbdhw simulate --help` describes",
            ),
            (
                ("info", TOY, "--ii"),
                "option '--ii' requires an argument; expected what `rbdhw info --help` describes",
            ),
        ],
    )
    def test_a_wrong_command_line_is_one_line(self, told, command, line):
        assert told(*command) == f"command line: {line}"


def test_limbs_that_share_are_told_by_info_and_generate(rbdhw, tmp_path):
    status, out, _ = rbdhw("info", path("hyq"), "--functions", "id")
    assert status == 0
    assert "limbs alike: lf_hipassembly" in out
    command = ("generate", path("hyq"), "-o", tmp_path / "out", "--functions", "m", "--width", 18, "--ii", 4)
    status, out, _ = rbdhw(*command, "--share-limbs", "on")
    assert status == 0
    assert "share-limbs=on" in out
    assert "share-limbs=off" in out
    status, _, err = rbdhw(*command, "--share-limbs", "both")
    assert (status, err) == (2, "rbdhw: share-limbs: 'both' is unknown; expected one of auto, on, off\n")


def test_info_counts_the_algorithm_that_is_asked_for(rbdhw):
    counts = {}
    for name in ("composite", "columns"):
        command = ("info", path("iiwa14"), "--functions", "did", "--algorithm", f"derivatives={name}")
        status, out, _ = rbdhw(*command, "--json")
        assert status == 0
        counts[name] = sum(json.loads(out)["functions"]["did"]["multiplications"].values())
    assert counts["composite"] < 0.4 * counts["columns"]


def test_generate_prints_the_manifest(rbdhw, tmp_path):
    arguments = ("--functions", "id", "--ii", 3, "--json")
    status, out, err = rbdhw("generate", TOY, "-o", tmp_path / "out", *arguments)
    assert (status, err) == (0, "")
    assert json.loads(out) == json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert json.loads(out)["ii"] == 3
    assert {file.name for file in (tmp_path / "out").iterdir()} == WRITTEN


def test_a_build_of_all_functions_answers_each(rbdhw, tmp_path):
    folder, states = tmp_path / "out", tmp_path / "states.npz"
    assert rbdhw("generate", TOY, "-o", folder, "--width", 27, "--number", "float32")[0] == 0
    design = read(folder)
    arrays = sample(design.robot, design.domain, TASKS, np.random.default_rng(5), design.fext)
    del arrays["fext"]
    for function in DEFAULT_FUNCTIONS:
        told = FUNCTIONS[function]
        np.savez(states, **{name: arrays[name] for name in told.inputs if name in arrays})
        names = {*told.outputs, *told.optional_outputs}
        results = {}
        for engine in ("model", "golden"):
            file = tmp_path / f"{engine}.npz"
            command = ["run", folder, function, "--input", states, "--output", file, "--engine", engine]
            command += ["--extended"] if told.optional_outputs else []
            assert rbdhw(*command)[0] == 0
            with np.load(file) as archive:
                results[engine] = {name: archive[name] for name in archive}
        assert set(results["model"]) == set(results["golden"]) == {*names, "status"}
        assert not results["model"]["status"].any()
        for name in names:
            largest = np.abs(results["golden"][name]).max()
            difference = np.abs(results["model"][name] - results["golden"][name]).max()
            assert 0.0 < difference < 1e-3 * largest, (function, name)


def test_an_inverse_that_a_build_cannot_take_is_refused(rbdhw, tmp_path):
    folder, states = tmp_path / "out", tmp_path / "states.npz"
    command = ("generate", TOY, "-o", folder, "--functions", "difd", "--width", 18)
    assert rbdhw(*command, "--algorithm", "products=solves")[0] == 0
    zeros = np.zeros((1, 2))
    np.savez(states, q=zeros, v=zeros, a=zeros, Minv=np.eye(2)[np.newaxis])
    status, _, err = rbdhw("run", folder, "difd", "--input", states, "--output", tmp_path / "r.npz")
    assert status == BAD_INPUT
    assert err == (
        f"rbdhw: {states}, array 'Minv': this build solves with factors of its own; "
        "expected none; generate with --algorithm products=dense to give it\n"
    )
    assert not (tmp_path / "r.npz").exists()


def test_generate_then_run(rbdhw, tmp_path):
    folder, states = tmp_path / "out", tmp_path / "states.npz"
    command = ("generate", TOY, "-o", folder, "--functions", "id", "--width", 18, "--fext", "all")
    assert rbdhw(*command)[0] == 0
    design = read(folder)
    arrays = sample(design.robot, design.domain, TASKS, np.random.default_rng(5), design.fext)
    np.savez(states, **{name: arrays[name] for name in ("q", "v", "a", "fext")})
    tau = {}
    for engine in ("model", "golden"):
        results = tmp_path / f"{engine}.npz"
        command = ("run", folder, "id", "--input", states, "--output", results, "--engine", engine)
        status, out, err = rbdhw(*command, "--json")
        assert (status, err) == (0, "")
        assert json.loads(out) == {
            "tasks": TASKS, "flagged": 0, "causes": [], "ignored": [], "warnings": []
        }  # fmt: skip
        with np.load(results) as archive:
            assert sorted(archive) == ["status", "tau"]
            assert not archive["status"].any()
            tau[engine] = archive["tau"]
    assert tau["golden"].shape == (TASKS, 2)
    errors = np.linalg.norm(tau["model"] - tau["golden"], axis=1) / np.linalg.norm(tau["golden"], axis=1)
    assert 0.0 < np.median(errors) < 1e-4
    assert errors.max() < 5e-3


def test_simulate(rbdhw, design):
    status, out, err = rbdhw("simulate", design, "--tasks", TASKS, "--seed", 4, "--json")
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert (report["tasks"], report["mismatches"], report["flagged"]) == (TASKS, 0, 0)
    assert report["cycles"] >= TASKS
    assert set(report["functions"]) == {"id"}
    figures = report["functions"]["id"]
    assert (figures["tasks"], figures["mismatches"], figures["flagged"]) == (TASKS, 0, 0)
    assert 0.0 < figures["error_median"] <= figures["error_max"] < 5e-3
    assert report["traffic"] == {
        "bubbles": 0.25, "back_pressure": 0.25, "seed": 4, "mixed_functions": False
    }  # fmt: skip
    latency = json.loads((design / "manifest.json").read_text())["functions"]["id"]["latency_cycles"]
    assert figures["latency_cycles"] >= latency
