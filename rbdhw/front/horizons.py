"""The methods of an accelerator that go through a horizon: rollouts, samples and optimal control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import SOLVE_INPUTS
from rbdhw.engines.engine import Engine, RolloutEngine, SolvingEngine, results_type
from rbdhw.engines.registry import answering_rollouts, horizon_of_means, sampler, solver_of
from rbdhw.engines.words import WordEngine
from rbdhw.errors import InputError
from rbdhw.front.base import chosen_base
from rbdhw.front.methods import arguments_checked
from rbdhw.front.parameter_sets import ParameterSets
from rbdhw.front.samples import Forces, Mean, bounds_and_hold, forces_of, mean_call, mean_on_chip, rollout_of
from rbdhw.front.solve import Problems, Solution, check_goals, holding_within, solve_on_chip
from rbdhw.front.tasks import as_batch, read_arrays, with_axes
from rbdhw.golden import inputs_of
from rbdhw.model.arrays import as_numbers, as_whole, check_taken, task_shapes
from rbdhw.model.limits import REFUSE, limit_tasks
from rbdhw.model.packets import NOT_FINITE
from rbdhw.model.rollouts.arrays import check_first_states, neutral_state
from rbdhw.model.rollouts.codec import check, flagged
from rbdhw.options.build import DEFAULT_ITERATIONS
from rbdhw.protocol import ROLLOUT, steps_with
from rbdhw.robot.model import Robot
from rbdhw.software.folder import Software

Array = NDArray[np.float64]


class Horizons:
    """Rollouts and optimal control on an engine: methods of :class:`rbdhw.front.accelerator.Accelerator`."""

    _engine: Engine
    _outside: str
    _sets: ParameterSets
    _problems: Problems | None = None
    _sampled: Problems | None = None
    # Of an accelerator, which begins the next solution, or the next mean, with it.
    _last: Solution | None = None
    _last_mean: Mean | None = None

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self._engine.robot

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
        C: Any = None,
        y: Any = None,
        W: Any = None,
        placement_ref: Any = None,
        position_weight: Any = None,
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
        forces, times ``R``, (K, nv) or (nv,). With ``--cost-rows`` there are also ``C`` d - ``y``, times
        ``W``: ``C`` (rows, 2 nv) for the difference d of the state and ``x_ref``, in the tangent space, and
        (K, rows) or (rows,). With ``--frames`` there are also the positions of frames less those in
        ``placement_ref``, (K, frames, 4, 4) or (frames, 4, 4), times ``position_weight``, (K, frames, 3) or
        (frames, 3). Without ``states`` only the cost is sent.

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
        rows |= {"C": C, "y": y, "W": W, "contact": contact}
        rows |= {"placement_ref": placement_ref, "position_weight": position_weight}
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
        check_first_states(tasks["q"])
        limited = limit_tasks(self.robot, (), engine.source.content.domain, tasks, self._outside)
        good, first = limited.status != NOT_FINITE, limited.arrays
        if good.any():  # others repeat a good one
            rest = np.where(good, np.arange(len(good)), np.argmax(good))
            first = {name: array[rest] for name, array in first.items()}
        problem, sampling, steps = rollout_of(problems, first, rows, hold)
        answers = engine.follow(problem, sampling, steps, every)
        costs = any(rows[name] is not None for name in ("Q", "R", "W", "position_weight"))
        results = {name: answers[name] for name in (*["states"] * states, *["cost"] * costs)}
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

    def _horizon_of_means(self) -> Problems:
        """Return the problems of the horizon of means of samples, which in software is the solver's."""
        if isinstance(self._engine.source.content, Software):
            return self._horizon()
        if self._sampled is None:
            self._sampled = Problems(self.robot, horizon_of_means(self._engine).knots)
        return self._sampled

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
        hold: int | None = None,
        correlation: float = 0.0,
        temperature: float = 1.0,
        warm: Any = None,
        shift: int = 0,
        **problem: Any,
    ) -> Mean:
        """Return the mean of the forces of samples, by model predictive path integral control.

        ``samples`` add normal samples of the standard deviations ``std``, (N, nv) or (nv,), to the forces
        ``tau``, each for ``hold`` steps, one by default, or as many as an accelerator's build has; those of
        ``seed`` and the next seeds. With ``correlation`` a sample is that much of the one before. The weight
        of a sample is exp(-cost / temperature). The ``problem`` has the arrays of :meth:`solve`; with
        ``warm``, ``tau`` is that of an earlier mean or solution, ``shift`` steps later.

        An accelerator has the costs of ``Q``, ``R`` and as many rows ``W`` as its build, with ``--frames``
        ``position_weight``, limits of its domain, and samples without correlation. It does not tell the
        states and the cost of the mean, which are not a number.

        Raises
        ------
        InputError
            The folder takes no means of samples, or an array is unusable.
        """
        engine, problems = self._engine, self._horizon_of_means()
        if not temperature > 0.0:
            raise InputError("temperature", f"{temperature:g}", "a positive number, in units of the cost")
        limits: dict[str, Array] = {}
        later, held, first = as_whole("shift", shift), 1, warm
        if not isinstance(engine.source.content, Software):
            limits, held = bounds_and_hold(engine.source.design)
            first = Forces(warm.tau) if isinstance(warm, Mean) else warm
        arrays, length = {"q": q, "v": v, "h": h, **limits, **problem}, held if hold is None else hold
        complete, sampling, count, lead = mean_call(
            problems, arrays, first, later, std, seed, samples, length, correlation
        )
        if isinstance(engine, WordEngine):
            if problem.get("x_ref") is None:
                complete = holding_within(engine, complete)
            follow = later if warm is not None and warm is self._last_mean and not lead else None
            self._last_mean = None
            results = mean_on_chip(engine, complete, sampling, count, float(temperature), follow)
            self._last_mean = Mean(*(with_axes(results[name], lead) for name in Mean._fields))
            return self._last_mean
        results = sampler(engine).mean_of_samples(complete, sampling, count, float(temperature))
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

        An accelerator has the costs of ``Q`` and ``R``, with ``--frames`` that of ``position_weight``, limits
        of its domain, and no tolerance. It holds ``tau`` first, on a floating base always. ``warm`` is its
        last solution, and ``iterations`` is the build's by default.
        Problems of a batch are solved in turn, or with ``--problems`` as many together. A batch of no more
        may follow its last solution, too.

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
        results["followed"] = np.full(len(problems["q"]), warm is not None)
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
