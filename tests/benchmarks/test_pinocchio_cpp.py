"""Pinocchio in C++: its results are golden's, and what is missing is named."""

import numpy as np
import pytest

from benchmarks import pinocchio_cpp
from benchmarks.builds import ALL, robot_of
from benchmarks.pinocchio_cpp import Build, Figures, Outcome, build_program, measure, run
from rbdhw.boards.tools import ToolError
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.sampling import sample
from rbdhw.errors import InputError
from rbdhw.frontend.read import load_mounted
from rbdhw.golden.error_norm import relative_errors
from rbdhw.golden.evaluation import evaluate
from rbdhw.robot.mounting import Mounting
from rbdhw.robots import path

TASKS = 32

QUICK = Build("quick", ("-O0", *pinocchio_cpp.WHEEL.options[1:]))
"""The build that compiles fastest: the algorithms are in the wheel, and the rest is not optimised."""


@pytest.mark.verify(minutes=0.6)  # compiles Pinocchio's templates
@pytest.mark.parametrize(
    ("name", "base", "functions"),
    [("hyq", "floating", ALL), ("tiago", "fixed", ("id", "m", "did"))],
)
def test_every_way_has_the_results_of_the_golden_model(name, base, functions):
    """TIAGo has planar, prismatic and continuous joints, and mimics, which Pinocchio does not constrain."""
    robot = robot_of(name, base)
    states = sample(robot, input_domain(robot), TASKS, np.random.default_rng(3))
    outcomes = run(path(name), base, functions, states, builds=[QUICK], rounds=1)
    assert tuple(dict.fromkeys(outcome.function for outcome in outcomes)) == functions
    for outcome in outcomes:
        expected = evaluate(robot, outcome.function, states)
        assert list(outcome.results) == list(expected)
        assert np.max(relative_errors(outcome.results, expected)) <= 1e-9, outcome.figures.way
        assert outcome.figures.nanoseconds > 0.0
        assert outcome.figures.tasks_per_second > 0.0
        assert outcome.figures.build == "quick"


@pytest.mark.verify(minutes=0.6)
@pytest.mark.parametrize("kind", ["point", "surface"])
def test_contacts_are_those_of_the_golden_model(kind):
    """:func:`benchmarks.pinocchio_cpp.run` refuses others."""
    feet = [(f"{leg}_lowerleg", kind) for leg in ("lf", "rh")]
    robot = load_mounted(path("hyq"), Mounting("floating", contacts=tuple(feet)))
    states = sample(robot, input_domain(robot), TASKS, np.random.default_rng(3))
    del states["contact"]
    outcomes = run(path("hyq"), "floating", ("cfd", "dcfd"), states, builds=[QUICK], rounds=1, contacts=feet)
    assert [outcome.function for outcome in outcomes] == ["cfd", "dcfd"]
    assert list(outcomes[1].results) == ["da_dq", "da_dv", "da_dtau"]


@pytest.mark.verify(minutes=0.6)
def test_regressors_of_all_links_are_those_of_the_golden_model():
    """:func:`benchmarks.pinocchio_cpp.run` refuses others."""
    (outcome,) = run(path("hyq"), "floating", ("regressor",), builds=[QUICK], rounds=1)
    assert outcome.results["Y"].shape == (pinocchio_cpp.BATCH, 18, 13, 10)
    assert np.abs(outcome.results["Y"]).max() > 1.0


def test_the_fastest_way_is_reported(monkeypatch):
    times = {"aba": 3.0, "cholesky": 2.0, "crba": 1.0}
    figures = {way: Figures(way, "native", time, 1e9 / time) for way, time in times.items()}
    functions = {"aba": "fd", "cholesky": "fd", "crba": "m"}
    outcomes = [Outcome(functions[way], figure, {}) for way, figure in figures.items()]
    monkeypatch.setattr(pinocchio_cpp, "run", lambda *_: outcomes)
    assert measure(path("toy")) == {"fd": figures["cholesky"], "m": figures["crba"]}


@pytest.mark.verify(minutes=0.6)
def test_a_wrong_result_is_refused(monkeypatch):
    monkeypatch.setattr(pinocchio_cpp, "TOLERANCE", -1.0)
    with pytest.raises(ToolError, match=r"^pinocchio_cpp: id by rnea differs from Pinocchio's in Python by "):
        measure(path("toy"), functions=["id"], builds=[QUICK], rounds=1)


def test_a_missing_compiler_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", "g++-of-nowhere")
    with pytest.raises(InputError) as error:
        build_program(QUICK, tmp_path)
    expected = "not found; expected a C++ compiler; install g++ from your system's packages"
    assert str(error.value) == f"g++-of-nowhere: {expected}"
