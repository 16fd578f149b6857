"""Scripts for tools that are not here, run by Tcl itself with commands that only note their calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

Call = tuple[str, ...]

VIVADO = re.findall(
    r"\w+",
    """
    create_project set_property get_board_parts current_project update_ip_catalog create_bd_design
    create_bd_cell create_bd_port create_bd_intf_port connect_bd_net connect_bd_intf_net get_bd_cells
    get_bd_pins get_bd_ports get_bd_intf_pins get_bd_intf_ports get_bd_addr_segs get_bd_addr_spaces
    assign_bd_address apply_bd_automation validate_bd_design save_bd_design make_wrapper get_files add_files
    current_fileset update_compile_order launch_runs wait_on_run get_runs open_run report_utilization
    report_timing_summary get_timing_paths get_property write_bitstream write_hw_platform get_clocks
    get_ports create_clock set_false_path set_max_delay
    """,
)
"""The commands of Vivado that scripts use."""


def run_tcl(
    script: Path,
    commands: Sequence[str],
    folder: Path,
    answers: Mapping[str, Callable[..., str]] | None = None,
) -> list[Call]:
    """Run a script in a folder and return the calls of these commands, in order, with their arguments.

    Parameters
    ----------
    answers
        What a command returns for its arguments, by its name; the others return their last argument.
    """
    interpreter = pytest.importorskip("tkinter").Tcl()
    calls: list[Call] = []
    known = answers or {}
    for name in commands:

        def call(*arguments: object, name: str = name) -> str:
            texts = tuple(map(str, arguments))
            calls.append((name, *texts))
            return known[name](*texts) if name in known else (texts or ("",))[-1]

        interpreter.createcommand(name, call)
    interpreter.call("cd", str(folder))
    interpreter.eval('proc unknown {args} {error "no command: $args"}')
    interpreter.call("source", str(script))
    return calls


def run_project(
    folder: Path, slack: str = "0.5", board_parts: str = "xilinx.com:som:part0:1.4"
) -> list[Call]:
    """Run the script of a project of Vivado's, with this slack of all paths and these board files."""
    properties = {"PROGRESS": "100%", "SLACK": slack}
    answers = {
        "get_property": lambda name, *_: properties[name],
        "get_board_parts": lambda *_: board_parts,
    }
    return run_tcl(folder / "top.tcl", VIVADO, folder, answers)
