"""C by CasADi from Pinocchio's algorithms, with another Python: python casadi_code.py URDF FOLDER NAME...

Writes ``NAME.c`` for each name: ``step``, by semi-implicit Euler, ``dstep``, its derivatives, and ``sid`` and
``sfd``, the second derivatives of inverse and of forward dynamics. Derivatives are by automatic
differentiation.
"""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from casadi_kin_dyn import CasadiKinDyn  # isort: skip # it loads the library of the next one

import casadi


def main(urdf: str, folder: str, *names: str) -> None:
    """Write the sources."""
    dynamics = CasadiKinDyn(Path(urdf).read_text())
    makers: dict[str, Callable[[Any], tuple[list[Any], list[Any]]]] = {
        "step": partial(_step, alone=True),
        "dstep": _step,
        "sid": partial(_second_derivatives, inverse=True),
        "sfd": partial(_second_derivatives, inverse=False),
    }
    os.chdir(folder)
    for name in names:
        inputs, results = makers[name](dynamics)
        results = [casadi.densify(result) for result in results]
        casadi.Function(f"{name}_of_casadi", inputs, results).generate(f"{name}.c")


def _step(dynamics: Any, alone: bool = False) -> tuple[list[Any], list[Any]]:
    """Return the inputs and the results of a step, with its derivatives if it is not ``alone``."""
    forward = dynamics.aba()
    n = forward.size1_in(0)
    q, v, tau, h = (casadi.SX.sym(name, size) for name, size in (("q", n), ("v", n), ("tau", n), ("h", 1)))
    velocity = v + h * forward(q, v, tau)
    following = casadi.vertcat(q + h * velocity, velocity)
    slopes = [casadi.jacobian(following, by) for by in (casadi.vertcat(q, v), tau) if not alone]
    return [q, v, tau, h], [following, *slopes]


def _second_derivatives(dynamics: Any, inverse: bool) -> tuple[list[Any], list[Any]]:
    """Return the inputs and the results of second derivatives, each with columns of the last index."""
    function = dynamics.rnea() if inverse else dynamics.aba()
    q, v, given = (casadi.SX.sym(name, function.size1_in(0)) for name in ("q", "v", "given"))
    result = function(q, v, given)
    pairs = ((q, q), (q, v), (v, v), (given, q))
    return [q, v, given], [casadi.jacobian(casadi.vec(casadi.jacobian(result, x)), y) for x, y in pairs]


if __name__ == "__main__":
    main(*sys.argv[1:])
