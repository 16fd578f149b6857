"""Robots, initiation intervals, widths and external forces in Verilator, bit for bit."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from benchmarks.forward_dynamics import snake
from rbdhw.design.folder import write
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.explore.plan import accelerator_of
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import emit_design, generate
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robot.model import BASE, Body, Joint, JointKind, Limits, Placement, Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.rtl.shell import Accelerator
from rbdhw.rtl.verilog import to_verilog
from rbdhw.sim.report import Report
from rbdhw.sim.simulate import simulate
from tests.support.strategies import random_direction, random_inertia, random_rotation

KINDS = (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC)
PLACES = (BASE, 0, 1, 1, BASE, 4)
"""Parents of the bodies of a random tree: two trees on the base, one of them with branches."""


def matrix():
    """Return the robots, each with every width and both choices of forces at II 1, and one at a larger II."""
    for robot in ("toy", "iiwa14", "hyq", "atlas"):
        widths, tasks = ((16, 27), 40) if robot == "atlas" else ((18, 28), 100)
        for width, fext in product(widths, ("none", "all")):
            yield pytest.param(robot, 1, width, fext, tasks, marks=pytest.mark.verify)
        for ii in (3, 4, 8):
            yield pytest.param(robot, ii, widths[0], "all", tasks, marks=pytest.mark.verify)


def assert_exact(report: Report, tasks: int) -> None:
    """Check that no bit differs, every task is answered within its domain, and results are torques."""
    assert report.ok
    assert (report.tasks, report.mismatches, report.flagged) == (tasks, 0, 0)
    median = report.functions["id"].error_median
    assert median is not None
    assert median < 5e-3


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("robot", "ii", "width", "fext", "tasks"),
    [
        ("toy", 4, 27, "none", 60),
        pytest.param("iiwa14", 4, 27, "none", 60, marks=pytest.mark.verify),
        *matrix(),
    ],
)
def test_bundled_robot(tmp_path, robot, ii, width, fext, tasks):
    options = BuildOptions(ii=ii, width=width, fext=fext)
    write(generate(path(robot), options), tmp_path / "design")
    assert_exact(simulate(tmp_path / "design", tasks, seed=11), tasks)


def every_function():
    """Return builds of all seven functions: robot, interval, width, number format, bits of TDATA, tasks."""
    long = [("toy", 1, 18, "float32", 32, 150), ("toy", 5, 27, "fixed", 512, 150)]
    long += [("iiwa14", ii, 18, "fixed", 512, 2000) for ii in (1, 4, 10)]
    long += [("iiwa14", 4, 27, "float32", 256, 500), ("hyq", 2, 18, "fixed", 256, 1000)]
    for case in [*long, ("atlas", 32, 18, "fixed", 512, 60)]:
        yield pytest.param(*case, marks=pytest.mark.verify)


@pytest.mark.timeout(5400)
@pytest.mark.parametrize(("robot", "ii", "width", "number", "data_width", "tasks"), list(every_function()))
def test_all_functions_mixed(tmp_path, robot, ii, width, number, data_width, tasks):
    options = BuildOptions(DEFAULT_FUNCTIONS, ii=ii, width=width, number=number, data_width=data_width)
    write(generate(path(robot), options), tmp_path / "design")
    report = simulate(tmp_path / "design", tasks, seed=13, bulk=robot != "toy")
    assert report.mismatches == 0
    assert report.tasks == tasks
    assert report.flagged <= max(1, 0.01 * tasks)
    assert list(report.functions) == list(DEFAULT_FUNCTIONS)
    for function, figures in report.functions.items():
        assert figures.tasks > 0
        assert figures.error_median is not None
        assert figures.error_median < 5e-3, function


OTHERS = {
    "inverse": "single_pivots",
    "products": "solves",
    "forward": "propagated",
    "gradient": "corrected",
}
"""Algorithms of forward dynamics and its derivatives."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("functions", "algorithms"),
    [
        pytest.param(
            DEFAULT_FUNCTIONS,
            {"derivatives": "columns", "inverse": "articulated", "gradient": "repeated"},
            marks=pytest.mark.verify,
        ),
        pytest.param(DEFAULT_FUNCTIONS, OTHERS, marks=pytest.mark.verify),
    ],
)
def test_algorithms_that_were_not_the_cheapest(tmp_path, functions, algorithms):
    options = BuildOptions(functions, ii=2, width=18, fext="all", samples=1024, algorithms=algorithms)
    write(generate(path("toy"), options), tmp_path / "design")
    report = simulate(tmp_path / "design", 200, seed=17, bulk=True)
    assert (report.tasks, report.mismatches) == (200, 0)
    for function, figures in report.functions.items():
        assert figures.error_median is not None
        assert figures.error_median < 1e-3, function


@pytest.mark.verify
@pytest.mark.timeout(6000)
@pytest.mark.parametrize(
    ("robot", "way"),
    [
        (load_urdf(path("toy")), "reduced"),
        (snake(3), "reduced"),
        (snake(5), "eliminated"),
        (snake(16), "reduced"),
        (snake(64), "propagated"),
        (snake(64), "reduced"),
    ],
)
def test_forward_dynamics_without_the_inverse(tmp_path, robot, way):
    ii = 4 if len(robot.bodies) < 10 else 32
    options = BuildOptions(("fd",), ii=ii, width=27, samples=512, algorithms={"forward": way})
    write(emit_design(accelerator_of(make_plan(robot, options)), options), tmp_path / "design")
    report = simulate(tmp_path / "design", 60, seed=19, bulk=True)
    assert (report.tasks, report.mismatches) == (60, 0)
    median = report.functions["fd"].error_median
    assert median is not None
    assert median < 1e-2


def tree(seed: int) -> Robot:
    """Return a branching robot of one-DoF joints, with skew axes and placements."""
    rng = np.random.default_rng(seed)
    bodies = []
    for i, parent in enumerate(PLACES):
        x, y, z = rng.uniform(-0.5, 0.5, 3).tolist()
        kind = KINDS[rng.integers(len(KINDS))]
        reach = np.inf if kind is JointKind.CONTINUOUS else 0.8
        place = Placement(random_rotation(rng), (x, y, z))
        joint = Joint(f"joint_{i}", kind, random_direction(rng), place, (Limits(-reach, reach, 3.0, 100.0),))
        bodies.append(Body(f"link_{i}", parent, joint, random_inertia(rng)))
    return Robot(f"tree_{seed}", "base", tuple(bodies))


@pytest.mark.verify
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(3))
def test_random_tree(tmp_path, seed):
    options = BuildOptions(ii=2, width=18, fext="all", samples=1024)
    source = tree(seed)
    plan = make_plan(source, options)
    portable = Accelerator(cores=[plan.core.component(None)], interface=plan.interface)
    design = replace(emit_design(accelerator_of(plan), options), verilog=to_verilog(portable), companions={})
    write(design, tmp_path / "design")
    assert_exact(simulate(tmp_path / "design", 100, seed), 100)
