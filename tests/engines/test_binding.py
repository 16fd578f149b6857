"""Bindings: equal to the engine in every bit, and never in place of a refusal, a conversion or a flag."""

import sys
import tracemalloc

import numpy as np
import pytest

import rbdhw
from rbdhw.design import folder as design_folder
from rbdhw.engines import binding
from rbdhw.errors import InputError
from rbdhw.model.packets import NOT_FINITE
from rbdhw.options.arguments import asked_build
from rbdhw.pipeline import generate, generate_software
from rbdhw.robot.pinocchio import UNIT_SLACK
from rbdhw.robots import path
from rbdhw.software import folder as software_folder

pytestmark = pytest.mark.usefixtures("without_verilog")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return a folder of C with optional results, one on a floating base, and one of an accelerator."""
    root = tmp_path_factory.mktemp("binding")
    for name, asked in {
        "c": {"functions": "id,dfd,difd,step", "target": "c"},
        "floating": {"functions": "id", "target": "c", "base": "floating"},
        "touching": {"functions": "cfd,cstep", "contacts": "tip:point", "target": "c"},
    }.items():
        software_folder.write(generate_software(path("toy"), asked_build(**asked)[0]), root / name)
    options, overrides = asked_build(functions="id,fd", width=18, ii=2)
    design_folder.write(generate(path("toy"), options, overrides), root / "model")
    return root


def numbers(accelerator, *names, tasks=None):
    """Return random arrays of a call, of one task or of some."""
    rng, robot = np.random.default_rng(3), accelerator.robot
    lead = () if tasks is None else (tasks,)
    arrays = [
        np.array(rng.uniform(-0.9, 0.9, (*lead, robot.nq if name == "q" else robot.nv))) for name in names
    ]
    if robot.floats:
        arrays[0][..., 3:7] /= np.linalg.norm(arrays[0][..., 3:7], axis=-1, keepdims=True)
    return arrays


def through_engine(accelerator, function, names, arrays):
    return accelerator._call(function, dict(zip(names, arrays, strict=True)), False)


@pytest.mark.parametrize(
    ("folder", "engine", "function", "names"),
    [
        ("c", "float64", "id", ("q", "v", "a")),
        ("c", "float32", "dfd", ("q", "v", "tau")),
        ("c", "float64", "difd", ("q", "v", "a")),
        ("floating", "float64", "id", ("q", "v", "a")),
        ("model", "model", "fd", ("q", "v", "tau")),
    ],
)
@pytest.mark.parametrize("tasks", [None, 1, 7])
def test_it_equals_the_engine(folders, folder, engine, function, names, tasks):
    accelerator = rbdhw.load(folders / folder, engine)
    arrays = numbers(accelerator, *names, tasks=tasks)
    expected = through_engine(accelerator, function, names, arrays)
    quick = accelerator._binding(function, list(names))(*arrays)
    assert type(quick) is type(expected)
    assert type(quick.status) is type(expected.status)
    for mine, theirs in zip(quick, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert np.asarray(mine).dtype == np.asarray(theirs).dtype
    np.testing.assert_array_equal(getattr(accelerator, function)(*arrays)[0], expected[0])


def test_what_it_does_not_take(folders):
    """Each of these is answered or refused by the engine."""
    accelerator = rbdhw.load(folders / "c")
    q, v, a = numbers(accelerator, "q", "v", "a")
    call = accelerator._binding("id", ["q", "v", "a"])
    assert call(q, v, a) is not None
    for other in (
        a.astype(np.float32),
        a.astype(int),
        a[:1],
        np.tile(a, (2, 1)),
        a[::-1],
        list(a),
        a.astype(">f8"),
    ):
        assert call(q, v, other) is None
    for wrong in (np.nan, np.inf, -np.inf, 1e16):
        assert call(q, v, np.array([0.0, wrong])) is None
    many = [np.tile(array, (5000, 1)) for array in (q, v, a)]
    empty = [array[:0] for array in many]
    assert (call(*many), call(*empty), call(q, v), call(q, v, a, a), call()) == (None,) * 5
    assert len(accelerator.id(*many).status) == 5000
    damaged = accelerator.id(q, v, np.array([0.0, np.nan]))
    assert (np.isnan(damaged.tau).all(), damaged.status) == (True, NOT_FINITE)
    assert accelerator.id(list(q), v, a).tau == pytest.approx(accelerator.id(q, v, a).tau, abs=0.0)


def test_a_quaternion_of_another_length_goes_to_the_engine(folders):
    accelerator = rbdhw.load(folders / "floating")
    q, v, a = numbers(accelerator, "q", "v", "a")
    call = accelerator._binding("id", ["q", "v", "a"])
    near, far = q.copy(), q.copy()
    near[3:7] *= 1.0 + 0.5 * UNIT_SLACK
    far[3:7] *= 1.0 + 2.0 * UNIT_SLACK
    assert call(near, v, a) is not None
    assert call(far, v, a) is None
    assert accelerator.id(far, v, a).status == 2


@pytest.mark.parametrize(
    ("function", "names"), [("cfd", ("q", "v", "tau")), ("cstep", ("q", "v", "tau", "h"))]
)
def test_contacts_are_chosen_by_name_or_all(folders, monkeypatch, function, names):
    accelerator = rbdhw.load(folders / "touching")
    arrays = [*numbers(accelerator, "q", "v", "tau"), np.array(0.001)][: len(names)]
    expected = [
        through_engine(accelerator, function, (*names, "contact"), (*arrays, np.array([on])))
        for on in (0.0, 1.0)
    ]
    assert not np.array_equal(expected[0][0], expected[1][0])
    odd = {"contact": np.array([0.5])}
    with pytest.raises(InputError, match="contact"):
        getattr(accelerator, function)(*arrays, **odd)
    monkeypatch.setattr(type(accelerator), "_call", None)  # the binding answers alone
    call = getattr(accelerator, function)
    free, held, named = call(*arrays, contact=np.zeros(1)), call(*arrays), call(*arrays, contact=np.ones(1))
    for quick, slow in ((free, expected[0]), (held, expected[1]), (named, expected[1])):
        np.testing.assert_array_equal(quick[0], slow[0])


def test_a_time_step_is_an_input_without_an_axis(folders):
    accelerator = rbdhw.load(folders / "c")
    q, v, tau = numbers(accelerator, "q", "v", "tau", tasks=3)
    h = np.full(3, 0.001)
    quick = accelerator._binding("step", ["q", "v", "tau", "h"])(q, v, tau, h)
    expected = through_engine(accelerator, "step", ("q", "v", "tau", "h"), (q, v, tau, h))
    np.testing.assert_array_equal(quick.x_next, expected.x_next)


def test_nothing_leaks(folders):
    """Memory and references are as before, for answered calls and for others."""
    accelerator = rbdhw.load(folders / "c", "float32")
    arrays = numbers(accelerator, "q", "v", "tau")
    call = accelerator._binding("dfd", ["q", "v", "tau"])
    bad = [*arrays[:2], np.full_like(arrays[2], np.nan)]
    counts = [sys.getrefcount(array) for array in (*arrays, bad[2])]
    tracemalloc.start()
    try:
        call(*arrays)
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(1000):
            call(*arrays)
            call(*bad)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 1000
    assert [sys.getrefcount(array) for array in (*arrays, bad[2])] == counts


def test_without_pythons_headers_the_engine_answers(folders, monkeypatch):
    monkeypatch.setattr(binding, "_module", lambda: None)
    accelerator = rbdhw.load(folders / "c")
    arrays = numbers(accelerator, "q", "v", "a")
    assert accelerator._binding("id", ["q", "v", "a"]) is binding.decline
    assert accelerator.id(*arrays).tau.shape == (accelerator.robot.nv,)
