"""The preparation of a step of rollouts: what is added to its forces, and the cost of the last step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import RolloutShape, row_inputs
from rbdhw.model.interface import Interface
from rbdhw.protocol import STEP_ROWS
from rbdhw.rtl.delay import delay_line, register
from rbdhw.rtl.layouts import split_words
from rbdhw.rtl.rollout_entry import entry_layout
from rbdhw.rtl.rollout_part import Between, PartHardware
from rbdhw.rtl.rollout_parts import hardware_of
from rbdhw.rtl.rows import loaded_words, row_bits

MEMORY_STAGES = 4
"""The fewest stages of a delay line that is a memory."""

LIMITED = 2
"""Cycles from what is added to the forces on to the forces: a sum and its limits."""


def _added_latency(interface: Interface) -> int:
    """Return the cycles until what is added to the forces of a row is there; none if nothing is."""
    shape, step = interface.rollout, interface.step
    assert shape is not None
    return max((part.forces_latency(step, shape) for part in hardware_of(shape)), default=0)


def forces_latency(interface: Interface) -> int:
    """Return the cycles from a state to the forces of its step: at least those to read a row."""
    added = _added_latency(interface)
    return added + LIMITED if added else 1


def preparation_latency(interface: Interface) -> int:
    """Return the cycles between a step's result and the queue of those that wait for the core."""
    shape = interface.rollout
    if shape is None or not shape.parts:
        return 0
    others = (part.latency(interface.step, shape) for part in hardware_of(shape))
    return max(forces_latency(interface), *others)


class Preparation(wiring.Component):
    """Computes the forces of a rollout's next step, and adds the cost of the last one.

    The forces are a row. With samples, each is multiplied by the row's standard deviation, and the product is
    rounded to the format of the force. With gains, feedback is added. The sum is limited to the bounds of the
    force. The cost is that of the state, and of the forces that led to it.


    ``i`` is a rollout with the state and the forces of the last step. It leaves with its new forces and its
    cost, :attr:`latency` cycles later. For each command that loads rows of steps there are
    ``address_COMMAND``, the number of a row, and ``row_COMMAND``, the row a cycle later; the coefficients of
    residuals are always there.
    """

    def __init__(self, *, interface: Interface, layout: data.StructLayout) -> None:
        if interface.rollout is None:
            raise ValueError("interface: has no rollouts; expected their shape")
        self.interface = interface
        self.parts = hardware_of(interface.rollout)
        self.layout = layout
        self.step_bits = layout.members["done"]
        self.latency = preparation_latency(interface)
        rows: dict[str, Any] = {}
        for name in interface.row_commands:
            rows |= {f"address_{name}": Out(self.step_bits)} if name in STEP_ROWS else {}
            rows |= {f"row_{name}": In(row_bits(interface, name))}
        super().__init__({"i": In(layout), **rows, "o": Out(layout)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        passed = Signal(self.layout)
        between = Between(
            self.interface,
            self.i,
            {
                name: getattr(self, f"address_{name}")
                for name in self.interface.row_commands
                if name in STEP_ROWS
            },
            {name: getattr(self, f"row_{name}") for name in self.interface.row_commands},
            partial(self._later, m),
        )
        m.d.comb += [
            passed.eq(self._later(m, "rollout", self.i.as_value(), self.latency)),
            self.o.eq(passed),
            self.o.forces.eq(
                self._later(
                    m, "forces", self._forces(m, between), self.latency - forces_latency(self.interface)
                )
            ),
        ]
        for part in self.parts:
            for name, value in part.results(m, between, self.latency).items():
                m.d.comb += self.o[name].eq(value)
        return m

    def _forces(self, m: Module, between: Between) -> Any:
        """Return the packed forces and contacts, :func:`forces_latency` cycles later."""
        cycles = _added_latency(self.interface)
        if not cycles:
            m.d.comb += self.address_load.eq(self.i.done)
            return self.row_load
        row = self._row_of_forces(m, cycles)
        return Cat(forces_of_row(m, between, self.parts, row_inputs(self.interface.step), row, cycles))

    def _row_of_forces(self, m: Module, added: int) -> dict[str, Any]:
        """Return the words of a row's forces and deviations, one cycle before what is added to them.

        A part may need the other words of the row at once. Without one, the row is read late.
        """
        words, waits = loaded_words(self.interface), added - 2
        early = [array for part in self.parts for array in part.early]
        if not early:
            m.d.comb += self.address_load.eq(self._later(m, "address", self.i.done, waits))
            return split_words(words, self.row_load)
        m.d.comb += self.address_load.eq(self.i.done)
        row, late = split_words(words, self.row_load), [word for word in words if word.array not in early]
        return split_words(late, self._later(m, "row", Cat(row[word.name] for word in late), waits))

    def _later(self, m: Module, name: str, value: Any, cycles: int) -> Any:
        now = Signal(len(value), name=name)
        m.d.comb += now.eq(value)
        return delay_line(m, now, 1, (cycles,), name=name, memory_stages=MEMORY_STAGES)[cycles]


def forces_of_row(
    m: Module,
    between: Between,
    parts: Sequence[PartHardware],
    words: Sequence[Word],
    row: Mapping[str, Any],
    cycles: int,
) -> list[Any]:
    """Return the ``words`` of a row with what parts add, limited, :data:`LIMITED` cycles after that.

    It is there after ``cycles``, and the row a cycle before.
    """
    each = [part.forces(m, between, row, cycles) for part in parts]
    forces = []
    for word in words:
        nominal = register(m, f"nominal_{word.slot}", row[word.name], signed(word.format.width))
        added = (values[word.name] for values in each if word.name in values)
        forces.append(limited(m, word, sum(added, nominal)))
    return forces


def limited(m: Module, word: Word, value: Any, limits: tuple[Any, Any] | None = None) -> Any:
    """Return a force within its bounds, two cycles later, or within ``limits`` that are there after one."""
    total = register(m, f"total_{word.slot}", value, value.shape())
    least, most = limits or (word.lowest, word.highest)
    within = Mux(total < least, least, Mux(total > most, most, total))
    return register(m, f"force_{word.slot}", within, signed(word.format.width))


def preparation_cells(interface: Interface, shape: RolloutShape, fabric: Fabric) -> Cells:
    """Return the cells between the result of a step and the queue of those that wait."""
    if not shape.parts:
        return Cells()
    step = interface.step
    bits = entry_layout(step, shape).size + step.result_bits
    cells = fabric.delay(bits, preparation_latency(interface), MEMORY_STAGES)
    for part in hardware_of(shape):
        cells += part.cells(step, shape, fabric)
    return cells
