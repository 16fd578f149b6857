"""An object holds one design: when its folder is generated anew, copied, and in another process."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rbdhw
from rbdhw.design.folder import write
from rbdhw.errors import InputError
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import generate
from rbdhw.robots import path

pytestmark = pytest.mark.usefixtures("without_verilog")

Q = np.array([0.3, -0.2])


def generated(width, functions=("id",)):
    options = BuildOptions(
        functions=functions,
        width=width,
        ii=4,
        samples=128,
        mounting=Mounting(parameters="payload"),
        horizon=8,
    )
    return generate(path("toy"), options)


@pytest.fixture(scope="module")
def designs():
    """Two designs of one robot."""
    return [generated(width, ("id", "step")) for width in (24, 20)]


@pytest.fixture
def folder(tmp_path, designs):
    write(designs[0], tmp_path / "toy")
    return tmp_path / "toy"


def h(acc):
    return acc.rollout(Q, Q, np.zeros((3, 2)), 0.001).states


@pytest.mark.parametrize("engine", ["model", "numpy", "golden"])
def test_an_object_keeps_its_design_when_the_folder_is_generated_anew(folder, designs, engine):
    acc, other = rbdhw.load(folder, engine), rbdhw.load(folder, engine)
    expected = acc.id(Q, Q, Q).tau, acc.step(Q, Q, Q, 0.001).x_next, h(acc)
    write(designs[1], folder)
    results = other.id(Q, Q, Q).tau, other.step(Q, Q, Q, 0.001).x_next, h(other)
    assert all(map(np.array_equal, results, expected))


@pytest.mark.parametrize("call", [lambda acc: acc.id(Q, Q, Q), h], ids=["id", "rollout"])
def test_verilog_of_another_design_is_not_simulated(folder, designs, call):
    acc = rbdhw.load(folder, "rtl")
    write(designs[1], folder)
    with pytest.raises(InputError) as refusal:
        call(acc)
    assert str(refusal.value) == (
        f"{folder}: was generated anew since it was loaded; expected the same design; load it again"
    )


def test_results_are_pickled(folder):
    acc = rbdhw.load(folder, "golden")
    for found in (acc.id(Q, Q, Q), acc.rollout(Q, Q, np.zeros((3, 2)), 0.001)):
        again = pickle.loads(pickle.dumps(found))
        assert type(again) is type(found)
        assert again._fields == found._fields
        assert all(map(np.array_equal, again, found))


def test_an_object_is_pickled_by_folder_and_design(folder, designs):
    acc = rbdhw.load(folder, "numpy")
    acc.load_payload(0.2)
    text = pickle.dumps(acc)
    again = pickle.loads(text)
    assert (again.engine, again.folder) == (acc.engine, acc.folder)
    assert np.array_equal(again.id(Q, Q, Q).tau, acc.id(Q, Q, Q).tau)
    write(designs[1], folder)
    with pytest.raises(InputError, match="was generated anew since it was loaded"):
        pickle.loads(text)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_has_parameters_of_its_own(folder, designs, copied):
    acc = rbdhw.load(folder, "numpy")
    before = acc.id(Q, Q, Q).tau
    twin = copied(acc)
    write(designs[1], folder)  # a copy reads nothing
    twin.load_payload(0.2)
    assert np.array_equal(acc.id(Q, Q, Q).tau, before)
    assert not np.array_equal(twin.id(Q, Q, Q).tau, before)


def torque(acc):
    return acc.id(Q, Q, Q).tau


@pytest.mark.verify
def test_a_process_that_is_spawned_takes_an_object(folder):
    acc = rbdhw.load(folder)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (result,) = pool.map(torque, [acc])
    assert np.array_equal(result, torque(acc))


def test_threads_share_an_object(folder):
    acc, rng = rbdhw.load(folder), np.random.default_rng(0)
    tasks = rng.uniform(-0.5, 0.5, (32, 3, 2))
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda task: acc.id(*task).tau, tasks))
    assert np.array_equal(results, acc.id(*tasks.swapaxes(0, 1)).tau)
