"""What feedback adds to a force: in the units of its words, and in hardware bit for bit as in the model."""

from typing import Any

import numpy as np
import pytest

from rbdhw.fixed.feedback import GAIN, Feedback
from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.fixed.state_error import error_terms
from rbdhw.rtl.polynomial import pack
from rbdhw.rtl.rollout_gains import FeedbackSum
from tests.support.simulation import Simulation

TASKS = 50

STATE = (
    Word("q[0]", "m", -1, Format(12, 9), -2000, 2000),
    Word("q[1]", "turn", -1, Format(16, 16)),
    Word("v[0]", "m/s", -1, Format(30, 24), -(1 << 28), 1 << 28),
)
"""Words of the state whose errors have 13, 16 and 27 bits."""

REFERENCES = tuple(
    Word(term.reference or "", "1", -1, term.word.format) for term in error_terms(STATE, "x_nominal", 2)
)


@pytest.fixture(params=[Format(18, 8), Format(32, 24)], ids=["rounded", "extended"])
def feedback(request: pytest.FixtureRequest) -> Feedback:
    return Feedback(Word("tau[0]", "N", -1, request.param), error_terms(STATE, "x_nominal", 2))


def drawn(feedback: Feedback) -> tuple[dict[str, Any], dict[str, int], dict[str, int]]:
    """Return words of the state, a row of references, and gains."""
    rng = np.random.default_rng(3)
    values = {
        word.name: rng.integers(word.lowest or word.format.lowest, word.highest or word.format.highest, TASKS)
        for word in STATE
    }
    row = {
        word.name: int(rng.integers(word.format.lowest // 4, word.format.highest // 4)) for word in REFERENCES
    }
    gains = {
        feedback.stored(term): int(rng.integers(GAIN.lowest, GAIN.highest, endpoint=True))
        for term in feedback.terms
    }
    return values, row, gains


def test_sums_of_products_of_different_widths(feedback: Feedback) -> None:
    values, row, gains = drawn(feedback)
    assert len({feedback.shift(term) for term in feedback.terms}) == 3
    exact = np.zeros(TASKS)
    for term in feedback.terms:
        off = values[term.word.name] - row[term.reference or ""]
        if term.wraps:
            off = (off + (1 << 15)) % (1 << 16) - (1 << 15)
        gain = gains[feedback.stored(term)] * 2.0**-GAIN.binary_point * feedback.largest(term)
        exact += off * 2.0**-term.word.format.binary_point * gain
    added = feedback.added(values, row, gains) * 2.0**-feedback.force.format.binary_point
    np.testing.assert_allclose(added, exact, atol=0.01 * np.abs(exact).max() * 2.0**-10, rtol=1e-6)


def test_hardware_adds_what_the_model_adds(feedback: Feedback) -> None:
    values, row, gains = drawn(feedback)
    dut = FeedbackSum(feedback=[feedback], words=REFERENCES)
    (width,) = dut.widths
    packed = pack([gains[feedback.stored(term)] for term in feedback.terms], [GAIN.width] * 3)
    widths = [word.format.width for word in STATE]
    references = pack([row[word.name] for word in REFERENCES], [word.format.width for word in REFERENCES])
    added: list[int] = []

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.row, references)
        ctx.set(dut.gains, packed)
        for k in range(TASKS + dut.latency):
            if k >= dut.latency:
                bits = ctx.get(dut.added)
                added.append(bits - (bits >> width - 1 << width))
            if k < TASKS:
                ctx.set(dut.values, pack([int(values[word.name][k]) for word in STATE], widths))
            await ctx.tick()

    Simulation(dut).run(testbench)
    np.testing.assert_array_equal(added, feedback.added(values, row, gains))
