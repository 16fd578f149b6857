"""C by CasADi from Pinocchio's algorithms, with another Python: python casadi_code.py URDF FOLDER.

Writes ``step.c`` and ``dstep.c``: a step by semi-implicit Euler, and its derivatives, by automatic
differentiation.
"""

import os
import sys
from pathlib import Path

from casadi_kin_dyn import CasadiKinDyn  # isort: skip # it loads the library of the next one

import casadi


def main(urdf: str, folder: str) -> None:
    """Write the sources."""
    forward = CasadiKinDyn(Path(urdf).read_text()).aba()
    n = forward.size1_in(0)
    q, v, tau, h = (casadi.SX.sym(name, size) for name, size in (("q", n), ("v", n), ("tau", n), ("h", 1)))
    velocity = v + h * forward(q, v, tau)
    following = casadi.vertcat(q + h * velocity, velocity)
    by_state, by_force = casadi.jacobian(following, casadi.vertcat(q, v)), casadi.jacobian(following, tau)
    os.chdir(folder)
    for name, results in (("step", [following]), ("dstep", [following, by_state, by_force])):
        results = [casadi.densify(result) for result in results]
        casadi.Function(f"{name}_of_casadi", [q, v, tau, h], results).generate(f"{name}.c")


if __name__ == "__main__":
    main(*sys.argv[1:])
