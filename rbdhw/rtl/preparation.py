"""The preparation of a step of rollouts: what is added to its forces, and the cost of the last step."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rbdhw.arrays import WordName
from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.cost import WEIGHTED
from rbdhw.fixed.feedback import GAIN
from rbdhw.fixed.normal import PLACE_BITS, SAMPLE, segments
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import RolloutShape, force_words, rollout_feedback, rollout_terms
from rbdhw.model.interface import Interface
from rbdhw.protocol import COST, GAINS, LOAD, LOAD_COST, LOAD_GAINS, SAMPLES
from rbdhw.rtl.adder_tree import ADDENDS
from rbdhw.rtl.arithmetic import half
from rbdhw.rtl.cost import StageCost, cost_cells, cost_latency
from rbdhw.rtl.delay import delay_line, register
from rbdhw.rtl.feedback import FeedbackSum, feedback_cells, feedback_latency
from rbdhw.rtl.layouts import split_words
from rbdhw.rtl.normal import ROUNDS_A_CYCLE, NormalSource, sample_cells
from rbdhw.rtl.rollout_entry import entry_layout
from rbdhw.target import Target

MEMORY_STAGES = 4
"""The fewest stages of a delay line that is a memory."""

SAMPLED = NormalSource.latency + 1
"""Cycles until what samples add to the forces is there: the samples and a product."""

LIMITED = 2
"""Cycles from then on to the forces: a sum and its limits."""


def _added_latency(interface: Interface) -> int:
    """Return the cycles until what is added to the forces of a row is there; none if nothing is."""
    shape, cycles = interface.rollout, 0
    assert shape is not None
    if SAMPLES in shape.parts:
        cycles = SAMPLED
    if GAINS in shape.parts:
        feedback, *_ = rollout_feedback(interface.words("step"), shape)
        cycles = max(cycles, feedback_latency(len(feedback.terms)))
    return cycles


def forces_latency(interface: Interface) -> int:
    """Return the cycles from a state to the forces of its step: at least those to read a row."""
    added = _added_latency(interface)
    return added + LIMITED if added else 1


def preparation_latency(interface: Interface) -> int:
    """Return the cycles between a step's result and the queue of those that wait for the core."""
    shape = interface.rollout
    if shape is None or not shape.parts:
        return 0
    cycles = forces_latency(interface)
    if COST in shape.parts:
        cycles = max(cycles, cost_latency(len(rollout_terms(interface.words("step"), shape))) + 1)
    return cycles


def loaded_words(interface: Interface, command: str = LOAD) -> tuple[Word, ...]:
    """Return the words of a row, in the order in which it is stored."""
    return tuple(word for word in interface.words(command).inputs if word.name not in ("row", "coordinate"))


def row_bits(interface: Interface, command: str) -> int:
    """Return the bits of the rows of a step that a command loads; the gains of each force are one."""
    bits = sum(word.format.width for word in loaded_words(interface, command))
    return bits * (len(force_words(interface.words("step"))) if command == LOAD_GAINS else 1)


class Preparation(wiring.Component):
    """Computes the forces of a rollout's next step, and adds the cost of the last one.

    The forces are a row. With samples, each is multiplied by the row's standard deviation, and the product is
    rounded to the format of the force. With gains, feedback is added. The sum is limited to the bounds of the
    force. The cost is that of the state, and of the forces that led to it.

    Parameters
    ----------
    interface : Interface
        The packet layout.
    layout : StructLayout
        That of a rollout between two steps.

    Members
    -------
    i : In(layout)
        A rollout, with the state and the forces of the last step.
    address_load, row_load : Out, In
        The number of a row of forces, and the row a cycle later.
    address_load_cost, row_load_cost : Out, In
        The same of references and weights, if there are costs.
    address_load_gains, row_load_gains : Out, In
        The same of the gains of all forces, if there is feedback.
    o : Out(layout)
        The rollout with its forces and its cost, :attr:`latency` cycles later.
    """

    def __init__(self, *, interface: Interface, layout: data.StructLayout) -> None:
        if interface.rollout is None:
            raise ValueError("interface: has no rollouts; expected their shape")
        self.interface = interface
        self.shape = interface.rollout
        self.layout = layout
        self.step_bits = layout.members["done"]
        self.latency = preparation_latency(interface)
        rows: dict[str, Any] = {}
        for name in interface.row_commands:
            width = row_bits(interface, name)
            rows |= {f"address_{name}": Out(self.step_bits), f"row_{name}": In(width)}
        super().__init__({"i": In(layout), **rows, "o": Out(layout)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        passed = Signal(self.layout)
        m.d.comb += [
            passed.eq(self._later(m, "rollout", self.i.as_value(), self.latency)),
            self.o.eq(passed),
            self.o.forces.eq(
                self._later(m, "forces", self._forces(m), self.latency - forces_latency(self.interface))
            ),
        ]
        if COST in self.shape.parts:
            m.d.comb += self.o.cost.eq(self._cost(m))
        return m

    def _forces(self, m: Module) -> Any:
        """Return the packed forces, :func:`forces_latency` cycles later."""
        added = _added_latency(self.interface)
        if not added:
            m.d.comb += self.address_load.eq(self.i.done)
            return self.row_load
        row = self._row_of_forces(m, added)
        parts = [self._sampled(m, row, added)] if SAMPLES in self.shape.parts else []
        parts += [self._fed_back(m, added)] if GAINS in self.shape.parts else []
        found = []
        for word in force_words(self.interface.words("step")):
            nominal = register(m, f"nominal_{word.slot}", row[word.name], signed(word.format.width))
            found.append(_limited(m, word, sum((own[word.name] for own in parts), nominal)))
        return Cat(found)

    def _row_of_forces(self, m: Module, added: int) -> dict[str, Any]:
        """Return the words of a row's forces and deviations, one cycle before what is added to them.

        Feedback needs the other words of the row at once. Without it, the row is read late.
        """
        words, waits = loaded_words(self.interface), added - 2
        if GAINS not in self.shape.parts:
            m.d.comb += self.address_load.eq(self._later(m, "address", self.i.done, waits))
            return split_words(words, self.row_load)
        m.d.comb += self.address_load.eq(self.i.done)
        row, own = split_words(words, self.row_load), [word for word in words if word.array in ("tau", "std")]
        return split_words(own, self._later(m, "row", Cat(row[word.name] for word in own), waits))

    def _sampled(self, m: Module, row: dict[str, Any], added: int) -> dict[str, Any]:
        """Return the samples times their deviations, in the steps of each force."""
        samples, found = self._samples(m, added - SAMPLED), {}
        for word in force_words(self.interface.words("step")):
            name = WordName.parse(word.name)
            product = samples[name.index[0]] * row[str(replace(name, array="std"))]
            product = register(m, f"product_{word.slot}", product, signed(len(product)))
            found[word.name] = product + half(SAMPLE.binary_point) >> SAMPLE.binary_point
        return found

    def _samples(self, m: Module, waiting: int) -> list[Any]:
        """Return the samples of all coordinates of a step, drawn after some cycles."""
        indices = [WordName.parse(word.name).index[0] for word in force_words(self.interface.words("step"))]
        count = 1 + max(indices)
        m.submodules.source = source = NormalSource(
            coordinates=count, seed_bits=self.layout.members["seed"], step_bits=self.step_bits
        )
        m.d.comb += [
            source.seed.eq(self._later(m, "seed", self.i.seed, waiting)),
            source.step.eq(self._later(m, "number", self.i.done, waiting)),
        ]
        ends = [SAMPLE.width * (k + 1) for k in range(count)]
        return [source.samples[end - SAMPLE.width : end].as_signed() for end in ends]

    def _fed_back(self, m: Module, added: int) -> dict[str, Any]:
        """Return what feedback adds to each force, in its steps."""
        feedback = rollout_feedback(self.interface.words("step"), self.shape)
        m.submodules.feedback = own = FeedbackSum(feedback=feedback, words=loaded_words(self.interface))
        m.d.comb += [
            own.values.eq(self.i.state),
            own.row.eq(self.row_load),
            self.address_load_gains.eq(self.i.done),
            own.gains.eq(self.row_load_gains),
        ]
        sums, first, found = self._later(m, "added", own.added, added - own.latency), 0, {}
        for each, width in zip(feedback, own.widths, strict=True):
            found[each.force.name] = sums[first : first + width].as_signed()
            first += width
        return found

    def _cost(self, m: Module) -> Any:
        """Return the cost of the rollout so far; before the first step there is none."""
        terms = rollout_terms(self.interface.words("step"), self.shape)
        m.submodules.stage_cost = stage = StageCost(
            terms=terms, words=loaded_words(self.interface, LOAD_COST)
        )
        m.d.comb += [
            stage.values.eq(Cat(self.i.state, self.i.forces)),
            stage.row.eq(self.row_load_cost),
            self.address_load_cost.eq(self.i.done - 1),
        ]
        waited = self._later(m, "stage", stage.cost, self.latency - 1 - stage.latency)
        before = self._later(m, "before", Cat(self.i.done != 0, self.i.cost), self.latency - 1)
        total = before[1:] + Mux(before[0], waited, Const(0, 1))
        return register(m, "cost", total, len(self.i.cost))

    def _later(self, m: Module, name: str, value: Any, cycles: int) -> Any:
        """Return a value after some cycles."""
        now = Signal(len(value), name=name)
        m.d.comb += now.eq(value)
        return delay_line(m, now, 1, (cycles,), name=name, memory_stages=MEMORY_STAGES)[cycles]


def _limited(m: Module, word: Word, value: Any) -> Any:
    """Return a force within its bounds, two cycles later."""
    total = register(m, f"total_{word.slot}", value, value.shape())
    limited = Mux(total < word.lowest, word.lowest, Mux(total > word.highest, word.highest, total))
    return register(m, f"force_{word.slot}", limited, signed(word.format.width))


def preparation_products(interface: Interface) -> list[tuple[int, int]]:
    """Return the operand widths of the products between two steps."""
    shape, found = interface.rollout, []
    if shape is None:
        return []
    step = interface.words("step")
    if SAMPLES in shape.parts:
        rise = max(rise for _, rise in segments()).bit_length()
        for word in force_words(step):
            found += [(rise + 1, PLACE_BITS + 2), (word.format.width, SAMPLE.width)]
    for own in rollout_feedback(step, shape) if GAINS in shape.parts else ():
        found += [(term.error_bits, GAIN.width) for term in own.terms]
    if COST in shape.parts:
        for term in rollout_terms(step, shape):
            found += [(term.error_bits, WEIGHTED.width), (WEIGHTED.width, WEIGHTED.width)]
    return found


def preparation_period(interface: Interface, device: Target) -> float:
    """Return the time (ns) that operators need in the longest cycle between two steps of rollouts.

    Products have no registers there. Without anything between two steps there is no such cycle.
    """
    shape, delays = interface.rollout, device.delays
    if shape is None or not shape.parts:
        return 0.0
    products = {device.pipelines(widths)[0].before for widths in preparation_products(interface)}
    sums = delays.add * math.ceil(math.log2(ADDENDS))
    limited = sums + delays.add + delays.check
    rounds = ROUNDS_A_CYCLE * (delays.add + delays.select) if SAMPLES in shape.parts else 0.0
    return max(limited, rounds, *products)


def preparation_cells(interface: Interface, shape: RolloutShape, fabric: Fabric) -> Cells:
    """Return the cells between the result of a step and the queue of those that wait."""
    if not shape.parts:
        return Cells()
    step = interface.words("step")
    bits = entry_layout(step, shape).size + step.result_bits
    cells = fabric.delay(bits, preparation_latency(interface), MEMORY_STAGES)
    if SAMPLES in shape.parts:
        cells += sample_cells([word.format.width for word in force_words(step)], fabric)
    if GAINS in shape.parts:
        cells += feedback_cells(rollout_feedback(step, shape), fabric)
    if COST in shape.parts:
        for term in rollout_terms(step, shape):
            cells += cost_cells(term)
    return cells
