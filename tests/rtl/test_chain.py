"""The hardware of a chain core, bit for bit beside its program."""

from __future__ import annotations

import numpy as np
import pytest

from rbdhw.cores.chain import ChainCore
from rbdhw.fixed.step_program import ChainProgram
from rbdhw.robot.model import Robot
from rbdhw.target import target
from tests.support.builds import random_words
from tests.support.chains import TREES, chain, options_of, program_of, tree
from tests.support.mechanisms import with_random_drives
from tests.support.rtl_cores import Request, expected, responses

TASKS = 8


def core(robot: Robot, window: int) -> ChainCore:
    program = program_of(robot)
    return ChainCore.build(program, target("xcvu9p"), options_of(len(robot.bodies), window), ())


def spoiled(program: ChainProgram) -> dict[str, np.ndarray]:
    """Return words of which every second task has the velocity of one link at the end of its format."""
    words = random_words(program, TASKS, seed=2)
    velocities = [word for word in program.inputs if word.array == "v"]
    for word in velocities:
        words[word.name] //= 4
    for task in range(1, TASKS, 2):
        word = velocities[task // 2 % len(velocities)]
        words[word.name][task] = word.format.highest
    return words


@pytest.mark.parametrize(
    ("branches", "kinds", "window", "skip"),
    [
        ("two arms", "turning", 1, 0),
        ("two roots", "mixed", 2, 1),
        pytest.param("a hand", "sliding", 3, 0, marks=pytest.mark.verify),
    ],
)
def test_robots_that_branch(branches: str, kinds: str, window: int, skip: int) -> None:
    own = core(tree(TREES[branches], kinds), window)
    words = spoiled(own.program)
    asked = [Request("fd")] * TASKS
    wanted = expected(own.program, words, asked)
    assert {overflow for _, overflow in wanted} == {False, True}
    assert responses(own.component(None), words, skip, asked) == wanted


@pytest.mark.parametrize(
    ("kinds", "links", "window", "skip"),
    [("turning", 5, 1, 0), ("turning", 4, 2, 2), ("mixed", 5, 3, 1), ("sliding", 3, 1, 0)],
)
def test_tasks_in_every_slot_and_with_pauses(kinds: str, links: int, window: int, skip: int) -> None:
    robot = chain(links, kinds)
    own = core(with_random_drives(robot, seed=1) if kinds == "mixed" else robot, window)
    words = spoiled(own.program)
    asked = [Request("fd")] * TASKS
    wanted = expected(own.program, words, asked)
    assert {overflow for _, overflow in wanted} == {False, True}
    assert responses(own.component(None), words, skip, asked) == wanted
