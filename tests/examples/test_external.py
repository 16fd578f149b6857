"""External functions of CasADi: compiled with all warnings, called as CasADi does, and by CasADi itself."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

import rbdhw
from benchmarks.solver import run_beside_crocoddyl
from rbdhw.robots import path
from tests.support.compilers import WARNINGS

SOURCE = Path(__file__).resolve().parents[2] / "examples" / "external" / "external.c"
X, U, H = np.array([0.1, -0.2, 0.3, 0.4]), np.array([1.0, -2.0]), 0.02

CASADI = """
import sys, casadi
step = casadi.external("step", sys.argv[1])
x, u = casadi.MX.sym("x", 4), casadi.MX.sym("u", 2)
by = casadi.Function("by", [x, u], [casadi.jacobian(step(x, u), x), casadi.jacobian(step(x, u), u)])
start, forces, e = casadi.DM([0.1, -0.2, 0.3, 0.4]), casadi.DM([1.0, -2.0]), 1e-6
A, B = by(start, forces)
for j, column in enumerate(casadi.horzsplit(A)):
    moved = [step(start + sign * e * casadi.DM.eye(4)[:, j], forces) for sign in (1.0, -1.0)]
    assert casadi.norm_inf((moved[0] - moved[1]) / (2.0 * e) - column) < 1e-8
assert B.shape == (4, 2)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("external")
    rbdhw.generate(path("toy"), folder / "toy", target="c", functions="step,dstep")
    options = ["-O1", "-shared", "-fPIC", f"-DTIME_STEP={H}", "-I", "toy", "-o", "step.so"]
    sources = [str(SOURCE), "toy/dynamics_step.c", "toy/dynamics_dstep.c"]
    subprocess.run(["cc", "-std=c11", *WARNINGS, *options, *sources, "-lm"], cwd=folder, check=True)
    return folder


def call(library, name):
    """Return the results of a function as CasADi calls it, with columns one after another."""
    one = ctypes.CDLL(str(library / "step.so"))
    sparsities = [getattr(one, f"{name}_sparsity_{way}") for way in ("in", "out")]
    for function in sparsities:
        function.restype = ctypes.POINTER(ctypes.c_longlong)
    sizes = (ctypes.c_longlong * 4)()
    assert getattr(one, f"{name}_work")(*(ctypes.byref(sizes, 8 * k) for k in range(4))) == 0
    counts = [getattr(one, f"{name}_n_{way}")() for way in ("in", "out")]
    assert [*sizes[:3]] == [*counts, 0]
    shapes = [sparsities[1](k)[:3] for k in range(counts[1])]
    assert all(dense == 1 for *_, dense in shapes)
    results = [np.zeros(shape[:2], order="F") for shape in shapes]
    pointers = [
        (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
        for arrays in ((X, U), results)
    ]
    assert getattr(one, name)(*pointers, None, (ctypes.c_double * sizes[3])(), 0) == 0
    return results


def test_external_functions(library):
    expected = rbdhw.load(library / "toy", "golden").dstep(X[:2], X[2:], U, H)
    (x_next,) = call(library, "step")
    A, B = call(library, "jac_step")
    both, together = call(library, "step_fun_jac")
    assert x_next.ravel() == pytest.approx(expected.x_next, abs=1e-12)
    assert np.array_equal(both, x_next)
    assert pytest.approx(expected.A, abs=1e-12) == A
    assert pytest.approx(expected.B, abs=1e-12) == B
    assert np.array_equal(together, np.hstack([B, A]).T)


@pytest.mark.verify(minutes=3)
def test_casadi_takes_them(library, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(CASADI)
    run_beside_crocoddyl(program, library / "step.so")
