"""The ports of the accelerator, and what it refuses."""

import re

from rbdhw.rtl.verilog import to_verilog
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
