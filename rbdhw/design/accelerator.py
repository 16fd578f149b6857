"""A design's hardware: its core in its shell, and how its packets are laid out."""

from __future__ import annotations

from rbdhw.array.model import Array
from rbdhw.design.folder import Design
from rbdhw.rtl.array import ArrayCore
from rbdhw.rtl.core import PipelineCore
from rbdhw.rtl.packet import Edge, Function
from rbdhw.rtl.shell import Accelerator
from rbdhw.schedule.model import Bound
from rbdhw.target import Target


def accelerator(
    design: Design, bound: Bound | Array, device: Target, *, portable: bool = False
) -> Accelerator:
    """The hardware of a design, without a device's own blocks where it is to be portable."""
    edge = edge_of(design)
    primitive = None if portable else device.primitive
    core: PipelineCore | ArrayCore
    if isinstance(bound, Array):
        core = ArrayCore(
            program=design.program,
            array=bound,
            memory_stages=device.memory_stages,
            primitive=primitive,
        )
    else:
        core = PipelineCore(program=design.program, bound=bound, primitive=primitive)
    return Accelerator(
        core=core,
        functions=edge.functions,
        data_width=edge.data_width,
        number=edge.number,
        priority=edge.priority,
    )


def edge_of(design: Design) -> Edge:
    """How the packets of a design are laid out."""
    functions = []
    for name in design.functions:
        inputs, outputs = design.inputs(name), design.outputs(name)
        optional_inputs = design.inputs(name, extended=True)[len(inputs) :]
        optional_outputs = design.outputs(name, extended=True)[len(outputs) :]
        functions.append(Function(name, inputs, outputs, optional_inputs, optional_outputs))
    stream = design.stream
    return Edge(tuple(functions), stream.data_width, stream.number, stream.priority)
