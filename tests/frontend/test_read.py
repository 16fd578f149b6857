"""Mounted robots: remarks, the order of joints, and refused robots."""

import json

import pytest

from rbdhw.errors import InputError
from rbdhw.frontend.read import load_mounted
from rbdhw.options.build import Mounting
from tests.support.urdf_documents import AXIS, arm_with, link, robot

pytestmark = pytest.mark.usefixtures("without_verilog")

ODD = arm_with(rest='<limit lower="-1" upper="1" velocity="0" effort="2"/><dynamics damping="1"/>')
AXIS_TAKEN = "joint 'shoulder': no <axis>; taken as 1 0 0, as URDF says"
LOSSES = "joint 'shoulder': damping in <dynamics> is not computed; --damping urdf adds damping * v to tau"
VELOCITY = (
    "domain: joint 'shoulder': velocity limit 0 bounds nothing; taken within 4 rad/s; "
    "velocity in [joints.shoulder] of a domain file overrides it"
)


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "odd.urdf"
    file.write_text(ODD)
    return file


def test_remarks_go_to_stderr_with_the_name_of_their_file(file, capsys):
    loaded = load_mounted(file, Mounting("floating"))
    assert loaded.remarks == (AXIS_TAKEN, LOSSES)
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"rbdhw: {file}: {AXIS_TAKEN}\nrbdhw: {file}: {LOSSES}\n")


def test_a_strict_mounting_refuses(file):
    with pytest.raises(InputError) as error:
        load_mounted(file, Mounting(strict=True))
    assert str(error.value) == (
        f"{file}, joint 'shoulder': no <axis>; expected <axis> in <joint>; "
        "leave out --strict (then taken as 1 0 0, as URDF says)"
    )


def test_joints_have_the_requested_order(tmp_path):
    file = tmp_path / "order.urdf"
    joints = [
        f'<joint name="{name}" type="revolute"><parent link="base"/><child link="{name}"/>{AXIS}</joint>'
        for name in "zya"
    ]
    file.write_text(robot(*map(link, ["base", "a", "y", "z"]), *joints))
    assert load_mounted(file, Mounting()).joints == ("a", "y", "z")
    assert load_mounted(file, Mounting(joint_order="file")).joints == ("z", "y", "a")


def test_a_robot_without_a_moving_joint_is_refused(tmp_path):
    file = tmp_path / "plate.urdf"
    file.write_text(robot(link("plate")))
    with pytest.raises(InputError) as error:
        load_mounted(file, Mounting())
    assert str(error.value) == f"{file}: robot 'r' has no moving joint; expected at least one"


class TestCommandLine:
    def test_the_manifest_has_all_remarks_and_json_is_alone_on_its_stream(self, rbdhw, file, tmp_path):
        arguments = ("--functions", "id", "--max-error", "0.1", "--json", "-o", str(tmp_path / "out"))
        status, out, err = rbdhw("generate", str(file), *arguments)
        assert status == 0
        assert json.loads(out)["remarks"] == [AXIS_TAKEN, LOSSES, VELOCITY]
        lines = [line for line in err.splitlines() if line.startswith("rbdhw: ")]
        assert lines == [f"rbdhw: {file}: {AXIS_TAKEN}", f"rbdhw: {file}: {LOSSES}", f"rbdhw: {VELOCITY}"]

    def test_a_correct_file_has_no_remarks(self, rbdhw, tmp_path):
        file = tmp_path / "arm.urdf"
        file.write_text(arm_with())
        arguments = (
            "--functions",
            "id",
            "--max-error",
            "0.1",
            "--json",
            "--strict",
            "-o",
            str(tmp_path / "out"),
        )
        _, out, err = rbdhw("generate", str(file), *arguments)
        assert json.loads(out)["remarks"] == []
        assert "rbdhw: " not in err

    def test_strict_refuses_limits_that_bound_nothing(self, rbdhw, tmp_path):
        file = tmp_path / "arm.urdf"
        file.write_text(arm_with(rest=AXIS + '<limit lower="-1" upper="1" velocity="0" effort="2"/>'))
        status, out, err = rbdhw("generate", str(file), "--strict", "-o", str(tmp_path / "out"))
        assert (status, out) == (2, "")
        assert err.splitlines()[-1] == (
            "rbdhw: joint 'shoulder': velocity limit 0 bounds nothing; expected a limit in the URDF; set "
            "velocity in [joints.shoulder] of a domain file, or "
            "leave out --strict (then taken within 4 rad/s)"
        )
