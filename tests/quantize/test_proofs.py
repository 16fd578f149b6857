"""Proven errors of robots: neither samples nor a search for the worst task exceed them."""

import math
from dataclasses import replace

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
from tests.support.floating_robots import random_tree
from tests.support.marks import long
from tests.support.software import Built
from tests.support.strategies import robots

ROUNDING = 1e-13
"""What the golden model's own rounding adds to an error, relative to its largest result."""

AT_ONCE = 4096
"""Tasks that are compared at a time."""

BULK = 10_000_000
"""Tasks of a robot, over all its functions."""

OTHER_WIDTH = 15
"""A width whose worst tasks are tried, too."""

FEW = Draws(ranging=1024, held_out=256, probed=256)


class Proved:
    """Programs of a robot by width, with the bounds of the results of their functions."""

    def __init__(self, robot, functions, width):
        self._options = BuildOptions(functions, width=width, samples=256)
        self._prepared = prepare_build(robot, self._options)
        self._observed = observe(
            self._prepared.model, self._prepared.graph, self._prepared.domain, self._options, FEW
        )
        self.robot, self.domain = self._prepared.model.source, self._prepared.domain
        self._double = Built(robot, functions).library()
        self._by_width = {}

    def of(self, width):
        """Return the model at a width, its library, and bounds by function, array and element."""
        if width not in self._by_width:
            options, graph = replace(self._options, width=width), self._prepared.graph
            choice = FormatChoice(self._observed, options, no_twins(graph), False, lambda _: None)
            program = choice.search().program
            model = accelerator_model(self._prepared.model, self.domain, [program], options)
            bounds = {name: self._bounds(program, name) for name in self._options.functions}
            self._by_width[width] = model, ExactLibrary(model), bounds
        return self._by_width[width]

    def _bounds(self, program, function):
        """Return bounds of the arrays' elements, infinite for those that are no words of the program."""
        graph, sides = self._prepared.graph, self._double.arrays(function)[1]
        bounds = {array.name: np.full(array.shape, np.inf) for array in sides}
        errors = prove(graph, program, function).errors
        for name, edge in graph.outputs:
            if name.startswith(f"{function}."):
                word = WordName.parse(name)
                bounds[word.array][word.index] = max(math.ldexp(errors[edge.node], edge.shift), 1e-300)
        return bounds

    def ratios(self, function, tasks, width):
        """Return the largest ratio of an error to its bound in each task; 0 for flagged ones."""
        return _ratios(self.of(width)[2][function], *self._answered(function, tasks, width))

    def spread(self, function, tasks, width):
        """Return the largest ratio to its bound by which an error changes to both sides of its middle.

        The error of a constant, which is its own rounding, does not change.
        """
        status, results, right = self._answered(function, tasks, width)
        bounds = self.of(width)[2][function]
        errors = ((results[array] - right[array])[status == 0] / bound for array, bound in bounds.items())
        return max(np.ptp(error, axis=0).max() / 2 for error in errors)

    def _answered(self, function, tasks, width):
        """Return status, results and right results of tasks."""
        model, extended = self.of(width)[0], bool(FUNCTIONS[function].optional_outputs)
        status, words = respond(model, function, encode(model, function, tasks, extended), extended)
        results = decode(model, function, words, extended)
        return status, results, golden.evaluate(self.robot, function, tasks, extended)

    def ratios_in_bulk(self, function, tasks, width):
        """Return the same from compiled libraries, with the graph in double precision as the golden model."""
        (_, exact, bounds), extended = self.of(width), bool(FUNCTIONS[function].optional_outputs)
        status, results = compute(exact, self.robot, function, tasks, extended)
        _, right = compute(self._double, self.robot, function, tasks, extended)
        return _ratios(bounds[function], status, results, right)

    def climb(self, function, tasks, width, rng, steps, kept=32):
        """Return the largest ratio that a search finds, and its worst tasks, which move less and less."""
        best, worst, count = 0.0, tasks, len(tasks["q"])
        for step in range(steps):
            ratios = self.ratios_in_bulk(function, tasks, width)
            order = np.argsort(ratios)[-kept:]
            best, worst = max(best, ratios.max()), {name: array[order] for name, array in tasks.items()}
            tasks = {name: np.repeat(array, count // kept, axis=0) for name, array in worst.items()}
            for name in ("q", "v", "a"):
                low, high = np.clip(np.asarray(self.domain.bounds[name]).T, -1e3, 1e3)
                shape = tasks[name].shape
                moved = tasks[name] + 0.3 * 0.5**step * (high - low) * rng.uniform(-1.0, 1.0, shape)
                keeps = rng.random(shape) < 0.6
                keeps[:kept] = True
                tasks[name] = np.where(keeps, tasks[name], np.clip(moved, low, high))
        return best, worst


def _ratios(bounds, status, results, right):
    worst = np.zeros(len(status))
    for array, bound in bounds.items():
        error = np.abs(results[array] - right[array])
        error -= ROUNDING * np.abs(right[array]).max()
        error /= bound
        worst = np.maximum(worst, error.reshape(len(worst), -1).max(axis=1, initial=0.0))
    return np.where(status == 0, worst, 0.0)


def check(robot, functions, width, tasks, steps, mixed=0, seed=0):
    """Check the bounds; return by function how much of them errors change by.

    Tasks are drawn, and the worst are moved. ``mixed`` more have the arrays of different ones of those drawn,
    and of the worst at another width.
    """
    proved, rng = Proved(robot, functions, width), np.random.default_rng(seed)
    spreads = {}
    for function in functions:
        drawn = draw(robot, proved.domain, tasks, rng).of(function)
        highest, climbed = proved.climb(function, drawn, width, rng, steps)
        highest = max(highest, proved.ratios(function, drawn, width).max())
        both = {name: np.concatenate([array, climbed[name]]) for name, array in drawn.items()}
        spreads[function] = proved.spread(function, both, width)
        if mixed:
            _, worst = proved.climb(function, drawn, OTHER_WIDTH, rng, steps)
            drawn = {name: np.concatenate([array, worst[name]]) for name, array in drawn.items()}
        for _ in range(0, mixed, AT_ONCE):
            other = {name: array[rng.integers(len(array), size=AT_ONCE)] for name, array in drawn.items()}
            highest = max(highest, proved.ratios_in_bulk(function, other, width).max())
        assert highest <= 1.0
    return spreads


CASES = [
    ("toy", "fixed", ("id", "m", "did", "gravity", "bias", "com"), 12, 1024, 4, 20_000),
    long("iiwa14", "fixed", ("m",), 18, 512, 2, 0),
]
ALL = ("id", "m", "did", "kin", "gravity", "bias", "com")
BUNDLED = [("toy", "fixed"), ("iiwa14", "fixed"), ("spot_arm", "fixed"), ("tiago", "fixed")]
BUNDLED += [("hyq", "floating"), ("hand22", "fixed")]
CASES += [long(name, base, ALL, 18, 4096, 8, BULK // len(ALL), minutes=2) for name, base in BUNDLED]
CASES += [long("atlas", "floating", ALL, 18, 4096, 8, BULK // len(ALL), minutes=13)]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("name", "base", "functions", "width", "tasks", "steps", "mixed"), CASES)
def test_no_task_errs_more_than_is_proven(name, base, functions, width, tasks, steps, mixed):
    robot = load_mounted(path(name), Mounting(base))
    if "kin" in functions:
        robot = load_mounted(path(name), Mounting(base, frames=(robot.bodies[-1].name,)))
    spreads = check(robot, functions, width, tasks, steps, mixed)
    assert min(spreads.values()) > 1e-3, spreads


@pytest.mark.verify
@settings(max_examples=2)
@given(robot=robots(max_bodies=5))
def test_no_task_of_a_random_robot_errs_more_than_is_proven(robot):
    check(robot, ("did",), 16, 256, 2)


@pytest.mark.verify(minutes=1)
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(10))
def test_no_task_of_a_random_tree_errs_more_than_is_proven(seed):
    functions = ("id", "m", "did")
    spreads = check(random_tree(seed, 4), functions, 16, 8192, 6, BULK // len(functions))
    assert min(spreads.values()) > 1e-3, spreads


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


@pytest.mark.usefixtures("few_samples", "only_heading")
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


@pytest.mark.usefixtures("few_samples", "only_heading")
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


@pytest.mark.usefixtures("few_samples")
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
