"""The edge as a whole: every packet has one answer, in its function's order, in time.

Any packets come, with pauses, and the receiver pauses as it likes. The core is any that has its results after
its latency: it passes a task's word on. Queues are as short as they may be; that longer ones keep what they
hold is proven for the parts.

For any number of cycles completions are proven to keep to a contract, and the edge with what keeps to it in
their place. For the first cycles after a reset it is proven with all its parts.
"""

import pytest
from amaranth.hdl import Assert

from rbdhw.rtl.admission import Admission
from rbdhw.rtl.completion import Completion
from rbdhw.rtl.edge import Edge
from rbdhw.rtl.merger import Merger
from rbdhw.rtl.turns import Turns
from tests.support.formal import bounded, mutant, reach
from tests.support.marks import long
from tests.support.surroundings import FUNCTIONS, CompletionHarness, EdgeHarness, PaceHarness, PartsHarness

CYCLES = 14
"""Cycles after a reset; more take a solver too long with all parts."""


@pytest.mark.parametrize(
    ("kind", "latency"), [(0, 1), *(long(*case) for case in ((1, 1), (2, 0), (0, 2), (1, 2)))]
)
def test_completions_keep_to_their_contract(tmp_path, kind, latency):
    reach(CompletionHarness(kind, latency), tmp_path).assert_proven()


UNKEPT = [
    (0, 4, "response.valid.eq(records.r_rdy & ready)", "response.valid.eq(records.r_rdy)"),
    (0, 1, "places.give.eq(response.ready)", "places.give.eq(response.ready & self.o.ready)"),
    (2, 0, "places.take.eq(self.admit)", "places.take.eq(self.admit & ~self.recorded)"),
]


@pytest.mark.verify
@pytest.mark.parametrize(("kind", "latency", "right", "wrong"), UNKEPT)
def test_a_completion_that_breaks_its_contract_is_refuted(tmp_path, kind, latency, right, wrong):
    harness = CompletionHarness(kind, latency, mutant(Completion, right, wrong))
    reach(harness, tmp_path).assert_refuted()


TWO_CORES = tuple((function,) for function in FUNCTIONS)

COPIES = FUNCTIONS, FUNCTIONS[:1]

CASES = [
    *({}, {"watched": 1}, {"watched": 2}, {"latency": 2, "ii": 2}),
    *({"cores": TWO_CORES}, {"cores": COPIES}),
]

NO_CREDITS = (Edge, "admission.available[k].eq(completion.available)", "admission.available[k].eq(1)")
WRONG_RECORDS = (
    Edge,
    "completion.recorded.eq(admission.recorded[k])",
    "completion.recorded.eq(admission.recorded.any())",
)

MUTANTS = [
    NO_CREDITS,
    (Edge, "completion.start.eq(entrance.start[k])", "completion.start.eq(entrance.start.any())"),
    WRONG_RECORDS,
]

OTHER_CORE = (
    Edge,
    "self._completion(function, home, entrances[home])",
    "self._completion(function, home, entrances[0])",
)
ALWAYS_MORE = (
    Edge,
    "merger.more[order.index(k)].eq(completion.more)",
    "merger.more[order.index(k)].eq(1)",
)

OF_TWO_CORES = [
    NO_CREDITS,
    WRONG_RECORDS,
    OTHER_CORE,
    (Edge, "self._assembler.leaves.eq(admission.leaves)", "self._assembler.leaves.eq(1)"),
    (Admission, "self.available & accepts).any()", "accepts).any()"),
    (Admission, " & self.i.valid.replicate(known + 1)", ""),
    (Merger, "inside.eq(~offered.last)", "inside.eq(0)"),
    (Merger, "free = ~self.o.valid | self.o.ready", "free = Const(1, 1)"),
    (Merger, "self.i[k].ready.eq(free & granted[k])", "self.i[k].ready.eq(free)"),
]
"""Changes by which a packet is lost, doubled, cut, out of order or answered by another core."""

OF_COPIES = [
    (Edge, "completion.recorded.eq(turns.each_recorded[k])", "completion.recorded.eq(turns.each_admit[k])"),
    (Edge, "completion.admit.eq(turns.each_admit[k])", "completion.admit.eq(turns.admit)"),
    (Edge, "turns.each_available[k].eq(completion.available)", "turns.each_available[k].eq(1)"),
    (Turns, "Mux(self.recorded, recorded, 0)", "Mux(self.recorded, admitted, 0)"),
    (Turns, "completion.ready.eq(self.o.ready & answered[k])", "completion.ready.eq(self.o.ready)"),
]


@pytest.mark.verify
@pytest.mark.parametrize("case", CASES)
def test_every_packet_has_one_answer(tmp_path, case):
    bounded(EdgeHarness(**case), tmp_path, CYCLES).assert_proven()


QUEUES = {"cores": TWO_CORES, "ii": 2, "waiting": 1}


@pytest.mark.verify
@pytest.mark.parametrize("watched", [0, 1])
def test_every_packet_has_one_answer_of_cores_before_which_tasks_wait(tmp_path, watched):
    bounded(EdgeHarness(watched=watched, **QUEUES), tmp_path, CYCLES).assert_proven()


@pytest.mark.verify
@pytest.mark.parametrize("started", ["completion.admit", "entrance.start.any() | completion.admit"])
def test_a_task_that_starts_before_it_has_waited_is_refuted(tmp_path, started):
    change = (Edge, "completion.start.eq(entrance.start[k])", f"completion.start.eq({started})")
    bounded(EdgeHarness(change=change, **QUEUES), tmp_path, CYCLES).assert_refuted()


@pytest.mark.verify
@pytest.mark.parametrize("change", MUTANTS)
def test_a_wrong_connection_is_refuted_with_a_trace(tmp_path, change):
    bounded(EdgeHarness(change=change), tmp_path, CYCLES).assert_refuted()


@pytest.mark.verify
@pytest.mark.parametrize(
    "change", [OTHER_CORE, (Completion, "records.r_en.eq(response.ready)", "records.r_en.eq(self.o.ready)")]
)
def test_a_wrong_edge_of_two_cores_is_refuted_with_a_trace(tmp_path, change):
    bounded(EdgeHarness(cores=TWO_CORES, watched=1, change=change), tmp_path, CYCLES).assert_refuted()


OF_PARTS = [*CASES, *({"cores": cores, "watched": 1} for cores in (TWO_CORES, COPIES))]


@pytest.mark.parametrize("case", [OF_PARTS[0], *(long(case) for case in OF_PARTS[1:])])
def test_every_packet_has_one_answer_in_any_number_of_cycles(tmp_path, case):
    reach(PartsHarness(**case), tmp_path).assert_proven()


@pytest.mark.verify
@pytest.mark.parametrize("change", MUTANTS)
def test_a_wrong_connection_of_parts_is_refuted(tmp_path, change):
    bounded(PartsHarness(change=change), tmp_path, CYCLES).assert_refuted()


@pytest.mark.verify
@pytest.mark.parametrize("change", OF_TWO_CORES)
def test_a_wrong_edge_of_parts_and_two_cores_is_refuted_with_a_trace(tmp_path, change):
    bounded(PartsHarness(cores=TWO_CORES, watched=1, change=change), tmp_path, CYCLES).assert_refuted()


@pytest.mark.verify
@pytest.mark.parametrize("change", OF_COPIES)
def test_a_wrong_edge_of_parts_and_copies_is_refuted_with_a_trace(tmp_path, change):
    bounded(PartsHarness(cores=COPIES, change=change), tmp_path, CYCLES).assert_refuted()


@pytest.mark.verify
@pytest.mark.parametrize(
    "change",
    [ALWAYS_MORE, (Merger, "Mux(valid, free & offered.last, ~inside)", "valid & free & offered.last")],
)
def test_a_merger_of_two_cores_that_stands_still_is_refuted_with_a_trace(tmp_path, change):
    bounded(PaceHarness(cores=TWO_CORES, change=change), tmp_path, CYCLES).assert_refuted()


@pytest.mark.verify(minutes=2)
@pytest.mark.parametrize("case", [{}, {"latency": 2, "ii": 2}, {"cores": TWO_CORES}])
def test_no_receiver_waits_long_in_any_number_of_cycles(tmp_path, case):
    reach(PaceHarness(**case), tmp_path).assert_proven()


@pytest.mark.verify
@pytest.mark.parametrize("cores", [(FUNCTIONS,), COPIES])
def test_the_marked_packet_leaves_the_stand_ins(tmp_path, cores):
    """What is assumed of them leaves a way to answer."""

    class Never(PartsHarness):
        def _follow(self, m, ledger, *_):
            m.d.comb += Assert(~ledger.used | ledger.waits)

    bounded(Never(cores=cores), tmp_path, CYCLES).assert_refuted()
