"""Means of samples: rollouts of consecutive seeds, whose forces are drawn again, and weighed by costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from rbdhw.delays import Delays
from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.rollout import RolloutShape, force_words, rollout_cost
from rbdhw.fixed.softmin import GUARD, SUM_BITS, TOGETHER, WEIGHT, quotient_bits
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.rtl.delay import register
from rbdhw.rtl.layouts import split_words
from rbdhw.rtl.rollout_samples import SEED_BITS
from rbdhw.rtl.rows import loaded_words
from rbdhw.rtl.softmin import (
    COUNT_BITS,
    DROP_BITS,
    EXPONENT_BITS,
    SCALE_BITS,
    Softmin,
    softmin_cells,
    softmin_products,
)
from rbdhw.rtl.weighted_forces import WRITTEN, WeightedForces, period, weighted_cells, weighted_products

NORMAL_SHIFTS = SUM_BITS - WEIGHT.binary_point
"""The most bits by which the sum of weights is shifted until its leading one is at the highest place."""

CONTROL = 8
"""The most cycles between the parts of a mean."""


def cost_bits(step: FunctionWords, shape: RolloutShape) -> int:
    """Return the bits of the cost of a rollout, which is not negative."""
    return rollout_cost(step, shape).width - 1


def queued(flights: int) -> int:
    """Return the most costs that wait, a power of two: those of as many rollouts as are in progress, twice.

    Rollouts that began together end together. Their forces are drawn while the next ones are in progress.
    """
    return 1 << (2 * flights + TOGETHER - 1).bit_length()


class Mppi(wiring.Component):
    """Takes the mean of the forces of samples, and writes it to the rows of forces.

    Rollouts of consecutive seeds are issued. All have as many steps, so they end in the order in which they
    began, and their costs wait in a queue. Samples are weighed in this order, :data:`TOGETHER` at a time,
    while later rollouts are in progress: their forces are drawn again, step by step. At the end the sums are
    divided by the sum of weights. The forces of rows are shifted before.

    Nothing else reads or writes rows while it is ``busy``.
    """

    def __init__(self, *, interface: Interface, flights: int) -> None:
        assert interface.rollout is not None
        self.interface, self.shape, self.queued = interface, interface.rollout, queued(flights)
        step, number = interface.step, self.shape.horizon.bit_length()
        self.cost_bits = cost_bits(step, self.shape)
        self.softmin = Softmin(samples=TOGETHER, cost_bits=self.cost_bits)
        self.forces = WeightedForces(interface=interface, samples=TOGETHER)
        row = sum(word.format.width for word in loaded_words(interface))
        numbers = ("least", "weight", "square", "counted")
        super().__init__(
            {
                # The numbers of a task that begins.
                "begins": In(1),
                "samples": In(COUNT_BITS),
                "seed": In(SEED_BITS),
                "scale": In(SCALE_BITS),
                "exponent": In(EXPONENT_BITS),
                "shift": In(number),
                "busy": Out(1),
                # Whether a rollout may enter in this cycle, whether one does, and its seed.
                "room": In(1),
                "issues": Out(1),
                "next_seed": Out(SEED_BITS),
                # A rollout ends: its cost, and whether a step of it was flagged.
                "collects": In(1),
                "cost": In(self.cost_bits),
                "flagged": In(1),
                # The rows of forces; while it is not busy, `read` is the address of the one that is read.
                "read": In(number),
                "address": Out(number),
                "row": In(row),
                "writes": Out(1),
                "write_address": Out(number),
                "write_row": Out(row),
                # The mean is taken. The row that is read is that of the first step.
                "ends": Out(1),
                **{name: Out(self.softmin.signature.members[name].shape) for name in numbers},
            }
        )
        self.numbers = numbers

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.softmin, m.submodules.forces = self.softmin, self.forces
        m.d.comb += self.busy.eq(1)
        m.d.comb += [getattr(self, name).eq(getattr(self.softmin, name)) for name in self.numbers]
        m.d.comb += self.address.eq(self.forces.address)
        self._waiting = Signal(COUNT_BITS, name="waiting")  # samples that are not issued
        self._unread = Signal(COUNT_BITS, name="unread")  # samples that are not weighed
        self._later = Signal.like(self.shift, name="later")
        self._weighed_seed = Signal(SEED_BITS, name="weighed_seed")
        self._divisor = Signal(SUM_BITS, name="divisor")
        self._remainder = Signal(SUM_BITS + 1, name="remainder")
        self._left = Signal(range(max(NORMAL_SHIFTS, len(self.forces.reciprocal))), name="left")
        self._gather(m)
        with m.FSM(name="control"):
            self._begin(m)
            self._shift(m)
            self._run(m)
            self._divide(m)
            self._write(m)
        return m

    def _begin(self, m: Module) -> None:
        """Keep the numbers of a task."""
        scale, exponent = self.softmin.scale, self.softmin.exponent
        with m.State("IDLE"):
            m.d.comb += [self.busy.eq(0), self.address.eq(self.read)]
            with m.If(self.begins):
                m.d.comb += self.softmin.clear.eq(1)
                m.d.sync += [
                    self._waiting.eq(self.samples),
                    self._unread.eq(self.samples),
                    self.next_seed.eq(self.seed),
                    self._weighed_seed.eq(self.seed),
                    scale.eq(self.scale),
                    exponent.eq(self.exponent),
                    self._later.eq(self.shift),
                ]
                m.next = "LATER"

    def _shift(self, m: Module) -> None:
        """Give each row the forces of a later one. A row is read twice, and written a cycle afterwards."""
        row, last = Signal.like(self.shift, name="row_number"), self.shape.horizon - 1
        later = Signal(len(row) + 1, name="later_row")
        taken = register(m, "later_forces", self.row, len(self.row))
        m.d.comb += later.eq(row + self._later)
        written_row = register(m, "own_row", row, len(row))
        moves, words = Signal(name="moves"), loaded_words(self.interface)
        later_forces = {
            word.name: value
            for word, value in zip(words, split_words(words, taken).values(), strict=True)
            if word.array == "tau"
        }
        m.d.sync += moves.eq(0)
        m.d.comb += [
            self.writes.eq(moves),
            self.write_address.eq(written_row),
            self.write_row.eq(self._with_forces(later_forces)),
        ]
        with m.State("LATER"):
            m.d.comb += self.address.eq(Mux(later > last, last, later))
            m.next = "OWN"
        with m.State("OWN"):
            m.d.comb += self.address.eq(row)
            m.d.sync += [moves.eq(1), row.eq(row + 1)]
            m.next = "LATER"
            with m.If(row == last):
                m.d.sync += row.eq(0)
                m.next = "RUN"

    def _run(self, m: Module) -> None:
        """Issue rollouts while there are places for their costs, and weigh the samples that have ended."""
        forces = self.forces
        with m.State("RUN"):
            m.d.comb += [
                self.issues.eq(self.room & self._waiting.any() & self._places.any()),
                forces.begin.eq(forces.free & self._complete),
            ]
            with m.If(self.issues):
                m.d.sync += [self._waiting.eq(self._waiting - 1), self.next_seed.eq(self.next_seed + 1)]
            with m.If(forces.begin):
                m.d.sync += self._weighed_seed.eq(self._weighed_seed + TOGETHER)
            with m.If(~self._unread.any() & ~self._gathered.any() & forces.free):
                self._prepare_division(m)
                m.next = "NORMALISE"

    def _gather(self, m: Module) -> None:
        """Queue costs, and gather those that are weighed together.

        Samples that are missing at the end weigh nothing.
        """
        size = self.cost_bits + 1
        m.submodules.costs = costs = SyncFIFOBuffered(width=size, depth=self.queued)
        samples = Signal(TOGETHER * size, name="together")
        self._gathered = gathered = Signal(range(TOGETHER + 1), name="gathered")
        self._complete = gathered == TOGETHER
        rest = ~self._unread.any() & gathered.any() & ~self._complete
        self._places = Signal(range(self.queued + 1), name="places", init=self.queued)
        m.d.comb += [
            costs.w_en.eq(self.collects),
            costs.w_data.eq(Cat(self.cost, self.flagged)),
            costs.r_en.eq(~self._complete),
            self.forces.seed.eq(self._weighed_seed),
            self.forces.weights.eq(self.softmin.weights),
            self.forces.drop.eq(self.softmin.drop),
            self.forces.row.eq(self.row),
            self.softmin.begin.eq(self.forces.begin),
            self.softmin.costs.eq(Cat(samples[k * size : (k + 1) * size - 1] for k in range(TOGETHER))),
            self.softmin.bad.eq(Cat(samples[(k + 1) * size - 1] for k in range(TOGETHER))),
        ]
        taken = costs.r_rdy & costs.r_en
        m.d.sync += self._places.eq(self._places + taken - self.issues)
        with m.If(taken):
            m.d.sync += self._unread.eq(self._unread - 1)
        with m.If(taken | rest):
            missing = Cat(Const(0, self.cost_bits), 1)
            m.d.sync += [
                samples.eq(Cat(samples[size:], Mux(taken, costs.r_data, missing))),
                gathered.eq(gathered + 1),
            ]
        with m.If(self.forces.begin):
            m.d.sync += gathered.eq(0)

    def _prepare_division(self, m: Module) -> None:
        m.d.sync += [
            self._divisor.eq(self.softmin.weight),
            self.forces.shift.eq(SUM_BITS - GUARD),
            self._left.eq(NORMAL_SHIFTS - 1),
            self._remainder.eq(1 << SUM_BITS - 1),
        ]

    def _divide(self, m: Module) -> None:
        """Divide one by the sum of weights, whose leading one comes to the highest place first."""
        divisor, remainder, quotient = self._divisor, self._remainder, self.forces.reciprocal
        with m.State("NORMALISE"):
            m.d.sync += self._left.eq(self._left - 1)
            with m.If(~divisor[-1]):
                m.d.sync += [divisor.eq(divisor << 1), self.forces.shift.eq(self.forces.shift - 1)]
            with m.If(self._left == 0):
                m.d.sync += self._left.eq(len(quotient) - 1)
                m.next = "DIVIDE"
        with m.State("DIVIDE"):
            fits = remainder >= divisor
            m.d.sync += [
                self._left.eq(self._left - 1),
                quotient.eq(Cat(fits, quotient)),
                remainder.eq((remainder - Mux(fits, divisor, 0)) << 1),
            ]
            with m.If(self._left == 0):
                m.next = "MEAN"

    def _write(self, m: Module) -> None:
        """Write the means, unless no sample counts, and read the first row."""
        forces = self.forces
        with m.State("MEAN"):
            m.d.comb += forces.divide.eq(1)
            m.next = "WRITE"
        with m.State("WRITE"):
            means = split_words(force_words(self.interface.step), forces.means)
            m.d.comb += [
                self.writes.eq(forces.valid & self.counted.any()),
                self.write_address.eq(forces.step),
                self.write_row.eq(self._with_forces(means)),
            ]
            with m.If(forces.valid & (forces.step == self.shape.horizon - 1)):
                m.next = "FIRST"
        with m.State("FIRST"):
            m.d.comb += self.address.eq(0)
            m.next = "END"
        with m.State("END"):
            m.d.comb += self.ends.eq(1)
            m.next = "IDLE"

    def _with_forces(self, forces: Mapping[str, Any]) -> Any:
        """Return the row that is read, with other forces."""
        words = loaded_words(self.interface)
        return Cat(forces.get(name, value) for name, value in split_words(words, self.row).items())


def cycles_beside(interface: Interface, flights: int) -> int:
    """Return the most cycles of a mean beside those in which rollouts take steps.

    Rows are shifted before. The samples of the last rollouts are weighed afterwards, and the sums divided.
    """
    shape = interface.rollout
    assert shape is not None
    passes = -(-flights // TOGETHER) + 1
    quotient = quotient_bits(max(word.format.width for word in force_words(interface.step)))
    division = NORMAL_SHIFTS + quotient + 1 + WRITTEN
    return 3 * shape.horizon + passes * period(shape) + division + CONTROL


def mppi_products(interface: Interface) -> list[tuple[int, int]]:
    """Return the operand widths of the products beside those of rollouts."""
    shape, step = interface.rollout, interface.step
    assert shape is not None
    softmin = softmin_products(TOGETHER, cost_bits(step, shape))
    return softmin + weighted_products(step, shape, TOGETHER)


def mppi_period(delays: Delays) -> float:
    """Return the time (ns) that operators beside products and sums need in the longest cycle."""
    shifts = delays.table + DROP_BITS / 2 * delays.select + delays.add  # two choices in a level
    references = TOGETHER * (delays.add + delays.select)
    return max(shifts, references)


def mppi_cells(interface: Interface, flights: int, fabric: Fabric) -> tuple[Cells, Cells]:
    """Return the cells of means of samples, and those of their memories."""
    shape, step = interface.rollout, interface.step
    assert shape is not None
    bits = cost_bits(step, shape)
    forces, sums = weighted_cells(step, shape, TOGETHER, fabric)
    row = sum(word.format.width for word in loaded_words(interface))
    quotient = quotient_bits(max(word.format.width for word in force_words(step)))
    control = Cells(
        luts=3.0 * row + TOGETHER * bits + 5.0 * SUM_BITS + 2 * (COUNT_BITS + SEED_BITS),
        flip_flops=row + TOGETHER * bits + 3.0 * SUM_BITS + quotient + 2 * (COUNT_BITS + SEED_BITS),
    )
    rows = fabric.memory(row, shape.horizon)  # once more, for a second address to read
    queue = fabric.queue(bits + 1, queued(flights))
    return forces + control + softmin_cells(TOGETHER, bits, fabric), sums + rows + queue
