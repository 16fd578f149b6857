"""The C++ bench gives the results of the cocotb bench."""

import numpy as np
import pytest

from rbdhw.design.folder import read, write
from rbdhw.domain.sampling import sample
from rbdhw.model.packets import Beats, answers, encode, merge, requests
from rbdhw.verilator import bulk, simulator
from rbdhw.verilator.simulator import Disturbance, Exchange
from rbdhw.verilator.tools import SimulationError
from tests.support.designs import rail_design
from tests.support.marks import long

NOTHING = Beats(np.zeros((0, 4), np.uint8), np.zeros(0, bool))


def beats_for(folder, tasks: int) -> Beats:
    """Return requests for the design's functions in turn."""
    design = read(folder)
    arrays = sample(design.robot, design.domain, tasks, np.random.default_rng(4), design.fext)
    places = {f: np.arange(i, tasks, 2) for i, f in enumerate(design.functions)}
    packets = {}
    for function, where in places.items():
        words = encode(design, function, {name: array[where] for name, array in arrays.items()})
        packets[function] = requests(design, function, where, words)
    return merge(places, packets)


def request_alone(folder, tag: int) -> Beats:
    """Return the request with a tag."""
    beats = beats_for(folder, tag + 1)
    first = np.flatnonzero(beats.last)[-2] + 1
    return Beats(beats.data[first:], beats.last[first:])


def through(bench, folder, cache, beats: Beats, traffic: Disturbance) -> Exchange:
    return bench.exchange(bench.build(folder, cache), [beats], traffic)[0]


def assert_same_responses(first: Exchange, second: Exchange) -> None:
    assert np.array_equal(first.responses.data, second.responses.data)
    assert np.array_equal(first.responses.last, second.responses.last)


@pytest.mark.parametrize(("sent", "taken", "cycles"), [([2, 3, 5], [6, 9], 8), ([2, 3], [], 0), ([], [], 0)])
def test_the_cycles_are_those_from_the_first_request_to_the_last_answer(sent, taken, cycles):
    assert Exchange(NOTHING, np.array(sent), np.array(taken), 0).cycles == cycles


def test_without_traffic_both_benches_see_the_same_in_the_same_cycles(rail_folder, cache):
    beats = beats_for(rail_folder, 60)
    first, second = (through(bench, rail_folder, cache, beats, Disturbance()) for bench in (simulator, bulk))
    assert_same_responses(first, second)
    assert np.count_nonzero(first.responses.last) == 60
    assert np.array_equal(first.sent, second.sent)
    assert np.array_equal(first.taken, second.taken)
    assert (first.violations, second.violations) == (0, 0)
    assert first.cycles == second.cycles


def test_with_traffic_both_benches_get_the_same_responses(rail_folder, cache):
    beats, traffic = beats_for(rail_folder, 60), Disturbance(0.4, 0.7, 3)
    first, second = (through(bench, rail_folder, cache, beats, traffic) for bench in (simulator, bulk))
    assert_same_responses(first, second)
    assert second.violations == 0
    assert second.cycles > 1.5 * through(bulk, rail_folder, cache, beats, Disturbance()).cycles


def test_traffic_follows_its_seed_and_its_probabilities(rail_folder, cache):
    beats = beats_for(rail_folder, 600)
    one, same, other = (
        through(bulk, rail_folder, cache, beats, Disturbance(0.5, 0.5, seed)) for seed in (1, 1, 2**63 - 1)
    )
    assert np.array_equal(one.taken, same.taken)
    assert np.array_equal(one.sent, same.sent)
    assert not np.array_equal(one.taken, other.taken)
    within = np.diff(one.taken)[~one.responses.last[:-1]]  # offered without a pause, taken half the time
    assert abs(np.mean(within) - 2.0) < 0.15
    within = np.diff(one.sent)[~beats.last[:-1]]
    assert abs(np.mean(within) - 2.0) < 0.15


@pytest.mark.verify
@pytest.mark.parametrize("data_width", [64, 512])
def test_beats_of_any_width_pass(tmp_path, data_width):
    write(rail_design(data_width=data_width, bodies=2), tmp_path / "design")
    outcome = through(
        bulk, tmp_path / "design", None, beats_for(tmp_path / "design", 40), Disturbance(0.2, 0.2)
    )
    design = read(tmp_path / "design")
    responses = answers(design, outcome.responses)
    assert [list(responses[f].places) for f in ("id", "fd")] == [list(range(0, 40, 2)), list(range(1, 40, 2))]
    assert outcome.violations == 0


def test_a_beat_that_changes_while_it_waits_is_a_violation(faulty_folder, cache):
    beats = beats_for(faulty_folder, 40)
    assert through(bulk, faulty_folder, cache, beats, Disturbance(0.0, 0.95, 1)).violations > 2
    assert through(bulk, faulty_folder, cache, beats, Disturbance(0.0, 0.0, 1)).violations == 0


@pytest.mark.parametrize("bench", [simulator, bulk])
@pytest.mark.parametrize("tag", [45, 48], ids=["end", "offer"])
def test_an_end_or_an_offer_that_changes_while_it_waits_is_a_violation(faulty_folder, cache, bench, tag):
    alone = request_alone(faulty_folder, tag)
    assert through(bench, faulty_folder, cache, alone, Disturbance(0.0, 0.95, 1)).violations > 2


@pytest.mark.parametrize("bench", [long(simulator), bulk])
def test_a_response_too_many_is_received_although_it_comes_late(faulty_folder, cache, bench):
    outcome = through(bench, faulty_folder, cache, request_alone(faulty_folder, 46), Disturbance())
    assert np.count_nonzero(outcome.responses.last) == 2


def test_hardware_that_hangs_is_left_after_the_patience(faulty_folder, cache):
    beats = beats_for(faulty_folder, 60)
    outcome = through(bulk, faulty_folder, cache, beats, Disturbance(patience=200))
    assert np.count_nonzero(outcome.responses.last) == 40
    assert np.count_nonzero(beats.last[: len(outcome.sent)]) == 41


def test_beats_of_another_size_are_told_with_the_log(rail_folder, cache):
    beats = Beats(np.zeros((1, 8), np.uint8), np.array([True]))
    with pytest.raises(SimulationError) as failure:
        through(bulk, rail_folder, cache, beats, Disturbance())
    first, line = str(failure.value).splitlines()
    assert first == f"simulation failed (exit status 1); its log is {cache.resolve() / 'simulation.log'}"
    assert line.startswith("  bulk bench: ")
    assert line.endswith("requests_0: not whole request beats")
