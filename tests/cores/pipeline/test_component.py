"""The core equals the evaluator bit for bit, in results and overflow flags, at any initiation interval."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from amaranth.back import rtlil
from amaranth.hdl import Signal
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rbdhw.cores.pipeline.component import PipelineComponent
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.sampling import sample
from rbdhw.fixed.lower import InputRange, lower
from rbdhw.fixed.program import Kind
from rbdhw.fixed.widths import plain_widths
from rbdhw.frontend.build_graph import Model, optimise, prepare
from rbdhw.frontend.functions import trace
from rbdhw.graph.graph import Op
from rbdhw.graph.interpret import node_values
from rbdhw.options.build import BEST_LATENCY, BuildOptions
from rbdhw.passes.prune import prune
from rbdhw.pipeline import plan_build
from rbdhw.robot.model import BASE, Body, Joint, JointKind, Limits, Placement, Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.rtl.core_ports import gather_overflows
from rbdhw.rtl.region import RegionModule
from rbdhw.rtl.signature import BoundProgram
from rbdhw.schedule.model import Resource
from rbdhw.target import target
from tests.support.builds import (
    bound_of,
    input_words,
    lowered,
    model_of,
    program_of,
    random_words,
    widened_program,
)
from tests.support.combinations import pairwise
from tests.support.graphs import graphs
from tests.support.marks import long
from tests.support.netlists import is_acyclic, netlist_of, paths_through
from tests.support.rtl_cores import expected, respond
from tests.support.strategies import random_direction, random_inertia, random_rotation

ARITHMETIC = (Op.ADD, Op.MULTIPLY, Op.SCALE)
NO_HARDWARE = (Kind.INPUT, Kind.CONSTANT)


@cache
def skew() -> Model:
    """Return three bodies with skew axes on a branch: a limited hinge, a slide and a continuous wheel."""
    rng = np.random.default_rng(11)
    limits = (Limits(-0.5, 0.4, 3.0, 50.0), Limits(-0.4, 0.6, 1.0, 200.0), Limits(-np.inf, np.inf, 3.0, 50.0))
    kinds = (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.CONTINUOUS)
    bodies = []
    for i, (kind, limit, parent) in enumerate(zip(kinds, limits, (BASE, 0, 0), strict=True)):
        placement = Placement(random_rotation(rng), tuple(rng.uniform(-0.5, 0.5, 3).tolist()))
        joint = Joint(f"joint_{i}", kind, random_direction(rng), placement, (limit,))
        bodies.append(Body(f"link_{i}", parent, joint, random_inertia(rng)))
    return prepare(Robot("skew", "base", tuple(bodies)), ("id",), ("link_2",))


@cache
def skew_program(width):
    graph = optimise(trace(skew().robot, ("id",), skew().fext), target("xcvu9p").delays)
    return lowered(skew(), graph, width)


def domain_words(program, model, tasks):
    arrays = sample(model.source, input_domain(model.source), tasks, np.random.default_rng(7), model.fext)
    return input_words(program, model.source, arrays)


def both(program, model, tasks):
    """Return tasks of the domain, then tasks with words anywhere in their formats."""
    inside = domain_words(program, model, tasks)
    wild = random_words(program, tasks, seed=8)
    return {name: np.concatenate([inside[name], wild[name]]) for name in inside}


def assert_bit_exact(program, bound, words, skip=0, asked=()):
    answers, wanted = respond(program, bound, words, skip, asked), expected(program, words, asked)
    assert answers == wanted
    return [flag for _, flag in wanted]


DEVICES = {
    "xcvu9p": ("xcvu9p", None),
    "ecp5-85-50": ("ecp5-85", 50.0),
    "ecp5-85-95": ("ecp5-85", 95.0),
    "xcvu9p-390": ("xcvu9p", 390.0),
}


QUICK = [(18, 1, "xcvu9p-390"), (14, 2, "ecp5-85-50")]
LONG = [case for case in pairwise((14, 18, 28), (1, 2, 5), tuple(DEVICES)) if case not in QUICK]


@pytest.mark.parametrize(("width", "ii", "name"), [*QUICK, *(long(*case) for case in LONG)])
def test_the_toy_under_an_external_force(width, ii, name):
    """At fast clocks products have pipeline registers."""
    device, clock = DEVICES[name]
    program = program_of("toy", width, "all")
    bound = bound_of(program, device, ii, clock)
    assert bound.registers[Resource.MULTIPLIER] > 0 or clock != 390.0
    flags = assert_bit_exact(program, bound, both(program, model_of("toy", "all"), 12), skip=3)
    assert set(flags) == {0, 1}
    assert not any(flags[:12])


@pytest.mark.parametrize(("width", "ii"), [long(18, 1), (28, 2), long(14, 5), long(32, 1)])
def test_sines_leave_the_cycle_of_their_last_product(width, ii):
    program = program_of("toy", width, "all")
    bound, usual = (bound_of(program, "xcvu9p", ii, 100.0, goal) for goal in (BEST_LATENCY, None))
    units = [unit for unit in bound.units if unit.resource is Resource.TRIGONOMETRY]
    assert {bound.unit_latency(unit) for unit in units} == {program.trigonometry.order}
    assert bound.latency["id"] <= usual.latency["id"]
    assert is_acyclic(netlist_of(PipelineComponent(program=program, bound=bound)))
    flags = assert_bit_exact(program, bound, both(program, model_of("toy", "all"), 12), skip=3)
    assert set(flags) == {0, 1}


@pytest.mark.parametrize(
    ("device", "ii", "width"),
    [
        long("xcvu9p", 1, 18),
        long("xcvu9p", 2, 14),
        long("xcvu9p", 5, 28),
        long("ecp5-85", 1, 14),
        ("ecp5-85", 2, 18),
        long("ecp5-85", 5, 18),
    ],
)
def test_three_skew_bodies_with_an_external_force(device, ii, width):
    program = skew_program(width)
    flags = assert_bit_exact(program, bound_of(program, device, ii), both(program, skew(), 8), skip=2)
    assert set(flags) == {0, 1}


@pytest.mark.parametrize("memory_stages", [2, long(3)])
def test_short_memory_lines_delay_like_registers(memory_stages):
    program = program_of("toy", 14)
    device = bound_of(program, "ecp5-85", 1, 60.0)
    bound = replace(device, memory_stages=memory_stages)
    text = rtlil.convert(PipelineComponent(program=program, bound=bound))
    assert "bypass" in text
    assert_bit_exact(program, bound, both(program, model_of("toy"), 8))


@pytest.mark.parametrize("ii", [1, 2])
@pytest.mark.parametrize("reach", [0.02, 0.4, 0.7])
def test_small_angles_keep_their_sign(reach, ii):
    """A hinge without an offset, with a word narrower than a phase, is tested on both sides of zero."""
    turned = Placement(((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)))
    joint = Joint("hinge", JointKind.REVOLUTE, (0.0, 0.0, 1.0), turned, (Limits(-reach, reach, 3.0, 50.0),))
    body = Body("pendulum", BASE, joint, random_inertia(np.random.default_rng(12)))
    robot = Robot("hinge", "base", (body,))
    model = replace(skew(), source=robot, robot=robot, fext=())
    program = lowered(model, trace(robot, ("id",)), 18)
    (angle,) = (word for word in program.inputs if word.name == "q[0]")
    assert angle.format.width < program.trigonometry.phase_bits
    tasks = np.linspace(angle.lowest, angle.highest, 16).astype(np.int64)
    words = {word.name: tasks if word is angle else np.zeros(16, np.int64) for word in program.inputs}
    flags = assert_bit_exact(program, bound_of(program, "xcvu9p", ii), words)
    assert not any(flags)


HYQ, ATLAS = (long(name) for name in ("hyq", "atlas"))


@pytest.mark.parametrize("ii", [1, *(long(ii) for ii in (4, 16))])
@pytest.mark.parametrize("robot", [long("iiwa14"), HYQ, ATLAS])
def test_bundled_robots(robot, ii):
    program = program_of(robot, 18)
    assert_bit_exact(program, bound_of(program, "xcvu9p", ii), both(program, model_of(robot), 10))


@pytest.mark.parametrize("ii", [1, 3])
@pytest.mark.parametrize(("robot", "width", "error"), [("toy", 14, 1e-5), long("iiwa14", 20, 3e-6)])
def test_products_wider_than_an_ordinary_multiplier(robot, width, error, ii):
    program = widened_program(robot, width, error)
    bound = bound_of(program, "xcvu9p", ii)
    wide = [unit for unit in bound.units if unit.resource is Resource.WIDE_MULTIPLIER]
    added = {value for step in bound.steps if step.resource is None for value in step.results}
    products = {bound.steps[i].results[0] for unit in wide for i in unit.steps.values()}
    assert products == program.wide.keys() - added
    assert 0 < len(wide) < len(bound.units)
    assert_bit_exact(program, bound, both(program, model_of(robot), 10))


@given(graphs(trigonometry=True), st.integers(1, 6), st.sampled_from((8, 18, 28)), st.integers(1, 4))
@settings(max_examples=6)
def test_random_graphs(graph, ii, width, memory_stages):
    """They have shared and constant outputs, single negations, operations that cancel, and more."""
    graph = prune(graph)
    angles = {node.args[0].node for node in graph.nodes if node.op in (Op.SIN, Op.COS)}
    assume(
        not any(edge.node in angles for node in graph.nodes if node.op in ARITHMETIC for edge in node.args)
    )
    ranges = {
        name: InputRange(-0.5, 0.5, "turn", wraps=True) if i in angles else InputRange(-1.0, 1.0, "m")
        for name, i in graph.inputs.items()
    }
    inputs = {name: np.random.default_rng(1).uniform(-1, 1, 50) for name in graph.inputs}
    sizes = [float(np.abs(value).max()) for value in node_values(graph, inputs)]
    program = lower(graph, sizes, ranges, plain_widths(graph, width))
    assume(program.inputs)
    bound = replace(bound_of(program, "ecp5-85", ii), memory_stages=max(2, memory_stages))
    assert_bit_exact(program, bound, random_words(program, 10, seed=3), skip=1)


@pytest.mark.parametrize("ii", [1, 3])
def test_words_may_enter_a_register(ii):
    """Only latencies differ, by a cycle."""
    program = program_of("toy", 18, "all")
    bound = replace(bound_of(program, "xcvu9p", ii), entry=1)
    assert PipelineComponent(program=program, bound=bound).latency("id") == bound.latency["id"] + 2
    assert_bit_exact(program, bound, both(program, model_of("toy", "all"), 6), skip=2)


def test_words_of_limbs_that_share_hardware_may_enter_a_register():
    options = BuildOptions(("id",), ii=4, width=18, samples=64, share_limbs="on")
    (core,) = plan_build(load_urdf(path("hyq")), options).cores
    assert core.schedule.twins
    bound = replace(core.schedule, entry=1)
    words = random_words(core.program, 6, seed=3)
    assert respond(core.program, bound, words, skip=2) == expected(core.program, words)


def test_latency_and_widths_are_those_of_the_bound_program():
    program = program_of("toy", 18, "all")
    bound = bound_of(program, "xcvu9p", 2)
    core = PipelineComponent(program=program, bound=bound)
    assert core.ii == 2
    assert core.latency("id") == bound.latency["id"] + 1
    assert len(core.payload) == sum(word.format.width for word in program.inputs)
    assert (len(core.functions), len(core.options)) == (1, 3)
    assert core.result_bits("id") == sum(word.format.width for word in program.outputs["id"])


def test_the_hierarchy_shows_the_regions():
    program = program_of("toy", 14)
    text = rtlil.convert(PipelineComponent(program=program, bound=bound_of(program, "xcvu9p", 1)))
    modules = [line.split()[1] for line in text.splitlines() if line.startswith("module ")]
    regions = {operation.region for operation in program.operations if operation.kind not in NO_HARDWARE}
    assert {f"\\top.{region}" for region in regions} <= set(modules)
    assert {"\\top", "\\top.trigonometry", "\\top.rnea_forward_1"} <= set(modules)


def test_a_flag_that_is_a_cycle_late_is_found(monkeypatch):
    program = program_of("toy", 18, "all")
    bound = bound_of(program, "xcvu9p", 2)
    words = both(program, model_of("toy", "all"), 6)
    late = partial(_gather_late, gather_overflows)
    monkeypatch.setattr("rbdhw.cores.pipeline.component.gather_overflows", late)
    answers, wanted = respond(program, bound, words, 3), expected(program, words)
    assert [result for result, _ in answers] == [result for result, _ in wanted]
    assert [flag for _, flag in answers] != [flag for _, flag in wanted]


def _gather_late(gather, m, function, flags, last):
    raised = Signal()
    m.d.sync += raised.eq(gather(m, function, flags, last))
    return raised


@pytest.mark.parametrize(("device", "ii"), [("xcvu9p", 1), ("ecp5-85", 2)])
def test_no_operator_is_in_front_of_a_flag(device, ii):
    """Flags leave their regions from registers."""
    program = program_of("toy", 18)
    source = BoundProgram(program, bound_of(program, device, ii))
    regions = [RegionModule(signature, source) for signature in source.signatures]
    flags = {name for region in regions for name in region.signature.members if "overflow" in name}
    paths = {path for region in regions for path in paths_through(netlist_of(region))}
    assert flags
    assert not flags.intersection(end for _, end in paths)
    assert paths
