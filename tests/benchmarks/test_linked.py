"""Accelerators without a pause, and their batches over a link: formulas equal simulations."""

import numpy as np
import pytest

from benchmarks import linked
from benchmarks.linked import PCI_EXPRESS, Link, Paced, design_of, paced
from rbdhw.model.traffic import traffic


@pytest.fixture(scope="module")
def short():
    """Return how the toy's accelerator answers a few tasks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linked, "MOST", 40)
        yield paced("toy", "did", "fixed")
        paced.cache_clear()


@pytest.mark.verify
def test_a_batch_takes_the_latency_and_the_cycles_of_its_tasks(short):
    """Simulated cycles are those that the manifest states; the first task may wait for the core's phase."""
    manifest = design_of("toy", "did", "fixed").manifest
    entry = manifest["functions"]["did"]
    waited = int(short.cycles[0]) - entry["latency_cycles"]
    assert 0 <= waited < manifest["ii"]
    np.testing.assert_array_equal(short.cycles - short.cycles[0], np.arange(40) * entry["cycles_per_task"])
    assert short.cycles_per_task == entry["cycles_per_task"]
    assert short.microseconds(3) == short.cycles[2] / short.clock_mhz


@pytest.mark.verify
def test_bytes_are_those_of_the_packets(short):
    packets = traffic(design_of("toy", "did", "fixed").interface)["did"]
    assert (short.bytes_in, short.bytes_out) == (packets.bytes_in, packets.bytes_out)


@pytest.mark.parametrize("bandwidth", [0.05, 0.5, 2.0, 16.0])
@pytest.mark.parametrize("octets", [(60, 240), (240, 60)])
@pytest.mark.parametrize("count", [1, 2, 17])
def test_a_batch_over_a_link_equals_its_events(bandwidth, octets, count):
    """Requests, tasks and responses one after the other, each as soon as the one before it is there."""
    link = Link(bandwidth, 1.5)
    ways = [link.microseconds(size) for size in octets]
    run = Paced(100.0, *octets, 30 + 4 * np.arange(20))
    computed, returned = -np.inf, 0.0
    for k in range(count):
        computed = max((k + 1) * ways[0] + 0.30, computed + 0.04)
        returned = max(computed, returned) + ways[1]
    assert run.linked_microseconds(count, link) == pytest.approx(link.round_trip + returned)


def test_pci_express():
    lanes, gigabits, coding = 16, 8, 128 / 130
    assert pytest.approx(lanes * gigabits * coding / 8, abs=0.005) == PCI_EXPRESS.bandwidth
