"""The command line: `info`, `simulate`, help, completion, and what is no command line."""

import json
from importlib.metadata import version

import pytest

from rbdhw.cli.process import BAD_INPUT
from rbdhw.front.calls import CHECKS
from rbdhw.model.limits import WAYS
from rbdhw.packages.package import FORMATS
from rbdhw.robots import path
from tests.support.marks import long

TOY = path("toy")
TASKS = 50


def test_info_has_exactly_the_documented_keys(rbdhw):
    status, out, err = rbdhw("info", TOY, "--json")
    data = json.loads(out)
    assert (status, err) == (0, "")
    names = {"robot", "functions", "joints", "coordinates", "algorithms", "limbs", "roots"}
    assert set(data) == names | {"omitted", "remarks"}
    assert (data["omitted"], data["remarks"]) == ({}, [])
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
        "parent_link": "upper_arm",
        "mimics": None,
        "limits": [{"lower": -2.5, "upper": 2.5, "velocity": 8.0, "effort": 15.0, "units": units}],
    }
    assert (shoulder["kind"], shoulder["link"], shoulder["parent"]) == ("revolute", "upper_arm", "base")
    assert set(data["algorithms"]) == {"axes", "derivatives", "inverse", "products", "gradient"}
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
        ("toy", "fixed", "toy: 2 joints, depth 2"),
        ("toy", "floating", "toy: 2 joints and a floating base, 8 degrees of freedom, depth 3"),
        long("hyq", "floating", "hyq: 12 joints and a floating base, 18 degrees of freedom, depth 4"),
        ("toy", "given", "toy: 2 joints, depth 2"),
        long("tiago", "fixed", "tiago: 12 joints, 14 degrees of freedom, depth 10"),
    ],
)
def test_joints_bases_and_degrees_of_freedom_are_counted_apart(rbdhw, robot, base, counted):
    status, out, _ = rbdhw("info", path(robot), "--base", base, "--functions", "m")
    assert (status, out.splitlines()[0]) == (0, counted)


def test_info_counts_the_algorithm_that_is_asked_for(rbdhw):
    counts = {}
    for name in ("composite", "columns"):
        command = ("info", TOY, "--functions", "did", "--algorithm", f"derivatives={name}")
        status, out, _ = rbdhw(*command, "--json")
        assert status == 0
        counts[name] = sum(json.loads(out)["functions"]["did"]["multiplications"].values())
    assert counts["composite"] < counts["columns"]


def test_simulate(rbdhw, rail_folder):
    status, out, err = rbdhw("simulate", rail_folder, "--tasks", TASKS, "--seed", 4, "--bulk", "--json")
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert (report["tasks"], report["mismatches"], report["flagged"]) == (TASKS, 0, 0)
    assert set(report["functions"]) == {"id", "fd"}
    assert report["traffic"] == {"bubbles": 0.25, "back_pressure": 0.25, "seed": 4, "mixed_functions": True}


@pytest.mark.parametrize(
    ("old", "new", "warning"),
    [
        ('effort="15"/>', 'effort="15"/><mimic joint="knee"/>', "mimics unknown joint 'knee'"),
        ('<mass value="2"/>', "", "no <mass>"),
    ],
)
def test_an_odd_robot_is_taken_with_a_warning(rbdhw, tmp_path, old, new, warning):
    urdf = tmp_path / "odd.urdf"
    urdf.write_text(TOY.read_text().replace(old, new, 1))
    status, out, err = rbdhw("info", urdf, "--functions", "id", "--json")
    (remark,) = json.loads(out)["remarks"]
    assert (status, err) == (0, f"rbdhw: {urdf}: {remark}\n")
    assert warning in remark


class TestUsage:
    """Help, version, completion, and invalid command lines."""

    BEFORE_A_DESIGN = ("info", "generate", "domain")
    COMMANDS = (
        *BEFORE_A_DESIGN,
        "study",
        "simulate",
        "power",
        "run",
        "report",
        "driver",
        "synthesize",
        "package",
    )

    def test_the_version_is_that_of_the_package(self, rbdhw):
        assert rbdhw("--version") == (0, f"rbdhw {version('rbdhw')}\n", "")

    @pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
    def test_help_has_two_names(self, rbdhw, command):
        short, long = rbdhw(*command, "-h"), rbdhw(*command, "--help")
        assert short == long
        assert (short[0], short[2]) == (0, "")
        assert " ".join(["Usage: rbdhw", *command]) in short[1]

    @pytest.mark.parametrize(
        ("command", "choices"), [("package", FORMATS), ("generate", CHECKS), ("run", WAYS)]
    )
    def test_help_has_all_choices(self, rbdhw, command, choices):
        assert [choice for choice in choices if choice not in rbdhw(command, "--help")[1]] == []

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
            ("rbdhw generate --sh", ["--share-limbs", "--share-stages"]),
            ("rbdhw run out id --engine g", ["golden"]),
        ],
    )
    def test_words_are_completed(self, rbdhw, monkeypatch, words, expected):
        monkeypatch.setenv("_RBDHW_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
        status, out, err = rbdhw()
        assert (status, out.split(), err) == (0, expected, "")
