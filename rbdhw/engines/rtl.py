"""The Verilog in Verilator."""

from __future__ import annotations

from rbdhw.design.digests import check_digest
from rbdhw.engines.packets import PacketEngine
from rbdhw.model.packets import Beats
from rbdhw.sim.verilator import Disturbance, Exchange, build, exchange


class RtlEngine(PacketEngine):
    """A simulation of the folder's Verilog, which is read at each call."""

    def exchange(self, requests: Beats, surplus: int) -> Exchange:
        """Simulate the first pair of streams.

        Raises
        ------
        InputError
            The folder has another design now.
        """
        folder, digest = self.source.folder, self.source.digest
        check_digest(folder, digest)
        (outcome,) = exchange(build(folder, self.source.cache), [requests], Disturbance(surplus=surplus))
        check_digest(folder, digest)
        return outcome
