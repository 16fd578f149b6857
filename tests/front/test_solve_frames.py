"""`solve` of accelerators with costs of frames' positions, in the arrays of the user."""

import numpy as np
import pytest

import rbdhw as package
from rbdhw.design.folder import draft_design, read, write
from rbdhw.errors import InputError
from rbdhw.golden.kinematics import placements
from rbdhw.options.build import BuildOptions, CoreRequest, Mounting
from rbdhw.pipeline import generate
from rbdhw.robots import path
from rbdhw.solving import Solved
from tests.support.fixed_solvers import fixed_solver
from tests.support.tracking import two_frames

KNOTS, FRAMES = 6, ("tip", "forearm@0.1:0:0.1")

START = (np.array([0.1, 0.2]), np.array([0.1, -0.2]), 0.01)
COST = {"x_ref": [0.5, -0.3, 0.0, 0.0], "Q": [1.0, 1.0, 0.1, 0.1], "R": [1e-3, 1e-3]}
WEIGHTS = np.linspace(0.0, 100.0, (KNOTS + 1) * 6).reshape(KNOTS + 1, 2, 3)


(POSES,) = placements(two_frames(), np.array([[0.11, 0.19]]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("frames") / "toy"
    write(draft_design(fixed_solver(two_frames, KNOTS, 4).model), made)
    return made


@pytest.fixture(params=["model", "numpy"])
def acc(request, folder):
    return package.load(folder, request.param)


def solutions(folder, engine):
    """Return the numbers of solutions, cold and warm, with some weights, others, and none."""
    acc, last, numbers = package.load(folder, engine), None, []
    for weights in (WEIGHTS, WEIGHTS[::-1], np.zeros((2, 3))):
        positions = {"placement_ref": POSES, "position_weight": weights}
        follow = {"warm": last, "shift": 1} if last else {}
        last = acc.solve(*START, **COST, **positions, **follow, iterations=3)
        assert last.status == Solved.ITERATIONS
        numbers.append(last._asdict())
    return numbers


def test_both_engines_give_the_same_numbers(folder):
    np.testing.assert_equal(solutions(folder, "numpy"), solutions(folder, "model"))


@pytest.mark.verify(minutes=3)
def test_the_hardware_and_the_driver_give_the_same_numbers(tmp_path):
    sizes = {"knots": KNOTS, "alphas": 4, "width": 27, "ii": 8, "samples": 256}
    write(
        generate(path("toy"), BuildOptions(("solve",), mounting=Mounting(frames=FRAMES), **sizes)), tmp_path
    )
    known = solutions(tmp_path, "model")
    for engine in ("rtl", "driver"):
        np.testing.assert_equal(solutions(tmp_path, engine), known)


def test_a_solution_is_near_that_of_double_precision(folder, acc):
    """The cost is that of all knots, the first one as well."""
    positions = {"placement_ref": POSES, "position_weight": WEIGHTS}
    golden = package.load(folder, "golden").solve(*START, **COST, **positions)
    assert np.all(np.abs(golden.tau) < [40.0, 15.0])
    solved = acc.solve(*START, **COST, **positions, iterations=8)
    assert solved.cost == pytest.approx(golden.cost, rel=1e-3)
    assert solved.tau == pytest.approx(golden.tau, abs=0.02)
    heavy = WEIGHTS + 1e3 * (np.arange(KNOTS + 1) == 0)[:, np.newaxis, np.newaxis]
    more = acc.solve(*START, **COST, placement_ref=POSES, position_weight=heavy, iterations=8).cost
    error = placements(two_frames(), START[0][np.newaxis])[0, :, :3, 3] - POSES[:, :3, 3]
    assert more - solved.cost == pytest.approx(500.0 * np.sum(error**2), rel=1e-9)
    free = acc.solve(*START, **COST, iterations=8)
    assert np.abs(free.tau - solved.tau).max() > 1.0


def test_weights_of_zero_are_none(acc):
    none = acc.solve(*START, **COST, iterations=4)
    zero = acc.solve(*START, **COST, placement_ref=POSES, position_weight=np.zeros((2, 3)), iterations=4)
    for name in none._fields:
        np.testing.assert_array_equal(getattr(none, name), getattr(zero, name))


def test_it_tracks_after_it_was_written(folder):
    design = read(folder)
    assert design.robot.tracks
    assert [word.word.name for word in design.interface.solver.tracked] == [
        f"p_next[{f},{k}]" for f in range(2) for k in range(3)
    ]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"position_weight": WEIGHTS}, "array 'placement_ref': missing; expected one beside position_weight"),
        (
            {"placement_ref": POSES, "position_weight": -WEIGHTS},
            "array 'position_weight': -100 is a negative weight",
        ),
        (
            {"placement_ref": POSES, "orientation_weight": [1.0, 0.0]},
            "a solver on words does not take its orientation_weight",
        ),
        (
            {"placement_ref": 100.0 * POSES, "position_weight": WEIGHTS},
            "array 'placement_ref', step 1, x of frame 'tip': .* m; expected -4 to",
        ),
    ],
)
def test_unusable_arrays_are_refused(acc, arguments, text):
    with pytest.raises(InputError, match=text):
        acc.solve(*START, **(COST | arguments))


@pytest.mark.parametrize(
    ("target", "frames", "tracks"),
    [("xcvu9p", ("tip",), True), ("xcvu9p", (), False), ("c", ("tip",), False)],
)
def test_accelerators_that_solve_track_their_frames(target, frames, tracks):
    """Software has frames of its own."""
    options = BuildOptions(("solve",), target=target, mounting=Mounting(frames=frames))
    assert options.tracks is tracks


def test_each_core_of_a_solver_gives_results_of_frames():
    """The accelerations of another core are not those of steps."""
    cores = (CoreRequest(("step",)), CoreRequest(("dstep",), ii=8), CoreRequest(("id",)))
    options = BuildOptions(("solve", "id"), cores=cores, mounting=Mounting(frames=("tip",)))
    assert [core.tracks for core in options.each_core()] == [True, True, False]
