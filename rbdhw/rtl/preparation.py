"""The preparation of a rollout's next step: the samples that are added to its forces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rbdhw.fixed.normal import SAMPLE
from rbdhw.fixed.program import Word
from rbdhw.interface import Interface, RolloutShape, array_of
from rbdhw.protocol import LOAD, SAMPLES, WordName
from rbdhw.rtl.arithmetic import half
from rbdhw.rtl.delay import delay_line
from rbdhw.rtl.normal import NormalSource

MEMORY_STAGES = 4
"""The fewest stages of a delay line that is a memory."""

ADDED = NormalSource.latency + 1
"""Cycles until what is added to the forces is there: the samples and a product."""

LIMITED = 2
"""Cycles from then on to the forces: a sum and its limits."""


def preparation_latency(shape: RolloutShape) -> int:
    """Return the cycles between a step's result and the queue of those that wait for the core."""
    return ADDED + LIMITED if SAMPLES in shape.parts else 0


def loaded_words(interface: Interface) -> tuple[Word, ...]:
    """Return the words of a row, in the order in which it is stored."""
    return tuple(word for word in interface.words(LOAD).inputs if word.name != "row")


class Preparation(wiring.Component):
    """Computes the forces of a rollout's next step: its row, plus normal samples, limited.

    Each sample is multiplied by the row's standard deviation, and the product is rounded to the format of the
    force. The sum is limited to the bounds of the force.

    Parameters
    ----------
    interface : Interface
        The packet layout.
    layout : StructLayout
        That of a rollout between two steps, with ``seed``, ``done`` and ``forces``.

    Members
    -------
    i : In(layout)
        A rollout.
    address : Out
        The number of its next step, so that ``row`` is there a cycle later.
    row : In
        The words of that row.
    o : Out(layout)
        The rollout with its forces, :attr:`latency` cycles later.
    """

    def __init__(self, *, interface: Interface, layout: data.StructLayout) -> None:
        if interface.rollout is None:
            raise ValueError("interface: has no rollouts; expected their shape")
        self.layout = layout
        self.words = loaded_words(interface)
        self.step_bits = layout.members["done"]
        self.latency = preparation_latency(interface.rollout)
        super().__init__(
            {
                "i": In(layout),
                "address": Out(self.step_bits),
                "row": In(sum(word.format.width for word in self.words)),
                "o": Out(layout),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.d.comb += self.address.eq(self._later(m, "address", self.i.done, ADDED - 2))
        row = self._row()
        samples = self._samples(m)
        forces = []
        for word in (word for word in self.words if array_of(word) == "tau"):
            sample = samples[WordName.parse(word.name).index[0]]
            nominal = _register(m, f"nominal_{word.slot}", row[word.name], signed(word.format.width))
            product = _register(
                m,
                f"product_{word.slot}",
                sample * row[str(replace(WordName.parse(word.name), array="std"))],
                signed(SAMPLE.width + word.format.width),
            )
            added = product + half(SAMPLE.binary_point) >> SAMPLE.binary_point
            forces.append(_limited(m, word, nominal + added))
        passed = Signal(self.layout)
        m.d.comb += [
            passed.eq(self._later(m, "rollout", self.i.as_value(), self.latency)),
            self.o.eq(passed),
            self.o.forces.eq(Cat(forces)),
        ]
        return m

    def _row(self) -> dict[str, Any]:
        """Return the words of the row at the port by name."""
        found, start = {}, 0
        for word in self.words:
            found[word.name] = self.row[start : start + word.format.width].as_signed()
            start += word.format.width
        return found

    def _samples(self, m: Module) -> list[Any]:
        """Return the samples of all forces, as signals of their own."""
        count = 1 + max(WordName.parse(word.name).index[0] for word in self.words if array_of(word) == "tau")
        m.submodules.source = source = NormalSource(
            coordinates=count, seed_bits=self.layout.members["seed"], step_bits=self.step_bits
        )
        m.d.comb += [source.seed.eq(self.i.seed), source.step.eq(self.i.done)]
        ends = [SAMPLE.width * (k + 1) for k in range(count)]
        return [source.samples[end - SAMPLE.width : end].as_signed() for end in ends]

    def _later(self, m: Module, name: str, value: Any, cycles: int) -> Any:
        """Return a value after some cycles."""
        now = Signal(len(value), name=name)
        m.d.comb += now.eq(value)
        return delay_line(m, now, 1, (cycles,), name=name, memory_stages=MEMORY_STAGES)[cycles]


def _limited(m: Module, word: Word, value: Any) -> Any:
    """Return a force within its bounds, two cycles later."""
    total = _register(m, f"total_{word.slot}", value, value.shape())
    limited = Mux(total < word.lowest, word.lowest, Mux(total > word.highest, word.highest, total))
    return _register(m, f"force_{word.slot}", limited, signed(word.format.width))


def _register(m: Module, name: str, value: Any, shape: Any) -> Any:
    """Return a value, delayed by one cycle."""
    later = Signal(shape, name=name, reset_less=True)
    m.d.sync += later.eq(value)
    return later
