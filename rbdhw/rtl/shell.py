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
"""Places for tasks of unknown functions."""


class CoreComponent(Protocol):
    """A pipeline that may be given a task in any cycle in which ``phase_zero`` is high, and never stalls.

    The task's words stand at ``payload`` in that cycle, slot by slot, its function (one-hot, in the
    functions' order) at ``functions`` and its options at ``options``. ``latency(function)`` cycles later the
    packed results of the function stand at ``result_<function>``, until the next might, those of optional
    arrays last, and beside them at ``overflow_<function>``, for one cycle, whether a value overflowed.
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
    """Cycles from a request's first beat in to its response's last beat out, with nothing else in flight.

    Neither stream pauses, and the task is a plain one, without optional arrays. It starts at the most
    favourable phase of the core's initiation interval: waiting for the next ``phase_zero`` adds up to
    II - 1 cycles. The response before was one of the same function: after another's it takes a cycle more,
    in which the merger's turn moves.

    Parameters
    ----------
    edge
        How packets are laid out.
    function
        The task's function.
    latency
        Its cycles in the core (:meth:`Core.latency`).
    """
    further_beats = (
        interface.request_beats(function, False) - 1 + interface.response_beats(function, False) - 1
    )
    conversion = RequestConverter.latency + ResponseConverter.latency if interface.converts else 0
    return further_beats + conversion + Assembler.latency + first_beat(latency) + Merger.latency


class Accelerator(wiring.Component):
    """Serves task packets with a core: in order for each function, and without losing any.

    A task starts only when there is room for its result, so any back-pressure ends at the input.
    :func:`packet_latency` counts the cycles of a task that meets no other. Reset drops all tasks and any
    partial packet.

    Parameters
    ----------
    core : Core
        The pipeline; it becomes the submodule ``core``.
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
        If the core's payload is not as wide as all slots, its results are not as wide as the functions'
        words, or its initiation interval is below 1.
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
        """The stream to which requests go, and that from which responses come."""
        if not self.interface.converts:
            return assembler.i, merger.o
        m.submodules.from_singles = requests = Elastic(pipeline=RequestConverter(interface=self.interface))
        m.submodules.to_singles = responses = Elastic(pipeline=ResponseConverter(interface=self.interface))
        wiring.connect(m, requests.o, assembler.i)
        wiring.connect(m, merger.o, responses.i)
        return requests.i, responses.o

    def _payload(self, words: Any) -> Any:
        """The core's share of each slot's field."""
        places = zip(self.interface.places, self.interface.slots, strict=False)
        return Cat(words[first : first + width] for first, width in places)

    def _completions(self, m: Module) -> list[Completion]:
        """One for each function, and the last for tasks of unknown ones, which see no core."""
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
        raise ValueError(f"core: initiation interval {core.ii}; at least 1 was expected")
