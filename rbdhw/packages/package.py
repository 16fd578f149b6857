"""Write a design as a package: for FuseSoC, Vivado, Vitis or LiteX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from rbdhw.errors import InputError, unknown
from rbdhw.packages.block import CONSTRAINTS, Block, Clock, read_block, sources
from rbdhw.packages.vivado import interfaces
from rbdhw.runtime.aside import aside, remove
from rbdhw.runtime.build_folder import make_build_folder
from rbdhw.runtime.files import WRITABLE, check_folder
from rbdhw.runtime.templates import fill

VENDOR, LIBRARY = "rbdhw", "accelerators"

_USES = {"synthesis": "synthesis", "behavioralsimulation": "simulation"}
"""The views of Vivado's IP by the ends of their names."""

_FAMILIES = ("zynquplus", "virtexuplus", "kintexuplus", "zynq", "artix7", "kintex7")


def package(directory: Path, form: str, output: Path | None = None) -> Path:
    """Write the design in a folder as a package of a format, and return the package's folder.

    Without ``output`` it is a build folder of the design, which the next package of this format replaces.
    Raises InputError for an unknown format, a folder without an accelerator, or an output that is in use.
    """
    if form not in FORMATS:
        raise unknown("format", form, tuple(FORMATS))
    files = FORMATS[form](read_block(directory)[0])
    if output is None:
        folder = make_build_folder(directory, form)
        write_files(files, folder)
        return folder
    check_folder(output, "to write a package to")
    if output.exists() and any(output.iterdir()):
        raise InputError(str(output), "is not empty", "a new or an empty folder", "use another folder")
    made = aside(output.absolute().parent)
    try:
        output.absolute().parent.mkdir(parents=True, exist_ok=True)
        write_files(files, made)
        made.rename(output)
    except OSError as error:
        raise InputError(str(output), f"cannot be written ({error.strerror})", WRITABLE) from error
    finally:
        remove(made)
    return output


def write_files(files: Mapping[str, str], folder: Path) -> None:
    """Write files by their paths in a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def fusesoc(block: Block) -> dict[str, str]:
    """Return a core for FuseSoC, with its self-test in Verilator."""
    (constraints,) = (name for name in CONSTRAINTS if name in block.files)
    return {**block.files, f"{block.module}.core": _fill("fusesoc.core", block, constraints=constraints)}


def vivado(block: Block) -> dict[str, str]:
    """Return an IP for Vivado's catalogue: IP-XACT of 2009, as Vivado reads it."""
    return _ip(block, sources(block))


def _ip(block: Block, verilog: Mapping[str, str]) -> dict[str, str]:
    files = {**verilog}
    if len(block.clocks) > 1:
        period = min(1e3 / clock.mhz for clock in block.clocks)
        files["crossing.xdc"] = _fill("crossing.xdc", block, period=period)
    views = {f"xilinx_anylanguage{name}": use for name, use in _USES.items()}
    text = _fill(
        "component.xml", block, interfaces=interfaces(block), names=files, views=views, families=_FAMILIES
    )
    return {**files, "component.xml": text}


def vitis(block: Block) -> dict[str, str]:
    """Return a kernel for Vitis: the IP of a wrapper with Vitis' names, its description, and the script."""
    wrapper = _wrapper(block)
    text = _fill("kernel.v", wrapper, inner=block, zip=zip)
    ip = _ip(wrapper, {**sources(block), f"{wrapper.module}.v": text})
    return {
        **{f"ip/{path}": content for path, content in ip.items()},
        "kernel.xml": _fill("kernel.xml", wrapper),
        "package_xo.tcl": _fill("package_xo.tcl", wrapper),
    }


def _wrapper(block: Block) -> Block:
    """Return the block with the clocks, the reset and the registers as Vitis names them."""
    names = ("ap_clk", "ap_clk_2")
    clocks = [replace(clock, name=name) for name, clock in zip(names, block.clocks, strict=False)]
    interfaces = (*block.streams, "s_axi_control")
    clocks[0] = Clock("ap_clk", block.clocks[0].mhz, interfaces, "ap_rst_n")
    return replace(
        block,
        module=f"{block.module}_kernel",
        clocks=tuple(clocks),
        registers="s_axi_control",
        reset_is_low=True,
    )


def litex(block: Block) -> dict[str, str]:
    """Return a module for LiteX, in Python, with the Verilog beside it."""
    return {**sources(block), f"{block.module}.py": _fill("litex.py", block, sources=list(sources(block)))}


FORMATS: Mapping[str, Callable[[Block], dict[str, str]]] = {
    "fusesoc": fusesoc,
    "vivado": vivado,
    "vitis": vitis,
    "litex": litex,
}


def ip_version(block: Block) -> str:
    """Return the version in the two numbers that Vivado takes."""
    return ".".join(block.version.split(".")[:2])


def _fill(template: str, block: Block, **values: object) -> str:
    named = {"block": block, "vendor": VENDOR, "library": LIBRARY, "version": ip_version(block)}
    return fill("rbdhw.packages", template, **named, **values)
