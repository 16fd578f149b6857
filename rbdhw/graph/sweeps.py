"""A computation that repeats the same step for every link of a chain, in sweeps along it.

A sweep has one graph, the *step* of a link, and goes through the links outward or inward. The inputs of a
step are numbers of the task, constants of the link, numbers that the step of the link before it in the sweep
*carries* on, and numbers that an earlier sweep *kept* for the same link.

The stages of a method in time are such steps, too: here each of them is called a link. They read the same
numbers of the task, and the last one has the results.

The name of an input or output is an array and an index, and begins with its sweep: ``gather.kept[3]``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbdhw.graph.graph import MAX_SHIFT, Edge, Graph, GraphBuilder, Op
from rbdhw.scalar import STAGE, Region, current_region

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Given:
    """An input that is a number of the task: element k of an array for link k.

    ``links`` states which links have such a number; for the others it is zero.
    """

    array: str
    links: tuple[bool, ...]

    def name(self, link: int) -> str | None:
        """Return the name of a link's number, or None if it has none."""
        return f"{self.array}[{link}]" if self.links[link] else None


@dataclass(frozen=True)
class Shared:
    """An input that is a number of the task, of the same name, in every step."""


@dataclass(frozen=True)
class Carried:
    """An input that is an output of another link's step in the same sweep."""

    output: str
    """The output."""
    first: float
    """The value for a link to which none hands on."""
    givers: tuple[int | None, ...] = ()
    """For each link the one that hands on to it, earlier in the sweep, or None. Without them it is the one
    before it in the sweep."""

    def giver(self, sweep: Sweep, link: int, links: int) -> int | None:
        """Return the link that hands on to one of so many links, or None."""
        if self.givers:
            return self.givers[link]
        before = sweep.before(link)
        return before if 0 <= before < links else None


@dataclass(frozen=True)
class Kept:
    """An input that is an output of the same link in an earlier sweep."""

    output: str


@dataclass(frozen=True)
class Constant:
    """An input that is a constant of each link; ``chooses`` if it is one or zero and selects values."""

    values: tuple[float, ...]
    chooses: bool = False


Source = Given | Shared | Carried | Kept | Constant
"""The source of an input of a step."""


@dataclass(frozen=True)
class Sweep:
    """One sweep: the graph of its step, and whether it goes inward."""

    name: str
    step: Graph
    inward: bool = False

    def order(self, links: int) -> range:
        """Return the links in the order of the sweep."""
        return range(links - 1, -1, -1) if self.inward else range(links)

    def before(self, link: int) -> int:
        """Return the link before one in the order of the sweep."""
        return link + 1 if self.inward else link - 1


@dataclass(frozen=True)
class Sweeps:
    """A function of a chain, in sweeps."""

    links: int
    """The number of links, or of stages."""
    sweeps: tuple[Sweep, ...]
    """The sweeps in order."""
    sources: Mapping[str, Source]
    """The source of each input, by its name."""
    function: str
    array: str
    result: str
    """The output whose value for link k is element k of the function's result. If ``result`` is empty, the
    results are those outputs of the last step whose names are the function's: ``rk4.x_next[0]``."""

    def steps(self) -> Iterator[tuple[Sweep, int]]:
        for sweep in self.sweeps:
            for link in sweep.order(self.links):
                yield sweep, link

    def branches(self, sweep: Sweep) -> bool:
        """Return whether links of a sweep read what others than the one before them hand on."""
        sources = (self.sources[name] for name in sweep.step.inputs)
        return any(isinstance(source, Carried) and bool(source.givers) for source in sources)

    def result_name(self, link: int) -> str:
        """Return the name of a link's element of the result."""
        return f"{self.function}.{self.array}[{link}]"

    @property
    def each_link(self) -> bool:
        """Whether each link has a result, and not the last step all of them."""
        return bool(self.result)

    def is_result(self, output: str) -> bool:
        """Return whether an output of a step is a result of the function, of every link or of the last."""
        return output == self.result if self.each_link else output.startswith(f"{self.function}.")

    def results(self) -> Iterator[tuple[str, str, int]]:
        """Yield the name of each result, and the output and the link of the step that has it."""
        if self.each_link:
            yield from ((self.result_name(link), self.result, link) for link in range(self.links))
            return
        for output, _ in self.sweeps[-1].step.outputs:
            if self.is_result(output):
                yield output, output, self.links - 1

    def region(self, region: Region, link: int) -> Region:
        """Return the region of a step's node for a link: its joint, or the stage of a method in time."""
        if self.each_link:
            return replace(region, joint=link)
        return replace(region, step=f"{region.step}{STAGE}{link + 1}")


def run(
    sweeps: Sweeps,
    inputs: Mapping[str, Array],
    step: Callable[[Sweep, int, dict[str, Array]], dict[str, Array]],
) -> dict[str, Array]:
    """Return the results by name; ``step`` returns the outputs of a step from its inputs."""
    outputs: dict[tuple[str, int], Array] = {}
    for sweep, link in sweeps.steps():
        step_inputs = {name: _value(sweeps, name, sweep, link, inputs, outputs) for name in sweep.step.inputs}
        outputs |= {(name, link): value for name, value in step(sweep, link, step_inputs).items()}
    return {name: outputs[output, link] for name, output, link in sweeps.results()}


def _value(
    sweeps: Sweeps,
    name: str,
    sweep: Sweep,
    link: int,
    inputs: Mapping[str, Array],
    outputs: Mapping[tuple[str, int], Array],
) -> Array:
    """Return the value of an input of a step."""
    match sweeps.sources[name]:
        case Given() as source:
            word = source.name(link)
            return np.zeros(()) if word is None else inputs[word]
        case Shared():
            return inputs[name]
        case Constant(values):
            return np.asarray(values[link])
        case Kept(output):
            return outputs[output, link]
        case Carried(output, first) as source:
            giver = source.giver(sweep, link, sweeps.links)
            return np.asarray(first) if giver is None else outputs[output, giver]


def unroll(sweeps: Sweeps) -> Graph:
    """Return the graph of all steps, in which constants are folded."""
    build = GraphBuilder()
    known: dict[tuple[str, int], Edge] = {}
    for sweep, link in sweeps.steps():
        edges: list[Edge] = []
        for node in sweep.step.nodes:
            region = sweeps.region(node.region, link)
            if node.op is not Op.INPUT:
                edges.append(build.copy(node._replace(region=region), edges))
                continue
            match sweeps.sources[node.name]:
                case Given() as source:
                    name = source.name(link)
                    edges.append(build.constant(0.0, region) if name is None else build.input(name, region))
                case Shared():
                    edges.append(build.input(node.name, region))
                case Constant(values):
                    edges.append(build.constant(values[link], region))
                case Kept(output):
                    edges.append(known[output, link])
                case Carried(output, first) as source:
                    giver = source.giver(sweep, link, sweeps.links)
                    edges.append(build.constant(first, region) if giver is None else known[output, giver])
        for name, edge in sweep.step.outputs:
            result = edge.applied(edges[edge.node])
            # Shifts must not add up from step to step, beyond the range of double precision.
            far = abs(result.shift) > MAX_SHIFT
            known[name, link] = build.round(result, current_region()) if far else result
    return build.finish([(name, known[output, link]) for name, output, link in sweeps.results()])
