"""The functions in C in floating point: any batch, any layout, any angle, any compiler."""

import shlex

import numpy as np
import pytest

from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled, path
from rbdhw.software.float_library import FloatLibrary
from tests.support.combinations import pairwise
from tests.support.compilers import CLANG, COMPILERS, assert_no_warning
from tests.support.marks import some
from tests.support.software import ROBOTS, TOLERANCE, Built, assert_close, built, compute, solvable_functions


def test_a_task_can_bring_its_inverse():
    assert built("toy").sources["difd"].extended is not None


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 64, 65, 200])
@pytest.mark.parametrize("columns", [False, True])
def test_batches_of_any_size(count, columns):
    software = built("toy")
    library, tasks = software.library(), software.tasks(count)
    for function in ("dfd", "minv"):
        results = compute(software, library, function, tasks, columns=columns)
        assert_close(results, software.expected(function, tasks), TOLERANCE["float64"])


@pytest.mark.parametrize("flags", [["-DRBDHW_VECTOR_BYTES=0"], ["-DRBDHW_VECTOR_BYTES=16"], ["-fopenmp"]])
def test_vectors_and_threads_change_nothing(flags):
    software = built("toy")
    tasks = software.tasks(3000)
    for columns in (False, True):
        results = compute(software, software.library(flags=flags), "dfd", tasks, columns=columns)
        assert_close(results, software.expected("dfd", tasks), TOLERANCE["float64"])


def test_large_batches_are_divided_among_threads():
    software = built("toy")
    tasks = software.tasks(5001)
    threads = FloatLibrary(software.texts, software.arrays, threads=3, flags=["-O1"])
    for columns in (False, True):
        one, other = (
            compute(software, library, "id", tasks, columns=columns)
            for library in (software.library(), threads)
        )
        assert np.array_equal(one["tau"], other["tau"])


@pytest.mark.parametrize("flags", [[], ["-DRBDHW_VECTOR_BYTES=0"]])
@pytest.mark.parametrize("turns", [0, 1, 1000, 10**6, 10**7, 10**8, 10**14])
def test_an_angle_of_any_size_is_reduced_exactly(turns, flags):
    """The inertia of two joints depends on the second angle's cosine alone; libm reduces it exactly."""
    software = built("toy")
    q = np.zeros((9, 2))
    q[:, 1] = 2.0 * np.pi * turns + np.linspace(-np.pi, np.pi, 9)
    near = np.zeros((9, 2))
    near[:, 1] = np.arctan2(np.sin(q[:, 1]), np.cos(q[:, 1]))
    library = software.library(flags=flags)
    inertia = compute(software, library, "m", {"q": q})["M"]
    assert inertia == pytest.approx(compute(software, library, "m", {"q": near})["M"], rel=1e-14)


def test_what_is_not_a_number_stays_with_its_task():
    software = built("toy")
    tasks = software.tasks(16)
    tasks["q"][3, 1] = np.nan
    tasks["q"][5, 1] = np.inf
    results = compute(software, software.library(), "m", tasks)["M"]
    assert np.flatnonzero(np.isnan(results).any(axis=(1, 2))).tolist() == [3, 5]
    fine = software.expected("m", {"q": np.delete(tasks["q"], [3, 5], axis=0)})["M"]
    assert np.delete(results, [3, 5], axis=0) == pytest.approx(fine, rel=1e-13)


@pytest.mark.parametrize(
    ("compiler", "language", "options"),
    some(
        pairwise(
            list(COMPILERS),
            [("-std=c11",), ("-xc++", "-std=c++17")],
            [("-DRBDHW_REAL=float", "-fopenmp"), ("-DRBDHW_VECTOR_BYTES=0",)],
        ),
        4,
    ),
)
def test_no_compiler_warns(compiler, language, options, tmp_path):
    for name, text in built("toy").texts.items():
        (tmp_path / name).write_text(text)
    assert_no_warning(tmp_path, compiler, *language, *options)


def test_clang_computes_the_graph(monkeypatch):
    monkeypatch.setenv("CC", shlex.join(CLANG))
    software = Built(ROBOTS["loaded"](), ("id",), "all")
    tasks = software.tasks(100)
    results = compute(software, software.library(), "id", tasks)
    assert_close(results, software.expected("id", tasks), TOLERANCE["float64"])


@pytest.mark.verify
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("robot", bundled())
def test_bundled_robots(robot, base):
    source = load_urdf(path(robot))
    if base == "floating" and not source.floats:
        source = source.with_floating_base()
    software = Built(source, solvable_functions(source))
    for number, tolerance in TOLERANCE.items():
        library = software.library(number)
        tasks = {name: array.astype(library.dtype) for name, array in software.tasks(64).items()}
        for function in software.sources:
            inverted = "inverse" in FUNCTIONS[function].algorithms
            if inverted and number == "float32":
                continue  # the condition of the mass matrix, not the C, sets the error
            most = 100 * tolerance if inverted else tolerance  # sums in another order, by the same condition
            assert_close(
                compute(software, library, function, tasks), software.expected(function, tasks), most
            )
