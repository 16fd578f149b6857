"""Bad input of every kind, one row each: exit status 2, a one-line message, and nothing written.

Warnings are errors in tests, so no row may cause a NumPy warning. The time limit of a test bounds the work.
"""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rbdhw.cli.process import BAD_INPUT
from rbdhw.design.folder import write
from rbdhw.robots import path
from tests.support.bad.archives import ARCHIVES, arrays
from tests.support.bad.domains import DOMAINS
from tests.support.bad.options import COMMANDS, OPTIONS, SIMULATIONS
from tests.support.bad.robots import ROBOTS, STRICT, TOY
from tests.support.designs import rail_design

pytestmark = pytest.mark.timeout(60)

BUILD = ("--functions", "id,fd", "--width", 18)


def contents(folder: Path) -> dict[Path, bytes | None]:
    """Return the files in a folder with their contents."""
    return {entry: entry.read_bytes() if entry.is_file() else None for entry in folder.rglob("*")}


@pytest.fixture
def refused(told, tmp_path):
    """Return the message about a bad command line, which must leave the folder unchanged."""

    def refused(*arguments):
        before = contents(tmp_path)
        line = told(*arguments)
        assert contents(tmp_path) == before
        return line

    return refused


# Robots


class TestRobots:
    @pytest.mark.parametrize("case", ROBOTS)
    def test_refused(self, refused, tmp_path, case):
        text, expected = ROBOTS[case]
        urdf = tmp_path / "bad.urdf"
        urdf.write_bytes(text if isinstance(text, bytes) else text.encode())
        line = refused("generate", urdf, "-o", tmp_path / "out", *BUILD)
        assert line.startswith((f"{urdf}: ", f"{urdf}, "))
        assert expected in line

    @pytest.mark.parametrize("case", STRICT)
    def test_refused_in_a_strict_reading(self, refused, tmp_path, case):
        text, expected = STRICT[case]
        urdf = tmp_path / "bad.urdf"
        urdf.write_bytes(text.encode("latin-1"))
        line = refused("generate", urdf, "-o", tmp_path / "out", "--strict", *BUILD)
        assert line.startswith((f"{urdf}: ", f"{urdf}, "))
        assert expected in line

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("gone", "no such file"),
            ("", "is a directory"),
            ("file/below", "cannot be read (Not a directory)"),
            (300 * "n", "cannot be read (File name too long)"),
            ("/dev/zero", "is larger than 16,777,216 bytes"),
        ],
    )
    def test_places_without_a_robot(self, refused, tmp_path, name, reason):
        (tmp_path / "file").write_text(TOY)
        line = refused("info", tmp_path / name)
        assert line == f"{tmp_path / name}: {reason}; expected the path of a URDF file"

    def test_an_empty_device(self, refused):
        assert refused("info", os.devnull).startswith(f"{os.devnull}: not well-formed XML (no element found")


# Domain files


class TestDomains:
    @pytest.mark.parametrize("case", DOMAINS)
    def test_refused(self, refused, tmp_path, case):
        text, expected = DOMAINS[case]
        domain = tmp_path / "domain.toml"
        domain.write_bytes(text if isinstance(text, bytes) else text.encode())
        line = refused("generate", path("toy"), "-o", tmp_path / "out", "--domain", domain, *BUILD)
        assert expected in line
        assert line.startswith((f"{domain}: ", f"{domain}, ", "domain, "))

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("gone", "no such file"),
            ("", "is a directory"),
            (300 * "n", "cannot be read (File name too long)"),
            ("/dev/zero", "is larger than 262,144 bytes"),
        ],
    )
    def test_places_without_a_domain(self, refused, tmp_path, name, reason):
        line = refused("generate", path("toy"), "-o", tmp_path / "out", "--domain", tmp_path / name)
        assert line == f"{tmp_path / name}: {reason}; expected a TOML file with bounds of the inputs"


# Options


class TestOptions:
    @pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(map(str, options))[:40])
    def test_refused(self, refused, tmp_path, options):
        line = refused("generate", path("toy"), "-o", tmp_path / "out", *BUILD, *options)
        assert OPTIONS[options] in line
        assert len(line) <= 2005

    @pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(map(str, command))[-40:])
    def test_commands_that_are_none(self, refused, tmp_path, monkeypatch, command):
        monkeypatch.chdir(tmp_path)
        assert COMMANDS[command] in refused(*command)


# npz files


@pytest.fixture(scope="module")
def rails(tmp_path_factory):
    """Return a folder with a small design that no test changes."""
    folder = tmp_path_factory.mktemp("rails") / "design"
    write(rail_design(data_width=32, bodies=2), folder)
    return folder


class TestArchives:
    @pytest.mark.parametrize("case", ARCHIVES)
    def test_refused(self, refused, rails, tmp_path, case):
        make, expected = ARCHIVES[case]
        states = tmp_path / "states.npz"
        make(states)
        line = refused("run", rails, "id", "--input", states, "--output", tmp_path / "out.npz")
        assert line.startswith((f"{states}: ", f"{states}, "))
        assert expected in line

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("gone", "no such file; expected an npz file of arrays"),
            (300 * "n", "not a readable npz file (File name too long); expected arrays of numbers"),
            ("/dev/zero", "not a readable npz file (not a regular file); expected arrays of numbers"),
        ],
    )
    def test_places_without_arrays(self, refused, rails, tmp_path, name, reason):
        line = refused("run", rails, "id", "--input", tmp_path / name, "--output", tmp_path / "out.npz")
        assert line == f"{tmp_path / name}: {reason}"


# Outputs


def states_in(folder: Path) -> Path:
    """Write a file of states for :func:`rails`."""
    arrays()(folder / "states.npz")
    return folder / "states.npz"


class TestOutputs:
    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("", "cannot be written; expected a file in a folder that exists"),
            ("no/where", "cannot be written; expected a file in a folder that exists"),
            ("states.npz/below", "cannot be written; expected a file in a folder that exists"),
            (300 * "n", "cannot be written (File name too long); expected a writable file"),
            ("/dev/full", "cannot be written (No space left on device); expected a writable file"),
            ("/proc/states", "cannot be written (No such file or directory); expected a writable file"),
        ],
    )
    def test_places_that_take_no_results(self, refused, rails, tmp_path, name, reason):
        states = states_in(tmp_path)
        line = refused("run", rails, "id", "--input", states, "--output", tmp_path / name)
        assert line == f"{tmp_path / name}: {reason}"

    @pytest.mark.parametrize("command", ["generate", "study"])
    def test_an_output_without_a_name(self, refused, tmp_path, monkeypatch, command):
        monkeypatch.chdir(tmp_path)
        line = refused(command, path("toy"), "-o", "", *BUILD)
        assert line.startswith("--output: an empty path; ")

    def test_a_design_where_there_is_something_else(self, refused, tmp_path):
        (tmp_path / "thesis.tex").write_text("mine")
        (tmp_path / "link").symlink_to(tmp_path / "link")
        (tmp_path / "selftest.v").symlink_to("thesis.tex")
        for name, reason in (
            (".", "selftest.v: is no file of a design that manifest.json describes; expected a folder in"),
            ("thesis.tex", "is not a folder; expected a folder to write a design to"),
            ("thesis.tex/design", "is not a folder; expected a folder to write a design to"),
            ("link", "is not a folder; expected a folder to write a design to"),
        ):
            line = refused("generate", path("toy"), "-o", tmp_path / name, *BUILD)
            assert reason in line

    @pytest.mark.parametrize(
        ("arguments", "reason"),
        [
            (("minv",), "function 'minv': not in the design"),
            (("id", "--engine", "c++"), "invalid value for '--engine'"),
            (("id", "--extended"), "function 'id': has no optional results; expected did, dfd"),
        ],
    )
    def test_results_that_a_design_has_not(self, refused, rails, tmp_path, arguments, reason):
        states, out = states_in(tmp_path), tmp_path / "out.npz"
        assert reason in refused("run", rails, *arguments, "--input", states, "--output", out)


# Folders


class TestFolders:
    @pytest.mark.parametrize("options", SIMULATIONS, ids=lambda options: " ".join(map(str, options))[:40])
    def test_simulations_that_cannot_be(self, refused, rails, options):
        assert SIMULATIONS[options] in refused("simulate", rails, *options)

    @pytest.mark.parametrize(
        "command",
        [
            ("simulate", "{}"),
            ("synthesize", "{}"),
            ("run", "{}", "id", "--input", "in.npz", "--output", "out.npz"),
        ],
        ids=lambda command: command[0],
    )
    @pytest.mark.parametrize("name", ["gone", "", "file", 300 * "n", os.devnull])
    def test_places_without_a_design(self, refused, tmp_path, monkeypatch, command, name):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "file").write_text("{}")
        line = refused(*(word.format(tmp_path / name) for word in command))
        assert line.startswith(str(tmp_path / name))
        assert "expected " in line

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "damaged, not JSON (Expecting value: line 1 column 1 (char 0))"),
            ("[]", "damaged, no JSON object"),
            ('{"a": NaN}', "damaged, not JSON (the number NaN)"),
            ('{"a": Infinity}', "damaged, not JSON (the number Infinity)"),
            (90_000 * "[", "damaged, not JSON (nested too deep)"),
            (90_000 * '{"a":', "damaged, not JSON (nested too deep)"),
            ("\udc80", "damaged, not JSON ('utf-8' codec"),
            ("{}", "has no digests of the design's files"),
            ('{"digests": 3}', "has no digests of the design's files"),
            ('{"digests": {"model.json": 3}}', "has no digests of the design's files"),
            ('{"digests": {}}', "was changed after it was written"),
        ],
    )
    @pytest.mark.parametrize("command", ["simulate", "synthesize"])
    def test_manifests_that_are_none(self, refused, tmp_path, command, text, reason):
        folder = tmp_path / "design"
        write(rail_design(), folder)
        (folder / "manifest.json").write_bytes(text.encode(errors="surrogateescape"))
        line = refused(command, folder)
        assert line.startswith(f"{folder / 'manifest.json'}: {reason}")


# Anything else


def characters(text: str) -> st.SearchStrategy[str]:
    """Draw a text with some characters replaced, removed or inserted."""
    edit = st.tuples(st.integers(0, len(text)), st.integers(0, 4), st.text(max_size=4))

    def edited(edits: list[tuple[int, int, str]]) -> str:
        result = text
        for offset, length, new in edits:
            result = result[:offset] + new + result[offset + length :]
        return result

    return st.lists(edit, min_size=1, max_size=4).map(edited)


DOMAIN = "[default]\nposition = [-1.0, 2.5]\n[joints.elbow]\nvelocity = 3.0\neffort = 1e2\n"


class TestAnything:
    """Valid files with a few changed characters are accepted or refused; no other error occurs."""

    @settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(text=characters(TOY))
    def test_robots(self, rbdhw, tmp_path, text):
        urdf = tmp_path / "robot.urdf"
        urdf.write_bytes(text.encode(errors="replace"))
        status, _, err = rbdhw("info", urdf, "--functions", "m", "--json")
        assert status in (0, BAD_INPUT)
        assert all(line.startswith("rbdhw: ") for line in err.splitlines())

    @settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(text=characters(DOMAIN))
    def test_domains(self, rbdhw, tmp_path, text):
        domain = tmp_path / "domain.toml"
        domain.write_bytes(text.encode(errors="replace"))
        # An unknown root ends it as soon as the domain is read.
        build = ("generate", path("toy"), "-o", tmp_path / "out", "--functions", "m")
        status, _, err = rbdhw(*build, "--domain", domain, "--root", "x")
        assert status == BAD_INPUT
        assert err.startswith("rbdhw: ")

    @settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(edits=st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 255)), min_size=1, max_size=5))
    def test_archives(self, rbdhw, rails, tmp_path, edits):
        states = states_in(tmp_path)
        content = bytearray(states.read_bytes())
        for offset, byte in edits:
            content[offset % len(content)] = byte
        states.write_bytes(content)
        status, _, err = rbdhw("run", rails, "id", "--input", states, "--output", tmp_path / "out.npz")
        assert status in (0, BAD_INPUT)
        assert all(line.startswith("rbdhw: ") for line in err.splitlines())
