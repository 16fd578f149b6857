"""Rows of derivatives that follow by the time step: equal numbers of all engines, and of a client."""

import json
import subprocess
from functools import cache
from itertools import product

import numpy as np
import pytest

import rbdhw
from rbdhw.design.folder import read, write
from rbdhw.model.packets import encode, responses
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import generate
from rbdhw.robots import path
from tests.support.compilers import compiled
from tests.support.documents import client_of
from tests.support.marks import long

NV, TASKS = 2, 9
BUILDS = {
    "by task": BuildOptions(("dstep",), ii=4, width=18, samples=256),
    "singles": BuildOptions(("dstep",), ii=4, width=18, samples=256, number="float32"),
    "one step": BuildOptions(("dstep",), ii=4, width=18, samples=256, mounting=Mounting(time_step=0.003)),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the folder of a build."""

    @cache
    def made(name):
        folder = tmp_path_factory.mktemp("dstep") / "toy"
        write(generate(path("toy"), BUILDS[name]), folder)
        return folder

    return made


@pytest.fixture(params=["by task", long("singles"), long("one step")])
def folder(request, made):
    return made(request.param)


def tasks_of(acc):
    """Return tasks of which one is outside the domain, and one has a number that is none."""
    rng = np.random.default_rng(4)
    q, v, tau = rng.uniform(-1.0, 1.0, (3, TASKS, NV))
    v[3, 1], q[5, 0] = 1e3, np.nan
    h = rng.uniform(0.001, 0.004, TASKS)
    return {"q": q, "v": v, "tau": tau} | ({"h": h} if acc.robot.time_step is None else {})


def assert_agrees(folder, engine):
    """Check that an engine's answers have the bits of the model's; return these, their tasks, and both."""
    model, acc = rbdhw.load(folder), rbdhw.load(folder, engine=engine)
    tasks = tasks_of(model)
    expected, answers = model.dstep(**tasks), acc.dstep(**tasks)
    assert np.flatnonzero(expected.status).tolist() == [3, 5]
    assert np.isnan(expected.A[5]).all()
    for array, result in expected._asdict().items():
        np.testing.assert_array_equal(getattr(answers, array), result, err_msg=array)
    return expected, tasks, model, acc


def test_the_interpreter_agrees_in_every_bit(folder):
    assert_agrees(folder, "numpy")


@pytest.mark.verify
@pytest.mark.parametrize("build", BUILDS)
def test_the_hardware_agrees_in_every_bit(made, build):
    expected, tasks, model, acc = assert_agrees(made(build), "driver")
    alone = {name: array[1] for name, array in tasks.items()}
    np.testing.assert_array_equal(acc.submit("dstep", **alone).result().A, expected.A[1])
    np.testing.assert_array_equal(model.dstep(**alone).B, expected.B[1])


def test_positions_are_the_step_times_velocities(folder):
    """Half of the words travel; the others are exact, but for double precision."""
    acc, design = rbdhw.load(folder), read(folder)
    elements = [e.name for word in design.interface.outputs("dstep")[4:] for e in word.elements]
    rows = product((("A", 4), ("B", 2)), (2, 3))
    assert elements == sorted(f"dstep.{name}[{i},{j}]" for (name, size), i in rows for j in range(size))
    tasks = tasks_of(acc)
    result, words = acc.dstep(**tasks), encode(design, "dstep", {**tasks, "q": np.nan_to_num(tasks["q"])})
    h = acc.robot.time_step
    if h is None:
        (word,) = (word for word in design.interface.inputs("dstep") if word.name == "h")
        h = word.format.real(words["h"])[:, np.newaxis, np.newaxis]
    good = np.arange(TASKS) != 5
    np.testing.assert_array_equal(result.A[good, :NV], (np.eye(NV, 2 * NV) + h * result.A[:, NV:])[good])
    np.testing.assert_array_equal(result.B[good, :NV], (h * result.B[:, NV:])[good])


def test_a_client_of_the_page_computes_them(folder):
    design, acc, client = read(folder), rbdhw.load(folder), client_of(folder)
    tasks = {name: array[:3] for name, array in tasks_of(acc).items()}
    status, words = respond(design, "dstep", encode(design, "dstep", tasks))
    expected = acc.dstep(**tasks)
    for k, packet in enumerate(responses(design, "dstep", np.arange(3), status, words)):
        beats = [int.from_bytes(beat.tobytes(), "little") for beat in packet]
        values = client.answer(beats, tasks["h"][k] if "h" in tasks else None)[3]
        for array in ("A", "B"):
            matrix = np.zeros_like(expected._asdict()[array][k])
            for index in np.ndindex(matrix.shape):
                name = f"dstep.{array}[{','.join(map(str, index))}]"
                matrix[index] = values.get(name, float(array == "A" and len(set(index)) == 1))
            np.testing.assert_array_equal(matrix, expected._asdict()[array][k])


READER = """
#include <stdio.h>
#include "model.h"
int main(void)
{
    double x_next[4], A[16], B[8];
    unsigned char answer[RBDHW_DSTEP_RESPONSE_BYTES];
    if (fread(answer, 1, sizeof answer, stdin) != sizeof answer)
        return 1;
    RBDHW_NAME(dstep_response)(answer, TIME x_next, A, B);
    fwrite(A, sizeof(double), 16, stdout), fwrite(B, sizeof(double), 8, stdout);
    return 0;
}
"""


def test_the_model_in_c_reads_responses(folder, tmp_path):
    design, acc = read(folder), rbdhw.load(folder)
    tasks = {name: array[:1] for name, array in tasks_of(acc).items()}
    status, words = respond(design, "dstep", encode(design, "dstep", tasks))
    answer = responses(design, "dstep", np.arange(1), status, words)
    step = "" if acc.robot.time_step else f"{tasks['h'][0].hex()},"
    program = compiled(tmp_path, design, READER.replace("TIME", step))
    done = subprocess.run([program], input=answer.tobytes(), capture_output=True, check=True)
    expected = acc.dstep(**tasks)
    numbers = np.concatenate([expected.A.ravel(), expected.B.ravel()])
    np.testing.assert_array_equal(np.frombuffer(done.stdout), numbers)


def test_a_client_refuses_a_manifest_of_before(folder, tmp_path):
    manifest = json.loads((folder / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"format": 2}))
    with pytest.raises(AssertionError, match="a manifest of another format"):
        client_of(tmp_path)
