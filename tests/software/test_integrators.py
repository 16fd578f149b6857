"""Steps in time in generated C, in floating point."""

from pathlib import Path

import numpy as np
import pytest

import rbdhw
from rbdhw import golden
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import generate_software
from rbdhw.robots import path
from rbdhw.software.folder import write
from tests.support.marks import long

STEPS = ("step", "dstep", "rk4", "drk4")


@pytest.fixture(scope="module", params=[None, long(0.005)], ids=["own", "fixed"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return C of the toy, with a step of each task or a fixed one."""
    folder = tmp_path_factory.mktemp("steps") / "toy"
    options = BuildOptions(functions=STEPS, target="c", mounting=Mounting(time_step=request.param))
    write(generate_software(path("toy"), options), folder)
    return folder


@pytest.mark.parametrize("count", [1, 37])
@pytest.mark.parametrize("function", STEPS)
def test_c_is_golden(folder: Path, function: str, count: int) -> None:
    """One task and a batch; angles beyond a turn stay whole."""
    acc = rbdhw.load(folder)
    rng = np.random.default_rng(4)
    q, v, tau = rng.uniform(-8.0, 8.0, (3, count, 2))
    given = {"q": q, "v": v, "tau": tau}
    if acc.robot.time_step is None:
        given["h"] = rng.uniform(1e-3, 2e-2, count)
    answer, expected = getattr(acc, function)(**given), golden.evaluate(acc.robot, function, given)
    for name, array in expected.items():
        result = getattr(answer, name)
        np.testing.assert_allclose(result, array, rtol=0, atol=1e-12 * np.abs(array).max(), err_msg=name)
