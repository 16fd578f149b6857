"""What the preparation of rollouts' steps takes: samples, costs, and delay lines beside them."""

from __future__ import annotations

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.cost import WEIGHTED
from rbdhw.fixed.normal import OCTAVE_BITS, PLACE_BITS, ROUNDS, SAMPLE, segments
from rbdhw.interface import Interface, RolloutShape, rollout_terms
from rbdhw.protocol import COST, SAMPLES
from rbdhw.rtl.normal import BLOCK_CYCLES
from rbdhw.rtl.preparation import MEMORY_STAGES, preparation_latency
from rbdhw.rtl.rollout import entry_layout, forces

ROUND = 96
"""Look-up tables of a round: an addition and two exclusive ors of 32 bits."""


def preparation_products(interface: Interface) -> list[tuple[int, int]]:
    """Return the operand widths of the products between two steps."""
    shape, found = interface.rollout, []
    if shape is None:
        return []
    step = interface.words("step")
    if SAMPLES in shape.parts:
        rise = max(rise for _, rise in segments()).bit_length()
        for word in forces(step):
            found += [(rise + 1, PLACE_BITS + 2), (word.format.width, SAMPLE.width)]
    if COST in shape.parts:
        for term in rollout_terms(step, shape):
            width = term.bits - term.error_drop + bool(term.error_drop)
            found += [(width, WEIGHTED.width), (WEIGHTED.width, WEIGHTED.width)]
    return found


def preparation_cells(interface: Interface, shape: RolloutShape, fabric: Fabric) -> Cells:
    """Return the cells between the result of a step and the queue of those that wait."""
    if not shape.parts:
        return Cells()
    step = interface.words("step")
    bits = entry_layout(step, shape).size + step.result_bits
    cells = fabric.delay(bits, preparation_latency(interface), MEMORY_STAGES)
    if SAMPLES in shape.parts:
        cells += _sample_cells([word.format.width for word in forces(step)], fabric)
    if COST in shape.parts:
        for term in rollout_terms(step, shape):
            cells += Cells(
                luts=term.bits + WEIGHTED.width + 2 * WEIGHTED.width,
                flip_flops=2 * term.bits + 6 * WEIGHTED.width,
            )
    return cells


def _sample_cells(widths: list[int], fabric: Fabric) -> Cells:
    """Return the cells that draw samples for forces of these widths, and add them."""
    pairs = -(-len(widths) // 2)
    cells = Cells(luts=pairs * ROUNDS * ROUND, flip_flops=64 * pairs * BLOCK_CYCLES)
    entry = sum(max(column).bit_length() for column in zip(*segments(), strict=True))
    for width in widths:
        sums = OCTAVE_BITS + 2 * SAMPLE.width + 2.0 * width * (1.0 + fabric.compare)
        cells += fabric.table(entry, len(segments()))
        cells += Cells(luts=sums, flip_flops=4 * SAMPLE.width + 4 * width)
    return cells
