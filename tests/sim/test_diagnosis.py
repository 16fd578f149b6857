"""The causes of flagged tasks: inputs outside their domain, overflows, quaternions not of unit length."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw.config import BuildOptions, Mounting
from rbdhw.domain.sampling import sample
from rbdhw.explore.search import make_plan
from rbdhw.frontend.base import load_mounted, mount
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robot.model import Inertia
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.sim.diagnosis import Cause, diagnose, merge_causes
from rbdhw.sim.model import respond
from rbdhw.sim.packets import encode

WHEN_OUTSIDE = "in generate's --domain file"


@pytest.fixture(scope="module")
def floating():
    """Return the model of a floating toy: external forces, gravity in the task, and all functions."""
    toy = replace(load_urdf(path("toy")), base_inertia=Inertia(3.0, rotational=(0.1, 0, 0, 0.2, 0, 0.3)))
    options = BuildOptions(functions=DEFAULT_FUNCTIONS, width=20, fext="all", ii=4, samples=256)
    return make_plan(mount(toy, Mounting("floating", gravity="task")), options).accelerator


@pytest.fixture(scope="module")
def given():
    options = BuildOptions(functions=("id",), width=20, mounting=Mounting("given"), ii=4, samples=256)
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
    found = [cause for cause in diagnose(floating, "id", arrays) if cause.status == "outside"]
    assert [(c.signal, c.tasks, c.task, c.value) for c in found] == [(signal, 2, 5, 1.5 * upper)]
    assert (found[0].lower, found[0].upper) == (lower, upper)
    assert found[0].remedy == f"widen {entry} {WHEN_OUTSIDE}"
    assert found[0].text == (
        f"id: outside the domain: {signal} is {1.5 * upper:.6g} {found[0].unit} in task 5, expected "
        f"{lower:.6g} to {upper:.6g} {found[0].unit} (2 tasks, this the farthest); widen {entry} "
        f"{WHEN_OUTSIDE}"
    )


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
    for function in ("id", "fd", "dfd"):
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
