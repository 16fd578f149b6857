"""Conservation and order of packets in formal proofs, told by one marked packet among equal ones.

A block that does not look at the mark treats all packets alike (Wolper 1986). So if the marked one leaves
exactly when those before it have left, and nothing leaves that did not enter, then no packet is lost, doubled
or overtaken.
"""

from amaranth.hdl import Assert, Mux, Signal


class Ledger:
    """The packets inside a block, of one kind.

    ``used`` is whether the marked packet has entered, ``waits`` whether it is inside, with ``ahead`` others
    before it, and ``expected`` whether it is the next one to leave. The bit ``mark`` belongs to the packet
    that enters.
    """

    def __init__(self, m, name, most, mark, enters, leaves):
        self.inside = Signal(range(most + 1), name=f"inside_{name}")
        self.used, self.expected = Signal(name=f"used_{name}"), Signal(name=f"expected_{name}")
        ahead, waits = Signal(range(most + 1), name=f"ahead_{name}"), Signal(name=f"waits_{name}")
        self.waits, self.ahead = waits, ahead
        m.d.comb += [
            self.expected.eq(waits & (ahead == 0)),
            Assert(~leaves | (self.inside != 0)),
            Assert(~enters | leaves | (self.inside != most)),
        ]
        m.d.sync += self.inside.eq(self.inside + enters - leaves)
        with m.If(leaves & waits):
            m.d.sync += [waits.eq(~self.expected), ahead.eq(Mux(ahead == 0, 0, ahead - 1))]
        with m.If(enters & mark):
            m.d.sync += [self.used.eq(1), waits.eq(1), ahead.eq(self.inside - leaves)]


def assert_kept(m, source):
    """Assert that a stream keeps what it offers until it is taken, or a reset."""
    waited, before = Signal(), Signal.like(source.p.as_value())
    m.d.sync += [waited.eq(source.valid & ~source.ready), before.eq(source.p.as_value())]
    with m.If(waited):
        m.d.comb += Assert(source.valid & (source.p.as_value() == before))


def assert_moves(m, stuck, most, tick=1):
    """Assert that a condition does not hold for more than so many cycles on end, of those that tick."""
    count = Signal(range(most + 2), name="stuck")
    with m.If(tick):
        m.d.sync += count.eq(Mux(stuck, count + 1, 0))
    m.d.comb += Assert(count <= most)
