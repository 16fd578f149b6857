"""The quantities of forward dynamics: the mass matrix, its inverse, and the accelerations."""

from __future__ import annotations

from functools import cached_property
from operator import sub

from rbdhw.dynamics.articulated import articulated_inverse
from rbdhw.dynamics.constraint_forces import accelerate
from rbdhw.dynamics.derivatives import Matrix, mass_matrix
from rbdhw.dynamics.drives import with_armature, with_drive_forces
from rbdhw.dynamics.factorization import Factors, as_solved, factorize, inverse, solve
from rbdhw.dynamics.propagated import Propagation, gather
from rbdhw.dynamics.triangular_inverse import TriangularInverse, triangular_inverse
from rbdhw.frontend.alternatives import BY_CONSTRAINT_FORCES, DEFAULT
from rbdhw.frontend.held_base import BASE_DOFS
from rbdhw.frontend.inverse_dynamics import InverseDynamics
from rbdhw.frontend.setting import Vector
from rbdhw.graph.trace import Signal
from rbdhw.scalar import Scalar, in_regions, inner_product, is_zero, region

LARGEST_BLOCK = {"single_pivots": 1, "paired_pivots": 2, "block_pivots": 3}
"""The most degrees of freedom that each factorisation eliminates together."""


class ForwardDynamics:
    """The quantities of forward dynamics. Each is recorded when a function first needs it."""

    def __init__(self, inverse_dynamics: InverseDynamics) -> None:
        self.inverse_dynamics, self.setting = inverse_dynamics, inverse_dynamics.setting
        self._algorithms, self._task = self.setting.algorithms, self.setting.task

    @cached_property
    def mass_matrix(self) -> Matrix:
        configuration = self.setting.configuration
        matrix = mass_matrix(configuration.robot, configuration.coordinates)
        return self.setting.coupling.gather_both(with_armature(self.setting.robot, matrix))

    @cached_property
    def inverse(self) -> Matrix:
        """The rows of the lower triangle of the mass matrix's inverse."""
        if self._algorithms.inverse == "articulated":
            configuration = self.setting.configuration
            return articulated_inverse(configuration.robot, configuration.coordinates)
        held = self._task.held_base
        return inverse(self.factors if held is None else held.without_base(self.factors))

    @cached_property
    def inverse_to_use(self) -> Matrix:
        """The inverse supplied with the task, or the computed one for other tasks."""

        def row(supplied: list[Signal], computed: Vector) -> Vector:
            return list(map(self._select_inverse, supplied, computed))

        return in_regions("inverse_product", row, self._task.supplied, self.inverse)

    @cached_property
    def accelerations(self) -> Vector:
        """The accelerations of forward dynamics, (nv,), proper for a floating body."""
        held = self._task.held_base
        if held is None or self._algorithms.products == "solves":
            return self.added_accelerations
        return held.choose(held.proper(), self.added_accelerations)

    @cached_property
    def added_accelerations(self) -> Vector:
        """The accelerations ``M^-1 (tau - C)``, to be added to those that are known before."""
        if self._algorithms.forward in BY_CONSTRAINT_FORCES:
            return self._constrained_accelerations
        if self._algorithms.forward == "propagated":
            propagation, left = self.gathered
            return propagation.release(left)
        free, held = self._free, self._task.held_base
        return self.inverse_times(self.inverse, free, None if held is None else held.proper())

    @cached_property
    def gathered(self) -> tuple[Propagation, Vector]:
        """The joints eliminated by propagation, and the forces (nv,) that they leave over."""
        configuration = self.setting.configuration
        return gather(configuration.robot, configuration.coordinates, self._free)

    @cached_property
    def _free(self) -> Vector:
        """The joint forces ``tau - C`` (nv,)."""
        return in_regions("forward_dynamics", sub, self._task.tau, self.inverse_dynamics.bias)

    @cached_property
    def coordinate_accelerations(self) -> Vector:
        """The accelerations of forward dynamics as the user's interface defines them, (nv,)."""
        return self.coordinate(self.accelerations)

    def coordinate(self, accelerations: Vector) -> Vector:
        """Return accelerations as the user's interface defines them from those proper for a floating body."""
        a = list(accelerations)
        if self._task.floating is not None:
            with region("floating"):
                a[:3] = self._task.floating.coordinate((a[0], a[1], a[2]))
        held = self._task.held_base
        return a if held is None else held.choose(held.acceleration, a)

    def inverse_times(self, inverse: Matrix, vector: Vector, base: Vector | None = None) -> Vector:
        """Return ``M^-1`` times a vector; solves give a held base the entries ``base`` instead of zeros."""
        if self._algorithms.products == "solves":
            held = self._task.held_base
            settle = held.settle(base or self.setting.zeros) if held else as_solved
            return solve(self.factors, vector, settle)
        if self._algorithms.products == "triangular":
            return self.triangular_inverse.times(vector)
        return in_regions("inverse_product", lambda row: inner_product(row, vector), symmetric(inverse))

    @cached_property
    def triangular_inverse(self) -> TriangularInverse:
        return triangular_inverse(self.factors)

    @cached_property
    def factors(self) -> Factors:
        apart = () if self._task.held_base is None else BASE_DOFS
        return factorize(self.mass_matrix, self.largest_block, apart)

    @property
    def largest_block(self) -> int:
        """The most degrees of freedom that factorisations eliminate together."""
        return LARGEST_BLOCK.get(self._algorithms.inverse, LARGEST_BLOCK[DEFAULT.inverse])

    @cached_property
    def _constrained_accelerations(self) -> Vector:
        """The added accelerations by constraint forces, which need neither the bias nor shared axes."""
        robot, v, zeros = self.setting.robot, self.setting.v, self.setting.zeros
        friction = with_drive_forces(robot, zeros, v, zeros)
        free = [tau - lost for tau, lost in zip(self._task.tau, friction, strict=True)]
        eliminated = self._algorithms.forward == "eliminated"
        return accelerate(robot, self._task.coordinates, v, free, self._task.fext, eliminated)

    def _select_inverse(self, supplied: Signal, computed: Scalar) -> Scalar:
        if is_zero(computed):
            return computed
        return self.setting.recorder.select(self.setting.supplied, supplied, computed)


def symmetric(triangle: Matrix) -> Matrix:
    """Return the symmetric matrix whose lower triangle has these rows."""
    n = range(len(triangle))
    return [[triangle[max(i, k)][min(i, k)] for k in n] for i in n]
