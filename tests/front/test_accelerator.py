"""A generated folder as an object: one task or a batch, every engine, Pinocchio's layout, clear errors."""

import inspect
import os
import re
from pathlib import Path

import numpy as np
import pytest

import rbdhw
from rbdhw import progress
from rbdhw.design.folder import write
from rbdhw.errors import InputError
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import generate
from rbdhw.robots import path
from rbdhw.software import exact_library
from rbdhw.software.compiler import CompilerError, find_compiler
from rbdhw.software.cuda_library import find_nvcc
from tests.support.marks import long

pytestmark = pytest.mark.usefixtures("without_verilog")

NV = 2
DENSE = {"products": "dense"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("host") / "toy"
    options = BuildOptions(
        functions=("id", "fd", "dfd", "difd"), width=24, ii=4, samples=256, algorithms=DENSE
    )
    write(generate(path("toy"), options), made)
    return made


@pytest.fixture
def acc(folder):
    return rbdhw.load(folder)


def tasks(count, seed=0):
    return np.random.default_rng(seed).uniform(-0.5, 0.5, (3, count, NV))


def test_one_task(acc):
    q, v, tau = tasks(1)[:, 0]
    results = acc.fd(q, v, tau)
    assert results._fields == ("a", "status")
    assert (results.a.shape, results.status) == ((NV,), 0)
    golden = rbdhw.load(acc.folder, engine="golden").fd(q, v, tau)
    assert results.a == pytest.approx(golden.a, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("engine", ["model", "numpy", "golden"])
def test_a_batch_is_its_tasks(folder, engine):
    acc = rbdhw.load(folder, engine=engine)
    q, v, tau = tasks(5)
    batch = acc.dfd(q, v, tau, extended=True)
    assert batch._fields == ("da_dq", "da_dv", "Minv", "a", "status")
    for k in range(5):
        one = acc.dfd(q[k], v[k], tau[k], extended=True)
        for array, row in zip(batch[:-1], one[:-1], strict=True):
            assert array[k] == pytest.approx(row, rel=1e-12)
        assert batch.status[k] == one.status


def test_batches_have_any_axes_before(acc):
    """Tasks are answered in their shape; what has no axes serves all."""
    q, v, tau = tasks(6)
    flat = acc.dfd(q, v[0], tau)
    shaped = acc.dfd(q.reshape(2, 1, 3, NV), v[0], tau.reshape(2, 1, 3, NV))
    assert (shaped.da_dq.shape, shaped.status.shape) == ((2, 1, 3, NV, NV), (2, 1, 3))
    np.testing.assert_array_equal(shaped.da_dv.reshape(6, NV, NV), flat.da_dv)
    with pytest.raises(InputError, match=r"arrays: 2x3 of q, 3x2 of v; expected as many tasks in each"):
        acc.fd(q.reshape(2, 3, NV), v.reshape(3, 2, NV), tau[0])


def test_engines_agree_bit_for_bit(folder):
    q, v, tau = tasks(50)
    q[3, 0] = 100.0
    answers = [rbdhw.load(folder, engine=engine).dfd(q, v, tau) for engine in ("model", "numpy")]
    for one, other in zip(*answers, strict=True):
        assert np.array_equal(one, other)
    assert answers[0].status[3] == 1


def test_an_array_of_one_task_serves_a_batch(acc):
    q, v, a = tasks(4)
    assert np.array_equal(acc.id(q, v, a[0]).tau, acc.id(q, v, np.tile(a[0], (4, 1))).tau)


def test_a_batch_of_no_tasks(acc):
    results = acc.id(*np.zeros((3, 0, NV)))
    assert (results.tau.shape, results.status.shape) == ((0, NV), (0,))


def test_an_inverse_can_be_given(folder):
    acc, golden = rbdhw.load(folder), rbdhw.load(folder, engine="golden")
    q, v, tau = tasks(3)
    solved = golden.dfd(q, v, tau, extended=True)
    given = acc.difd(q, v, solved.a, Minv=solved.Minv)
    assert given.da_dq == pytest.approx(solved.da_dq, rel=1e-2, abs=1e-2)


def test_methods_have_the_arrays_as_parameters(acc):
    assert list(inspect.signature(acc.difd).parameters)[:3] == ["q", "v", "a"]
    assert "derivatives of forward dynamics" in acc.dfd.__doc__
    assert repr(acc).endswith("of robot 'toy': id, fd, dfd, difd; engine model>")


def test_pinocchio_layout(tmp_path):
    """A continuous joint travels as cosine and sine in Pinocchio's own configuration."""
    urdf = path("toy").read_text().replace('type="revolute"', 'type="continuous"')
    (tmp_path / "wheel.urdf").write_text(urdf)
    write(generate(tmp_path / "wheel.urdf", BuildOptions(width=18, ii=4, samples=256)), tmp_path / "design")
    acc = rbdhw.load(tmp_path / "design")
    q = np.array([0.5, -3.0])
    circle = np.stack([np.cos(q), np.sin(q)], axis=1).ravel()
    assert np.array_equal(acc.id(circle, q, q).tau, acc.id(q, q, q).tau)
    assert np.array_equal(acc.id(q + 2e6 * np.pi, q, q).tau, acc.id(q, q, q).tau)


def test_base_and_gravity_by_task(tmp_path):
    options = BuildOptions(
        width=18, ii=4, samples=256, fext="all", mounting=Mounting(base="given", gravity="task")
    )
    write(generate(path("toy"), options), tmp_path / "design")
    acc, q = rbdhw.load(tmp_path / "design"), np.zeros(NV)
    base = {"base_v": np.zeros(6), "base_a": np.zeros(6), "gravity": [0.0, 0.0, -9.81]}
    pulled = acc.id(q, q, q, **base, fext=np.full((NV, 6), 1.0))
    assert not np.array_equal(pulled.tau, acc.id(q, q, q, **base).tau)
    with pytest.raises(InputError, match="gravity"):
        acc.id(q, q, q, base_v=np.zeros(6), base_a=np.zeros(6))


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda acc: acc.m(np.zeros(2)), "function 'm'"),
        (lambda acc: acc.id(np.zeros((4, 2)), np.zeros((3, 2)), np.zeros(2)), "4 of q, 3 of v"),
        (lambda acc: acc.id(np.zeros((1, 1, 3)), np.zeros(2), np.zeros(2)), "array 'q'"),
        (lambda acc: acc.difd(*np.zeros((3, 2)), Minv=np.array([[1.0, 2.0], [0.0, 1.0]])), "symmetric"),
        (lambda acc: rbdhw.load(acc.folder, engine="cuda"), "engine 'cuda'"),
        (lambda acc: rbdhw.load(acc.folder / "none"), "no such folder"),
    ],
)
def test_bad_input_is_refused(acc, call, reason):
    with pytest.raises(InputError) as refusal:
        call(acc)
    assert reason in str(refusal.value)


def test_without_a_compiler(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    acc = rbdhw.load(folder)
    with pytest.raises(InputError, match="C compiler"):
        acc.id(*tasks(1)[:, 0])
    monkeypatch.setenv("CC", "nocc")
    with pytest.raises(InputError, match="CC=nocc"):
        acc.id(*tasks(1)[:, 0])


@pytest.mark.parametrize(
    "damage", [lambda file: os.truncate(file, 4096), long(lambda file: file.write_bytes(b""))]
)
def test_a_damaged_library_is_compiled_again(folder, monkeypatch, tmp_path, damage):
    """A library that is cut short would end the process when it is called."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    q, v, tau = tasks(1)[:, 0]
    expected = rbdhw.load(folder).id(q, v, tau).tau
    (library,) = (tmp_path / "rbdhw").glob("model-*.so")
    library.rename(tmp_path / "open.so")  # it stays mapped
    library.write_bytes((tmp_path / "open.so").read_bytes())
    damage(library)
    assert np.array_equal(rbdhw.load(folder).id(q, v, tau).tau, expected)


@pytest.mark.parametrize("variable", ["CC", "NVCC"])
def test_a_command_with_an_open_quotation_is_refused(monkeypatch, variable):
    monkeypatch.setenv(variable, 'cc "-O2')
    with pytest.raises(InputError, match=rf'{variable}=cc "-O2: cannot be split \(No closing quotation\)'):
        {"CC": find_compiler, "NVCC": find_nvcc}[variable]()


def test_a_compiler_that_fails_leaves_its_log(folder, monkeypatch, tmp_path):
    (tmp_path / "cc").write_text("#!/bin/sh\necho it broke\nexit 3\n")
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(CompilerError, match="failed with status 3; log: ") as failure:
        rbdhw.load(folder).id(*tasks(1)[:, 0])
    log = str(failure.value).partition("log: ")[2].partition("\n")[0]
    assert str(failure.value).endswith("\n  it broke")
    assert Path(log).read_text() == "it broke\n"


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """The commands of a compiler that takes a second."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiler = find_compiler()[0]
    (tmp_path / "cc").write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/commands\nsleep 1\nexec {compiler} "$@"\n'
    )
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("CC", str(tmp_path / "cc"))
    return tmp_path / "commands"


@pytest.mark.usefixtures("recorded")
def test_a_long_compilation_is_announced(folder, monkeypatch, capsys):
    monkeypatch.setattr(progress, "LASTING", 0.0)
    rbdhw.load(folder).id(*tasks(1)[:, 0])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(" compiling id of the bit-exact model, once; engine numpy needs no compiler")


def test_a_large_program_is_compiled_without_optimisation(folder, recorded, monkeypatch):
    expected = rbdhw.load(folder).fd(*tasks(5))
    monkeypatch.setattr(exact_library, "MOST_OPTIMISED", 10)
    answer = rbdhw.load(folder).fd(*tasks(5))
    assert all(map(np.array_equal, answer, expected))
    levels = [re.findall(r"-O\d", line)[-1] for line in recorded.read_text().splitlines() if " -o " in line]
    assert levels == ["-O2", "-O0"]
