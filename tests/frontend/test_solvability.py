"""Functions that need the inverse of a singular mass matrix are refused before anything is built."""

from dataclasses import replace

import pytest

from rbdhw.errors import InputError
from rbdhw.front.robot_description import describe
from rbdhw.frontend.build_graph import prepare
from rbdhw.frontend.read import read
from rbdhw.frontend.solvability import check_solvable
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import build_design
from rbdhw.robot.model import Inertia, JointKind, Placement
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled, path
from tests.support.mechanisms import mechanism, with_mimic

ALL = ("id", "fd", "m", "minv", "did", "dfd", "difd")


def massless_base():
    """An arm on a floating base without inertia."""
    robot = load_urdf(path("toy"))
    return replace(robot, base_inertia=Inertia()).with_floating_base()


def refusal(robot, functions=("fd",)):
    with pytest.raises(InputError) as error:
        check_solvable(robot, functions)
    return str(error.value)


@pytest.mark.parametrize("name", bundled())
def test_bundled_robots_on_a_fixed_base_are_accepted(name):
    robot = load_urdf(path(name))
    check_solvable(robot, ALL)


@pytest.mark.parametrize("function", ["fd", "minv", "dfd", "difd", "sfd", "hfd"])
def test_a_floating_base_without_inertia_is_refused(function):
    assert refusal(massless_base(), ("id", function)) == (
        "link 'base': has no inertia, and joints 'root_joint' and 'shoulder' can move without moving any "
        "mass: the mass matrix of robot 'toy' is singular; expected an <inertial> there; add it, or use "
        "--functions id,m,did"
    )


def test_functions_without_the_inverse_are_accepted():
    robot = massless_base()
    check_solvable(robot, ("id", "m", "did", "sid", "hid", "kin"))


def test_a_build_is_refused_before_it_begins():
    stages: list[str] = []
    with pytest.raises(InputError, match="link 'base': has no inertia"):
        build_design(massless_base(), BuildOptions(functions=("fd",)), progress=stages.append)
    assert stages == []


def test_algorithms_are_not_compared():
    with pytest.raises(InputError, match="link 'base': has no inertia"):
        prepare(massless_base(), ("fd",))


def test_a_file_is_refused_before_its_root_is_chosen():
    options = BuildOptions(functions=("fd",), mounting=Mounting("floating", root="auto"))
    with pytest.raises(InputError, match="link 'base': has no inertia"):
        read(path("toy"), options)
    assert list(describe(path("toy"), replace(options, functions=("id",)))["functions"]) == ["id"]


@pytest.mark.parametrize(("mass", "refused"), [(1e-8, False), (1e-14, True)])
def test_a_light_link_between_heavy_ones_is_accepted_unless_it_is_lost_in_rounding(mass, refused):
    """Two joints turn the last link about the same axis, and only the light link tells them apart."""
    robot = mechanism([JointKind.REVOLUTE] * 2, [-1, 0], seed=1, axis=(0.0, 0.0, 1.0))
    light, heavy = (Inertia(m, (0.1 * m, 0.0, 0.0), (m, 0.0, 0.0, m, 0.0, m)) for m in (mass, 1.0))
    first, second = robot.bodies
    coaxial = replace(second.joint, placement=Placement())
    robot = robot.with_bodies([replace(first, inertia=light), replace(second, inertia=heavy, joint=coaxial)])
    if refused:
        refusal(robot)
    else:
        check_solvable(robot, ALL)


def test_the_refusal_of_a_limb_without_inertia_names_its_last_link():
    robot = mechanism([JointKind.REVOLUTE] * 3, [-1, 0, 0], seed=1)
    robot = robot.with_bodies([*robot.bodies[:2], replace(robot.bodies[2], inertia=Inertia())])
    name, joint = robot.bodies[2].name, robot.bodies[2].joint.name
    assert refusal(robot).startswith(
        f"link '{name}': has no inertia, and joint '{joint}' can move without moving any mass: "
    )


def test_a_massless_limb_whose_mimic_has_mass_is_accepted():
    robot = mechanism([JointKind.REVOLUTE] * 2, [-1, -1], seed=1)
    robot = robot.with_bodies([replace(robot.bodies[0], inertia=Inertia()), robot.bodies[1]])
    refusal(robot)
    robot = with_mimic(robot, 1, 0, 1.0)
    check_solvable(robot, ALL)
