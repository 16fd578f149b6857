"""The hardware of stages that loop, bit for bit beside its program."""

from __future__ import annotations

import numpy as np
import pytest

from rbdhw.fixed.program import Program
from rbdhw.robot.model import BASE, JointKind, Robot
from tests.support.builds import random_words
from tests.support.mechanisms import mechanism
from tests.support.rtl_cores import Request, expected, responses
from tests.support.stage_loops import loop_core, search_of

TASKS = 12

TURN, SLIDE = JointKind.REVOLUTE, JointKind.PRISMATIC


def robot_of(kinds: str) -> Robot:
    joints = {"chain": [TURN, TURN], "mixed": [TURN, SLIDE, TURN], "turning": [JointKind.SPHERICAL]}[kinds]
    return mechanism(joints, range(BASE, len(joints) - 1), seed=3)


def spoiled(program: Program) -> dict[str, np.ndarray]:
    """Return words of which every third task has forces that lead beyond the formats, the sooner the later."""
    words = random_words(program, TASKS, seed=2)
    for word in program.inputs:
        if word.array in ("v", "tau"):
            words[word.name] //= 8
            if word.array == "tau":
                words[word.name][1::3] = word.format.highest
        if word.name == "h":
            words["h"][:] = np.linspace(word.lowest, word.highest, TASKS)
    return words


@pytest.mark.parametrize(
    ("kinds", "function", "window", "skip"),
    [
        ("chain", "rk4", 1, 0),
        ("mixed", "rk4", 2, 1),
        ("chain", "drk4", 1, 2),
        ("chain", "drk4", 2, 0),
        ("turning", "rk4", 3, 0),
    ],
)
def test_tasks_in_every_slot_and_with_pauses(kinds: str, function: str, window: int, skip: int) -> None:
    own = loop_core(search_of(robot_of(kinds), function), window)
    words, asked = spoiled(own.program), [Request(function)] * TASKS
    wanted = expected(own.program, words, asked)
    assert {overflow for _, overflow in wanted} == {False, True}
    assert responses(own.component(None), words, skip, asked) == wanted
