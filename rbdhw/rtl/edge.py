"""The edge of one pair of streams: requests become tasks for the lanes, and results become responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring

from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.protocol import LOAD_PARAMETERS
from rbdhw.rtl.admission import Admission
from rbdhw.rtl.completion import Completion, places, streams
from rbdhw.rtl.core_ports import CorePorts
from rbdhw.rtl.lane import waiting_places
from rbdhw.rtl.merger import Merger, precedence, quotas
from rbdhw.rtl.parameters import Parameters
from rbdhw.rtl.ports import connect_ports
from rbdhw.rtl.stream import Assembler
from rbdhw.rtl.turns import Turns

WITHOUT_RESULTS_DEPTH = 4
"""The depth of the queue for tasks of unknown functions, and for loads of parameters."""


class Edge:
    """What stands between a pair of streams and the lanes, in a module.

    Requests are assembled, checked and admitted; results wait in the completion of their function until they
    are merged into responses. Nothing of it is shared with another pair of streams.

    All parts are added to the module ``m``, and ``cores`` are those of the accelerator. ``completions``
    answer the tasks of each function, in the interface's order. ``task_words`` are the words of the task at
    the input, completed by parameters that were loaded.
    """

    def __init__(self, m: Module, interface: Interface, cores: Sequence[CorePorts]) -> None:
        self._m = m
        self._interface = interface
        self._cores = cores
        self.completions: list[Any] = []
        m.submodules.assembler = self._assembler = Assembler(interface=interface)
        m.submodules.admission = self.admission = Admission(interface=interface)
        self.task_words = self._complete_words()

    def _complete_words(self) -> Any:
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

    def bring(self, entrance: Any, core: CorePorts) -> list[Any]:
        """Return the assignments of the task at the input to the entrance of a core's lane."""
        task = self.admission.i.p
        select = dict(zip(self._interface.codes, task.select, strict=False))
        return [
            entrance.select.eq(Cat(select[name] for name in core.names)),
            entrance.words.eq(self._words(core)),
            entrance.options.eq(task.options),
        ]

    def _words(self, core: CorePorts) -> Any:
        """Return the low bits of each slot's field that a core reads, loaded words in their places."""
        interface, lowest = self._interface, list(self._interface.places)
        for word in (word for name in core.names for word in interface.words(name).held):
            lowest[word.slot] = interface.places[interface.stored(word).slot]
        fields = zip(lowest, core.slots, strict=False)
        return Cat(self.task_words[first : first + width] for first, width in fields)

    def offers(self, names: Sequence[str], rooms: Sequence[Any]) -> Any:
        """Return whether the task at the input is of one of these functions, and its room is free."""
        task, codes = self.admission.i.p, list(self._interface.codes)
        offers = (task.select[codes.index(name)] & room for name, room in zip(names, rooms, strict=True))
        return Cat(offers).any() & self.admission.i.valid

    def add_completions(self, entrances: Sequence[Any]) -> None:
        """Add the completions of the functions of cores, whose lanes have these entrances."""
        m, interface = self._m, self._interface
        rooms: list[dict[str, Any]] = [{} for _ in self._cores]
        for k, function in enumerate(interface.computed):
            homes = [home for home, core in enumerate(self._cores) if function.name in core.names]
            each = [self._completion(function, home, entrances[home]) for home in homes]
            accepts = [entrances[home].accepts for home in homes]
            if len(each) == 1:
                self.completions.append(each[0])
                m.d.comb += self.admission.accepts[k].eq(accepts[0])
                rooms[homes[0]][function.name] = each[0].available
                continue
            turns = self._take_turns(function, each, accepts)
            self.completions.append(turns)
            m.d.comb += self.admission.accepts[k].eq(turns.accepts)
            for home, completion, turn in zip(homes, each, turns.admitted, strict=True):
                rooms[home][function.name] = completion.available & turn
        if interface.streams > 1:
            for core, entrance, room in zip(self._cores, entrances, rooms, strict=True):
                m.d.comb += entrance.offered.eq(self.offers(core.names, [room[name] for name in core.names]))

    def _completion(self, function: FunctionWords, home: int, entrance: Any) -> Completion:
        """Add the completion of a function in one core."""
        core, interface = self._cores[home], self._interface
        latency, ii = core.latency(function.name), core.ii
        waiting = waiting_places(len(self._cores), ii, interface.streams)
        completion = Completion(
            interface=interface,
            function=function,
            latency=latency,
            depth=places(interface, function, latency + waiting * ii, ii),
            streams=streams(interface, function, latency, ii),
        )
        k = core.names.index(function.name)
        self._m.d.comb += [
            completion.result.eq(getattr(core, f"result_{function.name}")),
            completion.overflow.eq(getattr(core, f"overflow_{function.name}")),
            completion.start.eq(entrance.start[k]),
            completion.record.eq(self.admission.record),
            entrance.admit[k].eq(completion.admit),
        ]
        several = sum(function.name in other.names for other in self._cores) > 1
        self._m.submodules[f"completion_{function.name}" + (f"_{home}" if several else "")] = completion
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
            load = list(self._interface.codes).index(LOAD_PARAMETERS)
            self._m.d.comb += self.admission.accepts[load].eq(1)
            self._answer_without_results("completion_parameters")
        self._answer_without_results("refusal")
        merger = self._merge()
        names = requests, responses
        connect_ports(self._m, accelerator, self._interface, names, self._assembler.i, merger.o)

    def _answer_without_results(self, name: str) -> None:
        """Add the completion of tasks without results: loads of parameters, and unknown functions."""
        completion = Completion(
            interface=self._interface, function=None, latency=0, depth=WITHOUT_RESULTS_DEPTH
        )
        self._m.submodules[name] = completion
        self._m.d.comb += [
            completion.start.eq(completion.admit),
            completion.record.eq(self.admission.record),
        ]
        self.completions.append(completion)

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
