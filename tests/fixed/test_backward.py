"""Backward errors of forward dynamics: no residual exceeds them, and an unsound step is found."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from rbdhw import golden
from rbdhw.domain.strata import draw
from rbdhw.explore.search import prepare_build
from rbdhw.fixed import backward, proof
from rbdhw.fixed.evaluate import evaluate
from rbdhw.fixed.lower import InputRange, lower
from rbdhw.fixed.reciprocal import ReciprocalSpec
from rbdhw.fixed.widths import plain_widths
from rbdhw.frontend.read import load_mounted
from rbdhw.graph.trace import Recorder
from rbdhw.graph.twins import no_twins
from rbdhw.model.packets import decode, encode
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.quantize.formats import FormatChoice, accelerator_model
from rbdhw.quantize.observation import Draws, observe
from rbdhw.quantize.proofs import proper_bias, prove_backward
from rbdhw.robots import path
from tests.support.floating_robots import random_tree
from tests.support.marks import long
from tests.support.strategies import robots

SINGLE = {"inverse": "single_pivots", "products": "solves"}


class Solved:
    """A robot's program for forward dynamics, and answers with their residuals."""

    def __init__(self, robot, width, tasks, algorithms=SINGLE):
        options = BuildOptions(("fd",), width=width, samples=256, algorithms=algorithms)
        prepared = prepare_build(robot, options)
        draws = Draws(ranging=1024, held_out=256, probed=256)
        self.observed = observe(prepared.model, prepared.graph, prepared.domain, options, draws)
        choice = FormatChoice(self.observed, options, no_twins(prepared.graph), False, lambda _: None)
        self.program = choice.search().program
        model = accelerator_model(prepared.model, prepared.domain, [self.program], options)
        drawn = draw(robot, prepared.domain, tasks, np.random.default_rng(1)).of("fd")
        status, words = respond(model, "fd", encode(model, "fd", drawn, False), False)
        a = decode(model, "fd", words, False)["a"]
        given = golden.evaluate(robot, "id", drawn | {"a": a})["tau"]
        M, bias = (golden.evaluate(robot, each, drawn) for each in ("m", "bias"))
        falling = np.linalg.solve(M["M"], (proper_bias(robot, drawn) - bias["tau"])[..., np.newaxis])
        self.residuals = np.abs(drawn["tau"] - given)[status == 0]
        self.a = np.abs(a - falling[..., 0])[status == 0]  # on a floating base the proper acceleration
        self.M = np.abs(M["M"])[status == 0]

    def ratio(self):
        """Return the largest ratio of a residual to its bound."""
        errors = prove_backward(self.observed, self.program, "fd")
        behind = self.M @ errors.acceleration
        return (
            self.residuals / ((self.a + errors.acceleration) @ errors.matrix + errors.forces + behind)
        ).max()


@pytest.mark.parametrize(
    ("name", "width", "tasks"), [("toy", 12, 2000), long("toy", 18, 20_000), long("iiwa14", 18, 50_000)]
)
def test_no_residual_exceeds_the_bound(name, width, tasks):
    assert 0.01 < Solved(load_mounted(path(name), Mounting()), width, tasks).ratio() <= 1.0


@pytest.mark.parametrize(
    ("seed", "bodies"),
    [(2, 2), long(4, 3)],  # the latter with cylindrical joints
)
def test_no_residual_of_a_floating_robot_exceeds_the_bound(seed, bodies):
    solved = Solved(random_tree(seed, bodies), 18, 1000)
    assert 0.01 < solved.ratio() <= 1.0


@pytest.mark.verify
def test_no_residual_of_a_robot_on_four_legs_exceeds_the_bound():
    assert 0.005 < Solved(load_mounted(path("hyq"), Mounting("floating")), 18, 20_000).ratio() <= 1.0


@pytest.mark.verify
@settings(max_examples=12, deadline=None)
@given(robot=robots(max_bodies=5))
def test_no_residual_of_a_random_robot_exceeds_the_bound(robot):
    solved = Solved(robot, 18, 4000)
    if prove_backward(solved.observed, solved.program, "fd") is not None:
        assert solved.ratio() <= 1.0


UNSOUND = {
    "own errors": (backward._Backward, "_own", lambda method: lambda *x: 0.05 * method(*x)),
    "kinematics": (proof.Prover, "_own_error", lambda method: lambda self, i: 0.02 * method(self, i)),
}


@pytest.mark.parametrize("step", UNSOUND)
def test_an_unsound_step_is_found(step, monkeypatch):
    solved = Solved(load_mounted(path("toy"), Mounting()), 12, 2000)
    owner, name, wrong = UNSOUND[step]
    monkeypatch.setattr(owner, name, wrong(getattr(owner, name)))
    assert solved.ratio() > 1.0


@pytest.mark.parametrize(
    ("name", "change"), [("toy", {"products": "dense"}), long("iiwa14", {"inverse": "paired_pivots"})]
)
def test_another_way_to_solve_has_no_bound(name, change):
    solved = Solved(load_mounted(path(name), Mounting()), 12, 10, SINGLE | change)
    assert prove_backward(solved.observed, solved.program, "fd") is None


def test_an_equation_that_does_not_hold_is_refused(monkeypatch):
    solved = Solved(load_mounted(path("toy"), Mounting()), 12, 10)
    factors = backward._factors
    monkeypatch.setattr(backward, "_factors", lambda M: (lambda U, L, D: (U, 1.001 * L, D))(*factors(M)))
    assert prove_backward(solved.observed, solved.program, "fd") is None


def divided(width):
    """Return the steps of a program that divides by its input."""
    recorder = Recorder()
    recorder.output("fd.a[0]", recorder.input("v[0]").reciprocal())
    graph = recorder.builder.finish(recorder.outputs)
    program = lower(graph, [3.0, 2.0], {"v[0]": InputRange(0.5, 3.0, "1")}, plain_widths(graph, width))
    return backward._Backward(graph, program, "fd", {"v[0]": np.linspace(0.5, 3.0, 8)})


@pytest.mark.parametrize("width", [8, 10, 12])
def test_no_reciprocal_errs_more_than_the_bound(width):
    steps = divided(width)
    number, quotient = steps._program.operations
    (word,) = steps._program.inputs
    pivots = np.arange(word.lowest, word.highest + 1)
    answer = evaluate(steps._program, {"v[0]": pivots})
    computed = quotient.format.real(answer.words["fd.a[0]"])
    errors = np.abs(number.format.real(pivots) * computed - 1.0)[~answer.overflow]
    bound = steps._reciprocal_error(backward._Pivot(backward._Place(0, 1.0), backward._Place(1, 1.0)))
    assert errors.max() <= bound < 1.6 * errors.max()


def test_the_error_of_a_mantissa_counts_twice_for_a_large_pivot():
    steps = divided(12)
    coarse = ReciprocalSpec(width=12, result_bits=20, index_bits=1, order=1)
    steps._program = replace(steps._program, reciprocal=coarse)
    pivot = 2.0 - 2.0**-20  # the largest mantissa, whose reciprocal errs as much as any may
    bound = steps._reciprocal_error(backward._Pivot(backward._Place(0, 1.0), backward._Place(1, 1.0)))
    assert abs(pivot * (1.0 / pivot + coarse.accuracy) - 1.0) <= bound < 2.1 * coarse.accuracy


def test_a_number_is_not_compared_with_itself():
    steps, place = divided(12), backward._Place(0, 1.0)
    with pytest.raises(backward._NotFoundError):
        steps._own(place, np.zeros(1), [(1.0, place, None)])


class Steps(backward._Backward):
    """The equations of any numbers, of which each has an own error of the same size."""

    def __init__(self, error):
        self.error, self.numbers = error, []

    def at(self, number):
        self.numbers.append(abs(float(number)))
        return backward._Place(len(self.numbers) - 1, 1.0)

    def _size(self, place):
        return self.numbers[place.node]

    def _own(self, *_):
        return self.error

    def _reciprocal_error(self, _):
        return self.error

    def solution(self, M, f):
        n, (U, L, D) = len(f), backward._factors(M[np.newaxis])
        z, a = backward._solved(L, D, f[np.newaxis])
        lower = [(k, i) for k in range(n) for i in range(k + 1)]
        return backward._Solution(
            M[np.newaxis],
            f[np.newaxis],
            L,
            D,
            [list(range(k)) for k in range(n)],
            [backward._Pivot(self.at(pivot), self.at(1.0)) for pivot in D[0]],
            [self.at(each) for each in z[0]],
            [self.at(each) for each in a[0]],
            {(k, i): self.at(L[0, k, i]) for k, i in lower if i < k},
            {(k, i): self.at(U[0, k, i]) for k, i in lower},
            {(k, i): 0.0 for k, i in lower if i < k},
        )


def erring(M, f, errors):
    """Return E and g of a solution in which each number errs by the next of some errors."""
    n, err = len(f), iter(errors)
    U, L, z, a = np.zeros((n, n)), np.eye(n), f.copy(), np.zeros(n)
    y = np.zeros(n)
    for k in reversed(range(n)):
        for i in range(k + 1):
            U[k, i] = M[k, i] - L[k + 1 :, k] @ U[k + 1 :, i] + next(err)
        y[k] = (1.0 + next(err)) / U[k, k]
        for i in range(k):
            L[k, i] = U[k, i] * y[k] + next(err)
        z[k] = f[k] - L[k + 1 :, k] @ z[k + 1 :] + next(err)
    for k in range(n):
        a[k] = z[k] * y[k] - L[k, :k] @ a[:k] + next(err)
    product = L.T @ np.diag(np.diag(U)) @ L
    return product - M, product @ a - f


def test_the_bounds_are_those_of_numbers_that_err_as_they_may():
    error, rng = 1e-7, np.random.default_rng(5)
    half = rng.normal(size=(3, 3))
    M, f = half @ half.T + 0.3 * np.eye(3), rng.normal(size=3)
    steps = Steps(error)
    solution = steps.solution(M, f)
    matrix = steps._matrix_errors(solution, steps._row_errors(solution))
    forces = steps._force_errors(solution, steps._last_errors(solution))
    samples = [erring(M, f, error * rng.choice([-1.0, 1.0], 18)) for _ in range(20_000)]
    for bound, errors in zip((matrix, forces), zip(*samples, strict=True), strict=True):
        largest = np.abs(errors).max(axis=0)
        assert (largest <= bound * (1.0 + 1e-5)).all()
        assert (largest >= 0.95 * bound).all()
