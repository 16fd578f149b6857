"""The hardware of a chain core, bit for bit beside its program."""

import numpy as np
import pytest
from amaranth.sim import SimulatorContext

from rbdhw.cores.steps.chain import ChainCore
from rbdhw.cores.steps.chain_component import ChainComponent
from rbdhw.fixed.step_program import UnrolledProgram
from rbdhw.robot.model import Robot
from rbdhw.rtl.column_reader import NUMBER_LATENCY
from rbdhw.target import target
from tests.support.builds import random_words
from tests.support.chains import TREES, chain, options_of, program_of, tree
from tests.support.marks import some
from tests.support.mechanisms import with_random_drives
from tests.support.rtl_cores import Request, expected
from tests.support.simulation import Simulation

TASKS = 5


def core(robot: Robot, window: int, function: str = "fd") -> ChainCore:
    program = program_of(robot, function=function)
    options = options_of(len(robot.bodies), window, function=function)
    return ChainCore.build(program, target("xcvu9p"), options, ())


def spoiled(program: UnrolledProgram) -> dict[str, np.ndarray]:
    """Return words of which every second task has numbers at the ends of their formats.

    They are the velocity of one link, and all accelerations.
    """
    words = random_words(program, TASKS, seed=2)
    velocities = [word for word in program.inputs if word.array == "v"]
    for word in velocities:
        words[word.name] //= 4
    for task in range(1, TASKS, 2):
        velocity = velocities[task // 2 % len(velocities)]
        for word in [velocity, *(word for word in program.inputs if word.array == "a")]:
            words[word.name][task] = word.format.highest
    return words


def serial_responses(
    core: ChainComponent, words: dict[str, np.ndarray], skip: int, function: str
) -> list[tuple[list[int], int]]:
    """Return the results and the flag of each task; after every ``skip`` tasks no task starts once.

    Numbers are there in the first cycle of a window only, and only those of links that are read.
    """
    before = -(-NUMBER_LATENCY // (core.ii // core.links))
    rng = np.random.default_rng(9)
    answers: list[tuple[list[int], int]] = []

    async def bench(ctx: SimulatorContext) -> None:
        due: dict[int, tuple[int, int]] = {}
        begun: dict[int, int] = {}
        cycle = window = task = starts = arriving = 0
        results: list[int] = []
        while len(answers) < TASKS:
            first = ctx.get(core.first)
            if ctx.get(core.phase_zero):
                assert first
                if not (skip and starts % (skip + 1) == skip) and task < TASKS:
                    due |= {window + before + k: (task, k) for k in range(core.links)}
                    begun[cycle + core.latency(function) - (core.links - 1) * (core.ii // core.links)] = task
                    task += 1
                starts += 1
            for reader in core.readers:
                value = int(rng.integers(1 << reader.width))
                if first and window in due:
                    number, link = due[window]
                    value = int(words[f"{reader.array}[{link}]"][number]) if reader.links[link] else 0
                ctx.set(core.numbers[reader.name], value)
            if cycle in begun:
                assert ctx.get(core.begins)
                arriving = core.links
            if first and arriving:
                results.append(ctx.get(core.result))
                arriving -= 1
                if not arriving:
                    answers.append((results, ctx.get(core.overflow)))
                    results = []
            window += first
            await ctx.tick()
            cycle += 1

    Simulation(core).run(bench)
    return answers


def signed(value: int, width: int) -> int:
    return value - (value >> width - 1 << width)


def assert_exact(chain_core: ChainCore, skip: int) -> None:
    """Compare a core with its program, with tasks that overflow and tasks that do not."""
    words, component = spoiled(chain_core.program), chain_core.component(None)
    function = chain_core.schedule.function
    wanted = expected(chain_core.program, words, [Request(function)] * TASKS)
    assert {overflow for _, overflow in wanted} == {False, True}
    answers = serial_responses(component, words, skip, function)
    assert [([signed(x, component.width) for x in row], flag) for row, flag in answers] == wanted


CHAINS = (
    ("turning", 2, 2, 1),
    ("sliding", 3, 1, 0),
    ("turning", 5, 1, 0),
    ("mixed", 3, 2, 1),
    ("mixed", 5, 3, 2),
)
BRANCHING = (
    ("a root and an arm", "sliding", 1, 0),
    ("two roots", "sliding", 1, 0),
    ("two arms", "turning", 1, 0),
    ("two roots", "mixed", 2, 1),
    ("a hand", "sliding", 3, 0),
)


@pytest.mark.parametrize(
    ("kinds", "links", "window", "skip", "function"),
    some([(*case, function) for case in CHAINS for function in ("id", "fd")], 2 * len(CHAINS)),
)
def test_links_bring_their_numbers_one_after_the_other(
    kinds: str, links: int, window: int, skip: int, function: str
) -> None:
    robot = chain(links, kinds)
    chain_core = core(with_random_drives(robot, seed=1) if kinds != "sliding" else robot, window, function)
    assert_exact(chain_core, skip)


@pytest.mark.parametrize(
    ("branches", "kinds", "window", "skip", "function"),
    some([(*case, function) for case in BRANCHING for function in ("fd", "id")], 2 * len(BRANCHING)),
)
def test_robots_that_branch(branches: str, kinds: str, window: int, skip: int, function: str) -> None:
    if function == "id" and kinds == "sliding":
        kinds = "turning"  # forces of links that only slide fit all formats, so no task would be flagged
    assert_exact(core(tree(TREES[branches], kinds), window, function), skip)
