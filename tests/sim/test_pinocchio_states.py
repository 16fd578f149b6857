"""Pinocchio's own states, unchanged, in `run`: its results, its order, its layout, a robot of each maker."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from rbdhw import golden
from rbdhw.design.folder import draft_design, write
from rbdhw.domain.bounds import Domain, input_domain
from rbdhw.domain.graph_inputs import graph_inputs, graph_ranges
from rbdhw.domain.sampling import sample
from rbdhw.errors import InputError
from rbdhw.fixed.lower import lower
from rbdhw.fixed.widths import plain_widths
from rbdhw.front.run import run
from rbdhw.frontend.algorithms import AlgorithmChoice
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, Model, optimise, trace_model
from rbdhw.frontend.read import load_mounted
from rbdhw.frontend.solvability import WITHOUT_INVERSE
from rbdhw.golden.error_norm import relative_errors
from rbdhw.golden.pinocchio import compute
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.protocol import FUNCTIONS
from rbdhw.quantize.formats import accelerator_model
from rbdhw.quantize.magnitudes import largest_magnitudes, raise_to_noise
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Robot
from rbdhw.robot.pinocchio import PinocchioLayout
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.urdf import load_urdf
from tests.support.example_robots import EXAMPLES
from tests.support.marks import long
from tests.support.software import solvable_functions

Arrays = dict[str, np.ndarray]

TASKS = 12

WIDTH, RANGING, HEADROOM = 32, 128, 8.0
"""Operand bits of the designs, the tasks in which ranges are found, and headroom over these."""

MOST_PASSES = 6
"""The most repetitions of the choice of formats until they hold the observed values."""

LARGEST_ERROR = 5e-2
"""The largest error of unflagged tasks relative to the norm of their results; a wrong order gives near 1."""

LARGEST_MEDIAN = 1e-1
"""The largest median with an inverse mass matrix: ill-conditioned poses magnify the coarse formats of these
designs, which hold any forces."""

ROUNDING = 1e-9
"""A norm below which a result is only Pinocchio's rounding, as the derivatives of a balanced rotor."""

WORST_CONDITION = 1e6
"""The largest condition of the mass matrix for which forward dynamics can be compared."""

QUICK = ("double_pendulum_continuous", "floating")
"""The robot and base of `make test`: another order, a continuous joint, quaternions."""


def builds():
    """Yield the smallest file of each description, on one of the bases in turn."""
    by_name = {file.stem: file for file in EXAMPLES}
    yield pytest.param(by_name[QUICK[0]], QUICK[1], id="-".join(QUICK))
    smallest: dict[Path, Path] = {}
    for file in sorted(EXAMPLES, key=lambda file: (file.stat().st_size, file)):
        smallest.setdefault(file.parent.parent, file)
    for k, file in enumerate(sorted(smallest.values())):
        base = ("fixed", "floating")[k % 2]
        yield long(file, base, minutes=0.25)


def pinocchio_model(file: Path, base: str, mimic: bool) -> pin.Model | None:
    """Return Pinocchio's model of a file if Pinocchio reads it and it has moving joints."""
    root = (pin.JointModelFreeFlyer(),) if base == "floating" else ()
    try:
        model = pin.buildModelFromUrdf(str(file), *root, mimic=mimic)
    except ValueError:
        return None
    return model if model.nv else None


def states(model: pin.Model, rng: np.random.Generator) -> Arrays:
    """Return random configurations by Pinocchio, and motions and forces within its limits, in its layout."""
    bounded = pin.Model(model)
    free = np.maximum(-model.lowerPositionLimit, model.upperPositionLimit) > 100.0
    bounded.lowerPositionLimit[free] = -0.9
    bounded.upperPositionLimit[free] = 0.9
    pin.seed(int(rng.integers(1 << 30)))
    v = np.where((model.velocityLimit > 0.0) & (model.velocityLimit < 100.0), model.velocityLimit, 0.3)
    tau = np.where((model.effortLimit > 0.0) & (model.effortLimit < 100.0), model.effortLimit, np.inf)
    q = np.array([pin.randomConfiguration(bounded) for _ in range(TASKS)])
    moves = (
        rng.uniform(-0.9 * v, 0.9 * v, (TASKS, model.nv)),
        rng.uniform(-5.0 * v, 5.0 * v, (TASKS, model.nv)),
    )
    fext = rng.uniform(-0.5, 0.5, (TASKS, model.njoints - 1, 6))
    needed = np.array(
        [
            pin.rnea(model, model.createData(), *motion, [pin.Force.Zero(), *map(pin.Force, wrenches)])
            for *motion, wrenches in zip(q, *moves, fext, strict=True)
        ]
    )
    return {
        "q": q,
        "v": moves[0],
        "a": moves[1],
        "tau": np.clip(needed, -0.9 * tau, 0.9 * tau),
        "fext": fext,
    }


def invertible(M: np.ndarray) -> np.ndarray:
    """Return which mass matrices (N, nv, nv) are far from singular, whatever the units of their rows."""
    diagonal = np.einsum("kii->ki", M)
    regular = (diagonal > 0.0).all(axis=1)
    scale = 1.0 / np.sqrt(diagonal[regular])
    regular[regular] = np.linalg.cond(M[regular] * scale[:, :, None] * scale[:, None, :]) < WORST_CONDITION
    return regular


def ranging_tasks(model: Model, functions: Sequence[str]) -> tuple[Arrays, Domain]:
    """Return tasks with any forces, and the domain; with ``difd`` also inverse mass matrices.

    The latter are in poses that have one. Pinocchio's states may let a robot fall, so forces may throw it.
    """
    source, domain = model.source, replace(input_domain(model.source), any_forces=True)
    arrays = sample(source, domain, 4 * RANGING, np.random.default_rng(0), model.fext)
    poses = np.arange(RANGING)
    if "difd" in functions:
        poses = np.flatnonzero(invertible(golden.evaluate(source, "m", arrays)["M"]))[:RANGING]
    arrays = {name: array[poses] for name, array in arrays.items()}
    if "difd" in functions:
        arrays |= golden.evaluate(source, "minv", arrays)
        largest = 2.0 * np.abs(arrays["Minv"]).max(axis=0).ravel()
        bounds = domain.bounds | {"Minv": np.stack([-largest, largest], axis=1)}
        domain = replace(domain, bounds=bounds)
    return arrays, domain


def written(file: Path, base: str, functions: tuple[str, ...], folder: Path) -> None:
    """Write a design without hardware: 32 bits, ranges from few tasks, the algorithms of a sweep."""
    source = load_mounted(file, Mounting(base))
    rewritten = regroup_inertias(align_axes(elementary(source)))
    choice = AlgorithmChoice(Algorithms(products="solves"), {})
    model = Model(source, rewritten, (), source.links, choice)
    graph = optimise(trace_model(model, functions), DEFAULT_DELAYS)
    options = BuildOptions(functions=functions, width=WIDTH, fext="all", samples=RANGING)
    arrays, domain = ranging_tasks(model, functions)
    inputs = graph_inputs(source, arrays)
    sizes = [HEADROOM * size for size in largest_magnitudes(graph, functions, [inputs], RANGING // 16)]
    ranges, widths = graph_ranges(source, domain, model.fext), plain_widths(graph, WIDTH)
    before: list[float] = []
    for _ in range(MOST_PASSES):
        if before == sizes:
            break
        before = sizes
        sizes = raise_to_noise(sizes, lower(graph, sizes, ranges, widths), functions, inputs, HEADROOM)
    program = lower(graph, sizes, ranges, widths)
    write(draft_design(accelerator_model(model, domain, [program], options)), folder)


def pinocchio_results(model: pin.Model, function: str, arrays: Arrays) -> Arrays:
    """Return Pinocchio's results of each task, in its own layout."""
    data, tasks = model.createData(), []
    drive = "tau" if FUNCTIONS[function].takes_force else "a"
    for k in range(TASKS):
        q, v, u = (arrays[name][k] for name in ("q", "v", drive))
        forces = pin.StdVec_Force([pin.Force.Zero(), *map(pin.Force, arrays["fext"][k])])
        tasks.append(compute(model, data, function, q, v, u, forces))
    return {name: np.stack([results[name] for results in tasks]) for name in tasks[0]}


def reduced_results(layout: PinocchioLayout, model: pin.Model, function: str, arrays: Arrays) -> Arrays:
    """Return Pinocchio's results with all followers free, reduced to the robot's degrees of freedom.

    Pinocchio's algorithms for forward dynamics and derivatives do not support followers.
    """
    M = layout.matrix(pinocchio_results(model, "m", arrays)["M"])
    if function in ("id", "m", "minv"):
        if function == "id":
            return {"tau": layout.force(pinocchio_results(model, "id", arrays)["tau"])}
        return {"M": M} if function == "m" else {"Minv": np.linalg.inv(M)}
    if function in ("fd", "dfd"):
        still = arrays | {"a": np.zeros_like(arrays["a"])}
        bias = layout.force(pinocchio_results(model, "id", still)["tau"])
        a = np.linalg.solve(M, (layout.force(arrays["tau"]) - bias)[..., np.newaxis])[..., 0]
        arrays = arrays | {"a": layout.pinocchio_velocity(a)}
        if function == "fd":
            return {"a": a}
    by = {
        name: layout.matrix(derivative)
        for name, derivative in pinocchio_results(model, "did", arrays).items()
    }
    if function == "did":
        return by
    return {name.replace("dtau", "da"): -np.linalg.solve(M, derivative) for name, derivative in by.items()}


def within_domain(robot: Robot, given: Arrays) -> Arrays:
    """Return states whose forces are within the domain; Pinocchio has no limits where a file has none."""
    lower, upper = input_domain(robot).bounds["tau"].T
    if given["tau"].shape[1] != len(upper):
        return given
    return given | {"tau": np.clip(given["tau"], 0.9 * lower, 0.9 * upper)}


def with_followers(robot: Robot, given: Arrays) -> Arrays:
    """Return states of Pinocchio's default model in which every follower is where its leader moves it."""
    layout, rng = PinocchioLayout(robot), np.random.default_rng(4)
    drawn = sample(robot, input_domain(robot), TASKS, rng)
    moved = {name: layout.pinocchio_velocity(0.5 * drawn[name]) for name in ("v", "a")}
    return given | moved | {"q": layout.pinocchio_configuration(drawn["q"])}


def freed(robot: Robot, given: Arrays) -> Arrays:
    """Return states of a model with ``mimic=True`` as those of Pinocchio's default model."""
    reduced, layout = PinocchioLayout(robot, mimic=True), PinocchioLayout(robot)
    moved = {name: layout.pinocchio_velocity(given[name]) for name in ("v", "a")}
    tau = np.linalg.lstsq(layout.coupling.T, given["tau"].T, rcond=None)[0].T
    q = layout.pinocchio_configuration(reduced.configuration(given["q"]))
    return given | moved | {"q": q, "tau": tau}


@pytest.mark.parametrize(("file", "base"), list(builds()))
def test_states_of_pinocchio_untouched(file, base, tmp_path):
    default = pinocchio_model(file, base, mimic=False)
    if default is None:
        pytest.skip("Pinocchio does not read the file, or nothing in it moves")
    model = pinocchio_model(file, base, mimic=True)
    robot, rng = load_mounted(file, Mounting(base)), np.random.default_rng(3)
    mimics = any(body.joint.mimic for body in robot.bodies)
    given = within_domain(robot, states(model or default, rng))
    if mimics:  # Pinocchio has forward dynamics and derivatives of its default model alone
        layout = PinocchioLayout(robot)
        given = with_followers(robot, given) if model is None else given
        full = given if model is None else freed(robot, given)
    functions = solvable_functions(robot)
    written(file, base, functions, tmp_path / "design")
    np.savez(tmp_path / "states.npz", **given)
    for function in sorted(functions, key=lambda name: name != "m"):  # its poses decide about the inverses
        outcome = run(
            tmp_path / "design", function, tmp_path / "states.npz", tmp_path / "results.npz", "numpy"
        )
        with np.load(tmp_path / "results.npz") as archive:
            results = {name: archive[name] for name in archive.files}
        if mimics:
            expected = reduced_results(layout, default, function, full)
        else:
            expected = pinocchio_results(default, function, given)
        if function == "m":
            solvable = invertible(expected["M"])
            assert "fd" not in functions or solvable.mean() > 0.5
        compared = solvable if function not in WITHOUT_INVERSE else np.ones(TASKS, bool)
        answered = (results.pop("status") == 0) & compared
        assert answered.sum() > 0.5 * compared.sum(), [cause.text for cause in outcome.causes]
        errors = relative_errors(results, expected, ROUNDING)[answered]
        if function in WITHOUT_INVERSE:
            assert errors.max() < LARGEST_ERROR, (function, errors)
        else:
            assert np.median(errors) < LARGEST_MEDIAN, (function, errors)


def test_files_that_only_we_refuse_are_none():
    """Every file with moving joints that Pinocchio reads is accepted by default."""
    refused = []
    for file in EXAMPLES:
        if pinocchio_model(file, "fixed", mimic=False) is not None:
            try:
                load_urdf(file)
            except InputError as error:
                refused.append(str(error))
    assert refused == []
