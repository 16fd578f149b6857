"""The hardware of stages that loop, bit for bit beside its program."""

import numpy as np
import pytest

from rbdhw.cores.steps.loop import LoopCore
from rbdhw.domain.forces import Forces
from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.domain.sampling import sample
from rbdhw.explore.search import BuildSearch
from rbdhw.fixed.lower import InputRange
from rbdhw.fixed.program import Program
from rbdhw.fixed.steps import lower_steps, unroll_program
from rbdhw.fixed.widths import plain_widths
from rbdhw.graph.joined_steps import join_steps
from rbdhw.graph.sweeps import Constant, Shared, Sweep, Sweeps
from rbdhw.graph.trace import Recorder
from rbdhw.model.packets import quantise
from rbdhw.options.build import BuildOptions
from rbdhw.quantize.steps import task_words
from rbdhw.robot.model import BASE, JointKind, Robot
from rbdhw.target import target
from tests.support.marks import long
from tests.support.mechanisms import mechanism
from tests.support.rtl_cores import Request, expected, responses
from tests.support.stage_loops import loop_core, search_of

TASKS = 12

TURN, SLIDE = JointKind.REVOLUTE, JointKind.PRISMATIC

JOINTS = {
    "slide": [SLIDE],
    "pendulum": [TURN],
    "chain": [TURN, TURN],
    "mixed": [TURN, SLIDE],
    "turning": [JointKind.SPHERICAL],
}


def robot_of(kinds: str) -> Robot:
    return mechanism(JOINTS[kinds], range(BASE, len(JOINTS[kinds]) - 1), seed=3)


def words_of(search: BuildSearch, program: Program) -> dict[str, np.ndarray]:
    """Return words of tasks of which every third one has rates and forces that lead beyond the formats."""
    prepared, rng = search.prepared, np.random.default_rng(2)
    arrays = sample(prepared.model.source, prepared.domain, TASKS, rng, forces=Forces.STEPS)
    reals = graph_inputs(prepared.model.source, arrays)
    words = {word.name: quantise(word, reals[word.name]) for word in program.inputs}
    for word in program.inputs:
        if word.array in ("v", "tau"):
            words[word.name][1::3] = word.format.highest
    return words


@pytest.mark.parametrize(
    ("kinds", "function", "window", "skip"),
    [
        ("slide", "rk4", 1, 0),
        long("pendulum", "rk4", 2, 1),
        ("pendulum", "drk4", 1, 2),
        long("mixed", "rk4", 2, 1),
        long("chain", "drk4", 1, 2),
        long("turning", "rk4", 3, 0),
        long("mixed", "drk4", 2, 0),
    ],
)
def test_tasks_in_every_slot_and_with_pauses(kinds: str, function: str, window: int, skip: int) -> None:
    search = search_of(robot_of(kinds), function)
    core = loop_core(search, window)
    words, asked = words_of(search, core.program), [Request(function)] * TASKS
    wanted = expected(core.program, words, asked)
    assert {overflow for _, overflow in wanted} == {False, True}
    assert responses(core.component(None), words, skip, asked) == wanted


def test_what_overflows_in_a_stage_without_an_effect_is_flagged() -> None:
    """The first stage multiplies by four, and only the second one has the result; both flag the task."""
    recorder = Recorder()
    product = recorder.input("v[0]") * recorder.input("stage_gain[0]")
    recorder.output("rk4.x_next[0]", product)
    step = recorder.builder.finish(recorder.outputs)
    sources = {"v[0]": Shared(), "stage_gain[0]": Constant((4.0, 1.0))}
    joined = join_steps(Sweeps(2, (Sweep("stage", step),), sources, "rk4", "x_next", ""))
    ranges = {"v[0]": InputRange(-1.0, 1.0, "m/s")}
    steps = lower_steps(joined, [1.0] * len(step.nodes), ranges, plain_widths(joined.graph, 18))
    program = unroll_program(steps, task_words(steps, {}))
    options = BuildOptions(("rk4",), ii=2, width=18)
    core = LoopCore.build(program, target("xcvu9p"), options, ())
    (word,) = program.inputs
    words = {word.name: word.format.quantise(np.array([0.2, 0.9, -0.3, -0.9]))}
    asked = [Request("rk4")] * 4
    wanted = expected(program, words, asked)
    assert [overflow for _, overflow in wanted] == [0, 1, 0, 1]
    assert responses(core.component(None), words, 0, asked) == wanted
