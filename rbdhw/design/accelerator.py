"""The hardware of an accelerator: its core in its shell."""

from __future__ import annotations

from rbdhw.array.model import Array
from rbdhw.design.model import AcceleratorModel
from rbdhw.rtl.array import ArrayCore
from rbdhw.rtl.core import PipelineCore
from rbdhw.rtl.shell import Accelerator
from rbdhw.schedule.model import Bound
from rbdhw.target import Target


def accelerator(
    model: AcceleratorModel, bound: Bound | Array, device: Target, *, portable: bool = False
) -> Accelerator:
    """Return the hardware of a model; a portable one does without the device's own blocks."""
    primitive = None if portable else device.primitive
    core: PipelineCore | ArrayCore
    if isinstance(bound, Array):
        core = ArrayCore(
            program=model.program,
            array=bound,
            memory_stages=device.memory_stages,
            primitive=primitive,
        )
    else:
        core = PipelineCore(program=model.program, bound=bound, primitive=primitive)
    return Accelerator(core=core, interface=model.interface)
