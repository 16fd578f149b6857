"""The user's own vectors: npz in, npz out."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.design.folder import read, write
from rbdhw.domain.sampling import sample
from rbdhw.errors import InputError
from rbdhw.front.calls import generate_folder
from rbdhw.front.run import run
from rbdhw.frontend.read import mount
from rbdhw.options.arguments import asked_build
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import build_design, generate
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.model import Inertia
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.verilator.tools import SimulationError
from tests.support.marks import long

TASKS = 40


@pytest.fixture
def states(rail_folder, tmp_path):
    """Return a function that writes the arrays of random states, with changes, and returns the file."""
    design = read(rail_folder)
    drawn = sample(design.robot, design.domain, TASKS, np.random.default_rng(2))

    def states(function="id", **changes):
        needed = {name: drawn[name] for name in golden.inputs_of(design.robot, function)}
        arrays = {name: array for name, array in (needed | changes).items() if array is not None}
        np.savez(tmp_path / "states.npz", **arrays)
        return tmp_path / "states.npz"

    return states


def results(path):
    with np.load(path) as archive:
        return dict(archive)


def refusal_of(*arguments):
    with pytest.raises(InputError) as refusal:
        run(*arguments)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


@pytest.mark.parametrize(("function", "result"), [("id", "tau"), ("fd", "a")])
def test_the_engines_agree(rail_folder, cache, states, tmp_path, function, result):
    answers = {}
    for engine in ("model", "rtl", "golden"):
        summary = run(rail_folder, function, states(function), tmp_path / "out.npz", engine, cache=cache)
        assert (summary.tasks, summary.flagged, summary.causes) == (TASKS, 0, ())
        answers[engine] = results(tmp_path / "out.npz")
        assert sorted(answers[engine]) == sorted([result, "status"])
        assert answers[engine][result].dtype == np.float64
        assert answers[engine][result].shape == (TASKS, 2)
        assert not answers[engine]["status"].any()
    np.testing.assert_array_equal(answers["rtl"][result], answers["model"][result])
    np.testing.assert_allclose(answers["model"][result], answers["golden"][result], atol=0.02)
    arrays = results(states(function))
    expected = 2.5 * (arrays["a"] + 9.81) if function == "id" else arrays["tau"] / 2.5 - 9.81
    np.testing.assert_allclose(answers["golden"][result], expected, rtol=1e-12)


def test_another_way_with_tasks_outside_is_refused(rail_folder, tmp_path):
    with pytest.raises(InputError) as refusal:
        run(rail_folder, "id", tmp_path / "in.npz", tmp_path / "out.npz", outside="drop")
    assert (refusal.value.where, refusal.value.expected) == ("outside", "one of limit, refuse")


@pytest.mark.parametrize("engine", ["model", "rtl"])
def test_tasks_outside_the_domain_are_flagged(rail_folder, cache, states, tmp_path, engine):
    q = np.zeros((TASKS, 2))
    q[3, 0], q[5, 1] = 0.61, -0.41
    summary = run(rail_folder, "id", states(q=q), tmp_path / "out.npz", engine, cache=cache)
    assert (summary.tasks, summary.flagged) == (TASKS, 2)
    assert [cause.text for cause in summary.causes] == [
        "id: outside the domain: q[0] (joint 'rail_0') is 0.61 m in task 3, expected -0.4 to 0.6 m (1 task); "
        "widen [joints.rail_0] position in generate's --domain file",
        "id: outside the domain: q[1] (joint 'rail_1') is -0.41 m in task 5, expected -0.4 to 0.6 m "
        "(1 task); widen [joints.rail_1] position in generate's --domain file",
    ]
    assert np.flatnonzero(results(tmp_path / "out.npz")["status"]).tolist() == [3, 5]


def test_there_is_a_warning_if_every_task_is_flagged(rail_folder, states, tmp_path):
    q = np.full((TASKS, 2), 5.0)
    outcome = run(rail_folder, "id", states(q=q), tmp_path / "out.npz", "numpy")
    warning = "every task is flagged (40), so no result is to be trusted; the causes name the remedies"
    assert outcome.warnings[-1] == outcome.json()["warnings"][-1] == warning
    q[3] = 0.0
    assert warning not in run(rail_folder, "id", states(q=q), tmp_path / "out.npz", "numpy").warnings


@pytest.mark.usefixtures("only_heading")
def test_a_floating_base_out_of_bounds_and_a_quaternion_of_another_length_are_explained(tmp_path):
    options = BuildOptions(
        functions=("step",), width=20, ii=4, samples=128, mounting=Mounting("floating"), data_width=64
    )
    body = Inertia(3.0, rotational=(0.1, 0.0, 0.0, 0.2, 0.0, 0.3))
    robot = mount(replace(load_urdf(path("toy")), base_inertia=body), options.mounting)
    write(build_design(robot, options), tmp_path / "toy")
    design = read(tmp_path / "toy")
    arrays = sample(design.robot, design.domain, 4, np.random.default_rng(1))
    arrays["q"][1, 2], arrays["q"][3, 3:7] = 40.0, 0.7
    np.savez(tmp_path / "in.npz", **{name: arrays[name] for name in ("q", "v", "tau", "h")})
    outcome = run(tmp_path / "toy", "step", tmp_path / "in.npz", tmp_path / "out.npz", "numpy")
    assert np.flatnonzero(results(tmp_path / "out.npz")["status"]).tolist() == [1, 3]
    assert [(cause.signal, cause.task, cause.value, cause.remedy) for cause in outcome.causes] == [
        ("q[2] (joint 'root_joint', z)", 1, 40.0, "choose an origin nearer to the base"),
        ("quaternion length of joint 'root_joint'", 3, pytest.approx(1.4), "bring [x y z w] to unit length"),
    ]


@pytest.mark.usefixtures("only_heading")
def test_a_cosine_and_a_sine_off_the_circle_are_flagged_and_explained(tmp_path):
    text = path("toy").read_text().replace('type="revolute"', 'type="continuous"', 1)
    (tmp_path / "wheel.urdf").write_text(text)
    options = BuildOptions(functions=("id",), width=20, ii=4, samples=128, data_width=64)
    write(generate(tmp_path / "wheel.urdf", options), tmp_path / "wheel")
    q = np.array([[0.6, 0.8, 0.1], [1.0, np.pi / 2, 0.1], [1.0, 0.0, 0.1], [0.3, 0.4, 0.1]])
    np.savez(tmp_path / "in.npz", q=q, v=np.zeros((4, 2)), a=np.zeros((4, 2)))
    for engine in ("model", "numpy", "golden"):
        outcome = run(tmp_path / "wheel", "id", tmp_path / "in.npz", tmp_path / "out.npz", engine)
        assert results(tmp_path / "out.npz")["status"].tolist() == [0, 2, 0, 2]
        (cause,) = outcome.causes
        assert (cause.signal, cause.tasks, cause.task) == ("length of the circle of joint 'shoulder'", 2, 1)
        assert (cause.value, cause.remedy) == (np.hypot(1.0, np.pi / 2), "bring [cosine sine] to unit length")


@pytest.fixture(scope="module", params=["fixed", long("float32")])
def toy_folder(request, tmp_path_factory):
    """Return a generated design of functions with and without options, or in single precision."""
    functions = ("id", "difd") if request.param == "fixed" else ("fd", "difd")
    options = BuildOptions(
        functions=functions,
        ii=2,
        width=24,
        data_width=64,
        number=request.param,
        samples=512,
        algorithms={"products": "dense"},
    )
    folder = tmp_path_factory.mktemp("toy") / request.param
    write(generate(path("toy"), options), folder)
    return folder


def toy_states(folder, function, target):
    """Return a file of random states, and its arrays."""
    design = read(folder)
    drawn = sample(design.robot, design.domain, TASKS, np.random.default_rng(3))
    arrays = {name: drawn[name] for name in golden.inputs_of(design.robot, function)}
    np.savez(target, **arrays)
    return arrays


@pytest.mark.parametrize("engine", [long("rtl"), "numpy"])
def test_every_function_on_every_engine(toy_folder, cache, tmp_path, engine):
    for function, arrays in ((name, FUNCTIONS[name]) for name in read(toy_folder).functions):
        toy_states(toy_folder, function, tmp_path / "in.npz")
        for extended in (False, True)[: 1 + bool(arrays.optional_outputs)]:
            answers = {}
            for each in ("model", engine, "golden"):
                out = tmp_path / f"{each}.npz"
                run(toy_folder, function, tmp_path / "in.npz", out, each, extended=extended, cache=cache)
                answers[each] = results(out)
            optional = arrays.optional_outputs if extended else ()
            for name in (*arrays.outputs, *optional):
                np.testing.assert_array_equal(answers[engine][name], answers["model"][name])
                right = answers["model"]["status"] == 0
                assert right.sum() > TASKS // 2
                scale = np.abs(answers["golden"][name]).max()
                np.testing.assert_allclose(
                    answers["model"][name][right], answers["golden"][name][right], atol=1e-3 * scale
                )
            assert list(answers["model"]) == [*arrays.outputs, *optional, "status"] == list(answers["golden"])


def test_a_given_inverse_is_used(toy_folder, tmp_path):
    arrays = toy_states(toy_folder, "difd", tmp_path / "in.npz")
    Minv = 0.5 * golden.evaluate(read(toy_folder).robot, "minv", arrays)["Minv"]
    np.savez(tmp_path / "given.npz", **arrays, Minv=Minv)
    answers = {}
    for name in ("in", "given"):
        run(toy_folder, "difd", tmp_path / f"{name}.npz", tmp_path / "out.npz")
        answers[name] = results(tmp_path / "out.npz")
    right = (answers["in"]["status"] == 0) & (answers["given"]["status"] == 0)
    assert right.sum() > TASKS // 2
    for array in ("da_dq", "da_dv"):
        expected = 0.5 * answers["in"][array][right]
        np.testing.assert_allclose(
            answers["given"][array][right], expected, atol=1e-3 * np.abs(expected).max()
        )
    largest = np.abs(Minv[7]).max()
    Minv[7, 0, 1] += 5e-7 * largest
    np.savez(tmp_path / "given.npz", **arrays, Minv=Minv)
    run(toy_folder, "difd", tmp_path / "given.npz", tmp_path / "out.npz")
    Minv[7, 0, 1] += 1e-6 * largest
    np.savez(tmp_path / "given.npz", **arrays, Minv=Minv)
    differing = f"[0,1] is {Minv[7, 0, 1]:g} and [1,0] is {Minv[7, 1, 0]:g}"
    assert refusal_of(toy_folder, "difd", tmp_path / "given.npz", tmp_path / "out.npz") == (
        f"{tmp_path / 'given.npz'}, array 'Minv', row 7: {differing}; expected symmetric matrices"
    )


def test_narrow_and_whole_numbers_are_taken(rail_folder, states, tmp_path):
    whole = {"q": np.zeros((TASKS, 2), np.int64), "v": np.zeros((TASKS, 2), np.float32)}
    run(rail_folder, "id", states(**whole), tmp_path / "out.npz")
    assert results(tmp_path / "out.npz")["tau"].shape == (TASKS, 2)


@pytest.mark.parametrize("engine", ["model", "rtl", "golden"])
def test_no_tasks_no_results(rail_folder, cache, states, tmp_path, engine):
    none = {name: np.zeros((0, 2)) for name in "qva"}
    run(rail_folder, "id", states(**none), tmp_path / "out.npz", engine, cache=cache)
    assert {name: array.shape for name, array in results(tmp_path / "out.npz").items()} == {
        "tau": (0, 2),
        "status": (0,),
    }


def test_a_force_is_taken_where_the_design_takes_one(rail_folder, states, tmp_path):
    write(replace(read(rail_folder), fext=(1,)), tmp_path / "design")
    fext = np.zeros((TASKS, 2, 6))
    fext[:, 1, 2] = 1.0
    run(tmp_path / "design", "id", states(fext=fext), tmp_path / "out.npz", "golden")
    arrays = results(states())
    expected = 2.5 * (arrays["a"] + 9.81) - fext[:, :, 2]
    np.testing.assert_allclose(results(tmp_path / "out.npz")["tau"], expected, rtol=1e-12)
    fext[7, 0, 5] = 2.0
    assert refusal_of(tmp_path / "design", "id", states(fext=fext), tmp_path / "out.npz") == (
        f"{tmp_path / 'states.npz'}, array 'fext', row 7: a force on link 'cart_0'; "
        "expected forces on cart_1; generate with this link in --fext"
    )


def test_arrays_that_the_function_does_not_need_are_ignored(rail_folder, states, tmp_path):
    alone = run(rail_folder, "id", states(), tmp_path / "alone.npz")
    more = states(tau=np.zeros((3, 2)), f_ext=np.array("anything"))
    outcome = run(rail_folder, "id", more, tmp_path / "out.npz")
    assert (alone.ignored, outcome.ignored) == ((), ("f_ext", "tau"))
    np.testing.assert_array_equal(
        results(tmp_path / "out.npz")["tau"], results(tmp_path / "alone.npz")["tau"]
    )


def test_numbers_that_look_to_be_in_another_unit_are_warned_about(rail_folder, states, tmp_path):
    outcome = run(rail_folder, "id", states(q=np.full((TASKS, 2), 350.0)), tmp_path / "out.npz")
    assert outcome.warnings[:-1] == tuple(
        f"array 'q': joint 'rail_{k}' reaches 350, its domain is -0.4 to 0.6; millimetres? expected metres"
        for k in (0, 1)
    )


def test_an_output_that_cannot_be_written_is_refused(rail_folder, states, tmp_path, monkeypatch):
    for out in (tmp_path / "nowhere" / "out.npz", tmp_path):  # before the input is read
        expected = f"{out}: cannot be written; expected a file in a folder that exists"
        assert refusal_of(rail_folder, "id", states(), out) == expected

    def full(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    path = states()
    monkeypatch.setattr("numpy.savez", full)
    expected = (
        f"{tmp_path / 'out.npz'}: cannot be written (No space left on device); expected a writable file"
    )
    assert refusal_of(rail_folder, "id", path, tmp_path / "out.npz") == expected
    assert [entry.name for entry in tmp_path.iterdir()] == ["states.npz"]


def test_the_input_is_not_replaced(rail_folder, states, tmp_path):
    source = states()
    before = source.read_bytes()
    (tmp_path / "link.npz").symlink_to(source)
    for target in (source, tmp_path / "link.npz"):
        expected = f"{target}: is the input, which would be replaced; expected another file for the results"
        assert refusal_of(rail_folder, "id", source, target) == expected
    assert source.read_bytes() == before


def test_functions_of_software_are_those_of_the_object(tmp_path):
    generate_folder(path("toy"), tmp_path / "c", *asked_build(target="c", functions="id"))
    assert refusal_of(tmp_path / "c", "id", tmp_path / "in.npz", tmp_path / "out.npz") == (
        f"{tmp_path / 'c'}: is software, of which run computes solve, mppi, rollout; expected an "
        "accelerator; call id of rbdhw.load in Python"
    )


def test_hardware_that_hangs_is_told(faulty_folder, cache, tmp_path):
    np.savez(tmp_path / "states.npz", **{name: np.zeros((TASKS + 2, 1)) for name in "qva"})
    with pytest.raises(SimulationError) as failure:
        run(faulty_folder, "id", tmp_path / "states.npz", tmp_path / "out.npz", "rtl", cache=cache)
    assert str(failure.value) == f"{faulty_folder}: the RTL did not answer every task of 42 once, in order"
    assert not (tmp_path / "out.npz").exists()


def test_more_tasks_than_tags_stay_in_step(rail_folder, cache, states, tmp_path, monkeypatch):
    monkeypatch.setattr("rbdhw.model.packets.TAGS", 16)
    monkeypatch.setattr("rbdhw.engines.packets.TAGS", 16)
    for engine in ("model", "rtl"):
        run(rail_folder, "id", states(), tmp_path / engine, engine, cache=cache)
    np.testing.assert_array_equal(results(tmp_path / "rtl")["tau"], results(tmp_path / "model")["tau"])
