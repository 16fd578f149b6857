"""The choice of number formats for steps that pass through the hardware of one: one set for all of them.

A node of the step is as large as in the link, or in the stage, where it is largest. Stages are few and are
observed side by side, so the planner knows what a rounding error in each of them does to the results. Of
links there may be a thousand. They are run one after the other, and their widths follow from the ports of
multipliers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbdhw.domain.bounds import Domain
from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.domain.strata import draw
from rbdhw.errors import InputError, told_apart
from rbdhw.fixed.format import Format
from rbdhw.fixed.gains import Gains, Row
from rbdhw.fixed.lower import InputRange
from rbdhw.fixed.program import Word
from rbdhw.fixed.search import Try
from rbdhw.fixed.step_program import StepProgram, UnrolledProgram
from rbdhw.fixed.steps import lower_steps, unroll_program
from rbdhw.fixed.widths import Widths, plain_widths
from rbdhw.frontend.build_graph import Model
from rbdhw.graph.interpret import edge_value, node_values
from rbdhw.graph.joined_steps import JoinedSteps, join_steps, side_by_side
from rbdhw.graph.sweeps import Given, Shared, Sweep, Sweeps, run
from rbdhw.graph.twins import no_twins
from rbdhw.options.build import BuildOptions
from rbdhw.progress import Progress, silent
from rbdhw.protocol import FUNCTIONS
from rbdhw.quantize.formats import FormatChoice, Formats, first
from rbdhw.quantize.observation import (
    Draws,
    Observed,
    Trials,
    draw_trials,
    forces_of,
    observe,
    sample_inputs,
)
from rbdhw.runtime.garbage_collector import seldom_collect

Array = NDArray[np.float64]

MOST_STEPS = 1 << 17
"""The steps of links over which magnitudes are observed: fewer tasks of a longer chain are drawn."""

LEAST_SAMPLES = 64
"""The fewest tasks that are drawn, however long the chain is."""

NOISE_TASKS = 128
"""Tasks in which rounding errors are observed."""

COMMON_WIDTHS = (18, 24, 27, 32)
"""The widths among which a budget chooses for links."""


@dataclass(frozen=True)
class ObservedSteps:
    """The steps of a function, and what was observed at the nodes of one in all of them."""

    joined: JoinedSteps
    observed: Observed


def observe_links(model: Model, sweeps: Sweeps, domain: Domain, options: BuildOptions) -> ObservedSteps:
    """Observe the links in random tasks; the effect of their errors on the results stays unknown."""
    joined, samples = join_steps(sweeps), max(LEAST_SAMPLES, min(options.samples, MOST_STEPS // sweeps.links))
    draws = Draws(samples, 4 * samples)
    ranging, probing = (np.random.default_rng((options.seed, k)) for k in (0, 3))
    probed = graph_inputs(model.source, draw(model.source, domain, draws.probed, probing).arrays)
    forces = forces_of(sweeps.function)
    chunks = [*sample_inputs(model, domain, draws, ranging, forces), probed]
    unknown = Gains((), np.zeros((0, len(joined.graph.nodes))), np.zeros((0, len(joined.graph.nodes))))
    observed = Observed(
        model,
        joined.graph,
        domain,
        draws,
        largest_magnitudes(joined, chunks),
        unknown,
        first(probed, NOISE_TASKS),
        draw_trials(model, domain, options, draws.held_out),
    )
    return ObservedSteps(joined, observed)


@seldom_collect()
def observe_stages(
    model: Model, sweeps: Sweeps, domain: Domain, options: BuildOptions, trials: Trials
) -> ObservedSteps:
    """Observe the stages of random tasks side by side."""
    joined = join_steps(sweeps)
    observed = observe(model, side_by_side(joined), domain, options, trials=trials)
    magnitudes = np.reshape(observed.magnitudes, (sweeps.links, -1)).max(axis=0).tolist()
    noise, relative = (
        _add_steps(joined, effects) for effects in (observed.effects.noise, observed.effects.relative)
    )
    of_step = replace(
        observed,
        graph=joined.graph,
        magnitudes=magnitudes,
        effects=Gains(observed.effects.rows, noise, relative),
        noise_words=first(observed.noise_words, NOISE_TASKS),
    )
    return ObservedSteps(joined, of_step)


def choose_step_formats(steps: ObservedSteps, options: BuildOptions, progress: Progress = silent) -> Formats:
    """Choose number formats of steps: the most accurate for a width, or the cheapest within the budget.

    Raises
    ------
    InputError
        If no width meets the budget.
    """
    choice = _StepChoice(steps, options, progress)
    if not steps.observed.effects.rows:
        return choice.narrowest()
    fixed = choice.search()
    return choice.formats(fixed, fixed.program)


class _StepChoice(FormatChoice):
    """What a search for number formats of a step calls; its programs are those of all steps."""

    def __init__(self, steps: ObservedSteps, options: BuildOptions, progress: Progress) -> None:
        super().__init__(steps.observed, options, no_twins(steps.joined.graph), False, progress)
        self._joined = steps.joined

    def _program(self, magnitudes: Sequence[float], widths: Widths) -> UnrolledProgram:
        sweeps = self._joined.sweeps
        ranges = self._ranges | given_ranges(sweeps, self._ranges)
        steps = lower_steps(self._joined, magnitudes, ranges, widths)
        links = range(sweeps.links) if sweeps.each_link else ()
        units = [self._ranges[f"{sweeps.array}[{link}]"].unit for link in links]
        return unroll_program(steps, task_words(steps, self._ranges), units)

    def narrowest(self) -> Formats:
        (function,), budget = self._options.functions, self._options.budget
        tries: list[Try] = []
        for width in COMMON_WIDTHS if self._options.width is None else (self._options.width,):
            program = self.lower(plain_widths(self._joined.graph, width))
            errors = self.measure(program, self._observed.draws.held_out)
            result, stratum = errors[function].worst
            worst, bound = Row(f"{function}.{result}", stratum), errors[function].bound
            tries.append(Try((program.port_widths,), bound, worst, True))
            if budget is None or bound <= budget:
                reasons = {function: f"{worst}, where rounding errors of all links add up"}
                return Formats(program, (), errors, tuple(tries), tries[-1], reasons)
        assert budget is not None
        raise _refusal(tries, budget, self._options.budget_share(function))


def _refusal(tries: Sequence[Try], budget: float, share: float) -> InputError:
    best = min(tries, key=lambda tried: tried.bound)
    supported, asked = told_apart(best.bound / share, budget / share, digits=2)
    reason = (
        f"{asked} is not reached on the chain core: {best.widths[0][0]} bits support "
        f"{supported}, limited by {best.worst}"
    )
    remedy = "use a larger budget, a domain file with smaller bounds, or --width without a budget"
    return InputError("max-error", reason, remedy=remedy)


# Observations of all steps at the nodes of one


def largest_magnitudes(joined: JoinedSteps, chunks: Iterable[Mapping[str, Array]]) -> list[float]:
    """Return the largest magnitude of each node of the steps, over all links and tasks."""
    largest = np.zeros(len(joined.graph.nodes))
    nodes = {
        sweep.name: np.array([edge.node for edge in edges])
        for sweep, edges in zip(joined.sweeps.sweeps, joined.places, strict=True)
    }

    def step(sweep: Sweep, _link: int, inputs: dict[str, Array]) -> dict[str, Array]:
        values = node_values(sweep.step, inputs)
        np.maximum.at(largest, nodes[sweep.name], np.array([np.abs(value).max() for value in values]))
        return {name: edge_value(values, edge) for name, edge in sweep.step.outputs}

    for inputs in chunks:
        run(joined.sweeps, inputs, step)
    return [float(size) for size in largest]


def _add_steps(joined: JoinedSteps, effects: Array) -> Array:
    """Return the effects (rows, nodes) of errors at a step's nodes, from those in all steps.

    A number of the task has one error in all of them.
    """
    parts = effects.reshape(len(effects), joined.sweeps.links, -1)
    total: Array = parts.sum(axis=1)
    shared = [i for name, i in joined.graph.inputs.items() if isinstance(joined.sweeps.sources[name], Shared)]
    total[:, shared] = parts[:, 0, shared]
    return total


# The numbers of the task


def given_ranges(sweeps: Sweeps, ranges: Mapping[str, InputRange]) -> dict[str, InputRange]:
    """Return the range of each input that is a number of each link: that of all links together.

    An angle that wraps on some links is within half a turn there.
    """
    of_inputs = {}
    for name, source in sweeps.sources.items():
        if isinstance(source, Given):
            every = [ranges[str(source.name(k))] for k in range(sweeps.links) if source.links[k]]
            units = {bounds.unit for bounds in every}
            of_inputs[name] = InputRange(
                min(bounds.lower for bounds in every),
                max(bounds.upper for bounds in every),
                every[0].unit if len(units) == 1 else "1",
                all(bounds.wraps for bounds in every),
            )
    return of_inputs


def task_words(steps: StepProgram, ranges: Mapping[str, InputRange]) -> dict[str, Word]:
    """Return the words of the task by name, in order: those of all links, or those that all stages read."""
    sources = steps.sweeps.sources
    words = [word for word in steps.program.inputs if isinstance(sources[word.name], Shared)]
    if steps.sweeps.each_link:
        formats = _formats_of_links(steps)
        given = FUNCTIONS[steps.sweeps.function].inputs[:3]
        names = [f"{array}[{link}]" for array in given for link in range(steps.sweeps.links)]
        words = [_word(name, ranges[name], formats[name]) for name in names]
    return {word.name: replace(word, slot=slot) for slot, word in enumerate(words)}


def _formats_of_links(steps: StepProgram) -> dict[str, Format]:
    sweeps = steps.sweeps
    return {
        name: word.format
        for word in steps.program.inputs
        if isinstance(source := sweeps.sources[word.name], Given)
        for link in range(sweeps.links)
        if (name := source.name(link)) is not None
    }


def _word(name: str, bounds: InputRange, chosen: Format) -> Word:
    if bounds.wraps:
        return Word(name, bounds.unit, -1, Format(chosen.binary_point, chosen.binary_point))
    lowest, highest = chosen.quantise(np.array([bounds.lower, bounds.upper])).tolist()
    return Word(name, bounds.unit, -1, chosen, lowest, highest)
