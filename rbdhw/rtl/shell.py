"""The accelerator: a core between two AXI4-Streams."""

from __future__ import annotations

from typing import Any, Protocol

from amaranth.hdl import Cat, Module, ResetSignal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.interface import FunctionWords, Interface
from rbdhw.rtl.admission import Admission
from rbdhw.rtl.completion import Completion, first_beat, places, streams
from rbdhw.rtl.conversion import Elastic, RequestConverter, ResponseConverter
from rbdhw.rtl.merger import Merger, precedence, quotas
from rbdhw.rtl.stream import Assembler

UNKNOWN_DEPTH = 4
"""The depth of the queue for tasks of unknown functions."""


class CoreComponent(Protocol):
    """A core that accepts a task in any cycle in which ``phase_zero`` is high, and never stalls.

    In that cycle ``payload`` holds the task's words, slot by slot, ``functions`` its function (one-hot, in
    the order of the functions), and ``options`` its options. ``latency(function)`` cycles later
    ``result_<function>`` holds the packed results of the function, those of optional arrays last, until the
    earliest cycle in which the next results can follow. ``overflow_<function>`` states whether a value
    overflowed, in the first of these cycles only.
    """

    phase_zero: Any
    payload: Any
    functions: Any
    options: Any

    @property
    def ii(self) -> int:
        """Cycles from one ``phase_zero`` to the next."""

    def latency(self, function: str) -> int:
        """Cycles from a task's words to its results."""

    def result_bits(self, function: str) -> int:
        """Bits of a function's packed results."""


def packet_latency(interface: Interface, function: FunctionWords, latency: int) -> int:
    """Return the cycles from a request's first beat to its response's last beat, for a task alone.

    This is the least latency. Neither stream pauses, and the task has no optional arrays. It starts at the
    most favourable phase of the core's initiation interval; waiting for the next ``phase_zero`` adds up to
    II - 1 cycles. The previous response was of the same function; otherwise the merger needs one more cycle
    to change its turn.

    Parameters
    ----------
    interface
        The layout of packets.
    function
        The task's function.
    latency
        The function's latency in the core, in cycles (:meth:`CoreComponent.latency`).
    """
    further_beats = (
        interface.request_beats(function, False) - 1 + interface.response_beats(function, False) - 1
    )
    conversion = RequestConverter.latency + ResponseConverter.latency if interface.converts else 0
    return further_beats + conversion + Assembler.latency + first_beat(latency) + Merger.latency


class Accelerator(wiring.Component):
    """A core between two AXI4-Streams. Responses of each function keep the order of its requests.

    No task is lost: a task starts only if there is room for its result, and back-pressure stops the input.
    :func:`packet_latency` is the latency of a task alone. Reset discards all tasks and any partial packet.

    Parameters
    ----------
    core : Core
        The core, which becomes the submodule ``core``.
    interface : Interface
        The layout of packets; its functions are the core's, in the core's order.

    Members
    -------
    s_axis_tdata, s_axis_tvalid, s_axis_tready, s_axis_tlast
        Requests.
    m_axis_tdata, m_axis_tvalid, m_axis_tready, m_axis_tlast
        Responses, from registers.

    Raises
    ------
    ValueError
        If the width of the core's payload differs from that of all slots, the width of its results differs
        from that of a function's words, or its initiation interval is below 1.
    """

    def __init__(
        self,
        *,
        core: CoreComponent,
        interface: Interface,
    ) -> None:
        _check_core(core, interface)
        self.core = core
        self.interface = interface
        self.admission = Admission(interface=interface)
        data_width = interface.data_width
        super().__init__(
            {
                "s_axis_tdata": In(data_width),
                "s_axis_tvalid": In(1),
                "s_axis_tready": Out(1),
                "s_axis_tlast": In(1),
                "m_axis_tdata": Out(data_width),
                "m_axis_tvalid": Out(1),
                "m_axis_tready": In(1),
                "m_axis_tlast": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.core = core = self.core
        m.submodules.assembler = assembler = Assembler(interface=self.interface)
        m.submodules.admission = admission = self.admission
        completions = self._completions(m)
        m.submodules.merger = merger = Merger(
            quotas=quotas(self.interface), bits=self.interface.response_beat
        )
        order = precedence(self.interface)
        wiring.connect(m, assembler.o, admission.i)
        m.d.comb += assembler.leaves.eq(admission.leaves)
        for k, completion in enumerate(completions):
            wiring.connect(m, completion.o, merger.i[order.index(k)])
            m.d.comb += [
                merger.more[order.index(k)].eq(completion.more),
                admission.available[k].eq(completion.available),
                completion.start.eq(admission.start[k]),
                completion.recorded.eq(admission.recorded[k]),
                completion.record.eq(admission.record),
            ]
        m.d.comb += [
            admission.phase_zero.eq(core.phase_zero),
            core.payload.eq(self._payload(admission.i.p.words)),
            core.functions.eq(admission.i.p.select),
            core.options.eq(admission.i.p.options),
        ]
        self._connect_ports(m, *self._converters(m, assembler, merger))
        return m

    def _converters(self, m: Module, assembler: Assembler, merger: Merger) -> tuple[Any, Any]:
        """Return the stream that takes requests and the stream that returns responses."""
        if not self.interface.converts:
            return assembler.i, merger.o
        m.submodules.from_singles = requests = Elastic(pipeline=RequestConverter(interface=self.interface))
        m.submodules.to_singles = responses = Elastic(pipeline=ResponseConverter(interface=self.interface))
        wiring.connect(m, requests.o, assembler.i)
        wiring.connect(m, merger.o, responses.i)
        return requests.i, responses.o

    def _payload(self, words: Any) -> Any:
        """Return the low bits of each slot's field that the core reads."""
        places = zip(self.interface.places, self.interface.slots, strict=False)
        return Cat(words[first : first + width] for first, width in places)

    def _completions(self, m: Module) -> list[Completion]:
        """Return a completion for each function; the last one is for tasks of unknown functions."""
        completions = []
        for function in self.interface.functions:
            latency, ii = self.core.latency(function.name), self.core.ii
            completion = Completion(
                interface=self.interface,
                function=function,
                latency=latency,
                depth=places(self.interface, function, latency, ii),
                streams=streams(self.interface, function, latency, ii),
            )
            m.d.comb += [
                completion.result.eq(getattr(self.core, f"result_{function.name}")),
                completion.overflow.eq(getattr(self.core, f"overflow_{function.name}")),
            ]
            m.submodules[f"completion_{function.name}"] = completion
            completions.append(completion)
        m.submodules.refusal = refusal = Completion(
            interface=self.interface, function=None, latency=0, depth=UNKNOWN_DEPTH
        )
        return [*completions, refusal]

    def _connect_ports(self, m: Module, requests: Any, responses: Any) -> None:
        m.d.comb += [
            requests.p.data.eq(self.s_axis_tdata),
            requests.p.last.eq(self.s_axis_tlast),
            requests.valid.eq(self.s_axis_tvalid),
            self.s_axis_tready.eq(requests.ready & ~ResetSignal()),
            self.m_axis_tdata.eq(responses.p.data),
            self.m_axis_tlast.eq(responses.p.last),
            self.m_axis_tvalid.eq(responses.valid),
            responses.ready.eq(self.m_axis_tready),
        ]


def _check_core(core: CoreComponent, interface: Interface) -> None:
    bits = sum(interface.slots)
    if len(core.payload) != bits:
        raise ValueError(f"core: payload of {len(core.payload)} bits; the functions' slots have {bits}")
    for function in interface.functions:
        bits = core.result_bits(function.name)
        if bits != function.result_bits:
            raise ValueError(
                f"core: {function.name} of {bits} bits; the function's outputs have {function.result_bits}"
            )
    if core.ii < 1:
        raise ValueError(f"core: initiation interval is {core.ii}; expected at least 1")
