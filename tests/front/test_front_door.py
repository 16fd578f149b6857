"""The front door: generate, info, load and simulate of `rbdhw`, beside the commands of the same names."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import rbdhw
from rbdhw.errors import InputError
from rbdhw.robots import path

SMALL = {"functions": "id", "ii": 4, "width": 18, "tdata": 64}
FLAGS = ("--functions", "id", "--ii", 4, "--width", 18, "--tdata", 64)


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    return rbdhw.generate(path("toy"), tmp_path_factory.mktemp("front") / "toy", **SMALL)


def test_a_folder_is_that_of_the_command(generated, tmp_path, rbdhw):
    status, out, _ = rbdhw("generate", path("toy"), "-o", tmp_path / "toy", *FLAGS)
    written = {file.name: file.read_bytes() for file in (tmp_path / "toy").iterdir()}
    assert written == {file.name: file.read_bytes() for file in generated.folder.iterdir() if file.is_file()}
    assert (status, json.loads(written["manifest.json"])) == (0, dict(generated))
    assert repr(generated).partition("125 MHz")[2] == out.rstrip("\n").partition("125 MHz")[2] != ""


def test_it_loads_and_computes(generated):
    accelerator = generated.load()
    one = accelerator.id(np.zeros(2), np.zeros(2), np.zeros(2))
    assert (one.status, one.tau.shape) == (0, (2,))
    assert rbdhw.load(generated.folder, "golden").id(*np.zeros((3, 2))).tau == pytest.approx(one.tau, abs=0.1)


def test_a_simulation(generated):
    report = rbdhw.simulate(generated.folder, tasks=40, seed=3, bulk=True)
    assert report.ok
    assert (report["tasks"], report["mismatches"]) == (40, 0)
    assert "40 tasks" in repr(report)


def test_a_description(rbdhw):
    import rbdhw as package

    description = package.info(path("toy"), functions=("id",))
    status, out, _ = rbdhw("info", path("toy"), "--functions", "id")
    assert (status, repr(description)) == (0, out.rstrip("\n"))
    assert description["robot"]["name"] == "toy"


@pytest.mark.parametrize("result", ["generated", "described"])
def test_a_notebook_draws_tables(generated, result):
    shown = generated if result == "generated" else rbdhw.info(path("toy"), functions="id")
    page = ET.fromstring(f"<div>{shown._repr_html_().replace('<br>', '<br/>')}</div>")
    assert len(page.findall("table")) >= 2
    assert all(len(row) == len(table.find("thead/tr")) for table in page.findall("table") for row in table[1])


def test_software(tmp_path):
    software = rbdhw.generate(path("toy"), tmp_path / "c", functions=["id"], target="c")
    assert "in C" in repr(software)
    assert software.load("float32").id(*np.zeros((3, 2))).status == 0


@pytest.mark.parametrize("call", [rbdhw.simulate, rbdhw.power])
@pytest.mark.parametrize("name", ["tasks", "seed"])
def test_numbers_of_tasks_are_whole(generated, call, name):
    with pytest.raises(InputError, match=f"{name}: 2.5; expected a whole number"):
        call(generated.folder, **{name: 2.5})


def test_a_refused_function_names_all_that_can_be_asked_for(tmp_path):
    with pytest.raises(InputError, match=r"'kinn' is unknown; .* id, .*, rollout, solve, mppi"):
        rbdhw.generate(path("toy"), tmp_path / "toy", functions="id,kinn")


def test_what_is_refused_is_the_same(tmp_path, told):
    with pytest.raises(InputError) as refusal:
        rbdhw.generate(path("toy"), tmp_path / "toy", width=40)
    assert told("generate", path("toy"), "-o", tmp_path / "toy", "--width", 40) == str(refusal.value)
    with pytest.raises(InputError, match="option 'functoins': is unknown; expected one of functions"):
        rbdhw.info(path("toy"), functoins="id")
