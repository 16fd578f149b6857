"""Energy, centre of mass and centroidal momentum: of every joint, on every base, and what they cost."""

from dataclasses import replace
from itertools import product

import pytest

from rbdhw.arrays import is_optional
from rbdhw.errors import InputError
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, multiplications, optimise, prepare, trace_model
from rbdhw.frontend.read import load_mounted
from rbdhw.frontend.solvability import check_functions
from rbdhw.options.build import Mounting
from rbdhw.passes.prune import prune
from rbdhw.protocol import WHOLE_BODY
from rbdhw.robot.model import BASE, JointKind, LoadedInertias
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.graph_results import assert_graph_is_golden
from tests.support.marks import long, quick_among
from tests.support.mechanisms import mechanism, with_mimic

K = JointKind


REVOLUTE, PLANAR = (K.REVOLUTE, K.PRISMATIC, K.SPHERICAL), (K.PLANAR, K.HELICAL, K.UNIVERSAL)


@pytest.mark.parametrize(
    ("kinds", "base"),
    quick_among(
        product((REVOLUTE, PLANAR), ("fixed", "floating", "given")),
        *((REVOLUTE, "floating"), (PLANAR, "given")),
    ),
)
def test_every_joint_on_every_base(kinds, base):
    robot = mechanism([*kinds, K.CONTINUOUS], [BASE, 0, 1, BASE], seed=6)
    robot = robot.with_floating_base() if base == "floating" else replace(robot, base_given=base == "given")
    assert_graph_is_golden(robot, 6, functions=WHOLE_BODY)


def test_a_mimic_and_functions_that_share_its_bodies():
    robot = with_mimic(
        mechanism([K.REVOLUTE, K.PRISMATIC, K.REVOLUTE], [BASE, 0, BASE], seed=2), 2, 0, -0.7, 0.3
    )
    assert_graph_is_golden(robot, 2, functions=("id", "m", *WHOLE_BODY))


@pytest.mark.parametrize(
    ("function", "robot", "base", "regular", "all_"),
    [
        ("gravity", "iiwa14", "fixed", 36, 36),
        ("bias", "iiwa14", "fixed", 192, 192),
        long("com", "hyq", "floating", 306, 491),
        ("energy", "iiwa14", "fixed", 134, 134),
        long("centroidal", "iiwa14", "fixed", 279, 500),
        long("centroidal", "hyq", "floating", 693, 1184),
        long("dcentroidal", "iiwa14", "fixed", 1131, 1215),
        long("dcentroidal", "hyq", "floating", 2890, 3113),
    ],
)
def test_products(function, robot, base, regular, all_):
    model = prepare(load_mounted(path(robot), Mounting(base)), (function,))
    graph = trace_model(model, (function,))
    without = prune(replace(graph, outputs=tuple(pair for pair in graph.outputs if not is_optional(pair[0]))))
    assert multiplications(optimise(without, DEFAULT_DELAYS)) <= regular
    assert multiplications(optimise(graph, DEFAULT_DELAYS)) <= all_


@pytest.mark.parametrize("function", WHOLE_BODY)
def test_masses_that_no_joint_feels_must_be_constant(function):
    robot = replace(load_urdf(path("toy")), loaded=LoadedInertias(("tip",)))
    with pytest.raises(InputError) as refusal:
        check_functions(robot, (function,))
    assert refusal.value.where == "parameters"
    check_functions(robot.with_floating_base(), (function,))
