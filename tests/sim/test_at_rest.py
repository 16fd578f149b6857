"""Results that are zero at rest without gravity: exactly zero in hardware, which differences do not reach."""

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.design.folder import read, write
from rbdhw.front.run import run
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import generate
from rbdhw.protocol import FUNCTIONS
from rbdhw.robots import path
from tests.support.marks import long

ZERO = {
    "did": ("dtau_dq", "dtau_dv", "tau"),
    "dfd": ("da_dq", "da_dv", "a"),
    "sid": ("d2tau_dqdq", "d2tau_dqdv"),
    "sfd": ("d2a_dqdq", "d2a_dqdv"),
    "hid": ("H_qq", "H_qv"),
    "hfd": ("H_qq", "H_qv"),
}
"""The results that vanish where velocities, accelerations, forces and gravity do."""

TASKS = 50

STEP = 1e-6


@pytest.mark.parametrize(
    ("name", "functions", "ii"),
    [
        long("toy", ("did",), 4),
        long("toy", tuple(ZERO), 16),
    ],
)
def test_at_rest(tmp_path, name, functions, ii):
    options = BuildOptions(
        functions=functions, ii=ii, width=22, samples=512, mounting=Mounting(gravity=(0.0, 0.0, 0.0))
    )
    write(generate(path(name), options), tmp_path / "design")
    robot = read(tmp_path / "design").robot
    rng = np.random.default_rng(3)
    still = dict.fromkeys(("v", "a", "tau"), np.zeros((TASKS, robot.nv)))
    moving = {key: rng.uniform(-1.0, 1.0, (TASKS, robot.nv)) for key in ("q", "lambda_tau", "lambda_a")}
    np.savez(tmp_path / "tasks.npz", **moving, **still)
    for function in functions:
        results = {engine: computed(tmp_path, function, engine) for engine in ("model", "rtl")}
        for name_of, array in results["rtl"].items():
            np.testing.assert_array_equal(results["model"][name_of], array)
            if name_of in ZERO[function]:
                assert not array.any(), (function, name_of)
            else:
                assert name_of == "status" or array.any(), (function, name_of)
    assert forward_differences(robot, moving["q"]).any()


def computed(folder, function, engine):
    """Return the results of a function with its optional ones."""
    target = folder / f"{function}_{engine}.npz"
    extended = bool(FUNCTIONS[function].optional_outputs)
    run(folder / "design", function, folder / "tasks.npz", target, engine, extended=extended)
    with np.load(target) as arrays:
        return dict(arrays)


def forward_differences(robot, q):
    """Return the derivatives of forces by velocities at rest, by differences in double precision."""
    tasks = {"q": q, "a": np.zeros((len(q), robot.nv))}
    columns = [
        golden.evaluate(robot, "id", tasks | {"v": np.tile(STEP * unit, (len(q), 1))})["tau"] / STEP
        for unit in np.eye(robot.nv)
    ]
    return np.stack(columns, axis=-1)
