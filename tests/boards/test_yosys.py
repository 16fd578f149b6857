"""Synthesis for a target: counts of a design of known cost, and failing tools."""

import json
import re
from pathlib import Path

import pytest

from rbdhw.boards import yosys
from rbdhw.boards.tools import ToolError, find_tool
from rbdhw.boards.yosys import (
    ECP5,
    FAMILIES,
    LARGE,
    ULTRASCALE_PLUS,
    count_resources,
    state_of,
    synthesis,
    synthesize_target,
)
from rbdhw.errors import InputError
from rbdhw.estimate.resources import Resources
from rbdhw.rtl.multiplier import DspBlock, Signs
from rbdhw.rtl.verilog import to_verilog
from rbdhw.target import DSP48E2
from tests.support.marks import long


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("ecp5", Resources(1, 34, 1, 0)),
        long("xcup", Resources(1, 34, 1, 0)),
    ],
)
def test_small_design_is_counted(design: Path, tmp_path: Path, family: str, expected: Resources) -> None:
    work = tmp_path / "work"
    assert synthesize_target((design / "accelerator.v",), "accelerator", FAMILIES[family], work) == expected
    assert "End of script" in (work / "synthesis.log").read_text()


def test_an_array_is_flattened_when_its_memories_are_mapped() -> None:
    assert synthesis(ECP5, "top", ["module top(); endmodule"]) == ["synth_ecp5 -top top"]
    assert synthesis(ECP5, "top", ["module top(); endmodule", "module operand_memory_0_1(); endmodule"]) == [
        "setattr -mod -set keep_hierarchy 1 *operand_memory* *_bypass_*",
        "synth_ecp5 -top top -run :map_gates",
        "setattr -mod -unset keep_hierarchy *operand_memory* *_bypass_*",
        "flatten",
        "synth_ecp5 -run map_gates:",
    ]


def test_delays_that_yosys_lacks_are_read_before_logic_is_mapped() -> None:
    script, module = ULTRASCALE_PLUS.script, "module top(); endmodule"
    wire = f"scratchpad -set synth_xilinx.abc9.W {ULTRASCALE_PLUS.wire}"
    timed = ["read_verilog -lib -specify -overwrite ultrascale_plus.v", f"{script} -run map_luts:"]
    assert synthesis(ULTRASCALE_PLUS, "top", [module]) == [wire, f"{script} -top top -run :map_luts", *timed]
    array = synthesis(ULTRASCALE_PLUS, "top", [module, "module operand_memory_0_1(); endmodule"])
    assert array[0] == wire
    assert array[-3:] == [f"{script} -run fine:map_luts", *timed]


def test_the_delays_are_of_blocks_with_every_parameter_and_port_that_designs_give_them() -> None:
    """Yosys refuses a cell with a parameter that its module lacks."""
    module = Path(yosys.__file__).with_name(ULTRASCALE_PLUS.delays).read_text()
    block = DspBlock(DSP48E2, 0, signs=Signs(constant=5), subtracts=True)
    text = to_verilog(block)
    named = re.findall(r"^ *\.(\w+)\(", text[text.index("DSP48E2 #(") :], re.MULTILINE)
    assert {"RND", "AMULTSEL", "D", "P"} <= set(named)
    assert all(re.search(rf"\b{name}\b", module) for name in named)


def test_a_large_design_is_mapped_as_it_is() -> None:
    large = "// " + LARGE * "-"
    assert synthesis(ECP5, "top", ["module top(); endmodule", large]) == [
        "scratchpad -copy abc9.script.default.fast abc9.script",
        "synth_ecp5 -top top",
    ]
    assert synthesis(ULTRASCALE_PLUS, "top", ["module top(); endmodule", large]) == [
        "scratchpad -copy abc9.script.default.fast abc9.script",
        *synthesis(ULTRASCALE_PLUS, "top", ["module top(); endmodule"]),
    ]
    array = synthesis(ECP5, "top", ["module operand_memory_0_1(); endmodule", large])
    assert not any("scratchpad" in command for command in array)


@pytest.mark.parametrize("family", [long("ecp5"), long("xcup")])
def test_what_a_design_may_do_without_stays_where_it_is_mapped_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    source = tmp_path / "parity.v"
    source.write_text("module top(input [15:0] a, b, output y); assign y = ^a ^ ^b ^ ^(a ^ b); endmodule")
    counts = {}
    for name, least in (("optimised", LARGE), ("hurried", 0)):
        monkeypatch.setattr("rbdhw.boards.yosys.LARGE", least)
        counts[name] = synthesize_target((source,), "top", FAMILIES[family], tmp_path / name)
    assert counts["optimised"].luts == 0
    assert counts["hurried"].luts > 0


def statistics(**cells: int) -> str:
    """Return Yosys' statistics of a design with these cells."""
    return json.dumps({"modules": {}, "design": {"num_cells_by_type": cells}})


def test_cells_of_ultrascale_plus_are_weighed() -> None:
    cells = statistics(
        LUT6=3, LUT2=1, RAM32M16=4, SRLC32E=2, FDRE=5, FDSE=1, DSP48E2=7, RAMB36E2=1, RAMB18E2=3
    )
    assert count_resources(cells, ULTRASCALE_PLUS) == Resources(38, 6, 7, 3)


def test_cells_of_ecp5_are_weighed() -> None:
    cells = statistics(LUT4=3, CCU2C=2, TRELLIS_DPR16X4=2, PFUMX=9, TRELLIS_FF=8, MULT18X18D=2, DP16KD=3)
    assert count_resources(cells, ECP5) == Resources(19, 8, 2, 3)


def test_cell_outside_the_library_is_an_error() -> None:
    cells = statistics(**{"LUT4": 1, "$mul": 2, "$scopeinfo": 3})
    with pytest.raises(ToolError, match=r"^yosys left cells that the device does not have: \$mul$"):
        count_resources(cells, ECP5)


def test_failure_shows_the_end_of_the_log(tmp_path: Path) -> None:
    broken = tmp_path / "broken.v"
    broken.write_text("module accelerator(;\n")
    with pytest.raises(ToolError) as caught:
        synthesize_target((broken,), "accelerator", ECP5, tmp_path / "work")
    first, *rest = str(caught.value).splitlines()
    assert first == f"yosys failed (exit status 1); its log is {tmp_path}/work/synthesis.log"
    assert rest[-1] == "  ../broken.v:1: ERROR: syntax error, unexpected ';'"


def test_failure_for_want_of_memory_names_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "yosys"
    program.write_text("#!/bin/sh\necho 'Caused by:'\necho '  thrown Wasm exception'\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("YOSYS", str(program))
    with pytest.raises(ToolError, match=r"probably for want of memory: .* set YOSYS to a native yosys"):
        synthesize_target((), "accelerator", ECP5, tmp_path / "work")


def test_program_named_by_a_variable_must_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YOSYS", "/no/such/yosys")
    expected = "YOSYS=/no/such/yosys: no such program; expected the path of yosys"
    with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
        find_tool("yosys")


def test_program_named_by_a_variable_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECPPACK", "true")
    assert Path(find_tool("ecppack")).name == "true"


def test_missing_program_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NEXTPNR_ECP5", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    expected = "nextpnr-ecp5: not installed; run: pip install '.[synthesis]', or set NEXTPNR_ECP5 to its path"
    with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
        find_tool("nextpnr-ecp5")


@pytest.mark.parametrize(
    ("log", "state"),
    [
        ("-- Running command `read_verilog'\n", None),
        ("2.46.18.5. Executing ABC9.\nsome more\n", "pass 2.46.18.5, ABC9"),
        ("2.1. Executing PROC pass (a).\n\n2.2. Executing OPT_EXPR pass (b).\n", "pass 2.2, OPT_EXPR"),
    ],
)
def test_the_end_of_the_log_names_the_pass(log: str, state: str | None) -> None:
    assert state_of(log) == state
