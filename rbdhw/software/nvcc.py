"""NVIDIA's compiler of CUDA: its path, and what its kernels take of a GPU."""

from __future__ import annotations

import re
import shutil
import struct
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from rbdhw.errors import InputError
from rbdhw.software.compiler import command_in, run_compiler

VARIABLE = "NVCC"
"""The environment variable that sets the command."""

IN_WHEEL = Path("cu13", "bin", "nvcc")
"""The program in the wheels' package ``nvidia``."""

FLAGS = ("-O3", "-std=c++17")
"""Options of every compilation. Not among them is --use_fast_math, whose sines are wrong for large angles."""

_ENTRY = re.compile(r"Compiling entry function '(?:\w+?_)(\w+)_kernel'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_CALLS = re.compile(r"(\d+) bytes cumulative stack size")
_REGISTERS = re.compile(r"Used (\d+) registers")
_CODE = re.compile(r"\.text\.\w+?_(\w+)_kernel")


def find_nvcc() -> tuple[str, ...]:
    """Return the command of nvcc: the variable NVCC, the wheel's program, or the one on PATH.

    Raises
    ------
    InputError
        There is none.
    """
    command = command_in(VARIABLE, "the path of nvcc")
    if command:
        return command
    package = find_spec("nvidia")
    folders = package.submodule_search_locations if package is not None else None
    for name in (*(str(folder / IN_WHEEL) for folder in map(Path, folders or ())), "nvcc"):
        path = shutil.which(name)
        if path is not None:
            return (path,)
    remedy = "run: pip install '.[cuda]', or use engine golden"
    raise InputError("nvcc", "not installed", "NVIDIA's compiler of CUDA 12 or later", remedy)


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
    """Compile ``dynamics.cu`` for a GPU and return what each kernel takes, by function.

    The kernel for tasks with optional inputs has the function's name and ``_given``.

    Parameters
    ----------
    sources
        The texts of :data:`rbdhw.software.cuda.CUDA_FILES` by name.
    architecture
        The GPU's architecture, such as ``sm_90``.
    flags
        Further options of nvcc.

    Raises
    ------
    InputError
        nvcc is not installed.
    CompilerError
        It fails.
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
    """Return the sizes of the sections of an ELF file of 64 bits."""
    (start,) = struct.unpack_from("<Q", binary, 0x28)
    size, count, names = struct.unpack_from("<HHH", binary, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", binary, start + k * size) for k in range(count)]
    text = headers[names][4]
    return {
        binary[text + name : binary.index(b"\0", text + name)].decode(): length
        for name, _, _, _, _, length in headers
    }
