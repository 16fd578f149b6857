"""The problem that solvers are compared on, and its time in C."""

import numpy as np
import pytest

from benchmarks import solver
from rbdhw.front.solve import Problems
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate_software
from rbdhw.robots import path
from rbdhw.software import solver_library
from rbdhw.software.solver_library import SolverLibrary


@pytest.fixture(autouse=True)
def quick_compilation(monkeypatch):
    """Compile without optimisation: no time is held against another."""
    monkeypatch.setattr(solver_library, "OPTIMISED", ("-O0",))


@pytest.fixture(scope="module")
def software():
    options = BuildOptions(("solve",), target="c", knots=solver.STEPS, alphas=1)
    return generate_software(path("toy"), options)


def test_the_problem_takes_more_than_three_iterations(software, monkeypatch):
    monkeypatch.setattr(solver, "ROUNDS", 2)
    library = SolverLibrary(software.sources, software.robot, solver.STEPS)
    problem = solver.problem_of(software.robot)
    assert 0.0 < solver._iteration(software, library, problem, 2) < 1.0
    arrays, _ = Problems(software.robot, solver.STEPS).complete(problem, None, 0)
    first, last = (library.solve(arrays, iterations, 0.0) for iterations in (0, 100))
    assert last["cost"] < 0.8 * first["cost"]
    assert solver._difference(software, problem, last["states"][0]) < 1e-6


@pytest.mark.verify
def test_times_of_means(monkeypatch):
    monkeypatch.setattr(solver, "ROUNDS", 4)
    monkeypatch.setattr(solver, "PROBLEMS", (("toy", "fixed", ""),))
    monkeypatch.setattr(solver, "SAMPLES", 16)
    lines = solver.mppi_layout(solver.mppi_rows())
    assert [list(line) for line in lines] == [["", "a sample each step", "held for 8 steps"]] * 3
    assert [line[""] for line in lines] == ["float64", "float32", "bit-exact, 24 bits"]


def test_ratios():
    row = {"robot": "arm", "base": "floating", "Crocoddyl (µs)": 800.0}
    times = {"float64, 1": 100.0, "float64, 16": 40.0, "float32, 1": 80.0, "float32, 16": 20.0}
    (line,) = solver.solver_layout([row | {f"{name} (µs)": value for name, value in times.items()}])
    assert line == {
        "": "arm, floating",
        "Crocoddyl FDDP": "800 µs",
        "C double": "100 µs (8×)",
        "C double, a problem of 16": "40 µs (20×)",
        "C float": "80 µs (10×)",
        "C float, a problem of 16": "20 µs (40×)",
    }


@pytest.mark.verify
def test_parts_of_an_iteration(monkeypatch):
    """The toy's parts are positive; Crocoddyl's are told, and the accelerator's follow from its plan."""
    told = {part: np.float64(1e-4) for part in solver.PARTS}
    monkeypatch.setattr(solver, "ROUNDS", 4)
    monkeypatch.setattr(solver, "PROBLEMS", (("toy", "fixed", "tip"),))
    monkeypatch.setattr(solver, "by_crocoddyl", lambda *_arguments: told)
    theirs, double, single, accelerator = solver.account_rows()
    assert [theirs[part] for part in solver.PARTS] == pytest.approx([100.0] * 3)
    assert double["forward"] != single["forward"]
    assert accelerator["forward"] == single["forward"]
    assert accelerator["derivatives"] > solver.STEPS / 125.0
    line = solver.account_layout([theirs])[0]
    assert line[""] == "toy, Crocoddyl, C++"
    assert (line["derivatives"], line["sum"], line["were they free"]) == ("100 µs (33 %)", "300 µs", "1.50×")
