"""Proven backward errors of forward dynamics: for which robot and forces an answer is the exact one.

Forward dynamics factorizes the mass matrix, ``M = L^T D L`` from the leaves on, one pivot after the other,
and solves with the factors. Each number is computed from others with an error of its own::

    U_ki = M_ki - sum_c L_ck U_ci    D_k = U_kk    y_k = 1 / D_k    L_ki = U_ki y_k
    z_k = f_k - sum_c L_ck z_c       a_k = z_k y_k - sum_i L_ki a_i

(c below k, i above k). With a hat for what the hardware computes, these equations hold up to their own
errors, and what they add up to is exact (Wilkinson 1963; Higham 2002, chapter 10)::

    (M + E) a^ = f + g,    |E_ki| <= u_ki + h_ki + sum_c |L_ck| h_ci,    h_ki = |U_ki| n_k + D_k l_ki,
    |g_k| <= t_k + x_k + sum_c |L_ck| x_c,                               x_k = |z_k| n_k + D_k p_k

where u, l, t and p are the own errors of U, L, z and a, and n_k is the largest of ``|D^_k y^_k - 1|``. Those
of U and z have in them the proven errors of the mass matrix and of the forces without the bias
(:mod:`rbdhw.fixed.proof`). All factors are computed numbers within their ranges, so nothing grows from joint
to joint. A pivot that is a constant has no reciprocal. Its row of L is computed from the inputs, and counts
with its proven error.

Joints of several freedoms and floating bases have a pivot for each freedom. On a floating base ``a`` is the
proper acceleration (:mod:`rbdhw.dynamics.floating_base`), and the forces are those without the bias at none:
gravity, too, acts on the mass matrix with its error. What the answer has beside ``a`` is rounded once more.

Which node of a graph is which number is found by the numbers that a few tasks have there. That a node is
computed from others by its equation is checked with random numbers in their place.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.program import Program
from rbdhw.fixed.proof import SUMMED, Prover
from rbdhw.graph.graph import Graph, Op
from rbdhw.graph.interpret import node_values

Array = NDArray[np.float64]

ALIKE = 1e-9
"""The largest difference of numbers that are the same, relative to the largest."""


@dataclass(frozen=True)
class BackwardErrors:
    """Bounds with which ``(M + E) a = tau - C + g`` for each answer of an unflagged task.

    On a floating base ``a`` and C are those of the proper acceleration.
    """

    matrix: Array
    """Bounds (nv, nv) of E, in the units of the mass matrix."""
    forces: Array
    """Bounds (nv,) of g, in the units of the forces."""
    acceleration: Array
    """Bounds (nv,) of how far the answer is from that of ``a``; zero but for a floating base."""


@dataclass(frozen=True)
class _Place:
    """Where a graph has a number: the value of a node times a power of two with a sign, or a constant."""

    node: int | None
    factor: float


@dataclass(frozen=True)
class _Pivot:
    """Where a pivot is, and its reciprocal unless the pivot is a constant."""

    value: _Place
    reciprocal: _Place | None

    def divided(self, number: _Place) -> _Term:
        """Return the term of a number over the pivot."""
        return (
            (1.0 / self.value.factor, number, None)
            if self.reciprocal is None
            else (1.0, number, self.reciprocal)
        )


_Term = tuple[float, _Place | Array, _Place | None]
"""A factor, and the numbers of a product; an array (N,) has those of tasks by their inputs, None is one."""


@dataclass(frozen=True)
class _Solution:
    """The numbers of the equations in some tasks, by their inputs, and where a graph has them.

    Rows of L with a constant pivot are computed from the inputs. They have no row of U.
    """

    M: Array
    f: Array
    numbers: Array  # of L
    D: Array
    above: list[list[int]]  # the coordinates above each one that are coupled with it
    pivots: list[_Pivot]
    z: list[_Place]
    a: list[_Place]
    L: dict[tuple[int, int], _Place]
    U: dict[tuple[int, int], _Place]
    off_L: dict[tuple[int, int], float]  # the proven errors of the elements of L that the inputs give

    def below(self, k: int) -> list[int]:
        """Return the coordinates below one that are coupled with it."""
        return [c for c in range(k + 1, len(self.above)) if k in self.above[c]]

    def factor(self, k: int, i: int) -> _Place | Array:
        """Return the element of L that an equation has: a computed number, or what the inputs give."""
        return self.L[k, i] if (k, i) in self.U else self.numbers[:, k, i]


class _NotFoundError(Exception):
    """A number of the factorization is no node of the graph, or is computed from others than expected."""


def backward_errors(
    graph: Graph, program: Program, function: str, inputs: Mapping[str, Array], M: Array, f: Array
) -> BackwardErrors | None:
    """Return bounds of the backward errors of a function's accelerations.

    None if it does not solve with a factorization into single pivots.

    Parameters
    ----------
    inputs
        Numbers of some tasks (N,) for the inputs of the graph.
    M, f
        Their mass matrices (N, nv, nv) and forces without the bias, ``tau - C`` (N, nv).
    """
    try:
        return _Backward(graph, program, function, inputs).errors(M, f)
    except _NotFoundError:
        return None


class _Backward:
    def __init__(self, graph: Graph, program: Program, function: str, inputs: Mapping[str, Array]) -> None:
        self._graph, self._program, self._function = graph, program, function
        self._prover = Prover(graph, program, function)
        reached = sorted(i for i in program.operations_of(function) if i < len(graph.nodes))
        values = node_values(graph, inputs)
        self._inputs, self._reached = inputs, reached
        self._values = np.array([values[i] for i in reached])

    def errors(self, M: Array, f: Array) -> BackwardErrors:
        solution = self._solution(M, f)
        h, x = self._row_errors(solution), self._last_errors(solution)
        matrix, forces = self._matrix_errors(solution, h), self._force_errors(solution, x)
        return BackwardErrors(SUMMED * matrix, SUMMED * forces, self._answer_errors(solution))

    def _answer_errors(self, solution: _Solution) -> Array:
        """Return bounds (nv,) of the errors of the answer, against what the computed accelerations give."""
        given = {place.node for place in solution.a if place.node is not None}
        results = dict(self._graph.outputs)
        edges = [results[f"{self._function}.a[{k}]"] for k in range(len(solution.a))]
        proof = self._prover.prove({edge.node for edge in edges}, given)
        if proof is None:
            raise _NotFoundError
        return np.array([math.ldexp(proof.errors[edge.node], edge.shift) for edge in edges])

    def _solution(self, M: Array, f: Array) -> _Solution:
        """Return the numbers of the equations, and where the graph has them."""
        n, (U, L, D) = f.shape[1], _factors(M)
        z, a = _solved(L, D, f)
        above = _couplings(M, U)
        pivots = [self._pivot(D[:, k]) for k in range(n)]
        at_z, at_a = ([self._find(x[:, k]) for k in range(n)] for x in (z, a))
        at_L = {(k, i): self._find(L[:, k, i]) for k in range(n) for i in above[k]}
        computed = [(k, i) for k in range(n) if pivots[k].reciprocal for i in (*above[k], k)]
        at_U = {(k, i): self._find(U[:, k, i]) for k, i in computed}
        off_L = {
            (k, i): 0.0 if (k, i) in at_U else self._own(place, L[:, k, i], [])
            for (k, i), place in at_L.items()
        }
        return _Solution(M, f, L, D, above, pivots, at_z, at_a, at_L, at_U, off_L)

    def _row_errors(self, solution: _Solution) -> Array:
        """Return the bounds h (nv, nv) of the rows of L that are computed from those of U."""
        at, pivots = solution, solution.pivots
        h = np.zeros(at.M.shape[1:])
        for (k, i), place in at.U.items():
            if i < k:
                rounded = self._own(at.L[k, i], np.zeros(1), [pivots[k].divided(place)])
                off = self._reciprocal_error(pivots[k])
                h[k, i] = self._size(place) * off + self._size(pivots[k].value) * rounded
        return h

    def _last_errors(self, solution: _Solution) -> Array:
        """Return the bounds x (nv,) of the accelerations as computed from z."""
        at, size = solution, self._size
        x = np.zeros(len(at.above))
        for k, pivot in enumerate(at.pivots):
            terms = [(-1.0, at.factor(k, i), at.a[i]) for i in at.above[k]]
            rounded = self._own(at.a[k], np.zeros(1), [pivot.divided(at.z[k]), *terms])
            rounded += sum(at.off_L[k, i] * size(at.a[i]) for i in at.above[k])
            x[k] = size(at.z[k]) * self._reciprocal_error(pivot) + size(pivot.value) * rounded
        return x

    def _force_errors(self, solution: _Solution, x: Array) -> Array:
        """Return the bounds of g (nv,)."""
        at, size = solution, self._size
        forces = np.zeros(len(x))
        for k in range(len(x)):
            below = at.below(k)
            terms = [(-1.0, at.factor(c, k), at.z[c]) for c in below]
            rounded = self._own(at.z[k], at.f[:, k], terms)
            rounded += sum(at.off_L[c, k] * size(at.z[c]) for c in below)
            forces[k] = rounded + x[k] + sum(size(at.L[c, k]) * x[c] for c in below)
        return forces

    def _matrix_errors(self, solution: _Solution, h: Array) -> Array:
        """Return the bounds of E (nv, nv)."""
        matrix = np.zeros_like(h)
        for k, above in enumerate(solution.above):
            for i in (*above, k):
                matrix[k, i] = matrix[i, k] = self._element_error(solution, h, k, i)
        return matrix

    def _element_error(self, solution: _Solution, h: Array, k: int, i: int) -> float:
        """Return the bound of an element of E in the lower triangle.

        Products of rows with a constant pivot belong to what the inputs give, as these rows do.
        """
        at, size = solution, self._size
        error = size(at.pivots[k].value) * at.off_L.get((k, i), 0.0) + float(h[k, i])
        first, terms = at.M[:, k, i].copy(), []
        for c in at.below(k):
            one, other = at.L[c, k], at.L[c, i]
            if (c, i) in at.U:
                terms.append((-1.0, one, at.U[c, i]))
                error += size(one) * float(h[c, i])
            else:
                first -= at.D[:, c] * at.numbers[:, c, k] * at.numbers[:, c, i]
                both = at.off_L[c, k] * size(other) + at.off_L[c, i] * (size(one) + at.off_L[c, k])
                error += size(at.pivots[c].value) * both
        return error + (self._own(at.U[k, i], first, terms) if (k, i) in at.U else 0.0)

    def _find(self, numbers: Array) -> _Place:
        """Return where a graph has numbers (N,), which may be one constant."""
        at = int(np.abs(numbers).argmax())
        largest = abs(numbers[at])
        if np.ptp(numbers) <= ALIKE * largest:
            return _Place(None, float(numbers[0]))
        with np.errstate(all="ignore"):
            ratios = numbers[at] / self._values[:, at]
            factors = np.copysign(np.exp2(np.round(np.log2(np.abs(ratios)))), ratios)
            off = np.abs(factors[:, np.newaxis] * self._values - numbers).max(axis=1)
        alike = np.flatnonzero(off <= ALIKE * largest)
        if not alike.size:
            raise _NotFoundError
        return _Place(self._reached[alike[0]], float(factors[alike[0]]))

    def _pivot(self, pivots: Array) -> _Pivot:
        value = self._find(pivots)
        return _Pivot(value, None if value.node is None else self._find(1.0 / pivots))

    def _size(self, place: _Place) -> float:
        """Return the largest magnitude that the hardware has at a place."""
        return abs(place.factor) * (1.0 if place.node is None else self._prover.size(place.node))

    def _reciprocal_error(self, pivot: _Pivot) -> float:
        """Return the largest difference from one of a pivot times its computed reciprocal."""
        place, spec = pivot.reciprocal, self._program.reciprocal
        if place is None:
            return 0.0
        assert place.node is not None
        node = self._graph.nodes[place.node]
        if node.op is not Op.RECIPROCAL or node.args[0].node != pivot.value.node or spec is None:
            raise _NotFoundError
        rounding = abs(place.factor) * self._program.operations[place.node].format.step / 2.0
        return SUMMED * (2.0 * spec.accuracy + self._size(pivot.value) * rounding)

    def _own(self, place: _Place, first: Array, terms: Sequence[_Term]) -> float:
        """Return the largest difference of a number from what an equation gives for other computed numbers.

        The equation is a sum of products, plus numbers that tasks (N,) or none (1,) have by their inputs.
        """
        if place.node is None:
            return 0.0
        places = [each for _, one, other in terms for each in (one, other)]
        given = {each.node for each in places if isinstance(each, _Place) and each.node is not None}
        if place.node in given:
            raise _NotFoundError
        self._check_equation(place, first, terms, given)
        proof = self._prover.prove([place.node], given)
        if proof is None:
            raise _NotFoundError
        return abs(place.factor) * proof.errors[place.node]

    def _check_equation(
        self, place: _Place, first: Array, terms: Sequence[_Term], given: Collection[int]
    ) -> None:
        """Check an equation with random numbers at the nodes that are given."""
        assert place.node is not None
        tasks, rng = self._values.shape[1], np.random.default_rng(0)
        changed: dict[int, Array] = {node: np.asarray(rng.normal(size=tasks)) for node in sorted(given)}
        values = node_values(self._graph, self._inputs, changed=changed)

        def at(each: _Place | Array | None) -> Array:
            if isinstance(each, _Place):
                return np.full(tasks, each.factor) if each.node is None else each.factor * values[each.node]
            return np.ones(tasks) if each is None else each

        total = first + sum((factor * at(one) * at(other) for factor, one, other in terms), np.zeros(tasks))
        if np.abs(at(place) - total).max() > ALIKE * np.abs(total).max():
            raise _NotFoundError


def _couplings(M: Array, U: Array) -> list[list[int]]:
    """Return the coordinates above each one that are coupled with it when it is eliminated.

    One that vanishes though others meet there is refused: it may not vanish among rounded numbers.
    """
    n = M.shape[1]
    size = np.sqrt(np.diagonal(M, axis1=1, axis2=2))
    size = size[:, :, np.newaxis] * size[:, np.newaxis, :]
    given, left = (np.max(np.abs(each) / size, axis=0) > 1e-12 for each in (M, U))
    for k in range(n):
        for i in range(k):
            met = given[k, i] or (left[k + 1 :, k] & left[k + 1 :, i]).any()
            if met and not left[k, i]:
                raise _NotFoundError
    return [[i for i in range(k) if left[k, i]] for k in range(n)]


def _factors(M: Array) -> tuple[Array, Array, Array]:
    """Return rows of matrices (N, n, n) as they are eliminated, the factors L, and the pivots (N, n)."""
    rest, n = M.copy(), M.shape[1]
    U, L, D = np.zeros_like(M), np.zeros_like(M), np.zeros(M.shape[:2])
    for k in reversed(range(n)):
        D[:, k], U[:, k, : k + 1] = rest[:, k, k], rest[:, k, : k + 1]
        L[:, k, :k] = rest[:, k, :k] / D[:, k, np.newaxis]
        rest[:, :k, :k] -= L[:, k, :k, np.newaxis] * rest[:, k, np.newaxis, :k]
    return U, L, D


def _solved(L: Array, D: Array, f: Array) -> tuple[Array, Array]:
    """Return ``L^-T f`` and the solution (N, n) of the equations with ``L^T D L``."""
    z, n = f.copy(), f.shape[1]
    for k in reversed(range(n)):
        z[:, :k] -= L[:, k, :k] * z[:, k, np.newaxis]
    a = z / D
    for k in range(n):
        a[:, k] -= (L[:, k, :k] * a[:, :k]).sum(axis=1)
    return z, a
