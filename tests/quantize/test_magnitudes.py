"""Ranges found by sampling: the largest magnitudes, and the margin for tails that were not drawn."""

import numpy as np
import pytest

from rbdhw.fixed.lower import InputRange, lower
from rbdhw.fixed.widths import plain_widths
from rbdhw.graph.text import loads
from rbdhw.quantize.magnitudes import largest_magnitudes, raise_to_noise

GRAPH = loads("n0 = input x @ decode\nn1 = scale n0 -0x1p+1 @ decode\nout id.tau[0] n1\n")
GROUP = 3


def magnitudes(*largest: float) -> list[float]:
    """Return the magnitudes found for the input and its double.

    Each group of tasks has one of the ``largest`` values; a chunk has two groups.
    """
    tasks = np.array([[0.1, -size, 0.2] for size in largest]).ravel()
    chunks = [{"x": tasks[start : start + 2 * GROUP]} for start in range(0, len(tasks), 2 * GROUP)]
    return largest_magnitudes(GRAPH, ("id",), chunks, GROUP)


@pytest.mark.parametrize(
    ("largest", "room"),
    [
        ((5.0, 5.0, 5.0, 5.0), 1.0),
        ((4.0, 4.0, 4.0, 5.0), 1.25**3),
        ((4.0, 4.0, 5.0, 5.0), (5.0 / 4.5) ** 3),
        ((1.0, 1.0, 1.0, 5.0), 4.0),
        ((0.01, 0.01, 0.01, 5.0), 4.0),
    ],
)
def test_the_margin_grows_with_the_difference_between_groups(largest, room):
    """The margin is (largest of all / median of the group maxima) ** 3, and at most 4."""
    assert magnitudes(*largest) == pytest.approx([5.0 * room, 10.0 * room])


@pytest.mark.parametrize(("known", "raised"), [(1.0, 1.0), (0.78, 0.78), (0.76, 4.0), (1e-9, 4.0)])
def test_values_that_exceed_their_magnitude_by_three_tenths_get_room(known, raised):
    """The input is at most 1; a value of mostly rounding errors gets four times the largest observed."""
    program = lower(GRAPH, [1.0, 2.0], {"x": InputRange(-1.0, 1.0, "m")}, plain_widths(GRAPH, 16))
    magnitudes = raise_to_noise([known, 2.0], program, ("id",), {"x": np.array([0.5, -1.0, 0.25])})
    assert magnitudes == [raised, 2.0]


def test_a_range_includes_tasks_that_were_not_drawn():
    """For a normal distribution, less than one in ten thousand new values is beyond the range."""
    rng = np.random.default_rng(5)
    chunks = [{"x": rng.normal(size=512)} for _ in range(8)]
    most = largest_magnitudes(GRAPH, ("id",), chunks, 64)[0]
    drawn = max(float(np.abs(chunk["x"]).max()) for chunk in chunks)
    assert most > 1.2 * drawn
    assert np.mean(np.abs(rng.normal(size=400_000)) > most) < 1e-4


def test_constants_have_magnitudes_in_a_graph_without_inputs():
    graph = loads("n0 = constant -0x1.8p+1 @ decode\nout did.dtau_dq[0,0] n0\n")
    assert largest_magnitudes(graph, ("did",), [{"x": np.zeros(5)}], GROUP) == [3.0]
