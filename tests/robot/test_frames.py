"""Frame placement: constants become zero, and joint-space results do not change."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import (
    align_axes,
    common_normal_frames,
    frame_candidates,
    intersect_axes,
    place_frame,
    straighten_joint,
    straighten_joints,
    turn_leaves,
)
from rbdhw.robot.model import IDENTITY, JointKind, Placement
from rbdhw.robot.spatial import is_signed_permutation
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled, path
from tests.support.invariance import assert_same_dynamics
from tests.support.marks import long
from tests.support.mechanisms import BRANCHED, mechanism
from tests.support.strategies import ALL_KINDS, robots

WHOLE = [straighten_joints, intersect_axes, common_normal_frames, turn_leaves]
PINNED = (JointKind.SPHERICAL, JointKind.FLOATING)
ANY_ROBOT = robots(max_bodies=5, kinds=ALL_KINDS, mimics=True)
AXES = [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0), (0.6, 0.0, 0.8), (-0.48, 0.6, 0.64)]


def aligned(name):
    return align_axes(load_urdf(path(name)))


def bent(robot):
    """Return ``robot`` with its joint frames rotated so that no entry of a placement is zero."""
    for i in range(len(robot.bodies)):
        robot = place_frame(robot, i, turn=0.3 + i, shift=(0.0, 0.0, 0.1))
    return robot


def zeros(rotation):
    return sum(entry == 0.0 for row in rotation for entry in row)


class TestInvariance:
    @pytest.mark.parametrize("name", bundled())
    def test_of_aligned_axes(self, name):
        robot = load_urdf(path(name))
        assert_same_dynamics(robot, align_axes(robot))

    @pytest.mark.parametrize("rewrite", WHOLE)
    @pytest.mark.parametrize("name", [name if name in ("hyq", "tiago") else long(name) for name in bundled()])
    def test_of_bundled_robots(self, name, rewrite):
        robot = aligned(name)
        assert_same_dynamics(robot, rewrite(robot), tasks=1)

    @pytest.mark.parametrize("rewrite", [align_axes, *WHOLE])
    def test_on_a_floating_base(self, rewrite):
        robot = align_axes(load_urdf(path("toy"))).with_floating_base()
        assert_same_dynamics(robot, rewrite(robot))
        assert rewrite(robot).bodies[0] == robot.bodies[0]

    @given(ANY_ROBOT)
    def test_of_any_robot(self, robot):
        robot = elementary(robot)
        straight = align_axes(robot)
        for body in straight.bodies:
            assert body.joint.axis == (0.0, 0.0, 1.0) or body.joint.kind in PINNED
        assert_same_dynamics(robot, straight, tasks=1)
        for rewrite in WHOLE:
            assert_same_dynamics(robot, rewrite(straight), tasks=1)

    @given(ANY_ROBOT)
    def test_of_every_candidate(self, robot):
        straight = align_axes(elementary(robot))
        for i in range(len(robot.bodies)):
            for candidate in frame_candidates(straight, i):
                assert candidate != straight
                assert_same_dynamics(robot, candidate, tasks=1)

    @pytest.mark.parametrize("axis", AXES)
    @pytest.mark.parametrize("kind", [JointKind.PLANAR, JointKind.REVOLUTE, JointKind.PRISMATIC])
    def test_of_aligned_axes_in_every_direction(self, kind, axis):
        robot = mechanism([kind, JointKind.SPHERICAL, kind, kind, kind], BRANCHED, seed=2, axis=axis)
        assert_same_dynamics(robot, align_axes(robot))

    def test_of_turned_and_shifted_frames_under_forces_on_links(self):
        robot = aligned("hyq")
        moved = bent(robot)
        assert all(body.link_frame != Placement() for body in moved.bodies)
        assert all(body.joint.offset != 0.0 for body in moved.bodies)
        assert_same_dynamics(robot, moved)

    def test_fails_if_the_link_frame_is_not_moved(self):
        robot = aligned("toy")
        moved = bent(robot)
        forgetful = moved.with_bodies([replace(body, link_frame=Placement()) for body in moved.bodies])
        with pytest.raises(AssertionError):
            assert_same_dynamics(robot, forgetful)


class TestAlignAxes:
    @pytest.mark.parametrize("name", sorted(bundled().keys() - {"hand22"}))
    def test_bundled_robots_but_the_hand_keep_signed_permutations(self, name):
        for body in aligned(name).bodies:
            assert is_signed_permutation(body.joint.placement.rotation)
            assert is_signed_permutation(body.link_frame.rotation)

    def test_axes_on_z_already_are_left_alone(self):
        robot = load_urdf(path("iiwa14"))
        assert align_axes(robot) == robot


class TestStraightenJoint:
    def test_a_signed_permutation_is_left_alone(self):
        robot = aligned("iiwa14")
        assert straighten_joint(robot, 3) is robot

    def test_a_turn_about_a_parallel_axis_is_undone(self):
        robot = place_frame(aligned("toy"), 0, turn=0.7)
        turned = robot.bodies[1].joint
        assert turned.placement.rotation == IDENTITY
        assert turned.offset == pytest.approx(-0.7)

    @given(robots(max_bodies=4))
    def test_a_general_rotation_gets_a_zero(self, robot):
        for body in straighten_joints(align_axes(robot)).bodies:
            if body.joint.kind.rotates:
                assert zeros(body.joint.placement.rotation) >= 1


class TestIntersectAxes:
    def test_the_iiwa_has_a_shoulder_an_elbow_and_a_wrist(self):
        offsets = [body.joint.placement.translation for body in intersect_axes(aligned("iiwa14")).bodies]
        expected = [
            (0.0, 0.0, 0.36),
            (0.0, 0.0, 0.0),
            (0.0, pytest.approx(0.42), 0.0),
            (0.0, 0.0, 0.0),
            (0.0, pytest.approx(0.4), 0.0),
            (0.0, 0.0, 0.0),
            (0.0, 0.0, 0.0),
        ]
        assert offsets == expected

    def test_toward_parents_the_elbow_is_the_next_joints(self):
        robot = intersect_axes(aligned("iiwa14"), toward_children=False)
        lengths = [np.linalg.norm(body.joint.placement.translation) for body in robot.bodies]
        np.testing.assert_allclose(lengths, [0.36, 0, 0, 0.42, 0, 0.4, 0], atol=1e-15)


class TestCommonNormalFrames:
    @given(robots(max_bodies=6))
    def test_x_or_y_is_the_common_normal_with_the_first_child(self, robot):
        robot = common_normal_frames(align_axes(robot))
        for body, children in zip(robot.bodies, robot.children, strict=True):
            kinds = [robot.bodies[i].joint.kind for i in children[:1]] + [body.joint.kind]
            if len(kinds) == 1 or JointKind.PRISMATIC in kinds:
                continue
            placement = robot.bodies[children[0]].joint.placement
            assert zeros(placement.rotation) >= 4
            axis, offset = np.array(placement.rotation)[:, 2], np.array(placement.translation)
            normal = offset - (offset @ axis) * axis  # without the way along the child's own axis
            assert sorted(np.abs(normal))[1] < 1e-12


class TestTurnLeaves:
    def test_the_first_moment_of_a_leaf_has_zero_y(self):
        robot = turn_leaves(aligned("hyq"))
        leaves = [body for body, below in zip(robot.bodies, robot.children, strict=True) if not below]
        assert len(leaves) == 4
        assert all(leaf.inertia.first_moment[1] == 0.0 for leaf in leaves)
        assert all(is_signed_permutation(leaf.joint.placement.rotation) for leaf in leaves)


class TestFrameCandidates:
    @pytest.mark.parametrize("kind", PINNED)
    def test_a_spherical_or_floating_body_has_no_candidates(self, kind):
        robot = mechanism([kind, JointKind.REVOLUTE], [-1, 0], seed=1, axis=(0.0, 0.0, 1.0))
        assert frame_candidates(robot, 0) == []

    def test_a_planar_body_is_shifted_across_its_plane(self):
        robot = mechanism([JointKind.PLANAR, JointKind.SPHERICAL], [-1, 0], seed=1, axis=(0.0, 0.0, 1.0))
        (candidate,) = frame_candidates(robot, 0)
        before, after = robot.bodies[0].joint.placement, candidate.bodies[0].joint.placement
        assert after.rotation == before.rotation
        assert candidate.bodies[1].joint.placement.translation[2] == 0.0

    def test_a_leaf_may_zero_its_first_moment_or_its_product_of_inertia(self):
        candidates = frame_candidates(aligned("hyq"), 2)
        assert any(robot.bodies[2].inertia.first_moment[1] == 0.0 for robot in candidates)
        assert any(robot.bodies[2].inertia.rotational[1] == 0.0 for robot in candidates)

    def test_a_prismatic_body_may_have_its_origin_in_its_centre_of_mass(self):
        robot = aligned("toy")
        joint = replace(robot.bodies[1].joint, kind=JointKind.PRISMATIC)
        robot = robot.with_bodies([robot.bodies[0], replace(robot.bodies[1], joint=joint)])
        candidates = frame_candidates(robot, 1)
        assert any(robot.bodies[1].inertia.first_moment == (0.0, 0.0, 0.0) for robot in candidates)
        assert any(robot.bodies[1].joint.placement.translation == (0.0, 0.0, 0.0) for robot in candidates)
