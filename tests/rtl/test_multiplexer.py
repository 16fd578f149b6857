"""Multiplexers in a family's cells: their Verilog, interpreted cell by cell."""

import random
import re

import pytest

from rbdhw.rtl.multiplexer import cell, tables, write_cells

CELL = re.compile(r"wire (w\d+); (\w+)(?: #\(\.INIT\(16'h(\w+)\)\))? c\d+\((.*)\);")


def interpreted(text: str, inputs: list[int], choice: int) -> int:
    """Return the module's output."""
    known = {f"i[{k} * WIDTH + k]": bit for k, bit in enumerate(inputs)}
    known |= {f"s[{k}]": choice >> k & 1 for k in range(8)} | {"1'b0": 0}
    for wire, kind, init, ports in CELL.findall(text):
        given = {
            port: known[value] for port, value in re.findall(r"\.(\w+)\(([^()]*)\)", ports) if port != "Z"
        }
        if kind == "LUT4":
            known[wire] = int(init, 16) >> sum(given[port] << k for k, port in enumerate("ABCD")) & 1
        elif kind == "PFUMX":
            known[wire] = given["ALUT"] if given["C0"] else given["BLUT"]
        else:
            assert kind == "L6MUX21"
            known[wire] = given["D1"] if given["SD"] else given["D0"]
    (out,) = re.findall(r"assign o\[k\] = (.+);", text)
    return known[out]


@pytest.mark.parametrize("size", range(2, 40))
def test_every_choice_is_its_input(size):
    text, rng = cell(size), random.Random(size)
    for choice in range(size):
        for _ in range(4):
            inputs = [rng.randrange(2) for _ in range(size)]
            assert interpreted(text, inputs, choice) == inputs[choice]


@pytest.mark.parametrize("size", range(2, 40))
def test_the_tables_are_counted(size):
    text = cell(size)
    assert text.count(" LUT4 ") == tables(size) <= max(size - 1, 1)


@pytest.mark.parametrize("size", range(2, 17))
def test_dedicated_multiplexers_follow_tables_or_each_other(size):
    """PFUMX joins two look-up tables; L6MUX21 joins two of PFUMX or two of itself, as slices are wired."""
    kinds = {wire: kind for wire, kind, _, _ in CELL.findall(cell(size))}
    for _, kind, _, ports in CELL.findall(cell(size)):
        given = dict(re.findall(r"\.(\w+)\(([^()]*)\)", ports))
        if kind == "PFUMX":
            assert {kinds.get(given["ALUT"]), kinds.get(given["BLUT"])} == {"LUT4"}
        if kind == "L6MUX21":
            assert len({kinds.get(given["D0"]), kinds.get(given["D1"])}) == 1
            assert kinds[given["D0"]] in ("PFUMX", "L6MUX21")


def test_sixteen_choices_take_eight_tables():
    assert [tables(size) for size in (1, 2, 4, 8, 16)] == [0, 1, 2, 4, 8]


def test_only_the_modules_that_are_named_are_added():
    text = "multiplexer_ecp5_3 a();\nmultiplexer_ecp5_12 b();\nmultiplexer_ecp5_3 c();\n"
    written = write_cells(text, "left")
    names = ["left_multiplexer_ecp5_3", "left_multiplexer_ecp5_12"]
    assert re.findall(r"^module (\w+)", written, re.MULTILINE) == names
    assert re.findall(r"^(\w+) \w\(\);$", written, re.MULTILINE) == [*names, names[0]]
    assert write_cells("module m; endmodule\n", "left") == "module m; endmodule\n"
