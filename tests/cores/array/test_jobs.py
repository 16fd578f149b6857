"""What results that are handed on take at least, and what the placement makes of it."""

from dataclasses import replace

import pytest

from rbdhw.cores.array.jobs import least_handover, needs_of
from rbdhw.cores.array.model import ArrayResource, Constant, Handover, Job, Term, Timing
from rbdhw.cores.array.placement import place_jobs

ACCUMULATOR, SOURCE, HANDOVER = ArrayResource.ACCUMULATOR, ArrayResource.SOURCE, ArrayResource.HANDOVER

USUAL = Timing({ACCUMULATOR: 3, SOURCE: 0, HANDOVER: 0})
DIRECT = Timing({ACCUMULATOR: 2, SOURCE: 0, HANDOVER: 0}, read=0, write=0)

WORD, GIVEN, LAST = 0, 1, 4


def chain() -> list[Job]:
    """Return three sums, of which the first takes a word that is handed on as its last term."""
    first = Term((GIVEN, GIVEN)), Term((WORD, GIVEN))
    return [
        Job((WORD,), HANDOVER),
        Job((GIVEN,), SOURCE),
        Job((2,), ACCUMULATOR, first),
        Job((3,), ACCUMULATOR, (Term((2, Constant(3))),)),
        Job((LAST,), ACCUMULATOR, (Term((3, 2)), Term((WORD, 3)))),
    ]


@pytest.mark.parametrize(("timing", "cycles"), [(USUAL, 5 + 5 + 6), (DIRECT, 2 + 2 + 3)])
def test_what_is_handed_on_waits_for_sums_and_memories(timing, cycles):
    """The term that does not wait is added before; of the last sum both terms wait."""
    work = chain()
    assert least_handover(work, needs_of(work), timing, [LAST]) == cycles


@pytest.mark.parametrize("timing", [USUAL, DIRECT])
def test_a_placed_array_hands_on_no_sooner(timing):
    work = chain()
    array = place_jobs(work, {"id": (LAST,)}, 24, 50.0, timing, 2, (18, 18), handed={WORD: LAST})
    least = least_handover(work, needs_of(work), timing, [LAST])
    cycles = Handover.cycles(array, {WORD: LAST})
    assert least < cycles <= 24
    handover = Handover("id", {WORD: LAST}, 1)
    assert handover.wait(array, WORD) == 24 - cycles + 1
    assert replace(handover, before=2).wait(array, WORD) == 48 - cycles + 1
