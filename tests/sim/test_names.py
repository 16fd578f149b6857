"""Designs of different names stand in one simulation and in one synthesis."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import rbdhw
from rbdhw.boards.tools import find_tool
from rbdhw.design.folder import Design, read, write
from rbdhw.domain.sampling import sample
from rbdhw.model.packets import Beats, encode, merge, requests, responses
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.robots import path
from rbdhw.verilator import bulk
from rbdhw.verilator.simulator import Disturbance
from rbdhw.verilator.tools import find_verilator

BUILDS = {"left_arm": "id", "right": "m"}
"""The function of each design. Both are arrays on ECP5, with modules of the family's cells."""

FILES = ("accelerator", "primitives")
PORTS = ("tdata", "tvalid", "tready", "tlast")


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the folder of a build."""

    @cache
    def made(name: str) -> Path:
        folder = tmp_path_factory.mktemp(name) / "design"
        sizes = {"width": 18, "data_width": 32, "ii": 16, "samples": 256}
        options = BuildOptions((BUILDS[name],), target="ecp5-85", core="array", name=name, **sizes)
        write(generate(path("toy"), options), folder)
        return folder

    return made


@pytest.fixture(scope="module")
def folders(folder_of: Callable[[str], Path]) -> dict[str, Path]:
    return {name: folder_of(name) for name in BUILDS}


def both(names: list[str]) -> str:
    """Return a module with a pair of streams for each design."""
    ports, instances = ["input clk, input rst"], []
    for k, name in enumerate(names):
        ports += [
            f"input [31:0] s_axis_{k}_tdata, input s_axis_{k}_tvalid, output s_axis_{k}_tready",
            f"input s_axis_{k}_tlast, input m_axis_{k}_tready, output [31:0] m_axis_{k}_tdata",
            f"output m_axis_{k}_tvalid, output m_axis_{k}_tlast",
        ]
        ways = ", ".join(f".{way}_axis_{port}({way}_axis_{k}_{port})" for way in "sm" for port in PORTS)
        instances.append(f"  {name} {name}_of_both (.clk(clk), .rst(rst), {ways});")
    return "\n".join([f"module both ({', '.join(ports)});", *instances, "endmodule", ""])


def exchanged(design: Design) -> tuple[Beats, Beats]:
    """Return the requests of some tasks, and the model's answers."""
    (function,), places = design.functions, np.arange(40)
    words = encode(design, function, sample(design.robot, design.domain, 40, np.random.default_rng(2)))
    asked = requests(design, function, places, words)
    answered = responses(design, function, places, *respond(design, function, words))
    return merge({0: places}, {0: asked}), merge({0: places}, {0: answered})


@pytest.mark.verify
def test_two_designs_are_simulated_together(folders, tmp_path):
    texts = [both(list(folders)), *((folder / "accelerator.v").read_text() for folder in folders.values())]
    (tmp_path / "accelerator.v").write_text("\n".join(texts))
    (tmp_path / "manifest.json").write_text('{"name": "both"}')
    sent, expected = zip(*(exchanged(read(folder)) for folder in folders.values()), strict=True)
    for came, right in zip(bulk.exchange(bulk.build(tmp_path), sent, Disturbance()), expected, strict=True):
        assert came.violations == 0
        np.testing.assert_array_equal(came.responses.data, right.data)
        np.testing.assert_array_equal(came.responses.last, right.last)


@pytest.fixture
def sources(folders, tmp_path) -> list[str]:
    """Copy the sources of both designs to the test's folder; return their names."""
    (tmp_path / "both.v").write_text(both(list(folders)))
    files = [(folder / f"{file}.v", f"{name}_{file}.v") for name, folder in folders.items() for file in FILES]
    return ["both.v", *(shutil.copy(source, tmp_path / copy).name for source, copy in files)]


def run(folder: Path, *command: str, **variables: str) -> None:
    """Run a tool, which must succeed."""
    done = subprocess.run(
        command, cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.verify
def test_yosys_reads_two_designs_together(sources, tmp_path):
    cells = "read_verilog -lib +/ecp5/cells_sim.v +/ecp5/cells_bb.v"
    verilog = " ".join(name for name in sources if "primitives" not in name)
    script = f"{cells}; read_verilog {verilog}; hierarchy -check -top both; proc; check -assert"
    run(tmp_path, find_tool("yosys"), "-q", "-p", script)


@pytest.mark.verify
def test_verilator_reads_two_designs_and_their_models_together(sources, tmp_path):
    verilator = find_verilator()
    options = ("--lint-only", "-Wno-lint", "-Wno-style", "-Werror-MODDUP", "--top-module", "both")
    run(tmp_path, str(verilator), *options, *sources, VERILATOR_ROOT=str(verilator.parent.parent))


@pytest.mark.verify
def test_a_named_design_answers_through_its_verilog(folders):
    q = np.zeros((2, 2))
    rtl, model = (rbdhw.load(folders["right"], engine=engine).m(q) for engine in ("rtl", "model"))
    np.testing.assert_array_equal(rtl.M, model.M)


def test_the_files_beside_the_verilog_have_the_name(folder_of):
    folder = folder_of("left_arm")
    assert read(folder).name == "left_arm"
    assert "\n  left_arm dut (\n" in (folder / "selftest.v").read_text()
    assert "--top-module left_arm_axi " in (folder / "accelerator.vlt").read_text()
    modules = re.findall(r"^module (\w+)", (folder / "accelerator.v").read_text(), re.MULTILINE)
    assert modules[0] == "left_arm"
    assert all(name.startswith("left_arm_") for name in modules[1:])
