"""The input domain: defaults and overrides."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rbdhw.domain.bounds import DEFAULT_TIME_STEP, input_domain, with_time_step
from rbdhw.domain.overrides import BaseBounds, JointBounds, Overrides, read_overrides
from rbdhw.domain.sampling import sample
from rbdhw.errors import InputError
from rbdhw.robot.model import JointKind
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.designs import rail
from tests.support.mechanisms import mechanism, with_mimic
from tests.support.urdf_documents import AXIS, arm_with


def limited(**limits):
    """Return a cart on a rail with other limits."""
    robot = rail()
    body = robot.bodies[0]
    joint = replace(body.joint, limits=(replace(body.joint.limits[0], **limits),))
    return robot.with_bodies([replace(body, joint=joint)])


def test_defaults_come_from_the_limits():
    domain = input_domain(rail(2))
    np.testing.assert_array_equal(domain.bounds["q"], [(-0.4, 0.6)] * 2)
    np.testing.assert_array_equal(domain.bounds["v"], [(-1.0, 1.0)] * 2)
    np.testing.assert_array_equal(domain.bounds["a"], [(-10.0, 10.0)] * 2)
    np.testing.assert_array_equal(domain.bounds["tau"], [(-200.0, 200.0)] * 2)
    weight = 2 * 2.5 * 9.81
    np.testing.assert_allclose(
        domain.bounds["fext"], [(-weight, weight)] * 3 + [(-0.1 * weight, 0.1 * weight)] * 3
    )
    assert domain.wraps == (False, False)


def test_a_continuous_joint_wraps_unless_it_is_bounded():
    robot = limited(lower=-math.inf, upper=math.inf)
    turned = replace(robot.bodies[0].joint, kind=JointKind.CONTINUOUS)
    robot = robot.with_bodies([replace(robot.bodies[0], joint=turned)])
    assert input_domain(robot).wraps == (True,)
    bounded = Overrides(joints={"rail_0": JointBounds(position=2.0)})
    assert input_domain(robot, bounded).wraps == (False,)


@pytest.mark.parametrize(
    "limit", ["", '<limit effort="5" velocity="6"/>', '<limit lower="0" upper="0" effort="5" velocity="6"/>']
)
def test_a_wheel_without_a_range_turns_all_the_way(tmp_path, limit):
    """A continuous joint is not limited to [0, 0], the meaning of missing limits for other joints."""
    file = tmp_path / "wheel.urdf"
    file.write_text(arm_with(kind="continuous", rest=AXIS + limit))
    wheel = load_urdf(file)
    domain = input_domain(wheel)
    assert domain.wraps == (True,)
    np.testing.assert_array_equal(domain.bounds["q"], [(-math.inf, math.inf)])
    q = sample(wheel, domain, 256, np.random.default_rng(0))["q"]
    assert q.min() < -3.0
    assert q.max() > 3.0


@pytest.mark.parametrize(
    ("multiplier", "wraps"), [(0.0, True), (1.0, True), (-2.0, True), (3.0, False), (0.5, False)]
)
def test_an_angle_wraps_if_what_follows_it_is_the_same_a_turn_later(multiplier, wraps):
    turning = mechanism([JointKind.CONTINUOUS] * 2, [-1, 0], seed=1)
    assert input_domain(with_mimic(turning, 1, 0, multiplier)).wraps == (wraps,)


def test_joint_overrides_default_overrides_urdf(tmp_path):
    file = tmp_path / "domain.toml"
    file.write_text(
        "[default]\nvelocity = 3\nacceleration = [-1.5, 2.5]\n"
        "[joints.rail_1]\nposition = [-0.1, 0.2]\nvelocity = 0.5\neffort = 7.0\n"
        "[fext]\nforce = [-1, 4]\n"
    )
    domain = input_domain(rail(2), read_overrides(file))
    np.testing.assert_array_equal(domain.bounds["q"], [(-0.4, 0.6), (-0.1, 0.2)])
    np.testing.assert_array_equal(domain.bounds["v"], [(-3.0, 3.0), (-0.5, 0.5)])
    np.testing.assert_array_equal(domain.bounds["a"], [(-1.5, 2.5)] * 2)
    np.testing.assert_array_equal(domain.bounds["tau"], [(-200.0, 200.0), (-7.0, 7.0)])
    np.testing.assert_array_equal(domain.bounds["fext"], [(-1.0, 4.0)] * 3 + [(-0.1, 0.4)] * 3)


def test_the_default_acceleration_follows_the_velocity_asked_for():
    domain = input_domain(rail(), Overrides(default=JointBounds(velocity=(-0.5, 2.0))))
    assert domain.bounds["a"].tolist() == [[-20.0, 20.0]]


def test_an_unknown_joint_is_refused():
    with pytest.raises(InputError) as error:
        input_domain(rail(2), Overrides(joints={"rail_7": JointBounds(), "rail_1": JointBounds()}))
    assert str(error.value) == "domain, joint 'rail_7': not a joint of rail; expected one of rail_0, rail_1"


@pytest.mark.parametrize(
    ("limits", "array", "bounds", "problem", "taken", "entry"),
    [
        ({"velocity": 0.0}, "v", 2.0, "velocity limit 0 bounds nothing", "within 2 m/s", "velocity"),
        ({"velocity": math.inf}, "v", 2.0, "no velocity limit", "within 2 m/s", "velocity"),
        ({"velocity": 100.0}, "v", 2.0, "velocity limit 100 bounds nothing", "within 2 m/s", "velocity"),
        ({"effort": 0.0}, "tau", 50.0, "effort limit 0 bounds nothing", "within 50 N", "effort"),
        ({"effort": math.inf}, "tau", 50.0, "no effort limit", "within 50 N", "effort"),
        (
            {"effort": 6401.0},
            "tau",
            400.0,
            "effort limit 6401 is more than 128 times what the limb that it moves needs",
            "within 400 N",
            "effort",
        ),
        ({"lower": -math.inf, "upper": math.inf}, "q", 1.0, "no position limits", "within 1 m", "position"),
        (
            {"lower": 0.5, "upper": 0.5},
            "q",
            1.0,
            "position limits 0.5 to 0.5 m leave no room",
            "within 1 m",
            "position",
        ),
        (
            {"lower": -1e16, "upper": 1e16},
            "q",
            1.0,
            "position limits -1e+16 to 1e+16 m bound nothing",
            "within 1 m",
            "position",
        ),
    ],
)
def test_meaningless_limits_have_substitutes_unless_overridden(limits, array, bounds, problem, taken, entry):
    robot = limited(**limits)
    domain = input_domain(robot)
    assert domain.bounds[array].tolist() == [[-bounds, bounds]]
    assert domain.remarks == (
        f"domain: joint 'rail_0': {problem}; taken {taken}; "
        f"{entry} in [joints.rail_0] of a domain file overrides it",
    )
    with pytest.raises(InputError) as error:
        input_domain(robot, strict=True)
    assert str(error.value) == (
        f"joint 'rail_0': {problem}; expected a limit in the URDF; "
        f"set {entry} in [joints.rail_0] of a domain file, or leave out --strict (then taken {taken})"
    )
    overridden = input_domain(robot, Overrides(default=JointBounds(**{entry: 5.0})), strict=True)
    assert overridden.bounds[array].tolist() == [[-5.0, 5.0]]
    assert overridden.remarks == ()


def test_the_base_has_bounds_of_its_own_where_it_moves():
    fixed, floating = rail(1), rail(1).with_floating_base()
    given = Overrides(base=BaseBounds(linear_velocity=1.5, angular_acceleration=7.0, force=90.0))
    bounds = input_domain(floating, given).bounds
    assert bounds["v"][:, 1].tolist() == [1.5] * 3 + [4.0] * 3 + [1.0]
    assert bounds["a"][:, 1].tolist() == [15.0] * 3 + [7.0] * 3 + [10.0]
    assert bounds["tau"][:3, 1].tolist() == [90.0] * 3
    moved = input_domain(replace(fixed, base_given=True), given).bounds
    assert moved["base_v"][:, 1].tolist() == [1.5] * 3 + [4.0] * 3
    assert moved["base_a"][:, 1].tolist() == [15.0] * 3 + [7.0] * 3
    with pytest.raises(InputError) as error:
        input_domain(fixed, given)
    assert str(error.value) == (
        "domain, base: the base of rail is fixed; expected a base that moves; "
        "use --base floating or --base given"
    )
    with pytest.raises(InputError) as error:
        input_domain(floating, Overrides(joints={"root_joint": JointBounds(velocity=1.0)}))
    expected = "domain, joint 'root_joint': floats; expected its bounds in the table base"
    assert str(error.value) == expected


def test_a_given_gravity_may_exceed_the_robots_own_by_a_twentieth():
    robot = replace(rail(1), gravity=(6.0, 0.0, -8.0), gravity_given=True)
    np.testing.assert_allclose(input_domain(robot).bounds["gravity"], [[-10.5, 10.5]] * 3)


def test_the_time_step_has_bounds():
    robot = load_urdf(path("toy"))
    domain = with_time_step(input_domain(robot), robot, None)
    assert domain.bounds["h"].tolist() == [list(DEFAULT_TIME_STEP)]
    given = Overrides.model_validate({"integration": {"time_step": [0.002, 0.004]}})
    assert with_time_step(domain, robot, given).bounds["h"].tolist() == [[0.002, 0.004]]
    fixed = replace(robot, time_step=0.003)
    assert with_time_step(domain, fixed, None).bounds["h"].tolist() == [[0.003, 0.003]]
    with pytest.raises(InputError, match=r"the time step is fixed at 0\.003 s; expected none; leave out"):
        with_time_step(domain, fixed, given)


@pytest.mark.parametrize(
    ("robot", "joint"),
    [(load_urdf(path("toy")), "elbow"), (mechanism([JointKind.SPHERICAL], [-1], seed=1), "j0")],
    ids=["limits", "quaternion"],
)
def test_a_step_that_leaves_the_domain_at_once_is_refused(robot, joint):
    fixed = replace(robot, time_step=0.9)
    expected = rf"time-step: in 0\.9 s at the largest velocity joint '{joint}' leaves its domain; expected at"
    with pytest.raises(InputError, match=expected):
        with_time_step(input_domain(fixed), fixed, None)
