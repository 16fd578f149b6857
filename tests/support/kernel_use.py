"""What kernels of CUDA take of a GPU, as nvcc reports it."""

from __future__ import annotations

import re
import struct
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rbdhw.software.compiler import run_compiler
from rbdhw.software.cuda_library import FLAGS, find_nvcc

_ENTRY = re.compile(r"Compiling entry function '(?:\w+?_)(\w+)_kernel'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_CALLS = re.compile(r"(\d+) bytes cumulative stack size")
_REGISTERS = re.compile(r"Used (\d+) registers")
_CODE = re.compile(r"\.text\.\w+?_(\w+)_kernel")


@dataclass(frozen=True)
class KernelUse:
    """What a kernel takes of a GPU: registers of a thread, bytes of its stack and spills, bytes of code.

    Functions that the kernel calls are included.
    """

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    code: int


def measure_kernels(
    sources: Mapping[str, str], architecture: str, flags: Sequence[str] = ()
) -> dict[str, KernelUse]:
    """Compile ``dynamics.cu`` for a GPU such as ``sm_90``, and return what each kernel takes, by function.

    The kernel for tasks with optional inputs has the function's name and ``_given``.
    """
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as work:
        for name, text in sources.items():
            (Path(work) / name).write_text(text, encoding="utf-8")
        binary = Path(work) / "dynamics.cubin"
        options = [f"-arch={architecture}", "-Xptxas=-v", "-cubin", "-o", str(binary)]
        command = [*find_nvcc(), *FLAGS, *flags, *options, str(Path(work) / "dynamics.cu")]
        output = run_compiler(command, "nvcc.log")
        return read_use(output, binary.read_bytes())


def read_use(output: str, binary: bytes) -> dict[str, KernelUse]:
    """Return what each kernel takes, from the output of ``ptxas -v`` and the binary."""
    sizes = {match[1]: size for name, size in _sections(binary).items() if (match := _CODE.fullmatch(name))}
    used = {}
    for name, report in zip(*[iter(_ENTRY.split(output)[1:])] * 2, strict=True):
        functions = [tuple(map(int, counts)) for counts in _SPILLS.findall(report)]  # the kernel is the first
        stores, loads = (sum(function[k] for function in functions) for k in (1, 2))
        (registers,) = _REGISTERS.findall(report)
        stack = max([functions[0][0], *map(int, _CALLS.findall(report))])
        used[name] = KernelUse(int(registers), stack, stores, loads, sizes[name])
    return used


def _sections(binary: bytes) -> dict[str, int]:
    (start,) = struct.unpack_from("<Q", binary, 0x28)
    size, count, names = struct.unpack_from("<HHH", binary, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", binary, start + k * size) for k in range(count)]
    text = headers[names][4]
    return {
        binary[text + name : binary.index(b"\0", text + name)].decode(): length
        for name, _, _, _, _, length in headers
    }
