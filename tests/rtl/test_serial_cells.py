"""The cells around a core that takes numbers link by link: they do not grow with the chain."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from rbdhw.cores.steps.chain import ChainCore
from rbdhw.estimate.fabric import FABRICS, Cells
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.rtl.edge_cells import edge_cells
from rbdhw.target import target
from tests.support.chains import chain, options_of, program_of


@cache
def core_of(links: int, window: int = 2) -> ChainCore:
    program = program_of(chain(links))
    return ChainCore.build(program, target("xcvu9p"), options_of(links, window), ())


def parts_of(core: ChainCore, copies: int = 1, **more: Any) -> dict[str, Cells]:
    function = FunctionWords("fd", core.program.inputs, core.program.outputs["fd"])
    interface = replace(Interface((function,), 64), **more)
    return edge_cells(interface, [core.port] * copies, FABRICS["xcup"])


@pytest.mark.parametrize("part", ["edge", "buffers"])
def test_only_memories_grow(part: str) -> None:
    short, long = (parts_of(core_of(links))[part] for links in (4, 8))
    assert long.flip_flops <= 1.1 * short.flip_flops
    assert long.block_rams >= short.block_rams
    if part == "edge":
        assert abs(long.luts - short.luts) <= 0.2 * short.luts


def test_pairs_of_streams_and_copies_have_edges_of_their_own() -> None:
    core = core_of(8)
    one, streams, copies = parts_of(core), parts_of(core, streams=2), parts_of(core, copies=2)
    for both in (streams, copies):
        assert 1.8 * one["edge"].luts <= both["edge"].luts <= 2.5 * one["edge"].luts
        assert both["buffers"].flip_flops >= 1.9 * one["buffers"].flip_flops


def test_singles_are_converted() -> None:
    core = core_of(8)
    plain, singles = parts_of(core)["edge"], parts_of(core, number="float32")["edge"]
    assert singles.luts > plain.luts + 2 * 16 * 19
