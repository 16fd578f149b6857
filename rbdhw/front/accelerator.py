"""The functions of a generated folder as methods of an object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.design.digests import check_digest
from rbdhw.driver.link import NANOSECONDS, Link
from rbdhw.engines.engine import Call, Engine, decline
from rbdhw.engines.registry import open_engine
from rbdhw.errors import InputError
from rbdhw.front.base import chosen_base
from rbdhw.front.horizons import Horizons
from rbdhw.front.methods import arguments_checked, bind, method
from rbdhw.front.parameter_sets import ParameterSets
from rbdhw.front.pending import Pending, Prepared
from rbdhw.front.tasks import as_batch, read_arrays
from rbdhw.model.limits import LIMIT, check_way, limit_tasks
from rbdhw.protocol import FUNCTIONS, PARAMETERS

if TYPE_CHECKING:
    from rbdhw.software.certificate import Certificates

Array = NDArray[np.float64]

RATES = ("tasks", "sent", "received")
"""The counts of a driver that are also told by the second."""


class Accelerator(Horizons):
    """The functions of a folder that ``rbdhw generate`` wrote: ``acc.dfd(q, v, tau)``.

    There is a method for each function of the folder. Arrays have the order and units of Pinocchio; a ``q``
    with the columns of Pinocchio's own model is converted. An array without axes of tasks is one task;
    among batches, of any axes before, it serves all tasks. Results are named tuples: the arrays of
    :data:`rbdhw.protocol.FUNCTIONS` and ``status``, which is zero if nothing left its domain or overflowed.

    Numbers outside of the domain are limited to it and set bit 0 of the status. A quaternion, or a cosine and
    a sine, whose length is not one sets bit 1. A task with a number that is not finite sets bit 3, and its
    results are NaN. Arrays that this build does not take are refused. An object holds the design that the
    folder had when it was loaded, and a pickled one is loaded again from there. Threads may share it, as long
    as none loads parameters.

    In a build with ``--base any``, ``base`` of the functions that depend on it is ``floating`` (by default),
    ``given`` or ``fixed``, for all tasks or one for each. Where the base is given, it moves by the first six
    entries of ``v``, and by ``base_a``, or those of ``a``.

    Parameters
    ----------
    folder
        The folder.
    engine
        One of :data:`rbdhw.engines.table.ENGINES`; by default the first that serves the folder.
    transport, timeout, attempts, outside
        See :func:`rbdhw.load`.

    Raises
    ------
    InputError
        The folder is not complete, or the engine is unknown.
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        engine: str | None = None,
        *,
        transport: str | None = None,
        timeout: float | None = None,
        attempts: int | None = None,
        outside: str = LIMIT,
    ) -> None:
        check_way(outside)
        link = Link(transport, timeout, attempts)
        self._start(open_engine(Path(folder).absolute(), engine, link), outside)

    @classmethod
    def on(cls, engine: Engine) -> Accelerator:
        """Return an object on an engine whose design need not be in a folder."""
        accelerator = cls.__new__(cls)
        accelerator._start(engine, LIMIT)
        return accelerator

    def _start(self, engine: Engine, outside: str) -> None:
        self._engine, self._outside, self.folder = engine, outside, engine.source.folder
        self._bindings: dict[str, Call] = {}
        count = self.manifest.get("stream", {}).get("parameter_sets", 1)
        self._sets = ParameterSets(self.robot, self.folder, count)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what loads the same design again, in this or another process."""
        source, sets = self._engine.source, self._sets.numbers
        return _load_again, (self.folder, self.engine, source.link, self._outside, source.digest, sets)

    def __copy__(self) -> Accelerator:
        """Return an object with parameters of its own; the engine is that of this object."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, _sets=copy(self._sets))
        return twin

    def __deepcopy__(self, _memo: dict[int, Any]) -> Accelerator:
        """Return the same as :meth:`__copy__`: nothing changes an engine."""
        return self.__copy__()

    @property
    def engine(self) -> str:
        """The name of the engine."""
        return self._engine.name

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest without digests."""
        return self._engine.source.content.manifest

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of the folder."""
        return self._engine.source.content.functions

    @property
    def parameters(self) -> Array | None:
        """The inertial parameters (links, 10) of calls without ``parameters``; None if all are constant."""
        return None if self._sets.numbers is None else self._sets.numbers[0].copy()

    @property
    def parameter_sets(self) -> Array | None:
        """The inertial parameters (sets, links, 10) of all sets that a call can choose; None if constant."""
        return None if self._sets.numbers is None else self._sets.numbers.copy()

    @arguments_checked
    def load_parameters(self, parameters: Any, set: int = 0) -> None:  # noqa: A002 (the field's own word)
        """Use other inertial parameters in all later calls that take this set.

        Parameters
        ----------
        parameters
            (links, 10), or the ten numbers of some links by name: mass, centre of mass, and inertia about it.
        set
            The number of the set, from 0 on.

        Raises
        ------
        InputError
            They are constant in this build, which may have no such set; no body has them, or they are outside
            of their bounds.
        """
        self._sets.load(parameters, set)

    @arguments_checked
    def load_payload(
        self,
        mass: float,
        centre: Any = (0.0, 0.0, 0.0),
        inertia: Any = (0.0,) * 6,
        link: str | None = None,
        set: int = 0,  # noqa: A002 (the field's own word)
    ) -> None:
        """Let a link of the URDF carry a load in all later calls that take this set.

        Parameters
        ----------
        mass, centre, inertia
            The load's mass (kg; 0 for none), its centre of mass in the link's frame (m), and its inertia
            (xx, xy, xz, yy, yz, zz) about that centre.
        link
            The link; by default the first whose parameters are given at run time.
        set
            The number of the set, from 0 on.

        Raises
        ------
        InputError
            As :meth:`load_parameters`.
        """
        self._sets.load_payload(mass, centre, inertia, link, set)

    def __repr__(self) -> str:
        functions = ", ".join(self.functions)
        return f"<accelerator {self.folder} of robot {self.robot.name!r}: {functions}; engine {self.engine}>"

    if TYPE_CHECKING:

        def __getattr__(self, function: str) -> Callable[..., Any]: ...

    @cached_property
    def _all_contacts(self) -> Array:
        """Every contact of the build, for a task that names none."""
        return np.ones(self.robot.sizes["contacts"])

    def _binding(self, function: str, passed: list[str]) -> Call:
        """Return what computes the simple calls of a function, and declines the others."""
        if function not in self._bindings:
            known = function in self.functions
            self._bindings[function] = self._engine.binding(function, passed) if known else decline
        return self._bindings[function]

    def _call(
        self,
        function: str,
        arrays: Mapping[str, Any],
        extended: bool,
        parameter_set: int | None = None,
        base: Any = None,
        certify: bool = False,
    ) -> Any:
        """Compute a function for one task or a batch, and return its named results."""
        task = self._prepare(function, arrays, extended, parameter_set, base)
        status, results = self._engine.compute(function, task.tasks.arrays, task.extended)
        if certify:
            bounds = self._certificates.bounds(function, task.tasks.arrays, results)
            results = {**results, **bounds}
        return task.results(status, results)

    @cached_property
    def _certificates(self) -> Certificates:
        """The certificates of answers; InputError if inputs have no bounds."""
        from rbdhw.software.certificate import Certificates

        content = self._engine.source.content
        if content.domain is None:
            reason = f"inputs of {self.folder} have no bounds"
            raise InputError("certify", reason, "a domain", "generate with --domain")
        return Certificates(self.robot, content.domain, content.fext)

    def _prepare(
        self,
        function: str,
        arrays: Mapping[str, Any],
        extended: bool,
        parameter_set: int | None,
        base: Any,
    ) -> Prepared:
        """Return the checked arrays of a call."""
        if function not in self.functions:
            expected = f"one of {', '.join(self.functions)}"
            raise InputError(f"function '{function}'", f"not in {self.folder}", expected)
        inputs = read_arrays(self.robot, function, arrays)
        if base is not None:
            inputs |= chosen_base(self.robot, function, base, inputs)
        if PARAMETERS in FUNCTIONS[function].inputs:
            self._sets.add_to(inputs, parameter_set)
        self._engine.check_optional(function, inputs)
        tasks, lead = as_batch(inputs)
        extended = extended or any(name in inputs for name in FUNCTIONS[function].optional_inputs)
        content = self._engine.source.content
        limited = limit_tasks(self.robot, content.fext, content.domain, tasks, self._outside)
        return Prepared(function, limited, extended, lead)

    def submit(self, function: str, *positional: Any, **named: Any) -> Pending:
        """Send one task to an accelerator and return at once.

        The arguments are those of the method of the function's name: ``acc.submit("fd", q, v, tau)``. Tasks
        of all functions may be on their way together.

        Returns
        -------
        Pending
            Its ``result()`` waits for what the method returns.

        Raises
        ------
        InputError
            As the method; or the call has several tasks, or the engine computes in the call.
        DriverError
            Too many answers wait to be taken, or the device fails.
        """
        call = getattr(type(self), function, None)
        if function not in FUNCTIONS or call is None:
            raise InputError(f"function '{function}'", "unknown", f"one of {', '.join(self.functions)}")
        arguments = bind(call.__signature__, function, (self, *positional), named)
        if arguments.pop("certify", False):
            raise InputError("certify", "has no effect on submit", "a call of the method")
        extended, chosen = arguments.pop("extended", False), arguments.pop("parameter_set", None)
        task = self._prepare(function, arguments, extended, chosen, arguments.pop("base", None))
        if task.lead:
            raise InputError("submit", "arrays with an axis of tasks", "those of one task", "call the method")
        return Pending(task, self._engine.submit(function, task.tasks.arrays, task.extended))

    @property
    def statistics(self) -> dict[str, float]:
        """What the driver counted since the accelerator was opened.

        ``tasks`` were answered, ``outside``, ``overflow`` and ``not_finite`` of them were flagged.
        ``retries`` were sent again, after ``timeouts`` or because an answer was ``damaged``; ``strays`` came
        unasked, and ``reloads`` loaded all parameters and rows again. ``sent`` and ``received`` are bytes,
        and ``busy`` are nanoseconds in calls, which give ``tasks_per_second`` and the use of the link,
        ``sent_per_second`` and ``received_per_second``.

        Raises
        ------
        InputError
            The engine has no driver.
        """
        counts: dict[str, float] = dict(self._engine.statistics)
        seconds = counts["busy"] / NANOSECONDS
        rates = {f"{name}_per_second": counts[name] / seconds if seconds else 0.0 for name in RATES}
        return counts | rates


def _load_again(
    folder: Path, engine: str, link: Link, outside: str, digest: str, sets: Array | None
) -> Accelerator:
    """Return an object as it was when it was pickled; InputError if the folder has another design now."""
    check_digest(folder, digest)
    loaded = Accelerator(folder, engine, **vars(link), outside=outside)
    check_digest(folder, digest)
    loaded._sets.numbers = sets
    return loaded


for _function in FUNCTIONS:
    setattr(Accelerator, _function, method(_function))
