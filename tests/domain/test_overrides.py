"""The domain file: what is read, and what is refused."""

import pytest

from rbdhw.domain.overrides import read_overrides
from rbdhw.errors import InputError

PAIR = "a positive number or [lower, upper] with lower below upper"
ENTRIES = "position, velocity, acceleration, effort, multiplier"


@pytest.mark.parametrize(
    ("text", "element", "expected"),
    [
        ("x = 1", "x", "one of any_forces, default, joints, base, fext, integration, parameters, contacts"),
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


@pytest.mark.parametrize("value", ["0.01", "[0.0, 0.01]", "[-0.001, 0.01]", "[0.01, 0.002]", "[0.001, 2.0]"])
def test_other_bounds_of_the_time_step_are_refused(tmp_path, value):
    file = tmp_path / "domain.toml"
    file.write_text(f"[integration]\ntime_step = {value}\n")
    expected = r"integration\.time_step: is .*; expected \[lower, upper\], each of 1e-07 to 1 s"
    with pytest.raises(InputError, match=expected):
        read_overrides(file)
