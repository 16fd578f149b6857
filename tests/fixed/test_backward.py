"""Backward errors of forward dynamics: no residual exceeds them, and an unsound step is found."""

import numpy as np
import pytest
from hypothesis import given, settings

from rbdhw import golden
from rbdhw.domain.strata import draw
from rbdhw.explore.search import prepare_build
from rbdhw.fixed import backward, proof
from rbdhw.frontend.read import load_mounted
from rbdhw.graph.twins import no_twins
from rbdhw.model.packets import decode, encode
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.quantize.formats import FormatChoice, accelerator_model
from rbdhw.quantize.observation import Draws, observe
from rbdhw.quantize.proofs import prove_backward
from rbdhw.robots import path
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
        self.a = decode(model, "fd", words, False)["a"]
        given = golden.evaluate(robot, "id", drawn | {"a": self.a})["tau"]
        self.residuals = np.abs(drawn["tau"] - given)[status == 0]
        self.a = np.abs(self.a)[status == 0]

    def ratio(self):
        """Return the largest ratio of a residual to its bound."""
        errors = prove_backward(self.observed, self.program, "fd")
        return (self.residuals / (self.a @ errors.matrix + errors.forces)).max()


@pytest.mark.parametrize(
    ("name", "width", "tasks"), [("toy", 12, 2000), long("toy", 18, 20_000), long("iiwa14", 18, 50_000)]
)
def test_no_residual_exceeds_the_bound(name, width, tasks):
    assert 0.01 < Solved(load_mounted(path(name), Mounting()), width, tasks).ratio() <= 1.0


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
