"""A generated design as synthesis reads it: its Verilog and its manifest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rbdhw.design.digests import MANIFEST
from rbdhw.design.manifest import read_manifest
from rbdhw.design.replacement import VERILOG
from rbdhw.errors import InputError
from rbdhw.estimate.fit import MultiplierSharing, shortages
from rbdhw.estimate.resources import Resources
from rbdhw.target import Target


@dataclass(frozen=True)
class DesignFiles:
    """A design folder, written by ``rbdhw generate``."""

    manifest: Path
    verilog: Path
    name: str
    """Its top module."""
    target: str
    """The name of the device that it was generated for."""
    clock_mhz: float
    """The clock that it was scheduled for."""
    stream_clock_mhz: float | None
    """The clock of streams and registers, if it is another one."""
    data_width: int
    """Bits of TDATA."""
    pairs: int
    """The pairs of streams."""
    request_bits: int
    """The bits of the longest request."""
    packet_bytes: dict[str, int]
    """The bytes of a task's longer packet, of each function."""
    dsp_blocks: int
    """The DSP blocks of its multipliers."""
    sharing: MultiplierSharing

    def check_target(self, needed: str, by: str) -> None:
        """Raise InputError unless the design was generated for the target that ``by`` needs."""
        if self.target != needed:
            reason = f"the design is for {self.target}"
            remedy = f"generate with --target {needed}"
            raise InputError(f"{self.manifest}, target", reason, f"{needed} for {by}", remedy)

    def check_data_width(self, needed: int, by: str) -> None:
        """Raise InputError unless the streams have the width that ``by`` needs."""
        if self.data_width != needed:
            where, remedy = f"{self.manifest}, stream.tdata_width", f"generate with --tdata {needed}"
            raise InputError(where, f"{self.data_width} bits", f"{needed} bits for {by}", remedy)

    def check_pairs(self, by: str, remedy: str) -> None:
        """Raise InputError unless there is one pair of streams, as ``by`` needs."""
        if self.pairs > 1:
            where = f"{self.manifest}, stream.pairs"
            raise InputError(where, f"{self.pairs} pairs of streams", f"one pair for {by}", remedy)

    def check_clocks(self, by: str) -> None:
        """Raise InputError unless there is one clock, as ``by`` needs."""
        if self.stream_clock_mhz is not None:
            where, reason = f"{self.manifest}, stream_clock_mhz", f"{self.stream_clock_mhz:g} MHz"
            raise InputError(where, reason, f"one clock for {by}", "generate without --stream-clock")

    def check_requests(self, most_bytes: int, by: str) -> None:
        """Raise InputError unless the longest request has at most as many bytes as ``by`` holds."""
        if self.request_bits > 8 * most_bytes:
            reason = f"a request of {-(-self.request_bits // 8):,} bytes"
            where, expected = f"{self.manifest}, stream.slots", f"{most_bytes:,} or less for {by}"
            raise InputError(where, reason, expected, "generate with a smaller --width or fewer --fext")

    def check_fit(self, counts: Resources, device: Target) -> None:
        """Raise InputError, with the options of a design that fits, unless the design fits a device.

        A count of 0 always fits.
        """
        short = shortages(counts, device)
        if not short:
            return
        if counts.dsp_blocks > device.dsp_blocks:
            options = f"--ii {self.sharing.interval_for(counts.dsp_blocks, device.dsp_blocks)} or more"
        else:
            options = "fewer --functions or a smaller --width"
        reason = f"does not fit {device.name}: {' and '.join(short)}"
        raise InputError(str(self.manifest), reason, remedy=f"generate with {options}")


def read_design(directory: Path) -> DesignFiles:
    """Return the design in a folder; InputError if the folder is not as it was written."""
    manifest = read_manifest(directory)
    products = manifest.multiplier_slots.used + manifest.shift_add_products
    return DesignFiles(
        manifest=directory / MANIFEST,
        verilog=directory / VERILOG,
        name=manifest.name,
        target=manifest.target,
        clock_mhz=manifest.clock_mhz,
        stream_clock_mhz=manifest.stream_clock_mhz,
        data_width=manifest.stream.tdata_width,
        pairs=manifest.stream.pairs,
        request_bits=sum(width for _, width in manifest.stream.header.values()) + sum(manifest.stream.slots),
        packet_bytes={
            name: max(packets.bytes_in, packets.bytes_out)
            for name, packets in manifest.interval.link.functions.items()
        },
        dsp_blocks=manifest.dsp_blocks,
        sharing=MultiplierSharing(manifest.ii, products, manifest.multipliers),
    )
