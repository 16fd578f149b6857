"""Closed loops with the Verilog in them: all that happens is what happens with the model, bit for bit."""

import shutil

import numpy as np
import pytest

import rbdhw
from examples.arm import run as arm
from examples.legs import run as legs
from examples.mppi import run as mppi
from examples.payload import run as payload
from examples.reach import run as reach
from rbdhw.control import task
from rbdhw.robots import path
from tests.support.marks import long
from tests.support.urdf_documents import joint, link, robot


@pytest.fixture
def losses(monkeypatch):
    """Lose every twentieth answer."""
    monkeypatch.setattr(task, "LOST", 0.05)


@pytest.fixture(autouse=True)
def one_design(monkeypatch):
    """Generate a design once: the second folder is a copy of the first."""
    made, generate = {}, rbdhw.generate

    def generated(robot, folder, **options):
        asked = repr((robot, options))
        if asked in made:
            shutil.copytree(made[asked], folder)
        else:
            generate(robot, folder, **options)
            made[asked] = folder

    monkeypatch.setattr(rbdhw, "generate", generated)


@pytest.mark.verify
@pytest.mark.usefixtures("losses")
@pytest.mark.parametrize(
    ("module", "options"),
    [
        (payload, ("--period", "0.4")),
        long(arm, ("--seconds", "0.2", "--knots", "6")),
        long(mppi, ("--steps", "6", "--samples", "16")),
        long(reach, ("--steps", "30", "--knots", "3")),
        long(legs, ("--robot", str(path("hyq")), "--task", "stand", "--seconds", "0.02", "--ii", "32")),
    ],
)
def test_verilog_in_the_loop_is_the_model(example, module, options):
    """Each answer decides what is asked next, so that one bit would change all that follows."""
    check_same(example, module, options)


@pytest.mark.verify
@pytest.mark.usefixtures("losses")
def test_two_legs_with_verilog_in_the_loop(example, tmp_path):
    parts = [joint("hip_left", "body", "left"), joint("hip_right", "body", "right")]
    (tmp_path / "legs.urdf").write_text(robot(link("body"), link("left"), link("right"), *parts))
    feet = "--feet", "left@0:0.1:-0.3,right@0:-0.1:-0.3", "--stance", "0.1,-0.1"
    options = "--robot", str(tmp_path / "legs.urdf"), *feet, "--task", "stand", "--seconds", "0.02"
    check_same(example, legs, (*options, "--ii", "32"))


def check_same(example, module, options):
    model, verilog = (example(module, *options, "--engine", engine) for engine in ("model", "driver"))
    for one, other in zip(model, verilog, strict=True):
        assert np.array_equal(one, other)
