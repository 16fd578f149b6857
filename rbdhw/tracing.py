"""A robot and the functions asked for, traced into one dataflow graph: the straight pipeline.

Inputs of the graph are named after the arrays of the user's interface: ``q[0]`` (in turns for an angle,
in metres for a shift), ``v[0]``, ``a[0]``, ``tau[0]``, ``fext[3,5]`` (moment then force), ``Minv[2,1]``; and
the flags of :data:`rbdhw.protocol.FLAGS`. Outputs carry the function's name in front: ``id.tau[0]``.

Every function is a place where the task enters and one where it leaves::

    inverse dynamics -> derivatives -> did          (id leaves after the first)
    mass matrix -> inverse -> M^-1 (tau - C) -> fd  (m, minv leave on the way)
    - M^-1 d(tau) -> difd, dfd

Tasks that bring accelerations take them through the first inverse dynamics; those that bring forces take
zeros, which gives their bias ``C``. The derivatives at the accelerations that follow from it differ from
those at zero by ``d(M a)/dq``, which needs no velocities (``corrected``); or a second round trip takes
either accelerations, and the derivatives come after it (``repeated``): fewer operations, but every function
with derivatives then waits for the inverse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rbdhw.dynamics.articulated import articulated_inverse
from rbdhw.dynamics.columns import column_derivatives
from rbdhw.dynamics.derivatives import Matrix, inverse_dynamics_derivatives, mass_matrix
from rbdhw.dynamics.factorization import Factors, factorize, inverse, solve
from rbdhw.dynamics.joint import Coordinate, turns
from rbdhw.dynamics.rnea import RoundTrip, Wrench, joint_forces, newton_euler
from rbdhw.graph.graph import Graph
from rbdhw.graph.trace import Recorder, Signal
from rbdhw.passes.prune import prune
from rbdhw.protocol import FLAGS, FUNCTIONS, SYMMETRIC
from rbdhw.robot.model import Robot
from rbdhw.scalar import Scalar, region

ALGORITHMS: dict[str, tuple[str, ...]] = {
    "derivatives": ("composite", "columns"),
    "inverse": ("paired_pivots", "block_pivots", "single_pivots", "articulated"),
    "products": ("dense", "solves"),
    "gradient": ("corrected", "repeated"),
}
"""The steps for which there are several algorithms, and their names; the first is the one to beat."""

LARGEST_BLOCK = {"single_pivots": 1, "paired_pivots": 2, "block_pivots": 3}
"""How many degrees of freedom each factorisation eliminates together at most."""

GIVEN, SUPPLIED = FLAGS

Vector = list[Scalar]


@dataclass(frozen=True)
class Algorithms:
    """One algorithm of :data:`ALGORITHMS` for each step.

    ``derivatives`` of inverse dynamics: by composite bodies or by columns. ``inverse`` of the mass matrix: by
    factorisation with pivots one by one, in pairs or in blocks of up to three, or by articulated bodies.
    ``products`` of the inverse with vectors and matrices: dense, or solved with the sparse factors.
    ``gradient`` of forward dynamics: see :mod:`rbdhw.tracing`.
    """

    derivatives: str = "composite"
    inverse: str = "paired_pivots"
    products: str = "dense"
    gradient: str = "corrected"

    @property
    def possible(self) -> bool:
        """Whether the algorithms go together: solves take the factors of the mass matrix."""
        return self.products != "solves" or self.inverse != "articulated"


DEFAULT = Algorithms()


def trace(
    robot: Robot,
    functions: Sequence[str],
    fext: Sequence[int] = (),
    algorithms: Algorithms = DEFAULT,
) -> Graph:
    """The graph of ``functions`` for a robot whose axes are all z.

    Parameters
    ----------
    fext
        Indices of the bodies that take an external force.
    """
    recorder = Recorder()
    record(recorder, robot, functions, fext, algorithms)
    return prune(recorder.builder.finish(recorder.outputs))


def record(
    recorder: Any, robot: Robot, functions: Sequence[str], fext: Sequence[int], algorithms: Algorithms
) -> None:
    """Let a recorder take down the functions; it has the methods of :class:`rbdhw.graph.trace.Recorder`."""
    pipeline = _Pipeline(recorder, robot, functions, fext, algorithms)
    for function in FUNCTIONS:
        if function in functions:
            pipeline.record(function)


class _Pipeline:
    """All that the functions may need, each computed when the first function asks for it."""

    def __init__(
        self,
        recorder: Any,
        robot: Robot,
        functions: Sequence[str],
        fext: Sequence[int],
        algorithms: Algorithms,
    ) -> None:
        self.recorder = recorder
        self._robot = robot
        self._n = len(robot.bodies)
        self._zeros = [0.0] * self._n
        self._functions = tuple(functions)
        self._algorithms = algorithms
        with region("decode"):
            self._angles = self._vector("q")
            self._v = self._vector("v")
            self._a = self._vector("a")
            self._tau = self._vector("tau")
            self._fext = {i: self._wrench(i) for i in sorted(fext)}
            self._supplied = [
                [self.recorder.input(f"Minv[{i},{j}]") for j in range(i + 1)] for i in range(self._n)
            ]
            self._given = self._flag(GIVEN, ("id", "fd", "did", "dfd", "difd"))
            dense = algorithms.products == "dense"
            self._takes_inverse = self._flag(SUPPLIED, ("dfd", "difd")) if dense else False

    def record(self, function: str) -> None:
        """Let the results of a function leave the graph: its arrays, then those that are optional."""
        results = self._results(function)
        regular = FUNCTIONS[function].outputs
        words = list(_words(function, regular, results))
        nothing = f"{function}.{regular[0]}[0,0]"  # a word that says so, where all of them vanish
        with region("encode"):
            for name, entry in words or [(nothing, 0.0)]:
                self.recorder.output(name, entry)
            for name, entry in _words(
                function, FUNCTIONS[function].optional_outputs, results[len(regular) :]
            ):
                self.recorder.output(name, entry)

    def _results(self, function: str) -> tuple[Vector | Matrix, ...]:
        match function:
            case "id":
                return (self._bias,)
            case "fd":
                return (self._accelerations,)
            case "m":
                return (self._mass_matrix,)
            case "minv":
                return (self._inverse,)
            case "did":
                return self._given_gradient
            case "difd":
                return tuple(self._minus_inverse_times(half) for half in self._given_gradient)
            case _:
                halves = tuple(self._minus_inverse_times(half) for half in self._forward_gradient)
                return (*halves, self._inverse, self._accelerations)

    @cached_property
    def _q(self) -> list[Coordinate]:
        return [self._coordinate(i) for i in range(self._n)]

    @cached_property
    def _first(self) -> RoundTrip:
        """The round trip of tasks that bring accelerations, and of the others at rest: their bias."""
        return newton_euler(self._robot, self._q, self._v, self._given_or(self._zeros), self._fext)

    def _given_or(self, others: Vector) -> Vector:
        """The accelerations of tasks that bring them, and others for the rest."""
        chosen = []
        for i, pair in enumerate(zip(self._a, others, strict=True)):
            with region("rnea_forward", i):
                chosen.append(self.recorder.select(self._given, *pair))
        return chosen

    @cached_property
    def _bias(self) -> Vector:
        return joint_forces(self._robot, self._first)

    @cached_property
    def _mass_matrix(self) -> Matrix:
        return mass_matrix(self._robot, self._q)

    @cached_property
    def _factors(self) -> Factors:
        return factorize(self._mass_matrix, LARGEST_BLOCK[self._algorithms.inverse])

    @cached_property
    def _inverse(self) -> Matrix:
        """Rows of the inverse's lower triangle."""
        if self._algorithms.inverse == "articulated":
            return articulated_inverse(self._robot, self._q)
        return inverse(self._factors)

    @cached_property
    def _inverse_to_use(self) -> Matrix:
        """The inverse, or the one that came with the task."""
        rows = []
        for i, pair in enumerate(zip(self._supplied, self._inverse, strict=True)):
            with region("inverse_product", i):
                rows.append([self._supplied_or(*entries) for entries in zip(*pair, strict=True)])
        return rows

    def _supplied_or(self, supplied: Signal, computed: Scalar) -> Scalar:
        return (
            computed if _is_zero(computed) else self.recorder.select(self._takes_inverse, supplied, computed)
        )

    @cached_property
    def _accelerations(self) -> Vector:
        """What forward dynamics answers."""
        free = []
        for i, (tau, bias) in enumerate(zip(self._tau, self._bias, strict=True)):
            with region("forward_dynamics", i):
                free.append(tau - bias)
        return self._inverse_times(self._inverse, free)

    @cached_property
    def _given_gradient(self) -> tuple[Matrix, Matrix]:
        """Derivatives of inverse dynamics at the accelerations that came with the task."""
        if "dfd" in self._functions and self._algorithms.gradient == "repeated":
            return self._repeated_gradient
        a = self._given_or(self._zeros)
        return self._gradient(self._robot, self._v, a, self._first, self._fext)

    @cached_property
    def _forward_gradient(self) -> tuple[Matrix, Matrix]:
        """Derivatives of inverse dynamics at the accelerations of forward dynamics."""
        if self._algorithms.gradient == "repeated":
            return self._repeated_gradient
        at_rest = replace(self._robot, gravity=(0.0, 0.0, 0.0))
        still = self._zeros
        trip = newton_euler(at_rest, self._q, still, self._accelerations)
        by_position, by_velocity = self._given_gradient
        correction, _ = self._gradient(at_rest, still, self._accelerations, trip, {})
        rows = []
        for i, pair in enumerate(zip(by_position, correction, strict=True)):
            with region("correction", i):
                rows.append([x + y for x, y in zip(*pair, strict=True)])
        return rows, by_velocity

    @cached_property
    def _repeated_gradient(self) -> tuple[Matrix, Matrix]:
        """Derivatives after a second round trip, which takes either accelerations."""
        a = self._given_or(self._accelerations)
        trip = newton_euler(self._robot, self._q, self._v, a, self._fext)
        return self._gradient(self._robot, self._v, a, trip, self._fext)

    def _gradient(
        self,
        robot: Robot,
        v: Sequence[Scalar],
        a: Sequence[Scalar],
        trip: RoundTrip,
        fext: Mapping[int, Wrench],
    ) -> tuple[Matrix, Matrix]:
        """Derivatives by position and velocity after a round trip."""
        if self._algorithms.derivatives == "columns":
            return column_derivatives(robot, self._q, v, a, fext)
        result = inverse_dynamics_derivatives(robot, self._q, v, trip)
        return result.by_position, result.by_velocity

    def _minus_inverse_times(self, matrix: Matrix) -> Matrix:
        """``-M^-1`` times a matrix, column by column."""
        columns = [[-1.0 * entry for entry in column] for column in zip(*matrix, strict=True)]
        products = [self._inverse_times(self._inverse_to_use, column) for column in columns]
        return [list(row) for row in zip(*products, strict=True)]

    def _inverse_times(self, inverse: Matrix, vector: Vector) -> Vector:
        if self._algorithms.products == "solves":
            return solve(self._factors, vector)
        product = []
        for i in range(self._n):
            with region("inverse_product", i):
                row = [inverse[max(i, k)][min(i, k)] for k in range(self._n)]
                product.append(sum((x * y for x, y in zip(row, vector, strict=True)), 0.0))
        return product

    def _coordinate(self, i: int) -> Coordinate:
        joint = self._robot.bodies[i].joint
        with region("trigonometry"):
            if joint.kind.rotates:
                cos, sin = self.recorder.cos_sin(self._angles[i], turns(joint.offset))
                return Coordinate(cos=cos, sin=sin)
            return Coordinate(shift=self._angles[i] + joint.offset)

    def _vector(self, name: str) -> list[Signal]:
        return [self.recorder.input(f"{name}[{i}]") for i in range(self._n)]

    def _wrench(self, i: int) -> Wrench:
        x, y, z, fx, fy, fz = (self.recorder.input(f"fext[{i},{k}]") for k in range(6))
        return (x, y, z), (fx, fy, fz)

    def _flag(self, name: str, readers: Sequence[str]) -> Signal | bool:
        """A flag that some functions read: known now where those of the build agree."""
        functions, optional = FLAGS[name]
        raised = {function in functions for function in self._functions if function in readers}
        if raised == {True} and not optional:
            return True
        return self.recorder.input(name) if True in raised else False


def _words(
    function: str, arrays: Sequence[str], values: Sequence[Vector | Matrix]
) -> Iterator[tuple[str, Scalar]]:
    """The words of a function's arrays by name, of as many arrays as are named."""
    for array, value in zip(arrays, values, strict=False):
        for index, entry in _entries(array, value):
            yield f"{function}.{array}[{index}]", entry


def _entries(name: str, value: Vector | Matrix) -> Iterator[tuple[str, Scalar]]:
    """The entries of an array that travel, with their indices: no structural zeros, and halves of halves."""
    for i, row in enumerate(value):
        entries = enumerate(row) if isinstance(row, list) else [(None, row)]
        for j, entry in entries:
            mirrored = name in SYMMETRIC and j is not None and j > i
            if not mirrored and not _is_zero(entry):
                yield f"{i}" if j is None else f"{i},{j}", entry


def _is_zero(entry: Scalar) -> bool:
    return isinstance(entry, float) and entry == 0.0
