"""The choice of number formats for the chain core: one set of formats for the steps of all links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rbdhw.domain.bounds import Domain
from rbdhw.domain.forces import Forces
from rbdhw.domain.graph_inputs import graph_inputs, graph_ranges
from rbdhw.domain.strata import draw
from rbdhw.errors import InputError, told_apart
from rbdhw.fixed.evaluate import largest_values
from rbdhw.fixed.figures import FunctionErrors
from rbdhw.fixed.format import Format
from rbdhw.fixed.gains import Row
from rbdhw.fixed.lower import InputRange
from rbdhw.fixed.program import Word
from rbdhw.fixed.search import Try
from rbdhw.fixed.step_program import ChainProgram, StepProgram
from rbdhw.fixed.steps import JoinedSteps, join_steps, lower_steps, unroll_program
from rbdhw.fixed.widths import Widths, plain_widths
from rbdhw.frontend.build_graph import Model
from rbdhw.graph.interpret import edge_value, node_values
from rbdhw.graph.sweeps import Given, Sweep, Sweeps, run
from rbdhw.model.packets import quantise
from rbdhw.options.build import BuildOptions
from rbdhw.progress import Progress, silent
from rbdhw.quantize.formats import COARSEST_STEP, NOISE_PASSES, Formats, accelerator_model, function_errors
from rbdhw.quantize.magnitudes import NOISE_MARGIN, NOISY
from rbdhw.quantize.observation import Draws, Trials, draw_trials, sample_inputs

Array = NDArray[np.float64]

MOST_STEPS = 1 << 17
"""The steps of links over which magnitudes are observed: fewer tasks of a longer chain are drawn."""

LEAST_SAMPLES = 64
"""The fewest tasks that are drawn, however long the chain is."""

NOISE_TASKS = 128
"""Tasks in which rounding errors are observed."""

COMMON_WIDTHS = (18, 24, 27, 32)
"""The widths among which a budget chooses."""

GIVEN = ("q", "v", "tau")
"""The arrays of a task, in the order of their words."""


def choose_chain_formats(
    model: Model, sweeps: Sweeps, domain: Domain, options: BuildOptions, progress: Progress = silent
) -> Formats:
    """Choose number formats of a chain: those of the requested width, or the narrowest within the budget.

    Raises
    ------
    InputError
        If no width meets the budget.
    """
    choice = _Choice(model, sweeps, domain, options)
    tries: list[Try] = []
    budget = options.budget
    for width in (options.width,) if options.width is not None else COMMON_WIDTHS:
        progress(f"try {len(tries) + 1}, {width} bits")
        program = choice.program(width)
        errors = choice.errors(program)
        result, stratum = errors.worst
        worst = Row(f"{sweeps.function}.{result}", stratum)
        tries.append(Try((program.port_widths,), errors.bound, worst, True))
        if budget is None or errors.bound <= budget:
            reason = f"{worst}, where rounding errors of all links add up"
            return Formats(
                program, (), {sweeps.function: errors}, tuple(tries), tries[-1], {sweeps.function: reason}
            )
    assert budget is not None
    raise _refusal(tries, budget)


def _refusal(tries: Sequence[Try], budget: float) -> InputError:
    best = min(tries, key=lambda own: own.bound)
    supported, asked = told_apart(best.bound, budget, digits=2)
    reason = (
        f"{asked} is not reached on the chain core: {best.widths[0][0]} bits support "
        f"{supported}, limited by {best.worst}"
    )
    remedy = "use a larger budget, a domain file with smaller bounds, or --width without a budget"
    return InputError("max-error", reason, remedy=remedy)


class _Choice:
    def __init__(self, model: Model, sweeps: Sweeps, domain: Domain, options: BuildOptions) -> None:
        self._model, self._sweeps, self._domain, self._options = model, sweeps, domain, options
        self._joined = join_steps(sweeps)
        self._ranges = graph_ranges(model.source, domain, ())
        self._given = given_ranges(sweeps, self._ranges)
        samples = max(LEAST_SAMPLES, min(options.samples, MOST_STEPS // sweeps.links))
        draws = Draws(samples, 4 * samples)
        self._trials: Trials = draw_trials(model, domain, options, draws.held_out)
        rng = np.random.default_rng((options.seed, 0))
        chunks = list(sample_inputs(model, domain, draws, rng, Forces.MOTIONS))
        probed = draw(model.source, domain, draws.probed, np.random.default_rng((options.seed, 3)))
        self._noise = graph_inputs(model.source, probed.arrays)
        self._magnitudes = largest_magnitudes(self._joined, [*chunks, self._noise])

    def program(self, width: int) -> ChainProgram:
        """Return the program of a width; magnitudes that are mainly rounding errors are raised."""
        widths = plain_widths(self._joined.graph, width)
        return lower_with_noise(self._magnitudes, self._noise, lambda seen: self._lower(seen, widths))

    def _lower(self, magnitudes: Sequence[float], widths: Widths) -> ChainProgram:
        steps = lower_steps(self._joined, magnitudes, self._given, widths)
        units = [self._ranges[f"{self._sweeps.array}[{k}]"].unit for k in range(self._sweeps.links)]
        return unroll_program(steps, task_words(steps, self._ranges), units)

    def errors(self, program: ChainProgram) -> FunctionErrors:
        """Return the errors of a program in all tasks that are held out."""
        model = accelerator_model(self._model, self._domain, [program], self._options)
        tasks = len(self._trials.tasks.stratum)
        return function_errors(model, self._trials, self._sweeps.function, tasks)


def largest_magnitudes(joined: JoinedSteps, chunks: Sequence[Mapping[str, Array]]) -> list[float]:
    """Return the largest magnitude of each node of the steps, over all links and tasks."""
    found = np.zeros(len(joined.graph.nodes))
    places = {
        sweep.name: np.array([edge.node for edge in own])
        for sweep, own in zip(joined.sweeps.sweeps, joined.places, strict=True)
    }

    def step(sweep: Sweep, _link: int, inputs: dict[str, Array]) -> dict[str, Array]:
        values = node_values(sweep.step, inputs)
        sizes = np.array([np.abs(own).max() for own in values])
        np.maximum.at(found, places[sweep.name], sizes)
        return {name: edge_value(values, edge) for name, edge in sweep.step.outputs}

    for inputs in chunks:
        run(joined.sweeps, inputs, step)
    return [float(size) for size in found]


def lower_with_noise(
    magnitudes: Sequence[float],
    reals: Mapping[str, Array],
    lower: Callable[[Sequence[float]], ChainProgram],
) -> ChainProgram:
    """Return the program for magnitudes that are raised where values consist mainly of rounding errors.

    Parameters
    ----------
    reals
        The numbers of the tasks in which rounding errors are observed.
    lower
        Returns the program for some magnitudes.
    """
    seen = list(magnitudes)
    program = lower(seen)
    for _ in range(NOISE_PASSES):
        raised = raise_to_noise(seen, program, reals)
        if raised == seen:
            break
        seen, before = raised, program
        program = lower(seen)
        if min(own.format.binary_point for own in program.operations) < -COARSEST_STEP:
            return before
    return program


def raise_to_noise(
    magnitudes: Sequence[float], program: ChainProgram, reals: Mapping[str, Array]
) -> list[float]:
    """Return magnitudes, raised where the values of some link consist mainly of rounding errors."""
    words = {word.name: quantise(word, reals[word.name][:NOISE_TASKS]) for word in program.inputs}
    (function,) = program.outputs
    raised = list(magnitudes)
    for i, largest in largest_values(program, words, function).items():
        place = program.origins[i]
        if place is not None and place < len(raised) and largest > NOISY * magnitudes[place]:
            raised[place] = max(raised[place], NOISE_MARGIN * largest)
    return raised


def given_ranges(sweeps: Sweeps, ranges: Mapping[str, InputRange]) -> dict[str, InputRange]:
    """Return the range of each input that is a number of the task: that of all links together.

    An angle that wraps on some links is within half a turn there.
    """
    found = {}
    for name, source in sweeps.sources.items():
        if isinstance(source, Given):
            own = [ranges[str(source.name(k))] for k in range(sweeps.links) if source.links[k]]
            lower, upper = min(x.lower for x in own), max(x.upper for x in own)
            wraps = all(x.wraps for x in own)
            found[name] = InputRange(
                lower, upper, own[0].unit if len({x.unit for x in own}) == 1 else "1", wraps
            )
    return found


def task_words(steps: StepProgram, ranges: Mapping[str, InputRange]) -> dict[str, Word]:
    """Return the words of the task by name, in order, with the bounds of each link."""
    sweeps = steps.sweeps
    formats = {word.name: word.format for word in steps.program.inputs}
    readers: dict[str, Format] = {}
    for reader, source in sweeps.sources.items():
        if isinstance(source, Given):
            for link in range(sweeps.links):
                if (name := source.name(link)) is not None:
                    readers[name] = formats[reader]
    names = [f"{array}[{link}]" for array in GIVEN for link in range(sweeps.links)]
    return {name: _word(name, ranges[name], readers[name], slot) for slot, name in enumerate(names)}


def _word(name: str, bounds: InputRange, chosen: Format, slot: int) -> Word:
    if bounds.wraps:
        turn = Format(chosen.binary_point, chosen.binary_point)
        return Word(name, bounds.unit, -1, turn, slot=slot)
    lowest, highest = chosen.quantise(np.array([bounds.lower, bounds.upper])).tolist()
    return Word(name, bounds.unit, -1, chosen, lowest, highest, slot)
