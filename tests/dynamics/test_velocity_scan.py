"""Angular velocities by segments: their values, and the path to them."""

import numpy as np
import pytest

from rbdhw.dynamics import velocity_scan
from rbdhw.dynamics.joint import Coordinate
from rbdhw.dynamics.rnea import STILL, newton_euler
from rbdhw.dynamics.velocity_scan import segment_velocities
from rbdhw.frontend.algorithms import cost_of
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, operation_delay
from rbdhw.graph.trace import Recorder
from rbdhw.robot.model import JointKind
from tests.support.graph_results import prepared
from tests.support.mechanisms import mechanism

SEGMENT = 4


@pytest.fixture(autouse=True)
def short_segments(monkeypatch):
    monkeypatch.setattr(velocity_scan, "SEGMENT", SEGMENT)
    monkeypatch.setattr(velocity_scan, "SERIAL", SEGMENT + 1)


def nanoseconds(links: int) -> float:
    """Return the longest path to the velocities of a chain's segments."""
    robot = prepared(mechanism([JointKind.REVOLUTE] * links, range(-1, links - 1), seed=2))
    recorder = Recorder()
    q = [Coordinate(*recorder.cos_sin(recorder.input(f"q[{i}]"), 0.0)) for i in range(links)]
    v = [recorder.input(f"v[{i}]") for i in range(links)]
    for i, velocity in segment_velocities(robot, q, v).items():
        for k, part in enumerate(velocity):
            recorder.output(f"w[{3 * i + k}]", part)
    return cost_of(recorder.builder.finish(recorder.outputs), operation_delay(DEFAULT_DELAYS)).nanoseconds


def test_velocities():
    kinds = [JointKind.REVOLUTE, JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.REVOLUTE] * 40
    parents = [*range(-1, 149), 70, *range(150, 159)]  # a branch whose first segment is shorter
    robot = prepared(mechanism(kinds, parents, seed=1))
    angles, v = np.random.default_rng(0).uniform(-1.0, 1.0, (2, len(kinds)))
    q = [
        Coordinate(np.cos(x), np.sin(x)) if kind.rotates else Coordinate(shift=(0.0, 0.0, x))
        for kind, x in zip(kinds, angles, strict=True)
    ]
    motions = newton_euler(robot, q, v, [0.0] * len(v), STILL).motions
    velocities = segment_velocities(robot, q, v)
    assert len(velocities) == 40
    for i, velocity in velocities.items():
        assert velocity == pytest.approx(motions[i].velocity, abs=1e-12)


def test_the_path_grows_with_the_logarithm():
    short, long, longer = (nanoseconds(SEGMENT * segments) for segments in (2, 8, 32))
    assert long < 2.2 * short
    assert longer < 2.2 * long


def test_short_chains_need_no_segments():
    robot = prepared(mechanism([JointKind.REVOLUTE] * SEGMENT, range(-1, SEGMENT - 1), seed=2))
    assert segment_velocities(robot, [Coordinate()] * SEGMENT, [0.0] * SEGMENT) == {}
