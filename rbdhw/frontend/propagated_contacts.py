"""Contacts whose forces are propagated from body to body, without the mass matrix or its factors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from rbdhw.dynamics.propagated import Propagation
from rbdhw.dynamics.spatial import ZERO, Wrench, cross
from rbdhw.frontend.alternatives import need_factors
from rbdhw.frontend.contacts import Contacts, Matrix, Place
from rbdhw.frontend.forward_dynamics import ForwardDynamics
from rbdhw.scalar import Scalar, inner_product, region


def contacts_of(forward: ForwardDynamics) -> Contacts:
    """Return the contacts of a task by the chosen algorithm.

    Where a function needs the factors of the mass matrix for its derivatives, these serve all.
    """
    setting = forward.setting
    if setting.algorithms.contacts == "propagated" and not need_factors(setting.functions):
        return PropagatedContacts(forward)
    return Contacts(forward)


class PropagatedContacts(Contacts):
    """The quantities of contacts, by propagation (:mod:`rbdhw.dynamics.propagated`).

    The forces of contacts add to what joint forces leave over, so that one forward pass gives accelerations.
    """

    @cached_property
    def proper_accelerations(self) -> list[Scalar]:
        """The accelerations (nv,), proper for a floating body."""
        return self._propagation.release(self._with_left(self._free, self.row_forces))

    def response(self, forces: Sequence[Scalar]) -> list[Scalar]:
        """Return the accelerations (nv,) by forces of the rows."""
        return self._propagation.release(self._with_left([0.0] * self.setting.robot.nv, forces))

    def _with_left(self, left: Sequence[Scalar], forces: Sequence[Scalar]) -> list[Scalar]:
        """Return forces that are left to the joints, with those that forces of the rows leave."""
        with region("contact_dynamics"):
            columns = zip(*self._half, strict=True)
            return [x + inner_product(column, forces) for x, column in zip(left, columns, strict=True)]

    @property
    def _propagation(self) -> Propagation:
        return self.forward.gathered[0]

    @property
    def _free(self) -> list[Scalar]:
        """The forces (nv,) that joint forces leave over."""
        return self.forward.gathered[1]

    @property
    def _moved(self) -> Matrix:
        return self.weighted

    @cached_property
    def _half(self) -> Matrix:
        """The forces that each row leaves to the joints."""
        return [
            self._propagation.row(place.frame.body, wrench)
            for place in self.places
            if isinstance(place, Place)
            for wrench in _wrenches(place)
        ]

    @cached_property
    def weighted(self) -> Matrix:
        """The same divided by what the joints feel."""
        return [self._propagation.divide(row) for row in self._half]


def _wrenches(place: Place) -> list[Wrench]:
    """Return the wrench of a unit force of each row, about and along the axes of the body's quantities."""
    axes = place.rotation
    with region("contact_motion", place.frame.body):
        forces: list[Wrench] = [(cross(place.point, axis), axis) for axis in axes]
    return [*forces, *((axis, ZERO) for axis in axes)][: place.contact.rows]
