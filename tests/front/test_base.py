"""Accelerators and software in which each task chooses the mode of the base."""

from dataclasses import replace

import numpy as np
import pytest

import rbdhw
from rbdhw import golden
from rbdhw.design.folder import read, write
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.strata import draw
from rbdhw.errors import InputError
from rbdhw.front.run import run
from rbdhw.frontend.build_graph import prepare
from rbdhw.frontend.read import mount
from rbdhw.golden.error_norm import relative_errors
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import build_design
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.model import BASE, JointKind
from rbdhw.sim.simulate import simulate
from rbdhw.software.float_library import FloatLibrary
from rbdhw.software.floating import dynamics_files, float_arrays, trace_sources
from tests.support.headings import headings
from tests.support.marks import long
from tests.support.mechanisms import mechanism

OPTIONS = BuildOptions(
    functions=("id", "fd"), ii=24, width=18, samples=256, data_width=128, mounting=Mounting(base="any")
)
TASKS = 60


@pytest.fixture(scope="module")
def robot():
    return mount(mechanism([JointKind.REVOLUTE], [BASE], seed=3), OPTIONS.mounting)


@pytest.fixture(scope="module", params=["pipeline", long("array")])
def folder(tmp_path_factory, robot, request):
    made = tmp_path_factory.mktemp("any") / request.param
    options = OPTIONS if request.param == "pipeline" else replace(OPTIONS, core="array", ii=64)
    with headings():
        write(build_design(robot, options), made)
    return made


def drawn(folder, tasks=TASKS):
    design = read(folder)
    return design, draw(design.robot, design.domain, tasks, np.random.default_rng(5)).arrays


@pytest.mark.verify
@pytest.mark.parametrize("core", [None, "array"])
def test_the_verilog_is_the_model_with_any_base_in_every_task(robot, tmp_path, core):
    options = replace(OPTIONS, core=core, ii=64 if core else OPTIONS.ii)
    write(build_design(robot, options), tmp_path / "both")
    report = simulate(tmp_path / "both", 300, seed=5)
    assert (report.mismatches, report.flagged) == (0, 0)


@pytest.mark.parametrize("function", OPTIONS.functions)
def test_all_engines_agree(folder, function):
    _, arrays = drawn(folder)
    assert 10 < arrays["base_held"].sum() < TASKS - 10
    entry = FUNCTIONS[function]
    given = {
        name: arrays[name] for name in entry.inputs if name in (*"qva", "tau", "lambda_a", *entry.base_choice)
    }
    given.pop("base_held", None)
    if entry.base_choice:
        given["base"] = np.where(arrays["base_held"] == 1.0, "given", "floating")
    model, numpy, exact = (
        getattr(rbdhw.load(folder, engine), function)(**given) for engine in ("model", "numpy", "golden")
    )
    assert not model.status.any()
    for name in entry.outputs:
        np.testing.assert_array_equal(getattr(model, name), getattr(numpy, name))
    computed, expected = (
        {name: getattr(results, name) for name in entry.outputs} for results in (model, exact)
    )
    assert np.median(relative_errors(computed, expected)) < 0.01


@pytest.mark.verify(minutes=6)
def test_second_derivatives_choose_their_base(robot, tmp_path):
    options = replace(OPTIONS, functions=("id", "sfd", "hfd"), ii=64, width=24)
    write(build_design(robot, options), tmp_path)
    report = simulate(tmp_path, 200, seed=5, bulk=True)
    assert report.mismatches == 0
    assert report.flagged < 4
    for function in ("sfd", "hfd"):
        test_all_engines_agree(tmp_path, function)


@pytest.mark.verify
def test_rollouts_choose_their_base(robot, tmp_path):
    """A base that is held moves as the task says, and one that is fixed stays."""
    options = replace(OPTIONS, functions=("rollout",), ii=4, width=24, horizon=5, samples=64)
    write(build_design(robot, options), tmp_path / "rolling")
    acc, (design, arrays) = rbdhw.load(tmp_path / "rolling"), drawn(tmp_path / "rolling", 3)
    q, v = 0.5 * arrays["q"], 0.1 * arrays["v"]
    q[:, 3:7], v[1, :6] = arrays["q"][:, 3:7], 0.0
    lift = np.array([[0.0] * 6, [0.0] * 6, [0.2, 0.0, 0.5, 0.0, 0.1, 0.0]])
    rollouts = acc.rollout(q, v, np.zeros((5, 7)), 0.01, base=["floating", "fixed", "given"], base_a=lift)
    assert not rollouts.status.any()
    after = rollouts.states[:, 0, design.robot.nq :]
    np.testing.assert_allclose(after[1:, :6], v[1:, :6] + 0.05 * lift[1:], atol=1e-4)
    assert np.abs(after[0, :6] - v[0, :6]).max() > 1e-2
    report = simulate(tmp_path / "rolling", 300, seed=5, bulk=True)
    assert (report.rollouts.tasks, report.mismatches) == (256, 0)


@pytest.fixture(scope="module")
def acc(folder):
    return rbdhw.load(folder, "golden")


@pytest.fixture
def task(folder):
    return {name: array[0] for name, array in drawn(folder)[1].items() if name in ("q", "v", "tau")}


def test_a_fixed_base_stays_at_rest(acc, task):
    task["v"][:6] = task["tau"][:6] = 0.0
    assert not acc.fd(**task, base="fixed").a[:6].any()
    free, fixed = acc.fd(**task).a, acc.fd(**task, base="fixed").a
    np.testing.assert_array_equal(acc.fd(**task, base="floating").a, free)
    assert np.abs(free - fixed)[6:].max() > 1e-3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"base": "mobile"}, "base: 'mobile' is unknown; expected one of fixed, floating, given"),
        ({"base": "fixed", "v": np.zeros(7), "base_a": np.ones(6)}, "array 'base_a': the base is fixed, but"),
        ({"base": "fixed", "v": np.ones(7)}, "array 'v': the base is fixed, .*; use base='given'"),
        ({"base": "given"}, "array 'base_a': missing; expected the acceleration of"),
        ({"base": ["fixed", "floating"], "v": np.zeros((3, 7))}, "base: 2 modes of 3 tasks; expected one"),
        ({"base_a": np.ones(6)}, "array 'base_a', row 0: the base of this task floats"),
    ],
)
def test_unusable_modes(acc, task, given, message):
    with pytest.raises(InputError, match=message):
        acc.fd(**task | given)


@pytest.mark.usefixtures("only_heading")
def test_a_mode_of_a_build_that_has_none(tmp_path):
    made = tmp_path / "fixed"
    options = replace(OPTIONS, functions=("fd",), mounting=Mounting())
    plain = mechanism([JointKind.REVOLUTE], [BASE], seed=3)
    write(build_design(plain, options), made)
    arrays = {name: np.zeros(1) for name in ("q", "v", "tau")}
    message = "base: the base of this build is fixed; expected none; generate with --base any"
    with pytest.raises(InputError, match=message):
        rbdhw.load(made).fd(**arrays, base="given")
    np.savez(tmp_path / "tasks.npz", **{name: x[None] for name, x in arrays.items()}, base_held=np.ones(1))
    message = "array 'base_held': tasks of this build do not choose"
    with pytest.raises(InputError, match=message):
        run(made, "fd", tmp_path / "tasks.npz", tmp_path / "results.npz")


@pytest.mark.parametrize("held", [0.5, 2.0])
def test_a_word_that_is_no_mode(folder, held, tmp_path):
    arrays = drawn(folder, 3)[1] | {"base_held": np.array([0.0, held, 1.0])}
    np.savez(tmp_path / "tasks.npz", **arrays)
    message = f"array 'base_held', row 1: {held:g}; expected 1 if the base is held, 0 if it floats"
    with pytest.raises(InputError, match=message):
        run(folder, "fd", tmp_path / "tasks.npz", tmp_path / "results.npz")


@pytest.mark.parametrize("products", ["dense", long("solves")])
def test_software_takes_any_base(robot, products):
    model = prepare(robot, ("fd", "difd"), forced={"products": products})
    sources = {source.function: source for source in trace_sources(model, ("fd", "difd"))}
    tasks = draw(robot, input_domain(robot), TASKS, np.random.default_rng(6)).arrays
    for function, source in sources.items():
        arrays = {function: float_arrays(robot, function, False, source.extended is not None)}
        library = FloatLibrary(dynamics_files(robot, [source], ()), arrays)
        inputs, outputs = arrays[function]
        results = {array.name: np.empty((TASKS, *array.shape)) for array in outputs}
        library.compute(
            function, {array.name: tasks[array.name] for array in inputs if not array.optional}, results
        )
        expected = golden.evaluate(robot, function, tasks)
        assert relative_errors(results, expected, floor=1.0).max() < 1e-7  # lengths of quaternions
