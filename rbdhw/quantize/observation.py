"""Observations of a graph on random tasks: magnitudes, the effect of errors, and golden results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.arrays import Element, WordName, given_elements
from rbdhw.domain.bounds import Domain
from rbdhw.domain.forces import Forces
from rbdhw.domain.graph_inputs import angular_coordinates, graph_inputs
from rbdhw.domain.sampling import sample
from rbdhw.domain.strata import STRATA, Drawn, draw, error_floors
from rbdhw.fixed.angles import TURN
from rbdhw.fixed.gains import Gains, Measure, Strata, gains
from rbdhw.frontend.build_graph import Model
from rbdhw.golden import error_norm
from rbdhw.graph.graph import Graph
from rbdhw.options.build import BuildOptions
from rbdhw.protocol import FUNCTIONS, NEXT_STATE
from rbdhw.quantize.magnitudes import CHUNK, largest_magnitudes
from rbdhw.robot.model import Robot

Array = NDArray[np.float64]

NOISE_TASKS = 512
"""Tasks in which rounding errors are observed."""

INVERSE_MARGIN = 1.25
"""The headroom of a supplied inverse over the largest entries found by sampling."""


@dataclass(frozen=True)
class Draws:
    """The numbers of random tasks from which number formats are chosen."""

    ranging: int
    """Tasks over the whole domain from which ranges are determined, in chunks."""
    held_out: int
    """Tasks of all strata in which errors are measured."""
    chunk: int = CHUNK
    """Tasks for which the values of all nodes are in memory together."""
    group: int = CHUNK
    """Tasks in a group; a chunk holds a whole number of groups. The maxima of groups are compared to estimate
    tails. The maxima of smaller groups differ more, so that more headroom is left for the tails."""
    probed: int = CHUNK
    """Tasks of all strata in which the effect of errors is determined."""
    headroom: float = 1.0
    """The factor by which values may exceed the ranges found. A small sample of a large robot's tasks needs
    more than 1."""


@dataclass(frozen=True)
class Trials:
    """The tasks in which errors are measured."""

    tasks: Drawn
    reference: Mapping[str, Mapping[str, Array]]
    """The tasks, and their golden results by function, with the optional ones."""
    floors: Mapping[str, float]
    """For each part of the results, the least norm by which errors are divided: smaller results count as this
    large."""


@dataclass(frozen=True)
class Observed:
    """Observations of a graph on random tasks, which do not depend on its number formats."""

    model: Model
    graph: Graph
    domain: Domain
    draws: Draws
    """The prepared robot, its graph, the bounds of its inputs, and the numbers of tasks."""
    magnitudes: Sequence[float]
    """The largest magnitude of each node."""
    effects: Gains
    """The effect of errors at the nodes on the results."""
    noise_words: Mapping[str, Array]
    """The graph's inputs for the tasks in which rounding errors are observed."""
    trials: Trials
    """The tasks in which errors are measured."""


def observe(
    model: Model,
    graph: Graph,
    domain: Domain,
    options: BuildOptions,
    draws: Draws | None = None,
    trials: Trials | None = None,
) -> Observed:
    """Observe a graph on random tasks.

    Ranges come from one sample of the domain, the effect of errors from a sample of all strata, and errors
    from another sample of all strata, which by default is four times as large as the first: ``trials``, if
    they are drawn already.
    """
    draws = draws or Draws(options.samples, 4 * options.samples)
    ranging, probing = (np.random.default_rng((options.seed, k)) for k in (0, 3))
    robot, functions = model.source, options.functions
    trials = trials or draw_trials(model, domain, options, draws.held_out)
    probed = draw(robot, domain, draws.probed, probing, model.fext)
    arrays = add_inverses(robot, domain, probed.together(functions))
    inputs = graph_inputs(robot, arrays)
    measures = word_measures(robot, graph, arrays)
    return Observed(
        model,
        graph,
        domain,
        draws,
        domain_magnitudes(model, graph, functions, domain, draws, inputs, ranging),
        gains(graph, inputs, Strata(STRATA, probed.stratum, trials.floors, measures), probing),
        graph_inputs(robot, add_inverses(robot, domain, trials.tasks.first(NOISE_TASKS).together(functions))),
        trials,
    )


def draw_trials(model: Model, domain: Domain, options: BuildOptions, tasks: int) -> Trials:
    """Return random tasks of all strata with their golden results."""
    robot, functions = model.source, options.functions
    floors = error_floors(robot, domain, functions, options.seed, model.fext)
    drawn = draw(robot, domain, tasks, np.random.default_rng((options.seed, 1)), model.fext)
    reference = {f: golden.evaluate(robot, f, drawn.of(f), extended=True) for f in functions}
    return Trials(drawn, reference, floors)


def add_inverse_bounds(domain: Domain, robot: Robot, options: BuildOptions) -> Domain:
    """Return the domain with bounds of an inverse mass matrix supplied with a task, found by sampling."""
    rng = np.random.default_rng((options.seed, 2))
    inverses = golden.evaluate(robot, "minv", sample(robot, domain, options.samples, rng))["Minv"]
    largest = INVERSE_MARGIN * np.abs(inverses).max(axis=0).ravel()
    return replace(domain, bounds={**domain.bounds, "Minv": np.stack([-largest, largest], axis=1)})


def add_inverses(robot: Robot, domain: Domain, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return arrays with their inverse mass matrices, if the domain has bounds of supplied inverses."""
    inverses = golden.evaluate(robot, "minv", arrays) if "Minv" in domain.bounds else {}
    return {**arrays, **inverses}


def domain_magnitudes(
    model: Model,
    graph: Graph,
    functions: Sequence[str],
    domain: Domain,
    draws: Draws,
    probed: Mapping[str, Array],
    rng: np.random.Generator,
) -> list[float]:
    """Return the largest magnitude of each node over the domain, and in the ``probed`` inputs.

    Each function has the forces of :func:`forces_of`.
    """
    magnitudes = []
    for forces in Forces:
        names = [name for name in functions if forces_of(name) is forces]
        if names:
            chunks = [*sample_inputs(model, domain, draws, rng, forces), probed]
            magnitudes.append(largest_magnitudes(graph, names, chunks, draws.group))
    return [max(sizes) for sizes in zip(*magnitudes, strict=True)]


def forces_of(function: str) -> Forces:
    """Return the forces for which a function's ranges hold; without forces, motions are as fast as drawn."""
    if FUNCTIONS[function].integrates:
        return Forces.STEPS
    return Forces.MOTIONS if FUNCTIONS[function].takes_force else Forces.ANY


def sample_inputs(
    model: Model, domain: Domain, draws: Draws, rng: np.random.Generator, forces: Forces
) -> Iterator[dict[str, Array]]:
    """Yield the inputs of a graph for random tasks over the whole domain, a chunk at a time."""
    arrays = sample(model.source, domain, draws.ranging, rng, model.fext, forces)
    for start in range(0, draws.ranging, draws.chunk):
        part = {name: array[start : start + draws.chunk] for name, array in arrays.items()}
        yield graph_inputs(model.source, add_inverses(model.source, domain, part))


def word_measures(robot: Robot, graph: Graph, tasks: Mapping[str, Array]) -> dict[str, list[Measure]]:
    """Return how errors of results are measured that are not as they are, or not as whole arrays."""
    measures: dict[str, list[Measure]] = {}
    angles = angular_coordinates(robot)
    names = [WordName.parse(text) for text, _ in graph.outputs]
    functions = dict.fromkeys(name.function for name in names)
    parts = [
        part for function in functions for part in error_norm.parts_of(robot, str(function)) if part.name
    ]
    for element in given_elements(((Element(str(name)),) for name in names), robot.nv):
        name = element.name
        for part in (part for part in parts if name in part):
            in_turns = name.array == NEXT_STATE and name.index[0] < robot.nq and angles[name.index[0]]
            unit: Array | float = TURN if in_turns else 1.0
            index: tuple[Any, ...] = (..., *name.index)
            origin = error_norm.origin_of(robot, part, tasks)[index] / unit
            if element.integrated:  # what it would be without a word is the origin
                unit, origin = error_norm.time_steps(robot, tasks), 0.0
            scale = unit * error_norm.scale_of(robot, part, tasks)
            measures.setdefault(str(names[element.word]), []).append(Measure(str(part), scale, origin))
    return measures
