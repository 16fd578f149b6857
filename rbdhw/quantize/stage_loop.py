"""The choice of number formats for stages that pass through the hardware of one: one set for all of them.

The stages are observed side by side. A node of the stage is as large as in the stage where it is largest, and
a rounding error at it has the effect of one in every stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbdhw.domain.bounds import Domain
from rbdhw.fixed.gains import Gains
from rbdhw.fixed.program import Word
from rbdhw.fixed.step_program import ChainProgram, StepProgram
from rbdhw.fixed.steps import JoinedSteps, join_steps, lower_steps, unroll_program
from rbdhw.fixed.widths import Widths
from rbdhw.frontend.build_graph import Model
from rbdhw.graph.graph import Edge, Graph, Node, Op
from rbdhw.graph.sweeps import Carried, Constant, Shared, Source, Sweeps
from rbdhw.graph.twins import no_twins
from rbdhw.options.build import BuildOptions
from rbdhw.progress import Progress, silent
from rbdhw.quantize.chain import lower_with_noise
from rbdhw.quantize.formats import FormatChoice, Formats
from rbdhw.quantize.observation import Observed, Trials, observe
from rbdhw.runtime.garbage_collector import seldom_collect

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ObservedStages:
    """The stages of a function as steps, and the observations of all of them at the nodes of one."""

    joined: JoinedSteps
    observed: Observed


@seldom_collect()
def observe_stages(
    model: Model, sweeps: Sweeps, domain: Domain, options: BuildOptions, trials: Trials
) -> ObservedStages:
    """Observe the stages of random tasks."""
    joined, stages = join_steps(sweeps), sweeps.links
    seen = observe(model, beside(joined), domain, options, trials=trials)
    magnitudes = np.reshape(seen.magnitudes, (stages, -1)).max(axis=0).tolist()
    noise, relative = (_together(joined, effects) for effects in (seen.effects.noise, seen.effects.relative))
    effects = Gains(seen.effects.rows, noise, relative)
    return ObservedStages(joined, replace(seen, graph=joined.graph, magnitudes=magnitudes, effects=effects))


def beside(joined: JoinedSteps) -> Graph:
    """Return a graph of all stages without folding: node i of stage k is node ``k * n + i``."""
    own, n, nodes = joined.graph, len(joined.graph.nodes), list[Node]()
    for stage in range(joined.sweeps.links):
        for i, node in enumerate(own.nodes):
            if node.op is Op.INPUT:
                nodes.append(_read(joined, i, stage))
            else:
                args = tuple(edge._replace(node=edge.node + stage * n) for edge in node.args)
                nodes.append(node._replace(args=args))
    last = (joined.sweeps.links - 1) * n
    return Graph(
        tuple(nodes), tuple((name, edge._replace(node=edge.node + last)) for name, edge in own.outputs)
    )


def _read(joined: JoinedSteps, i: int, stage: int) -> Node:
    """Return the node that is an input of a stage."""
    node, n = joined.graph.nodes[i], len(joined.graph.nodes)
    source: Source = joined.sweeps.sources[node.name]
    match source:
        case Constant(values):
            return Node(Op.CONSTANT, (), values[stage], "", node.region)
        case Carried(_, first) if stage == 0:
            return Node(Op.CONSTANT, (), first, "", node.region)
        case Carried(output):
            edge = joined.output(output)
            return Node(Op.ROUND, (edge._replace(node=edge.node + (stage - 1) * n),), 0.0, "", node.region)
        case _:
            return node if stage == 0 else Node(Op.ROUND, (Edge(i),), 0.0, "", node.region)


def _together(joined: JoinedSteps, effects: Array) -> Array:
    """Return the effects (rows, nodes) of errors at a stage's nodes, from those in all stages.

    A number of the task has one error in all of them.
    """
    parts = effects.reshape(len(effects), joined.sweeps.links, -1)
    total: Array = parts.sum(axis=1)
    shared = [i for name, i in joined.graph.inputs.items() if isinstance(joined.sweeps.sources[name], Shared)]
    total[:, shared] = parts[:, 0, shared]
    return total


def choose_stage_formats(
    stages: ObservedStages, options: BuildOptions, progress: Progress = silent
) -> Formats:
    """Choose number formats of stages: the most accurate for a width, or the cheapest within the budget.

    Raises
    ------
    InputError
        If no width meets the budget.
    """
    choice = _StageChoice(stages, options, progress)
    found = choice.search()
    return choice.formats(found, found.program)


class _StageChoice(FormatChoice):
    """What a search for number formats of a stage calls; its programs are those of all stages."""

    def __init__(self, stages: ObservedStages, options: BuildOptions, progress: Progress) -> None:
        super().__init__(stages.observed, options, no_twins(stages.joined.graph), False, progress)
        self._joined = stages.joined

    def lower(self, widths: Widths) -> ChainProgram:
        """Return the program with these widths; magnitudes that are mainly rounding errors are raised."""
        self._report(widths)
        return lower_with_noise(
            self._magnitudes,
            self._observed.noise_words,
            lambda seen: self._program(seen, widths.fit_magnitudes(self._magnitudes, seen)),
        )

    def _program(self, magnitudes: Sequence[float], widths: Widths) -> ChainProgram:
        steps = lower_steps(self._joined, magnitudes, self._ranges, widths)
        return unroll_program(steps, task_words(steps))


def task_words(steps: StepProgram) -> dict[str, Word]:
    """Return the words of the task by name, in order."""
    shared = [word for word in steps.program.inputs if isinstance(steps.sweeps.sources[word.name], Shared)]
    return {word.name: replace(word, slot=slot) for slot, word in enumerate(shared)}
