"""The Verilog writer: its text, and Yosys' proof that it is equivalent to Amaranth's netlist."""

import re
import subprocess
from pathlib import Path

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, Const, Instance, Module, Mux, Print, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdhw.boards.tools import find_tool
from rbdhw.rtl.naming import KEYWORDS
from rbdhw.rtl.verilog import LONGEST_LINE, to_verilog


class Logic(wiring.Component):
    """Every operator, with operands of different widths and signs."""

    def __init__(self) -> None:
        inputs = {"a": signed(7), "b": signed(4), "c": 5, "d": 9, "s": 3}
        outputs = {f"o{k}": 12 for k in range(27)}
        super().__init__(
            {name: In(s) for name, s in inputs.items()} | {n: Out(s) for n, s in outputs.items()}
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        a, b, c, d, s = self.a, self.b, self.c, self.d, self.s
        values = [
            a + b, a - c, a * b, c * d, -a, -c, ~a, ~d, a & b, c | d, a ^ c, a == b, a != c, a < b, c > d,
            a <= c, d >= c, a >> s, c >> s, a << s, c << s, Mux(s[0], a, b), a.any(), c.all(), d.xor(),
            Cat(a, Const(0, 2), a[-1].replicate(3)), d.bit_select(s, 4),
        ]  # fmt: skip
        m.d.comb += [getattr(self, f"o{k}").eq(value) for k, value in enumerate(values)]
        return m


class Choices(wiring.Component):
    """Conditions and cases of every kind, on wires and on registers."""

    def __init__(self) -> None:
        ports = {"n": In(3), "x": In(6), "y": In(6), "p": In(1), "q": In(1)}
        super().__init__(ports | {f"o{k}": Out(6) for k in range(8)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        n, x, y = self.n, self.x, self.y
        for domain, first in (("comb", 0), ("sync", 4)):
            chosen, wild, chain, parts = (getattr(self, f"o{first + k}") for k in range(4))
            with m.Switch(n):
                for numbers, value in (((0, 5), x), ((1,), y), ((2,), 33), ((3,), x)):
                    with m.Case(*numbers):
                        m.d[domain] += chosen.eq(value)
                with m.Case(4), m.If(self.p):
                    m.d[domain] += chosen.eq(x + 1)
            with m.Switch(n):
                with m.Case("1--"):
                    m.d[domain] += wild.eq(x)
                with m.Case("-10", "0-1"):
                    m.d[domain] += wild.eq(y)
            with m.If(self.p):
                m.d[domain] += chain.eq(x)
            with m.Elif(self.q):
                m.d[domain] += chain[2:4].eq(y)
                with m.If(n[0]):
                    m.d[domain] += chain.eq(7)
            with m.Elif(n == 6):
                m.d[domain] += chain.eq(9)
            with m.Else():
                m.d[domain] += chain[0].eq(y[3])
            m.d[domain] += parts[:2].eq(x)
            with m.If(~self.q):
                m.d[domain] += parts[1:5].eq(y)
        return m


class Storage(wiring.Component):
    """Registers with and without a reset, and memories."""

    def __init__(self) -> None:
        ports = {"x": In(signed(8)), "at": In(3), "read": In(1), "write": In(2)}
        super().__init__(ports | {"o": Out(8), "held": Out(signed(8)), "free": Out(8), "now": Out(8)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.store = memory = Memory(shape=8, depth=8, init=[3, 0, 255, 7])
        port = memory.read_port(domain="sync")
        at_once = memory.read_port(domain="comb")
        writing = memory.write_port(granularity=4)
        free = Signal(8, reset_less=True, init=5)
        m.d.sync += [self.held.eq(self.held - self.x), free.eq(self.x)]
        m.d.comb += [
            port.addr.eq(self.at),
            port.en.eq(self.read),
            at_once.addr.eq(self.at),
            writing.addr.eq(self.at),
            writing.data.eq(self.x),
            writing.en.eq(self.write),
            self.o.eq(port.data),
            self.now.eq(at_once.data),
            self.free.eq(free),
        ]
        return m


class Inside(wiring.Component):
    """A part with names that are taken, without names, and with a port without bits."""

    i: In(4)
    none: In(0)
    o: Out(4)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        reg, empty = Signal(4, name="reg"), Signal(0)
        m.d.comb += [reg.eq(self.i + 1), self.o.eq(Cat(reg[1:], reg[0]) + len(empty))]
        return m


class Parts(wiring.Component):
    """Two instances in series."""

    i: In(4)
    o: Out(4)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.wire = first = Inside()
        m.submodules.begin = second = Inside()
        table = Signal(4)
        m.d.comb += [first.i.eq(self.i), table.eq(first.o ^ 5), second.i.eq(table), self.o.eq(second.o)]
        return m


class Overlaid(wiring.Component):
    """Assignments to parts of a signal, of which the later ones take effect."""

    a: In(12)
    b: In(4)
    o: Out(12)
    p: Out(12)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.d.comb += [self.o.eq(self.a), self.o[2:6].eq(self.b), self.o[5:9].eq(self.b), self.o[8].eq(0)]
        m.d.comb += [self.p[0:4].eq(self.b), self.p[4:8].eq(self.b + 1), self.p[3:5].eq(2)]
        return m


class Nothing(wiring.Component):
    """Sums in which a part is zero."""

    x: In(signed(4))
    y: In(4)
    wide: Out(8)
    narrow: Out(2)
    plain: Out(8)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.d.comb += [
            self.wide.eq((self.x + 0).as_signed() - 0),
            self.narrow.eq(self.x + Const(0, 3)),
            self.plain.eq(self.y + 0),
        ]
        return m


class Same(wiring.Component):
    """Two ports with equal logic, and one whose logic is its input."""

    a: In(4)
    b: In(4)
    first: Out(5)
    second: Out(5)
    third: Out(1)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        for output in (self.first, self.second):
            m.d.comb += output.eq(self.a + self.b)
        m.d.comb += self.third.eq(self.a[0].any())
        return m


class Chained(wiring.Component):
    """Choices within choices, one behind the other, which leave most of what was before as it is."""

    a: In(24)
    b: In(24)
    o: Out(2)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        for k in range(24):
            with m.If(self.a[k]), m.If(self.b[k]):
                m.d.comb += self.o.eq(k % 4)
        return m


COMPONENTS = (Logic, Choices, Storage, Parts, Overlaid, Nothing, Same, Chained)


def test_verilog_is_equivalent_to_the_netlist(tmp_path: Path) -> None:
    """Yosys proves for each component that the states and the outputs of both are equal."""
    commands = []
    for component in COMPONENTS:
        name = component.__name__
        netlist = rtlil.convert(component(), name="top", emit_src=False)
        (tmp_path / f"{name}.il").write_text(netlist)
        (tmp_path / f"{name}.v").write_text(to_verilog(component(), "top"))
        for read, side in ((f"read_rtlil {name}.il", "gold"), (f"read_verilog {name}.v", "gate")):
            commands += [read, "hierarchy -top top", "proc", "flatten", "memory_map", "opt_clean"]
            commands += [f"rename top {side}", f"design -stash {side}"]
        commands += [
            "design -copy-from gold gold",
            "design -copy-from gate gate",
            "equiv_make gold gate both",
        ]
        commands += [
            "hierarchy -top both",
            "equiv_simple -undef",
            "equiv_induct -undef",
            "equiv_status -assert",
        ]
        commands += [f"log proved {name}", "design -reset"]
    (tmp_path / "prove.ys").write_text("\n".join(commands))
    done = subprocess.run(
        [find_tool("yosys"), "prove.ys"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    proved = re.findall(r"^proved (\w+)", done.stdout, re.MULTILINE)
    assert proved == [component.__name__ for component in COMPONENTS], done.stdout[-2000:] + done.stderr


@pytest.mark.parametrize("component", [Logic, Choices, Storage, Parts])
def test_no_block_waits_for_inputs_to_change(component: type[wiring.Component]) -> None:
    text = to_verilog(component())
    blocks = re.findall(r"\balways\b.*", text)
    assert all(block.startswith("always @(posedge clk)") for block in blocks)
    assert not re.search(r"\[-\d|\\|\$\d", text)


def test_text_of_a_small_module() -> None:
    class Small(wiring.Component):
        """Adds one.

        What follows the first paragraph stays in Python.
        """

        x: In(signed(3))
        enable: In(1)
        o: Out(signed(4))
        total: Out(signed(4))

        def elaborate(self, _platform: object) -> Module:
            m = Module()
            total = Signal(signed(4), init=-1)
            m.d.comb += [self.o.eq(self.x + 1), self.total.eq(total)]
            with m.If(self.enable & (self.x == 2)):
                m.d.sync += total.eq(self.x + 1)
            return m

    assert (
        to_verilog(Small(), "sum", header=("A small module.", "", "Second line."))
        == """\
// A small module.
//
// Second line.

// Adds one.
module sum (
  input wire clk,
  input wire rst,
  input wire [2:0] x,
  input wire enable,
  output wire [3:0] o,
  output reg [3:0] total = 4'b1111
);
  assign o = $signed(x) + 3'sb001;
  always @(posedge clk) begin
    if (rst) total <= 4'b1111;
    else if (enable & (x == 3'b010)) total <= o;
  end
endmodule
"""
    )


def test_repeated_logic_is_written_once() -> None:
    class Repeated(wiring.Component):
        a: In(signed(8))
        b: In(signed(8))
        first: Out(signed(16))
        second: Out(4)
        third: Out(1)

        def elaborate(self, _platform: object) -> Module:
            m = Module()
            unread = Signal(9)
            m.d.comb += [
                self.first.eq(self.a * self.b),
                self.second.eq((self.a * self.b)[3:]),
                self.third.eq((self.a * self.b)[5] ^ (self.a * self.b)[-1]),
                unread.eq(self.a - self.b),
            ]
            return m

    text = to_verilog(Repeated())
    assert text.count(" * ") == 1
    assert text.count(" - ") == 0


def test_names_of_parts_stay_within_their_wires() -> None:
    """The sum is as narrow as what is read of it; a part that has a name is then narrower, too."""

    class Named(wiring.Component):
        a: In(signed(8))
        b: In(signed(8))
        out: Out(3)
        other: Out(3)

        def elaborate(self, _platform: object) -> Module:
            m = Module()
            rounded = Signal(signed(7), name="rounded")
            m.d.comb += [
                rounded.eq((self.a + self.b)[2:]),
                self.out.eq(rounded[1:4]),
                self.other.eq(rounded[3:6]),
            ]
            return m

    text = to_verilog(Named())
    widths = {name: int(high) + 1 for high, name in re.findall(r"wire (?:signed )?\[(\d+):0\] (\w+)", text)}
    parts = [(name, int(high)) for name, high in re.findall(r"(\w+)\[(\d+)[:\]]", text)]
    assert "rounded" in widths
    assert all(high < widths[name] for name, high in parts if name in widths)
    assert widths["rounded"] == 6


def test_choices_one_behind_the_other_do_not_double_the_text() -> None:
    assert len(to_verilog(Chained())) < 100_000


def test_long_lines_are_broken_between_words() -> None:
    class Long(wiring.Component):
        o: Out(700)
        x: In(9)

        def elaborate(self, _platform: object) -> Module:
            m = Module()
            m.d.comb += self.o.eq(
                Cat(*(self.x[k % 9] ^ self.x[k % 8] for k in range(99)), Const(7**200, 600))
            )
            return m

    text = to_verilog(Long())
    assert max(map(len, text.splitlines())) <= LONGEST_LINE
    assert "\n      " in text


def test_names_are_plain_and_no_keywords() -> None:
    text = to_verilog(Parts(), "parts")
    assert re.findall(r"^module (\w+)", text, re.MULTILINE) == ["parts", "parts_inside"]
    assert "  parts_inside wire_2 (\n    .i(i),\n    .o(wire_o)\n  );\n" in text
    assert "  parts_inside begin_2 (\n    .i(table_2),\n    .o(o)\n  );\n" in text
    named = re.findall(r"\bwire (?:\[\d+:0\] )?(\w+)", text)
    assert {"table_2", "reg_full"} < set(named)
    assert not KEYWORDS & set(named)


def test_instances_of_a_device_keep_their_names() -> None:
    class Named(wiring.Component):
        i: In(2)
        o: Out(2)

        def elaborate(self, _platform: object) -> Module:
            m = Module()
            m.submodules.cell = Instance("CELL", p_MODE="FAST", p_SIZE=3, i_I=self.i, o_O=self.o)
            return m

    text = to_verilog(Named())
    expected = '  CELL #(\n    .MODE("FAST"),\n    .SIZE(3)\n  ) cell_2 (\n    .I(i),\n    .O(o)\n  );\n'
    assert expected in text


def test_the_same_component_gives_the_same_bytes() -> None:
    assert to_verilog(Choices()) == to_verilog(Choices())


class Divider(wiring.Component):
    """Logic that the writer does not support."""

    a: In(4)
    o: Out(4)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(self.a // 3)
        return m


class Chatty(wiring.Component):
    """A component that prints during simulation."""

    a: In(4)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.d.sync += Print(self.a)
        return m


@pytest.mark.parametrize(("component", "kind"), [(Divider, "$divfloor"), (Chatty, "$print")])
def test_unknown_logic_is_refused(component: type[wiring.Component], kind: str) -> None:
    expected = f"cell {kind}: unknown; expected logic that the writer of Verilog knows"
    with pytest.raises(ValueError, match=re.escape(expected)):
        to_verilog(component())


def test_transparent_memories_are_refused() -> None:
    class Transparent(wiring.Component):
        o: Out(4)

        def elaborate(self, _platform: object) -> Module:
            m = Module()
            m.submodules.memory = memory = Memory(shape=4, depth=4, init=[])
            write = memory.write_port()
            read = memory.read_port(transparent_for=(write,))
            m.d.comb += self.o.eq(read.data)
            return m

    with pytest.raises(
        ValueError, match="memory: a transparent port; expected one that reads what was there"
    ):
        to_verilog(Transparent())


def test_a_sum_with_nothing_is_no_operator() -> None:
    text = to_verilog(Nothing())
    assert " + " not in text
    assert "assign wide = {{4{x[3]}}, x};" in text
    assert "assign narrow = x[1:0];" in text
    assert "assign plain = {4'b0000, y};" in text


def test_an_assignment_without_bits_is_left_out() -> None:
    """A slice without bits, as the constants of a state that has none."""

    class Empty(wiring.Component):
        def __init__(self) -> None:
            super().__init__({"x": In(3), "y": Out(3)})

        def elaborate(self, _platform: object) -> Module:
            m = Module()
            with m.If(self.x[0]):
                m.d.sync += [self.y[2:2].eq(self.x), self.y[:2].eq(self.x)]
            return m

    assert to_verilog(Empty()).count("y[1:0] <= x[1:0];") == 1
