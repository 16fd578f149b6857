"""What the closed loop of a study does, and where: the interface of tasks, and loops of the user's own."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rbdhw.control.optimiser import LostAnswer
from rbdhw.errors import InputError
from rbdhw.protocol import FUNCTIONS, MPPI, ROLLOUT, SOLVE
from rbdhw.robot.model import Robot

LOST = 1e-3
"""The share of answers that are lost."""

WITH_STATUS = (*FUNCTIONS, ROLLOUT)
"""The functions whose tasks have the status of the interface."""


class Unreliable:
    """Functions of which some answers are lost: such calls raise
    :class:`~rbdhw.control.optimiser.LostAnswer`.

    All else is that of the object with the functions.

    Attributes
    ----------
    calls, lost
        The numbers of calls, and of those whose answer was lost.
    answers, flagged
        The numbers of tasks that were answered, and of those with a status.
    """

    def __init__(self, functions: Any, rng: np.random.Generator) -> None:
        self._functions, self._rng = functions, rng
        self.calls = self.lost = self.answers = self.flagged = 0

    @property
    def share_flagged(self) -> float:
        """The share of answered tasks that have a status."""
        return self.flagged / max(1, self.answers)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._functions, name)
        if name in (*WITH_STATUS, SOLVE, MPPI):
            return self._answered(value, name in WITH_STATUS)
        return value

    def _answered(self, call: Callable[..., Any], with_status: bool) -> Callable[..., Any]:
        def answer(*arrays: Any, **named: Any) -> Any:
            self.calls += 1
            if self._rng.random() < LOST:
                self.lost += 1
                raise LostAnswer
            result = call(*arrays, **named)
            if with_status:
                self.answers += np.size(result.status)
                self.flagged += int(np.count_nonzero(result.status))
            return result

        return answer


@dataclass(frozen=True)
class Setting:
    """What a loop runs on: the robot, the functions of a candidate, and those in double precision."""

    urdf: Path
    robot: Robot
    functions: Any
    exact: Any
    plant: Callable[[], Any]
    """Returns ``step`` in double precision, with inertial parameters."""


@dataclass(frozen=True)
class Task(ABC):
    """What the controller does, and for how long."""

    name: str
    seconds: float
    least: ClassVar[float] = 0.0
    """The fewest seconds."""

    @abstractmethod
    def functions(self, given: str | None, frames: bool) -> str:
        """Return the functions that the loop asks for; InputError if they are not as given, or missing."""

    @abstractmethod
    def unit(self, robot: Robot) -> str:
        """Return the unit of errors, empty if it is not known; InputError if the robot has no such loop."""

    @abstractmethod
    def measure(self, setting: Setting) -> dict[str, Any]:
        """Return the ``median`` and the ``max`` of errors, what else is measured, and ``flagged``."""


@dataclass(frozen=True)
class OwnLoop(Task):
    """A loop of the user's, ``MODULE:FUNCTION``, with the digest of the module's source.

    The function receives the URDF's path, the candidate's functions as an object such as :func:`rbdhw.load`
    returns, and the seconds. It returns the errors of all ticks, in any unit.
    """

    digest: str = ""

    @classmethod
    def named(cls, name: str, seconds: float) -> OwnLoop:
        """Return the loop of a name; InputError if there is no such function."""
        source = inspect.getsource(sys.modules[_function_of(name).__module__])
        return cls(name, seconds, hashlib.sha256(source.encode()).hexdigest()[:12])

    def functions(self, given: str | None, _frames: bool) -> str:
        if given is None:
            raise InputError("functions", f"missing for task '{self.name}'", "those that the loop calls")
        return given

    def unit(self, _robot: Robot) -> str:
        return ""

    def measure(self, setting: Setting) -> dict[str, Any]:
        answers = Unreliable(setting.functions, np.random.default_rng(0))
        errors = np.asarray(_function_of(self.name)(setting.urdf, answers, self.seconds), np.float64)
        if errors.ndim != 1 or not len(errors):
            raise InputError(
                f"task '{self.name}'", f"returned shape {errors.shape}", "the errors of all ticks"
            )
        return {
            "median": float(np.median(errors)),
            "max": float(errors.max()),
            "lost": answers.lost / max(1, answers.calls),
            "flagged": answers.share_flagged,
        }


def _function_of(name: str) -> Callable[..., Any]:
    """Return a function ``MODULE:FUNCTION``, of a module that Python finds from the working folder, too."""
    module, _, function = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        attribute: Callable[..., Any] = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        expected = "track, reach, or MODULE:FUNCTION of a module that can be imported from here"
        raise InputError("task", f"'{name}': {error}", expected) from None
    return attribute
