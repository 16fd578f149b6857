"""The bit-exact model in C: the bits of the NumPy evaluator and of the packets, on any compiler settings."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rbdhw.domain.sampling import sample
from rbdhw.model.packets import decode, encode, requests, responses
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import build_design
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled, path
from rbdhw.software.exact import model_files
from rbdhw.software.exact_library import ExactLibrary
from tests.support.bit_exact import assert_same_bits, draw_words, modes
from tests.support.compilers import CLANG, assert_no_warning, compiled
from tests.support.exact_builds import ALL, BUILDS, built
from tests.support.marks import long
from tests.support.strategies import ALL_KINDS, robots

pytestmark = pytest.mark.usefixtures("without_verilog")

LONG = ("pipeline", "float32", "proven", "floating", "array")
"""Builds whose words `make verify` alone compares; others of their tests are quick."""


@pytest.mark.parametrize("build", [long(name) if name in LONG else name for name in BUILDS])
def test_c_computes_the_bits_of_the_evaluator(build):
    design = built(build)
    library = ExactLibrary(design)
    seen = 0
    for function, extended in modes(design):
        words = draw_words(design, function, extended, 777)
        expected = respond(design, function, words, extended)
        assert_same_bits(library.respond(function, words, extended), expected)
        seen |= int(np.bitwise_or.reduce(expected[0]))
    assert seen & 1  # some tasks were outside their domain


TREES = robots(max_bodies=4, kinds=ALL_KINDS, mimics=True)
OPTIONS = st.builds(
    BuildOptions,
    functions=st.sampled_from([("id", "m"), ("did",)]),
    ii=st.sampled_from([8, 16]),
    core=st.sampled_from(["pipeline", "array"]),
    width=st.sampled_from([18, 24, 32]),
    samples=st.just(128),
)


@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TREES, OPTIONS, st.integers(0, 2**32 - 1))
def test_random_trees(robot, options, seed):
    assert_bits_of_the_evaluator(robot, options, seed)


@pytest.mark.verify(minutes=0.7)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TREES, OPTIONS, st.integers(0, 2**32 - 1))
def test_many_random_trees(robot, options, seed):
    assert_bits_of_the_evaluator(robot, options, seed)


def assert_bits_of_the_evaluator(robot, options, seed):
    design = build_design(robot, options)
    library = ExactLibrary(design, flags=["-O1"])
    for function, extended in modes(design):
        words = draw_words(design, function, extended, 200, seed)
        expected = respond(design, function, words, extended)
        assert_same_bits(library.respond(function, words, extended), expected)


@pytest.mark.parametrize("lanes", [long(1), long(2), 16])
def test_lanes_change_nothing(lanes):
    design = built("pipeline")
    library = ExactLibrary(design, flags=[f"-DRBDHW_LANES={lanes}", "-Wno-psabi"])
    words = draw_words(design, "fd", False, 100)
    assert_same_bits(library.respond("fd", words), respond(design, "fd", words))


@pytest.mark.parametrize("build", ["pipeline", long("array"), long("float32"), "by task"])
def test_arrays_are_converted_as_by_numpy(build):
    design = built(build)
    library = ExactLibrary(design)
    for function, extended in modes(design):
        if function == "difd" and extended:
            continue  # its inverse is no array of the samples
        arrays = sample(design.robot, design.domain, 300, np.random.default_rng(3), design.fext)
        arrays["q"][::3] += 2.0 * np.pi * np.arange(100)[:, np.newaxis] * np.array(design.domain.wraps)
        inputs, outputs = library.arrays(function)
        given = {
            array.name: np.ascontiguousarray(arrays[array.name]) for array in inputs if not array.optional
        }
        words = encode(design, function, given, extended)
        status, result_words = respond(design, function, words, extended)
        expected = decode(design, function, result_words, extended)
        results = {
            array.name: np.full((300, *array.shape), np.nan) for array in outputs if array.name in expected
        }
        assert np.array_equal(library.compute(function, given, results), status)
        for name, array in expected.items():
            assert np.array_equal(results[name], array), name


def test_large_batches_are_divided_among_threads():
    design = built("pipeline")
    words = draw_words(design, "id", False, 5001)
    alone = ExactLibrary(design, threads=1).respond("id", words)
    assert_same_bits(ExactLibrary(design, threads=3).respond("id", words), alone)


def test_numbers_outside_or_not_finite_are_flagged():
    design = built("pipeline")
    zeros = {name: np.zeros((3, 2)) for name in ("q", "v", "a")}
    zeros["v"][1, 0] = np.nan
    zeros["a"][2, 1] = np.inf
    zeros["a"][0, 0] = 1e6
    tau = np.zeros((3, 2))
    status = ExactLibrary(design).compute("id", zeros, {"tau": tau})
    assert (status.tolist(), np.isnan(tau).any(axis=1).tolist()) == ([1, 8, 8], [False, True, True])


PACKETS = """
#include <stdio.h>
#include <string.h>
#include "model.h"
int main(void)
{
    double q[2] = {0.25, -1.5}, v[2] = {0.5, 1.0}, tau[2] = {-2.0, 0.125}, da_dq[4], da_dv[4], Minv[4], a[2];
    unsigned char packet[RBDHW_DFD_REQUEST_BYTES], answer[RBDHW_DFD_RESPONSE_BYTES];
    const size_t bytes = RBDHW_NAME(dfd_request)(7u, 1, q, v, tau, packet);
    fwrite(packet, 1, bytes, stdout);
    if (fread(answer, 1, sizeof answer, stdin) != sizeof answer)
        return 1;
    const int status = RBDHW_NAME(dfd_response)(answer, da_dq, da_dv, Minv, a);
    fwrite(da_dq, sizeof(double), 4, stdout), fwrite(da_dv, sizeof(double), 4, stdout);
    fwrite(Minv, sizeof(double), 4, stdout), fwrite(a, sizeof(double), 2, stdout);
    return status + (int)RBDHW_NAME(header)(answer).tag;
}
"""


@pytest.mark.parametrize("build", [long("pipeline"), "float32"])
def test_packets_are_those_of_the_hardware(build, tmp_path):
    """A client in C writes a request and reads a response, byte for byte as Python does."""
    design = built(build)
    arrays = {"q": [[0.25, -1.5]], "v": [[0.5, 1.0]], "tau": [[-2.0, 0.125]]}
    words = encode(design, "dfd", {name: np.array(array) for name, array in arrays.items()}, True)
    request = requests(design, "dfd", np.array([7]), words, True)
    status, result_words = respond(design, "dfd", words, True)
    answer = responses(design, "dfd", np.array([7]), status, result_words, True)
    program = compiled(tmp_path, design, PACKETS)
    done = subprocess.run([program], input=answer.tobytes(), capture_output=True, check=False)
    assert done.returncode == 7 + int(status[0])
    assert done.stdout[: request.size] == request.tobytes()
    expected = decode(design, "dfd", result_words, True)
    numbers = np.concatenate([expected[name].ravel() for name in ("da_dq", "da_dv", "Minv", "a")])
    assert np.array_equal(np.frombuffer(done.stdout[request.size :]), numbers)


@pytest.mark.parametrize(
    ("compiler", "language"),
    [
        ("the host's", ("-std=c11", "-DRBDHW_LANES=1")),
        ("clang", ("-xc++", "-std=c++17")),
        long("the host's", ("-xc++", "-std=c++17")),
        long("clang", ("-std=c11", "-DRBDHW_LANES=1")),
    ],
)
def test_no_compiler_warns(compiler, language, tmp_path):
    for name, text in model_files(built("float32")).items():
        (tmp_path / name).write_text(text)
    assert_no_warning(tmp_path, compiler, *language)


@pytest.mark.parametrize("build", ["by task", long("32 bits")])
def test_clang_computes_the_same_bits(build, monkeypatch):
    monkeypatch.setenv("CC", shlex.join(CLANG))
    design = built(build)
    library = ExactLibrary(design)
    for function, extended in modes(design):
        words = draw_words(design, function, extended, 300)
        expected = respond(design, function, words, extended)
        assert_same_bits(library.respond(function, words, extended), expected)


def test_names_can_be_chosen(tmp_path):
    main = '#include "model.h"\nint main(void) { return (int)left_header((unsigned char[4]){9}).tag; }\n'
    program = compiled(tmp_path, built("float32"), main, "-DRBDHW_NAME(name)=left_##name")
    assert subprocess.run([program], check=False).returncode == 9


UNDEFINED = "-fsanitize=undefined -fno-sanitize-recover=all -O1 -DRBDHW_LANES=1"

SANITIZED = """
import sys
import numpy as np
from tests.support.headings import headings
from tests.support.exact_builds import built
from tests.support.bit_exact import assert_same_bits, draw_words, modes
from rbdhw.model.responses import respond
from rbdhw.software.exact_library import ExactLibrary
flags, *builds = sys.argv[1:]
for build in builds:
    with headings():
        design = built(build)
    library = ExactLibrary(design, flags=flags.split())
    for function, extended in modes(design):
        words = draw_words(design, function, extended, 500)
        found = library.respond(function, words, extended)
        assert_same_bits(found, respond(design, function, words, extended))
        inputs, outputs = library.arrays(function)
        far = {own.name: np.random.default_rng(1).normal(0, 1e6, (64, *own.shape)) for own in inputs}
        library.compute(function, far, {own.name: np.zeros((64, *own.shape)) for own in outputs})
"""


@pytest.mark.verify
@pytest.mark.parametrize("builds", [["32 bits", "float32"], ["pipeline", "array"]])
def test_nothing_is_undefined(builds):
    """The sanitizer ends the process at the first operation that C leaves undefined."""
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", SANITIZED, UNDEFINED, *builds]
    environment = os.environ | {"PYTHONPATH": root}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.verify(minutes=1)
@pytest.mark.parametrize(
    ("robot", "core"), [(robot, ("pipeline", "array")[k % 2]) for k, robot in enumerate(bundled())]
)
def test_bundled_robots(robot, core):
    large = robot == "atlas"
    settings = {"ii": 64 if large else 16, "core": core, "width": 18, "samples": 256}
    functions = ("id", "m", "minv", "fd") if large else ALL
    design = build_design(load_urdf(path(robot)), BuildOptions(functions=functions, **settings))
    library = ExactLibrary(design)
    for function, extended in modes(design):
        words = draw_words(design, function, extended, 10_000)
        assert_same_bits(
            library.respond(function, words, extended), respond(design, function, words, extended)
        )
