"""Bounds of rounding errors: each operation adds what it rounds, and passes on what came before."""

import pytest

from rbdhw.fixed.lower import InputRange
from rbdhw.graph.trace import Recorder
from rbdhw.software.rounding import LIBRARY, TURN, UNIT, rounding_of

RANGES = {
    "v[0]": InputRange(-2.0, 1.0, "rad/s"),
    "v[1]": InputRange(-1.0, 3.0, "rad/s"),
    "q[0]": InputRange(-0.5, 0.5, "turn"),
}


def bounds(build):
    """Return the rounding at rest, by the acceleration, and the change by it, of one result."""
    recorder = Recorder()
    recorder.output(
        "did.dtau_dq[0,0]", build(*(recorder.input(n) for n in ("v[0]", "v[1]", "a[0]")), recorder)
    )
    rounding = rounding_of(recorder.builder.finish(recorder.outputs), RANGES)
    parts = rounding.still, rounding.by_acceleration, rounding.change
    return [part["dtau_dq"] for part in parts]


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x, y, _a, _: x * y, (6 * UNIT, 0.0, 0.0)),
        (lambda x, y, _a, _: x + y, (4 * UNIT, 0.0, 0.0)),
        (lambda x, y, a, _: x * y + a * x, (12 * UNIT, 4 * UNIT, 2.0)),
        (lambda x, _y, a, _: (a * x) * 1.5, (0.0, 9 * UNIT, 3.0)),
        (lambda x, _y, _a, _: x * 1.5, (6 * UNIT, 0.0, 0.0)),
        (lambda x, y, _a, _: (x * y) * (x * y), (108 * UNIT, 0.0, 0.0)),
        (lambda x, y, a, _: (x + y) * a, (0.0, 8 * UNIT, 4.0)),
        (lambda _x, _y, _a, r: r.cos_sin(r.input("q[0]"), 0.0)[0], (LIBRARY, 0.0, 0.0)),
        (lambda _x, y, _a, r: r.cos_sin(y * 1.5, 0.0)[0], (TURN * 9 * UNIT + LIBRARY, 0.0, 0.0)),
    ],
)
def test_bounds_of_small_graphs(build, expected):
    assert bounds(build) == pytest.approx(expected, rel=1e-9, abs=0.0)


def test_what_divides_or_is_not_linear_in_accelerations_is_refused():
    with pytest.raises(ValueError, match="no bound in advance"):
        bounds(lambda x, _y, _a, _: x.reciprocal())
    with pytest.raises(ValueError, match="products of accelerations"):
        bounds(lambda _x, _y, a, _: a * a)
