"""The Verilog of LiteEth's MAC, ARP, ICMP, IP and UDP at an MII, with plain ports."""

from __future__ import annotations

import warnings
from typing import Any

MODULE = "udp_core"

MAC_ADDRESS = 0x02_72_62_64_68_77
"""A locally administered address."""

IP_ADDRESS = "192.168.1.50"
PORT = 21_072

GAP_CLOCKS = 26
"""The clocks of the MII from the last byte of a frame on in which none follows; the gap is 24 on the wire."""

PHY = {"rx_clk": 1, "rx_dv": 1, "rx_data": 4, "tx_clk": 1, "tx_en": 1, "tx_data": 4}
"""The pins of the MII and their widths."""

_UDP = {
    "clk": 1,
    "rst": 1,
    "rx_valid": 1,
    "rx_data": 8,
    "rx_ip": 32,
    "rx_port": 16,
    "tx_valid": 1,
    "tx_ready": 1,
    "tx_data": 8,
    "tx_last": 1,
    "tx_length": 16,
    "tx_ip": 32,
    "tx_port": 16,
}


def udp_core(clock_mhz: float) -> str:
    """Return the module :data:`MODULE` for a clock of its UDP side; needs the packages of the extra ethernet.

    ``udp_rx_data`` has the payloads of datagrams to :data:`PORT`, with the address of the sender beside each
    byte. ``udp_tx_data`` has those to send, with length and address beside each byte.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Migen, in newer versions of Python
        from litex.gen.fhdl.verilog import convert
        from migen import Record

        mii = Record(list(PHY.items()), name="mii")
        udp = Record(list(_UDP.items()), name="udp")
        core = _core(mii, udp, clock_mhz)
        text = str(convert(core, ios={*mii.flatten(), *udp.flatten()}, name=MODULE))
    # What stands around the modules has the date.
    return text[text.index("`timescale") : text.rindex("endmodule")] + "endmodule\n"


def _core(mii: Any, udp: Any, clock_mhz: float) -> Any:
    from liteeth.common import eth_phy_description
    from liteeth.core import LiteEthUDPIPCore
    from liteeth.phy.mii import LiteEthPHYMIIRX, LiteEthPHYMIITX
    from litex.gen import LiteXModule
    from litex.soc.interconnect import stream
    from migen import ClockDomain, ClockDomainsRenamer, If, Signal

    phy, core = LiteXModule(), LiteXModule()
    # Registers begin with their first values. A reset of one clock alone would part the pointers of queues.
    phy.cd_eth_rx, phy.cd_eth_tx = (ClockDomain(name, reset_less=True) for name in ("eth_rx", "eth_tx"))
    phy.comb += [phy.cd_eth_rx.clk.eq(mii.rx_clk), phy.cd_eth_tx.clk.eq(mii.tx_clk)]
    phy.tx = ClockDomainsRenamer("eth_tx")(LiteEthPHYMIITX(mii))
    phy.rx = ClockDomainsRenamer("eth_rx")(LiteEthPHYMIIRX(mii))
    phy.dw, phy.tx_clk_freq, phy.rx_clk_freq = 8, 25e6, 25e6
    # LiteEth's own gap counts clocks, of which a byte at an MII takes two.
    phy.integrated_ifg_inserter = True
    phy.sink, phy.source = stream.Endpoint(eth_phy_description(8)), phy.rx.source
    gap = Signal(max=GAP_CLOCKS + 1)
    phy.comb += If(gap == 0, phy.sink.connect(phy.tx.sink))
    phy.sync.eth_tx += If(gap != 0, gap.eq(gap - 1)).Elif(
        phy.sink.valid & phy.sink.ready & phy.sink.last, gap.eq(GAP_CLOCKS)
    )
    core.cd_sys = ClockDomain("sys", reset_less=True)
    core.phy = phy
    core.core = LiteEthUDPIPCore(phy, MAC_ADDRESS, IP_ADDRESS, clock_mhz * 1e6)
    port = core.core.udp.crossbar.get_port(PORT, dw=8)
    received, sent = port.source, port.sink
    core.comb += [
        core.cd_sys.clk.eq(udp.clk),
        received.ready.eq(1),
        udp.rx_valid.eq(received.valid),
        udp.rx_data.eq(received.data),
        udp.rx_ip.eq(received.ip_address),
        udp.rx_port.eq(received.src_port),
        sent.valid.eq(udp.tx_valid),
        sent.data.eq(udp.tx_data),
        sent.last.eq(udp.tx_last),
        sent.last_be.eq(udp.tx_last),
        sent.length.eq(udp.tx_length),
        sent.ip_address.eq(udp.tx_ip),
        sent.dst_port.eq(udp.tx_port),
        sent.src_port.eq(PORT),
        udp.tx_ready.eq(sent.ready),
    ]
    return core
