"""The accelerator: one or more cores between two AXI4-Streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from amaranth.hdl import Cat, Module, Mux, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.interface import FunctionWords, Interface
from rbdhw.protocol import LOAD, LOAD_PARAMETERS, ROLLOUT
from rbdhw.rtl.admission import ADMITTED, Admission
from rbdhw.rtl.completion import Completion, first_beat, places, streams
from rbdhw.rtl.conversion import Elastic, RequestConverter, ResponseConverter
from rbdhw.rtl.domain_check import CHECKED
from rbdhw.rtl.lane import Lane, queue_latency, waiting_places
from rbdhw.rtl.merger import Merger, precedence, quotas
from rbdhw.rtl.parameters import Parameters
from rbdhw.rtl.rollout import Rollout
from rbdhw.rtl.stream import Assembler
from rbdhw.rtl.turns import Turns

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
    def names(self) -> tuple[str, ...]:
        """The functions of the core."""

    @property
    def slots(self) -> tuple[int, ...]:
        """The width of each slot of ``payload``."""

    @property
    def ii(self) -> int:
        """Cycles from one ``phase_zero`` to the next."""

    def latency(self, function: str) -> int:
        """Cycles from a task's words to its results."""

    def result_bits(self, function: str) -> int:
        """Bits of a function's packed results."""


def packet_latency(interface: Interface, function: FunctionWords, latency: int, waiting: int = 0) -> int:
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
    waiting
        The places of the queue before the core (:func:`rbdhw.rtl.lane.waiting_places`).
    """
    further_beats = (
        interface.request_beats(function, False) - 1 + interface.response_beats(function, False) - 1
    )
    conversion = RequestConverter.latency + ResponseConverter.latency if interface.converts else 0
    core = first_beat(latency + queue_latency(waiting))
    return further_beats + conversion + Assembler.latency + core + Merger.latency


class Accelerator(wiring.Component):
    """Cores between two AXI4-Streams. Responses of each function keep the order of its requests.

    A function may be in several cores; their tasks take turns. With several cores, tasks that wait for one of
    them wait in its queue and hold no other task up, until the queue is full.

    No task is lost: a task is admitted only if there is room for its result, and back-pressure stops the
    input. :func:`packet_latency` is the latency of a task alone. Reset discards all tasks and any partial
    packet.

    Parameters
    ----------
    cores : list of CoreComponent
        The cores, which become the submodules ``core``, or ``core_0``, ``core_1``, ... if there are several.
    interface : Interface
        The layout of packets; its functions are those of all cores.

    Members
    -------
    s_axis_tdata, s_axis_tvalid, s_axis_tready, s_axis_tlast
        Requests.
    m_axis_tdata, m_axis_tvalid, m_axis_tready, m_axis_tlast
        Responses, from registers.

    Raises
    ------
    ValueError
        If a core has a function that the interface does not have, or one of the interface's functions is in
        no core; if a core's slots are not those of its functions, or wider; if the width of its results
        differs from that of a function's words, or its initiation interval is below 1.
    """

    def __init__(
        self,
        *,
        cores: Sequence[CoreComponent],
        interface: Interface,
    ) -> None:
        _check_functions(cores, interface)
        for core in cores:
            _check_core(core, interface)
        if interface.rollout is not None and sum("step" in core.names for core in cores) != 1:
            raise ValueError("rollouts: step is in several cores; expected it in one")
        self.cores = tuple(cores)
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
        m.submodules.assembler = assembler = Assembler(interface=self.interface)
        m.submodules.admission = admission = self.admission
        self._complete_words(m)
        lanes = [self._lane(m, place, core) for place, core in enumerate(self.cores)]
        completions = self._completions(m, lanes)
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
                completion.admit.eq(admission.admit[k]),
                completion.recorded.eq(admission.recorded[k]),
            ]
        self._connect_ports(m, *self._converters(m, assembler, merger))
        return m

    def _complete_words(self, m: Module) -> None:
        """Complete the words of the task at the input by parameters that were loaded, if there are any."""
        admission, task = self.admission, self.admission.i.p
        self.task_words = task.words
        if not self.interface.held:
            return
        m.submodules.parameters = parameters = Parameters(interface=self.interface)
        load = list(self.interface.codes).index(LOAD_PARAMETERS)
        m.d.comb += [
            parameters.words.eq(task.words),
            parameters.load.eq(admission.admit[load] & ~task.malformed & ~task.not_finite),
            admission.words.eq(parameters.completed),
            admission.odd.eq(parameters.odd),
        ]
        self.task_words = parameters.completed

    def _lane(self, m: Module, place: int, core: CoreComponent) -> Lane:
        """Add a core and the lane before it; return the lane."""
        several = len(self.cores) > 1
        m.submodules[f"core_{place}" if several else "core"] = core
        steps = self.interface.rollout is not None and "step" in core.names
        lane = Lane(
            bits=len(core.payload), functions=len(core.names), places=self._waiting(core), reports=steps
        )
        m.submodules[f"lane_{place}" if several else "lane"] = lane
        task = self.admission.i.p
        select = dict(zip(self.interface.codes, task.select, strict=False))
        if not steps:
            m.d.comb += lane.phase_zero.eq(core.phase_zero)
        m.d.comb += [
            lane.select.eq(Cat(select[name] for name in core.names)),
            lane.words.eq(self._words(self.task_words, core)),
            lane.options.eq(task.options),
        ]
        if steps:
            self._share(m, core, lane)
            return lane
        m.d.comb += [
            core.functions.eq(lane.core_functions),
            core.payload.eq(lane.core_words),
            core.options.eq(lane.core_options),
        ]
        return lane

    def _share(self, m: Module, core: CoreComponent, lane: Lane) -> None:
        """Add the rollouts, whose steps share a core with the tasks of its lane."""
        m.submodules.rollout = self.rollout = rollout = Rollout(
            interface=self.interface, slots=core.slots, latency=core.latency("step"), ii=core.ii
        )
        task, names = self.admission.i.p, list(self.interface.codes)
        own = [names.index(name) for name in core.names]
        offered = Cat(task.select[k] & self.admission.available[k] for k in own).any()
        starts, place = rollout.starts, core.names.index("step")
        m.d.comb += [
            lane.offered.eq(offered & self.admission.i.valid),
            lane.phase_zero.eq(core.phase_zero & ~starts),
            core.functions.eq(Mux(starts, 1 << place, lane.core_functions)),
            core.payload.eq(Mux(starts, rollout.payload, lane.core_words)),
            core.options.eq(Mux(starts, 0, lane.core_options)),
            rollout.phase_zero.eq(core.phase_zero),
            rollout.others.eq(lane.waits),
            rollout.result.eq(core.result_step),  # type: ignore[attr-defined]
            rollout.overflow.eq(core.overflow_step),  # type: ignore[attr-defined]
            rollout.tag.eq(task.tag),
            rollout.malformed.eq(task.malformed),
            rollout.not_finite.eq(task.not_finite),
            rollout.words.eq(task.words),
            rollout.enters.eq(self.admission.admit[names.index(ROLLOUT)]),
            rollout.loads.eq(self.admission.admit[names.index(LOAD)]),
        ]

    def _waiting(self, core: CoreComponent) -> int:
        """Return the places of the queue before a core."""
        return waiting_places(len(self.cores), core.ii)

    def _words(self, words: Any, core: CoreComponent) -> Any:
        """Return the low bits of each slot's field that a core reads."""
        places = zip(self.interface.places, core.slots, strict=False)
        return Cat(words[first : first + width] for first, width in places)

    def _completions(self, m: Module, lanes: Sequence[Lane]) -> list[Any]:
        """Return a completion for each function; the last one is for tasks of unknown functions."""
        completions = []
        for function in self.interface.computed:
            own = [place for place, core in enumerate(self.cores) if function.name in core.names]
            each = [self._completion(m, function, place, lanes[place]) for place in own]
            accepts = [lanes[place].accepts for place in own]
            place = self.interface.functions.index(function)
            if len(each) == 1:
                completions.append(each[0])
                m.d.comb += self.admission.accepts[place].eq(accepts[0])
            else:
                turns = self._take_turns(m, function, each, accepts)
                completions.append(turns)
                m.d.comb += self.admission.accepts[place].eq(turns.accepts)
        if self.interface.rollout is not None:
            completions += self._commands(m)
        if self.interface.held:
            completions.append(self._loads(m))
        m.submodules.refusal = refusal = Completion(
            interface=self.interface, function=None, latency=0, depth=UNKNOWN_DEPTH
        )
        m.d.comb += [refusal.start.eq(refusal.admit), refusal.record.eq(self.admission.record)]
        return [*completions, refusal]

    def _loads(self, m: Module) -> Completion:
        """Add the completion of loads of parameters, which have no results."""
        place = list(self.interface.codes).index(LOAD_PARAMETERS)
        m.submodules.completion_parameters = loads = Completion(
            interface=self.interface, function=None, latency=0, depth=UNKNOWN_DEPTH
        )
        m.d.comb += [
            self.admission.accepts[place].eq(1),
            loads.start.eq(loads.admit),
            loads.record.eq(self.admission.record),
        ]
        return loads

    def _commands(self, m: Module) -> list[Any]:
        """Return the completions of rollouts and of rows."""
        rollout, admission, names = self.rollout, self.admission, list(self.interface.codes)
        found = []
        for name in (ROLLOUT, LOAD):
            own = self.interface.words(name)
            depth = places(self.interface, own, rollout.latency if name == ROLLOUT else 0, 1)
            completion = Completion(interface=self.interface, function=own, latency=0, depth=depth)
            m.submodules[f"completion_{name}"] = completion
            found.append(_Command(completion))
        states, rows = found
        place = names.index(ROLLOUT)
        m.d.comb += [
            states.available.eq(1),
            admission.accepts[place].eq(rollout.accepts_rollout),
            rollout.available.eq(states.completion.available),
            states.completion.admit.eq(rollout.reserves),
            states.completion.start.eq(rollout.answers),
            states.completion.recorded.eq(rollout.answers),
            states.completion.record.eq(rollout.record),
            states.completion.result.eq(rollout.answer),
            states.completion.overflow.eq(rollout.answer_overflow),
        ]
        refused, record = rollout.refuses_row, Signal(ADMITTED)
        for k in range(CHECKED):
            refused, before = Signal(name=f"row_refused_{k}"), refused
            m.d.sync += refused.eq(before)
        m.d.comb += [
            record.eq(admission.record),
            record.malformed.eq(admission.record.malformed | refused),
            rows.available.eq(rows.completion.available),
            admission.accepts[names.index(LOAD)].eq(rollout.accepts_row),
            rows.completion.admit.eq(rows.admit),
            rows.completion.start.eq(rows.recorded),
            rows.completion.recorded.eq(rows.recorded),
            rows.completion.record.eq(record),
        ]
        return found

    def _completion(self, m: Module, function: FunctionWords, place: int, lane: Lane) -> Completion:
        """Add the completion of a function in one core."""
        core = self.cores[place]
        latency, ii, waiting = core.latency(function.name), core.ii, self._waiting(core)
        completion = Completion(
            interface=self.interface,
            function=function,
            latency=latency,
            depth=places(self.interface, function, latency + waiting * ii, ii),
            streams=streams(self.interface, function, latency, ii),
        )
        own = core.names.index(function.name)
        m.d.comb += [
            completion.result.eq(getattr(core, f"result_{function.name}")),
            completion.overflow.eq(getattr(core, f"overflow_{function.name}")),
            completion.start.eq(lane.start[own]),
            completion.record.eq(self.admission.record),
            lane.admit[own].eq(completion.admit),
        ]
        several = sum(function.name in other.names for other in self.cores) > 1
        m.submodules[f"completion_{function.name}" + (f"_{place}" if several else "")] = completion
        return completion

    def _take_turns(
        self, m: Module, function: FunctionWords, each: Sequence[Completion], accepts: Sequence[Any]
    ) -> Turns:
        """Combine the completions of a function in several cores."""
        turns = Turns(copies=len(each), bits=self.interface.response_beat)
        m.submodules[f"turns_{function.name}"] = turns
        for k, completion in enumerate(each):
            wiring.connect(m, completion.o, turns.i[k])
            m.d.comb += [
                turns.each_available[k].eq(completion.available),
                turns.each_accepts[k].eq(accepts[k]),
                completion.admit.eq(turns.each_admit[k]),
                completion.recorded.eq(turns.each_recorded[k]),
            ]
        return turns

    def _converters(self, m: Module, assembler: Assembler, merger: Merger) -> tuple[Any, Any]:
        """Return the stream that takes requests and the stream that returns responses."""
        if not self.interface.converts:
            return assembler.i, merger.o
        m.submodules.from_singles = requests = Elastic(pipeline=RequestConverter(interface=self.interface))
        m.submodules.to_singles = responses = Elastic(pipeline=ResponseConverter(interface=self.interface))
        wiring.connect(m, requests.o, assembler.i)
        wiring.connect(m, merger.o, responses.i)
        return requests.i, responses.o

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


class _Command:
    """The completion of a command as the shell connects it to admission."""

    def __init__(self, completion: Completion) -> None:
        self.completion = completion
        self.o, self.more = completion.o, completion.more
        self.available, self.admit, self.recorded = Signal(), Signal(), Signal()


def _check_functions(cores: Sequence[CoreComponent], interface: Interface) -> None:
    known = [function.name for function in interface.computed]
    for name in (name for core in cores for name in core.names if name not in known):
        raise ValueError(f"core: has function {name}; expected some of {', '.join(known)}")
    for name in (name for name in known if not any(name in core.names for core in cores)):
        raise ValueError(f"function {name}: is in no core; expected it in at least one")


def _check_core(core: CoreComponent, interface: Interface) -> None:
    needed = [interface.slots_of(interface.words(name), extended=True) for name in core.names]
    if len(core.slots) < max(needed, default=0) or len(core.slots) > len(interface.slots):
        raise ValueError(f"core: has {len(core.slots)} slots; its functions need {max(needed, default=0)}")
    for own, slot in zip(core.slots, interface.slots, strict=False):
        if own > slot:
            raise ValueError(f"core: a slot of {own} bits; the functions' slot has {slot}")
    for name in core.names:
        bits, expected = core.result_bits(name), interface.words(name).result_bits
        if bits != expected:
            raise ValueError(f"core: {name} of {bits} bits; the function's outputs have {expected}")
    if core.ii < 1:
        raise ValueError(f"core: initiation interval is {core.ii}; expected at least 1")
