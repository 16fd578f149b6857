"""Several cores with known results, and their tasks."""

import random

from tests.support.edge import (
    EXTENDED,
    FUNCTIONS,
    LATENCIES,
    FakeCore,
    Packet,
    Task,
    by_function,
    payload_bits,
    response,
)

Cores = tuple[tuple[tuple[str, ...], int], ...]
"""The functions and the initiation interval of each core."""


SETS: dict[str, Cores] = {
    "apart": ((("id", "dfd"), 1), (("difd",), 4)),
    "paces": ((("id",), 2), (("dfd",), 7), (("difd",), 3)),
    "copies": ((("id", "dfd", "difd"), 5),) * 3,
    "some copies": ((("id",), 1), (("dfd", "difd"), 6), (("dfd", "difd"), 6)),
    "overlap": ((("id", "dfd"), 3), (("dfd", "difd"), 2)),
}


def core_of(names: tuple[str, ...], ii: int) -> FakeCore:
    functions = tuple(function for function in FUNCTIONS if function.name in names)
    return FakeCore(ii=ii, functions=functions, latencies=LATENCIES, layout=FUNCTIONS)


def any_tasks(count: int, seed: int) -> list[Task]:
    """Return random tasks, numbered by their tags; some are malformed or of an unknown function."""
    rng = random.Random(seed)
    tasks = []
    for tag in range(count):
        function = rng.choice(FUNCTIONS)
        options = rng.choice([0, EXTENDED]) if function.extensible else 0
        payload = rng.getrandbits(payload_bits(function, options, FUNCTIONS))
        code = rng.choice([function.code] * 9 + [31])
        tasks.append(Task(tag, code, payload, options, surplus=rng.choice([0] * 9 + [1])))
    return tasks


def expected(tasks: list[Task], width: int, cores: Cores) -> dict[int, list[Packet]]:
    """Return the responses by function, each as of the last core that has it."""
    homes = {name: core_of(*core) for core in cores for name in core[0]}
    known = {function.code: homes[function.name] for function in FUNCTIONS}
    anyone = next(iter(homes.values()))
    return by_function(response(task, width, known.get(task.code, anyone)) for task in tasks)
