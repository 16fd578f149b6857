"""The status of answers by the accelerator around a core with known results."""

import pytest

from tests.support.edge import (
    DFD,
    DIFD,
    EXTENDED,
    MALFORMED,
    OUTSIDE,
    OVERFLOW,
    Bench,
    Packet,
    Task,
    response,
)
from tests.support.edge_tasks import accelerator, core_of
from tests.support.marks import long


def alone(task: Task, width: int = 32) -> Packet:
    """Return the response to a task between two valid ones, which must be answered too."""
    core = core_of()
    others = Task(1, DIFD.code, 12 << 60, EXTENDED), Task(3, DFD.code, 3 << 30)
    packets = [others[0].packet(width), task.packet(width), others[1].packet(width)]
    answers = Bench(accelerator(core, width)).run(packets, cycles=200, expected=3)
    by_tag = {packet[0] & 0xFFFF: packet for packet in answers}
    assert (by_tag.pop(1), by_tag.pop(3)) == tuple(response(other, width, core) for other in others)
    (answer,) = by_tag.values()
    return answer


ZEROS = [0, 0, 0]
"""The three beats of words in a response of ``difd``, and of ``dfd`` without its options, at 32 bits."""


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        (Task(0xBEEF, 6, 3, surplus=1), [0x0406BEEF, *ZEROS]),
        (Task(0xBEEF, 6, 3, surplus=40), [0x0406BEEF, *ZEROS]),
        (Task(0xBEEF, 6, 3, surplus=-1), [0x0406BEEF, *ZEROS]),
        (Task(0xBEEF, 6, 3, surplus=-2), [0x0406BEEF, *ZEROS]),
        (Task(0xBEEF, 6, 3, status=1), [0x0406BEEF, *ZEROS]),
        (Task(0xBEEF, 6, 3, status=0x80), [0x0406BEEF, *ZEROS]),
        (Task(0xBEEF, 6, 3, options=2), [0x0446BEEF]),
        (Task(0xBEEF, 6, 3, options=4), [0x0486BEEF, *ZEROS]),
        (Task(0xBEEF, 38, 3, options=5), [0x04E6BEEF]),
        (Task(0xBEEF, 6, 3, options=EXTENDED, surplus=-1), [0x0426BEEF, *ZEROS]),
        (Task(0xBEEF, 6, 3, surplus=2), [0x0406BEEF, *ZEROS]),
        (Task(0xBEEF, 5, 3, options=EXTENDED, surplus=1), [0x0425BEEF, *ZEROS, 0, 0]),
        (Task(0xBEEF, 5, 3, options=EXTENDED | 4, surplus=1), [0x04A5BEEF, *ZEROS, 0, 0]),
        (Task(0xBEEF, 0, 3, options=EXTENDED), [0x0420BEEF, 0]),
        (Task(0xBEEF, 0, 3, surplus=-2), [0x0400BEEF, 0]),
        (Task(0xBEEF, 3, 0), [0x0403BEEF]),
        (Task(0xBEEF, 3, 0, surplus=2), [0x0403BEEF]),
        (Task(0xBEEF, 15, 0, options=5, status=7, surplus=9), [0x04AFBEEF]),
    ],
)
def test_malformed(task: Task, answer: Packet) -> None:
    assert alone(task) == answer


@pytest.mark.parametrize("width", [32, long(64), long(512)])
@pytest.mark.parametrize(
    ("payload", "status"),
    [
        (0, 0),
        (900, 0),
        (-1000 & 0xFFF, 0),
        (901, OUTSIDE),
        (-1001 & 0xFFF, OVERFLOW | OUTSIDE),
        (0x803, OVERFLOW | OUTSIDE),
        (3, OVERFLOW),
        (9 << 30, 0),
        (10 << 30, OUTSIDE),
        (0x1F << 30, 0),
        (500_000 << 35, 0),
        (500_001 << 35, OUTSIDE),
        (0xFFFF9 << 35, 0),
        (0xFFFF8 << 35, OUTSIDE),
        (0x3FFFF << 12, 0),
    ],
)
def test_status(payload: int, status: int, width: int) -> None:
    header = alone(Task(0x1234, 6, payload), width)[0] & 0xFFFF_FFFF
    assert header == status << 24 | 6 << 16 | 0x1234


def statuses(tasks: list[Task], width: int = 64) -> list[int]:
    """Return the status of each task by tag."""
    core = core_of()
    packets = Bench(accelerator(core, width)).run(
        [t.packet(width) for t in tasks], cycles=100, expected=len(tasks)
    )
    by_tag = {packet[0] & 0xFFFF: packet[0] >> 24 & 0xFF for packet in packets}
    return [by_tag[task.tag] for task in tasks]


def test_a_function_looks_at_its_own_words_only() -> None:
    """Bits beyond its packet's, which the previous task left, have no effect."""
    beyond = 0xFFFF8 << 35
    tasks = [
        Task(0, 6, beyond),
        Task(1, 0, 0),
        Task(2, 6, beyond),
        Task(3, 6, 6 << 55, EXTENDED),
        Task(4, 6, 0),
    ]
    assert statuses(tasks) == [OUTSIDE, 0, OUTSIDE, OUTSIDE, 0]


def test_functions_that_share_a_slot_have_bounds_of_their_own() -> None:
    tasks = [Task(0, 0, 9 << 30), Task(1, 0, 10 << 30), Task(2, 5, 3 << 30), Task(3, 5, 4 << 30)]
    assert statuses(tasks) == [0, OUTSIDE, 0, OUTSIDE]


def test_a_field_wider_than_its_word_hides_nothing() -> None:
    """-8 and 11 are 0 and 3 in the three bits that the core reads."""
    tasks = [Task(0, 5, 24 << 30), Task(1, 5, 11 << 30), Task(2, 5, 30 << 30), Task(3, 5, 29 << 30)]
    assert statuses(tasks) == [OUTSIDE, OUTSIDE, 0, OUTSIDE]


def test_malformed_hides_other_status() -> None:
    assert alone(Task(9, 6, 0x803, status=2)) == [MALFORMED << 24 | 6 << 16 | 9, *ZEROS]
