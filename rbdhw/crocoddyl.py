"""Problems of Crocoddyl whose steps in time an accelerator computes, or any engine of :func:`rbdhw.load`.

It needs Crocoddyl 3.2.1 with Pinocchio 4.0.0: ``pip install '.[crocoddyl]'`` in an environment of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import crocoddyl
import numpy as np
import pinocchio
from numpy.typing import NDArray

from rbdhw.errors import InputError
from rbdhw.front.accelerator import Accelerator
from rbdhw.header import Status
from rbdhw.protocol import CONTACT, steps_with
from rbdhw.robot.model import CONTACT_KINDS, Robot

Array = NDArray[np.float64]

WRONG = sum(1 << bit for bit in Status if bit is not Status.OUTSIDE)
"""The bits of the status of a step whose results are not to be used: Crocoddyl's line search rejects NaN."""


class Horizon:
    """The tasks of all knots, and what the accelerator answered to them.

    Attributes
    ----------
    flagged : int
        The number of answers with a status, those of inputs that were limited to the domain among them.
    calls : int
        The number of calls of the accelerator.
    """

    def __init__(self, accelerator: Accelerator, steps: Array, contact: Array | None = None) -> None:
        robot, self._accelerator, self._h = accelerator.robot, accelerator, steps
        self._contact = contact
        self._step, self._derivatives = steps_with(contacts=contact is not None)
        self._nq, self._nx = robot.nq, robot.nq + robot.nv
        self._tasks = np.full((len(steps), self._nx + robot.nv), np.inf)  # until they are told
        self._stepped, self._derived = self._tasks.copy(), self._tasks.copy()
        self._next: Array = np.zeros((len(steps), self._nx))
        self._A: Array = np.zeros((len(steps), 2 * robot.nv, 2 * robot.nv))
        self._B: Array = np.zeros((len(steps), 2 * robot.nv, robot.nv))
        self.flagged = self.calls = 0

    def step(self, knot: int, x: Array, tau: Array) -> Array:
        """Return the state after a step; it is computed unless :meth:`steps` had the same task."""
        self._tasks[knot] = np.hstack([x, tau])
        if not np.array_equal(self._stepped[knot], self._tasks[knot], equal_nan=True):
            self._compute_steps(np.array([knot]))
        state: Array = self._next[knot]
        return state

    def steps(self, x: Sequence[Array], tau: Sequence[Array]) -> None:
        """Compute the steps of all knots in one call."""
        self._tasks[:] = np.hstack([np.array(x), np.array(tau)])
        self._compute_steps(np.arange(len(self._tasks)))

    def derivatives(self, knot: int, x: Array, tau: Array) -> tuple[Array, Array]:
        """Return the derivatives of a step; one call computes those of all knots that changed."""
        self._tasks[knot] = np.hstack([x, tau])
        if not np.array_equal(self._derived[knot], self._tasks[knot], equal_nan=True):
            told = ~np.isinf(self._tasks).any(axis=1)
            (knots,) = np.nonzero(told & (self._derived != self._tasks).any(axis=1))
            result = self._call(self._derivatives, knots)
            self._A[knots], self._B[knots] = result.A, result.B
            self._derived[knots] = self._tasks[knots]
        return self._A[knot], self._B[knot]

    def _compute_steps(self, knots: NDArray[np.intp]) -> None:
        result = self._call(self._step, knots)
        usable = result.status & WRONG == 0
        self._next[knots] = np.where(usable[:, np.newaxis], result.x_next, np.nan)
        self._stepped[knots] = self._tasks[knots]

    def _call(self, function: str, knots: NDArray[np.intp]) -> Any:
        q, v, tau = np.split(self._tasks[knots], (self._nq, self._nx), axis=1)
        fixed = self._accelerator.robot.time_step is not None
        contact = {} if self._contact is None else {CONTACT: self._contact[knots]}
        given = [] if fixed else [self._h[knots]]
        result = getattr(self._accelerator, function)(q, v, tau, *given, **contact)
        self.calls += 1
        self.flagged += int(np.count_nonzero(result.status))
        return result


class ActionData(crocoddyl.ActionDataAbstract):
    """The data of an :class:`ActionModel`: those of its costs and of its actuation."""

    def __init__(self, model: ActionModel) -> None:
        super().__init__(model)
        self.pinocchio = pinocchio.Data(model.pinocchio)
        self.actuation = model.actuation.createData()
        # The data of costs refer to the collector, and that to the others.
        self.collector = crocoddyl.DataCollectorActMultibody(self.pinocchio, self.actuation)
        self.costs = model.costs.createData(self.collector)


class ActionModel(crocoddyl.ActionModelAbstract):
    """A step by semi-implicit Euler on an accelerator, with costs and actuation of Crocoddyl.

    Parameters
    ----------
    horizon, knot
        The tasks of all knots, and the number of this one.
    action
        An ``IntegratedActionModelEuler`` of free forward dynamics, or of that with contacts, whose state,
        costs, actuation and step in time are those of this model.
    """

    def __init__(self, horizon: Horizon, knot: int, action: Any) -> None:
        differential = action.differential
        super().__init__(action.state, differential.actuation.nu, differential.costs.nr)
        self.u_lb, self.u_ub = action.u_lb, action.u_ub
        self.horizon, self.knot, self.h = horizon, knot, action.dt
        self.pinocchio, self.costs = differential.pinocchio, differential.costs
        self.actuation = differential.actuation

    def createData(self) -> ActionData:
        """Return data for this model."""
        return ActionData(self)

    def calc(self, data: ActionData, x: Array, u: Array | None = None) -> None:
        """Compute the next state and the cost, or without forces the cost of the state alone."""
        self._place(data, x)
        if u is None:
            data.xnext = x
            self.costs.calc(data.costs, x)
            data.cost = data.costs.cost
            return
        self.actuation.calc(data.actuation, x, u)
        data.xnext = self.horizon.step(self.knot, x, data.actuation.tau)
        self.costs.calc(data.costs, x, u)
        data.cost = self.h * data.costs.cost

    def calcDiff(self, data: ActionData, x: Array, u: Array | None = None) -> None:
        """Compute the derivatives of both; :meth:`calc` is called before."""
        q, v = np.split(x, [self.state.nq])
        pinocchio.computeForwardKinematicsDerivatives(self.pinocchio, data.pinocchio, q, v, 0.0 * v)
        pinocchio.computeRNEADerivatives(self.pinocchio, data.pinocchio, q, v, 0.0 * v)  # momentum's, too
        if u is None:
            self.costs.calcDiff(data.costs, x)
            return
        self.actuation.calcDiff(data.actuation, x, u)
        A, B = self.horizon.derivatives(self.knot, x, data.actuation.tau)
        data.Fx, data.Fu = A + B @ data.actuation.dtau_dx, B @ data.actuation.dtau_du
        self.costs.calcDiff(data.costs, x, u)
        for name in ("Lx", "Lu", "Lxx", "Lxu", "Luu"):
            setattr(data, name, self.h * getattr(data.costs, name))

    def _place(self, data: ActionData, x: Array) -> None:
        """Compute what costs read of Pinocchio's data."""
        q, v = np.split(x, [self.state.nq])
        pinocchio.computeAllTerms(self.pinocchio, data.pinocchio, q, v)
        pinocchio.computeCentroidalMomentum(self.pinocchio, data.pinocchio)
        pinocchio.updateFramePlacements(self.pinocchio, data.pinocchio)


class ShootingProblem(crocoddyl.ShootingProblem):
    """A problem of Crocoddyl with its steps on an accelerator, whose functions are ``step`` and ``dstep``.

    Where actions have contacts, they are ``cstep`` and ``dcstep``. The contacts are the accelerator's of the
    same names: the names of frames, and of the links of ``--contacts``. Costs read no forces of contacts.

    One call computes the derivatives of all knots, for Crocoddyl's solvers, too. ``calc`` from Python
    computes the steps of all knots in one call; a pass forward takes them one after the other.

    Parameters
    ----------
    accelerator
        An object of :func:`rbdhw.load`. It has the robot of the problem, with a base of the same kind.
    problem
        A ``crocoddyl.ShootingProblem`` of actions as :class:`ActionModel` takes them; its last action stays.

    Raises
    ------
    InputError
        The build has no contact of this name and kind, or holds it in another way.
    """

    nthreads: int

    def __init__(self, accelerator: Accelerator, problem: Any) -> None:
        actions = list(problem.runningModels)
        steps = np.array([action.dt for action in actions])
        self.horizon = Horizon(accelerator, steps, _schedule(accelerator.robot, actions))
        models = [ActionModel(self.horizon, knot, action) for knot, action in enumerate(actions)]
        super().__init__(problem.x0, models, problem.terminalModel)
        if self.nthreads > 1:
            self.nthreads = 1  # the models are Python

    def calc(self, xs: Sequence[Array], us: Sequence[Array]) -> float:
        """Return the cost of a trajectory, after all its steps in one call."""
        forces = []
        for model, data, x, u in zip(self.runningModels, self.runningDatas, xs, us, strict=False):
            model.actuation.calc(data.actuation, x, u)
            forces.append(data.actuation.tau.copy())
        self.horizon.steps(xs[: len(forces)], forces)
        return float(super().calc(xs, us))


def _schedule(robot: Robot, actions: Sequence[Any]) -> Array | None:
    """Return the contacts (knots, contacts) of actions; None if none of them has dynamics with contacts."""
    if not any(hasattr(action.differential, "contacts") for action in actions):
        return None
    if robot.contacts.loops:
        raise InputError("loops", "Crocoddyl's contacts have none", "none", "generate without --loops")
    if robot.contacts.by_task:
        reason = "Crocoddyl's contacts have the same numbers in all tasks"
        raise InputError("contact-gains", reason, "domain", "generate without --contact-gains")
    built = {contact.frame.name: k for k, contact in enumerate(robot.contacts.places)}
    schedule = np.zeros((len(actions), len(built)))
    for row, action in zip(schedule, actions, strict=True):
        contacts = getattr(action.differential, "contacts", None)
        for item in () if contacts is None else contacts.contacts.todict().values():
            if item.active:
                row[_contact(robot, built, action.differential, item.contact)] = 1.0
    return schedule


def _contact(robot: Robot, built: Mapping[str, int], differential: Any, contact: Any) -> int:
    """Return the number of the build's contact that is one of Crocoddyl's."""
    name, numbers = differential.pinocchio.frames[contact.id].name, robot.contacts
    if name not in built:
        raise InputError(f"contact at frame '{name}'", "the build has none", f"one of {', '.join(built)}")
    kind = robot.contacts.places[built[name]].kind
    for what, asked, expected in (
        ("rows", contact.nc, CONTACT_KINDS[kind]),
        ("gains", tuple(contact.gains), (0.0, numbers.velocity_gain)),
        ("damping", differential.JMinvJt_damping, numbers.damping),
    ):
        if asked != expected:
            raise InputError(f"contact at frame '{name}', {what}", f"{asked}", f"the build's: {expected}")
    return built[name]
