"""The names that modules of Verilog may have."""

from __future__ import annotations

import re
from importlib.resources import files

from rbdhw.errors import InputError

DEFAULT_NAME = "accelerator"
"""The name of the top module of a design for which no other is asked."""

MOST_CHARACTERS = 64
"""The longest name of a top module, with which the names of all its modules begin."""

_WORDS = """
alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind bins
binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config
const constraint context continue cover covergroup coverpoint cross deassign default defparam design
disable dist do edge else end endcase endfunction endgenerate endmodule endprimitive endspecify endtable
endtask enum event eventually expect export extends extern final first_match for force foreach forever
fork forkjoin function generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins
implements implies import incdir include initial inout input inside instance int integer interconnect
interface intersect join join_any join_none large let liblist library local localparam logic longint
macromodule matches medium modport module nand negedge nettype new nexttime nmos nor noshowcancelled not
notif0 notif1 null or output package packed parameter pmos posedge primitive priority program property
protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase
randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran
rtranif0 rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint
shortreal showcancelled signed small soft solve specify specparam static string strong strong0 strong1
struct super supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time
timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union unique
unique0 unsigned until until_with untyped use uwire var vectored virtual void wait wait_order wand weak
weak0 weak1 while wildcard wire with within wor xnor xor
"""
KEYWORDS = frozenset(_WORDS.split())
"""Reserved words of Verilog and SystemVerilog."""

RESERVED = frozenset({"selftest", "top", "folded"})
"""The modules around an accelerator: its test bench, and the top modules of boards and of placements."""


def is_identifier(name: str) -> bool:
    """Return whether a name consists of letters, digits and underscores, and a letter is first."""
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) is not None


def check_name(name: str) -> None:
    """Check the name of a top module.

    Raises InputError if it is no identifier, too long, a keyword, or the name of a module that stands beside
    it.
    """
    if not is_identifier(name):
        expected = "letters, digits and underscores, and a letter first"
        raise InputError("name", f"'{name}' is no name of a Verilog module", expected)
    if len(name) > MOST_CHARACTERS:
        raise InputError("name", f"has {len(name)} characters", f"up to {MOST_CHARACTERS}")
    if name in KEYWORDS:
        raise InputError("name", f"'{name}' is a keyword of Verilog", "another name")
    if name in RESERVED or files("rbdhw").joinpath("rtl", "primitives", f"{name}.v").is_file():
        raise InputError("name", f"'{name}' is another module beside the accelerator", "another name")
