"""The edge of one pair of streams: requests become tasks for the lanes, and results become responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring

from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.protocol import LOAD_PARAMETERS
from rbdhw.rtl.admission import Admission
from rbdhw.rtl.completion import Completion, places, streams
from rbdhw.rtl.lane import waiting_places
from rbdhw.rtl.merger import Merger, precedence, quotas
from rbdhw.rtl.parameters import Parameters
from rbdhw.rtl.ports import connect_ports
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


class Edge:
    """What stands between a pair of streams and the lanes, in a module.

    Requests are assembled, checked and admitted; results wait in the completion of their function until they
    are merged into responses. Nothing of it is shared with another pair of streams.

    Parameters
    ----------
    m
        The module to which all parts are added.
    interface
        The layout of packets.
    cores
        All cores of the accelerator.

    Attributes
    ----------
    admission
        The admission of tasks.
    completions
        What answers the tasks of each function, in the interface's order.
    task_words
        The words of the task at the input, completed by parameters that were loaded.
    """

    def __init__(self, m: Module, interface: Interface, cores: Sequence[CoreComponent]) -> None:
        self._m = m
        self._interface = interface
        self._cores = cores
        self.completions: list[Any] = []
        m.submodules.assembler = self._assembler = Assembler(interface=interface)
        m.submodules.admission = self.admission = Admission(interface=interface)
        self.task_words = self._complete_words()

    def _complete_words(self) -> Any:
        """Return the words of the task at the input, completed by parameters that were loaded, if any."""
        admission, task = self.admission, self.admission.i.p
        if not self._interface.held:
            return task.words
        self._m.submodules.parameters = parameters = Parameters(interface=self._interface)
        load = list(self._interface.codes).index(LOAD_PARAMETERS)
        self._m.d.comb += [
            parameters.words.eq(task.words),
            parameters.load.eq(admission.admit[load] & ~task.malformed & ~task.not_finite),
            admission.words.eq(parameters.completed),
            admission.odd.eq(parameters.odd),
        ]
        if parameters.sets > 1:
            self._m.d.comb += parameters.number.eq(task.set)
        return parameters.completed

    def bring(self, entrance: Any, core: CoreComponent) -> list[Any]:
        """Return the assignments of the task at the input to the way into a core's lane."""
        task = self.admission.i.p
        select = dict(zip(self._interface.codes, task.select, strict=False))
        return [
            entrance.select.eq(Cat(select[name] for name in core.names)),
            entrance.words.eq(self._words(core)),
            entrance.options.eq(task.options),
        ]

    def _words(self, core: CoreComponent) -> Any:
        """Return the low bits of each slot's field that a core reads, loaded words in their places."""
        interface, places = self._interface, list(self._interface.places)
        for word in (word for name in core.names for word in interface.words(name).held):
            places[word.slot] = interface.places[interface.stored(word).slot]
        fields = zip(places, core.slots, strict=False)
        return Cat(self.task_words[first : first + width] for first, width in fields)

    def offers(self, names: Sequence[str], rooms: Sequence[Any]) -> Any:
        """Return whether the task at the input is of one of these functions, and its room is free."""
        task, codes = self.admission.i.p, list(self._interface.codes)
        wanted = (task.select[codes.index(name)] & room for name, room in zip(names, rooms, strict=True))
        return Cat(wanted).any() & self.admission.i.valid

    def add_completions(self, entrances: Sequence[Any]) -> None:
        """Add the completions of the functions of cores, whose lanes have these entrances."""
        m, interface = self._m, self._interface
        rooms: list[dict[str, Any]] = [{} for _ in self._cores]
        for function in interface.computed:
            own = [place for place, core in enumerate(self._cores) if function.name in core.names]
            each = [self._completion(function, place, entrances[place]) for place in own]
            accepts = [entrances[place].accepts for place in own]
            place = interface.functions.index(function)
            if len(each) == 1:
                self.completions.append(each[0])
                m.d.comb += self.admission.accepts[place].eq(accepts[0])
                rooms[own[0]][function.name] = each[0].available
            else:
                turns = self._take_turns(function, each, accepts)
                self.completions.append(turns)
                m.d.comb += self.admission.accepts[place].eq(turns.accepts)
                for k, home in enumerate(own):
                    rooms[home][function.name] = each[k].available & turns.admitted[k]
        if interface.streams > 1:
            for core, entrance, room in zip(self._cores, entrances, rooms, strict=True):
                m.d.comb += entrance.offered.eq(self.offers(core.names, [room[name] for name in core.names]))

    def _completion(self, function: FunctionWords, place: int, entrance: Any) -> Completion:
        """Add the completion of a function in one core."""
        core, interface = self._cores[place], self._interface
        latency, ii = core.latency(function.name), core.ii
        waiting = waiting_places(len(self._cores), ii, interface.streams)
        completion = Completion(
            interface=interface,
            function=function,
            latency=latency,
            depth=places(interface, function, latency + waiting * ii, ii),
            streams=streams(interface, function, latency, ii),
        )
        own = core.names.index(function.name)
        self._m.d.comb += [
            completion.result.eq(getattr(core, f"result_{function.name}")),
            completion.overflow.eq(getattr(core, f"overflow_{function.name}")),
            completion.start.eq(entrance.start[own]),
            completion.record.eq(self.admission.record),
            entrance.admit[own].eq(completion.admit),
        ]
        several = sum(function.name in other.names for other in self._cores) > 1
        self._m.submodules[f"completion_{function.name}" + (f"_{place}" if several else "")] = completion
        return completion

    def _take_turns(
        self, function: FunctionWords, each: Sequence[Completion], accepts: Sequence[Any]
    ) -> Turns:
        """Combine the completions of a function in several cores."""
        turns = Turns(copies=len(each), bits=self._interface.response_beat)
        self._m.submodules[f"turns_{function.name}"] = turns
        for k, completion in enumerate(each):
            wiring.connect(self._m, completion.o, turns.i[k])
            self._m.d.comb += [
                turns.each_available[k].eq(completion.available),
                turns.each_accepts[k].eq(accepts[k]),
                completion.admit.eq(turns.each_admit[k]),
                completion.recorded.eq(turns.each_recorded[k]),
            ]
        return turns

    def connect_ports(self, accelerator: Any, requests: str, responses: str) -> None:
        """Add what answers the other tasks, merge all responses, and connect the ports of these names."""
        if self._interface.held:
            self._add_loads()
        self._add_refusal()
        merger = self._merge()
        names = requests, responses
        connect_ports(self._m, accelerator, self._interface, names, self._assembler.i, merger.o)

    def _add_loads(self) -> None:
        """Add the completion of loads of parameters, which have no results."""
        place = list(self._interface.codes).index(LOAD_PARAMETERS)
        self._m.submodules.completion_parameters = loads = Completion(
            interface=self._interface, function=None, latency=0, depth=UNKNOWN_DEPTH
        )
        self._m.d.comb += [
            self.admission.accepts[place].eq(1),
            loads.start.eq(loads.admit),
            loads.record.eq(self.admission.record),
        ]
        self.completions.append(loads)

    def _add_refusal(self) -> None:
        """Add the completion of tasks of unknown functions."""
        self._m.submodules.refusal = refusal = Completion(
            interface=self._interface, function=None, latency=0, depth=UNKNOWN_DEPTH
        )
        self._m.d.comb += [refusal.start.eq(refusal.admit), refusal.record.eq(self.admission.record)]
        self.completions.append(refusal)

    def _merge(self) -> Merger:
        """Connect admission, assembler and completions; return the merger of all responses."""
        m, admission = self._m, self.admission
        m.submodules.merger = merger = Merger(
            quotas=quotas(self._interface), bits=self._interface.response_beat
        )
        order = precedence(self._interface)
        wiring.connect(m, self._assembler.o, admission.i)
        m.d.comb += self._assembler.leaves.eq(admission.leaves)
        for k, completion in enumerate(self.completions):
            wiring.connect(m, completion.o, merger.i[order.index(k)])
            m.d.comb += [
                merger.more[order.index(k)].eq(completion.more),
                admission.available[k].eq(completion.available),
                completion.admit.eq(admission.admit[k]),
                completion.recorded.eq(admission.recorded[k]),
            ]
        return merger
