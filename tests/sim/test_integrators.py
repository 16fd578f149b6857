"""Steps in time in the hardware and its models: every bit, from Python, and what is flagged."""

from pathlib import Path

import numpy as np
import pytest

import rbdhw
from rbdhw import golden
from rbdhw.design.folder import read, write
from rbdhw.errors import InputError
from rbdhw.model.packets import OUTSIDE, OVERFLOW, encode
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import generate
from rbdhw.robots import path
from tests.support.headings import headings

STEPS = ("step", "dstep", "rk4", "drk4")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an accelerator of the toy with all integrators, without Verilog."""
    folder = tmp_path_factory.mktemp("steps") / "toy"
    options = BuildOptions(functions=("id", *STEPS), ii=4, width=24, samples=512)
    with headings():
        write(generate(path("toy"), options), folder)
    return folder


@pytest.mark.parametrize("engine", ["model", "numpy", "golden"])
@pytest.mark.parametrize("function", STEPS)
def test_from_python(folder: Path, function: str, engine: str) -> None:
    acc = rbdhw.load(folder, engine)
    rng = np.random.default_rng(2)
    q, v, tau = rng.uniform(-1.0, 1.0, (3, 5, 2))
    results = getattr(acc, function)(q, v, tau, 0.01)
    given = {"q": q, "v": v, "tau": tau, "h": np.full(5, 0.01)}
    expected = golden.evaluate(acc.robot, function, given)
    assert results._fields == (*expected, "status")
    for name, array in expected.items():
        change = np.abs(array - np.hstack([q, v])).max() if name == "x_next" else np.abs(array).max()
        np.testing.assert_allclose(getattr(results, name), array, atol=2e-3 * change)


def test_the_step_is_checked(folder: Path) -> None:
    acc = rbdhw.load(folder)
    q, v, tau = np.zeros((3, 4, 2))
    status = acc.step(q, v, tau, np.array([0.01, 0.0, -0.01, 0.03])).status
    assert status.tolist() == [0, OUTSIDE, OUTSIDE, OUTSIDE]
    with pytest.raises(InputError, match="array 'h': missing"):
        acc.step(q, v, tau)


def test_a_state_beyond_its_formats_is_flagged(folder: Path) -> None:
    """Formats hold what tasks of the domain lead to; words at their largest lead beyond."""
    design = read(folder)
    arrays = {name: np.zeros((1, 2)) for name in ("q", "v", "tau")} | {"h": np.full(1, 0.02)}
    words = encode(design, "step", arrays)
    assert respond(design, "step", words)[0] == [0]
    for word in design.interface.inputs("step"):
        if word.name in ("v[1]", "tau[1]"):
            words[word.name] = np.array([word.format.highest])
    assert respond(design, "step", words)[0] == [OUTSIDE | OVERFLOW]


@pytest.mark.usefixtures("only_heading")
def test_a_fixed_step(tmp_path: Path) -> None:
    options = BuildOptions(
        functions=("step",), ii=2, width=24, samples=256, mounting=Mounting(time_step=0.004)
    )
    write(generate(path("toy"), options), tmp_path / "toy")
    acc = rbdhw.load(tmp_path / "toy")
    assert acc.manifest["robot"]["time_step"] == 0.004
    q, v, tau = np.array([0.3, -0.2]), np.array([1.0, 0.5]), np.array([2.0, 0.0])
    expected = golden.evaluate(acc.robot, "step", {"q": q[None], "v": v[None], "tau": tau[None]})
    np.testing.assert_allclose(acc.step(q, v, tau).x_next, expected["x_next"][0], atol=1e-5)
    with pytest.raises(InputError, match=r"this build has a time step of 0\.004 s"):
        acc.step(q, v, tau, 0.004)
