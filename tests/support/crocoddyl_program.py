"""The problem of a file by Crocoddyl alone and with a folder's steps: program FOLDER IN.npz OUT.npz.

Crocoddyl's environment has no tests' packages; this file imports none.
"""

import sys
from typing import Any

import crocoddyl
import numpy as np
import pinocchio

import rbdhw
from benchmarks.crocoddyl_times import shooting_problem
from rbdhw.crocoddyl import ShootingProblem

DERIVATIVES = ("Fx", "Fu", "Lx", "Lu", "Lxx", "Lxu", "Luu")


def main(folder: str, source: str, target: str) -> None:
    """Write costs, the largest differences of derivatives, both minimisers, and the calls of the folder."""
    with np.load(source) as archive:
        problem = dict(archive)
    root = [pinocchio.JointModelFreeFlyer()] if problem["floating"] else []
    model = pinocchio.buildModelFromUrdf(str(problem["urdf"]), *root)
    for name in problem.get("points", ()):
        add_point(model, str(name))
    theirs, ours = (
        shooting_problem(model, problem),
        ShootingProblem(rbdhw.load(folder), shooting_problem(model, problem)),
    )
    forces = list(problem["tau"])
    states = theirs.rollout(forces)
    results = {}
    for name, one in (("theirs", theirs), ("ours", ours)):
        results[f"costs_{name}"] = [one.calc(states, forces), one.calcDiff(states, forces)]
    results["calls"] = ours.horizon.calls
    pairs = [*zip(theirs.runningDatas, ours.runningDatas, strict=True)]
    results["differences"] = [
        max(np.abs(getattr(a, name) - getattr(b, name)).max() for a, b in pairs) for name in DERIVATIVES
    ]
    if "planned" in problem:
        planned = list(problem["planned"])
        results["cost_planned"] = theirs.calc(theirs.rollout(planned), planned)
    for name, one in (("theirs", theirs), ("ours", ours)):
        solver = crocoddyl.SolverFDDP(one)
        solver.th_stop = 1e-20
        solver.solve(states, forces, 50, True, 0.0)
        results |= {f"states_{name}": np.array(solver.xs), f"iterations_{name}": solver.iter}
        results[f"cost_{name}"] = solver.cost
    np.savez(target, **results, flagged=ours.horizon.flagged, all_calls=ours.horizon.calls)


def add_point(model: Any, name: str) -> None:
    """Add a frame at a point of a link, in the syntax of ``--contacts``: LINK@X:Y:Z."""
    link, _, numbers = name.partition("@")
    carrier = model.frames[model.getBodyId(link)]
    shift = pinocchio.SE3(np.eye(3), np.array([float(number) for number in numbers.split(":")]))
    placed = carrier.placement * shift
    model.addFrame(pinocchio.Frame(name, carrier.parentJoint, placed, pinocchio.OP_FRAME))


if __name__ == "__main__":
    main(*sys.argv[1:])
