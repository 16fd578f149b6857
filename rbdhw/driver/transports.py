"""The transports to boards, by the text with which a user names one."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from rbdhw.driver.library import Library, Options, Transport
from rbdhw.errors import InputError

BAUD = 921_600
"""The bits in a second of a serial port, unless the user names others."""

_EXPECTED = {
    "serial": "serial:/dev/ttyUSB0, or with bits in a second serial:/dev/ttyUSB0,921600",
    "udp": "udp:192.168.1.50:21072, of a host and a port",
    "xdma": "xdma:/dev/xdma0, or with a channel xdma:/dev/xdma0,1",
    "uio": "uio:/dev/uio0,/dev/uio1,/dev/udmabuf0, of the DMA, the registers and the buffer; or with "
    "the folder of the buffer's attributes after them",
}


@dataclass(frozen=True)
class Device:
    """A transport of the driver's, closed until the driver opens it."""

    library: Library
    memory: ctypes.c_void_p
    made: Transport
    texts: tuple[bytes, ...]
    """What the transport in C points to."""

    def transport(self) -> Transport:
        """Return the transport."""
        return self.made

    def options(self, **chosen: int) -> Options:
        """Return options of the driver, with the time of the system."""
        return Options(**chosen)

    def close(self) -> None:
        """Free the transport, which the driver has closed."""
        self.library.free(self.memory)


def parse(text: str | None, library: Library) -> Device:
    """Return the device that a user names.

    Raises
    ------
    InputError
        There is no such transport, or a part of its name is missing.
    """
    kind, _, rest = (text or "").partition(":")
    if kind not in _EXPECTED:
        reason = "none" if text is None else f"'{text}'"
        raise InputError("transport", reason, "; ".join(_EXPECTED.values()), "name the device of the board")
    parts = [*rest.rpartition(":")[::2]] if kind == "udp" else rest.split(",")
    numbers = parts[1:] if kind != "uio" else []
    lengths = {"udp": (2,), "uio": (3, 4)}.get(kind, (1, 2))
    if len(parts) not in lengths or not all(number.isdecimal() for number in numbers) or "" in parts:
        raise InputError("transport", f"'{text}'", _EXPECTED[kind])
    made = Transport()
    is_named = kind in ("udp", "uio")  # every part is a text in C
    names = tuple(name.encode() for name in (parts if is_named else parts[:1]))
    default = BAUD if kind == "serial" else 0
    arguments = [] if is_named else [ctypes.c_uint32(int(numbers[0]) if numbers else default)]
    left_out = [None] * (lengths[-1] - len(parts)) if is_named else []
    memory = library.new(kind, ctypes.byref(made), *names, *left_out, *arguments)
    return Device(library, memory, made, names)
