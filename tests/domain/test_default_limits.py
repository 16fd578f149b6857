"""Bounds that replace missing limits of a URDF: their values and their remarks."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.default_limits import holding_effort
from rbdhw.domain.forces import Forces
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.domain.sampling import sample
from rbdhw.errors import InputError
from rbdhw.robot.model import Inertia, JointKind, Limits
from rbdhw.robot.spatial import point_inertia
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.mechanisms import mechanism, with_mimic

Z = (0.0, 0.0, 1.0)
OPEN = Limits(-math.inf, math.inf, math.inf, math.inf)
NONE = ((0.0,) * 3,) * 3


def with_limits(robot, **limits):
    """Return ``robot`` with meaningful limits for all joints, except for those given."""
    joint_limits = (replace(Limits(-1.0, 1.0, 2.0, 3.0), **limits),)
    return robot.with_bodies(
        [replace(body, joint=replace(body.joint, limits=joint_limits)) for body in robot.bodies]
    )


def chain(size, kind=JointKind.REVOLUTE, **limits):
    """Return a chain of equal joints."""
    return with_limits(on_earth([kind] * size, list(range(-1, size - 1))), **limits)


def on_earth(kinds, parents, **options):
    return replace(mechanism(kinds, parents, seed=1, **options), gravity=(0.0, 0.0, -9.81))


class TestPositions:
    def test_of_a_turn_without_limits_wrap(self):
        domain = input_domain(chain(1, lower=-math.inf, upper=math.inf))
        assert domain.wraps == (True,)
        (remark,) = domain.remarks
        assert "no position limits; taken as a full turn, which wraps; position in [joints." in remark

    def test_do_not_wrap_if_a_mimic_would_jump(self):
        robot = with_mimic(chain(2, lower=-math.inf, upper=math.inf), 1, 0, 1.5)
        domain = input_domain(robot)
        assert domain.wraps == (False,)
        assert domain.bounds["q"].tolist() == [[-math.pi, math.pi]]
        assert "taken within 3.14 rad" in domain.remarks[0]

    def test_of_many_joints_are_one_line(self):
        robot = chain(5, lower=0.0, upper=0.0)
        names = [repr(name) for name in robot.joints]
        assert input_domain(robot).remarks == (
            f"domain: joints {', '.join(names[:3])} and 2 more: position limits 0 to 0 rad leave no room; "
            "taken as a full turn, which wraps; position in [joints.NAME] of a domain file overrides it",
        )


class TestDegrees:
    def test_limits_beyond_all_reason_are_free(self):
        robot = chain(1, lower=-180.0, upper=180.0)
        assert input_domain(robot).wraps == (True,)
        (name,) = robot.joints
        assert input_domain(robot).remarks == (
            f"domain: joint '{name}': position limits -180 to 180 rad span 57 turns; degrees? expected "
            f"radians; taken as a full turn, which wraps; position in [joints.{name}] of a domain file "
            "overrides it",
        )

    def test_other_limits_are_taken_as_they_are(self):
        robot = chain(2, lower=0.0, upper=90.0)
        domain = input_domain(robot)
        assert domain.bounds["q"].tolist() == [[0.0, 90.0]] * 2
        assert domain.remarks == (
            f"domain: joints '{robot.joints[0]}' and '{robot.joints[1]}': position limits 0 to 90 rad span "
            "14 turns; degrees? expected radians",
        )

    def test_bounds_of_a_domain_file_are_taken_as_they_are(self):
        robot = chain(1)
        domain = input_domain(robot, Overrides(default=JointBounds(position=180.0)), strict=True)
        assert domain.bounds["q"].tolist() == [[-180.0, 180.0]]
        assert domain.remarks == (
            f"domain: joint '{robot.joints[0]}': position bounds -180 to 180 rad span 57 turns; degrees? "
            "expected radians",
        )

    def test_slides_have_none(self):
        domain = input_domain(chain(1, JointKind.PRISMATIC, lower=-30.0, upper=30.0))
        assert domain.bounds["q"].tolist() == [[-30.0, 30.0]]
        assert domain.remarks == ()


class TestEfforts:
    def pendulum(self, mass, length):
        """Return a point mass on a massless rod that rotates about a horizontal axis."""
        robot = on_earth([JointKind.REVOLUTE], [-1], axis=Z)
        inertia = point_inertia(mass, (length, 0.0, 0.0), NONE)
        return robot.with_bodies([replace(robot.bodies[0], inertia=inertia)])

    def test_of_a_pendulum_hold_and_accelerate_it(self):
        robot = self.pendulum(2.0, 0.5)
        joint = robot.bodies[0].joint
        assert holding_effort(robot, joint, 0.0) == pytest.approx(9.81 * 2.0 * 0.5)
        assert holding_effort(robot, joint, 10.0) == pytest.approx(9.81 * 2.0 * 0.5 + 10.0 * 2.0 * 0.5**2)

    def test_of_a_slide_lift_its_mass(self):
        robot = on_earth([JointKind.PRISMATIC], [-1])
        mass = robot.bodies[0].inertia.mass
        assert holding_effort(robot, robot.bodies[0].joint, 2.0) == pytest.approx(mass * (9.81 + 2.0))

    def test_of_a_joint_move_what_mimics_it(self):
        robot = on_earth([JointKind.PRISMATIC] * 2, [-1, -1])
        first, second = (body.inertia.mass for body in robot.bodies)
        effort = holding_effort(with_mimic(robot, 1, 0, -2.0), robot.bodies[0].joint, 1.0)
        assert effort == pytest.approx(first * (9.81 + 1.0) + 2.0 * second * (9.81 + 2.0))

    def test_of_a_tiny_robot_are_tiny(self):
        """A milligram at a tenth of a millimetre: no least effort of larger robots counts."""
        robot = replace(self.pendulum(1e-6, 1e-4), base_inertia=Inertia())
        needed = holding_effort(robot, robot.bodies[0].joint, 40.0)
        limits = (replace(robot.bodies[0].joint.limits[0], velocity=4.0, effort=math.inf),)
        joint = replace(robot.bodies[0].joint, limits=limits)
        bounds = input_domain(robot.with_bodies([replace(robot.bodies[0], joint=joint)])).bounds
        assert bounds["tau"][0, 1] == pytest.approx(needed, rel=0.05) == pytest.approx(1e-9, rel=0.1)
        np.testing.assert_allclose(bounds["fext"][:3, 1], 9.81e-6)

    def test_of_a_limb_on_a_floating_base_bear_the_robot(self):
        fixed = self.pendulum(2.0, 0.5)
        robot = replace(fixed, base_inertia=point_inertia(8.0, (0.0, 0.0, 0.0), NONE)).with_floating_base()
        fixed_effort = holding_effort(fixed, fixed.bodies[0].joint, 3.0)
        effort = holding_effort(robot, robot.bodies[1].joint, 3.0)
        assert effort == pytest.approx(fixed_effort + 9.81 * 10.0 * 0.5)

    def test_of_a_floating_base_hold_and_accelerate_the_robot(self):
        fixed = self.pendulum(2.0, 0.5)
        robot = replace(fixed, base_inertia=point_inertia(8.0, (0.0, 0.0, 0.0), NONE)).with_floating_base()
        reach = 0.5 + math.hypot(*fixed.bodies[0].joint.placement.translation)
        force, moment = 10.0 * (9.81 + 20.0), 2.0 * reach * (9.81 + 20.0) + 40.0 * 2.0 * reach**2
        expected = [force] * 3 + [moment] * 3
        assert input_domain(robot).bounds["tau"][:6, 1] == pytest.approx(expected, rel=5e-3)
        heavy = load_urdf(path("hyq")).with_floating_base()
        tasks = sample(heavy, input_domain(heavy), 64, np.random.default_rng(0), forces=Forces.ANY)
        alone = {**tasks, "v": 0.0 * tasks["v"], "a": np.where(np.arange(heavy.nv) < 6, tasks["a"], 0.0)}
        wrench = golden.evaluate(heavy, "id", alone)["tau"][:, :6]
        bounds = input_domain(heavy).bounds["tau"][:6, 1]
        assert (np.abs(wrench) <= np.sqrt(3.0) * bounds).all()
        assert (np.abs(wrench) > 0.1 * bounds).any(axis=0).all()

    @pytest.mark.parametrize("name", ["iiwa14", "atlas", "hand22", "toy"])
    def test_are_what_gravity_and_one_acceleration_need_at_most(self, name):
        robot = load_urdf(path(name))
        rng = np.random.default_rng(4)
        q = rng.uniform(-np.pi, np.pi, (64, robot.nq))
        zero = np.zeros((64, robot.nv))
        shares = []
        for k, joint in enumerate(body.joint for body in robot.bodies if body.joint.mimic is None):
            a = zero.copy()
            a[:, k] = rng.choice([-20.0, 20.0], 64)
            tau = golden.evaluate(robot, "id", {"q": q, "v": zero, "a": a})["tau"][:, k]
            bound = holding_effort(robot, joint, 20.0)
            assert np.abs(tau).max() <= bound * (1 + 1e-9)
            shares.append(np.abs(tau).max() / bound)
        assert max(shares) >= 0.2

    def test_of_a_joint_that_carries_nothing_are_small(self):
        robot = chain(1, effort=math.inf)
        robot = robot.with_bodies([replace(robot.bodies[0], inertia=Inertia())])
        assert input_domain(robot).bounds["tau"].tolist() == [[-1e-3, 1e-3]]

    def test_of_several_joints_are_one_line(self):
        robot = chain(3, effort=math.inf)
        bounds = input_domain(robot).bounds["tau"][:, 1]
        names = [repr(name) for name in robot.joints]
        assert input_domain(robot).remarks == (
            f"domain: joints {names[0]}, {names[1]} and {names[2]}: no effort limit; taken within "
            f"{min(bounds):.3g} to {max(bounds):.3g} Nm, joint by joint; "
            "effort in [joints.NAME] of a domain file overrides it",
        )


def test_names_are_quoted_where_toml_needs_it():
    robot = chain(1, velocity=0.0)
    joint = replace(robot.bodies[0].joint, name='the "elbow"')
    (remark,) = input_domain(robot.with_bodies([replace(robot.bodies[0], joint=joint)])).remarks
    assert remark.endswith(r'velocity in [joints."the \"elbow\""] of a domain file overrides it')


def test_joints_of_several_freedoms_move_freely_without_a_remark():
    robot = on_earth([JointKind.PLANAR], [-1])
    joint = replace(robot.bodies[0].joint, limits=(OPEN,) * 3)
    domain = input_domain(robot.with_bodies([replace(robot.bodies[0], joint=joint)]), strict=True)
    assert domain.bounds["v"][:, 1].tolist() == [2.0, 2.0, 4.0]
    assert domain.remarks == ()


class TestPlaceholders:
    """Implausibly large limits are replaced by smaller ones; the largest plausible one is kept."""

    @pytest.mark.parametrize(("kind", "taken"), [(JointKind.REVOLUTE, 10.0), (JointKind.PRISMATIC, 2.0)])
    def test_velocities(self, kind, taken):
        assert input_domain(chain(1, kind, velocity=99.0)).bounds["v"].tolist() == [[-99.0, 99.0]]
        domain = input_domain(chain(1, kind, velocity=1000.0))
        assert domain.bounds["v"].tolist() == [[-taken, taken]]
        assert "velocity limit 1000 bounds nothing; taken within" in domain.remarks[0]

    def test_efforts(self):
        robot = chain(1)
        needed = holding_effort(robot, robot.bodies[0].joint, 20.0)
        meant, beyond = (chain(1, effort=times * needed) for times in (127.0, 129.0))
        assert input_domain(meant).bounds["tau"][0, 1] == 127.0 * needed
        assert input_domain(meant).remarks == ()
        domain = input_domain(beyond)
        assert domain.bounds["tau"][0, 1] == pytest.approx(8.0 * needed, rel=0.05)
        assert " is more than 128 times what the limb that it moves needs; taken within " in domain.remarks[0]
        with pytest.raises(InputError, match="is more than 128 times"):
            input_domain(beyond, strict=True)

    def test_a_domain_file_has_the_last_word(self):
        robot = chain(1, effort=1e6, velocity=1e6)
        given = Overrides(default=JointBounds(effort=1e5, velocity=500.0))
        domain = input_domain(robot, given)
        assert (domain.bounds["tau"][0, 1], domain.bounds["v"][0, 1]) == (1e5, 500.0)
        assert domain.remarks == ()
