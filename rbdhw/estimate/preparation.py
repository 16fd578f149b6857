"""What the preparation of rollouts' steps takes: samples, their products, and delay lines beside them."""

from __future__ import annotations

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.normal import OCTAVE_BITS, PLACE_BITS, ROUNDS, SAMPLE, segments
from rbdhw.interface import Interface, RolloutShape
from rbdhw.protocol import SAMPLES
from rbdhw.rtl.normal import BLOCK_CYCLES
from rbdhw.rtl.preparation import MEMORY_STAGES, preparation_latency
from rbdhw.rtl.rollout import entry_layout, forces

ROUND = 96
"""Look-up tables of a round: an addition and two exclusive ors of 32 bits."""


def preparation_products(interface: Interface) -> list[tuple[int, int]]:
    """Return the operand widths of the products between two steps."""
    if interface.rollout is None or SAMPLES not in interface.rollout.parts:
        return []
    rise = max(rise for _, rise in segments()).bit_length()
    widths = [word.format.width for word in forces(interface.words("step"))]
    return [(rise + 1, PLACE_BITS + 2)] * len(widths) + [(width, SAMPLE.width) for width in widths]


def preparation_cells(interface: Interface, shape: RolloutShape, fabric: Fabric) -> Cells:
    """Return the cells between the result of a step and the queue of those that wait."""
    if SAMPLES not in shape.parts:
        return Cells()
    step = interface.words("step")
    widths = [word.format.width for word in forces(step)]
    pairs = -(-len(widths) // 2)
    cells = Cells(luts=pairs * ROUNDS * ROUND, flip_flops=64 * pairs * BLOCK_CYCLES)
    for width in widths:
        table = fabric.table(sum(max(column).bit_length() for column in zip(*segments(), strict=True)), 256)
        sums = OCTAVE_BITS + 2 * SAMPLE.width + 2.0 * width * (1.0 + fabric.compare)
        cells += table + Cells(luts=sums, flip_flops=4 * SAMPLE.width + 4 * width)
    size = entry_layout(step, shape).size
    return cells + fabric.delay(size, preparation_latency(shape), MEMORY_STAGES)
