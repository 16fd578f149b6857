"""Bad requests: the RTL answers with a status and the task's tag, and the next task is correct."""

import pytest

from rbdhw.design.folder import read, write
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import build_design, generate
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robot.model import BASE, JointKind
from rbdhw.robots import path
from rbdhw.verilator.bulk import build, exchange
from rbdhw.verilator.simulator import Disturbance
from tests.support.disturbed import KINDS, answered, disturbed
from tests.support.marks import long
from tests.support.mechanisms import mechanism


@pytest.mark.parametrize(
    ("functions", "number", "data_width", "ii"),
    [
        long(("did",), "float32", 32, 4),
        long(("id", "m", "difd"), "fixed", 64, 2),
        long(DEFAULT_FUNCTIONS, "float32", 128, 3),
        long(("fd", "difd"), "float32", 32, 1),
    ],
)
def test_a_generated_accelerator(tmp_path, functions, number, data_width, ii):
    options = BuildOptions(
        functions=functions, ii=ii, width=18, fext="all", data_width=data_width, number=number, samples=1024
    )
    pendulum = mechanism([JointKind.REVOLUTE], [BASE], seed=2)
    built = build_design(pendulum, options) if len(functions) == 1 else generate(path("toy"), options)
    write(built, tmp_path / "design")
    design = read(tmp_path / "design")
    simulator, tasks = build(tmp_path / "design"), 120 if len(functions) == 1 else 400
    for seed, traffic in enumerate((Disturbance(), Disturbance(0.3, 0.3, 5), Disturbance(0.0, 0.8, 6))):
        stream = disturbed(design, tasks, seed)
        (outcome,) = exchange(simulator, [stream.beats], traffic)
        assert outcome.violations == 0
        assert answered(design, outcome.responses) == stream.expected
        assert set(stream.kinds) == set(KINDS) - ({"not_finite"} if number == "fixed" else set())
