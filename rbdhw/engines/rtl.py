"""The Verilog in Verilator."""

from __future__ import annotations

from functools import partial

from rbdhw.design.digests import check_digest
from rbdhw.engines.packets import Connection, PacketEngine
from rbdhw.verilator import bulk, simulator


class RtlEngine(PacketEngine):
    """A simulation of the folder's Verilog, which is read at each call."""

    def connect(self, *, in_bulk: bool = True) -> Connection:
        """Build the simulator, with the bench in C++, whose simulations may run at once, or in cocotb."""
        folder, digest = self.source.folder, self.source.digest
        bench = bulk if in_bulk else simulator
        check_digest(folder, digest)
        executable = bench.build(folder, self.source.cache)
        check_digest(folder, digest)
        return partial(bench.exchange, executable)
