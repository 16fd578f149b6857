"""A prepared build: what kinds of cores have in common before number formats, each stage computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from rbdhw.delays import Delays
from rbdhw.domain.bounds import Domain, with_task_bounds
from rbdhw.domain.overrides import Overrides
from rbdhw.frontend.algorithms import AlgorithmChoice
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.build_graph import Model, accelerator_graph, prepare
from rbdhw.graph.graph import Graph
from rbdhw.graph.sweeps import Sweeps
from rbdhw.graph.twins import Twins
from rbdhw.options.build import BuildOptions
from rbdhw.progress import Progress, silent, within
from rbdhw.protocol import any_takes
from rbdhw.quantize.observation import Observed, Trials, add_inverse_bounds, draw_trials, observe
from rbdhw.remarks import warn
from rbdhw.robot.model import Robot
from rbdhw.robot.symmetry import LimbGroup
from rbdhw.target import Target, target

T = TypeVar("T")

TRIALS = ("trials",)
"""The key of the tasks in which errors are measured."""


@dataclass(frozen=True)
class Prepared:
    """The stages that do not depend on number formats or the schedule: prepared robot, domain and graph.

    ``chain`` are the steps of a chain's links, of which ``graph`` consists, for a build with a chain core.
    """

    model: Model
    domain: Domain
    graph: Graph
    chain: Sweeps | None = None

    @property
    def robot(self) -> Robot:
        """The robot with frames and inertias rewritten, on which the graph is based."""
        return self.model.robot

    @property
    def algorithms(self) -> Algorithms:
        """The algorithms by which the graph computes its functions."""
        return self.model.choice.algorithms

    def with_choice(self, choice: AlgorithmChoice) -> Prepared:
        """Return the same with another record of the choice of algorithms."""
        return replace(self, model=replace(self.model, choice=choice))

    def traced(self, functions: Sequence[str], delays: Delays) -> Prepared:
        """Return the same with the graph of some functions, by the chosen algorithms."""
        return replace(self, graph=accelerator_graph(self.model, functions, delays))


@dataclass(frozen=True)
class Sharing:
    """The groups of limbs that share hardware, and their twins in the graph."""

    twins: Twins
    limbs: tuple[LimbGroup, ...] = ()


def prepare_graph(
    source: Robot, domain: Domain, options: BuildOptions, overrides: Overrides | None, progress: Progress
) -> Prepared:
    """Return a build prepared as one graph of all functions.

    Raises InputError if the robot, an option or an override is not supported.
    """
    functions, delays = options.functions, target(options.target).delays
    model = prepare(
        source, functions, options.fext, delays, options.algorithms, progress, soonest=options.soonest
    )
    warn(model.remarks)
    if any_takes(functions, "Minv"):
        domain = add_inverse_bounds(domain, source, options)
    domain = with_task_bounds(domain, source, overrides, functions)
    progress("tracing")
    return Prepared(model, domain, accelerator_graph(model, functions, delays))


class Cache:
    """Results of stages. The key of a result is the stage and everything on which the result depends."""

    def __init__(self) -> None:
        self._results: dict[tuple[Any, ...], Any] = {}

    def get(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """Return the result stored under a key; call ``make`` and store its result if there is none."""
        if key not in self._results:
            self._results[key] = make()
        result: T = self._results[key]
        return result


@dataclass(frozen=True)
class PreparedBuild:
    """A prepared build with its options, and what is observed of it on random tasks.

    Builds of one robot that share a cache compute each result once.
    """

    prepared: Prepared
    options: BuildOptions
    cache: Cache = field(default_factory=Cache)
    progress: Progress = silent

    @property
    def device(self) -> Target:
        """The target."""
        return target(self.options.target)

    def observed(self) -> Observed:
        """Return the observations of the graph on random tasks."""

        def make() -> Observed:
            self.progress("observing random tasks")
            prepared = self.prepared
            return observe(prepared.model, prepared.graph, prepared.domain, self.options, None, self.trials())

        return self.cache.get(("observed",), make)

    def trials(self) -> Trials:
        """Return the tasks in which errors are measured."""
        prepared, tasks = self.prepared, 4 * self.options.samples
        return self.cache.get(
            TRIALS, lambda: draw_trials(prepared.model, prepared.domain, self.options, tasks)
        )

    def choosing_formats(self, core: str) -> Progress:
        """Report that number formats of a core are chosen, and return the progress of this stage."""
        stage = f"choosing number formats of the {core}"
        self.progress(stage)
        return within(stage, self.progress)
