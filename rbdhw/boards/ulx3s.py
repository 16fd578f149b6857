"""The ULX3S with a Lattice ECP5-85F: an accelerator's bitstream with Yosys, nextpnr and ecppack."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import ClockSignal, Const, Elaboratable, Instance, Module, Signal
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer
from amaranth_boards.ulx3s import ULX3S_85F_Platform

from rbdhw.boards import nextpnr, yosys
from rbdhw.boards.build import TOP, Implementation, commands, fastest_below, prepare
from rbdhw.boards.nextpnr import NEXTPNR, SEED, Report, best_placement, read_report
from rbdhw.boards.tools import find_tool, last_line, run_tool, tool_version
from rbdhw.boards.uart import bit_cycles
from rbdhw.progress import Progress, silent, within

OSCILLATOR_MHZ = 25.0
REPORT = f"{TOP}.report.json"

# The log of each program of the build plan, and the function that finds the program's state in it.
LOGS = {
    "yosys": (f"{TOP}.rpt", yosys.state_of),
    NEXTPNR: (f"{TOP}.tim", nextpnr.state_of),
    "ecppack": ("ecppack.log", last_line),
}

PACKING = "packing with ecppack"

# Limits of the PLL: FPGA-DS-02012 (ECP5 family data sheet), sysCLOCK PLL timing.
PHASE_DETECTOR_MHZ = 10.0
VCO_MHZ = (400.0, 800.0)
FASTEST_MHZ = 400.0
MAX_DIVIDER = 128


@dataclass(frozen=True)
class Pll:
    """Dividers of the ECP5 PLL."""

    reference: int
    """The phase detector runs at the oscillator's rate divided by this."""
    feedback: int
    """The VCO runs at the phase detector's rate times this, through the output that feeds back."""
    output: int
    """The clock is the VCO's rate divided by this."""

    @property
    def clock_mhz(self) -> float:
        """The output clock."""
        return OSCILLATOR_MHZ / self.reference * self.feedback / self.output


def pll_for(clock_mhz: float) -> Pll:
    """Return the dividers of the fastest clock that does not exceed ``clock_mhz``."""
    dividers = range(1, MAX_DIVIDER + 1)
    # Among equal clocks, the first is taken: the fastest phase detector gives the least jitter.
    settings = [
        Pll(reference, feedback, output)
        for reference in range(1, math.floor(OSCILLATOR_MHZ / PHASE_DETECTOR_MHZ) + 1)
        for feedback in dividers
        if VCO_MHZ[0] <= OSCILLATOR_MHZ / reference * feedback <= VCO_MHZ[1]
        for output in dividers
    ]
    within_limit = [pll for pll in settings if pll.clock_mhz <= FASTEST_MHZ * (1 + 1e-9)]
    return fastest_below(clock_mhz, within_limit, "the PLL of the ULX3S")


class Clocking(Elaboratable):
    """Drives the domain ``sync`` from the oscillator; resets it until the PLL locks, and by FIRE1."""

    def __init__(self, pll: Pll) -> None:
        self.pll = pll

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.oscillator = oscillator = io.Buffer("i", platform.request("clk25", dir="-"))
        m.submodules.button = button = io.Buffer("i", platform.request("button_fire", 0, dir="-"))
        feedback = Signal()
        locked = Signal()
        m.submodules.pll = Instance(
            "EHXPLLL",
            # The loop filter for slow feedback: FPGA-TN-02200 (ECP5 sysCLOCK PLL).
            a_ICP_CURRENT="12",
            a_LPF_RESISTOR="8",
            a_MFG_ENABLE_FILTEROPAMP="1",
            a_MFG_GMCREF_SEL="2",
            p_CLKI_DIV=self.pll.reference,
            p_FEEDBK_PATH="CLKOP",
            p_CLKFB_DIV=1,
            p_CLKOP_ENABLE="ENABLED",
            p_CLKOP_DIV=self.pll.feedback,
            p_CLKOP_CPHASE=self.pll.feedback - 1,
            p_CLKOS_ENABLE="ENABLED",
            p_CLKOS_DIV=self.pll.output,
            p_CLKOS_CPHASE=self.pll.output - 1,
            i_CLKI=oscillator.i,
            i_CLKFB=feedback,
            i_RST=Const(0),
            i_STDBY=Const(0),
            i_PHASESEL0=Const(0),
            i_PHASESEL1=Const(0),
            i_PHASEDIR=Const(1),
            i_PHASESTEP=Const(1),
            i_PHASELOADREG=Const(1),
            i_PLLWAKESYNC=Const(0),
            i_ENCLKOP=Const(0),
            i_ENCLKOS=Const(0),
            o_CLKOP=feedback,
            o_CLKOS=ClockSignal("sync"),
            o_LOCK=locked,
        )
        m.submodules.reset = ResetSynchronizer(~locked | button.i, domain="sync")
        return m


def build_bitstream(
    verilog: Path,
    work: Path,
    *,
    clock_mhz: float,
    seeds: Sequence[int] = (SEED,),
    progress: Progress = silent,
) -> Implementation:
    """Build ``work``/top.bit from the accelerator in the file ``verilog`` and the serial shell.

    The design runs at ``clock_mhz``, or at the next slower clock of the board's PLL. The ``seeds`` are tried
    in order until a placement reaches that clock; if none does, there is no bitstream. The same accelerator,
    seeds and programs give the same bitstream. ``work`` also keeps the sources, the logs of Yosys
    (``top.rpt``) and nextpnr (``top.tim``), and nextpnr's report (``top.report.json``), the latter two of the
    best placement. Raises InputError if the clock is too slow for the PLL or the serial line, or a program is
    missing. Raises ToolError if a program fails.
    """
    pll = pll_for(clock_mhz)
    divisor = bit_cycles(pll.clock_mhz * 1e6)
    versions = {name: tool_version(name) for name in LOGS}

    def write_plan(seed: int) -> list[list[str]]:
        """Write the build plan for a seed; return its commands."""
        plan = prepare(
            ULX3S_85F_Platform(),
            verilog,
            clock=Clocking(pll),
            divisor=divisor,
            nextpnr_opts=f"--seed {seed} --report {REPORT} --timing-allow-fail",
        )
        plan.extract(work)
        return commands(plan)

    def place(seed: int, watched: Progress) -> Report:
        report.unlink(missing_ok=True)
        _, placing, _ = write_plan(seed)
        _run(placing, work, watched)
        return read_report(report)

    report, bitstream = work / REPORT, work / f"{TOP}.bit"
    bitstream.unlink(missing_ok=True)
    mapping, _, packing = write_plan(seeds[0])
    progress(yosys.STEP)
    _run(mapping, work, within(yosys.STEP, progress))
    results = (report, work / f"{TOP}.config", work / LOGS[NEXTPNR][0], work / f"build_{TOP}.sh")
    placed = best_placement(seeds, place, results, progress)
    missed = placed.explain_miss("the ULX3S", report)
    if missed is None:
        progress(PACKING)
        _run(packing, work, within(PACKING, progress))
    return Implementation(
        tool=f"yosys, {NEXTPNR}",
        clock_mhz=pll.clock_mhz,
        fastest_mhz=placed.report.achieved_mhz,
        resources=placed.report.resources,
        bitstream=None if missed else bitstream,
        missed=missed,
        versions=versions,
        tries=placed.tries,
        seed=placed.seed,
    )


def _run(command: list[str], work: Path, progress: Progress) -> None:
    """Run a program of the build plan with its progress."""
    name, *arguments = command
    log, state = LOGS[name]
    program = [find_tool(name), *arguments]
    run_tool(name, program, folder=work, log=work / log, progress=progress, state=state)
