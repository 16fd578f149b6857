"""Delay lines that keep a value for later steps of its task, in registers or in a memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import SHIFT_REGISTER, Cells, Fabric

KEEP = {"keep": "TRUE"}
"""The attribute of a signal that synthesis leaves as it is."""

SHALLOW = 16
"""The most words of a memory that synthesis places in LUTs."""


def register(m: Module, name: str, value: Any, shape: Any) -> Any:
    """Return a value, delayed by one cycle, in a register that is never reset."""
    later = Signal(shape, name=name, reset_less=True)
    m.d.sync += later.eq(value)
    return later


def after(m: Module, cycles: int, **values: Any) -> tuple[Any, ...]:
    """Return values, each delayed by ``cycles`` in registers of its name that are never reset."""
    delayed = []
    for name, value in values.items():
        for _ in range(cycles):
            value = register(m, name, value, value.shape())
        delayed.append(value)
    return tuple(delayed)


def delayed(m: Module, bit: Any, cycles: int) -> Any:
    """Return a bit after some cycles, in registers that are reset."""
    if not cycles:
        return bit
    flow = Signal(cycles)
    m.d.sync += flow.eq(Cat(bit, flow))
    return flow[-1]


class BypassFifo(wiring.Component):
    """A delay by a fixed number of enabled cycles, in a memory.

    ``enable`` states whether the line advances at the end of this cycle. ``o`` is the input ``stages``
    enabled cycles ago.
    """

    def __init__(
        self,
        *,
        shape: Any,  # shape of the value
        # Enabled cycles from `i` to `o`, at least two: `stages - 1` words and an output register.
        stages: int,
    ) -> None:
        if stages < 2:
            raise ValueError(f"a bypass FIFO has at least 2 stages, not {stages}")
        self.stages = stages
        super().__init__({"enable": In(1), "i": In(shape), "o": Out(shape)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        depth = self.stages - 1
        m.submodules.memory = memory = Memory(shape=self.i.shape(), depth=depth, init=[])
        write, read = memory.write_port(), memory.read_port(domain="sync")
        pointer = Signal(range(depth))
        m.d.comb += [
            write.addr.eq(pointer),
            write.data.eq(self.i),
            write.en.eq(self.enable),
            read.addr.eq(pointer),
            read.en.eq(self.enable),
            self.o.eq(read.data),
        ]
        with m.If(self.enable):
            m.d.sync += pointer.eq(Mux(pointer == depth - 1, 0, pointer + 1))
        return m


def delay_line(
    m: Module,
    value: Any,
    enable: Any,
    stages: tuple[int, ...],
    *,
    name: str,
    memory_stages: int,
    shifts: bool = False,
) -> dict[int, Any]:
    """Build a value's delay line; return the signals of the stages that are read, and of a first register.

    Between two such stages the line is a memory if it has at least ``memory_stages`` stages, else registers.
    The registers are never reset, so synthesis may use shift-register LUTs. Where the device has them
    (``shifts``), the first and the last register of a line without taps are kept, as a shift register is
    slower at both ends. Behind a memory deep enough for a block RAM the last stage is a register, because a
    block RAM's clock-to-output delay is long.
    """
    taps = {0: value}
    position = 0
    for stage in stages:
        if stage - position >= memory_stages:
            inside = stage - position
            inside -= inside > SHALLOW + 1
            fifo = BypassFifo(shape=value.shape(), stages=inside)
            m.submodules[f"{name}_bypass_{stage}"] = fifo
            m.d.comb += [fifo.enable.eq(enable), fifo.i.eq(value)]
            value = fifo.o
            position += inside
        long = shifts and stage - position >= SHIFT_REGISTER
        for k in range(position + 1, stage + 1):
            attrs = KEEP if long and k in (position + 1, stage) else {}
            register = Signal(value.shape(), name=f"{name}_s{k}", reset_less=True, attrs=attrs)
            with m.If(enable):
                m.d.sync += register.eq(value)
            value = register
            if k == 1:
                taps[1] = value
        taps[stage] = value
        position = stage
    return taps


def line_cells(width: int, stages: Sequence[int], memory_stages: int, fabric: Fabric) -> Cells:
    """Return the cells of a delay line: memories, shift registers or flip-flops between the stages read."""
    cells, position = Cells(), 0
    for stage in stages:
        if stage > position:
            cells += fabric.delay(width, stage - position, memory_stages)
            position = stage
    return cells
