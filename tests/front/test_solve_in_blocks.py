"""`solve` of accelerators that sweep back in blocks of knots: the folder, its engines, and refusals."""

from dataclasses import asdict

import numpy as np
import pytest

import rbdhw as package
from rbdhw.design.digests import MANIFEST, read_manifest
from rbdhw.design.folder import draft_design, read, write
from rbdhw.errors import InputError
from rbdhw.model.fixed_solver import FixedSolver
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.robots import path
from rbdhw.solving import Solved
from tests.support.exact_solvers import KNOTS, fixed, problem_of
from tests.support.resealed import reseal

BLOCKS = 3
STEP = 0.01
COST = {"x_ref": [0.5, -0.3, 0.0, 0.0], "Q": [10.0, 10.0, 0.1, 0.1], "R": [1e-3, 1e-3]}
START = (np.array([0.1, 0.2]), np.zeros(2), STEP)


@pytest.fixture
def folder(tmp_path):
    write(draft_design(fixed(blocks=BLOCKS).model), tmp_path / "blocks")
    return tmp_path / "blocks"


def test_the_folder_has_the_solver(folder, tmp_path):
    """It solves bit for bit as the one that was written; with one block the folder says nothing of blocks."""
    written, design = fixed(blocks=BLOCKS), read(folder)
    assert design.manifest["stream"]["solver"]["blocks"] == design.interface.solver.blocks == BLOCKS
    assert design.sweep.program == written.sweep.program
    problem = problem_of(written, 0)
    task, goal = written.task(problem, problem["tau"][0]), written.goal(problem)
    solutions = (solver.solve(task, goal, 3) for solver in (FixedSolver(design), written))
    np.testing.assert_equal(*map(asdict, solutions))
    write(draft_design(fixed().model), tmp_path / "whole")
    assert "blocks" not in read(tmp_path / "whole").manifest["stream"]["solver"]
    assert "moved[" not in (tmp_path / "whole" / "model.json").read_text()


def test_solutions_in_c_are_those_of_the_model(folder):
    """Cold ones, and in a loop."""
    solutions = []
    for engine in ("model", "numpy"):
        acc = package.load(folder, engine)
        solved = [acc.solve(*START, **COST, iterations=3)]
        for _ in range(3):
            x = solved[-1].states[1]
            solved.append(acc.solve(x[:2], x[2:], STEP, **COST, warm=solved[-1], shift=1, iterations=1))
        solutions.append(solved)
    for one, other in zip(*solutions, strict=True):
        assert one.status == Solved.ITERATIONS
        for name in one._fields:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        (
            5,
            f"blocks: {KNOTS} steps do not make 5 blocks of the same number of knots, but for the last one; ",
        ),
        (0, "stream.solver: "),
        (17, "stream.solver: "),
    ],
)
def test_a_manifest_with_blocks_that_are_not_possible_is_refused(folder, blocks, text):
    manifest = read_manifest(folder)
    manifest["stream"]["solver"]["blocks"] = blocks
    reseal(folder, manifest)
    with pytest.raises(InputError) as refusal:
        read(folder)
    assert str(refusal.value).startswith(f"{folder / MANIFEST}, {text}")
    assert str(refusal.value).endswith("; run `rbdhw generate` again")


def test_a_manifest_with_blocks_for_a_sweep_without_is_refused(tmp_path):
    write(draft_design(fixed().model), tmp_path)
    manifest = read_manifest(tmp_path)
    manifest["stream"]["solver"]["blocks"] = 2
    reseal(tmp_path, manifest)
    with pytest.raises(InputError, match="json, blocks: the sweep takes no values of an earlier one"):
        read(tmp_path)


@pytest.mark.parametrize("side", ["inputs", "outputs"])
def test_a_folder_whose_commands_have_other_words_is_refused(tmp_path, side):
    """Another version wrote it: its accelerator answers with other words."""
    write(draft_design(fixed().model), tmp_path)
    manifest = read_manifest(tmp_path)
    assert manifest[side]["solve"].pop()["name"] in ("shift", "solve.followed")
    reseal(tmp_path, manifest)
    text = f"json, {side}.solve: other words than this version's; expected what generate wrote; run `rbdhw"
    with pytest.raises(InputError, match=text):
        read(tmp_path)


def test_a_build_with_blocks_that_are_not_possible_is_refused():
    with pytest.raises(InputError, match=f"^blocks: {KNOTS} steps do not make 5 blocks"):
        generate(path("toy"), BuildOptions(("solve",), knots=KNOTS, blocks=5))


def test_the_command_refuses_them_at_once(told, tmp_path):
    asked = ("--functions", "solve", "--knots", 4, "--blocks", 4, "--output", tmp_path / "out")
    assert told("generate", path("toy"), *asked) == (
        "blocks: 4 steps do not make 4 blocks of the same number of knots, but for the last one; "
        "expected fewer, such as 1, 2, 3"
    )
