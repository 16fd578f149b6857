"""The ports of the accelerator, and what it refuses."""

import re
from dataclasses import replace

import pytest

from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.protocol import CODES
from rbdhw.rtl.shell import Accelerator
from rbdhw.rtl.verilog import to_verilog
from tests.support.edge import (
    FUNCTIONS,
    ID,
    LATENCIES,
    FakeCore,
    words,
)
from tests.support.edge_tasks import accelerator, core_of


def test_verilog_has_the_ports_of_the_contract() -> None:
    text = to_verilog(accelerator(core_of(), 64))
    ports = re.findall(r"^  (input|output) (?:wire|reg) (\[63:0\] )?(\w+),?$", text.partition(");")[0], re.M)
    assert sorted(ports) == [
        ("input", "", "clk"),
        ("input", "", "m_axis_tready"),
        ("input", "", "rst"),
        ("input", "", "s_axis_tlast"),
        ("input", "", "s_axis_tvalid"),
        ("input", "[63:0] ", "s_axis_tdata"),
        ("output", "", "m_axis_tlast"),
        ("output", "", "m_axis_tvalid"),
        ("output", "", "s_axis_tready"),
        ("output", "[63:0] ", "m_axis_tdata"),
    ]
    modules = re.findall(r"^module (\w+)", text, re.MULTILINE)
    assert modules[0] == "accelerator"
    assert {"accelerator_core", "accelerator_completion_id", "accelerator_admission"} < set(modules)


def test_refuses_a_core_of_other_widths() -> None:
    narrow = core_of(functions=(ID,))
    text = "function dfd: is in no core; expected it in at least one"
    with pytest.raises(ValueError, match=f"^{text}$"):
        Accelerator(cores=[narrow], interface=Interface(FUNCTIONS, 32))
    text = "core: id of 30 bits; the function's outputs have 29"
    with pytest.raises(ValueError, match=f"^{text}$"):
        Accelerator(cores=[narrow], interface=Interface((replace(ID, outputs=words(29)),), 32))


def test_refuses_a_core_without_an_initiation_interval() -> None:
    core = FakeCore(ii=1, functions=FUNCTIONS, latencies=LATENCIES)
    core.ii = 0
    with pytest.raises(ValueError, match=r"^core: initiation interval is 0; expected at least 1$"):
        accelerator(core, 32)


def test_refuses_a_data_width_and_a_number() -> None:
    with pytest.raises(ValueError, match=r"^data width: is 48; expected one of 32, 64, 128, 256, 512, 1024$"):
        accelerator(core_of(), 48)
    with pytest.raises(ValueError, match=r"^number: is 'float64'; expected one of fixed, float32$"):
        Accelerator(cores=[core_of()], interface=Interface(FUNCTIONS, 64, number="float64"))


@pytest.mark.parametrize(
    ("functions", "text"),
    [
        ((), "functions: none given; expected at least one"),
        (
            (ID, FunctionWords("id", words(3), words(3))),
            "functions: a name appears twice; expected each function once",
        ),
        (
            (FunctionWords("inverse", words(3), words(3)),),
            f"function 'inverse': unknown; expected one of {', '.join(CODES)}",
        ),
    ],
)
def test_refuses_functions(functions: tuple[FunctionWords, ...], text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        Accelerator(cores=[core_of()], interface=Interface(functions, 32))
