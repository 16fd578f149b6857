"""Every joint, mimics, and every base in Verilator, bit for bit, with all functions mixed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rbdhw.design.folder import Design, write
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.domain.sampling import sample
from rbdhw.errors import InputError
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.front.run import load
from rbdhw.frontend.read import load_mounted
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.packets import encode
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import build_design, generate
from rbdhw.protocol import DEFAULT_FUNCTIONS, Status
from rbdhw.robot.model import BASE, JointKind, Robot
from rbdhw.robot.reroot import reroot
from rbdhw.robots import path
from rbdhw.sim.simulate import simulate
from tests.support.mechanisms import mechanism, with_mimic, with_random_drives

K = JointKind
ALL = DEFAULT_FUNCTIONS
GRIPPER = Path(__file__).parent.parent / "robots" / "gripper.urdf"
LIMITED = Overrides(default=JointBounds(velocity=2.0, effort=50.0))


def built(
    robot: Robot, functions: tuple[str, ...] = ALL, ii: int = 2, fext: str = "all", samples: int = 1024
) -> Design:
    options = BuildOptions(functions=functions, ii=ii, width=18, fext=fext, samples=samples)
    return build_design(robot, options, LIMITED)


def model_of(robot: Robot) -> AcceleratorModel:
    """Return the model of a robot's inverse dynamics, without its hardware."""
    options = BuildOptions(functions=("id",), ii=2, width=18, samples=1024)
    return make_plan(robot, options, LIMITED).accelerator


def assert_exact(design: Design, folder: Path, tasks: int, functions: tuple[str, ...] = ALL) -> None:
    """Check that no bit differs in tasks of all functions, and that few tasks are flagged."""
    write(design, folder / "design")
    report = simulate(folder / "design", tasks, seed=23, bulk=True)
    assert (report.tasks, report.mismatches) == (tasks, 0)
    assert report.flagged <= 0.01 * tasks
    for function in functions:
        median = report.functions[function].error_median
        assert median is not None
        assert median < 5e-3, function


def small(kind: JointKind) -> Robot:
    """Return a robot with this joint between two revolute ones, or first of three if it floats."""
    kinds = [kind, K.REVOLUTE, K.REVOLUTE] if kind is K.FLOATING else [K.REVOLUTE, kind, K.REVOLUTE]
    return mechanism(kinds, [BASE, 0, 1], seed=8)


@pytest.mark.verify
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", list(K))
def test_each_joint(tmp_path, kind):
    assert_exact(built(small(kind)), tmp_path, 300)


@pytest.mark.verify
@pytest.mark.timeout(900)
def test_a_mimic_and_driven_joints_of_two_freedoms_on_a_base_that_moves_as_told(tmp_path):
    robot = mechanism([K.CYLINDRICAL, K.HELICAL, K.REVOLUTE], [BASE, 0, 0], seed=6)
    robot = replace(with_mimic(robot, 2, 1, -0.5, 0.2), base_given=True, gravity_given=True)
    robot = with_random_drives(robot, seed=9)
    assert_exact(built(robot, ii=4, fext="none"), tmp_path, 300)


@pytest.mark.verify
@pytest.mark.timeout(900)
def test_joints_of_three_freedoms(tmp_path):
    functions = ("id", "fd", "did")
    robot = mechanism([K.PLANAR, K.SPHERICAL], [BASE, 0], seed=7)
    assert_exact(built(robot, functions, ii=3, fext="none"), tmp_path, 200, functions)


@pytest.mark.verify
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("name", "base", "ii", "tasks"),
    [("hyq", "floating", 4, 400), ("spot_arm", "floating", 8, 200), ("tiago", "fixed", 4, 400)],
)
def test_bundled_robot(tmp_path, name, base, ii, tasks):
    options = BuildOptions(functions=ALL, ii=ii, width=18, mounting=Mounting(base))
    assert_exact(generate(path(name), options), tmp_path, tasks)


@pytest.mark.verify
@pytest.mark.timeout(3600)
def test_atlas_floating_from_its_middle(tmp_path):
    robot = reroot(load_mounted(path("atlas"), Mounting("floating")), "mtorso")
    functions = ("id", "fd", "did")
    assert_exact(built(robot, functions, ii=16, fext="none", samples=4096), tmp_path, 100, functions)


@pytest.mark.verify
@pytest.mark.timeout(1200)
def test_a_gripper_of_mimics(tmp_path):
    options = BuildOptions(functions=ALL, ii=1, width=18, samples=1024)
    assert_exact(generate(GRIPPER, options), tmp_path, 500)


@pytest.mark.parametrize("kind", [K.FLOATING, K.SPHERICAL])
def test_a_quaternion_far_from_unit_length_is_flagged(kind):
    design = model_of(small(kind))
    robot = design.robot
    place = robot.q_of[0 if kind is K.FLOATING else 1].start + (3 if kind is K.FLOATING else 0)
    arrays = sample(robot, design.domain, 64, np.random.default_rng(4))
    expected = respond(design, "id", encode(design, "id", arrays))[0]
    assert np.count_nonzero(expected) <= 1
    arrays["q"][:, place : place + 4] *= np.linspace(0.9, 0.99, 64)[:, None]
    status, _ = respond(design, "id", encode(design, "id", arrays))
    assert (status & 1 << Status.OVERFLOW).all()


def test_a_quaternion_of_zeros_is_refused(tmp_path):
    design = model_of(small(K.SPHERICAL))
    arrays = sample(design.robot, design.domain, 2, np.random.default_rng(5))
    arrays["q"][1, design.robot.q_of[1]] = 0.0
    path = tmp_path / "states.npz"
    np.savez(path, q=arrays["q"], v=arrays["v"], a=arrays["a"])
    with pytest.raises(InputError) as error:
        load(design, "id", path)
    reason = "array 'q', row 1: the quaternion of joint 'j1' has length 0"
    assert str(error.value) == f"{path}, {reason}; expected a unit quaternion [x y z w]"
