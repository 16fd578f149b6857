"""The causes of flagged tasks: inputs outside their domain, overflows, quaternions not of unit length."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.arrays import WordName
from rbdhw.domain.sampling import sample
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.frontend.read import load_mounted, mount
from rbdhw.model.diagnosis import Cause, diagnose, merge_causes
from rbdhw.model.packets import encode
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.model import BASE, Inertia, JointKind
from rbdhw.robot.parameters import held_bounds, held_values, load_inertias, nominal_parameters
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.marks import long
from tests.support.mechanisms import mechanism

WHEN_OUTSIDE = "in generate's --domain file"


@pytest.fixture(scope="module")
def floating():
    """Return the model of a floating toy: with external forces, and gravity in the task."""
    return design_of("forces")


@pytest.fixture(scope="module")
def given():
    options = BuildOptions(functions=("id",), width=20, mounting=Mounting("given"), ii=4, samples=64)
    return make_plan(load_mounted(path("toy"), Mounting("given")), options).accelerator


def tasks_of(design, tasks=8):
    return sample(design.robot, design.domain, tasks, np.random.default_rng(1), design.fext)


@pytest.mark.parametrize(
    ("array", "index", "signal", "entry"),
    [
        ("q", 7, "q[7] (joint 'shoulder')", "[joints.shoulder] position"),
        ("v", 1, "v[1] (joint 'root_joint', vy)", "[base] linear_velocity"),
        ("a", 4, "a[4] (joint 'root_joint', wy)", "[base] angular_acceleration"),
        ("a", 7, "a[7] (joint 'elbow')", "[joints.elbow] acceleration"),
        ("fext", (1, 2), "fext[1,2] (link 'upper_arm')", "[fext] force"),
        ("fext", (2, 3), "fext[2,3] (link 'forearm')", "[fext] moment"),
    ],
)
def test_an_input_outside_its_domain(floating, array, index, signal, entry):
    arrays = tasks_of(floating)
    index = index if isinstance(index, tuple) else (index,)
    lower, upper = floating.domain.bounds[array][index[-1]].tolist()
    arrays[array][(5, *index)] = 1.5 * upper
    arrays[array][(6, *index)] = 1.25 * lower
    causes = [cause for cause in diagnose(floating, "id", arrays) if cause.status == "outside"]
    assert [(c.signal, c.tasks, c.task, c.value) for c in causes] == [(signal, 2, 5, 1.5 * upper)]
    assert (causes[0].lower, causes[0].upper) == (lower, upper)
    assert causes[0].remedy == f"widen {entry} {WHEN_OUTSIDE}"
    assert causes[0].text == (
        f"id: outside the domain: {signal} is {1.5 * upper:.6g} {causes[0].unit} in task 5, expected "
        f"{lower:.6g} to {upper:.6g} {causes[0].unit} (2 tasks, this the farthest); widen {entry} "
        f"{WHEN_OUTSIDE}"
    )


BODY = Inertia(3.0, rotational=(0.1, 0.0, 0.0, 0.2, 0.0, 0.3))

KINDS = [kind for kind in JointKind if kind is not JointKind.FLOATING]


@lru_cache
def design_of(name):
    """Return the model of a small robot whose tasks bring many arrays."""
    common = {"width": 20, "ii": 4, "samples": 32}
    if name == "kinds":  # every kind of joint, side by side
        robot = mechanism(KINDS, [BASE] * len(KINDS), 3)
        options = BuildOptions(functions=("step", "id"), **common)
        return make_plan(mount(robot, options.mounting), options).accelerator
    toy = replace(load_urdf(path("toy")), base_inertia=BODY)
    base = "floating" if name in ("forces", "floating") else name
    common |= {"mounting": Mounting(base, gravity="task")}
    if name == "any":  # parameters, and forces on links
        robot = load_inertias(mount(toy, common["mounting"]), ("forearm",))
        return make_plan(robot, BuildOptions(("id", "step"), fext="all", **common)).accelerator
    if name == "forces":
        options = BuildOptions(("id", "fd", "m", "difd"), fext="all", **common)
    else:
        options = BuildOptions(("hid" if name == "floating" else "hfd", "step"), **common)
    return make_plan(mount(toy, options.mounting), options).accelerator


ARRAYS_OF = {
    "kinds": {"q", "v", "a", "tau", "h"},
    "forces": {"q", "v", "a", "tau", "gravity", "fext", "Minv"},
    "floating": {"q", "v", "a", "tau", "h", "lambda_tau", "gravity"},
    "given": {"q", "v", "tau", "h", "lambda_a", "gravity", "base_v", "base_a"},
    "any": {"q", "v", "a", "tau", "h", "gravity", "fext", "base_a", "base_held"},
}


def outside_words(design, function, arrays, extended):
    """Return the arrays with a number of each row outside, and for each row its word, value and bounds."""
    changed, rows = {name: array.copy() for name, array in arrays.items()}, []
    for word in design.interface.inputs(function, extended):
        name = WordName.parse(word.name)
        if word.lowest is None or name.array == "parameters":
            continue
        i, j = (0, 0, *name.index)[-2:]
        bounds = design.domain.bounds[name.array]
        lower, upper = bounds[i * design.robot.nv + j if name.array == "Minv" else j].tolist()
        changed[name.array][(len(rows), *name.index)] = value = lower - (upper - lower) - 0.01
        rows.append((word.name, value, lower, upper))
    return changed, rows


@pytest.mark.parametrize("name", ["forces", *map(long, ("floating", "any", "kinds", "given"))])
def test_any_number_outside_its_domain_is_named_with_its_value_and_its_bounds(name):
    design, seen = design_of(name), set()
    for function in design.functions:
        arrays, extended = tasks_of(design, 100), FUNCTIONS[function].takes_inverse
        if extended:
            arrays |= golden.evaluate(design.robot, "minv", arrays)
        changed, rows = outside_words(design, function, arrays, extended)
        causes = [
            cause for cause in diagnose(design, function, changed, extended) if cause.status == "outside"
        ]
        causes.sort(key=lambda cause: cause.task)
        assert [
            (cause.signal.split(" ")[0], cause.value, cause.lower, cause.upper) for cause in causes
        ] == rows
        assert [(cause.task, cause.tasks) for cause in causes] == [(k, 1) for k in range(len(rows))]
        assert all(cause.remedy for cause in causes)
        seen |= {WordName.parse(word).array for word, *_ in rows}
    assert seen == ARRAYS_OF[name]


def test_an_inertial_parameter_is_named():
    design = design_of("any")
    arrays = tasks_of(design, 4)
    arrays["parameters"][:] = nominal_parameters(design.robot)
    arrays["parameters"][1, 0, 0] *= 1.5
    causes = [cause for cause in diagnose(design, "step", arrays) if cause.status == "outside"]
    assert [(cause.signal, cause.task, cause.remedy) for cause in causes][:1] == [
        (
            f"parameters[0] ({design.robot.loaded.names[0]})",
            1,
            "widen [parameters] in generate's --domain file",
        )
    ]
    assert causes[0].value == held_values(design.robot, arrays["parameters"])[1, 0] > causes[0].upper
    assert (causes[0].lower, causes[0].upper) == tuple(held_bounds(design.robot)[0])


@pytest.mark.parametrize(
    ("name", "array", "index", "signal", "remedy"),
    [
        ("floating", "q", 1, "q[1] (joint 'root_joint', y)", "choose an origin nearer to the base"),
        ("floating", "q", 5, "q[5] (joint 'root_joint', qz)", "bring [x y z w] to unit length"),
        ("floating", "h", (), "h", f"widen [integration] time_step {WHEN_OUTSIDE}"),
        ("any", "base_a", 5, "base_a[5]", f"widen [base] angular_acceleration {WHEN_OUTSIDE}"),
        ("any", "base_held", (), "base_held", "set it to 1 to hold the base, or to 0 to let it float"),
    ],
)
def test_the_remedy_for_a_number_of_a_step(name, array, index, signal, remedy):
    design = design_of(name)
    arrays = tasks_of(design, 4)
    arrays[array][(3, index) if index != () else 3] = -50.0
    (cause,) = (cause for cause in diagnose(design, "step", arrays) if cause.status == "outside")
    assert (cause.signal, cause.remedy) == (signal, remedy)


def test_the_multiplier_of_a_joint_and_of_a_base():
    design = design_of("floating")
    arrays = tasks_of(design, 4)
    arrays["lambda_tau"][1, [0, 7]] = 9.0
    remedies = {
        cause.signal: cause.remedy for cause in diagnose(design, "hid", arrays) if cause.status == "outside"
    }
    assert remedies == {
        "lambda_tau[0] (joint 'root_joint', vx)": f"widen [default] multiplier {WHEN_OUTSIDE}",
        "lambda_tau[7] (joint 'elbow')": f"widen [joints.elbow] multiplier {WHEN_OUTSIDE}",
    }


def test_an_effort_and_a_gravity(floating):
    arrays = tasks_of(floating)
    arrays["tau"][0, 6] = 1e4
    arrays["gravity"][1] *= 3.0
    remedies = {c.signal: c.remedy for c in diagnose(floating, "fd", arrays) if c.status == "outside"}
    assert remedies.pop("tau[6] (joint 'shoulder')") == f"widen [joints.shoulder] effort {WHEN_OUTSIDE}"
    assert remedies
    assert set(remedies.values()) == {"generate with the larger --gravity"}


def test_a_given_base(given):
    arrays = tasks_of(given)
    arrays["base_v"][2, 4] = 100.0
    (cause,) = (cause for cause in diagnose(given, "id", arrays) if cause.status == "outside")
    assert (cause.signal, cause.task) == ("base_v[4]", 2)
    assert cause.remedy == f"widen [base] angular_velocity {WHEN_OUTSIDE}"


def test_a_supplied_inverse(floating):
    arrays = tasks_of(floating) | {"Minv": np.zeros((8, 8, 8))}
    arrays["Minv"][3, 7, 7] = 1e6
    (cause,) = (c for c in diagnose(floating, "difd", arrays, extended=True) if c.status == "outside")
    assert cause.signal == "Minv[7,7]"
    assert cause.remedy == "expected the inverse of a mass matrix of this robot"


def test_a_quaternion_of_another_length(floating):
    arrays = tasks_of(floating)
    arrays["q"][4, 3:7] *= 0.5
    causes = [cause for cause in diagnose(floating, "id", arrays) if cause.status == "overflow"]
    words = encode(floating, "id", arrays)
    flagged = np.flatnonzero(respond(floating, "id", words)[0]).tolist()
    assert sum(cause.tasks for cause in causes) == len(flagged)
    length = np.linalg.norm(arrays["q"][4, 3:7])
    assert [cause.text for cause in causes if "quaternion" in cause.signal] == [
        f"id: overflow: quaternion length of joint 'root_joint' is {length:.6g} in task 4, expected "
        "0.999512 to 1.00049 (1 task); bring [x y z w] to unit length"
    ]


def test_every_flagged_task_has_a_cause(floating):
    """Beyond the domain values overflow: each flagged task counts once, for its first overflow."""
    arrays = tasks_of(floating, 64)
    for name in ("v", "a", "tau"):
        arrays[name] *= 20.0
    for function in ("id", "fd"):
        words = encode(floating, function, arrays)
        status, _ = respond(floating, function, words)
        causes = diagnose(floating, function, arrays)
        overflows = [cause for cause in causes if cause.status == "overflow"]
        assert sum(cause.tasks for cause in overflows) == np.count_nonzero(status & 2) > 0
        assert all(cause.value < cause.lower or cause.value > cause.upper for cause in causes)
        regions = {str(operation.region) for operation in floating.programs[0].operations}
        results = {word.name for word in floating.programs[0].outputs[function]}
        for cause in overflows:
            assert cause.signal in results or cause.signal.rpartition(" of ")[2] in regions


def test_rows_name_the_tasks(floating):
    arrays = tasks_of(floating, 1)
    arrays["q"][0, 7] = 100.0
    (cause,) = diagnose(floating, "m", arrays, rows=np.array([123]))
    assert cause.task == 123
    assert diagnose(floating, "m", {name: array[:0] for name, array in arrays.items()}) == ()


def test_causes_of_pieces_are_merged():
    first = Cause("id", "outside", "q[0]", 2, 7, 3.0, -1.0, 1.0, "rad", "widen")
    second = replace(first, tasks=5, task=70, value=-4.0)
    other = replace(first, function="fd", tasks=9)
    assert merge_causes([first, second, other]) == (other, replace(second, tasks=7))
