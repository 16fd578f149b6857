"""The limbs of a robot that are alike."""

from dataclasses import replace

import pytest

from rbdhw.robot.model import Mimic
from rbdhw.robot.rewrite import best_rewrite
from rbdhw.robot.symmetry import limb_groups
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.limbs import limbed, without

LEGS = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11))
ATLAS = (
    ((18, 19, 20, 21, 22, 23), (24, 25, 26, 27, 28, 29)),
    ((3, 4, 5, 6, 7, 8, 9), (11, 12, 13, 14, 15, 16, 17)),
)


@pytest.mark.parametrize(
    ("robot", "groups"), [("toy", ()), ("iiwa14", ()), ("hyq", (LEGS,)), ("atlas", ATLAS)]
)
def test_bundled_robots(robot, groups):
    assert limb_groups(load_urdf(path(robot))) == groups


@pytest.mark.parametrize("robot", ["hyq", "atlas"])
def test_a_floating_base_is_one_body_more(robot):
    fixed = load_urdf(path(robot))
    moved = tuple(tuple(tuple(body + 1 for body in limb) for limb in group) for group in limb_groups(fixed))
    assert limb_groups(fixed.with_floating_base()) == moved


def test_rewriting_keeps_legs_alike():
    robot = best_rewrite(load_urdf(path("hyq")), lambda robot: float(len(robot.bodies))).robot
    assert limb_groups(robot) == (LEGS,)


@pytest.mark.parametrize("trunk", [False, True])
@pytest.mark.parametrize("limbs", [2, 3, 4])
def test_limbs_that_differ_in_signs_and_sizes_are_alike(limbs, trunk):
    first = 1 if trunk else 0
    expected = tuple((first + 2 * k, first + 2 * k + 1) for k in range(limbs))
    assert limb_groups(limbed(limbs, trunk=trunk)) == (expected,)


def test_limbs_with_different_zeros_are_not_alike():
    assert limb_groups(without(limbed(4), 3)) == (((0, 1), (4, 5), (6, 7)),)


def test_limbs_that_are_alike_are_not_searched_for_groups():
    robot = limbed(2)
    hand = [replace(body, name=f"finger_{k}", parent=k % 2) for k, body in enumerate(limbed(4, 1).bodies)]
    bodies = [robot.bodies[0], replace(robot.bodies[2], parent=-1), *hand]
    names = [replace(body, joint=replace(body.joint, name=f"joint_{k}")) for k, body in enumerate(bodies)]
    assert limb_groups(robot.with_bodies(names)) == (((0, 2, 4), (1, 3, 5)),)


def test_a_single_limb_is_searched_for_groups():
    robot = limbed(2, trunk=True)
    assert limb_groups(robot) == (((1, 2), (3, 4)),)


def test_mimics_correspond_by_their_place_in_the_limb():
    robot = limbed(3)
    followed = {1: robot.bodies[0], 3: robot.bodies[2], 5: robot.bodies[0]}
    bodies = list(robot.bodies)
    for i, other in followed.items():
        bodies[i] = replace(bodies[i], joint=replace(bodies[i].joint, mimic=Mimic(other.joint.name)))
    assert limb_groups(robot.with_bodies(bodies)) == (((0, 1), (2, 3)),)
