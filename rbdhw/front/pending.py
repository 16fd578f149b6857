"""Calls: their checked arrays, their named results, and what becomes of those that were sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from rbdhw.engines.engine import Future, results_type
from rbdhw.fixed.format import Integers
from rbdhw.front.tasks import with_axes
from rbdhw.model.limits import Limited


@dataclass(frozen=True)
class Prepared:
    """A call of a function.

    Parameters
    ----------
    function
        The function.
    tasks
        Its tasks within their domain.
    extended
        Whether optional arrays travel.
    lead
        The axes of tasks that arrays had; none for one task.
    """

    function: str
    tasks: Limited
    extended: bool
    lead: tuple[int, ...]

    def results(self, status: Integers, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Return the named results for an engine's answer."""
        together = self.tasks.flagged(status, arrays)
        values = [with_axes(array, self.lead) for array in arrays.values()]
        kind = results_type(self.function, tuple(arrays))
        return kind(*values, with_axes(together, self.lead) if self.lead else int(together[0]))


class Pending:
    """A task that was sent to an accelerator."""

    def __init__(self, call: Prepared, future: Future) -> None:
        self._call, self._future = call, future

    def done(self) -> bool:
        """Return whether there is an answer, or an error, without waiting."""
        return self._future.wait(0.0)

    def result(self, timeout: float | None = None) -> Any:
        """Return the named results.

        Parameters
        ----------
        timeout
            The most seconds to wait; None waits until the driver gives the task up.

        Raises
        ------
        TimeoutError
            There is no answer yet.
        rbdhw.errors.DriverError
            The task was not answered, however often it was sent.
        """
        if not self._future.wait(timeout):
            raise TimeoutError(f"{self._call.function}: no answer within {timeout:g} s")
        return self._call.results(*self._future.answer())
