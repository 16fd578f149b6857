"""The driver in C, compiled for a design and called from Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.design.folder import Design
from rbdhw.driver.description import DESIGN_HEADER, arrays_in_order, design_header
from rbdhw.errors import DriverError
from rbdhw.software.calls import addresses
from rbdhw.software.compiler import compile_library, load_library

CORE = ("driver.c", "calls.c", "exchange.c", "packets.c", "registers.c")
"""The sources of the driver without transports."""

LINKS = ("files.c", "frames.c", "serial.c", "udp.c", "uio.c", "xdma.c")
"""The sources of transports to boards."""

HEADERS = (
    *("rbdhw.h", "rbdhw_design.h", "rbdhw_transport.h", "rbdhw_links.h"),
    *("exchange.h", "files.h", "frames.h", "packets.h", "slots.h"),
)

_PYTHON, _REGISTERS = "python.c", "registers.h"

OK, PENDING = 0, 3
"""Some of the codes of ``rbdhw_transport.h``."""

NO_SUCH_DEVICE = (4, 5, 8, 9, 11)
"""The codes of a device that is absent, in use, no accelerator, or another one; and of a wrong argument."""

EXTENDED = 1
"""The option of a call."""

FLAGS = ("-O3", "-D_DEFAULT_SOURCE", "-ffp-contract=off")
"""The options of the compiler."""


class Transport(ctypes.Structure):
    """``struct rbdhw_transport``."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("open", "close", "read", "write", "send", "receive", "self")),
        ("request_room", ctypes.c_size_t),
        ("answer_room", ctypes.c_size_t),
    )


class Options(ctypes.Structure):
    """``struct rbdhw_options``; what is zero has a default."""

    _fields_ = (
        ("window", ctypes.c_uint32),
        ("attempts", ctypes.c_uint32),
        ("timeout", ctypes.c_uint64),
        ("quiet", ctypes.c_uint64),
        ("clock", ctypes.c_void_p),
        ("of_clock", ctypes.c_void_p),
        ("first_tag", ctypes.c_uint32),
    )


COUNTS = (
    *("tasks", "retries", "timeouts", "damaged", "strays", "reloads"),
    *("outside", "overflow", "not_finite", "sent", "received", "busy"),
)
"""The fields of statistics."""


class Statistics(ctypes.Structure):
    """``struct rbdhw_statistics``."""

    _fields_ = tuple((name, ctypes.c_uint64) for name in COUNTS)


class _Data(ctypes.Structure):
    """``struct rbdhw_data``."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("inputs", "outputs", "words", "results", "status"))
    sides: tuple[object, ...]
    """The tables of addresses, which have to stay as long as the structure."""


@dataclass(frozen=True)
class Data:
    """The numbers of tasks: arrays in the function's order, or words (N, words); and the status (N,).

    None stands for an array that is zero, or that is not written.
    """

    inputs: Sequence[NDArray[np.float64] | None] = ()
    outputs: Sequence[NDArray[np.float64] | None] = ()
    words: NDArray[np.int64] | None = None
    results: NDArray[np.int64] | None = None
    status: NDArray[np.uint8] | None = None

    def structure(self) -> _Data:
        """Return the addresses for C."""
        sides = tuple(
            (ctypes.c_void_p * (len(side) + 1))(*addresses(side)) for side in (self.inputs, self.outputs)
        )
        made = _Data(*(ctypes.cast(side, ctypes.c_void_p) for side in sides))
        made.sides = sides
        made.words, made.results, made.status = addresses([self.words, self.results, self.status])
        return made


def remarks(design: Design) -> list[str]:
    """Return what the driver does not use of a design."""
    streams = design.interface.streams
    return [f"the driver uses the first of {streams} pairs of streams"] if streams > 1 else []


def sources() -> dict[str, str]:
    """Return the texts of the driver's files by name."""
    folder, registers = files("rbdhw.driver"), files("rbdhw.registers")
    texts = {name: folder.joinpath(name).read_text(encoding="utf-8") for name in (*CORE, *LINKS, *HEADERS)}
    return texts | {_REGISTERS: registers.joinpath(_REGISTERS).read_text(encoding="utf-8")}


class Library:
    """The driver, compiled for a design.

    Raises
    ------
    InputError
        There is no compiler.
    CompilerError
        It fails.
    """

    def __init__(self, design: Design) -> None:
        self._design = design
        folder = files("rbdhw.driver")
        texts = sources() | {DESIGN_HEADER: design_header(design)}
        texts[_PYTHON] = folder.joinpath(_PYTHON).read_text(encoding="utf-8")
        compiled = [*CORE, *LINKS, _PYTHON]
        self._library = load_library(compile_library(texts, compiled, FLAGS, what="the driver, once"))
        self._library.rbdhw_text.restype = ctypes.c_char_p
        self._library.rbdhw_described.restype = ctypes.c_void_p
        self.described = ctypes.c_void_p(self._library.rbdhw_described())
        """The description of the design, in C."""
        self._library.rbdhw_statistics.restype = ctypes.POINTER(Statistics)
        self.numbers = {words.name: k for k, words in enumerate(design.interface.functions)}
        self.arrays = cache(partial(arrays_in_order, design))
        """Returns the inputs and results of a function in the driver's order."""

    def new(self, transport: str, *arguments: object) -> ctypes.c_void_p:
        """Return a new transport to a board, whose structure is the first argument."""
        create = getattr(self._library, f"rbdhw_new_{transport}")
        create.restype = ctypes.c_void_p
        return ctypes.c_void_p(create(*arguments))

    def free(self, transport: ctypes.c_void_p) -> None:
        """Free a transport to a board."""
        self._library.rbdhw_free(transport)

    def text(self, code: int) -> str:
        """Return what a code says."""
        return str(self._library.rbdhw_text(code).decode())

    def open(self, transport: Transport, options: Options, where: str) -> Driver:
        """Open a transport, of which errors speak as ``where``.

        Raises
        ------
        DriverError
            There is no such device, or it does not have this design.
        """
        handle = ctypes.c_void_p()
        arguments = ctypes.byref(handle), self.described, ctypes.byref(transport), ctypes.byref(options)
        self.check(self._library.rbdhw_open(*arguments), where)
        return Driver(self, handle, where)

    def check(self, code: int, where: str) -> None:
        """Raise DriverError for a code other than RBDHW_OK."""
        if code != OK:
            raise DriverError(code, where, self.text(code))

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function of the driver."""
        return getattr(self._library, f"rbdhw_{name}")  # type: ignore[no-any-return]


class Driver:
    """An open transport. One thread at a time may use it."""

    def __init__(self, library: Library, handle: ctypes.c_void_p, where: str) -> None:
        self._library, self.handle, self._where = library, handle, where

    def close(self) -> None:
        """Close the transport; nothing else may be called after it."""
        self._library.function("close")(self.handle)
        self.handle = ctypes.c_void_p()

    def run(self, function: str, options: int, tasks: int, data: Data) -> None:
        """Compute tasks."""
        number = self._library.numbers[function]
        self._call("run", number, options, ctypes.c_size_t(tasks), ctypes.byref(data.structure()))

    def submit(self, function: str, options: int, data: Data) -> int:
        """Send one task and return its ticket."""
        ticket = ctypes.c_uint32()
        number = self._library.numbers[function]
        self._call("submit", number, options, ctypes.byref(data.structure()), ctypes.byref(ticket))
        return ticket.value

    def collect(self, ticket: int, wait_ns: int, data: Data | None) -> None:
        """Take the answer of a ticket; None drops it."""
        structure = None if data is None else ctypes.byref(data.structure())
        self._call("collect", ctypes.c_uint32(ticket), ctypes.c_uint64(wait_ns), structure)

    def load_parameters(self, number: int, data: Data) -> None:
        """Load inertial parameters into a set."""
        self._call("load_parameters", number, ctypes.byref(data.structure()))

    def load_rows(self, command: str, packets: int, data: Data) -> None:
        """Load the rows of rollouts from the first step on."""
        number = self._library.numbers[command]
        self._call("load_rows", number, ctypes.c_size_t(packets), ctypes.byref(data.structure()))

    def rollout(self, options: int, rollouts: int, steps: int, every: int, data: Data) -> None:
        """Compute rollouts with the rows that were loaded."""
        arguments = options, ctypes.c_size_t(rollouts), steps, every, ctypes.byref(data.structure())
        self._call("rollout", *arguments)

    @property
    def statistics(self) -> Mapping[str, int]:
        """The counts since the transport was opened."""
        counts = self._library.function("statistics")(self.handle).contents
        return {name: getattr(counts, name) for name in COUNTS}

    def _call(self, name: str, *arguments: object) -> None:
        self._library.check(self._library.function(name)(self.handle, *arguments), self._where)
