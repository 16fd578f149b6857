"""Digilent's Arty A7-100T: Vivado's build plan for an accelerator behind Ethernet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.build.run import BuildPlan
from amaranth.hdl import ClockDomain, ClockSignal, Const, Elaboratable, Instance, Module, Signal
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer
from amaranth.vendor import XilinxPlatform
from amaranth_boards.arty_a7 import ArtyA7_100Platform

from rbdhw.boards.build import TOP, Implementation, commands, fastest_below
from rbdhw.boards.shell import AcceleratorInstance
from rbdhw.boards.udp import UdpShell
from rbdhw.boards.udp_core import MODULE, PHY, udp_core
from rbdhw.boards.vivado import STOP_UNLESS_TIMED, run_vivado
from rbdhw.design.digests import content, top_module
from rbdhw.design.replacement import AXI_VERILOG
from rbdhw.progress import Progress, silent
from rbdhw.runtime.extras import check_installed

# The VCO is within the limits of DS181, speed grade -1. Clocks are it by eighths, and 25 MHz for the PHY.
OSCILLATOR_MHZ, VCO_MHZ = 100.0, 1000.0
MOST_EIGHTHS = 8 * 128

# Pointers cross between the clocks of the MII and the accelerator's in Gray code. XDC knows no loops.
CONSTRAINTS = "set_property CFGBVS VCCO [current_design]\nset_property CONFIG_VOLTAGE 3.3 [current_design]\n"
CONSTRAINTS += "".join(
    f"""create_clock -name {pin} -period 40.0 [get_ports eth_mii_0__{pin}__io]
set_max_delay -datapath_only -from [get_clocks {pin}] -to [get_clocks -of_objects [get_nets clk]] 10.0
set_max_delay -datapath_only -from [get_clocks -of_objects [get_nets clk]] -to [get_clocks {pin}] 10.0
"""
    for pin in ("rx_clk", "tx_clk")
)


class ArtyPlatform(ArtyA7_100Platform):
    """The board, with the speed grade of its device, and without a bitstream if timing fails."""

    device = "xc7a100t"
    speed = "1"

    def toolchain_prepare(self, fragment: Any, name: str, **overrides: Any) -> BuildPlan:
        """Return Vivado's plan with the board's configuration and the clocks of the MII."""
        ours = {"add_constraints": CONSTRAINTS, "script_before_bitstream": STOP_UNLESS_TIMED}
        return XilinxPlatform.toolchain_prepare(self, fragment, name, **ours, **overrides)


@dataclass(frozen=True)
class Divider:
    """The divider of the VCO that makes the clock, in eighths."""

    eighths: int

    @property
    def clock_mhz(self) -> float:
        """The output clock."""
        return 8 * VCO_MHZ / self.eighths


def divider_for(clock_mhz: float) -> Divider:
    """Return the divider of the fastest clock up to ``clock_mhz``; InputError if that is too slow."""
    dividers = [Divider(eighths) for eighths in range(16, MOST_EIGHTHS + 1)]
    return fastest_below(clock_mhz, dividers, "the MMCM of the Arty")


class ArtyTop(Elaboratable):
    """The top module: clocks, the PHY's pins, and the shell. ``led`` 0 lights after a dropped frame."""

    def __init__(self, *, divider: Divider, name: str) -> None:
        self.divider = divider
        self.name = name

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        self._add_clocks(m, platform)
        m.submodules.shell = shell = UdpShell(AcceleratorInstance(self.name))
        pins = platform.request("eth_mii", dir="-")
        for pin in PHY:
            member = getattr(shell, f"mii_{pin}")
            direction = "o" if pin in ("tx_en", "tx_data") else "i"
            m.submodules[pin] = buffer = io.Buffer(direction, getattr(pins, pin))
            m.d.comb += buffer.o.eq(member) if direction == "o" else member.eq(buffer.i)
        m.submodules.phy_reset = phy_reset = io.Buffer("o", pins.rst)
        m.submodules.led = led = io.Buffer("o", platform.request("led", 0, dir="-"))
        discarded = Signal()
        with m.If(shell.discarded):
            m.d.sync += discarded.eq(1)
        m.d.comb += [led.o.eq(discarded), phy_reset.o.eq(0)]
        return m

    def _add_clocks(self, m: Module, platform: Any) -> None:
        """Drive ``sync`` and the clock of the PHY; reset until the MMCM locks, and by the button."""
        m.domains.sync = ClockDomain("sync")
        m.submodules.oscillator = oscillator = io.Buffer("i", platform.request("clk100", dir="-"))
        m.submodules.button = button = io.Buffer("i", platform.request("rst", dir="-"))
        m.submodules.phy_clock = phy_clock = io.Buffer("o", platform.request("eth_clk25", dir="-"))
        feedback, made, locked = Signal(), Signal(), Signal()
        m.submodules.mmcm = Instance(
            "MMCME2_BASE",
            p_CLKIN1_PERIOD=1000.0 / OSCILLATOR_MHZ,
            p_CLKFBOUT_MULT_F=VCO_MHZ / OSCILLATOR_MHZ,
            p_CLKOUT0_DIVIDE_F=self.divider.eighths / 8,
            p_CLKOUT1_DIVIDE=int(VCO_MHZ / 25.0),
            i_CLKIN1=oscillator.i,
            i_CLKFBIN=feedback,
            i_PWRDWN=Const(0),
            i_RST=Const(0),
            o_CLKFBOUT=feedback,
            o_CLKOUT0=made,
            o_CLKOUT1=phy_clock.o,
            o_LOCKED=locked,
        )
        m.submodules.buffer = Instance("BUFG", i_I=made, o_O=ClockSignal("sync"))
        m.submodules.reset = ResetSynchronizer(~locked | button.i, domain="sync")


def write_build_plan(verilog: Path, work: Path, *, clock_mhz: float) -> tuple[BuildPlan, float]:
    """Write Vivado's plan for the accelerator in ``verilog`` to ``work``; return it and its clock.

    The file with its registers stands beside it.
    """
    divider, platform = divider_for(clock_mhz), ArtyPlatform()
    for file in (verilog, verilog.with_name(AXI_VERILOG)):
        platform.add_file(file.name, content(file).decode())
    platform.add_file(f"{MODULE}.v", udp_core(divider.clock_mhz))
    plan = platform.prepare(ArtyTop(divider=divider, name=top_module(verilog.parent)), TOP, emit_src=False)
    plan.extract(work)
    return plan, divider.clock_mhz


def build_bitstream(
    verilog: Path, work: Path, *, clock_mhz: float, progress: Progress = silent
) -> Implementation:
    """Write the build plan to ``work``, and run it where Vivado is (:func:`~rbdhw.boards.vivado.run_vivado`).

    The design runs at ``clock_mhz``, or at the next slower clock of the board's MMCM. Raises InputError for a
    clock that is too slow.
    """
    check_installed("liteeth")
    progress("build plan for Vivado")
    plan, made = write_build_plan(verilog, work, clock_mhz=clock_mhz)
    ((_, *arguments),) = commands(plan)
    return run_vivado(arguments, work, made, progress)
