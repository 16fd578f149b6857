"""What the preparation of rollouts' steps takes: samples, feedback, costs, and delay lines beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.cost import WEIGHTED
from rbdhw.fixed.feedback import GAIN, Feedback
from rbdhw.fixed.normal import OCTAVE_BITS, PLACE_BITS, ROUNDS, SAMPLE, segments
from rbdhw.fixed.rollout import RolloutShape, force_words, rollout_feedback, rollout_terms
from rbdhw.model.interface import Interface
from rbdhw.protocol import COST, GAINS, SAMPLES
from rbdhw.rtl.adder_tree import ADDENDS
from rbdhw.rtl.normal import BLOCK_CYCLES, ROUNDS_A_CYCLE
from rbdhw.rtl.preparation import MEMORY_STAGES, preparation_latency
from rbdhw.rtl.rollout_entry import entry_layout
from rbdhw.target import Target

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
        cells += _sample_cells([word.format.width for word in force_words(step)], fabric)
    if GAINS in shape.parts:
        cells += _feedback_cells(rollout_feedback(step, shape), fabric)
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


def _feedback_cells(feedback: Sequence[Feedback], fabric: Fabric) -> Cells:
    """Return the cells of errors, of products that are added up, and of the sums' limits."""
    errors = sum(term.bits for term in feedback[0].terms)
    cells = Cells(luts=2 * errors, flip_flops=2 * errors)
    for own in feedback:
        sums = len(own.terms) - 1
        cells += Cells(
            luts=sums * own.sum_bits + 2.0 * own.force.format.width * (1.0 + fabric.compare),
            flip_flops=len(own.terms) * GAIN.width + sums / (ADDENDS - 1) * own.sum_bits,
        )
    return cells
