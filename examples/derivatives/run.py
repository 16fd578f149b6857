"""Derivatives of dynamics by an accelerator and by generated C: errors and times beside Pinocchio."""

import argparse
import time
from pathlib import Path

import numpy as np
import pinocchio as pin
from matplotlib.figure import Figure

import rbdhw

CALLS = {"did": pin.computeRNEADerivatives, "dfd": pin.computeABADerivatives}
"""Pinocchio's calls. Their first two results are the derivatives by q and by v."""


def random_states(model, tasks, rng):
    """Return q, v, a and the forces that belong to them, with a row for each task."""
    q = rng.uniform(model.lowerPositionLimit, model.upperPositionLimit, (tasks, model.nq))
    v = 0.5 * rng.uniform(-model.velocityLimit, model.velocityLimit, (tasks, model.nv))
    a = rng.uniform(-2.0, 2.0, (tasks, model.nv))
    data = model.createData()
    tau = np.array([pin.rnea(model, data, *state) for state in zip(q, v, a, strict=True)])
    return q, v, a, tau


def by_pinocchio(model, function, tasks):
    """Return the derivatives of all tasks by Pinocchio, and the seconds of a task."""
    data, call = model.createData(), CALLS[function]
    results = [
        [matrix.copy() for matrix in call(model, data, *task)[:2]] for task in zip(*tasks, strict=True)
    ]
    one = [array[0] for array in tasks]
    seconds = seconds_of(lambda: call(model, data, *one), 1000)
    return [np.array(matrices) for matrices in zip(*results, strict=True)], seconds


def relative_errors(results, expected):
    """Return the errors relative to the results' norms, or to a quarter of the median norm."""
    norms = np.linalg.norm(expected, axis=(1, 2))
    return np.linalg.norm(results - expected, axis=(1, 2)) / np.maximum(norms, np.median(norms) / 4)


def seconds_of(call, calls):
    """Return the seconds of a call, the fastest of several."""
    call()
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def compare(robot, tasks, output):
    """Return the errors of each result, and the microseconds of a task by each way to compute it."""
    functions = ",".join(CALLS)
    design = rbdhw.generate(robot, output / "accelerator", functions=functions, ii=4)
    accelerator = design.load()
    software = rbdhw.generate(robot, output / "c", functions=functions, target="c").load()
    model = pin.buildModelFromUrdf(str(robot))
    q, v, a, tau = random_states(model, tasks, np.random.default_rng(0))
    errors, times = {}, {}
    for function, arrays in {"did": (q, v, a), "dfd": (q, v, tau)}.items():
        expected, seconds = by_pinocchio(model, function, arrays)
        result = getattr(accelerator, function)(*arrays)
        good = result.status == 0  # the others left the domain, or overflowed
        print(f"{function}: {np.count_nonzero(~good)} of {tasks} tasks flagged")
        for name, matrices in zip(result._fields, expected, strict=False):
            errors[f"{function}.{name}"] = relative_errors(getattr(result, name), matrices)[good]
        compute, one = getattr(software, function), [array[0] for array in arrays]
        figures = design["functions"][function]
        times[function] = {
            "Pinocchio from Python, one call": 1e6 * seconds,
            "generated C from Python, one call": 1e6 * seconds_of(lambda c=compute, o=one: c(*o), 1000),
            "generated C, batch": 1e6 * seconds_of(lambda c=compute, b=arrays: c(*b), 20) / tasks,
            "accelerator, latency (computed)": figures["latency_cycles"] / design["clock_mhz"],
            "accelerator, interval (computed)": 1e6 / figures["tasks_per_second"],
        }
    return errors, times


def draw(errors, times, path):
    """Draw the distribution of errors, and the times."""
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    bins = np.geomspace(1e-7, 1e-2, 41)
    for name, values in errors.items():
        left.hist(np.clip(values, bins[0], bins[-1]), bins, histtype="step", label=name)
    left.axvline(1e-3, color="black", linestyle=":", label="budget")
    left.set(xscale="log", xlabel="error relative to Pinocchio", ylabel="tasks")
    left.legend(frameon=False, fontsize=8)
    for place, (function, ways) in enumerate(times.items()):
        right.barh(np.arange(len(ways)) + 0.4 * place, list(ways.values()), 0.4, label=function)
        right.set_yticks(np.arange(len(ways)) + 0.2, list(ways))
    right.set(xscale="log", xlabel="µs for one task")
    right.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)


def main(arguments=None):
    """Print and draw the comparison; return the errors of each result and the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", type=Path, default=Path("robots/iiwa14.urdf"))
    parser.add_argument("--tasks", type=int, default=4096)
    parser.add_argument("--output", type=Path, default=Path("build/examples/derivatives"))
    options = parser.parse_args(arguments)
    errors, times = compare(options.robot, options.tasks, options.output)
    for name, values in errors.items():
        print(f"{name:12}  error: median {np.median(values):.1e}, largest {values.max():.1e}")
    for function, ways in times.items():
        for way, microseconds in ways.items():
            print(f"{function}  {way:35} {microseconds:8.3f} µs")
    draw(errors, times, options.output / "derivatives.png")
    return errors, times


if __name__ == "__main__":
    main()
