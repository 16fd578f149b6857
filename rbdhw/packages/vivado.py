"""The interfaces of a block as Vivado's IP-XACT names them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rbdhw.packages.block import Block, Clock, Port


@dataclass(frozen=True)
class Interface:
    """A bus interface: its kind, its role, its ports by their logical names, and its parameters."""

    name: str
    library: str
    kind: str
    role: str
    ports: Mapping[str, str]
    parameters: Mapping[str, object]
    memory_map: str = ""


def interfaces(block: Block) -> Iterator[Interface]:
    """Yield the streams, the registers, the clocks, the resets and the interrupt."""
    stream = {"TDATA_NUM_BYTES": block.data_width // 8, "HAS_TLAST": 1, "HAS_TKEEP": 0}
    for name, leaves in block.streams.items():
        role = "master" if leaves else "slave"
        yield Interface(name, "interface", "axis", role, _physical(block.stream_ports(name)), stream)
    named = {f"{channel}{signal}".upper(): port for (channel, signal), port in block.register_ports.items()}
    registers, ports = block.registers, _physical(named)
    lite = {"PROTOCOL": "AXI4LITE", "DATA_WIDTH": 32}
    yield Interface(registers, "interface", "aximm", "slave", ports, lite, memory_map=registers)
    for clock in block.clocks:
        yield Interface(clock.name, "signal", "clock", "slave", {"CLK": clock.name}, _of_clock(clock))
        if clock.reset:
            level = {"POLARITY": "ACTIVE_LOW" if block.reset_is_low else "ACTIVE_HIGH"}
            yield Interface(clock.reset, "signal", "reset", "slave", {"RST": clock.reset}, level)
    level = {"SENSITIVITY": "LEVEL_HIGH"}
    yield Interface("interrupt", "signal", "interrupt", "master", {"INTERRUPT": "interrupt"}, level)


def _physical(ports: Mapping[str, Port]) -> dict[str, str]:
    return {logical: port.name for logical, port in ports.items()}


def _of_clock(clock: Clock) -> dict[str, object]:
    parameters: dict[str, object] = {"FREQ_HZ": round(clock.mhz * 1e6)}
    if clock.interfaces:
        parameters["ASSOCIATED_BUSIF"] = ":".join(clock.interfaces)
    if clock.reset:
        parameters["ASSOCIATED_RESET"] = clock.reset
    return parameters
