"""The input domain: defaults, overrides, samples, and invalid domain files."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdhw.domain.bounds import DEFAULT_TIME_STEP, QUATERNION_SLACK, input_domain, with_time_step
from rbdhw.domain.graph_inputs import graph_inputs, graph_ranges
from rbdhw.domain.overrides import BaseBounds, ForceBounds, JointBounds, Overrides, read_overrides
from rbdhw.domain.sampling import EXTREMES, sample
from rbdhw.errors import InputError
from rbdhw.fixed.lower import InputRange
from rbdhw.robot.model import JointKind, Limits
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.designs import rail
from tests.support.mechanisms import mechanism, with_mimic
from tests.support.strategies import robots
from tests.support.urdf_documents import AXIS, arm_with

PAIR = "a positive number or [lower, upper] with lower below upper"
ENTRIES = "position, velocity, acceleration, effort, multiplier"


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
    "limit",
    ["", '<limit effort="5" velocity="6"/>', '<limit lower="0" upper="0" effort="5" velocity="6"/>'],
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


@pytest.mark.parametrize(
    ("text", "element", "expected"),
    [
        ("x = 1", "x", "one of default, joints, base, fext, integration"),
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
        ("[default]\nposition = 1e7", "default.position", "a magnitude of up to 1e+06 rad or m"),
        (
            "[default]\nvelocity = [-1e-30, 1e-30]",
            "default.velocity",
            "0, or a magnitude of 1e-09 to 1e+06 rad/s or m/s",
        ),
        ("[fext]\nforce = [1, 2, 3]", "fext.force", PAIR),
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
        (
            {"lower": -math.inf, "upper": math.inf},
            "q",
            1.0,
            "no position limits",
            "within 1 m",
            "position",
        ),
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


def test_the_graph_takes_angles_in_turns_and_shifts_in_metres():
    kinds = (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC)
    limits = (
        Limits(-math.pi / 2, math.pi, 2.0, 3.0),
        Limits(-math.inf, math.inf, 2.0, 3.0),
        Limits(-0.5, 1.0, 2.0, 3.0),
    )
    robot = rail(3)
    robot = robot.with_bodies(
        replace(body, joint=replace(body.joint, kind=kind, limits=(limit,)))
        for body, kind, limit in zip(robot.bodies, kinds, limits, strict=True)
    )
    ranges = graph_ranges(robot, input_domain(robot, Overrides(fext=ForceBounds(force=4.0))), (1,))
    assert [ranges[f"q[{i}]"] for i in range(3)] == [
        InputRange(-0.25, 0.5, "turn"),
        InputRange(-0.5, 0.5, "turn", wraps=True),
        InputRange(-0.5, 1.0, "m"),
    ]
    units = [[ranges[f"{array}[{i}]"].unit for array in ("v", "a", "tau")] for i in (0, 2)]
    assert units == [["rad/s", "rad/s^2", "Nm"], ["m/s", "m/s^2", "N"]]
    wrench = [ranges[f"fext[1,{k}]"] for k in range(6)]
    assert wrench == [InputRange(-4.0, 4.0, "N")] * 3 + [InputRange(-0.4, 0.4, "Nm")] * 3
    assert not any(name.startswith(("fext[0", "fext[2")) for name in ranges)
    arrays = {"q": np.array([[math.pi, -math.pi / 2, 0.3]]), "v": np.array([[1.0, 2.0, 3.0]])}
    inputs = graph_inputs(robot, arrays)
    assert [float(inputs[f"q[{i}]"][0]) for i in range(3)] == [0.5, -0.25, 0.3]
    assert [float(inputs[f"v[{i}]"][0]) for i in range(3)] == [1.0, 2.0, 3.0]
    assert set(inputs) == {f"{array}[{i}]" for array in "qv" for i in range(3)}


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


def test_attitudes_and_gravity_are_drawn_on_the_sphere():
    robot = replace(rail(1).with_floating_base(), gravity_given=True)
    arrays = sample(robot, input_domain(robot), 500, np.random.default_rng(3))
    lengths = np.linalg.norm(arrays["q"][:, 3:7], axis=1)
    assert abs(lengths - 1.0).max() <= QUATERNION_SLACK
    assert np.unique(lengths).size > 400
    np.testing.assert_allclose(np.linalg.norm(arrays["gravity"], axis=1), 9.81)


@given(robots(max_bodies=5), st.integers(0, 2**16))
@settings(max_examples=20)
def test_samples_stay_within_the_bounds_and_reach_them(robot, seed):
    domain = input_domain(robot)
    arrays = sample(robot, domain, 400, np.random.default_rng(seed), range(robot.nv))
    bounded = ~np.array(domain.wraps)
    for name in ("q", "v", "a", "tau"):
        assert arrays[name].shape == (400, robot.nv)
        kept = bounded if name == "q" else np.ones(robot.nv, bool)
        np.testing.assert_array_equal(arrays[name].min(axis=0)[kept], domain.bounds[name][kept, 0])
        np.testing.assert_array_equal(arrays[name].max(axis=0)[kept], domain.bounds[name][kept, 1])
    assert 5 <= (~arrays["v"].any(axis=1)).sum() <= 60
    assert (arrays["fext"] >= domain.bounds["fext"][:, 0]).all()
    assert (arrays["fext"] <= domain.bounds["fext"][:, 1]).all()


def test_angles_that_wrap_are_anywhere_but_at_exactly_half_a_turn():
    robot = limited(lower=-math.inf, upper=math.inf)
    turned = replace(robot.bodies[0].joint, kind=JointKind.CONTINUOUS)
    robot = robot.with_bodies([replace(robot.bodies[0], joint=turned)])
    angles = sample(robot, input_domain(robot), 4000, np.random.default_rng(0))["q"][:, 0]
    assert 3.1 < np.abs(angles).max() < math.pi
    assert np.histogram(angles, 8, (-math.pi, math.pi))[0].min() > 400
    assert (angles == 0.0).any()


def test_positions_of_some_tasks_are_as_close_to_zero_as_possible():
    robot = rail(2)
    domain = input_domain(robot, Overrides(joints={"rail_1": JointBounds(position=(0.1, 0.5))}))
    q = sample(robot, domain, 2400, np.random.default_rng(0))["q"]
    near = (q == [0.0, 0.1]).all(axis=1)
    assert 70 <= np.count_nonzero(near) <= 130
    np.testing.assert_array_equal(q[:, 0] == 0.0, near)


def test_a_task_at_rest_stays_within_bounds_that_exclude_rest():
    robot = rail(2)
    domain = input_domain(robot, Overrides(joints={"rail_1": JointBounds(velocity=(0.5, 2.0))}))
    arrays = sample(robot, domain, 400, np.random.default_rng(0))
    assert arrays["v"][:, 1].min() == 0.5
    assert (arrays["v"][:, 0] == 0.0).any()


def test_only_the_given_bodies_have_a_force():
    robot = load_urdf(path("iiwa14"))
    arrays = sample(robot, input_domain(robot), 50, np.random.default_rng(0), (2, 6))
    assert arrays["fext"][:, [2, 6]].all()
    assert not np.delete(arrays["fext"], [2, 6], axis=1).any()


def test_samples_reach_the_extremes_of_the_domain():
    robot = load_urdf(path("iiwa14"))
    domain = input_domain(robot)
    tasks = sample(robot, domain, 50 * EXTREMES, np.random.default_rng(2))
    limits = {name: np.isin(tasks[name], domain.bounds[name]).all(axis=1) for name in ("q", "v", "a", "tau")}
    fast = limits["v"] & limits["a"] & limits["tau"]
    assert 20 < np.count_nonzero(fast & limits["q"]) < 100
    assert 20 < np.count_nonzero(fast & (tasks["q"] == 0.0).all(axis=1)) < 100
    assert np.count_nonzero(fast & ~limits["q"]) > 50
    assert np.count_nonzero((tasks["v"] == 0.0).all(axis=1)) > 30


def test_samples_are_reproducible():
    robot = load_urdf(path("hyq"))
    first, second = (sample(robot, input_domain(robot), 20, np.random.default_rng(3), (1,)) for _ in range(2))
    for name, array in first.items():
        np.testing.assert_array_equal(second[name], array)


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


@pytest.mark.parametrize("value", ["0.01", "[0.0, 0.01]", "[-0.001, 0.01]", "[0.01, 0.002]", "[0.001, 2.0]"])
def test_other_bounds_of_the_time_step_are_refused(tmp_path, value):
    file = tmp_path / "domain.toml"
    file.write_text(f"[integration]\ntime_step = {value}\n")
    expected = r"integration\.time_step: is .*; expected \[lower, upper\], each of 1e-07 to 1 s"
    with pytest.raises(InputError, match=expected):
        read_overrides(file)


@pytest.mark.parametrize(
    ("robot", "joint"),
    [
        (load_urdf(path("toy")), "elbow"),
        (mechanism([JointKind.SPHERICAL], [-1], seed=1), "j0"),
    ],
    ids=["limits", "quaternion"],
)
def test_a_step_that_leaves_the_domain_at_once_is_refused(robot, joint):
    fixed = replace(robot, time_step=0.9)
    expected = rf"time-step: in 0\.9 s at the largest velocity joint '{joint}' leaves its domain; expected at"
    with pytest.raises(InputError, match=expected):
        with_time_step(input_domain(fixed), fixed, None)
