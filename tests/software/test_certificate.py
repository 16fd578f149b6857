"""Certificates: the bounds hold for right and for wrong answers, and are no larger than they need to be."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import rbdhw
from rbdhw import golden
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.graph_inputs import graph_ranges
from rbdhw.domain.sampling import sample
from rbdhw.errors import InputError
from rbdhw.frontend.build_graph import prepare
from rbdhw.frontend.read import load_mounted
from rbdhw.golden.mobility import mobilities
from rbdhw.protocol import CERTIFIED
from rbdhw.robot.model import Inertia, JointKind
from rbdhw.robot.mounting import Mounting
from rbdhw.robots import path
from rbdhw.software import rounding
from rbdhw.software.calls import addresses
from rbdhw.software.certificate import Certificates, certificate_files
from rbdhw.software.compiler import compile_library, load_library
from rbdhw.software.float_library import FloatLibrary
from rbdhw.software.floating import dynamics_files, float_arrays, trace_sources
from tests.support.marks import long
from tests.support.strategies import robots

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")


def robot_of(name, base="fixed"):
    return load_mounted(path(name), Mounting(base))


def positions(robot):
    return np.asarray(input_domain(robot).bounds["q"])


def draw(robot, tasks, seed=0):
    return sample(robot, input_domain(robot), tasks, np.random.default_rng(seed))


def largest_mobilities(robot, tasks):
    inverse = golden.evaluate(robot, "minv", draw(robot, tasks))["Minv"]
    return np.sqrt(np.diagonal(inverse, axis1=1, axis2=2).max(axis=0))


BUNDLED = [("toy", "fixed"), ("iiwa14", "fixed"), ("iiwa14", "floating"), ("hyq", "floating")]
BUNDLED += [
    long("tiago", "fixed"),
    long("hand22", "fixed"),
    long("spot_arm", "floating"),
    long("atlas", "floating"),
]


@pytest.mark.parametrize(("name", "base"), BUNDLED)
def test_no_configuration_has_more_mobility(name, base):
    robot = robot_of(name, base)
    assert (largest_mobilities(robot, 2000) <= mobilities(robot, positions(robot))).all()


@given(robot=robots())
def test_no_configuration_of_a_random_robot_has_more_mobility(robot):
    try:
        bound = mobilities(robot, positions(robot))
    except InputError:
        return
    assert (largest_mobilities(robot, 64) <= bound).all()


def test_the_bounds_are_no_larger_than_they_need_to_be():
    toy, arm = robot_of("toy"), robot_of("iiwa14")
    assert (mobilities(toy, positions(toy)) < 1.3 * largest_mobilities(toy, 2000)).all()
    assert (mobilities(arm, positions(arm)) < 5.0 * largest_mobilities(arm, 2000)).all()


def with_last(robot, **changes):
    """Return the robot with other fields of its last body."""
    return robot.with_bodies([*robot.bodies[:-1], replace(robot.bodies[-1], **changes)])


@pytest.mark.parametrize(("first", "last"), [(0.1, 0.6), (-0.6, -0.1)])
def test_a_slider_has_the_bound_of_its_own_positions(first, last):
    """It slides across the pendulum that carries it, with its centre of mass beside the joint."""
    robot = robot_of("toy")
    joint = replace(robot.bodies[-1].joint, kind=JointKind.PRISMATIC, axis=(1.0, 0.0, 0.0))
    heavy = Inertia(2.0, (0.6, 0.0, 1.0), (0.6, 0.0, -0.3, 0.8, 0.0, 0.25))
    robot = with_last(robot, joint=joint, inertia=heavy)
    limits = np.array([[-3.0, 3.0], [first, last]])
    q = np.random.default_rng(0).uniform(limits[:, 0], limits[:, 1], (2000, 2))
    inverse = golden.evaluate(robot, "minv", {"q": q})["Minv"]
    largest = np.sqrt(np.diagonal(inverse, axis1=1, axis2=2).max(axis=0))
    bound = mobilities(robot, limits)
    assert (largest <= bound).all()
    assert bound[1] < 1.1 * largest[1]


def test_a_rod_without_inertia_about_itself_has_no_bound():
    robot = with_last(robot_of("toy"), inertia=Inertia(2.0, (0.0, 0.0, 1.0), (0.7, 0.0, 0.0, 0.7, 0.0, 0.0)))
    with pytest.raises(InputError) as refusal:
        mobilities(robot, positions(robot))
    assert refusal.value.reason == "moves a link without inertia of its own"


def test_rotors_make_a_robot_less_mobile():
    robot = load_mounted(path("toy"), Mounting())
    first = robot.bodies[0]
    heavy = robot.with_bodies(
        [replace(first, joint=replace(first.joint, armature=(50.0,))), *robot.bodies[1:]]
    )
    assert mobilities(heavy, positions(heavy))[0] < 0.15
    assert (largest_mobilities(heavy, 500) <= mobilities(heavy, positions(heavy))).all()


@pytest.mark.parametrize("name", ["toy", long("iiwa14")])
@pytest.mark.parametrize("function", ["id", "m", "did"])
def test_single_precision_rounds_less_than_the_bound(name, function, monkeypatch):
    monkeypatch.setattr(rounding, "UNIT", 2.0**-23)
    monkeypatch.setattr(rounding, "LIBRARY", 8.0 * 2.0**-23)
    robot = robot_of(name)
    (source,) = trace_sources(prepare(robot, (function,), most_traced=0), (function,))
    bounds = rounding.rounding_of(source.graph, graph_ranges(robot, input_domain(robot), ()))
    tasks = {array: values.astype(np.float32) for array, values in draw(robot, 2000).items()}
    answers = []
    for number, kind in (("float64", np.float64), ("float32", np.float32)):
        sides = float_arrays(robot, function, False, False)
        library = FloatLibrary(dynamics_files(robot, [source], ()), {function: sides}, number)
        answer = {array.name: np.empty((2000, *array.shape), kind) for array in sides[1]}
        library.compute(function, {array: values.astype(kind) for array, values in tasks.items()}, answer)
        answers.append(answer)
    most = np.abs(tasks["a"]).max(axis=1)
    for array, exact in answers[0].items():
        bound = bounds.still[array] + bounds.by_acceleration[array] * most
        error = np.abs(exact - answers[1][array]).reshape(2000, -1).max(axis=1)
        assert (error <= bound).all()


@pytest.fixture(scope="module")
def certificates():
    robot = robot_of("iiwa14")
    return robot, Certificates(robot, input_domain(robot), ())


def errors_and_bounds(certificates, function, tasks, right, wrong):
    """Yield, for each result, how much answers err that ``wrong`` was added to, and their bounds."""
    answers = {name: right[name] + wrong(right[name]) for name in CERTIFIED[function]}
    bounds = certificates.bounds(function, tasks, answers)
    for name in CERTIFIED[function]:
        yield np.abs(answers[name] - right[name]), bounds[f"{name}_error"]


AT_ONCE = 20_000
"""Tasks that are computed at a time, and have four answers each. Those of ``dfd`` take longest."""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("function", "count"),
    [
        ("fd", 3000),
        long("fd", 1_000_000, minutes=2),
        long("minv", 1_000_000, minutes=2),
        long("dfd", 250_000, minutes=2),
    ],
)
def test_wrong_answers_are_told(certificates, function, count):
    robot, certified = certificates
    rng = np.random.default_rng(8)

    def noise(size):
        return lambda result: size * rng.standard_normal(result.shape)

    def one_element(result):
        wrong = np.zeros(result.shape)
        flat = wrong.reshape(len(wrong), -1)
        flat[np.arange(len(wrong)), rng.integers(flat.shape[1], size=len(wrong))] = 7.0
        return wrong

    for first in range(0, count, AT_ONCE):
        tasks = draw(robot, min(AT_ONCE, count - first), seed=3 + first)
        right = golden.evaluate(robot, function, tasks)
        for wrong in (np.zeros_like, noise(1e-7), noise(1.0), one_element):
            for error, bound in errors_and_bounds(certified, function, tasks, right, wrong):
                assert (error <= bound).all()
        for error, bound in errors_and_bounds(certified, function, tasks, right, noise(1.0)):
            assert np.median(bound.max(axis=-1) / error.max(axis=-1)) < 1000.0


def test_a_right_answer_has_a_small_bound(certificates):
    robot, certified = certificates
    tasks = draw(robot, 500)
    for function, most in {"fd": 1e-6, "minv": 1e-6}.items():
        right = golden.evaluate(robot, function, tasks)
        for _, bound in errors_and_bounds(certified, function, tasks, right, np.zeros_like):
            assert bound.max() < most


def test_what_is_not_a_number_has_no_bound(certificates):
    robot, certified = certificates
    tasks = draw(robot, 3)
    answer = golden.evaluate(robot, "fd", tasks)
    answer["a"][1, 4] = np.nan
    bound = certified.bounds("fd", tasks, answer)["a_error"]
    assert np.isinf(bound[1]).all()
    assert np.isfinite(bound[[0, 2]]).all()


def test_the_sources_compile_without_warnings_beside_the_model():
    robot = robot_of("toy")
    files = certificate_files(robot, input_domain(robot), (), list(CERTIFIED))
    library = load_library(
        compile_library(files, [n for n in files if n.endswith(".c")], WARNINGS, what="it")
    )
    tasks = draw(robot, 5)
    a = golden.evaluate(robot, "fd", tasks)["a"]
    error = np.empty(a.shape)
    arrays = [tasks["q"], tasks["v"], tasks["tau"], a, error]
    library.rbdhw_certify_fd(
        ctypes.c_size_t(5), *addresses([np.ascontiguousarray(x) for x in arrays[:-1]] + [error])
    )
    assert (error > 0.0).all()
    assert (error < 1e-6).all()
    assert "rbdhw_double_##name" in files["dynamics.h"]


@pytest.mark.usefixtures("only_heading")
def test_accelerators_certify_their_answers(tmp_path):
    made = rbdhw.generate(path("toy"), tmp_path / "toy", functions="fd,minv,id", ii=4, width=18)
    acc, tasks = made.load(), draw(robot_of("toy"), 200)
    answer = acc.fd(tasks["q"], tasks["v"], tasks["tau"], certify=True)
    right = golden.evaluate(robot_of("toy"), "fd", tasks)["a"]
    assert answer._fields == ("a", "a_error", "status")
    assert (np.abs(answer.a - right) <= answer.a_error)[answer.status == 0].all()
    one = acc.minv(tasks["q"][0], certify=True)
    assert one.Minv_error.shape == (2, 2)
    damaged = acc.fd(np.full(2, np.nan), np.zeros(2), np.zeros(2), certify=True)
    assert np.isnan(damaged.a_error).all()
    with pytest.raises(InputError, match="certify"):
        acc.id(np.zeros(2), np.zeros(2), np.zeros(2), certify=True)
    with pytest.raises(InputError, match="has no effect on submit"):
        acc.submit("fd", np.zeros(2), np.zeros(2), np.zeros(2), certify=True)


@pytest.mark.parametrize(
    ("mounting", "reason"),
    [
        (Mounting(base="any"), "tasks choose the base"),
        (Mounting(parameters="payload"), "tasks choose inertial parameters"),
        (Mounting("floating"), "moves a link without inertia of its own"),
    ],
)
def test_robots_without_a_bound_are_refused(mounting, reason):
    robot = load_mounted(path("toy"), mounting)
    with pytest.raises(InputError) as refusal:
        mobilities(robot, positions(robot))
    assert refusal.value.reason == reason


def test_software_without_a_domain_is_refused(tmp_path):
    made = rbdhw.generate(path("toy"), tmp_path / "c", functions="fd", target="c")
    with pytest.raises(InputError, match="have no bounds"):
        made.load().fd(np.zeros(2), np.zeros(2), np.zeros(2), certify=True)


@pytest.mark.verify(minutes=6)
@pytest.mark.parametrize("function", CERTIFIED)
def test_a_million_answers_of_the_model_keep_to_their_bounds(tmp_path, function):
    made = rbdhw.generate(path("iiwa14"), tmp_path / "arm", functions=function)
    acc, robot = made.load(), robot_of("iiwa14")
    for seed in range(62):
        tasks = draw(robot, 16_384, seed)
        names = [name for name in ("q", "v", "tau") if name in golden.inputs_of(robot, function)]
        answer = getattr(acc, function)(*(tasks[name] for name in names), certify=True)
        right, kept = golden.evaluate(robot, function, tasks), answer.status == 0
        for name in CERTIFIED[function]:
            error, bound = np.abs(getattr(answer, name) - right[name]), getattr(answer, f"{name}_error")
            assert (error <= bound)[kept].all()


@settings(max_examples=3)
@given(robot=robots())
def test_certificates_of_random_robots_hold(robot):
    tasks = draw(robot, 64)
    certified = Certificates(robot, input_domain(robot), ())
    try:
        right = golden.evaluate(robot, "fd", tasks)
        pairs = list(errors_and_bounds(certified, "fd", tasks, right, lambda result: 0.1 * np.cos(result)))
    except InputError:
        return
    for error, bound in pairs:
        assert (error <= bound).all()
