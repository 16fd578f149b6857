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

from rbdhw.arrays import SOLVE_INPUTS
from rbdhw.design.digests import check_digest
from rbdhw.driver.link import NANOSECONDS, Link
from rbdhw.engines.engine import Call, Engine, RolloutEngine, SolvingEngine, decline, results_type
from rbdhw.engines.registry import answering_rollouts, open_engine, sampler, solver_of
from rbdhw.engines.words import WordEngine
from rbdhw.errors import InputError
from rbdhw.front.base import chosen_base
from rbdhw.front.methods import arguments_checked, bind, method
from rbdhw.front.parameter_sets import ParameterSets
from rbdhw.front.pending import Pending, Prepared
from rbdhw.front.samples import Mean, forces_of, mean_call, rollout_of
from rbdhw.front.solve import Problems, Solution, check_goals, solve_on_chip
from rbdhw.front.tasks import as_batch, read_arrays, with_axes
from rbdhw.golden import inputs_of
from rbdhw.model.arrays import as_numbers, as_whole, check_taken, task_shapes
from rbdhw.model.limits import LIMIT, REFUSE, check_way, limit_tasks
from rbdhw.model.packets import NOT_FINITE
from rbdhw.model.rollouts.arrays import neutral_state
from rbdhw.model.rollouts.codec import check, flagged
from rbdhw.options.build import DEFAULT_ITERATIONS
from rbdhw.protocol import FUNCTIONS, PARAMETERS, ROLLOUT, steps_with
from rbdhw.robot.model import Robot
from rbdhw.software.folder import Software

if TYPE_CHECKING:
    from rbdhw.software.certificate import Certificates

Array = NDArray[np.float64]

RATES = ("tasks", "sent", "received")
"""The counts of a driver that are also told by the second."""


class Accelerator:
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
        self._problems: Problems | None = None
        self._last: Solution | None = None  # of an accelerator, which begins the next solution with it
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
    def robot(self) -> Robot:
        """The robot."""
        return self._engine.robot

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

    @arguments_checked
    def rollout(
        self,
        q: Any,
        v: Any,
        tau: Any,
        h: Any = None,
        *,
        every: int = 0,
        std: Any = None,
        seed: Any = None,
        hold: int | None = None,
        x_ref: Any = None,
        Q: Any = None,
        R: Any = None,
        x_nominal: Any = None,
        K: Any = None,
        contact: Any = None,
        holding: Any = None,
        states: bool = True,
        base_v: Any = None,
        base_a: Any = None,
        gravity: Any = None,
        fext: Any = None,
        parameters: Any = None,
        parameter_set: int | None = None,
        base: Any = None,
    ) -> Any:
        """Return the states after steps in time with the forces ``tau`` (K, nv), the same for all rollouts.

        ``states`` (M, nq + nv) is the last state (M of 1), or with ``every`` those after so many steps each
        and the last. ``first_flagged`` is the first step whose status is not zero, or zero, and ``status``
        is that of all steps together. Batches of first states or seeds have an axis of tasks before.

        With contacts, steps are those of ``cstep``, and ``contact`` (K, contacts) or (contacts,) is one for
        each contact during a step; all by default. ``holding`` (3,) is that of ``cstep``.

        Software has all of the following, with one ``h`` for all rollouts, and ``Q`` for the tangent space:
        (K, 2 nv) or (2 nv,).

        In a build with ``--rollout samples``, normal samples of the standard deviations ``std``, (K, nv) or
        (nv,), are added to the forces. They depend on the ``seed`` of the rollout, an integer. Each is held
        for ``hold`` steps, as many as the build has; in software for one by default.

        In a build with ``--rollout cost`` there is also the ``cost``, the sum over all steps of squares: of
        the state behind the step less ``x_ref``, times ``Q``, (K, nq + nv) or (nq + nv,) each; and of the
        forces, times ``R``, (K, nv) or (nv,). Without ``states`` only the cost is sent.

        In a build with ``--rollout gains``, ``K`` times the difference of the state before the step and
        ``x_nominal`` is added to the forces: (K, nv, 2 nv) or (nv, 2 nv), in the tangent space, and
        (K, nq + nv) or (nq + nv,).

        Raises
        ------
        InputError
            The folder takes no rollouts, or an array is unusable.
        """
        arrays = {"q": q, "v": v, "h": h, "seed": seed, "fext": fext, "parameters": parameters}
        arrays |= {"base_v": base_v, "base_a": base_a, "gravity": gravity, "holding": holding}
        rows = {"tau": tau, "std": std, "x_ref": x_ref, "Q": Q, "R": R, "x_nominal": x_nominal, "K": K}
        rows["contact"] = contact
        check_taken(self.robot, [name for name, array in rows.items() if array is not None])
        software = isinstance(self._engine.source.content, Software)
        if software:
            return self._follow(arrays, rows, as_whole("every", every), states, 1 if hold is None else hold)
        engine, tasks, lead = self._rollouts(arrays, rows, hold, parameter_set, base)
        design, between = engine.source.design, as_whole("every", every)
        rollouts = check(design, tasks, between, self._outside)
        results = flagged(rollouts, engine.roll_out(rollouts, between, states))
        values = [with_axes(array, lead) for array in results.values()]
        return results_type(ROLLOUT, tuple(results)[:-1])(*values)

    def _follow(
        self, arrays: Mapping[str, Any], rows: Mapping[str, Any], every: int, states: bool, hold: Any
    ) -> Any:
        """Return the rollouts of software, which a solver's pass forward computes."""
        engine, problems = sampler(self._engine), self._horizon()
        if not 0 <= every <= problems.steps:
            raise InputError("every", str(every), f"0 to {problems.steps} steps")
        tasks, lead = as_batch(read_arrays(self.robot, self._rolled, arrays, without=("tau",)))
        limited = limit_tasks(self.robot, (), engine.source.content.domain, tasks, self._outside)
        good, first = limited.status != NOT_FINITE, limited.arrays
        if good.any():  # others repeat a good one
            rest = np.where(good, np.arange(len(good)), np.argmax(good))
            first = {name: array[rest] for name, array in first.items()}
        problem, sampling, steps = rollout_of(problems, first, rows, hold)
        found = engine.follow(problem, sampling, steps, every)
        costs = any(rows[name] is not None for name in ("Q", "R"))
        results = {name: found[name] for name in (*["states"] * states, *["cost"] * costs)}
        status = limited.flagged(np.zeros(len(limited.status), np.int64), results)
        results |= {"first_flagged": 1 * (status != 0), "status": status}
        values = [with_axes(array, lead) for array in results.values()]
        return results_type(ROLLOUT, tuple(results)[:-1])(*values)

    @property
    def _rolled(self) -> str:
        """The function whose steps rollouts take."""
        content = self._engine.source.content
        if isinstance(content, Software):
            return steps_with(contacts=bool(self.robot.contacts.places))[0]
        shape = content.interface.rollout
        return "step" if shape is None else shape.function

    @property
    def _most_iterations(self) -> int:
        """The iterations of a solution, if the call does not say."""
        content = self._engine.source.content
        shape = None if isinstance(content, Software) else content.interface.solver
        return DEFAULT_ITERATIONS if shape is None else shape.iterations

    def _horizon(self) -> Problems:
        """Return the problems of the horizon of the folder's solver."""
        if self._problems is None:
            solver = solver_of(self._engine)
            self._problems = Problems(self.robot, solver.knots, solver.momentum)
        return self._problems

    @arguments_checked
    def mppi(
        self,
        q: Any,
        v: Any,
        h: Any = None,
        *,
        std: Any,
        samples: int = 1024,
        seed: int = 0,
        hold: int = 1,
        correlation: float = 0.0,
        temperature: float = 1.0,
        warm: Any = None,
        shift: int = 0,
        **problem: Any,
    ) -> Mean:
        """Return the mean of the forces of samples, by model predictive path integral control.

        ``samples`` add normal samples of the standard deviations ``std``, (N, nv) or (nv,), to the forces
        ``tau``, each for ``hold`` steps; those of ``seed`` and the next seeds. With ``correlation`` a sample
        is that much of the one before. The weight of a sample is exp(-cost / temperature). The ``problem``
        has the arrays of :meth:`solve`; with ``warm``, ``tau`` is that of an earlier mean or solution,
        ``shift`` steps later.

        Raises
        ------
        InputError
            The folder has no solver, or an array is unusable.
        """
        engine, problems = sampler(self._engine), self._horizon()
        if not temperature > 0.0:
            raise InputError("temperature", f"{temperature:g}", "a positive number, in units of the cost")
        later = as_whole("shift", shift)
        arrays = {"q": q, "v": v, "h": h, **problem}
        complete, sampling, count, lead = mean_call(
            problems, arrays, warm, later, std, seed, samples, hold, correlation
        )
        results = engine.mean_of_samples(complete, sampling, count, float(temperature))
        return Mean(*(with_axes(results[name], lead) for name in Mean._fields))

    @arguments_checked
    def solve(
        self,
        q: Any,
        v: Any,
        h: Any = None,
        *,
        x_ref: Any = None,
        Q: Any = None,
        C: Any = None,
        y: Any = None,
        W: Any = None,
        x_min: Any = None,
        x_max: Any = None,
        limit_weight: Any = None,
        tau_ref: Any = None,
        R: Any = None,
        tau_min: Any = None,
        tau_max: Any = None,
        placement_ref: Any = None,
        position_weight: Any = None,
        orientation_weight: Any = None,
        momentum_ref: Any = None,
        momentum_weight: Any = None,
        contact: Any = None,
        tau: Any = None,
        states: Any = None,
        K: Any = None,
        warm: Solution | None = None,
        shift: int = 0,
        iterations: int | None = None,
        tolerance: float = 1e-9,
    ) -> Solution:
        """Return the cheapest forces that a solver finds for a horizon of N steps from a first state.

        The cost is half the sum of weighted squares: ``Q`` (N + 1, 2 nv) of the difference d of each state
        and ``x_ref`` (N + 1, nq + nv); ``W`` (N + 1, rows) of C d - y, with ``C`` (rows, 2 nv);
        ``limit_weight`` (2 nv,) of what exceeds ``x_min`` to ``x_max`` (nq + nv,), those of the URDF by
        default; ``R`` (N, nv) of the forces less ``tau_ref``; ``position_weight`` (N + 1, frames, 3) and
        ``orientation_weight`` (N + 1, frames) of the placements of frames less ``placement_ref``
        (N + 1, frames, 4, 4); and with ``centroidal`` among the functions ``momentum_weight`` (N + 1, 6) of
        the momentum about the centre of mass less ``momentum_ref``, linear first. An array without its first
        axis is the same in all knots. Forces are limited to ``tau_min`` to ``tau_max`` (nv,), the efforts of
        the URDF by default. With contacts, ``contact`` (N, contacts) is one for each of them during a step,
        all by default.

        The first trajectory has the forces ``tau``, with feedback by gains ``K`` around ``states``; with
        ``warm`` they are those of an earlier solution, ``shift`` steps later. It ends after ``iterations``,
        10 by default, or when no more than the share ``tolerance`` of the cost can be gained.

        An accelerator has the costs of ``x_ref``, ``Q`` and ``R``, limits of its domain, and no tolerance.
        It holds ``tau`` first, ``warm`` is its last solution, and ``iterations`` is the build's by default.
        Problems of a batch are solved in turn.

        Raises
        ------
        InputError
            The folder has no solver, or an array is unusable; or tasks outside are refused, and ``x_ref`` is
            outside ``x_min`` to ``x_max``.
        """
        arrays = {name: value for name, value in locals().items() if name in SOLVE_INPUTS}
        engine, horizon = self._engine, self._horizon()
        most = as_whole("iterations", self._most_iterations if iterations is None else iterations)
        steps = as_whole("shift", shift)
        if most < 0 or steps < 0 or not tolerance >= 0.0:
            raise InputError("iterations, shift, tolerance", "negative", "numbers from 0 on")
        if isinstance(engine, WordEngine):
            last, self._last = self._last, None
            self._last = solve_on_chip(engine, horizon, arrays, most, last, warm, steps)
            return self._last
        assert isinstance(engine, SolvingEngine)
        problems, lead = horizon.complete(arrays, warm, steps)
        if self._outside == REFUSE:
            check_goals(problems)
        results = engine.solve_all(problems, most, float(tolerance))
        return Solution(*(with_axes(results[name], lead) for name in Solution._fields))

    @arguments_checked
    def rollout_forces(self, tau: Any, std: Any, seed: Any, hold: int | None = None) -> Array:
        """Return the forces (K, nv) that a rollout applies: ``tau`` plus the samples of its seed, limited.

        What feedback adds is left out.

        The arrays are those of :meth:`rollout`. Several seeds have an axis of tasks before.

        Raises
        ------
        InputError
            The folder draws no samples, or an array is unusable.
        """
        shapes, names = task_shapes(self.robot, self.robot.nq), inputs_of(self.robot, self._rolled)
        rest = {name: np.zeros(shapes[name]) for name in names if name != "tau"}
        rest["q"] = neutral_state(self.robot)[: self.robot.nq]
        if isinstance(self._engine.source.content, Software):
            steps = 1 if hold is None else hold
            return self._forces_of_samples(rest | {"seed": seed}, {"tau": tau, "std": std}, steps)
        engine, tasks, lead = self._rollouts({**rest, "seed": seed}, {"tau": tau, "std": std}, hold)
        forces: Array = with_axes(engine.rollout_forces(check(engine.source.design, tasks, 0)), lead)
        return forces

    def _forces_of_samples(self, arrays: Mapping[str, Any], rows: Mapping[str, Any], hold: Any) -> Array:
        """Return the forces of rollouts of software."""
        sampler(self._engine)
        problems = self._horizon()
        first, lead = as_batch(read_arrays(self.robot, self._rolled, arrays, without=("tau",)))
        forces: Array = with_axes(forces_of(*rollout_of(problems, first, rows, hold)), lead)
        return forces

    def _rollouts(
        self,
        arrays: Mapping[str, Any],
        rows: Mapping[str, Any],
        hold: Any,
        parameter_set: int | None = None,
        base: Any = None,
    ) -> tuple[RolloutEngine, dict[str, Array], tuple[int, ...]]:
        """Return the engine, the arrays of rollouts with an axis of tasks, and the axes that they had."""
        engine = answering_rollouts(self._engine)
        shape = engine.source.design.interface.rollout
        if shape is not None and hold not in (None, shape.hold):
            remedy = f"generate with --hold {hold}"
            raise InputError("hold", f"{hold} steps", f"{shape.hold}, as the build has", remedy)
        inputs = read_arrays(self.robot, self._rolled, arrays, without=("tau",))
        if base is not None:
            inputs |= chosen_base(self.robot, self._rolled, base, inputs)
        self._sets.add_to(inputs, parameter_set)
        tasks, lead = as_batch(inputs)
        loaded = {
            name: as_numbers(f"array '{name}'", array) for name, array in rows.items() if array is not None
        }
        if "tau" not in loaded:
            raise InputError("array 'tau'", "missing", "the forces (K, nv) of all rollouts")
        return engine, tasks | loaded, lead


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
