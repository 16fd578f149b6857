"""A loop at 1 kHz in C++, by the driver over a Verilated accelerator and by generated C, with its jitter."""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import rbdhw

SOURCE = Path(__file__).with_name("loop.cpp").resolve()
PROGRAMS = Path(sys.executable).parent
COMPILER = ("cc", "-std=c11", "-O2", "-D_DEFAULT_SOURCE", "-c")
WITH_REGISTERS = "accelerator_axi"  # the module of accelerator_axi.v


def build_software(robot, folder):
    """Return the program with generated C."""
    rbdhw.generate(robot, folder / "c", functions="id", target="c")
    subprocess.run([*COMPILER, "dynamics_id.c"], cwd=folder / "c", check=True)
    program = [*("c++", "-std=c++17", "-O2", "-I."), SOURCE, *("dynamics_id.o", "-lm", "-o", "loop")]
    subprocess.run(program, cwd=folder / "c", check=True)
    return folder / "c" / "loop"


def build_accelerator(robot, folder):
    """Return the program with the driver and the Verilog, which Verilator translates."""
    design, driver = folder / "accelerator", folder / "driver"
    rbdhw.generate(robot, design, functions="id", ii=4)
    subprocess.run([PROGRAMS / "rbdhw", "driver", design, "-o", driver], check=True)
    subprocess.run([*COMPILER, *(path.name for path in driver.glob("*.c"))], cwd=driver, check=True)
    verilator = shutil.which("verilator-cli", path=PROGRAMS) or "verilator"
    options = ["--cc", "--exe", "--build", "-O3", "-Wno-fatal"]
    make = ["-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O2", "-CFLAGS"]
    names = ["--top-module", WITH_REGISTERS, "--prefix", "Vtop", "-Mdir", folder / "obj_dir", "-o", "loop"]
    verilog = [design / f"{name}.v" for name in (WITH_REGISTERS, "accelerator", "primitives")]
    objects = [SOURCE, driver / "simulated.cpp", *driver.glob("*.o")]
    command = [verilator, *options, *names, *make, f"-std=c++17 -DACCELERATOR -I{driver}", *verilog, *objects]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "obj_dir" / "loop"


BUILDS = {"generated C": build_software, "driver over the Verilated accelerator": build_accelerator}


def draw(ticks, path):
    """Draw the distribution of both times of all ticks, for each program."""
    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    bins = np.geomspace(0.1, 1e4, 61)
    for k, (axes, title) in enumerate(zip(figure.subplots(1, 2), ("wake-up, late by", "call"), strict=True)):
        for name, times in ticks.items():
            axes.hist(np.clip(times[:, k] / 1e3, bins[0], bins[-1]), bins, histtype="step", label=name)
        axes.set(xscale="log", xlabel=f"{title} (µs)", ylabel="ticks")
    axes.axvline(1e3, color="black", linestyle=":", label="period")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=110)


def main(arguments=None):
    """Build and run both; return the nanoseconds of all ticks (N, 2) and the last line, by program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", type=Path, default=Path("robots/toy.urdf"))
    parser.add_argument("--ticks", type=int, default=5000)
    parser.add_argument("--output", type=Path, default=Path("build/examples/loop"))
    options = parser.parse_args(arguments)
    output, ticks, lines = options.output.resolve(), {}, {}
    for name, build in BUILDS.items():
        program, file = build(options.robot, output), output / "ticks.txt"
        run = subprocess.run([program, str(options.ticks), file], check=True, capture_output=True, text=True)
        print(f"{name}\n{run.stdout}")
        ticks[name], lines[name] = np.loadtxt(file), run.stdout.splitlines()[-1]
    draw(ticks, options.output / "loop.png")
    return ticks, lines


if __name__ == "__main__":
    main()
