"""An iteration of optimal control in C beside Crocoddyl's FDDP in C++, on one core."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import Row, Rows, robot_label
from rbdhw import golden
from rbdhw.boards.tools import ToolError
from rbdhw.front.solve import Problems
from rbdhw.frontend.read import load_mounted
from rbdhw.golden.kinematics import placements
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.rollouts.draw_means import draw_mean
from rbdhw.model.traffic import traffic
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate_software, plan_build
from rbdhw.robot.model import Robot
from rbdhw.robot.mounting import Mounting
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled
from rbdhw.software.exact_library import ExactMeans
from rbdhw.software.float_library import FloatLibrary
from rbdhw.software.folder import Software
from rbdhw.software.solver_library import Sampling, SolverLibrary

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / "build" / "crocoddyl"
"""The environment of Crocoddyl, which needs another Pinocchio than the rest."""

STEPS, TIME_STEP, BATCH = 64, 0.01, 16
PROBLEMS = (("iiwa14", "fixed", "iiwa_link_7"), ("hyq", "floating", ""))
"""Robots, their bases, and frames whose positions cost something."""

INTERVALS = {"hyq": 8}
"""The cycles between steps on an accelerator, by robot; of others a cycle."""

ROUNDS = 1000

SAMPLES, HOLDS, BITS = 1024, (1, 8), 24
"""The samples of a mean, the steps for which they are held, and the bits of an accelerator that takes it."""

PARTS = ("derivatives", "backward", "forward")
"""The parts of an iteration."""

LINK = 15.75
"""The bandwidth of PCI Express 3.0 with 16 lanes each way, in GB/s."""

Arrays = Mapping[str, NDArray[np.float64]]


def problem_of(robot: Robot, seed: int = 0) -> dict[str, NDArray[np.float64]]:
    """Return a problem: to move joints by up to 0.3 rad, or a frame to where it would be then."""
    rng = np.random.default_rng(seed)
    nq, nv = robot.nq, robot.nv
    simple = slice(7, nq) if robot.floats else slice(0, nq)
    q = np.zeros(nq)
    q[6 if robot.floats else 0] = float(robot.floats)
    q[simple] = rng.uniform(-0.5, 0.5, nq - simple.start)
    goal = q.copy()
    goal[simple] += rng.uniform(-0.3, 0.3, nq - simple.start)
    still = np.zeros((1, nv))
    rest = golden.evaluate(robot, "id", {"q": q[np.newaxis], "v": still, "a": still})["tau"][0]
    weights = TIME_STEP * np.tile(np.repeat([1.0, 0.1], nv), (STEPS + 1, 1))
    weights[-1] /= TIME_STEP
    problem = {
        "q": q,
        "v": np.zeros(nv),
        "h": np.array(TIME_STEP),
        "x_ref": np.tile(np.hstack([goal, np.zeros(nv)]), (STEPS + 1, 1)),
        "Q": weights,
        "R": np.full((STEPS, nv), 1e-3 * TIME_STEP),
        "tau_ref": np.tile(rest, (STEPS, 1)),
        "tau": np.tile(rest, (STEPS, 1)),
    }
    if robot.frames:
        placement = placements(robot, goal[np.newaxis])
        problem["placement_ref"] = np.repeat(placement, STEPS + 1, axis=0)
        problem["position_weight"] = np.full((STEPS + 1, 1, 3), 10.0 * TIME_STEP)
    return problem


def software_of_problem(name: str, base: str, frame: str) -> Software:
    """Return the solver of one of :data:`PROBLEMS` in C."""
    mounting = Mounting(base, frames=(frame,) if frame else ())
    options = BuildOptions(("solve",), target="c", knots=STEPS, alphas=1, mounting=mounting)
    return generate_software(bundled()[name], options)


def software_of_mean() -> Software:
    """Return the mean of samples of the arm in C."""
    return generate_software(bundled()[PROBLEMS[0][0]], BuildOptions(("mppi",), target="c", knots=STEPS))


def software_of_account(name: str, base: str, frame: str) -> Software:
    """Return the solver of one of :data:`PROBLEMS` in C, with the derivatives of a step."""
    mounting = Mounting(base, frames=(frame,) if frame else ())
    options = BuildOptions(("solve", "dstep"), target="c", knots=STEPS, alphas=1, mounting=mounting)
    return generate_software(bundled()[name], options)


def solver_rows() -> Rows:
    """Return the time of an iteration for a problem, alone and in a batch, and how minimisers differ."""
    return [solver_row(*problem) for problem in PROBLEMS]


def solver_row(name: str, base: str, frame: str) -> Row:
    """Return the row of a robot, a base, and a frame whose position costs something, or an empty name."""
    software = software_of_problem(name, base, frame)
    problem = problem_of(software.robot)
    theirs = by_crocoddyl(bundled()[name], base == "floating", frame, problem)
    row = {"robot": name, "base": base, "Crocoddyl (µs)": 1e6 * float(theirs["seconds"])}
    for number in ("float64", "float32"):
        library = SolverLibrary(software.sources, software.robot, STEPS, number)
        for count in (1, BATCH):
            row[f"{number}, {count} (µs)"] = 1e6 * _iteration(software, library, problem, count)
    if base == "fixed":
        row["difference"] = _difference(software, problem, theirs["states"])
    return row


def solver_layout(rows: Rows) -> Rows:
    """Return a line for each robot: times, and ratios to Crocoddyl."""
    shown = []
    for row in rows:
        line = {"": robot_label(row)}
        line["Crocoddyl FDDP"] = f"{row['Crocoddyl (µs)']:.0f} µs"
        for number, title in (("float64", "C double"), ("float32", "C float")):
            for count, batch in ((1, ""), (BATCH, f", a problem of {BATCH}")):
                microseconds = row[f"{number}, {count} (µs)"]
                ratio = row["Crocoddyl (µs)"] / microseconds
                line[title + batch] = f"{microseconds:.0f} µs ({ratio:.0f}×)"
        shown.append(line)
    return shown


def model_of_mean(hold: int) -> AcceleratorModel:
    """Return an accelerator that takes the mean of samples of the arm, held for some steps."""
    options = BuildOptions(("mppi",), width=BITS, horizon=STEPS, hold=hold, samples=1024)
    return plan_build(load_urdf(bundled()[PROBLEMS[0][0]]), options).accelerator


def mppi_rows() -> Rows:
    """Return the time of a mean of samples by its held steps: costs of states and forces, on one core."""
    software = software_of_mean()
    problem, _ = Problems(software.robot, STEPS).complete(problem_of(software.robot), None, 0)
    rows = []
    for number in ("float64", "float32"):
        library = SolverLibrary(software.sources, software.robot, STEPS, number)
        arrays = {key: array.astype(library.dtype) for key, array in problem.items()}
        for hold in HOLDS:
            sampling = Sampling(np.full((STEPS, software.robot.nv), 3.0), np.zeros(1, np.int64), hold)
            mean = partial(library.mean_of_samples, arrays, sampling, SAMPLES, 1.0)
            rows.append({"numbers": number, "hold": hold, "ms": _milliseconds(mean)})
    for hold in HOLDS:
        model = model_of_mean(hold)
        exact = ExactMeans(model)
        *loads, request = draw_mean(model, SAMPLES, np.random.default_rng(0))[:3]
        for command, words in loads:
            exact.respond(command, words)
        fastest = _milliseconds(partial(exact.respond, *request))
        rows.append({"numbers": f"bit-exact, {BITS} bits", "hold": hold, "ms": fastest})
    return rows


def _milliseconds(call: Callable[[], object]) -> float:
    """Return the shortest time of a call on one core."""
    times = []
    for _ in range(ROUNDS // 4):
        start = time.process_time_ns()
        call()
        times.append(time.process_time_ns() - start)
    return 1e-6 * min(times)


def mppi_layout(rows: Rows) -> Rows:
    """Return a line for each type of numbers, and a column for each number of held steps."""
    held = {1: "a sample each step"} | {hold: f"held for {hold} steps" for hold in HOLDS[1:]}
    return [
        {"": number} | {held[row["hold"]]: f"{row['ms']:.2f} ms" for row in rows if row["numbers"] == number}
        for number in dict.fromkeys(row["numbers"] for row in rows)
    ]


def account_rows() -> Rows:
    """Return the times of the parts of an iteration: by Crocoddyl, in C, and with an accelerator."""
    rows = []
    for name, base, frame in PROBLEMS:
        software, label = software_of_account(name, base, frame), {"robot": name, "base": base}
        problem = problem_of(software.robot)
        theirs = by_crocoddyl(bundled()[name], base == "floating", frame, problem)
        rows.append(label | {"by": "Crocoddyl, C++"} | {part: 1e6 * float(theirs[part]) for part in PARTS})
        for number in ("float64", "float32"):
            rows.append(label | {"by": f"C, {number}"} | _parts_in_c(software, problem, number))
        by = "derivatives of steps on the accelerator"
        rows.append(rows[-1] | {"by": by, "derivatives": _accelerated_microseconds(name, base)})
    return rows


def _accelerated_microseconds(name: str, base: str) -> float:
    """Return the time of the derivatives of all steps by an accelerator at its interval."""
    options = BuildOptions(("dstep",), ii=INTERVALS.get(name, 1), width=18)
    plan = plan_build(load_mounted(bundled()[name], Mounting(base)), options)
    packets = traffic(plan.interface)["dstep"]
    core = (plan.latency("dstep") + (STEPS - 1) * plan.parts[0].plan.ii) / plan.clock_mhz
    return max(core, STEPS * max(packets.bytes_in, packets.bytes_out) / (1e3 * LINK))


def account_layout(rows: Rows) -> Rows:
    """Return a line for each robot and way: the parts, their sum, and what free derivatives would gain."""
    lines = []
    for row in rows:
        total = sum(row[part] for part in PARTS)
        limit = total / (total - row["derivatives"])
        shown = {part: f"{row[part]:.0f} µs ({100.0 * row[part] / total:.0f} %)" for part in PARTS}
        lines.append(
            {"": f"{robot_label(row)}, {row['by']}"}
            | shown
            | {"sum": f"{total:.0f} µs", "were they free": f"{limit:.2f}×"}
        )
    return lines


def _parts_in_c(software: Software, problem: Arrays, number: str) -> dict[str, float]:
    """Return the microseconds of the parts, each what a longer call takes beyond a shorter one.

    The pass forward is that of a rollout; the sweep back, with the derivatives of costs, is the rest.
    """
    library = SolverLibrary(software.sources, software.robot, STEPS, number)
    arrays, _ = Problems(software.robot, STEPS).complete(problem, None, 0)
    one = {name: array.astype(library.dtype) for name, array in arrays.items()}
    functions = FloatLibrary(software.sources, {"dstep": software.arrays("dstep")}, number)
    inputs, outputs = functions.arrays("dstep")
    states, nq = library.solve(one, 3, 0.0)["states"][0, :-1], software.robot.nq
    values = {"q": states[:, :nq], "v": states[:, nq:], "tau": one["tau"][0], "h": np.full(STEPS, TIME_STEP)}

    def derive(horizons: int) -> Callable[[], Any]:
        passed = {
            array.name: np.concatenate([values[array.name]] * horizons).astype(library.dtype)
            for array in inputs
            if array.name in values
        }
        results = {array.name: np.empty((horizons * STEPS, *array.shape), library.dtype) for array in outputs}
        return lambda: functions.compute("dstep", passed, results)

    def follow(steps: int) -> Callable[[], Any]:
        return lambda: library.roll_out(one, Sampling(None, np.zeros(1, np.int64)), steps, 0)

    def shortest(call: Callable[[], Any]) -> float:
        times = []
        for _ in range(ROUNDS):
            start = time.process_time_ns()
            call()
            times.append(time.process_time_ns() - start)
        return 1e-3 * min(times)

    forward = (shortest(follow(STEPS)) - shortest(follow(1))) * STEPS / (STEPS - 1)
    derivatives = shortest(derive(2)) - shortest(derive(1))
    whole = 1e6 * _iteration(software, library, problem, 1)
    return {"derivatives": derivatives, "backward": whole - derivatives - forward, "forward": forward}


def _iteration(software: Software, library: SolverLibrary, problem: Arrays, count: int) -> float:
    """Return the seconds of an iteration for one of some problems: half of what three take beyond one."""
    arrays, _ = Problems(software.robot, STEPS).complete(problem, None, 0)
    batch = {name: np.repeat(array, count, axis=0).astype(library.dtype) for name, array in arrays.items()}

    def shortest(iterations: int) -> float:
        times = []
        for _ in range(ROUNDS):
            start = time.process_time_ns()
            taken = library.solve(batch, iterations, 0.0)["iterations"]
            times.append(time.process_time_ns() - start)
            assert (taken == iterations).all()
        return 1e-9 * min(times)

    return (shortest(3) - shortest(1)) / 2.0 / count


def _difference(software: Software, problem: Arrays, states: NDArray[np.float64]) -> float:
    """Return the largest difference of an element of the states of both minimisers."""
    arrays, _ = Problems(software.robot, STEPS).complete(problem, None, 0)
    library = SolverLibrary(software.sources, software.robot, STEPS)
    return float(np.abs(library.solve(arrays, 100, 0.0)["states"][0] - states).max())


def by_crocoddyl(urdf: Path, floating: bool, frame: str, problem: Arrays) -> dict[str, NDArray[np.float64]]:
    """Return the seconds of an iteration of Crocoddyl, and its minimiser."""
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
        told = {"urdf": str(urdf), "floating": floating, "frame": frame}
        np.savez(source, **problem, **told)  # type: ignore[arg-type] # NumPy types every keyword as bool
        run_beside_crocoddyl(ROOT / "benchmarks" / "crocoddyl_times.py", source, target)
        with np.load(target) as archive:
            return dict(archive)


def run_beside_crocoddyl(program: Path, *arguments: Path | str) -> None:
    """Run a program in Python in Crocoddyl's environment, which is made once; ToolError if it fails."""
    run_in(ENVIRONMENT, ("-e", f"{ROOT}[crocoddyl]"), program, *arguments)


def run_in(environment: Path, packages: Sequence[str], program: Path, *arguments: Path | str) -> None:
    """Run a program in Python in an environment with packages, which is made once; ToolError if it fails."""
    python = environment / "bin" / "python"
    if not python.exists():
        _run(sys.executable, "-m", "venv", str(environment))
        _run(str(python), "-m", "pip", "install", "-q", *packages)
    _run(str(python), str(program), *map(str, arguments))


def _run(*command: str) -> None:
    """Run a program on one thread; ToolError if it fails."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, check=False, text=True)
    if done.returncode:
        raise ToolError(f"{Path(command[0]).name} failed: {done.stderr.strip().splitlines()[-1:]}")
