"""CUDA on the host, where a loop runs a kernel: chunks, divided graphs, the program that measures."""

import subprocess

import numpy as np
import pytest

from rbdhw.errors import InputError
from rbdhw.software import cuda
from rbdhw.software.kernel import Division
from tests.support.marks import long
from tests.support.software import ROBOTS, TOLERANCE, Built, assert_close, built, compute

pytestmark = pytest.mark.usefixtures("cuda_on_host")


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("columns", [False, True])
def test_chunks_and_blocks_of_any_size(count, columns):
    software = built("toy")
    tasks = software.tasks(count)
    library = software.cuda_library(flags=["-DRBDHW_CHUNK=50", "-DRBDHW_THREADS=32"])
    results = compute(software, library, "dfd", tasks, columns=columns)
    assert_close(results, software.expected("dfd", tasks), TOLERANCE["float64"])


def test_a_large_graph_is_divided(monkeypatch):
    monkeypatch.setattr(cuda, "MOST_NODES", 10)
    monkeypatch.setattr(cuda, "PARTS", Division(operations=20, vectors=1))
    software = Built(ROBOTS["toy"](), ("dfd",))
    assert "BLOCK void KERNEL(dfd_3)" in software.cuda["kernels.h"]
    tasks = software.tasks(70)
    results = compute(software, software.cuda_library(), "dfd", tasks)
    assert_close(results, software.expected("dfd", tasks), TOLERANCE["float64"])


def test_no_tasks():
    software = built("toy")
    assert compute(software, software.cuda_library(), "m", software.tasks(0))["M"].shape == (0, 2, 2)


def test_a_result_that_is_not_asked_for_is_not_written():
    software, outputs = built("toy"), {"a": np.full((5, 2), np.nan)}
    tasks = software.tasks(5)
    software.cuda_library().compute("fd", tasks, outputs)
    assert_close(outputs, {"a": software.expected("fd", tasks)["a"]}, TOLERANCE["float64"])


def measured(nvcc, texts, folder):
    """Run the program that measures, with fewer tasks than on a GPU; return what it did."""
    batches, fewer = "{16, 256, 4096, 65536, 262144}", "{16, 256, 300, 512, 4096}"
    assert batches in texts["measure.cu"]
    for name, text in texts.items():
        (folder / name).write_text(text.replace(batches, fewer))
    source = folder / "measure.cu"
    subprocess.run([nvcc, "-DRBDHW_CHUNK=1000", "-o", folder / "measure", source], check=True)
    return subprocess.run([folder / "measure"], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("robot", ["toy", long("floating")])
def test_the_program_measures_and_checks(cuda_on_host, robot, tmp_path):
    software = built(robot) if robot == "floating" else Built(ROBOTS[robot](), ("id", "m"))
    done = measured(cuda_on_host, software.cuda, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "the host, compute capability 0.0, float"
    assert len(done.stdout.splitlines()) == 2 + 5 * len(software.sources)


def test_the_program_finds_a_wrong_result(cuda_on_host, tmp_path):
    texts = Built(ROBOTS["toy"](), ("id",)).cuda
    wrong = texts["dynamics.cu"].replace("stride, stream, q, v, a, tau)", "stride, stream, q, a, v, tau)")
    assert wrong != texts["dynamics.cu"]
    done = measured(cuda_on_host, {**texts, "dynamics.cu": wrong}, tmp_path)
    assert (done.returncode, done.stderr) == (1, "an error is above 0.01\n")


def test_without_a_compiler_the_error_names_what_to_do(monkeypatch):
    monkeypatch.setenv("NVCC", "no-such-nvcc")
    software = built("toy")
    with pytest.raises(InputError, match="no-such-nvcc: no such program"):
        compute(software, software.cuda_library(), "dfd", software.tasks(1))
