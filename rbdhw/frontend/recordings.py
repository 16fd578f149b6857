"""How each function is computed: a table from its name to what records its results.

The results are the function's arrays in the order of its entry in :data:`rbdhw.protocol.FUNCTIONS`, the
optional ones behind the regular ones.
"""

from __future__ import annotations

from collections.abc import Callable

from rbdhw.dynamics.clearance import clearances
from rbdhw.frontend.frame_functions import (
    by_external_forces,
    force_regressor,
    kinematics,
    positions,
    tracked,
    tracked_jacobians,
)
from rbdhw.frontend.integrators import Integrator
from rbdhw.frontend.quantities import Quantities
from rbdhw.frontend.result_elements import Results
from rbdhw.frontend.second_order import (
    acceleration_hessian,
    acceleration_tensors,
    force_hessian,
    force_tensors,
)

Arrays = tuple[Results, ...]


def _did(x: Quantities) -> Arrays:
    slopes = x.gradients.completed(x.gradients.at_task)
    return (*slopes, x.inverse_dynamics.bias, x.forward_dynamics.mass_matrix)


def _dfd(x: Quantities) -> Arrays:
    slopes, forward = x.gradients.of_accelerations(x.gradients.at_solution), x.forward_dynamics
    return (*slopes, forward.inverse, forward.coordinate_accelerations)


def _sfd(x: Quantities) -> Arrays:
    tensors, held = acceleration_tensors(x.second.state, x.second.forward), x.task.held_base
    return tensors if held is None else tuple(map(held.clear_tensor, tensors))


def _hfd(x: Quantities) -> Arrays:
    second, held = x.second, x.task.held_base
    parts = acceleration_hessian(second.state, second.forward, second.contraction, x.task.lambda_a)
    return parts if held is None else tuple(map(held.clear_pairs, parts))


def _step(x: Quantities, integrator: Integrator) -> Arrays:
    state = integrator.euler()
    return (state, *tracked(x.setting, state))


def _dstep(x: Quantities) -> Arrays:
    state, *slopes = x.integrator.euler_derivatives()
    return (state, *slopes, *tracked_jacobians(x.setting, state))


def _com(x: Quantities) -> Arrays:
    return ([*x.whole.centre], x.whole.velocity, x.whole.jacobian, x.whole.acceleration)


def _clearance(x: Quantities) -> Arrays:
    values, slopes = clearances(x.robot, x.task.poses)
    return (values, list(map(x.setting.coupling.gather, slopes)))


RECORDINGS: dict[str, Callable[[Quantities], Arrays]] = {
    "id": lambda x: (x.inverse_dynamics.bias,),
    "gravity": lambda x: (x.inverse_dynamics.gravity,),
    "bias": lambda x: (x.inverse_dynamics.bias_at_rest,),
    "fd": lambda x: (x.forward_dynamics.coordinate_accelerations,),
    "m": lambda x: (x.forward_dynamics.mass_matrix,),
    "minv": lambda x: (x.forward_dynamics.inverse,),
    "did": _did,
    "dfd": _dfd,
    "difd": lambda x: x.gradients.of_accelerations(x.gradients.at_task),
    "sid": lambda x: force_tensors(x.second.state),
    "sfd": _sfd,
    "hid": lambda x: force_hessian(x.second.state, x.second.contraction),
    "hfd": _hfd,
    "step": lambda x: _step(x, x.integrator),
    "dstep": _dstep,
    "rk4": lambda x: (x.integrator.runge_kutta(),),
    "drk4": lambda x: x.integrator.runge_kutta_derivatives(),
    "cstep": lambda x: _step(x, x.contact_integrator),
    "dcstep": lambda x: x.contact_integrator.euler_derivatives(),
    "kin": lambda x: kinematics(x.setting),
    "pose": lambda x: kinematics(x.setting)[:1],
    "position": lambda x: positions(x.setting),
    "clearance": _clearance,
    "energy": lambda x: x.whole.energy,
    "com": _com,
    "centroidal": lambda x: (x.whole.momentum, x.whole.momentum_map, x.whole.momentum_rate),
    "dcentroidal": lambda x: x.whole.centroidal_derivatives,
    "regressor": lambda x: (force_regressor(x.setting, x.inverse_dynamics.task_accelerations),),
    "dfext": lambda x: by_external_forces(x.setting, x.forward_dynamics),
    "cfd": lambda x: (x.contacts.accelerations, x.contacts.forces),
    "dcfd": lambda x: x.contact_gradients.results,
    "impulse": lambda x: (x.contacts.velocities, x.contacts.impulses),
    "cinertia": lambda x: (x.contacts.inertia,),
}
"""The recordings by function; a test compares the names with the registry's."""
