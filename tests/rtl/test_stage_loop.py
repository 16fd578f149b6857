"""The hardware of stages that loop, bit for bit beside its program."""

from __future__ import annotations

import numpy as np
import pytest

from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.domain.sampling import sample
from rbdhw.explore.search import BuildSearch
from rbdhw.fixed.program import Program
from rbdhw.robot.model import BASE, JointKind, Robot
from rbdhw.sim.packets import quantise
from tests.support.mechanisms import mechanism
from tests.support.rtl_cores import Request, expected, responses
from tests.support.stage_loops import loop_core, search_of

TASKS = 12

TURN, SLIDE = JointKind.REVOLUTE, JointKind.PRISMATIC


def robot_of(kinds: str) -> Robot:
    joints = {"chain": [TURN, TURN], "mixed": [TURN, SLIDE], "turning": [JointKind.SPHERICAL]}[kinds]
    return mechanism(joints, range(BASE, len(joints) - 1), seed=3)


def words_of(search: BuildSearch, program: Program) -> dict[str, np.ndarray]:
    """Return words of tasks of which every third one has forces that lead beyond the formats."""
    own, rng = search.prepared, np.random.default_rng(2)
    arrays = sample(own.model.source, own.domain, TASKS, rng, limited=True)
    reals = graph_inputs(own.model.source, arrays)
    words = {word.name: quantise(word, reals[word.name]) for word in program.inputs}
    for word in program.inputs:
        if word.array == "tau":
            words[word.name][1::3] = word.format.highest
    return words


@pytest.mark.parametrize(
    ("kinds", "function", "window", "skip"),
    [
        ("chain", "rk4", 1, 0),
        ("mixed", "rk4", 2, 1),
        ("chain", "drk4", 1, 2),
        ("turning", "rk4", 3, 0),
        pytest.param("mixed", "drk4", 2, 0, marks=pytest.mark.verify),
    ],
)
def test_tasks_in_every_slot_and_with_pauses(kinds: str, function: str, window: int, skip: int) -> None:
    search = search_of(robot_of(kinds), function)
    own = loop_core(search, window)
    words, asked = words_of(search, own.program), [Request(function)] * TASKS
    wanted = expected(own.program, words, asked)
    assert {overflow for _, overflow in wanted} == {False, True}
    assert responses(own.component(None), words, skip, asked) == wanted
