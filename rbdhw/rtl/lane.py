"""The way of admitted tasks into one of several cores: at once, or through a queue."""

from __future__ import annotations

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.header import HEADER
from rbdhw.rtl.completion import QUEUE

WAITING = 16
"""The most tasks that wait for a core which does not accept a task in every cycle."""


AT_ARBITER = 2
"""The most tasks that wait behind an arbiter for a core that takes them as fast as they are admitted.

Such a queue ends the path through the arbiter in registers; with these places it never pauses.
"""


def waiting_places(
    cores: int,  # the number of cores
    initiation_interval: int,  # cycles between tasks of this core
    streams: int = 1,  # the pairs of streams, whose edges take turns at the core
) -> int:
    """Return the most tasks that wait for one core of an accelerator; 0 if they enter it at once.

    Tasks of a single core wait at the input of the accelerator, since nothing else could leave it.
    """
    if cores > 1 and initiation_interval > 1:
        return WAITING
    return AT_ARBITER if streams > 1 else 0


def queue_latency(places: int) -> int:
    """Return the cycles that a task spends in an empty queue of this many places."""
    return QUEUE if places else 0


class Lane(wiring.Component):
    """Hands admitted tasks to one core in their order.

    There is room for the results of every admitted task. A task that waits therefore only waits for the next
    ``phase_zero`` and for the tasks before it.


    Raises ValueError for a negative number of places.
    """

    def __init__(
        self,
        *,
        bits: int,  # bits of a task's words
        functions: int,  # the number of the core's functions
        places: int,  # the most tasks that wait (`waiting_places`)
        reports: bool = False,  # whether the lane has the members `offered` and `waits`
    ) -> None:
        if places < 0:
            raise ValueError(f"places: is {places}; expected at least 0")
        self.places = places
        self.reports = reports
        options = HEADER["options"][1]
        super().__init__(
            {
                "accepts": Out(1),  # whether a task may be admitted in this cycle
                # A task: its function (one-hot), words and options.
                "select": In(functions),
                "words": In(bits),
                "options": In(options),
                "admit": In(functions),  # one-hot: that task is admitted
                "phase_zero": In(1),  # whether the core accepts a task in this cycle
                # The task at the core's input.
                "core_functions": Out(functions),
                "core_words": Out(bits),
                "core_options": Out(options),
                "start": Out(functions),  # one-hot: that task starts in this cycle
                # Whether a task at the input could be admitted if the core accepted it; whether one waits.
                **({"offered": In(1), "waits": Out(1)} if reports else {}),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        task = Cat(self.select, self.options, self.words)
        at_core = Cat(self.core_functions, self.core_options, self.core_words)
        if not self.places:
            if self.reports:
                m.d.comb += self.waits.eq(self.offered)
            m.d.comb += [
                self.accepts.eq(self.phase_zero),
                at_core.eq(task),
                self.start.eq(self.admit),
            ]
            return m
        # Its output register holds one task more.
        m.submodules.queue = queue = SyncFIFOBuffered(width=len(task), depth=self.places + 1)
        starts = queue.r_rdy & self.phase_zero
        if self.reports:
            m.d.comb += self.waits.eq(queue.r_rdy)
        m.d.comb += [
            self.accepts.eq(queue.w_rdy),
            queue.w_en.eq(self.admit.any()),
            queue.w_data.eq(task),
            at_core.eq(queue.r_data),
            queue.r_en.eq(starts),
            self.start.eq(self.core_functions & starts.replicate(len(self.start))),
        ]
        return m


def lane_cells(
    # The bits of a task's words in the core, and the number of its functions.
    bits: int,
    functions: int,
    ii: int,  # cycles between tasks of the core
    # The number of cores of the accelerator, and of its pairs of streams, which take turns.
    cores: int,
    streams: int,
    fabric: Fabric,
) -> tuple[Cells, Cells]:
    """Return the cells through which tasks enter a core, and those of the queue in which they wait."""
    task, waiting = bits + functions + HEADER["options"][1], waiting_places(cores, ii, streams)
    turns = Cells(luts=fabric.multiplexer(streams, task)) if streams > 1 else Cells()
    return turns, fabric.queue(task, waiting) if waiting else Cells()
