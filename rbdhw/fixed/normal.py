"""Reproducible normal samples from a seed, a step and a coordinate, as the hardware computes them.

A block of 64 bits is encrypted by rounds of additions, rotations and exclusive ors (those of Speck,
Beaulieu et al. 2013). It starts as the seed beside the step and the number of a pair of coordinates, and the
seed is in the key of every round. So a sample depends only on its seed, its step and its coordinate.

Each half of the block is one sample. A bit is its sign. The number of leading zeros of 16 bits is the octave
of the tail's probability, three bits are the eighth of that octave, and twelve bits are the place in it.
Within an eighth the inverse of the normal distribution is a line (Cheung et al. 2007).
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.format import Format, Integers, round_half_up

Half = NDArray[np.uint32]

ROUNDS = 8
"""The rounds of the cipher. From the seventh on, each bit of the input changes each of the output evenly."""

KEY = 0x9E3779B9
"""Round k has the key ``seed ^ (k + 1) * KEY``: the golden ratio, whose multiples are far apart."""

RIGHT, LEFT = 8, 3
"""The rotations of a round."""

OCTAVE_BITS, EIGHTH_BITS, PLACE_BITS = 16, 3, 12
"""The parts of half a block below the sign, highest first."""

STEP_BITS = 16
"""The bits of the step's number; the pair of coordinates stands above them."""

SAMPLE = Format(18, 14)
"""The format of a sample."""

TAIL = 3.2
"""The probability beyond the last eighth is replaced by a line to the quantile at this part of it."""


def normal_integers(seeds: Integers, steps: Integers, coordinates: int) -> Integers:
    """Return samples (N, K, coordinates) in the format :data:`SAMPLE` for seeds (N,) and steps (K,)."""
    pairs = np.arange(-(-coordinates // 2))
    x, y = _block(seeds[:, np.newaxis, np.newaxis], steps[:, np.newaxis], pairs)
    halves = np.stack([x, y], axis=-1).reshape(len(seeds), len(steps), -1)
    return _sample(halves[..., :coordinates])


def normal_samples(seeds: Integers, steps: Integers, coordinates: int) -> NDArray[np.float64]:
    """Return the samples (N, K, coordinates) of :func:`normal_integers` as numbers."""
    return SAMPLE.real(normal_integers(seeds, steps, coordinates))


def _block(seeds: Integers, steps: Integers, pairs: Integers) -> tuple[Half, Half]:
    """Return both halves of the encrypted blocks."""
    seed = seeds.astype(np.uint32)
    x, y = np.broadcast_arrays(seed, (steps | pairs << STEP_BITS).astype(np.uint32))
    for key in round_keys():
        x = (x >> RIGHT | x << 32 - RIGHT) + y ^ seed ^ key
        y = (y << LEFT | y >> 32 - LEFT) ^ x
    return x, y


def round_keys() -> tuple[np.uint32, ...]:
    """Return the number that is joined with the seed in each round."""
    return tuple(np.uint32((k + 1) * KEY & 0xFFFFFFFF) for k in range(ROUNDS))


def _sample(halves: Half) -> Integers:
    bits = halves.astype(np.int64)
    offset = bits & (1 << PLACE_BITS) - 1
    eighth = bits >> PLACE_BITS & (1 << EIGHTH_BITS) - 1
    octave = bits >> PLACE_BITS + EIGHTH_BITS & (1 << OCTAVE_BITS) - 1
    zeros = OCTAVE_BITS - np.frexp(octave.astype(np.float64))[1]
    starts, rises = (np.array(column) for column in zip(*segments(), strict=True))
    segment = zeros << EIGHTH_BITS | eighth
    rise = rises[segment] * (2 * offset + 1)
    magnitude: Integers = starts[segment] + round_half_up(rise, PLACE_BITS + 1)
    return np.where(bits >> 31 == 1, -magnitude, magnitude)


@cache
def segments() -> tuple[tuple[int, int], ...]:
    """Return for each segment the smallest magnitude and the rise to the next, in steps of :data:`SAMPLE`.

    Segments are ordered by octave, then by eighth.
    """
    rows = []
    for octave in range(OCTAVE_BITS + 1):
        high = 2.0**-octave
        low = high / 2 if octave < OCTAVE_BITS else 0.0
        edges = [high - (high - low) * k / 8 for k in range(8)]
        edges.append(low or edges[-1] / TAIL)
        sizes = [round(-NormalDist().inv_cdf(edge / 2) * 2**SAMPLE.binary_point) for edge in edges]
        rows += [(start, end - start) for start, end in pairwise(sizes)]
    return tuple(rows)
