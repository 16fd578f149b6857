"""Reduction and elimination of block systems, compared with dense solutions."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.dynamics.block_elimination import BlockSystem, Pair

SIZES = (5, 6)
"""Two sizes of blocks, which alternate."""


def system(parents: list[int], seed: int) -> tuple[BlockSystem, np.ndarray]:
    """Return a random system whose nodes are coupled with parents and siblings, and its solution."""
    rng = np.random.default_rng(seed)
    sizes = [SIZES[i % 2] for i in range(len(parents))]
    ends = np.cumsum([0, *sizes])
    places = [slice(a, b) for a, b in pairwise(ends)]
    matrix, pairs = np.zeros((ends[-1], ends[-1])), list[Pair]()
    for i, parent in enumerate(parents):
        near = [] if parent < 0 else [parent, *(j for j in range(i) if parents[j] == parent)]
        for j in near:
            matrix[places[i], places[j]] = rng.uniform(-1, 1, (sizes[i], sizes[j]))
            pairs.append((i, j))
    matrix += matrix.T
    matrix += np.diag(1.0 + np.abs(matrix).sum(axis=1))
    right = rng.uniform(-1, 1, ends[-1])
    built = BlockSystem(
        [matrix[block, block].tolist() for block in places],
        {(i, j): matrix[places[i], places[j]].tolist() for i, j in pairs},
        [right[block].tolist() for block in places],
    )
    return built, np.linalg.solve(matrix, right)


@pytest.mark.parametrize("way", ["reduce", "eliminate"])
@given(data=st.data(), seed=st.integers(0, 99))
def test_solutions_of_random_trees(way, data, seed):
    count = data.draw(st.integers(1, 9))
    parents = [data.draw(st.integers(-1, i - 1)) for i in range(count)]
    built, expected = system(parents, seed)
    np.testing.assert_allclose(np.concatenate(getattr(built, way)()), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("way", ["reduce", "eliminate"])
def test_solutions_of_chains(way):
    built, expected = system([i - 1 for i in range(17)], 0)
    np.testing.assert_allclose(np.concatenate(getattr(built, way)()), expected, rtol=0, atol=1e-12)
