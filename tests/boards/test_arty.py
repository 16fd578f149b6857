"""The Arty: its plan for Vivado, and the shell behind LiteEth with an accelerator, simulated at the MII."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from amaranth.back import verilog

from rbdhw.boards.arty import divider_for, write_build_plan
from rbdhw.boards.serial_link import FrameDecoder, encode_frame
from rbdhw.boards.shell import AcceleratorInstance
from rbdhw.boards.tools import find_tool, run_tool
from rbdhw.boards.udp import UdpShell
from rbdhw.boards.udp_core import MODULE, udp_core
from rbdhw.design.folder import read, write
from rbdhw.design.replacement import AXI_VERILOG, VERILOG
from rbdhw.errors import InputError
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.robots import path
from rbdhw.verilator.simulator import _bench_environment, _cocotb_harness, make_simulator
from tests.support.block import packets_of
from tests.support.disturbed import disturbed

TASKS = 40

PORTS = """\
`verilator_config
public_flat_rw -module "ethernet" -var "*clk"
public_flat_rw -module "ethernet" -var "rst"
public_flat_rw -module "ethernet" -var "mii_*"
lint_off
"""


@pytest.mark.parametrize(
    ("asked", "eighths"), [(80.0, 100), (100.0, 80), (83.0, 97), (500.0, 16), (800.0, 16), (7.8125, 1024)]
)
def test_divider_of_the_clock(asked: float, eighths: int) -> None:
    assert divider_for(asked).eighths == eighths


def test_a_clock_that_is_too_slow_is_refused() -> None:
    with pytest.raises(
        InputError,
        match=r"clock: 7\.81 MHz is too slow for the MMCM of the Arty; expected at least 7\.8125 MHz",
    ):
        divider_for(7.81)


@pytest.mark.verify
def test_plan_has_part_pins_and_clocks(design: Path, tmp_path: Path) -> None:
    _, clock = write_build_plan(design / "accelerator.v", tmp_path, clock_mhz=80.0)
    tcl, constraints = ((tmp_path / name).read_text() for name in ("top.tcl", "top.xdc"))
    assert clock == 80.0
    assert "create_project -force -name top -part xc7a100tcsg324-1\n" in tcl
    for name in (VERILOG, AXI_VERILOG, f"{MODULE}.v", "top.v"):
        assert re.search(rf'^(add_files "|read_verilog |add_files ){name}', tcl, re.MULTILINE)
    assert tcl.index("$slack < 0") < tcl.index("write_bitstream")
    for pin, port in (("E3", "clk100_0__io"), ("F15", "eth_mii_0__rx_clk__io"), ("G18", "eth_clk25_0__io")):
        assert f'set_property LOC {pin} [get_ports "{port}"]' in constraints


@pytest.mark.verify
def test_sources_fit_together_and_the_device_has_their_primitives(design: Path, tmp_path: Path) -> None:
    write_build_plan(design / "accelerator.v", tmp_path, clock_mhz=80.0)
    script = f"read_verilog accelerator.v accelerator_axi.v {MODULE}.v top.v; synth_xilinx -family xc7"
    checks = "-top top -run begin:prepare; hierarchy -check; check -assert"
    yosys = [find_tool("yosys"), "-q", "-p", f"{script} {checks}"]
    run_tool("yosys", yosys, folder=tmp_path, log=tmp_path / "check.log")


@pytest.mark.verify
def test_plan_is_reproducible(design: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_build_plan(design / "accelerator.v", tmp_path / name, clock_mhz=80.0)
    for file in (f"{MODULE}.v", "top.v", "top.tcl", "top.xdc"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def exchange(work: Path, payloads: list[bytes], damages: list[int | None], answers: int) -> dict[str, object]:
    """Send datagrams to a board with a toy's accelerator, some of them damaged; return what came back."""
    simulator = work / "simulator"
    simulator.mkdir()
    shell = verilog.convert(UdpShell(AcceleratorInstance()), "ethernet", emit_src=False)
    accelerator = "".join((work / "design" / name).read_text() for name in (VERILOG, AXI_VERILOG))
    (simulator / "accelerator.v").write_text("\n".join([shell, udp_core(80.0), accelerator]))
    (simulator / "manifest.json").write_text(json.dumps({"name": "ethernet"}))
    harness = _cocotb_harness("ethernet")
    files = {**harness.files, "ports.vlt": PORTS.encode()}
    executable = make_simulator(simulator, None, replace(harness, files=files))
    job = {"payloads": [payload.hex() for payload in payloads], "damages": damages, "answers": answers}
    (work / "job.json").write_text(json.dumps(job))
    environment = _bench_environment(executable.name, work)
    environment["COCOTB_TEST_MODULES"] = "tests.support.ethernet_bench"
    done = subprocess.run(
        [str(executable)], cwd=work, env=environment, capture_output=True, text=True, check=False
    )
    assert (work / "results.json").exists(), done.stdout[-4000:] + done.stderr[-1000:]
    results: dict[str, object] = json.loads((work / "results.json").read_text())
    return results


@pytest.mark.verify
def test_packets_through_ethernet_are_those_of_the_model(tmp_path: Path) -> None:
    options = BuildOptions(("id",), ii=8, width=18, data_width=32, target="xc7a100t", samples=128)
    write(generate(path("toy"), options), tmp_path / "design")
    stream = disturbed(read(tmp_path / "design"), TASKS, 1)
    requests = [bytes.fromhex(text) for text in packets_of(stream.beats)]
    rng = random.Random(1)
    payloads, damages = [], []
    for request in requests:  # what is lost is sent again, as a host would
        if rng.random() < 0.3:
            payloads.append(encode_frame(request))
            damages.append(14 + 20 + 8 + rng.randrange(len(payloads[-1])))
        payloads.append(encode_frame(request))
        damages.append(None)
    results = exchange(tmp_path, payloads, damages, TASKS)
    decoder = FrameDecoder()
    line = b"".join(map(bytes.fromhex, results["payloads"]))  # type: ignore[arg-type]
    answers = list(decoder.feed(line))
    expected = [packet for each in stream.expected.values() for packet in each]
    assert decoder.discarded == 0
    assert Counter(answers) == Counter(expected)
    # The answers fill the wire: 12.5 bytes a microsecond.
    rate = float(results["wire"]) / float(results["nanoseconds"])  # type: ignore[arg-type]
    assert rate * 1e3 > 0.8 * 12.5
