"""Results of the pipeline's stages for bundled and random robots, cached for several tests."""

from collections.abc import Mapping

import numpy as np

from rbdhw.cores.pipeline.core import schedule_pipeline
from rbdhw.domain.bounds import Domain, input_domain
from rbdhw.domain.graph_inputs import graph_inputs, graph_ranges
from rbdhw.domain.sampling import sample
from rbdhw.fixed.evaluate import Result, evaluate
from rbdhw.fixed.format import Integers
from rbdhw.fixed.gains import Strata, gains
from rbdhw.fixed.lower import lower
from rbdhw.fixed.planner import Planner
from rbdhw.fixed.program import Program, Word
from rbdhw.fixed.widths import plain_widths
from rbdhw.frontend.build_graph import Model, optimise, prepare, trace_model
from rbdhw.graph.graph import Graph
from rbdhw.graph.interpret import node_values
from rbdhw.model.packets import quantise
from rbdhw.options.build import BuildOptions
from rbdhw.robot.model import Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.schedule.model import Bound
from rbdhw.target import target
from tests.support.remembered import remembered

SAMPLES = 2048


@remembered
def model_of(name: str, fext: str = "none") -> Model:
    """Return a bundled robot, rewritten for inverse dynamics."""
    return prepare(load_urdf(path(name)), ("id",), fext)


@remembered
def graph_of(name: str, fext: str = "none") -> Graph:
    """Return the optimised graph of a bundled robot's inverse dynamics."""
    model = model_of(name, fext)
    return optimise(trace_model(model, ("id",)), target("xcvu9p").delays)


@remembered
def program_of(name: str, width: int, fext: str = "none") -> Program:
    """Return the bit-exact program of a bundled robot's inverse dynamics."""
    return lowered(model_of(name, fext), graph_of(name, fext), width)


@remembered
def widened_program(name: str, width: int, error: float) -> Program:
    """Return the same program with wider products where the predicted error would exceed ``error``."""
    model, graph = model_of(name), graph_of(name)
    domain = input_domain(model.source)
    arrays = sample(model.source, domain, 256, np.random.default_rng(1))
    sizes = magnitudes(model, graph, domain)
    graph_gains = gains(graph, graph_inputs(model.source, arrays), of_the_box(256), np.random.default_rng(2))
    widths = Planner(graph, sizes, graph_gains).widths(width, {("id.tau", "box"): error})
    return lower(graph, sizes, graph_ranges(model.source, domain, ()), widths)


def of_the_box(tasks: int) -> Strata:
    """Return strata in which all tasks belong to one stratum; results have no floor."""
    return Strata(("box",), np.zeros(tasks, np.int64), {})


def lowered(model: Model, graph: Graph, width: int) -> Program:
    """Return the program of a robot's graph, with formats from samples of its default domain."""
    domain = input_domain(model.source)
    ranges = graph_ranges(model.source, domain, model.fext)
    return lower(graph, magnitudes(model, graph, domain), ranges, plain_widths(graph, width))


def magnitudes(model: Model, graph: Graph, domain: Domain) -> list[float]:
    """Return the largest magnitude of each node over samples of the domain."""
    arrays = sample(model.source, domain, SAMPLES, np.random.default_rng(0), model.fext)
    return [float(np.abs(value).max()) for value in node_values(graph, graph_inputs(model.source, arrays))]


def bound_of(
    program: Program, device: str, ii: int, clock_mhz: float | None = None, goal: str | None = None
) -> Bound:
    """Return a program scheduled, verified and bound."""
    options = BuildOptions(ii=ii, clock_mhz=clock_mhz, clock_goal=goal)
    return schedule_pipeline(program, target(device), options)


def input_words(program: Program, robot: Robot, arrays: Mapping[str, np.ndarray]) -> dict[str, Integers]:
    """Return the words of arrays in the user's shapes; unlimited angles are within half a turn."""
    inputs = graph_inputs(robot, arrays)
    return {word.name: quantise(word, inputs[word.name]) for word in program.inputs}


def torques(program: Program, result: Result) -> np.ndarray:
    """Return ``tau`` (N, nv) from an inverse dynamics program's result."""
    words = program.outputs["id"]
    return np.stack([word.format.real(result.words[word.name]) for word in words], axis=1)


def evaluated(program: Program, robot: Robot, arrays: Mapping[str, np.ndarray]) -> tuple[np.ndarray, Result]:
    """Return ``tau`` (N, nv) and the whole result of an inverse dynamics program."""
    result = evaluate(program, input_words(program, robot, arrays))
    return torques(program, result), result


def random_words(program: Program, tasks: int, seed: int) -> dict[str, Integers]:
    """Return input words over their whole formats, with the bounds of domain and format among them."""
    rng = np.random.default_rng(seed)
    return {word.name: _random_word(word, tasks, rng) for word in program.inputs}


def _random_word(word: Word, tasks: int, rng: np.random.Generator) -> Integers:
    values = rng.integers(word.format.lowest, word.format.highest, tasks, endpoint=True)
    corners = [word.format.lowest, word.format.highest, word.lowest, word.highest, 0]
    known = np.array([corner for corner in corners if corner is not None])
    return np.where(rng.random(tasks) < 0.5, rng.choice(known, tasks), values)
