"""Reading Yosys' netlists, and the names in them."""

import json
from pathlib import Path

import pytest

from rbdhw.errors import InputError
from rbdhw.timing.netlist import CONSTANT, Cell, Place, place_of, read_netlist, signal_of

MODULE = {
    "ports": {
        "clk": {"direction": "input", "bits": [2]},
        "o": {"direction": "output", "bits": [5, "0"]},
    },
    "cells": {
        "core": {"type": "$scopeinfo", "parameters": {}, "connections": {}},
        "core.v_LUT4_Z": {
            "type": "LUT4",
            "parameters": {"INIT": "0110"},
            "connections": {"A": [3], "B": ["1"], "Z": [5]},
        },
    },
    "netnames": {
        "$hidden": {"bits": [3]},
        "core.long_name_LUT4_A_Z": {"bits": [3]},
        "core.v_LUT4_Z": {"bits": [5]},
        "core.v9": {"bits": [4, 5]},
    },
}


def written(folder: Path, content: object) -> Path:
    path = folder / "netlist.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_netlist_is_read(tmp_path: Path) -> None:
    netlist = read_netlist(written(tmp_path, {"modules": {"top": MODULE}}), "top")
    ports = {"A": (3,), "B": (CONSTANT,), "Z": (5,)}
    assert netlist.cells == (Cell("core.v_LUT4_Z", "LUT4", {"INIT": "0110"}, ports),)
    assert (netlist.inputs, netlist.outputs) == ((2,), (5, CONSTANT))
    assert netlist.signals == {3: "core.long_name", 4: "core.v9", 5: "core.v9"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("module top;", "is not a netlist"),
        ([], "is not a netlist"),
        ({"modules": {"other": MODULE}}, "has no module top"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: object, reason: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InputError) as refusal:
        read_netlist(path, "top")
    assert (refusal.value.where, refusal.value.reason) == (str(path), reason)


@pytest.mark.parametrize(
    ("name", "signal"),
    [
        ("core.rnea_forward_3._v12_s1_TRELLIS_FF_Q_4", "core.rnea_forward_3._v12_s1"),
        ("core.solve_1.v3_LUT6_O_I4_CARRY4_O", "core.solve_1.v3"),
        (
            "core.trigonometry.sin_cos_0.cosine_0.block.block",
            "core.trigonometry.sin_cos_0.cosine_0.block.block",
        ),
        ("core.LF_foot_RAMB", "core.LF_foot_RAMB"),
    ],
)
def test_what_yosys_added_to_a_name_is_left_out(name: str, signal: str) -> None:
    assert signal_of(name) == signal


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("accelerator.core.rnea_forward_3.v12_TRELLIS_FF_Q_4", Place("rnea_forward_3", "rnea_forward", 3)),
        ("core_1.rnea_forward_12.v12", Place("rnea_forward_12", "rnea_forward", 12)),
        (
            "accelerator.core.trigonometry.sin_cos_0.register$8_TRELLIS_FF_Q_16",
            Place("trigonometry", "trigonometry", None),
        ),
        ("accelerator.assembler.i__valid_TRELLIS_FF_Q", Place("assembler", "assembler", None)),
        ("shell.core.accelerator.core.solve_1.v3", Place("solve_1", "solve", 1)),
        ("shell.framer.crc", Place("framer", "framer", None)),
        ("accelerator.core.v3_TRELLIS_FF_Q", Place("core", "core", None)),
        ("accelerator.m_axis_tdata_TRELLIS_FF_Q_1", Place("accelerator", "accelerator", None)),
        ("chain_TRELLIS_FF_Q", Place("top", "top", None)),
    ],
)
def test_a_signal_is_in_the_outermost_module_that_says_something(name: str, place: Place) -> None:
    assert place_of(name) == place
