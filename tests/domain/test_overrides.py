"""The domain file: what is read, and what is refused."""

import pytest

from rbdhw.domain.overrides import read_overrides
from rbdhw.errors import InputError

PAIR = "a positive number or [lower, upper] with lower below upper"
ENTRIES = "position, velocity, acceleration, effort, multiplier"


@pytest.mark.parametrize(
    ("text", "element", "expected"),
    [
        ("x = 1", "x", "one of any_forces, default, joints, base, fext, integration, parameters"),
        ("[joints.elbow]\nspin = 1", "joints.elbow.spin", f"one of {ENTRIES}"),
        ("[default]\nlimit = 1", "default.limit", f"one of {ENTRIES}"),
        ("[fext]\ntorque = 1", "fext.torque", "one of force, moment"),
        ("joints = 3", "joints", "a table"),
        ("[joints]\nelbow = 3", "joints.elbow", "a table"),
        ('[default]\nvelocity = "fast"', "default.velocity", PAIR),
        ('[default]\nvelocity = "1.0"', "default.velocity", PAIR),
        ("[default]\nvelocity = true", "default.velocity", PAIR),
        ("[default]\nvelocity = 0.0", "default.velocity", PAIR),
        ("[default]\nvelocity = -1", "default.velocity", PAIR),
        ("[default]\nvelocity = []", "default.velocity", PAIR),
        ("[default]\nvelocity = [1.0]", "default.velocity", PAIR),
        ("[default]\nvelocity = [2.0, 1.0]", "default.velocity", PAIR),
        ("[default]\nvelocity = [1.0, 1.0]", "default.velocity", PAIR),
        ("[joints.elbow]\nposition = nan", "joints.elbow.position", PAIR),
        ("[joints.elbow]\nposition = [-inf, 1]", "joints.elbow.position", PAIR),
        (f"[default]\nvelocity = 1{400 * '0'}", "default.velocity", PAIR),
        (f"[parameters]\nmass = 1{400 * '0'}", "parameters.mass", "1e-06 to 0.9 of the value in the URDF"),
        (f"[parameters]\nreach = -1{400 * '0'}", "parameters.reach", "1e-06 to 1e+06 m"),
        ("[parameters]\npayload = nan", "parameters.payload", "1e-12 to 1e+09 kg"),
        ("[default]\nposition = 1e7", "default.position", "a magnitude of up to 1e+06 rad or m"),
        (
            "[default]\nvelocity = [-1e-30, 1e-30]",
            "default.velocity",
            "0, or a magnitude of 1e-09 to 1e+06 rad/s or m/s",
        ),
        ("[fext]\nforce = [1, 2, 3]", "fext.force", PAIR),
        ("any_forces = 1", "any_forces", "true or false"),
    ],
)
def test_an_invalid_entry_is_refused(tmp_path, text, element, expected):
    file = tmp_path / "domain.toml"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        read_overrides(file)
    assert (error.value.where, error.value.expected) == (f"{file}, {element}", expected)


def test_the_refusal_of_an_entry_repeats_it(tmp_path):
    file = tmp_path / "domain.toml"
    file.write_text("[default]\nvelocity = [2.0, 1.0]")
    with pytest.raises(InputError) as error:
        read_overrides(file)
    assert str(error.value) == f"{file}, default.velocity: is [2.0, 1.0]; expected {PAIR}"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"[default]\nvelocity = {1900 * '['}", "not a readable TOML file (nested too deep)"),
        (f"x = 1\n{2000 * 'a.'}a = 1", "a line of 4,005 characters; expected at most 2,000"),
        (
            "[default",
            "not a readable TOML file (Expected ']' at the end of a table declaration (at end of document))",
        ),
    ],
)
def test_a_file_that_is_not_toml_is_refused(tmp_path, text, complaint):
    file = tmp_path / "domain.toml"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        read_overrides(file)
    assert str(error.value) == f"{file}: {complaint}"


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    missing, binary = tmp_path / "missing.toml", tmp_path / "binary.toml"
    binary.write_bytes(b"\xff")
    reason = "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"
    for file, complaint in (
        (missing, "no such file; expected a TOML file with bounds of the inputs"),
        (binary, f"not a readable TOML file ({reason})"),
    ):
        with pytest.raises(InputError) as error:
            read_overrides(file)
        assert str(error.value) == f"{file}: {complaint}"


@pytest.mark.parametrize("value", ["0.01", "[0.0, 0.01]", "[-0.001, 0.01]", "[0.01, 0.002]", "[0.001, 2.0]"])
def test_other_bounds_of_the_time_step_are_refused(tmp_path, value):
    file = tmp_path / "domain.toml"
    file.write_text(f"[integration]\ntime_step = {value}\n")
    expected = r"integration\.time_step: is .*; expected \[lower, upper\], each of 1e-07 to 1 s"
    with pytest.raises(InputError, match=expected):
        read_overrides(file)
