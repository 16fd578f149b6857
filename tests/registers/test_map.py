"""The addresses and bits that Python knows, and the C header, against the description of the registers."""

import re
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

from rbdhw.registers import map as registers
from rbdhw.registers.export import HEADER, description, export, write_header
from rbdhw.registers.map import Constants, Register

DESCRIBED = {register.inst_name: register for register in description().registers()}


def test_every_register_is_described_at_its_address() -> None:
    known = {register.name.lower(): int(register) for register in Register if register != Register.IDENTITY}
    known |= {f"identity_{k}": Register.IDENTITY + 4 * k for k in range(registers.IDENTITY_WORDS)}
    known |= {name: registers.counter_address(name) for name in registers.COUNTERS}
    assert {name: register.absolute_address for name, register in DESCRIBED.items()} == known


def test_addresses_fit_the_port() -> None:
    assert description().size <= 1 << registers.ADDRESS_BITS


@pytest.mark.parametrize(
    ("register", "fields"),
    [
        ("control", {name: (bit, 1) for name, bit in registers.CONTROL.items()}),
        ("status", registers.STATUS),
        ("interrupt_enable", {name: (bit, 1) for bit, name in enumerate(registers.INTERRUPTS)}),
        ("interrupt_status", {name: (bit, 1) for bit, name in enumerate(registers.INTERRUPTS)}),
    ],
)
def test_every_field_is_described_at_its_bits(register: str, fields: dict[str, tuple[int, int]]) -> None:
    assert {field.inst_name: (field.low, field.width) for field in DESCRIBED[register].fields()} == fields


def test_constants_are_in_their_fields() -> None:
    words = Constants(16, 3, True, (1, 40), 4, 125_000, 250_000, "0123456789abcdef" * 4).words
    streams = {field.inst_name: field for field in DESCRIBED["streams"].fields()}
    held = [words[Register.STREAMS] >> field.low & (1 << field.width) - 1 for field in streams.values()]
    assert held == [16, 3, 1]
    assert (words[Register.FUNCTIONS], words[Register.FUNCTIONS_HIGH]) == (1 << 1, 1 << 40 - 32)
    assert [words[Register.IDENTITY + 4 * k] for k in (0, 1)] == [0x01234567, 0x89ABCDEF]


def test_page_has_every_register_and_field() -> None:
    page = (Path(__file__).parents[2] / "docs" / "registers.md").read_text()
    rows = dict(re.findall(r"^\| 0x([0-9A-F]{3})[^|]* \| `(\w+)`[^|]* \|", page, re.MULTILINE))
    known = {f"{register.absolute_address:03X}": name for name, register in DESCRIBED.items()}
    between = {f"{Register.IDENTITY + 4 * k:03X}" for k in range(1, registers.IDENTITY_WORDS)}
    assert rows == {address: name for address, name in known.items() if address not in between}
    for register in ("streams", "control", "status", "interrupt_enable"):
        row = next(line for line in page.splitlines() if f"| `{register}` |" in line)
        assert all(f"`{field.inst_name}`" in row for field in DESCRIBED[register].fields())


def test_header_is_made_of_the_description(tmp_path: Path) -> None:
    write_header(tmp_path / HEADER.name)
    assert (tmp_path / HEADER.name).read_text() == HEADER.read_text()


@pytest.mark.parametrize("compiler", [["gcc", "-std=c11"], ["g++", "-std=c++17"]])
def test_header_compiles(compiler: list[str], tmp_path: Path) -> None:
    checks = {
        "offsetof(rbdhw_registers_t, control)": int(Register.CONTROL),
        "offsetof(rbdhw_registers_t, answers)": registers.counter_address("answers"),
        "RBDHW_REGISTERS__MAGIC__VALUE_reset": registers.MAGIC,
    }
    lines = ["#include <stddef.h>", f'#include "{HEADER}"']
    lines += [f'static_assert({text} == {value}, "");' for text, value in checks.items()]
    source = tmp_path / ("use.c" if compiler[0] == "gcc" else "use.cpp")
    source.write_text("\n".join(lines) + "\n")
    subprocess.run([*compiler, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", source], check=True)


def test_all_descriptions_are_made(tmp_path: Path) -> None:
    export(description({"INTERVAL": 7}), tmp_path)
    assert "|   r  | 0x7 |" in (tmp_path / "registers.md").read_text()
    assert "<ipxact:value>'h7</ipxact:value>" in (tmp_path / "registers.xml").read_text()
    assert (tmp_path / "html" / "index.html").exists()
    assert (tmp_path / "python" / "rbdhw_registers" / "reg_model" / "rbdhw_registers.py").exists()


def test_classes_in_python_reach_the_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export(description(), tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "python")
    model = import_module("rbdhw_registers.reg_model.rbdhw_registers")
    words = {int(Register.CONTROL): 1, int(Register.STATUS): 5 << 16 | 2}

    def read(addr: int, **_: int) -> int:
        return words[addr]

    def write(addr: int, data: int, **_: int) -> None:
        words[addr] = data

    callbacks = import_module("rbdhw_registers.lib").NormalCallbackSet(write, read)
    block = model.rbdhw_registers_cls(callbacks=callbacks)
    fields = {"idle": 0, "resetting": 1, "dropping": 0, "in_flight": 5}
    assert block.status.read_fields() == fields
    assert block.control.enable.read() == 1
    block.interrupt_enable.write(2)
    assert words[Register.INTERRUPT_ENABLE] == 2
