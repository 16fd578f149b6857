"""Number formats: their range includes the rounding errors of values that cancel."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdhw import golden
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.sampling import sample
from rbdhw.errors import InputError
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.fixed.program import Program
from rbdhw.fixed.serialize import program_from_json, program_to_json
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, optimise, prepare, trace_model
from rbdhw.frontend.read import load_mounted
from rbdhw.graph.twins import no_twins
from rbdhw.options.build import BuildOptions
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.quantize.formats import choose_formats, joint_of
from rbdhw.quantize.observation import Draws, add_inverse_bounds, observe
from rbdhw.robot.model import Inertia, Robot
from rbdhw.robot.mounting import Mounting
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.limbs import limbed
from tests.support.strategies import ALL_KINDS, robots

FEW = Draws(ranging=64, held_out=64, chunk=64, group=16, probed=32)


def test_values_that_cancel_keep_room_for_rounding_errors():
    """Joints 1 and 2 of the iiwa14 make some terms zero up to rounding; they must flag almost no task."""
    plan = make_plan(load_urdf(path("iiwa14")), BuildOptions(functions=("did",), width=16, samples=256))
    assert plan.formats.errors["did"].whole.flagged <= 0.002 * plan.formats.errors["did"].whole.samples
    assert plan.formats.errors["did"].whole.median < 3e-4


def program_for(robot: Robot, width: int, sizes: np.random.Generator | None = None) -> Program:
    """Return a program of all functions, with formats chosen from few tasks.

    ``sizes`` scales the bounds of v, a and tau by random powers of ten.
    """
    options = BuildOptions(functions=DEFAULT_FUNCTIONS, width=width, samples=64)
    model = prepare(robot, options.functions)
    graph = optimise(trace_model(model, options.functions), DEFAULT_DELAYS)
    domain = input_domain(robot)
    if sizes is not None:
        motion = {name: domain.bounds[name] for name in ("v", "a", "tau")}
        moved = {
            name: ranges * 10.0 ** sizes.uniform(-30, 4, (len(ranges), 1)) for name, ranges in motion.items()
        }
        domain = replace(domain, bounds={**domain.bounds, **moved})
    domain = add_inverse_bounds(domain, robot, options)
    return choose_formats(observe(model, graph, domain, options, FEW), options, no_twins(graph)).program


@pytest.mark.verify
def test_formats_too_far_apart_for_the_model_are_refused():
    """An arm whose tip is held is nearly singular in many poses: rounding errors exceed its pivots."""
    robot = load_mounted(path("iiwa14"), Mounting(contacts=(("iiwa_link_7", "point"),)))
    with pytest.raises(InputError) as caught:
        make_plan(robot, BuildOptions(functions=("cfd",), width=18, ii=16, samples=64))
    error = caught.value
    region = "contact_factorization at joint 'iiwa_joint_7'"
    assert error.where == "width"
    assert re.fullmatch(
        rf"formats of 18 bits are too far apart in {region} of cfd: its integers have \d+ bits", error.reason
    )
    assert error.expected == "64 bits, as the bit-exact model and its C have"
    assert error.remedy == "use a domain file with smaller bounds, or with a larger damping in [contacts]"


@pytest.mark.verify
def test_limbs_that_share_err_little_more():
    """Limbs of different sizes have values that differ by thousands; these have formats of their own."""
    errors = {}
    for share in ("on", "off"):
        options = BuildOptions(("did",), ii=4, width=18, fext="all", share_limbs=share, samples=128)
        plan = make_plan(limbed(4, 1, seed=8, trunk=True), options)
        errors[share] = plan.formats.errors["did"].results["dtau_dq"].whole.median
    assert errors["on"] < 2 * errors["off"]


def test_a_supplied_inverse_may_exceed_the_largest_found_by_a_quarter():
    robot = load_urdf(path("toy"))
    domain, options = input_domain(robot), BuildOptions(("difd",), samples=256, seed=3)
    drawn = sample(robot, domain, options.samples, np.random.default_rng((options.seed, 2)))
    largest = np.abs(golden.evaluate(robot, "minv", drawn)["Minv"]).max(axis=0).ravel()
    bounds = add_inverse_bounds(domain, robot, options).bounds["Minv"]
    np.testing.assert_allclose(bounds, 1.25 * np.stack([-largest, largest], axis=1))


@given(
    robots(max_bodies=3, kinds=ALL_KINDS, mimics=True),
    st.sampled_from((8, 12, 18, 27, 32)),
    st.none() | st.builds(np.random.default_rng, st.integers(0, 2**32 - 1)),
)
@settings(max_examples=2)
def test_a_program_of_any_robot_survives_its_file(robot, width, sizes):
    """The reader accepts the program's shifts, widths and cuts, however small a term is."""
    program = program_for(robot, width, sizes)
    assert program_from_json(program_to_json(program)) == program


def test_regions_are_of_joints():
    """Recursions number bodies; steps with the mass matrix number velocities, six of them for a base."""
    toy = replace(load_urdf(path("toy")), base_inertia=Inertia(3.0, rotational=(0.1, 0, 0, 0.2, 0, 0.3)))
    robot = toy.with_floating_base()
    model = prepare(robot, ("fd", "did"))
    named = {
        (node.region.step, node.region.joint): joint_of(model.robot, node.region.step, node.region.joint)
        for node in trace_model(model, ("fd", "did")).nodes
        if node.region.joint is not None
    }
    links = [body.joint.name for body in model.robot.bodies[1:]]
    assert [named["rnea_forward", i] for i in range(1, 3)] == links
    assert [named["forward_dynamics", i] for i in range(6, 8)] == links
    assert {named["forward_dynamics", i] for i in range(6)} == {model.robot.bodies[0].joint.name}
    assert set(named.values()) == {body.joint.name for body in model.robot.bodies}
