"""Articulated bodies beside the inverse of the mass matrix, and Pinocchio, on long chains."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.errors import InputError
from rbdhw.golden import articulated, dynamics
from rbdhw.golden.system import system
from rbdhw.robot.model import Inertia, JointKind
from tests.support.chains import chain
from tests.support.mechanisms import mechanism, with_mimic, with_random_drives
from tests.support.references import assert_close, references
from tests.support.strategies import random_states


def test_a_long_chain_is_pinocchio() -> None:
    robot = chain(articulated.LEAST_LINKS, "mixed")
    states = random_states(robot, 2, seed=1)
    solution = golden.evaluate(robot, "fd", states)
    expected = references(robot, "fd", states)["a"]
    assert np.abs(solution["a"] - expected).max() < 1e-9 * np.abs(expected).max()


def test_every_kind_of_joint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drives and a base that floats; the inverse of the mass matrix gives the same."""
    kinds = [kind for kind in JointKind if kind is not JointKind.FLOATING]
    robot = mechanism(kinds, range(-1, len(kinds) - 1), seed=2).with_floating_base()
    robot = with_random_drives(robot, seed=3)
    states = random_states(robot, 3, seed=4)
    dense = golden.evaluate(robot, "fd", states)
    monkeypatch.setattr(articulated, "LEAST_LINKS", 1)
    called = []
    monkeypatch.setattr(
        dynamics, "solve", lambda *arguments: called.append(arguments) or articulated.solve(*arguments)
    )
    assert_close(golden.evaluate(robot, "fd", states), dense)
    assert called


def test_a_joint_without_inertia(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(articulated, "LEAST_LINKS", 1)
    robot = chain(3)
    robot = robot.with_bodies([*robot.bodies[:2], replace(robot.bodies[2], inertia=Inertia())])
    with pytest.raises(InputError, match="singular mass matrix"):
        golden.evaluate(robot, "fd", random_states(robot, 2, seed=1))


def test_a_long_chain_with_a_mimic_is_not_solved_by_articulated_bodies() -> None:
    robot = chain(articulated.LEAST_LINKS)
    assert articulated.is_long(system(robot))
    assert not articulated.is_long(system(with_mimic(robot, 5, 2, multiplier=0.5, offset=0.0)))
