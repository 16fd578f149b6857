"""Rollouts that are also the samples of means."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from rbdhw.fixed.rollout import force_words
from rbdhw.protocol import LOAD, MEAN, MEAN_COMMANDS, MPPI
from rbdhw.rtl.layouts import split_words
from rbdhw.rtl.mppi import Mppi
from rbdhw.rtl.rollout import Rollout
from rbdhw.rtl.rows import Write, loaded_words


class RolloutWithMeans(Rollout):
    """Starts the steps of rollouts in a core, and takes their results back.

    While a mean of samples is taken, all rollouts are its samples. None of them is answered, and rows are
    neither loaded nor read by others.
    """

    def _ports(self) -> dict[str, Any]:
        bits = {name: self.interface.words(name).result_bits for name in MEAN_COMMANDS}
        return {
            # One-hot: the task at the input is this command, and is admitted; and whether that task, as each
            # of them, is malformed by its numbers. They are accepted when rows are.
            "admit_mean": In(len(MEAN_COMMANDS)),
            "refuses_mean": Out(len(MEAN_COMMANDS)),
            # An answer to `mppi`: its packed words. Those of `mean` come a cycle after its admission.
            "mean_answers": Out(1),
            "mean_answer": Out(bits[MPPI]),
            "row_of_forces": Out(bits[MEAN]),
        } | super()._ports()

    def elaborate(self, platform: object) -> Module:
        self.mppi = Mppi(interface=self.interface, flights=self.flights)
        return super().elaborate(platform)

    def _enters(self) -> Any:
        return self.enters | self.mppi.issues

    def _for_the_link(self, bit: Any) -> Any:
        return bit & ~self.mppi.busy

    def _other_writes(self) -> dict[str, Write]:
        return {LOAD: Write(self.mppi.writes, self.mppi.write_address, self.mppi.write_row)}

    def _entry(self, m: Module) -> Any:
        """Return the rollout that enters: that of the task at the input, or a sample of a mean."""
        m.submodules.mppi = self.mppi
        entry = self._asked(m)
        first, sample = Signal(self.layout, name="first"), Signal(self.layout, name="sample")
        self._begin_mean(m, entry, first)
        m.d.comb += [
            sample.eq(first),
            sample.seed.eq(self.mppi.next_seed),
            sample.left.eq(self.shape.horizon),
        ]
        return Mux(self.mppi.busy, sample.as_value(), entry.as_value())

    def _begin_mean(self, m: Module, asked: Any, first: Any) -> None:
        """Begin a mean, whose samples begin like ``first``, or read the forces of a step.

        The words of a first state have the same places in requests for rollouts and for means, so ``first``
        is what is ``asked`` for. Connect the rows of forces, which the mean reads and writes.
        """
        mppi, words = self.mppi, {word.name: word for word in self.interface.inputs(MPPI)}
        numbers, (rows, *_) = self._numbers(MPPI), self.rows
        bad = Cat(each.loaded != self.shape.horizon for each in self.rows).any()
        for name in ("samples", "seed", "scale", "exponent", "shift"):
            number, word = numbers[name], words[name]
            bad |= (number < word.lowest) | (number > word.highest)
            m.d.comb += getattr(mppi, name).eq(number)
        row = self._numbers(MEAN)["row"]
        usable, missing = ~self.malformed & ~self.not_finite, (row < 0) | (row >= rows.loaded)
        begins = self.admit_mean[0] & usable & ~bad
        with m.If(begins):
            m.d.sync += [first[name].eq(asked[name]) for name in ("exceeds", "constant", "state")]
        read = rows.memory.read_port()
        forces = split_words(loaded_words(self.interface), read.data)
        of_row = Cat(forces[word.name] for word in force_words(self.step))
        m.d.comb += [
            mppi.begins.eq(begins),
            mppi.read.eq(row),
            read.addr.eq(mppi.address[: len(read.addr)]),
            mppi.row.eq(read.data),
            self.refuses_mean.eq(Cat(bad, missing) & (~self.not_finite).replicate(2)),
            self.row_of_forces.eq(of_row),
            self.mean_answers.eq(mppi.ends | self.admit_mean[0] & ~begins),
        ]
        widths = {word.array: word.format.width for word in self.interface.outputs(MPPI)}
        results = [(getattr(mppi, name), widths[name]) for name in mppi.numbers]
        padded = (Cat(value, Const(0, width - len(value))) for value, width in results)
        m.d.comb += self.mean_answer.eq(Cat(of_row, *padded))

    def _count(self, m: Module, enters: Any, leaves: Any, comes_back: Any) -> Any:
        room = super()._count(m, enters, leaves, comes_back)
        m.d.comb += self.mppi.room.eq(room)
        return room

    def _answer(self, m: Module, bits: Any, release: Any, comes_back: Any, result: Any) -> Any:
        entry = super()._answer(m, bits, release, comes_back, result)
        m.d.comb += [
            self.mppi.collects.eq(comes_back & self.mppi.busy),
            self.mppi.cost.eq(entry.cost),
            self.mppi.flagged.eq(entry.outside | entry.overflow),
        ]
        return entry
