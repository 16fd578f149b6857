"""Tasks of the functions of :mod:`tests.support.edge`, and the accelerator that answers them."""

import random
from functools import lru_cache
from typing import Any

from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.rtl.shell import Accelerator
from tests.support.edge import (
    EXTENDED,
    FUNCTIONS,
    ID,
    LATENCIES,
    FakeCore,
    Packet,
    Task,
    by_function,
    payload_bits,
    response,
    words,
)


def core_of(
    ii: int = 1, latencies: dict[str, int] | None = None, functions: tuple[FunctionWords, ...] = FUNCTIONS
) -> FakeCore:
    return known_core(ii, tuple((latencies or LATENCIES).items()), functions)


@lru_cache(16)
def known_core(
    ii: int, latencies: tuple[tuple[str, int], ...], functions: tuple[FunctionWords, ...]
) -> FakeCore:
    return FakeCore(ii=ii, functions=functions, latencies=dict(latencies))


@lru_cache(16)
def accelerator(core: FakeCore, width: int) -> Accelerator:
    return Accelerator(cores=[core], interface=Interface(core.order, width))


def answering(bits: int) -> FunctionWords:
    """Return ``id`` with ``bits`` bits of results."""
    return FunctionWords("id", ID.inputs, words(bits))


def good_tasks(count: int, seed: int, functions: tuple[FunctionWords, ...] = FUNCTIONS) -> list[Task]:
    """Return tasks of random functions, options and words, numbered by their tags."""
    rng = random.Random(seed)
    tasks = []
    for tag in range(count):
        function = rng.choice(functions)
        options = rng.choice([0, EXTENDED]) if function.extensible else 0
        payload = rng.getrandbits(payload_bits(function, options, functions))
        tasks.append(Task(tag, function.code, payload, options))
    return tasks


def any_tasks(count: int, seed: int, width: int) -> list[Task]:
    """Return tasks of which a third is malformed, in every way."""
    rng = random.Random(seed)
    tasks = good_tasks(count, seed)
    for task in tasks:
        spoil(task, rng, width)
        if task.code in UNKNOWN:
            task.surplus = rng.randrange(5)
    return tasks


UNKNOWN = (1, 3, 7, 15)
"""Codes of functions that the accelerator does not have."""


def spoil(task: Any, rng: random.Random, width: int) -> None:
    """Make a third of tasks malformed: of a wrong length, function, option or status."""
    match rng.randrange(15):
        case 0:
            task.surplus = rng.choice([1, 2, 9])
        case 1:
            task.surplus = -rng.randrange(len(task.packet(width)))
        case 2:
            task.status = 1 << rng.randrange(8)
        case 3:
            task.code = rng.choice(UNKNOWN)
        case 4:
            task.options |= rng.choice([2, 4, 6])


def expected(tasks: list[Task], width: int, core: FakeCore) -> dict[int, list[Packet]]:
    return by_function(response(task, width, core) for task in tasks)
