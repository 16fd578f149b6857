"""CUDA on the host, where a loop stands for a kernel: the graph's numbers, in one launch and in chunks."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rbdhw
from rbdhw.config import BuildOptions
from rbdhw.errors import InputError
from rbdhw.pipeline import generate_software
from rbdhw.robots import path
from rbdhw.software import cuda
from rbdhw.software.folder import write
from rbdhw.software.kernel import Division
from tests.support.software import (
    ROBOTS,
    TOLERANCE,
    Built,
    assert_close,
    assert_computes_its_graphs,
    built,
    compute,
)
from tests.support.strategies import ALL_KINDS, random_states, robots

NVCC = Path(__file__).parents[1] / "support" / "cuda" / "nvcc"
"""Compiles CUDA for the host."""


@pytest.fixture(autouse=True)
def compile_for_the_host(monkeypatch):
    monkeypatch.setenv("NVCC", str(NVCC))


@pytest.mark.parametrize("number", TOLERANCE)
@pytest.mark.parametrize("robot", ROBOTS)
def test_every_function_computes_its_graph(robot, number):
    assert_computes_its_graphs(built(robot), built(robot).cuda_library(number))


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("columns", [False, True])
def test_chunks_and_blocks_of_any_size(count, columns):
    own = built("toy")
    tasks = own.tasks(count)
    library = own.cuda_library(flags=["-DRBDHW_CHUNK=50", "-DRBDHW_THREADS=32"])
    results = compute(own, library, "dfd", tasks, columns=columns)
    assert_close(results, own.expected("dfd", tasks), TOLERANCE["float64"])


def test_a_large_graph_is_divided(monkeypatch):
    monkeypatch.setattr(cuda, "MOST_NODES", 10)
    monkeypatch.setattr(cuda, "PARTS", Division(operations=20, vectors=1))
    own = Built(ROBOTS["toy"](), ("dfd",))
    assert "BLOCK void KERNEL(dfd_3)" in own.cuda["kernels.h"]
    tasks = own.tasks(70)
    results = compute(own, own.cuda_library(), "dfd", tasks)
    assert_close(results, own.expected("dfd", tasks), TOLERANCE["float64"])


def test_no_tasks():
    own = built("toy")
    assert compute(own, own.cuda_library(), "m", own.tasks(0))["M"].shape == (0, 2, 2)


def test_a_result_that_is_not_asked_for_is_not_written():
    own, outputs = built("toy"), {"a": np.full((5, 2), np.nan)}
    tasks = own.tasks(5)
    own.cuda_library().compute("fd", tasks, outputs)
    assert_close(outputs, {"a": own.expected("fd", tasks)["a"]}, TOLERANCE["float64"])


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(robots(max_bodies=4, kinds=ALL_KINDS, mimics=True), st.integers(0, 2**32 - 1))
def test_random_trees(robot, seed):
    own = Built(robot, ("id", "did"))
    tasks = random_states(robot, 40, seed)
    for function in own.sources:
        expected = own.expected(function, tasks)
        assert_close(compute(own, own.cuda_library(), function, tasks), expected, TOLERANCE["float64"])


def measured(texts, folder):
    """Run the program that measures, with fewer tasks than on a GPU; return what it did."""
    batches, fewer = "{16, 256, 4096, 65536, 262144}", "{16, 256, 300, 512, 4096}"
    assert batches in texts["measure.cu"]
    for name, text in texts.items():
        (folder / name).write_text(text.replace(batches, fewer))
    source = folder / "measure.cu"
    subprocess.run([NVCC, "-DRBDHW_CHUNK=1000", "-o", folder / "measure", source], check=True)
    return subprocess.run([folder / "measure"], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("robot", ["toy", "floating"])
def test_the_program_measures_and_checks(robot, tmp_path):
    done = measured(built(robot).cuda, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "the host, compute capability 0.0, float"
    assert len(done.stdout.splitlines()) == 2 + 5 * len(built(robot).sources)


def test_the_program_finds_a_wrong_result(tmp_path):
    texts = built("toy").cuda
    wrong = texts["dynamics.cu"].replace("stride, stream, q, v, a, tau)", "stride, stream, q, a, v, tau)")
    assert wrong != texts["dynamics.cu"]
    done = measured({**texts, "dynamics.cu": wrong}, tmp_path)
    assert (done.returncode, done.stderr) == (1, "an error is above 0.01\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("cuda") / "toy"
    write(generate_software(path("toy"), BuildOptions(functions=("id", "dfd"), target="cuda")), made)
    return made


def test_cuda_is_loaded_as_an_object(folder):
    q, v, tau = np.random.default_rng(0).uniform(-1, 1, (3, 20, 2))
    found = rbdhw.load(folder).dfd(q, v, tau, extended=True)
    golden = rbdhw.load(folder, engine="golden").dfd(q, v, tau, extended=True)
    assert found._fields == golden._fields == ("da_dq", "da_dv", "Minv", "a", "status")
    for one, other in zip(found, golden, strict=True):
        assert one == pytest.approx(other, rel=1e-12, abs=1e-12)


def test_without_a_compiler_the_error_names_what_to_do(folder, monkeypatch):
    monkeypatch.setenv("NVCC", "no-such-nvcc")
    with pytest.raises(InputError, match="no-such-nvcc: no such program"):
        rbdhw.load(folder).dfd(*np.zeros((3, 1, 2)))


def test_the_command_line_writes_it(rbdhw, tmp_path):
    status, out, err = rbdhw(
        "generate", path("toy"), "-o", tmp_path / "made", "--target", "cuda", "--functions", "m"
    )
    assert (status, err) == (0, "")
    assert "toy (2 joints) in CUDA" in out
