"""Another link as the floating base: equal dynamics, the meaning of coordinates, and the link chosen."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdhw import golden
from rbdhw.errors import InputError
from rbdhw.robot import reroot as module
from rbdhw.robot.check import check_robot
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import BASE, JointKind, Placement, Robot
from rbdhw.robot.rebase import Rebase
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.reroot import REVERSIBLE, RootTrial, best_root, candidate_roots, reroot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.floating_robots import floating, link_poses, random_tree
from tests.support.invariance import assert_same_dynamics
from tests.support.marks import long
from tests.support.mechanisms import BRANCHED, mechanism
from tests.support.oracle import pinocchio_model
from tests.support.strategies import random_states

SEEDS = st.integers(0, 2**16)


def assert_same_mechanism(robot, other, seed=0):
    """Check that every link keeps its pose, and that all seven functions agree on converted arrays."""
    change, given = Rebase(robot, other), random_states(robot, 3, seed)
    q, v = given["q"], given["v"]
    theirs = {
        "q": change.configuration(q),
        "v": change.velocity(q, v),
        "a": change.acceleration(q, v, given["a"]),
        "tau": change.force(q, given["tau"]),
        "fext": given["fext"][:, [bodies(robot)[name] for name in bodies(other)]],
    }
    for one, two in zip(q, theirs["q"], strict=True):
        expected, poses = link_poses(robot, one), link_poses(other, two)
        for name, pose in expected.items():
            np.testing.assert_allclose(poses[name].homogeneous, pose.homogeneous, atol=1e-12)
    expected, results = (
        {function: next(iter(golden.evaluate(r, function, given).values())) for function in ("id", "m", "fd")}
        for r, given in ((robot, given), (other, theirs))
    )
    J = change.jacobian(q)
    assert_close(J.swapaxes(1, 2) @ results["m"] @ J, expected["m"])
    assert_close(results["id"], change.force(q, expected["id"]))
    assert_close(results["fd"], change.acceleration(q, v, expected["fd"]))


def bodies(robot):
    return {body.name: i for i, body in enumerate(robot.bodies)}


def assert_close(value, expected):
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("name", "link"),
    [("hyq", "lf_lowerleg"), ("atlas", "mtorso"), long("hyq", "rh_hipassembly"), long("atlas", "l_hand")],
)
def test_bundled_robots_keep_their_dynamics_from_another_root(name, link):
    robot = floating(name)
    other = reroot(robot, link)
    assert other.bodies[0].name == other.base == link
    assert other.floats
    check_robot(other)
    assert_same_mechanism(robot, other)


@settings(max_examples=12)
@given(SEEDS, st.data())
def test_random_robots_keep_their_dynamics_from_any_root_and_back(seed, data):
    robot = random_tree(seed)
    links = st.sampled_from([body.name for body in robot.bodies])
    other = reroot(robot, data.draw(links))
    check_robot(other)
    assert_same_mechanism(robot, other, seed)
    assert_same_mechanism(other, robot, seed)
    assert_same_mechanism(other, reroot(other, data.draw(links)), seed)


@settings(max_examples=10)
@given(SEEDS)
def test_later_rewrites_keep_dynamics_and_external_forces(seed):
    other = reroot(random_tree(seed), "b6")
    assert_same_dynamics(other, regroup_inertias(align_axes(elementary(other))), tasks=1)


@pytest.mark.parametrize("name", ["hyq", "atlas"])
def test_pinocchio_gives_the_same_joint_accelerations(name):
    robot = floating(name)
    other = reroot(robot, robot.bodies[-1].name)
    given = random_states(robot, 1, seed=4)
    given["tau"][:, :6] = 0.0
    q, v, tau = given["q"], given["v"], given["tau"]
    change = Rebase(robot, other)
    columns = change.jacobian(q)[0, 6:].argmax(axis=1)
    np.testing.assert_allclose(change.force(q, tau)[0], [*np.zeros(6), *tau[0, columns]], atol=1e-12)
    model, theirs = pinocchio_model(robot), pinocchio_model(other)
    expected = pin.aba(model, model.createData(), q[0], v[0], tau[0])
    moved = [array[0] for array in (change.configuration(q), change.velocity(q, v), change.force(q, tau))]
    a = pin.aba(theirs, theirs.createData(), *moved)
    np.testing.assert_allclose(a[6:], expected[columns], rtol=1e-8, atol=1e-8)
    energy = [
        pin.computeKineticEnergy(m, m.createData(), *state)
        for m, state in ((model, (q[0], v[0])), (theirs, moved[:2]))
    ]
    assert energy[1] == pytest.approx(energy[0], rel=1e-12)


@pytest.mark.parametrize(
    "kind", [kind for kind in JointKind if kind not in (*REVERSIBLE, JointKind.FLOATING)]
)
def test_joints_that_cannot_be_reversed_stay_below_or_are_refused(kind):
    kinds = [JointKind.REVOLUTE, kind, JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.CYLINDRICAL]
    robot = mechanism(kinds, BRANCHED, seed=2, axis=(0.0, 0.0, 1.0)).with_floating_base()
    assert_same_mechanism(robot, reroot(robot, "b4"))
    assert [link for link, _ in candidate_roots(robot)] == ["b0", "base", "b3", "b4"]
    with pytest.raises(InputError) as refusal:
        reroot(robot, "b2")
    assert str(refusal.value) == (
        f"root: joint 'j1' on the way to link 'b2' is {kind}, which cannot be reversed; "
        "expected revolute, continuous, prismatic, helical or cylindrical joints there"
    )


def test_a_reversed_body_has_its_frame_at_the_joint():
    robot = floating("hyq")
    other = reroot(robot, "lf_upperleg")
    assert [body.name for body in other.bodies[:3]] == ["lf_upperleg", "lf_hipassembly", "base_link_0"]
    root, hip, trunk = other.bodies[:3]
    assert root.joint.name == "root_joint"
    assert hip.joint.name == "lf_hfe_joint"
    assert trunk.joint.name == "lf_haa_joint"
    assert (hip.parent, trunk.parent) == (0, 1)
    assert hip.joint.placement == Placement()
    assert hip.joint.axis == trunk.joint.axis == (0.0, 0.0, -1.0)
    assert root.link_frame == Placement()
    assert hip.link_frame.translation == (-0.08, 0.0, 0.0)


def test_rerooting_at_the_root_changes_nothing():
    robot = floating("atlas")
    assert reroot(robot, "pelvis") == robot


def test_another_root_has_a_joint_order_of_its_own():
    assert floating("atlas").joint_order == "pinocchio"
    assert reroot(floating("atlas"), "mtorso").joint_order == "rerooted"


def test_rerooting_twice_gives_the_original_robot():
    robot = floating("hyq")
    back = reroot(reroot(robot, "rh_lowerleg"), "base_link_0")
    assert sorted(back.joints) == sorted(robot.joints)
    assert {body.joint.name: body.joint.axis for body in back.bodies} == {
        body.joint.name: body.joint.axis for body in robot.bodies
    }
    assert_same_mechanism(robot, back)


def test_a_link_on_a_fixed_joint_stands_for_the_one_it_moves_with():
    robot = replace(floating("hyq"), fixed_links=(("foot", "lf_lowerleg"), ("flange", "foot_of_the_world")))
    assert reroot(robot, "foot") == reroot(robot, "lf_lowerleg")


def test_a_root_link_that_is_the_world_stays_the_world():
    robot = replace(floating("hyq"), base="world")
    other = reroot(robot, "lf_lowerleg")
    assert (other.base, other.bodies[0].name) == ("world", "lf_lowerleg")
    check_robot(other)


def test_bodies_beside_the_floating_body_stay_in_place():
    robot = floating("toy")
    aside = replace(
        robot.bodies[1], name="aside", parent=BASE, joint=replace(robot.bodies[1].joint, name="aside")
    )
    robot = robot.with_bodies((*robot.bodies, aside))
    other = reroot(robot, robot.bodies[2].name)
    assert other.bodies[-1] == aside
    with pytest.raises(InputError, match="root: link 'aside' is unknown"):
        reroot(robot, "aside")


def test_an_unknown_link_is_refused():
    with pytest.raises(InputError) as refusal:
        reroot(floating("toy"), "tail")
    assert str(refusal.value) == "root: link 'tail' is unknown; expected one of base, upper_arm, forearm"


@pytest.mark.parametrize(
    "asked", [lambda robot: reroot(robot, "link"), candidate_roots, lambda robot: best_root(robot, len)]
)
def test_a_fixed_base_is_refused(asked):
    with pytest.raises(InputError) as refusal:
        asked(load_urdf(path("toy")))
    assert str(refusal.value) == (
        "root: the base of robot 'toy' does not float; "
        "expected a robot that is free in space; use --base floating"
    )


def test_the_middle_of_atlas_is_its_torso():
    robot = floating("atlas")
    assert robot.depth == 11
    assert candidate_roots(robot)[:4] == [("mtorso", 9), ("ltorso", 10), ("utorso", 10), ("pelvis", 11)]
    assert reroot(robot, "mtorso").depth == 9
    assert len(candidate_roots(robot)) == 31


def bushy(robot: Robot):
    """Return the sum of the path lengths of all bodies as a cost."""
    return float(sum(len(robot.path(i)) for i in range(len(robot.bodies))))


def test_the_cheapest_root_is_chosen_and_every_trial_listed():
    robot = floating("atlas")
    best, tried, skipped = best_root(robot, bushy)
    costs = {link: bushy(reroot(robot, link)) for link in ("pelvis", "mtorso", "ltorso", "utorso")}
    assert tried == [
        RootTrial("pelvis", 11, costs["pelvis"]),
        RootTrial("mtorso", 9, costs["mtorso"]),
        RootTrial("ltorso", 10, costs["ltorso"]),
        RootTrial("utorso", 10, costs["utorso"]),
    ]
    assert best == reroot(robot, min(costs, key=costs.get))
    assert skipped == ()


@pytest.mark.parametrize(("evaluations", "links"), [(1, ["pelvis"]), (2, ["pelvis", "mtorso"])])
def test_the_trials_are_bounded(evaluations, links):
    _, tried, skipped = best_root(floating("atlas"), bushy, evaluations)
    assert [trial.link for trial in tried] == links
    assert skipped == ()


@pytest.mark.parametrize(
    ("most", "links", "skipped"),
    [
        (3.0, ["pelvis", "mtorso", "ltorso"], ("utorso",)),
        (2.9, ["pelvis", "mtorso"], ("ltorso", "utorso")),
        (0.0, ["pelvis", "mtorso"], ("ltorso", "utorso")),
    ],
)
def test_fewer_roots_of_a_large_robot_are_compared(monkeypatch, most, links, skipped):
    """At least two roots are compared; as every cost is 1, the work is the number of trials."""
    monkeypatch.setattr(module, "MOST_WORK", most)
    best = best_root(floating("atlas"), lambda _: 1.0)
    assert [trial.link for trial in best.trials] == links
    assert best.skipped == skipped


def test_a_root_that_saves_nothing_is_not_chosen():
    robot = floating("atlas")
    assert best_root(robot, lambda _: 1.0)[0] is robot
    hyq = floating("hyq")
    best, tried, _ = best_root(hyq, bushy)
    assert best is hyq
    assert tried == [RootTrial("base_link_0", 4, bushy(hyq))]
