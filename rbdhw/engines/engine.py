"""What an engine is: it computes the functions that a generated folder had when it was read."""

from __future__ import annotations

import copyreg
from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.design.folder import Design
from rbdhw.driver.link import NO_LINK, Link
from rbdhw.engines.table import ACCELERATOR
from rbdhw.errors import InputError
from rbdhw.fixed.format import Integers
from rbdhw.model.rollouts.data import RolloutArrays
from rbdhw.software.folder import Software
from rbdhw.software.solver_library import Sampling

Array = NDArray[np.float64]

Answer = tuple[Integers, Mapping[str, NDArray[Any]]]
"""The status (N,) and the results by name."""

Call = Callable[..., Any]
"""Returns the named results of arrays in their order, or None."""


def decline(*_arrays: Any) -> None:
    """Return None: the engine computes all calls."""


@cache
def results_type(function: str, arrays: tuple[str, ...]) -> type[Any]:
    """Return the type of a function's results, which can be pickled."""
    return _picklable(namedtuple(f"{function}_results", [*arrays, "status"]), function, arrays)


def _picklable(kind: type[Any], *of: Any) -> type[Any]:
    """Return a type of results, whose pickles have the arguments ``of`` of :func:`results_type`."""
    copyreg.pickle(kind, lambda results: (_results, (*of, *results)))
    return kind


def _results(function: str, arrays: tuple[str, ...], *values: Any) -> Any:
    return results_type(function, arrays)(*values)


@dataclass(frozen=True)
class Source:
    """What a folder held when it was read.

    Parameters
    ----------
    digest
        The digest of what was read.
    cache
        The folder of simulators; by default one in ``folder``.
    link
        How an engine reaches a board.
    """

    folder: Path
    digest: str
    content: Design | Software
    cache: Path | None = None
    link: Link = NO_LINK

    @property
    def kind(self) -> str:
        """The kind of the folder: :data:`ACCELERATOR`, or the target of software."""
        return self.content.target if isinstance(self.content, Software) else ACCELERATOR

    @property
    def design(self) -> Design:
        assert isinstance(self.content, Design)
        return self.content


class Future(ABC):
    """A task that was sent to an accelerator."""

    @abstractmethod
    def wait(self, timeout: float | None) -> bool:
        """Wait for the answer, for some seconds at most; return whether there is one, or an error."""

    @abstractmethod
    def answer(self) -> Answer:
        """Return the answer of a task for which nothing is to be waited.

        Raises
        ------
        DriverError
            It was not answered.
        """


class Engine(ABC):
    """An engine of a folder, which answers tasks; :data:`rbdhw.engines.table.ENGINES` has its name."""

    def __init__(self, name: str, source: Source) -> None:
        self.name, self.source, self.robot = name, source, source.content.robot

    @abstractmethod
    def check_optional(self, function: str, arrays: Mapping[str, Array]) -> None:
        """Refuse an optional array of a task that the engine does not read."""

    @abstractmethod
    def compute(self, function: str, tasks: Mapping[str, Array], extended: bool) -> Answer:
        """Compute N tasks in arrays that :func:`rbdhw.model.limits.limit_tasks` returned."""

    def binding(self, _function: str, _passed: Sequence[str]) -> Call:
        """Return what computes the simple calls of a function at the cost of C; by default it declines all.

        A call brings the arrays ``passed``, in this order.
        """
        return decline

    def submit(self, _function: str, _tasks: Mapping[str, Array], _extended: bool) -> Future:
        """Send one task, and return what becomes of it.

        Raises
        ------
        InputError
            The engine sends nothing: it computes in the call.
        """
        raise self._sends_nothing("submit")

    @property
    def statistics(self) -> Mapping[str, int]:
        """The driver's counts (:class:`rbdhw.driver.library.Statistics`).

        Raises
        ------
        InputError
            There is no driver.
        """
        raise self._sends_nothing("statistics")

    def _sends_nothing(self, where: str) -> InputError:
        reason = f"engine '{self.name}' has no driver"
        return InputError(where, reason, "one that has", "use engine board or driver")


class RolloutEngine(Engine):
    """An engine that also answers rollouts, if the folder's design does.

    Both methods take arrays that :func:`rbdhw.model.rollouts.codec.check` returned.
    """

    @abstractmethod
    def roll_out(self, arrays: RolloutArrays, every: int, states: bool) -> dict[str, NDArray[np.generic]]:
        """Return the results of rollouts, as :func:`rbdhw.model.rollouts.codec.decode_answers`.

        There are ``every`` steps from one state to the next; with zero there is the last state only.
        ``states`` decides whether there are states beside costs.
        """

    @abstractmethod
    def rollout_forces(self, arrays: RolloutArrays) -> Array:
        """Return the forces (N, K, nv) that rollouts apply, without feedback: rows plus samples, limited."""


class SolvingEngine(Engine):
    """An engine that also solves problems of optimal control, if the folder's software does."""

    @abstractmethod
    def solve_all(
        self, problems: Mapping[str, Array], iterations: int, tolerance: float
    ) -> dict[str, NDArray[Any]]:
        """Return the solutions of problems that :class:`rbdhw.front.solve.Problems` completed."""

    @abstractmethod
    def follow(
        self, problem: Mapping[str, Array], sampling: Sampling, steps: int, every: int
    ) -> dict[str, NDArray[Any]]:
        """Return rollouts of one problem, as :meth:`rbdhw.software.solver_library.SolverLibrary.roll_out`."""

    @abstractmethod
    def mean_of_samples(
        self, problems: Mapping[str, Array], sampling: Sampling, count: int, temperature: float
    ) -> dict[str, NDArray[Any]]:
        """Return the means of ``count`` samples of each problem (:data:`rbdhw.arrays.MEAN_OUTPUTS`)."""
