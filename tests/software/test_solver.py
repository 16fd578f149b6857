"""The solver in C, compared with the golden one: fixed and floating robots, any batch, any compiler."""

import shlex
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rbdhw.fixed.normal import normal_samples
from rbdhw.frontend.build_graph import prepare
from rbdhw.frontend.solver_steps import trace_solver
from rbdhw.golden.solver import mean_of_samples, roll_out, solve
from rbdhw.protocol import steps_with
from rbdhw.robot.link_frames import choose_frames
from rbdhw.robot.model import JointKind
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.software.floating import dynamics_files, trace_sources
from rbdhw.software.solver import inputs_of, solver_files
from rbdhw.software.solver_library import Sampling, SolverLibrary
from rbdhw.solving import Solved
from tests.support.compilers import CLANG, COMPILERS, assert_no_warning
from tests.support.contacts import with_contacts
from tests.support.marks import long
from tests.support.mechanisms import mechanism, with_mimic
from tests.support.optimal_control import random_problem, toy

KNOTS, ALPHAS, COUNT = 5, 3, 3


def following():
    """Return a robot that slides, turns, and has a joint that follows another."""
    kinds = [JointKind.PRISMATIC, JointKind.REVOLUTE, JointKind.REVOLUTE, JointKind.CONTINUOUS]
    return with_mimic(mechanism(kinds, [-1, 0, 1, 1], 5), 2, 1, -0.5, 0.2)


def floating():
    kinds = [JointKind.FLOATING, JointKind.REVOLUTE]
    return choose_frames(mechanism(kinds, [-1, 0], 4), ("b1",), "local")


def sliding():
    return mechanism([JointKind.PLANAR, JointKind.SPHERICAL], [-1, 0], 3)


def hyq():
    return choose_frames(load_urdf(path("hyq")).with_floating_base(), ("lf_lowerleg",), "local")


def touching():
    """Return a floating robot with two contacts, which its steps have or not."""
    kinds = [JointKind.FLOATING, JointKind.REVOLUTE, JointKind.REVOLUTE]
    return with_contacts(mechanism(kinds, [-1, 0, 0], 6), 2, "world")


def touching_arm():
    """Return a pendulum of two links with a contact."""
    return with_contacts(mechanism([JointKind.REVOLUTE] * 2, [-1, 0], 6), 1, "world")


def swinging():
    """Return a floating robot whose momentum costs something, and the placement of a frame, too."""
    kinds = [JointKind.FLOATING, JointKind.REVOLUTE, JointKind.SPHERICAL]
    return choose_frames(mechanism(kinds, [-1, 0, 1], 8), ("b1",), "local")


def reaching():
    """Return an arm whose momentum costs something, with a joint that follows another."""
    return following()


MOMENTUM = ("swinging", "reaching")

ROBOTS = {
    "swinging": swinging,
    "reaching": reaching,
    "arm": toy,
    "upside down": lambda: load_urdf(path("toy")),
    "follower": following,
    "floating": floating,
    "planar": sliding,
    "HyQ": hyq,
    "touching": touching,
    "touching arm": touching_arm,
}


@cache
def robot_of(name):
    return ROBOTS[name]()


@cache
def files(name, alphas, knots=KNOTS):
    robot = robot_of(name)
    steps = steps_with(contacts=bool(robot.contacts.places))
    weighed = name in MOMENTUM
    model = prepare(
        robot, (*steps, *["centroidal"] * weighed), most_traced=0.0
    )  # without the search for algorithms
    sources = trace_sources(model, steps)
    texts = dynamics_files(robot, sources, ())
    return texts | solver_files(robot, sources[0].graph, trace_solver(model, weighed), knots, alphas)


def library(name, number="float64", flags=(), alphas=ALPHAS, knots=KNOTS):
    flags, texts = ["-O0", *flags], files(name, alphas, knots)
    return SolverLibrary(texts, robot_of(name), knots, number, flags, momentum=name in MOMENTUM)


def problems(name, count, rows=2):
    drawn = [random_problem(robot_of(name), KNOTS, seed, rows, name in MOMENTUM) for seed in range(count)]
    return {key: np.stack([problem[key] for problem in drawn]) for key in drawn[0]}


def each(arrays):
    """Return the problems of arrays of problems, one by one."""
    return [dict(zip(arrays, rows, strict=True)) for rows in zip(*arrays.values(), strict=True)]


@cache
def solutions(name, iterations):
    """Return the solutions of the golden solver, of :data:`COUNT` problems."""
    drawn = each(problems(name, COUNT))
    solved = [solve(robot_of(name), problem, iterations, ALPHAS, 1e-12) for problem in drawn]
    return {key: np.stack([solution[key] for solution in solved]) for key in solved[0]}


def expected(name, count, iterations=4):
    return {key: array[:count] for key, array in solutions(name, iterations).items()}


def known(name, drawn):
    return {key: drawn[key] for key in inputs_of(robot_of(name), name in MOMENTUM)}


def assert_close(results, wanted, tolerance, names=("states", "tau", "K", "cost")):
    for name in names:
        largest = np.abs(wanted[name]).max()
        assert np.abs(results[name] - wanted[name]).max() <= tolerance * largest, name


@pytest.mark.parametrize("count", [3, long(1)])
@pytest.mark.parametrize(
    "name",
    [
        "arm",
        "floating",
        "touching arm",
        "reaching",
        *map(long, ("touching", "swinging", "follower", "planar", "HyQ")),
    ],
)
def test_equals_the_golden_solver(name, count):
    results = library(name).solve(known(name, problems(name, count)), 4, 1e-12)
    wanted = expected(name, count)
    assert_close(results, wanted, 1e-9)
    assert results["status"].tolist() == wanted["status"].tolist()
    assert results["iterations"].tolist() == wanted["iterations"].tolist()


@pytest.mark.parametrize("name", ["arm", long("floating")])
@pytest.mark.parametrize("count", [1, 3])
def test_single_precision(name, count):
    """One iteration, after which the same branches were taken; optimised, as the others are not."""
    results = library(name, "float32", ["-O1"]).solve(known(name, problems(name, count)), 1, 0.0)
    assert results["tau"].dtype == np.float32
    assert_close(results, expected(name, count, 1), 3e-5)


def test_single_precision_over_a_long_horizon():
    """A robot upside down falls, but for the feedback of its first trajectory."""
    robot, knots, upright = robot_of("upside down"), 200, [-0.5 * np.pi, 0.0, 0.0, 0.0]
    problem = random_problem(robot, knots, 0, 0) | {"h": np.array(0.03)}
    for name in ("v", "tau", "tau_ref", "limit_weight"):
        problem[name] = np.zeros_like(problem[name])
    problem["q"] = np.add(upright[:2], [0.1, -0.1])
    problem["x_ref"][:] = problem["states"][:] = upright
    problem["Q"][:], problem["R"][:] = 1.0, 1e-3
    problem["K"][:] = np.hstack([np.diag([-50.0, -15.0]), np.diag([-5.0, -0.5])])
    wanted, built = solve(robot, problem, 1, ALPHAS, 0.0), library("upside down", "float32", knots=knots)
    for count in (1, 2):
        drawn = {key: np.repeat(array[np.newaxis], count, axis=0) for key, array in problem.items()}
        results = built.solve(known("upside down", drawn), 1, 0.0)
        assert not results["regularisation"].any()
        assert_close(results, wanted, 1e-4)


@pytest.mark.parametrize("count", [1, 2, 8, 9, 10, 17])
def test_batches_of_any_size(count):
    """Problems of a group are those of the same problems alone."""
    built, drawn = library("arm"), problems("arm", 17)
    part = {key: array[:count] for key, array in drawn.items()}
    results = built.solve(part, 4, 1e-12)
    for k in (0, count - 1):
        alone = built.solve({key: array[k : k + 1] for key, array in part.items()}, 4, 1e-12)
        assert_close({key: array[k : k + 1] for key, array in results.items()}, alone, 1e-9)


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("touching arm", []),
        ("reaching", ["-DRBDHW_VECTOR_BYTES=0"]),
        long("touching arm", ["-DRBDHW_VECTOR_BYTES=0"]),
        long("reaching", []),
        *(
            long(name, flags)
            for name in ("follower", "swinging", "floating", "planar", "touching")
            for flags in ([], ["-DRBDHW_VECTOR_BYTES=0"])
        ),
    ],
)
def test_rollouts_and_means_equal_the_golden_ones(name, flags):
    robot, drawn = robot_of(name), problems(name, 3)
    sampling = Sampling(np.linspace(0.5, 1.5, KNOTS * robot.nv).reshape(KNOTS, -1), np.arange(3), 2, 0.6)
    fresh, filtered = normal_samples(np.arange(11), np.arange(KNOTS), robot.nv), []
    for k in range(KNOTS):
        new = fresh[:, k // 2]
        last = filtered[-1] if filtered else new
        filtered.append(last if k % 2 or not k else 0.6 * last + 0.8 * new)
    changes = sampling.std * np.stack(filtered, axis=1)
    one = {key: array[:1] for key, array in drawn.items()} | {key: drawn[key] for key in ("q", "v")}
    rollouts = library(name, flags=flags).roll_out(known(name, one), sampling, KNOTS - 1, 2)
    rest, *_ = of_each = each(drawn)
    for k in range(3):
        first = {"q": drawn["q"][k], "v": drawn["v"][k]}
        wanted = roll_out(robot, rest | first, changes[k, : KNOTS - 1])
        assert rollouts["states"][k] == pytest.approx(wanted.states[[2, 4]], rel=1e-9, abs=1e-12)
        assert rollouts["cost"][k] == pytest.approx(wanted.cost, rel=1e-9)
    same = replace(sampling, seeds=np.zeros(3, np.int64))
    mean = library(name, flags=flags).mean_of_samples(known(name, drawn), same, 11, 9.0)
    for k in range(3):
        wanted = mean_of_samples(robot, of_each[k], changes, 9.0)
        for key, array in wanted.items():
            assert mean[key][k] == pytest.approx(array, rel=1e-8, abs=1e-11), key


@pytest.mark.parametrize("flags", [["-DRBDHW_VECTOR_BYTES=0"], ["-DRBDHW_VECTOR_BYTES=32"]])
@pytest.mark.parametrize("name", ["arm", long("floating"), long("swinging")])
def test_vectors_of_any_width(name, flags):
    results = library(name, flags=flags).solve(known(name, problems(name, 3)), 4, 1e-12)
    assert_close(results, expected(name, 3), 1e-9)


def test_one_step_length_without_rows():
    robot = robot_of("arm")
    drawn = problems("arm", 2, 0)
    results = library("arm", alphas=1).solve(drawn, 3, 1e-12)
    for k, problem in enumerate(each(drawn)):
        wanted = solve(robot, problem, 3, 1, 1e-12)
        np.testing.assert_allclose(results["tau"][k], wanted["tau"], rtol=1e-9, atol=1e-9)


def test_an_array_that_is_missing_is_zero_or_no_limit():
    drawn = problems("arm", 2)
    zero = dict.fromkeys(("tau_ref", "K", "y", "placement_ref"))
    without = {key: np.zeros_like(drawn[key]) for key in zero}
    infinite = {key: np.full_like(drawn[key], sign * np.inf) for key, sign in SIGNS.items()}
    built = library("arm")
    kept = {key: array for key, array in drawn.items() if key not in (*zero, *infinite)}
    one, other = built.solve(drawn | without | infinite, 3, 0.0), built.solve(kept, 3, 0.0)
    assert np.array_equal(one["tau"], other["tau"])


SIGNS = {"x_min": -1.0, "x_max": 1.0, "tau_min": -1.0, "tau_max": 1.0}


@pytest.mark.parametrize("count", [1, 4])
def test_every_status(count):
    """In one group: a problem that is solved, one without a Hessian, one that leaves all numbers."""
    drawn = {key: np.repeat(array[:1], 4, axis=0) for key, array in problems("arm", 1).items()}
    drawn["R"][1] = -1e9
    drawn["v"][2] = 1e200
    wanted = [Solved.CONVERGED, Solved.INDEFINITE, Solved.NOT_FINITE, Solved.CONVERGED]
    built, status = library("arm"), []
    for start in range(0, 4, count):
        part = {key: array[start : start + count] for key, array in drawn.items()}
        status += built.solve(part, 50, 1e-9)["status"].tolist()
    assert status == wanted


def test_a_warm_trajectory_has_feedback():
    robot = robot_of("arm")
    drawn = problems("arm", 2)
    built = library("arm")
    solved = built.solve(drawn, 4, 1e-12)
    warm = drawn | {name: solved[name] for name in ("states", "tau", "K")}
    warm["q"] = drawn["q"] + 0.01
    results = built.solve(warm, 0, 0.0)
    for k, problem in enumerate(each(warm)):
        wanted = solve(robot, problem, 0, ALPHAS, 0.0)
        np.testing.assert_allclose(results["tau"][k], wanted["tau"], rtol=1e-10)


@pytest.mark.parametrize("count", [2, long(3)])
def test_a_base_that_nothing_drives(count):
    robot, drawn = robot_of("floating"), problems("floating", 3)
    limits = np.append(np.zeros(6), 1e3)
    drawn = {key: array[:count] for key, array in drawn.items()}
    drawn |= {"tau_min": np.tile(-limits, (count, 1)), "tau_max": np.tile(limits, (count, 1))}
    results = library("floating").solve(drawn, 6, 1e-12)
    assert not results["tau"][..., :6].any()
    assert np.abs(results["K"][..., :6, :]).max() < 1e-3
    for k, problem in enumerate(each(drawn)):
        wanted = solve(robot, problem, 6, ALPHAS, 1e-12)
        np.testing.assert_allclose(results["tau"][k], wanted["tau"], rtol=1e-6, atol=1e-8)


def test_nothing_beyond_the_memory_is_written():
    built = library("arm")
    built.solve(problems("arm", 3), 1, 0.0)
    size = built._library.rbdhw_solver_bytes(2)
    memory = built._local.memory = np.full(size + 4096, 0xA5, np.uint8)
    first = built._workspace(2) - memory.ctypes.data
    built.solve(problems("arm", 3), 4, 0.0)
    built.solve({key: array[:1] for key, array in problems("arm", 3).items()}, 4, 0.0)
    assert (memory[:first] == 0xA5).all()
    assert (memory[first + size :] == 0xA5).all()
    assert (memory[first + size - 64 : first + size] != 0xA5).any()


def test_large_batches_are_divided_among_threads():
    robot, texts = robot_of("arm"), files("arm", ALPHAS)
    drawn = {key: np.repeat(array, 70, axis=0) for key, array in problems("arm", 3).items()}
    one, three = (
        SolverLibrary(texts, robot, KNOTS, flags=["-O0"], threads=threads).solve(drawn, 4, 1e-12)
        for threads in (1, 3)
    )
    assert_close(three, one, 1e-9)
    assert_close({key: array[[0, 70, 140]] for key, array in three.items()}, expected("arm", 3), 1e-9)


def test_threads_share_a_library():
    built, drawn = library("arm"), problems("arm", 17)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: built.solve(drawn, 20, 1e-12)["tau"], range(40)))
    assert all(np.array_equal(tau, together[0]) for tau in together)


def test_a_constant_time_step_is_built_in():
    robot = replace(toy(), time_step=0.02)
    model = prepare(robot, ("step", "dstep"), most_traced=0.0)  # without the search for algorithms
    sources = trace_sources(model, ("step", "dstep"))
    texts = dynamics_files(robot, sources, ())
    texts |= solver_files(robot, sources[0].graph, trace_solver(model), KNOTS, ALPHAS)
    drawn = {key: array for key, array in problems("arm", 2).items() if key != "h"}
    results = SolverLibrary(texts, robot, KNOTS, flags=["-O0"]).solve(drawn, 4, 1e-12)
    assert_close(results, expected("arm", 2), 1e-9)


@pytest.mark.parametrize(
    ("robot", "compiler", "options"),
    [
        ("reaching", "the host's", ("-DRBDHW_VECTOR_BYTES=0",)),
        *(
            long("swinging", compiler, options)
            for compiler in COMPILERS
            for options in (("-DRBDHW_VECTOR_BYTES=0",), ("-DRBDHW_REAL=float",))
        ),
    ],
)
def test_no_compiler_warns(robot, compiler, options, tmp_path):
    for name, text in files(robot, ALPHAS).items():
        (tmp_path / name).write_text(text)
    for source in tmp_path.glob("dynamics*.c"):
        source.unlink()
    assert_no_warning(tmp_path, compiler, "-std=c11", *options)


@pytest.mark.verify
@pytest.mark.parametrize("name", ["arm", "floating"])
@pytest.mark.parametrize("vectors", [0, 64])
def test_nothing_is_undefined(name, vectors):
    """The sanitizer ends the process at the first operation that C leaves undefined."""
    flags = ["-fsanitize=undefined", "-fno-sanitize-recover=all", f"-DRBDHW_VECTOR_BYTES={vectors}"]
    results = library(name, flags=flags).solve(known(name, problems(name, 3)), 4, 1e-12)
    assert_close(results, expected(name, 3), 1e-9)


@pytest.mark.verify
def test_clang_solves_the_same(monkeypatch):
    monkeypatch.setenv("CC", shlex.join(CLANG))
    results = library("floating").solve(known("floating", problems("floating", 3)), 4, 1e-12)
    assert_close(results, expected("floating", 3), 1e-9)
