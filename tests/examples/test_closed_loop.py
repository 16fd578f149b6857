"""Closed loops with each kind of folder."""

import numpy as np
import pytest

from examples.arm import run as arm
from examples.legs import run as legs
from examples.payload import run as payload
from rbdhw.robots import path
from rbdhw.software import solver_library
from tests.support.marks import long


@pytest.fixture(autouse=True)
def quick_compilation(monkeypatch):
    monkeypatch.setattr(solver_library, "OPTIMISED", ("-O1",))


@pytest.mark.parametrize("engine", ["c", long("golden"), long("model")])
@pytest.mark.parametrize("task", [long("eight"), "reach"])
@pytest.mark.usefixtures("without_verilog")
def test_the_tip_follows_its_goals(example, task, engine):
    options = "--seconds", "1", "--knots", "10", "--engine", engine
    positions, goals, _ = example(arm, "--task", task, *options)
    errors = np.linalg.norm(positions - goals, axis=1)
    if task == "eight":
        assert errors[500:].max() < 0.004
    else:
        assert errors[[0, 800]].min() > 0.02  # goals jump here
        assert errors[500:600].max() < 0.01


@pytest.mark.parametrize("engine", ["c", long("golden"), long("model")])
@pytest.mark.usefixtures("without_verilog")
def test_a_load_is_felt_until_it_is_told(example, engine):
    told, never, _ = example(payload, "--period", "1", "--engine", engine)
    rms = np.array(
        [[np.sqrt((part**2).mean()) for part in np.array_split(error, 3)] for error in (told, never)]
    )
    assert rms[:, 1].min() > 2.0 * rms[:, 0].max()
    assert rms[0, 2] < 0.6 * rms[1, 2]
    assert np.abs(told[-50:]).max() < 0.2 * np.abs(never[-50:]).max()


@pytest.mark.verify
@pytest.mark.parametrize("task", ["stand", "trot"])
@pytest.mark.parametrize("engine", ["c", "golden"])
def test_a_quadruped_stays_up(example, task, engine):
    """It is pushed from 0.9 to 1 s; a trot has taken two steps by then."""
    positions, goal, _ = example(
        legs, "--robot", str(path("hyq")), "--task", task, "--seconds", "1.1", "--engine", engine
    )
    assert np.abs(positions[:, 2] - positions[0, 2]).max() < 0.02
    assert np.linalg.norm(positions[-1] - goal) < 0.06
    moved = np.linalg.norm(positions[-1, :2] - positions[0, :2])
    assert moved > (0.15 if task == "trot" else 0.004)


@pytest.mark.verify
def test_a_quadruped_trots_by_plans_with_contacts(example):
    options = "--task", "trot", "--control", "plan", "--seconds", "1.1", "--engine", "c"
    positions, goal, _ = example(legs, "--robot", str(path("hyq")), *options)
    assert np.abs(positions[:, 2] - positions[0, 2]).max() < 0.06
    assert np.linalg.norm(positions[-1] - goal) < 0.1
    assert positions[-1, 0] - positions[0, 0] > 0.15
