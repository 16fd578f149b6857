"""Blocks of one design: two beside each other, and one with several pairs of streams."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rbdhw.design.folder import Design, read, write
from rbdhw.design.replacement import AXI_VERILOG, VERILOG
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.registers.map import Register, counter_address
from rbdhw.robots import path
from tests.support.block import beats_of, build_top, packets_of, simulate
from tests.support.disturbed import answered, disturbed

TASKS = 60
OPTIONS = BuildOptions(("id",), width=18, data_width=32, ii=4, samples=64)
BUILDS = {"left_": ("id", 2), "right_": ("m", 1)}
"""The function of each of two blocks and its pairs of streams, by the prefix of its ports."""


def around(blocks: dict[str, str]) -> str:
    """Return a module with blocks, given by the prefixes of their ports and their Verilog, with one clock."""
    ports, instances = ["input wire clk", "input wire rst"], []
    for prefix, text in blocks.items():
        inside = re.search(r"^module (\w+_axi) \((.*?)\n\);", text, re.DOTALL | re.MULTILINE)
        assert inside is not None
        declared = re.findall(r"(input|output) wire (\[\d+:0\] )?(\w+)", inside[2])
        named = {name: name if name in ("clk", "rst") else f"{prefix}{name}" for _, _, name in declared}
        ports += [
            f"{way} wire {bits}{prefix}{name}" for way, bits, name in declared if name not in ("clk", "rst")
        ]
        ways = ", ".join(f".{port}({wire})" for port, wire in named.items())
        instances.append(f"  {inside[1]} {prefix}block ({ways});")
    return "\n".join([f"module both ({', '.join(ports)});", *instances, "endmodule", ""])


@pytest.fixture(scope="module")
def designs(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Design], Path]:
    """Return the designs of two blocks, the left one with two pairs of streams, and their simulator."""
    folder = tmp_path_factory.mktemp("blocks")
    texts: list[str] = []
    for prefix, (function, streams) in BUILDS.items():
        options = replace(OPTIONS, functions=(function,), name=prefix.rstrip("_"), streams=streams)
        write(generate(path("toy"), options), folder / prefix)
        texts += [(folder / prefix / name).read_text() for name in (AXI_VERILOG, VERILOG)]
    blocks = dict(zip(BUILDS, texts[::2], strict=True))
    simulator = build_top("both", [around(blocks), *texts], folder)
    return {prefix: read(folder / prefix) for prefix in BUILDS}, simulator


def test_two_blocks_stand_in_one_design_and_pairs_of_streams_are_counted_together(
    designs: tuple[dict[str, Design], Path],
) -> None:
    blocks, simulator = designs
    left, right = (blocks[prefix] for prefix in BUILDS)
    pairs, alone = [disturbed(left, TASKS, seed) for seed in (1, 2)], disturbed(right, TASKS, 3)
    steps = {
        "left_": [
            ["stall", 0.2, 0.4],
            *(["send", packets_of(stream.beats), pair] for pair, stream in enumerate(pairs)),
            ["receive", TASKS, 0],
            ["receive", TASKS, 1],
            ["count", counter_address("answers")],
            ["count", counter_address("request_beats")],
            ["read", Register.STATUS],
            ["read", Register.IDENTITY],
        ],
        "right_": [["send", packets_of(alone.beats)], ["receive", TASKS], ["read", Register.IDENTITY]],
    }
    results = simulate(simulator, steps)
    *_, first, second, answers, beats, status, identity = results["left_"]
    for received, stream in zip((first, second), pairs, strict=True):
        assert answered(left, beats_of(received, 4)) == stream.expected
    assert (answers, status) == (2 * TASKS, 1)
    assert beats == sum(len(stream.beats.last) for stream in pairs)
    _, received, other = results["right_"]
    assert answered(right, beats_of(received, 4)) == alone.expected
    for design, word in ((left, identity), (right, other)):
        assert f"{word:08x}" == design.manifest["identity"][:8]
