"""The steps of the functions that have several algorithms, and the choice of one for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rbdhw.dynamics.constraint_forces import has_whole_bodies
from rbdhw.dynamics.shared_axes import can_share_axes
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.model import BASE, Robot

WITH_EQUAL_ERRORS = ("axes", "inverse")
"""Steps whose algorithms add up the same products in other frames or orders, with about the same errors."""


BY_CONSTRAINT_FORCES = ("reduced", "eliminated")
"""The algorithms of forward dynamics by constraint forces, which need the inertias of whole bodies."""


@dataclass(frozen=True)
class Algorithms:
    """One algorithm of :data:`rbdhw.options.algorithms.ALGORITHMS` for each step.

    ``axes`` of the bodies' quantities: they turn with each body, or bodies on parallel joints share them
    (:mod:`rbdhw.dynamics.shared_axes`). ``derivatives`` of inverse dynamics: by composite bodies or by
    columns. ``inverse`` of the mass matrix: by factorisation with pivots one by one, in pairs or in blocks of
    up to three, or by articulated bodies. ``products`` of the inverse with vectors and matrices: dense,
    solved with the sparse factors, or by the inverse of the triangular factor
    (:mod:`rbdhw.dynamics.triangular_inverse`). ``forward`` dynamics: a product with the inverse, propagated
    through articulated bodies, or by constraint forces with cyclic reduction or odd-even elimination.
    ``gradient`` of forward dynamics: see :mod:`rbdhw.frontend.gradients`. ``second`` derivatives of inverse
    dynamics: by columns or by differentiating the graph (:mod:`rbdhw.frontend.differentiated`). ``rates``:
    the part of velocities in the accelerations, and its derivative, by the bias of inverse dynamics or by
    symbols, from the second derivatives by velocity. Forces of ``contacts``: by the factors of the mass
    matrix, or propagated through articulated bodies.
    """

    axes: str = "turning"
    derivatives: str = "composite"
    inverse: str = "paired_pivots"
    products: str = "dense"
    forward: str = "inverse"
    gradient: str = "corrected"
    second: str = "columns"
    rates: str = "bias"
    contacts: str = "factored"

    @property
    def possible(self) -> bool:
        """Whether the algorithms can be combined: other products than dense ones need the factors."""
        return self.products == "dense" or self.inverse != "articulated"

    def possible_for(self, robot: Robot) -> bool:
        """Return whether the algorithms can be combined and support a robot.

        Columns, articulated bodies, propagation, constraint forces and symbols support plain robots only
        (:func:`is_plain`). With propagated contacts, without loops, the base may float, too, and constraint
        forces are no use. Symbols leave viscous friction out, which is linear in the velocities. Axes are
        shared if any body can share them. Constraint forces need bodies with a mass and a rotational inertia
        that are constant. The inverse of the triangular factor holds no base.
        """
        propagated = self.contacts == "propagated"
        for_plain = (
            self.derivatives == "columns",
            self.inverse == "articulated",
            self.forward != "inverse" and not propagated,
            self.rates == "symbols",
        )
        whole = self.forward not in BY_CONSTRAINT_FORCES or (robot.loaded is None and has_whole_bodies(robot))
        complete = self.rates == "bias" or not any(robot.damping)
        useful = self.axes == "turning" or any(can_share_axes(robot))
        moving = self.products != "triangular" or not robot.base_chosen
        reached = not propagated or (self.forward not in BY_CONSTRAINT_FORCES and can_propagate(robot))
        plain = not any(for_plain) or is_plain(robot)
        return self.possible and whole and complete and useful and moving and reached and plain


DEFAULT = Algorithms()


MOST_UPDATES = 100_000
"""The most entries that the factorisation of a mass matrix may update, each time it eliminates a joint. A
chain of 83 joints takes nearly as many. The graph of a function with its inverse then has about a million
nodes."""


def is_too_long(robot: Robot) -> bool:
    """Return whether a robot's chains are too long for the inverse of its mass matrix."""
    return pairs_on(freedoms_to(robot)) > MOST_UPDATES


def freedoms_to(robot: Robot) -> list[int]:
    """Return the degrees of freedom on the path to each body."""
    depths: list[int] = []
    for body in robot.bodies:
        depths.append(body.joint.kind.nv + (0 if body.parent == BASE else depths[body.parent]))
    return depths


def pairs_on(depths: Sequence[int]) -> int:
    """Return the pairs of freedoms on all these paths."""
    return sum(depth * (depth + 1) // 2 for depth in depths)


def is_plain(robot: Robot) -> bool:
    """Return whether a robot is plain: fixed base, constant gravity, and independent joints with one DoF."""
    single = all(body.joint.kind.nv == 1 and body.joint.mimic is None for body in robot.bodies)
    return single and not robot.base_given and not robot.gravity_given


def need_factors(functions: Iterable[str]) -> bool:
    """Return whether a function needs the factors of the mass matrix, whatever is propagated."""
    steps = (FUNCTIONS[function].algorithms for function in functions)
    return any(
        "inverse" in algorithms and not {"forward", "contacts"}.intersection(algorithms)
        for algorithms in steps
    )


def can_propagate(robot: Robot) -> bool:
    """Return whether contacts can be propagated: a robot is plain, or would be if its base did not float."""
    limbs = robot.with_bodies(robot.bodies[1:]) if robot.floats else robot
    return is_plain(limbs) and not robot.base_chosen and not robot.contacts.loops
