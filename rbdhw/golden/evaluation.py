"""The evaluation of a function's golden twin for many tasks, in chunks.

At the interface, arrays follow Pinocchio, with the coordinates of :class:`rbdhw.robot.model.JointKind`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import results_of
from rbdhw.golden.functions import TWINS, Chunk, Results
from rbdhw.golden.held_base import with_base_motion
from rbdhw.golden.system import System, loaded_system, system
from rbdhw.golden.tasks import Tasks, check_inputs
from rbdhw.protocol import FUNCTIONS, PARAMETERS, function_giving
from rbdhw.robot.model import Robot

CHUNK = 512
"""The number of tasks evaluated at once, which bounds the memory and keeps the matrices in the cache."""


def evaluate(
    robot: Robot, function: str, arrays: Tasks, extended: bool = False
) -> dict[str, NDArray[np.float64]]:
    """Evaluate one of the functions for N tasks in float64.

    Raises InputError if the function is unknown; an array is missing, not of real numbers or of another
    shape; a quaternion is zero; or the mass matrix is singular.

    Parameters
    ----------
    function
        One of :data:`FUNCTIONS`.
    arrays
        The arrays that :func:`inputs_of` lists: ``q`` (N, nq), ``v``, ``a``, ``tau`` (N, nv) in rad, m and
        their rates, Nm and N, multipliers ``lambda_tau`` or ``lambda_a`` (N, nv), and the step ``h`` (N,) in
        seconds. Optional are ``fext`` (N, bodies, 6), the external force ``[force; moment]`` on each body in
        its own URDF link frame, and for ``difd`` the ``Minv`` (N, nv, nv) to use. Other arrays are ignored.
        Quaternions are normalized.
        ``parameters`` (N, links, 10) are mass, centre of mass and inertia (xx, xy, xz, yy, yz, zz) about it,
        of the links of ``robot.loaded`` in their own frames.
        ``base_v`` and ``base_a`` (N, 6) are the base link's spatial velocity and acceleration
        ``[linear; angular]`` in its own frame, without gravity. ``gravity`` (N, 3) is in the world's frame,
        or in the base link's frame if the base's motion is given. If tasks choose (``robot.base_chosen``),
        ``base_held`` (N,) is one where the base is held and moves with its velocity in ``v`` and with
        ``base_a``, which only functions with ``tau`` take; both are zero by default.
    extended
        Whether to return the function's optional results, too.

    Returns
    -------
    dict
        ``id``, ``gravity`` and ``bias``: ``tau`` (N, nv); ``fd``: ``a`` (N, nv); ``m``: ``M``; ``minv``:
        ``Minv``; ``did``: ``dtau_dq`` and ``dtau_dv``; ``dfd`` and ``difd``: ``da_dq`` and ``da_dv``.
        Matrices have shape (N, nv, nv); rows are results and columns are variables. ``sid``: ``d2tau_dqdq``,
        ``d2tau_dqdv``, ``d2tau_dvdv`` and ``dM_dq`` (N, nv, nv, nv), where the last index is that of the
        second variable; ``sfd``: the same of ``a``, and ``dMinv_dq``. ``hid``: ``H_qq``, ``H_qv``, ``H_vv``
        and ``H_qa``, the second derivatives of ``lambda_tau . tau``; ``hfd``: those of ``lambda_a . a``, with
        ``H_qtau``. By two positions of one joint the derivative by the first index is taken first. ``kin``:
        for each of the robot's frames ``placement`` (N, frames, 4, 4), ``J`` (N, frames, 6, nv) and
        ``velocity`` (N, frames, 6), all ``[linear; angular]`` (:mod:`rbdhw.golden.kinematics`). ``step`` and
        ``rk4``: ``x_next`` (N, nq + nv), the state after a step of ``h`` (:mod:`rbdhw.golden.integrators`);
        ``dstep`` and ``drk4``: also its derivatives ``A`` (N, 2 nv, 2 nv) by the state and ``B`` (N, 2 nv,
        nv) by ``tau``.
    """
    tasks = check_inputs(robot, function, arrays)
    model = system(robot)
    parts = [
        _compute(robot, model, function, {name: array[k : k + CHUNK] for name, array in tasks.items()})
        for k in range(0, max(len(tasks["q"]), 1), CHUNK)
    ]
    computed = {name: np.concatenate([part[name] for part in parts], dtype=np.float64) for name in parts[0]}
    results = {}
    for name in results_of(function, robot.sizes, extended):
        optional = name in FUNCTIONS[function].optional_outputs
        other = function_giving(name, function) if optional else function
        results[name] = computed[name] if other == function else evaluate(robot, other, arrays)[name]
    return results


def _compute(robot: Robot, model: System, function: str, tasks: Tasks) -> Results:
    """Return the results of :func:`evaluate` for one chunk of checked tasks."""
    if PARAMETERS in tasks:
        model = loaded_system(model, robot, tasks[PARAMETERS])
    if robot.base_chosen and FUNCTIONS[function].takes_force:
        tasks = with_base_motion(tasks)
    return TWINS[function](Chunk(robot, model, tasks))
