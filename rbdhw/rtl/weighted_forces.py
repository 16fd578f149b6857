"""Weighted sums of the forces of samples, and their means: the twin of :mod:`rbdhw.fixed.softmin`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.rollout import RolloutShape, force_words
from rbdhw.fixed.softmin import GUARD, SUM_BITS, quotient_bits
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.rtl.arithmetic import half
from rbdhw.rtl.delay import delayed, register
from rbdhw.rtl.layouts import split_words
from rbdhw.rtl.preparation import LIMITED, forces_of_row
from rbdhw.rtl.rollout_part import Between
from rbdhw.rtl.rollout_samples import SAMPLED, SEED_BITS, SamplesHardware
from rbdhw.rtl.rows import loaded_words
from rbdhw.rtl.softmin import DROP_BITS, SUMMED, WEIGHT_BITS, rounded_shift, shift_luts

FORCES = SAMPLED + LIMITED
"""Cycles from a seed and a step to the forces."""

READ = FORCES + 1
"""Cycles from a step to the address of its sums."""

WRITTEN = FORCES + 6
"""Cycles from a step of the last pass to the means of its forces."""

LEAST_PERIOD = SUMMED
"""The fewest cycles from one pass to the next: those between samples that are weighed."""


def period(shape: RolloutShape) -> int:
    """Return the cycles from one pass to the next."""
    return max(shape.horizon, LEAST_PERIOD)


class SampledForces(wiring.Component):
    """The limited forces of a step with the samples of a seed, :data:`FORCES` cycles later.

    The row of the step is there :data:`SAMPLED` - 1 cycles after the seed.
    """

    def __init__(self, *, interface: Interface) -> None:
        self.interface = interface
        assert interface.rollout is not None
        step = interface.step
        super().__init__(
            {
                "seed": In(SEED_BITS),
                "step": In(interface.rollout.horizon.bit_length()),
                "row": In(sum(word.format.width for word in loaded_words(interface))),
                "forces": Out(sum(word.format.width for word in force_words(step))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        entry = SimpleNamespace(seed=self.seed, done=self.step)
        between = Between(self.interface, entry, {}, {}, lambda _name, value, _cycles: value)
        row = split_words(loaded_words(self.interface), self.row)
        words = force_words(self.interface.step)
        m.d.comb += self.forces.eq(Cat(forces_of_row(m, between, [SamplesHardware()], words, row, SAMPLED)))
        return m


class WeightedForces(wiring.Component):
    """Adds up the weighted forces of samples in passes over all steps, and divides the sums in a last one.

    Samples of one pass come together, with consecutive seeds.
    """

    def __init__(self, *, interface: Interface, samples: int) -> None:
        assert interface.rollout is not None
        self.interface, self.shape, self.samples = interface, interface.rollout, samples
        self.words = force_words(interface.step)
        self.widest = max(word.format.width for word in self.words)
        self.period = period(self.shape)
        number = self.shape.horizon.bit_length()
        super().__init__(
            {
                "free": Out(1),  # a pass may begin in this cycle
                "begin": In(1),  # one does; the weights and the fall of the reference come later
                "seed": In(SEED_BITS),  # the first seed of a pass
                "weights": In(samples * WEIGHT_BITS),
                "drop": In(DROP_BITS),
                # The last pass begins: how far sums are shifted, and the reciprocal of the sum of weights.
                "divide": In(1),
                "shift": In(DROP_BITS),
                "reciprocal": In(quotient_bits(self.widest) + 1),
                "address": Out(number),  # of a row, which comes a cycle later
                "row": In(sum(word.format.width for word in loaded_words(interface))),
                # Means of the forces of a step, beside the step's row.
                "valid": Out(1),
                "step": Out(number),
                "means": Out(sum(word.format.width for word in self.words)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        self._dividing = Signal(name="dividing")
        with m.If(self.begin | self.divide):
            m.d.sync += self._dividing.eq(self.divide)
        active, step = self._count(m)
        steps = self._delays(m, step)
        m.d.comb += self.address.eq(Mux(self._dividing, steps[WRITTEN - 1], steps[SAMPLED - 2]))
        added = self._weigh(m, self._forces(m, step))
        sums = self._accumulate(m, steps, delayed(m, active, READ), added)
        m.d.comb += [
            self.valid.eq(delayed(m, active, WRITTEN) & self._dividing),
            self.step.eq(steps[WRITTEN]),
            self.means.eq(Cat(self._divide(m, k, total) for k, total in enumerate(sums))),
        ]
        return m

    def _count(self, m: Module) -> tuple[Any, Any]:
        """Count the steps of a pass; return whether there is one in this cycle, and which."""
        running, count = Signal(name="running"), Signal(range(self.period), name="count")
        starts, last = self.begin | self.divide, count == self.period - 1
        m.d.comb += self.free.eq(~running | last)
        with m.If(running):
            m.d.sync += [count.eq(Mux(last, 0, count + 1)), running.eq(~last | starts)]
        with m.Elif(starts):
            m.d.sync += running.eq(1)
        return running & (count < self.shape.horizon), count[: len(self.step)]

    def _delays(self, m: Module, step: Any) -> list[Any]:
        """Return the step after each number of cycles."""
        steps = [step]
        for k in range(1, WRITTEN + 1):
            steps.append(register(m, f"step_{k}", steps[-1], len(step)))
        return steps

    def _forces(self, m: Module, step: Any) -> list[list[Any]]:
        """Return the forces of each sample."""
        forces, seed = [], Signal(SEED_BITS, name="first_seed")
        with m.If(self.begin):
            m.d.sync += seed.eq(self.seed)
        for k in range(self.samples):
            m.submodules[f"sample_{k}"] = drawn = SampledForces(interface=self.interface)
            m.d.comb += [drawn.seed.eq(seed + k), drawn.step.eq(step), drawn.row.eq(self.row)]
            named = split_words(self.words, drawn.forces)
            forces.append([named[word.name] for word in self.words])
        return forces

    def _weigh(self, m: Module, forces: list[list[Any]]) -> list[Any]:
        """Return the sums of the weighted forces of all samples, two cycles later."""
        # The first step of a pass is in the cycle behind its beginning.
        weights = Signal(len(self.weights), name="kept_weights")
        with m.If(delayed(m, self.begin, FORCES)):
            m.d.sync += weights.eq(self.weights)
        each = [weights[k * WEIGHT_BITS : (k + 1) * WEIGHT_BITS].as_unsigned() for k in range(self.samples)]
        added = []
        for j, word in enumerate(self.words):
            products = [
                register(
                    m, f"product_{k}_{j}", forces[k][j] * each[k], signed(word.format.width + WEIGHT_BITS)
                )
                for k in range(self.samples)
            ]
            total = sum(products[1:], products[0])
            added.append(register(m, f"added_{j}", total, total.shape()))
        return added

    def _accumulate(self, m: Module, steps: list[Any], reads: Any, added: list[Any]) -> list[Any]:
        """Add to the sums of a step, which are shifted first; return them."""
        widths = [word.format.width + SUM_BITS for word in self.words]
        depth = self.shape.horizon
        m.submodules.sums = memory = Memory(shape=sum(widths), depth=depth, init=[])
        write, read = memory.write_port(), memory.read_port()
        drop = Signal(DROP_BITS, name="kept_drop")
        with m.If(delayed(m, self.begin, READ + 1)):
            m.d.sync += drop.eq(self.drop)
        sums, first = [], 0
        for j, width in enumerate(widths):
            before = read.data[first : first + width].as_signed()
            amount = Mux(self._dividing, self.shift, drop)
            moved = rounded_shift(m, f"sum_{j}", before, amount)
            kept = register(m, f"before_{j}", moved, signed(width))
            more = register(m, f"more_{j}", Mux(self._dividing, 0, added[j]), signed(len(added[j])))
            sums.append(register(m, f"sum_{j}", kept + more, signed(width)))
            first += width
        m.d.comb += [
            read.addr.eq(steps[READ][: len(read.addr)]),
            write.en.eq(delayed(m, reads, 3) & ~self._dividing),
            write.addr.eq(steps[READ + 3][: len(write.addr)]),
            write.data.eq(Cat(sums)),
        ]
        return sums

    def _divide(self, m: Module, j: int, total: Any) -> Any:
        """Return the mean of a force, two cycles after its shifted sum. The product is that of two halves."""
        width = self.words[j].format.width
        guarded, middle = total[: width + GUARD].as_signed(), len(self.reciprocal) // 2
        bits = len(guarded) + len(self.reciprocal)
        low = register(m, f"low_{j}", guarded * self.reciprocal[:middle], signed(bits))
        high = register(m, f"high_{j}", guarded * self.reciprocal[middle:], signed(bits))
        cut = quotient_bits(self.widest) + GUARD - 1
        mean = register(m, f"mean_{j}", low + (high << middle) + half(cut), signed(bits + 1))
        return mean[cut : cut + width]


def weighted_products(step: FunctionWords, shape: RolloutShape, samples: int) -> list[tuple[int, int]]:
    """Return the operand widths of the products."""
    words = force_words(step)
    widest = max(word.format.width for word in words)
    bits = quotient_bits(widest) + 1
    products = SamplesHardware().products(step, shape) * samples
    for word in words:
        products += [(word.format.width, WEIGHT_BITS + 1)] * samples
        products += [(word.format.width + GUARD, part + 1) for part in (bits // 2, bits - bits // 2)]
    return products


def weighted_cells(
    step: FunctionWords, shape: RolloutShape, samples: int, fabric: Fabric
) -> tuple[Cells, Cells]:
    """Return the cells of the sums, and those of their memory."""
    widths = [word.format.width for word in force_words(step)]
    sums = [width + SUM_BITS for width in widths]
    bits = quotient_bits(max(widths)) + 1
    cells = SamplesHardware().cells(step, shape, fabric) * samples
    cells += Cells(
        luts=sum(shift_luts(each, DROP_BITS, fabric) + 2 * each for each in sums)
        + sum(2.0 * width * (1.0 + fabric.compare) * samples + 2 * (width + bits) for width in widths),
        flip_flops=sum(3 * each for each in sums)
        + sum(samples * (3 * width + WEIGHT_BITS) + 3 * (width + bits) for width in widths),
    )
    return cells, fabric.memory(sum(sums), shape.horizon)
