"""Proven errors of robots: neither samples nor a search for the worst task exceed them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

import rbdhw
from rbdhw import golden
from rbdhw.arrays import WordName
from rbdhw.domain.strata import draw
from rbdhw.engines.compiled import compute
from rbdhw.errors import InputError
from rbdhw.explore.search import prepare_build
from rbdhw.fixed.proof import prove
from rbdhw.frontend.read import load_mounted
from rbdhw.graph.twins import no_twins
from rbdhw.model.packets import decode, encode
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.protocol import FUNCTIONS
from rbdhw.quantize.formats import FormatChoice, accelerator_model
from rbdhw.quantize.observation import Draws, observe
from rbdhw.quantize.proofs import prove_results
from rbdhw.robots import path
from rbdhw.software.exact_library import ExactLibrary
from tests.support.marks import long
from tests.support.software import Built
from tests.support.strategies import robots

ROUNDING = 1e-13
"""What the golden model's own rounding adds to an error, relative to its largest result."""

AT_ONCE = 20_000
"""Tasks that are compared at a time."""

FEW = Draws(ranging=1024, held_out=256, probed=256)


class Proved:
    """A robot's program with the bounds of each word of its functions."""

    def __init__(self, robot, functions, width):
        options = BuildOptions(functions, width=width, samples=256)
        prepared = prepare_build(robot, options)
        observed = observe(prepared.model, prepared.graph, prepared.domain, options, FEW)
        choice = FormatChoice(observed, options, no_twins(prepared.graph), False, lambda _: None)
        program = choice.search().program
        self.model = accelerator_model(prepared.model, prepared.domain, [program], options)
        self._exact = ExactLibrary(self.model)
        self._double = Built(robot, functions).library()
        self.bounds = {}
        for function in functions:
            proof = prove(prepared.graph, program, function)
            self.bounds[function] = {
                WordName.parse(name): math.ldexp(proof.errors[edge.node], edge.shift)
                for name, edge in prepared.graph.outputs
                if name.startswith(f"{function}.")
            }

    def ratios(self, function, tasks):
        """Return the largest ratio of an error to its bound in each task; 0 for flagged ones."""
        extended = bool(FUNCTIONS[function].optional_outputs)
        status, words = respond(self.model, function, encode(self.model, function, tasks, extended), extended)
        results = decode(self.model, function, words, extended)
        right = golden.evaluate(self.model.robot, function, tasks, extended)
        return self._ratios(function, status, results, right)

    def ratios_in_bulk(self, function, tasks):
        """Return the same from compiled libraries, with the graph in double precision as the golden model."""
        extended = bool(FUNCTIONS[function].optional_outputs)
        robot = self.model.robot
        status, results = compute(self._exact, robot, function, tasks, extended)
        _, right = compute(self._double, robot, function, tasks, extended)
        return self._ratios(function, status, results, right)

    def _ratios(self, function, status, results, right):
        worst = np.zeros(len(status))
        for word, bound in self.bounds[function].items():
            error = np.abs(results[word.array] - right[word.array])[(slice(None), *word.index)]
            error -= ROUNDING * np.abs(right[word.array]).max()
            worst = np.maximum(worst, np.where(error > 0.0, error / max(bound, 1e-300), 0.0))
        return np.where(status == 0, worst, 0.0)

    def climb(self, function, tasks, steps, rng, kept=32):
        """Return the largest ratio that a search finds: the worst tasks are moved, less and less."""
        best = 0.0
        bounds = self.model.domain.bounds
        for step in range(steps):
            ratios = self.ratios(function, tasks)
            best = max(best, float(ratios.max()))
            worst = np.argsort(ratios)[-kept:]
            tasks = {
                name: np.repeat(array[worst], len(ratios) // kept, axis=0) for name, array in tasks.items()
            }
            for name in ("q", "v", "a"):
                low, high = np.clip(np.asarray(bounds[name]).T, -1e3, 1e3)
                moved = tasks[name] + 0.3 * 0.5**step * (high - low) * rng.uniform(
                    -1.0, 1.0, tasks[name].shape
                )
                keeps = rng.random(tasks[name].shape) < 0.6
                keeps[:kept] = True
                tasks[name] = np.where(keeps, tasks[name], np.clip(moved, low, high))
        return best


def check(robot, functions, width, tasks, steps, mixed=0, seed=0):
    """Check the bounds; return the largest ratio to them by function.

    Tasks are drawn, the worst are moved, and ``mixed`` more have the arrays of different ones of those drawn.
    """
    proved, rng = Proved(robot, functions, width), np.random.default_rng(seed)
    found = {}
    for function in functions:
        drawn = draw(robot, proved.model.domain, tasks, rng).of(function)
        found[function] = max(proved.ratios(function, drawn).max(), proved.climb(function, drawn, steps, rng))
        for _ in range(0, mixed, AT_ONCE):
            other = {name: array[rng.integers(tasks, size=AT_ONCE)] for name, array in drawn.items()}
            found[function] = max(found[function], proved.ratios_in_bulk(function, other).max())
        assert found[function] <= 1.0
    return found


CASES = [
    ("toy", "fixed", ("id", "m", "did", "gravity", "bias", "com"), 12, 1024, 4, 20_000),
    ("iiwa14", "fixed", ("m",), 18, 512, 2, 0),
]
ALL = ("id", "m", "did", "kin", "gravity", "bias", "com")
CASES += [
    long(name, base, ALL, 18, 16_384, 8, 200_000)
    for name, base in (("iiwa14", "fixed"), ("hyq", "floating"), ("spot_arm", "fixed"), ("tiago", "fixed"))
]


@pytest.mark.parametrize(("name", "base", "functions", "width", "tasks", "steps", "mixed"), CASES)
def test_no_task_errs_more_than_is_proven(name, base, functions, width, tasks, steps, mixed):
    robot = load_mounted(path(name), Mounting(base))
    if "kin" in functions:
        robot = load_mounted(path(name), Mounting(base, frames=(robot.bodies[-1].name,)))
    found = check(robot, functions, width, tasks, steps, mixed)
    assert max(found.values()) > 1e-3, found


@settings(max_examples=2)
@given(robot=robots(max_bodies=5))
def test_no_task_of_a_random_robot_errs_more_than_is_proven(robot):
    check(robot, ("did",), 16, 256, 2)


@pytest.mark.verify
@settings(max_examples=10)
@given(robot=robots(max_bodies=8))
def test_no_task_of_random_robots_errs_more_than_is_proven(robot):
    check(robot, ("id", "m", "did"), 16, 8192, 6, 100_000)


def test_the_norm_has_every_element_of_a_symmetric_matrix():
    options = BuildOptions(("m",), width=12, samples=64)
    prepared = prepare_build(load_mounted(path("toy"), Mounting()), options)
    observed = observe(prepared.model, prepared.graph, prepared.domain, options, FEW)
    choice = FormatChoice(observed, options, no_twins(prepared.graph), False, lambda _: None)
    program = choice.search().program
    errors = prove(prepared.graph, program, "m").errors
    bounds = {
        WordName.parse(name).index: math.ldexp(errors[edge.node], edge.shift)
        for name, edge in prepared.graph.outputs
    }
    squares = [bounds.get((i, j), bounds.get((j, i), 0.0)) ** 2 for i in range(2) for j in range(2)]
    proven = prove_results(observed, program, "m")["M"]
    assert proven.absolute == pytest.approx(math.sqrt(sum(squares)))
    assert proven.node in prove(prepared.graph, program, "m").limits.values()
    assert proven.node > 0


@pytest.mark.usefixtures("only_heading")
def test_a_budget_is_met_by_proof(tmp_path):
    options = {"functions": "id,m", "ii": 4, "max_error": 1e-3}
    measured = rbdhw.generate(path("toy"), tmp_path / "measured", **options)
    proven = rbdhw.generate(path("toy"), tmp_path / "proven", **options, prove=True)
    for function, entry in proven["error"].items():
        for name, result in entry["results"].items():
            proof = result["proof"]
            assert result["max"] <= proof["relative"] <= 1e-3
            assert proof["relative"] == pytest.approx(proof["absolute"] / result["floor"])
            assert proof["limited_by"].startswith("most of the error comes from rounding")
            assert "proof" not in measured["error"][function]["results"][name]
    assert "and proven" in proven["parts"][0]["formats"]["why"]
    assert "proven: no unflagged task" in str(proven)


@pytest.mark.usefixtures("only_heading")
def test_forward_dynamics_has_backward_errors(tmp_path):
    algorithm = ["inverse=single_pivots", "products=solves"]
    manifest = rbdhw.generate(
        path("toy"), tmp_path / "out", functions="id,fd", ii=4, algorithm=algorithm, prove=True
    )
    bounds = manifest["error"]["fd"]["backward"]
    M, tau = np.array(bounds["mass_matrix"]), np.array(bounds["forces"])
    assert (M == M.T).all()
    assert 0.0 < M[0, 0] < 1e-3
    assert (tau > 0.0).all()
    assert (tau < 0.1).all()
    assert "proof" in manifest["error"]["id"]["results"]["tau"]
    assert "backward" not in manifest["error"]["id"]
    assert "each answer is exact for a mass matrix and forces" in str(manifest)


def test_what_has_no_proof_is_refused(tmp_path):
    def refused(**options):
        with pytest.raises(InputError) as refusal:
            rbdhw.generate(path("toy"), tmp_path / "out", ii=4, **options, prove=True)
        return refusal.value

    divides = refused(functions="id,minv")
    assert divides.reason == "the errors of minv have no proof: it divides by what tasks bring"
    assert divides.remedy == "use --confidence, or certify=True for single answers"
    dense = refused(functions="fd", algorithm=["products=dense"])
    backward = "--algorithm inverse=single_pivots --algorithm products=solves for backward errors"
    assert dense.remedy == f"{divides.remedy}, or {backward}"
    small = refused(functions="id", max_error=1e-11)
    assert "no supported width meets" in small.reason
    unproven = refused(functions="id", max_error=6e-8)
    assert unproven.where == "prove"
    assert "is proven to err by up to" in unproven.reason
    assert "comes from rounding" in unproven.reason
    assert refused(functions="id", number="float32").where == "prove"
    assert refused(functions="id", core="array").where == "prove"
