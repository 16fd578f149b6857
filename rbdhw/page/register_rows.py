"""The registers of ``accelerator_axi`` as a table: addresses, names, and what they hold in this design."""

from __future__ import annotations

from collections.abc import Iterator

from rbdhw.design.manifest import Manifest
from rbdhw.emit.registers import constants
from rbdhw.registers.map import (
    CONTROL,
    COUNTERS,
    IDENTITY_WORDS,
    INTERRUPTS,
    STATUS,
    Register,
    counter_address,
)

NUMBERS = {Register.INTERVAL: "cycles", Register.CORE_CLOCK: "kHz", Register.STREAM_CLOCK: "kHz"}
"""The registers that hold a number, and its unit."""

Row = tuple[str, str, str]
"""The address, or the first and the last; the register; its value or its fields with their bits."""


def register_rows(manifest: Manifest) -> list[Row]:
    """Return the rows in the order of addresses; none for a folder without registers."""
    return [*_rows(manifest, manifest.identity)] if manifest.identity else []


def _rows(manifest: Manifest, identity: str) -> Iterator[Row]:
    values = constants(manifest.data()).words
    interrupts = ", ".join(f"{name} {bit}" for bit, name in enumerate(INTERRUPTS))
    status = (f"{name} {bit}" + f"…{bit + width - 1}" * (width > 1) for name, (bit, width) in STATUS.items())
    fields = {
        Register.CONTROL: ", ".join(f"{name} {bit}" for name, bit in CONTROL.items()),
        Register.STATUS: ", ".join(status),
        Register.INTERRUPT_ENABLE: interrupts,
        Register.INTERRUPT_STATUS: interrupts,
    }
    for register in Register:
        if register is Register.IDENTITY:
            yield _addresses(register, register + 4 * (IDENTITY_WORDS - 1)), "identity", identity
        else:
            if register in fields:
                holds = f"bits: {fields[register]}"
            elif register in NUMBERS:
                holds = f"{values[register]:,} {NUMBERS[register]}"
            else:
                holds = f"0x{values[register]:08X}"
            yield _addresses(register, register), register.name.lower(), holds
    for name in COUNTERS:
        address = counter_address(name)
        yield _addresses(address, address + 4), name, "64 bits, the low word first"


def _addresses(first: int, last: int) -> str:
    return f"0x{first:03X}" if first == last else f"0x{first:03X}…0x{last:03X}"
