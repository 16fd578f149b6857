"""Second derivatives in C: bit-exact and in floating point, and from Python."""

import numpy as np
import pytest

import rbdhw
from rbdhw import golden
from rbdhw.design.folder import read, write
from rbdhw.domain.strata import ordinary_motions
from rbdhw.errors import InputError
from rbdhw.front.run import run
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate, generate_software
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.kernel_use import measure_kernels
from tests.support.marks import long
from tests.support.software import TOLERANCE, Built, compute

pytestmark = pytest.mark.usefixtures("without_verilog")

SECOND = ("sid", "sfd", "hid", "hfd")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return an accelerator with all second derivatives of the toy."""
    folder = tmp_path_factory.mktemp("second") / "toy"
    write(generate(path("toy"), BuildOptions(functions=SECOND, ii=8, width=24, samples=512)), folder)
    return folder


@pytest.mark.usefixtures("cuda_on_host")
@pytest.mark.parametrize("target", ["c", long("cuda")])
def test_floating_point_is_the_interpreter(target):
    built = Built(load_urdf(path("toy")).with_floating_base(), ("sid", "hid"))
    library = built.library() if target == "c" else built.cuda_library()
    tasks = built.tasks(50) | {"lambda_tau": np.random.default_rng(1).normal(size=(50, built.robot.nv))}
    for function in ("sid", "hid"):
        results, expected = compute(built, library, function, tasks), built.expected(function, tasks)
        for name, array in expected.items():
            error = np.abs(results[name] - array).max()
            assert error <= TOLERANCE["float64"] * max(1.0, np.abs(array).max()), name


@pytest.mark.parametrize(
    ("name", "functions"),
    [
        ("toy", ("hid",)),
        long("toy", SECOND),
        pytest.param("iiwa14", ("hid", "hfd"), marks=pytest.mark.verify(minutes=2)),
    ],
)
def test_kernels_compile(name, functions):
    """NVIDIA's compiler takes the kernels; those of a small robot need no memory beside registers."""
    sources = generate_software(path(name), BuildOptions(functions, target="cuda")).sources
    used = measure_kernels(sources, "sm_80", ["-DRBDHW_REAL=float"])
    assert set(used) == set(functions)
    assert name != "toy" or {kernel.spill_loads for kernel in used.values()} == {0}


@pytest.mark.parametrize("engine", ["model", long("golden")])
def test_from_python(folder, engine):
    accelerator = rbdhw.load(folder, engine)
    design = read(folder)
    arrays = ordinary_motions(design.robot, design.domain, 5, np.random.default_rng(3))
    for function in SECOND:
        arguments = {name: arrays[name] for name in FUNCTIONS[function].inputs if name in arrays}
        del arguments["fext"]
        answer = getattr(accelerator, function)(**arguments)
        expected = golden.evaluate(design.robot, function, arguments)
        for name, array in expected.items():
            result = getattr(answer, name)
            assert result.shape == array.shape
            assert np.abs(result - array).max() <= 1e-2 * np.abs(array).max()
        assert not answer.status.any()
        one = getattr(accelerator, function)(**{name: array[2] for name, array in arguments.items()})
        np.testing.assert_array_equal(one[0], answer[0][2])


@pytest.mark.parametrize("function", SECOND)
def test_c_fills_the_same_arrays_as_numpy(folder, function):
    """Elements that share a word and mirror images, with their signs, in every bit."""
    design = read(folder)
    arrays = ordinary_motions(design.robot, design.domain, 40, np.random.default_rng(8))
    arguments = {name: arrays[name] for name in FUNCTIONS[function].inputs if name in arrays}
    del arguments["fext"]
    compiled, expected = (
        getattr(rbdhw.load(folder, engine), function)(**arguments) for engine in ("model", "numpy")
    )
    for name in (*FUNCTIONS[function].outputs, "status"):
        np.testing.assert_array_equal(getattr(compiled, name), getattr(expected, name), err_msg=name)
        assert not np.signbit(getattr(compiled, name)[getattr(compiled, name) == 0.0]).any()


def test_multipliers_of_wrong_length_are_refused(folder):
    accelerator = rbdhw.load(folder)
    nv = accelerator.robot.nv
    with pytest.raises(InputError, match=r"array 'lambda_a': shape \(3,\); expected \(2,\) for one"):
        accelerator.hfd(np.zeros(nv), np.zeros(nv), np.zeros(nv), np.zeros(nv + 1))


@pytest.mark.parametrize(
    ("shape", "refusal"),
    [
        ((3, 3), r"array 'lambda_a': shape \(3, 3\); expected \(3, 2\)"),
        ((4, 2), r"array 'lambda_a': shape \(4, 2\); expected \(3, 2\)"),
        (None, r"array 'lambda_a': missing; expected q, v, tau, lambda_a for hfd"),
    ],
)
@pytest.mark.parametrize("engine", ["model", "golden"])
def test_multipliers_of_a_file_are_checked(folder, tmp_path, engine, shape, refusal):
    arrays = {name: np.zeros((3, 2)) for name in ("q", "v", "tau")}
    arrays |= {} if shape is None else {"lambda_a": np.zeros(shape)}
    np.savez(tmp_path / "tasks.npz", **arrays)
    with pytest.raises(InputError, match=refusal):
        run(folder, "hfd", tmp_path / "tasks.npz", tmp_path / "out.npz", engine)
    assert not (tmp_path / "out.npz").exists()
