"""Admission: when a task may leave the input, and the record that the edge keeps of it."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rbdhw.header import EXTENDED, HEADER, LOADED
from rbdhw.model.interface import Interface
from rbdhw.protocol import COMMANDS, LOAD_PARAMETERS
from rbdhw.rtl.domain_check import CHECKED, DomainCheck
from rbdhw.rtl.layouts import task_layout

ADMITTED = data.StructLayout(
    {name: HEADER[name][1] for name in ("tag", "function", "options")}
    | {"outside": 1, "malformed": 1, "not_finite": 1}
)
"""The record of a task that the edge keeps while the core computes."""


class Admission(wiring.Component):
    """Admits a task when there is room for its result and its core accepts it.

    A malformed task of a known function is admitted as well, so that its response keeps its place in that
    function's order. A task of an unknown function does not wait for a core.
    """

    def __init__(self, *, interface: Interface) -> None:
        self.interface = interface
        size = len(interface.functions) + 1
        # If parameters are loaded: the fields of the task at the input, completed by them, and whether an odd
        # number of loads of its set came before.
        loads = {"words": In(interface.places[-1]), "odd": In(1)} if interface.held else {}
        super().__init__(
            loads
            | {
                "i": In(stream.Signature(task_layout(interface))),
                "accepts": In(size - 1),  # whether the core of each function accepts a task in this cycle
                # One bit per function, the last for unknown functions: whether there is room for a result.
                "available": In(size),
                "leaves": Out(1),  # whether a task of any function would leave the input in this cycle
                "admit": Out(size),  # one-hot: the task at the input is admitted in this cycle
                "recorded": Out(size),  # `admit`, delayed by `CHECKED` cycles
                "record": Out(ADMITTED),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.domain_check = check = DomainCheck(interface=self.interface)
        known = len(self.interface.functions)
        task = self.i.p
        accepts = Cat(self.accepts, 1)
        leaves = self.available.all() & self.accepts.all()
        commands = [k for k, function in enumerate(self.interface.functions) if function.name in COMMANDS]
        if commands:  # these wait long, and would hold up packets of one beat
            others = [k for k in range(known) if k not in commands]
            leaves = Cat(self.available[k] & self.accepts[k] for k in others).all() & self.available[known]
            leaves &= ~Cat(task.select[k] for k in commands).any()
        admitted = self.admit
        options = Cat(task.options[:LOADED], self.odd) if self.interface.held else task.options
        kept = Cat(task.tag, task.function, options, task.malformed, task.not_finite)
        for k in range(CHECKED):
            admitted, past = Signal.like(self.admit, name=f"admitted_{k}"), admitted
            kept, past_kept = Signal(len(kept), name=f"kept_{k}", reset_less=True), kept
            m.d.sync += [admitted.eq(past), kept.eq(past_kept)]
        m.d.comb += [
            self.leaves.eq(leaves),
            self.admit.eq(task.select & self.available & accepts & self.i.valid.replicate(known + 1)),
            self.i.ready.eq((task.select & self.available & accepts).any()),
            check.select.eq(task.select[:known]),
            check.extended.eq(task.options[EXTENDED]),
            check.words.eq(self._checked_words()),
            self.recorded.eq(admitted),
            Cat(self.record[name] for name in ("tag", "function", "options", "malformed", "not_finite")).eq(
                kept
            ),
            self.record.outside.eq(check.outside),
        ]
        return m

    def _checked_words(self) -> Any:
        """Return the fields that are compared with the domain: those of a load as they come."""
        task = self.i.p
        if not self.interface.held:
            return task.words
        load = list(self.interface.codes).index(LOAD_PARAMETERS)
        return Mux(task.select[load], task.words, self.words)
