"""AMD's VCU118 with a Virtex UltraScale+ VU9P: the platform, and Vivado's build plan for an accelerator.

Pins and I/O standards are from the board's user guide, UG1224. LiteX has the same
(litex_boards/platforms/xilinx_vcu118.py). Writing the plan does not require Vivado.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.build import Attrs, Clock, DiffPairs, Pins, Resource
from amaranth.build.run import BuildPlan
from amaranth.hdl import ClockSignal, Const, Elaboratable, Instance, Module, Signal
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer
from amaranth.vendor import XilinxPlatform
from amaranth_boards.resources import ButtonResources, LEDResources, SwitchResources, UARTResource

from rbdhw.boards.build import Implementation, commands, fastest_below, prepare
from rbdhw.boards.uart import bit_cycles
from rbdhw.boards.vivado import STOP_UNLESS_TIMED, run_vivado
from rbdhw.progress import Progress, silent

OSCILLATOR_MHZ = 125.0
ARCHIVE = "vivado.zip"

# Limits of the MMCM: DS923, speed grade -2L at 0.85 V. The multiplier has steps of 1/8.
VCO_MHZ = (800.0, 1600.0)
MAX_DIVIDER = 128

CONFIGURATION = """
set_property CFGBVS GND [current_design]
set_property CONFIG_VOLTAGE 1.8 [current_design]
set_property BITSTREAM.GENERAL.COMPRESS true [current_design]
"""


DDR_CLOCK = Attrs(IOSTANDARD="DIFF_SSTL12")


class VCU118Platform(XilinxPlatform):
    """The VCU118: clocks, reset, LEDs, buttons, switches, and the USB serial port."""

    device = "xcvu9p"
    package = "flga2104"
    speed = "2L-e"
    default_clk = "clk125"
    default_rst = "cpu_reset"
    resources = (
        Resource("clk125", 0, DiffPairs("AY24", "AY23", dir="i"), Clock(125e6), Attrs(IOSTANDARD="LVDS")),
        Resource("clk300", 0, DiffPairs("G31", "F31", dir="i"), Clock(300e6), DDR_CLOCK),
        Resource("clk250", 0, DiffPairs("E12", "D12", dir="i"), Clock(250e6), DDR_CLOCK),
        Resource("clk250", 1, DiffPairs("AW26", "AW27", dir="i"), Clock(250e6), DDR_CLOCK),
        Resource("cpu_reset", 0, Pins("L19", dir="i"), Attrs(IOSTANDARD="LVCMOS12")),
        *LEDResources(pins="AT32 AV34 AY30 BB32 BF32 AU37 AV36 BA37", attrs=Attrs(IOSTANDARD="LVCMOS12")),
        # Centre, north, east, south, west.
        *ButtonResources(pins="BD23 BB24 BE23 BE22 BF22", attrs=Attrs(IOSTANDARD="LVCMOS18")),
        *SwitchResources(pins="B17 G16 J16 D21", attrs=Attrs(IOSTANDARD="LVCMOS12")),
        UARTResource(
            0, rx="AW25", tx="BB21", rts="BB22", cts="AY25", role="dte", attrs=Attrs(IOSTANDARD="LVCMOS18")
        ),
    )
    connectors = ()

    def toolchain_prepare(self, fragment: Any, name: str, **overrides: Any) -> BuildPlan:
        """Return Vivado's plan with the board's configuration, and without a bitstream if timing fails."""
        ours = {"add_constraints": CONFIGURATION, "script_before_bitstream": STOP_UNLESS_TIMED}
        return super().toolchain_prepare(fragment, name, **{**ours, **overrides})


@dataclass(frozen=True)
class Mmcm:
    """Settings of the MMCM: VCO = oscillator * ``multiplier``; clock = VCO / ``divider``."""

    multiplier: float
    divider: int

    @property
    def clock_mhz(self) -> float:
        """The output clock."""
        return OSCILLATOR_MHZ * self.multiplier / self.divider


def mmcm_for(clock_mhz: float) -> Mmcm:
    """Return the settings of the fastest clock that does not exceed ``clock_mhz``."""
    eighths = [
        multiplier / 8
        for multiplier in range(16, 8 * MAX_DIVIDER + 1)
        if VCO_MHZ[0] <= OSCILLATOR_MHZ * multiplier / 8 <= VCO_MHZ[1]
    ]
    settings = [Mmcm(multiplier, divider) for multiplier in eighths for divider in range(1, MAX_DIVIDER + 1)]
    # Among equal clocks, a whole multiplier and a fast VCO give the least jitter.
    settings.sort(key=lambda mmcm: (mmcm.multiplier % 1 > 0, -mmcm.multiplier))
    return fastest_below(clock_mhz, settings, "the MMCM of the VCU118")


class Clocking(Elaboratable):
    """Drives the domain ``sync`` from clk125; resets it until the MMCM locks, and by CPU_RESET."""

    def __init__(self, mmcm: Mmcm) -> None:
        self.mmcm = mmcm

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.oscillator = oscillator = io.Buffer("i", platform.request("clk125", dir="-"))
        m.submodules.button = button = io.Buffer("i", platform.request("cpu_reset", dir="-"))
        feedback = Signal()
        made = Signal()
        locked = Signal()
        m.submodules.mmcm = Instance(
            "MMCME4_BASE",
            p_CLKIN1_PERIOD=1000.0 / OSCILLATOR_MHZ,
            p_DIVCLK_DIVIDE=1,
            p_CLKFBOUT_MULT_F=self.mmcm.multiplier,
            p_CLKOUT0_DIVIDE_F=float(self.mmcm.divider),
            i_CLKIN1=oscillator.i,
            i_CLKFBIN=feedback,
            i_PWRDWN=Const(0),
            i_RST=Const(0),
            o_CLKFBOUT=feedback,
            o_CLKOUT0=made,
            o_LOCKED=locked,
        )
        m.submodules.buffer = Instance("BUFG", i_I=made, o_O=ClockSignal("sync"))
        m.submodules.reset = ResetSynchronizer(~locked | button.i, domain="sync")
        return m


def write_build_plan(verilog: Path, work: Path, *, clock_mhz: float = OSCILLATOR_MHZ) -> BuildPlan:
    """Write Vivado's plan for the accelerator in the file ``verilog``, with the serial shell, to a folder.

    ``work`` gets ``top.tcl``, ``top.xdc``, the sources, and all of them in vivado.zip. Where Vivado is
    installed, ``sh build_top.sh`` builds the bitstream, in this folder or in the unpacked archive. The same
    accelerator gives the same archive. Raises InputError for a clock too slow for the MMCM or the serial
    line.
    """
    mmcm = mmcm_for(clock_mhz)
    divisor = bit_cycles(mmcm.clock_mhz * 1e6)
    plan = prepare(VCU118Platform(), verilog, clock=Clocking(mmcm), divisor=divisor)
    plan.extract(work)
    plan.archive(work / ARCHIVE)
    return plan


def build_bitstream(
    verilog: Path, work: Path, *, clock_mhz: float, progress: Progress = silent
) -> Implementation:
    """Write the build plan to ``work``, and run it where Vivado is (:func:`~rbdhw.boards.vivado.run_vivado`).

    The design runs at ``clock_mhz``, or at the next slower clock of the board's MMCM. Raises InputError for a
    clock too slow for the MMCM or the serial line.
    """
    progress("build plan for Vivado")
    plan = write_build_plan(verilog, work, clock_mhz=clock_mhz)
    made = mmcm_for(clock_mhz).clock_mhz
    ((_, *arguments),) = commands(plan)
    return run_vivado(arguments, work, made, progress)
