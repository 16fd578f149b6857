"""Optimal control in a loop, whose functions any engine computes: one iteration for each plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SHARES = np.array([1.0, 0.5, 0.25, 0.125, 0.0])
"""Of a step of the optimiser, all tried at once; zero follows the last plan."""


class LostAnswer(Exception):
    """An answer did not arrive in time."""


@dataclass(frozen=True)
class Plan:
    """A trajectory with feedback: ``states`` (N + 1, 2 nv), ``tau`` (N, nv), the gains ``K`` (N, nv, 2 nv).

    ``share`` is the length of the step from the last plan, zero if the line search failed.
    """

    states: Array
    tau: Array
    K: Array
    cost: float = np.inf
    share: float = 0.0


class Optimiser:
    """One iteration of iLQR on ``step``, ``dstep`` and, for costs of frames, ``position``.

    ``functions`` has them as methods, such as an object of :func:`rbdhw.load`. Configurations are in the
    tangent space: each joint has as many coordinates as degrees of freedom.
    """

    def __init__(self, functions: Any) -> None:
        self.functions = functions

    def solve(
        self,
        q: Array,
        v: Array,
        h: float,
        *,
        x_ref: Array,
        Q: Array,
        R: Array,
        tau_ref: Array,
        placement_ref: Array | None = None,
        position_weight: Array | None = None,
        tau_min: Array | float = -np.inf,
        tau_max: Array | float = np.inf,
        warm: Any = None,
        shift: int = 0,
    ) -> Plan:
        """Return a plan from a state; the arguments are those of ``acc.solve``, with all their axes.

        Derivatives are taken along the last plan, so that a horizon takes one call of ``dstep``.
        """
        nv, first = len(v), np.hstack([q, v])
        states, tau = np.tile(first, (len(tau_ref) + 1, 1)), tau_ref
        if warm is not None:
            states, tau = (later(array, shift) for array in (warm.states, warm.tau))
        knots = x_ref, Q, placement_ref, position_weight
        x_next, A, B = self.functions.dstep(states[:-1, :nv], states[:-1, nv:], tau, h)[:3]
        gaps = x_next - states[1:]
        K, changes = policy(A, B, gaps, *self._expand(states, *knots), R * (tau - tau_ref), R)
        x, passed = np.tile(first, (len(SHARES), 1)), []
        for k in range(len(tau)):
            asked = tau[k] + np.outer(SHARES, changes[k]) + (x - states[k]) @ K[k].T
            forces = np.clip(asked, tau_min, tau_max)
            passed.append((x, forces))
            x = self.functions.step(x[:, :nv], x[:, nv:], forces, h).x_next
        all_states = np.stack([*(x for x, _ in passed), x], axis=1)
        all_forces = np.stack([forces for _, forces in passed], axis=1)
        costs = self.cost_of(all_states, *knots) + 0.5 * (R * (all_forces - tau_ref) ** 2).sum((1, 2))
        best = int(np.argmin(np.where(np.isfinite(costs), costs, np.inf)))
        return Plan(all_states[best], all_forces[best], K, float(costs[best]), float(SHARES[best]))

    def _expand(
        self, states: Array, x_ref: Array, Q: Array, placement_ref: Array | None, weight: Array | None
    ) -> tuple[Array, Array]:
        """Return gradients and Hessians of the costs of states."""
        slopes, hessians = Q * (states - x_ref), Q[:, np.newaxis] * np.eye(Q.shape[1])
        if weight is not None and placement_ref is not None:
            nv = states.shape[1] // 2
            result = self.functions.position(states[:, :nv], extended=True)
            weighted = weight[..., np.newaxis] * result.J_position
            error = (result.position - placement_ref[..., :3, 3])[..., np.newaxis]
            slopes[:, :nv] += (weighted * error).sum((1, 2))
            hessians[:, :nv, :nv] += np.einsum("kfci,kfcj->kij", weighted, result.J_position)
        return slopes, hessians

    def cost_of(
        self, states: Array, x_ref: Array, Q: Array, placement_ref: Array | None, weight: Array | None
    ) -> Array:
        """Return the costs of the states of several trajectories."""
        costs: Array = 0.5 * (Q * (states - x_ref) ** 2).sum((1, 2))
        if weight is not None and placement_ref is not None:
            nv = states.shape[-1] // 2
            errors = self.functions.position(states[..., :nv]).position - placement_ref[..., :3, 3]
            costs = costs + 0.5 * (weight * errors**2).sum((1, 2, 3))
        return costs


def policy(
    A: Array, B: Array, gaps: Array, slopes: Array, hessians: Array, by_force: Array, R: Array
) -> tuple[Array, Array]:
    """Return gains (N, nv, 2 nv), and changes (N, nv) of forces, by Riccati's recursion from the end.

    ``gaps`` (N, 2 nv) are between a step's end and the next state of the trajectory.
    """
    S, s = hessians[-1], slopes[-1]
    gains, changes = np.empty((len(A), B.shape[2], A.shape[1])), np.empty((len(A), B.shape[2]))
    for k in reversed(range(len(A))):
        s = s + S @ gaps[k]
        mixed, slope = B[k].T @ S @ A[k], by_force[k] + B[k].T @ s
        hessian = np.diag(R[k]) + B[k].T @ S @ B[k]
        gains[k], changes[k] = -np.linalg.solve(hessian, mixed), -np.linalg.solve(hessian, slope)
        s = slopes[k] + A[k].T @ s + mixed.T @ changes[k]
        S = hessians[k] + A[k].T @ S @ A[k] + mixed.T @ gains[k]
    return gains, changes


def later(array: Array, steps: int) -> Array:
    """Return an array of a trajectory some steps later; its last row stays for the rest."""
    return np.concatenate([array[min(steps, len(array) - 1) :], *[array[-1:]] * min(steps, len(array) - 1)])


class Mpc:
    """Plans from the measured state, and feedback around the plan in between.

    Parameters
    ----------
    solve
        :meth:`Optimiser.solve`, or a method with its arguments.
    h, ticks
        The step of the plan in seconds, and the ticks of the loop in it.
    problem
        Returns the costs of the horizon that begins at a tick, by the names of ``solve``.
    every
        The ticks from one plan to the next, by default those of a step. A plan that comes before the last
        one's first step is over begins with the whole of it.

    Attributes
    ----------
    failed, lost
        The numbers of plans whose line search failed, and of those that never arrived.
    """

    def __init__(
        self,
        solve: Callable[..., Any],
        h: float,
        ticks: int,
        problem: Callable[[int], Mapping[str, Any]],
        every: int | None = None,
    ) -> None:
        self._solve, self._h, self._ticks, self._problem = solve, h, ticks, problem
        self._every = every or ticks
        self._plan: Any = None
        self._start = self.failed = self.lost = 0

    def __call__(self, tick: int, q: Array, v: Array) -> Array:
        """Return the forces of a tick; LostAnswer as long as the first plan has not arrived."""
        if tick % self._every == 0:
            self._renew(tick, q, v)
        if self._plan is None:
            raise LostAnswer
        k, share = divmod((tick - self._start) / self._ticks, 1.0)
        at = min(int(k), len(self._plan.tau) - 1)
        x = (1.0 - share) * self._plan.states[at] + share * self._plan.states[at + 1]
        forces: Array = self._plan.tau[at] + self._plan.K[at] @ (np.hstack([q, v]) - x)
        return forces

    def _renew(self, tick: int, q: Array, v: Array) -> None:
        """Make a plan; the last one goes on if it does not arrive."""
        shift = (tick - self._start) // self._ticks
        try:
            plan = self._solve(q, v, self._h, **self._problem(tick), warm=self._plan, shift=shift)
        except LostAnswer:
            self.lost += 1
            return
        self.failed += int(self._plan is not None and getattr(plan, "share", 1.0) == 0.0)
        self._plan, self._start = plan, tick
