"""The accelerator as a block of a larger design: streams, registers at an AXI4-Lite port, an interrupt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add
from typing import Any

from amaranth.hdl import Cat, ClockDomain, ClockSignal, Instance, Module, Mux, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.model.interface import Interface
from rbdhw.registers.map import INTERRUPTS, Constants
from rbdhw.rtl.crossing import CORE, STREAM, AsyncQueue, reset_across
from rbdhw.rtl.gates import AnswerGate, RequestGate
from rbdhw.rtl.layouts import beat_layout
from rbdhw.rtl.registers import AXI4_LITE, Registers

FLAGS = ("outside", "overflow", "malformed", "not_finite")
"""The counters of flagged answers, in the order of the status bits."""


Gates = tuple[RequestGate, AnswerGate]
"""The gates of a pair of streams."""


class AxiAccelerator(wiring.Component):
    """The accelerator with registers at an AXI4-Lite port, an interrupt, and on request a clock of its own.

    The accelerator is an instance of a module that stands in another file. Nothing in it is seen but its
    streams. Answers leave a cycle later than without this block, or as the crossing of clocks takes.

    ``name`` is the module of the accelerator. With ``crossing`` streams and registers have the clock
    ``stream_clk`` and the reset ``stream_rst``, and the cores have ``clk``; otherwise all have ``clk`` and
    ``rst``.
    """

    def __init__(self, *, name: str, interface: Interface, constants: Constants, crossing: bool) -> None:
        self.name = name
        self.interface = interface
        self.constants = constants
        self.crossing = crossing
        members: dict[str, Any] = {"stream_clk": In(1), "stream_rst": In(1), "clk": In(1)} if crossing else {}
        for requests, answers in interface.ports:
            members |= {
                f"{requests}_tdata": In(interface.data_width),
                f"{requests}_tvalid": In(1),
                f"{requests}_tready": Out(1),
                f"{requests}_tlast": In(1),
                f"{answers}_tdata": Out(interface.data_width),
                f"{answers}_tvalid": Out(1),
                f"{answers}_tready": In(1),
                f"{answers}_tlast": Out(1),
            }
        super().__init__({**members, **AXI4_LITE, "interrupt": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.registers = registers = Registers(constants=self.constants)
        for port, member in AXI4_LITE.items():
            outer, inner = getattr(self, port), getattr(registers, port)
            m.d.comb += inner.eq(outer) if member.flow == In else outer.eq(inner)
        m.d.comb += self.interrupt.eq(registers.interrupt)
        core_reset = self._add_reset(m, registers)
        gates = [self._add_gates(m, k, registers) for k in range(self.interface.streams)]
        self._add_accelerator(m, gates, core_reset)
        self._add_counts(m, registers, gates)
        return m

    def _add_reset(self, m: Module, registers: Registers) -> Any:
        """Add what resets the cores, after a reset of the registers and on request; return that reset."""
        if self.crossing:
            m.domains += [ClockDomain("sync"), ClockDomain(STREAM), ClockDomain(CORE)]
            resetting, core_reset = reset_across(m, registers.soft_reset)
            m.d.comb += [
                ClockSignal().eq(self.stream_clk),
                ResetSignal().eq(self.stream_rst),
                ClockSignal(STREAM).eq(self.stream_clk),
                ResetSignal(STREAM).eq(self.stream_rst | resetting),
                ClockSignal(CORE).eq(self.clk),
                ResetSignal(CORE).eq(core_reset),
            ]
        else:
            asked = Signal(init=1)
            core_reset = Signal(init=1)
            resetting = asked | core_reset
            m.d.sync += [asked.eq(registers.soft_reset), core_reset.eq(asked)]
        soft = Signal()
        m.d.sync += soft.eq(registers.soft_reset | soft & resetting)
        m.d.comb += [
            registers.resetting.eq(resetting),
            registers.events[INTERRUPTS.index("reset_done")].eq(soft & ~resetting),
        ]
        return core_reset

    def _add_gates(self, m: Module, pair: int, registers: Registers) -> Gates:
        """Add the gates of a pair of streams and connect them to its ports."""
        requests, answers = self.interface.ports[pair]
        entry, exit_ = RequestGate(interface=self.interface), AnswerGate(interface=self.interface)
        m.submodules[f"requests{self._suffix(pair)}"] = entry
        m.submodules[f"answers{self._suffix(pair)}"] = exit_
        m.d.comb += [
            entry.i.valid.eq(getattr(self, f"{requests}_tvalid")),
            entry.i.p.data.eq(getattr(self, f"{requests}_tdata")),
            entry.i.p.last.eq(getattr(self, f"{requests}_tlast")),
            getattr(self, f"{requests}_tready").eq(entry.i.ready),
            entry.enable.eq(registers.enable),
            getattr(self, f"{answers}_tvalid").eq(exit_.o.valid),
            getattr(self, f"{answers}_tdata").eq(exit_.o.p.data),
            getattr(self, f"{answers}_tlast").eq(exit_.o.p.last),
            exit_.o.ready.eq(getattr(self, f"{answers}_tready")),
        ]
        for gate in (entry, exit_):
            m.d.comb += [gate.restart.eq(registers.soft_reset), gate.resetting.eq(registers.resetting)]
        return entry, exit_

    def _add_accelerator(self, m: Module, gates: Sequence[Gates], core_reset: Any) -> None:
        """Add the accelerator behind the gates, and the queues between the clocks, if there are two."""
        clock = ClockSignal(CORE if self.crossing else "sync")
        attached: dict[str, Any] = {"i_clk": clock, "i_rst": core_reset}
        for k, ((requests, answers), (entry, exit_)) in enumerate(
            zip(self.interface.ports, gates, strict=True)
        ):
            to_core, from_core = self._cross(m, k, entry, exit_) if self.crossing else (entry.o, exit_.i)
            attached |= {
                f"i_{requests}_tdata": to_core.p.data,
                f"i_{requests}_tvalid": to_core.valid,
                f"o_{requests}_tready": to_core.ready,
                f"i_{requests}_tlast": to_core.p.last,
                f"o_{answers}_tdata": from_core.p.data,
                f"o_{answers}_tvalid": from_core.valid,
                f"i_{answers}_tready": from_core.ready,
                f"o_{answers}_tlast": from_core.p.last,
            }
        m.submodules.accelerator = Instance(self.name, **attached)

    def _cross(self, m: Module, pair: int, entry: RequestGate, exit_: AnswerGate) -> tuple[Any, Any]:
        """Add queues between the clocks; return their ends at the accelerator."""
        layout = beat_layout(self.interface.data_width)
        inward = AsyncQueue(layout=layout, i_domain=STREAM, o_domain=CORE)
        outward = AsyncQueue(layout=layout, i_domain=CORE, o_domain=STREAM)
        m.submodules[f"to_core{self._suffix(pair)}"] = inward
        m.submodules[f"from_core{self._suffix(pair)}"] = outward
        wiring.connect(m, entry.o, inward.i)
        wiring.connect(m, outward.o, exit_.i)
        return inward.o, outward.i

    def _add_counts(self, m: Module, registers: Registers, gates: Sequence[Gates]) -> None:
        """Count tasks in flight, and what the counters count."""
        entries, exits = [entry for entry, _ in gates], [exit_ for _, exit_ in gates]
        in_flight, was_busy = registers.in_flight, Signal()
        held = Signal.like(in_flight)
        busy = held != 0
        whole = [exit_.left & ~exit_.rollout for exit_ in exits]
        # Answers that a reset finds at the ports still leave.
        waiting = _total(exit_.waits & ~exit_.rollout for exit_ in exits)
        following = held + _total(entry.entered & ~entry.rollout for entry in entries) - _total(whole)
        m.d.sync += [held.eq(Mux(registers.resetting, waiting, following)), was_busy.eq(busy)]
        flagged = Cat(exit_.left & exit_.status.any() for exit_ in exits).any()
        events = {
            "answer": Cat(exit_.left for exit_ in exits).any(),
            "flagged": flagged,
            "idle": was_busy & ~busy & ~registers.resetting,
        }
        m.d.comb += [
            in_flight.eq(held),
            registers.idle.eq(~busy & ~registers.resetting),
            registers.dropping.eq(Cat(entry.dropping for entry in entries).any()),
            *(registers.events[INTERRUPTS.index(name)].eq(event) for name, event in events.items()),
            registers.add_busy_cycles.eq(busy),
            registers.add_requests.eq(_total(entry.entered for entry in entries)),
            registers.add_answers.eq(_total(exit_.left for exit_ in exits)),
            registers.add_request_beats.eq(_total(entry.taken for entry in entries)),
            registers.add_answer_beats.eq(_total(exit_.o.valid & exit_.o.ready for exit_ in exits)),
            registers.add_request_waits.eq(_total(entry.i.valid & ~entry.i.ready for entry in entries)),
            registers.add_answer_waits.eq(_total(exit_.o.valid & ~exit_.o.ready for exit_ in exits)),
        ]
        for bit, name in enumerate(FLAGS):
            amount = _total(exit_.left & exit_.status[bit] for exit_ in exits)
            m.d.comb += getattr(registers, f"add_{name}").eq(amount)

    def _suffix(self, pair: int) -> str:
        return f"_{pair}" if self.interface.streams > 1 else ""


def _total(bits: Iterable[Any]) -> Any:
    """Return how many of some bits are set."""
    return reduce(add, bits)
