"""The folder of software: written whole, read back, loaded as an object, refused when changed."""

import json
from pathlib import Path

import numpy as np
import pytest

import rbdhw
from rbdhw.design import folder as design_folder
from rbdhw.design.software_manifest import SoftwareManifest
from rbdhw.errors import InputError
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate_software
from rbdhw.robots import path
from rbdhw.software.folder import read, write

FUNCTIONS = ("id", "dfd")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return a folder of each kind of software."""
    made = {target: tmp_path_factory.mktemp("software") / target for target in ("c", "cuda")}
    for target, folder in made.items():
        write(generate_software(path("toy"), BuildOptions(functions=FUNCTIONS, target=target)), folder)
    return made


@pytest.fixture
def folder(folders):
    return folders["c"]


def test_software_is_read_as_it_was_written(folder):
    software = read(folder)
    again = generate_software(path("toy"), BuildOptions(functions=FUNCTIONS, target="c"))
    assert (software.robot, software.sources) == (again.robot, again.sources)
    SoftwareManifest.model_validate(json.loads((folder / "manifest.json").read_text()))
    assert {entry.name for entry in folder.iterdir()} == {
        "dynamics.h", "batch.h", "rbdhw.hpp", "dynamics_id.c", "kernels_id.h", "dynamics_dfd.c",
        "kernels_dfd.h", "robot.json", "manifest.json",
    }  # fmt: skip


@pytest.mark.usefixtures("cuda_on_host")
@pytest.mark.parametrize(
    ("target", "number", "tolerance"),
    [("c", "float64", 1e-12), ("c", "float32", 1e-4), ("cuda", "float64", 1e-12)],
)
def test_software_is_loaded_as_an_object(folders, target, number, tolerance):
    q, v, tau = np.random.default_rng(0).uniform(-1, 1, (3, 20, 2))
    answer = rbdhw.load(folders[target], engine=number).dfd(q, v, tau, extended=True)
    golden = rbdhw.load(folders[target], engine="golden").dfd(q, v, tau, extended=True)
    assert answer._fields == golden._fields == ("da_dq", "da_dv", "Minv", "a", "status")
    for one, other in zip(answer, golden, strict=True):
        assert one == pytest.approx(other, rel=tolerance, abs=tolerance)


def test_an_engine_of_accelerators_is_refused(folder):
    with pytest.raises(InputError, match="one of float64, float32, golden"):
        rbdhw.load(folder, engine="rtl")


@pytest.mark.parametrize("name", ["dynamics_dfd.c", "kernels_id.h", "robot.json"])
def test_a_changed_file_is_refused(folder, tmp_path, name):
    for entry in folder.iterdir():
        (tmp_path / entry.name).write_bytes(entry.read_bytes())
    (tmp_path / name).write_text((tmp_path / name).read_text() + " ")
    with pytest.raises(InputError, match=name):
        rbdhw.load(tmp_path)


def test_software_is_no_accelerator(folder):
    with pytest.raises(InputError, match="is software"):
        design_folder.read(folder)


def test_the_command_line_writes_it(rbdhw, tmp_path):
    status, out, err = rbdhw(
        "generate", path("toy"), "-o", tmp_path / "made", "--target", "c", "--functions", "m"
    )
    assert (status, err) == (0, "")
    assert "toy (2 joints) in C" in out
    status, out, _ = rbdhw(
        "generate", path("toy"), "-o", tmp_path / "made", "--target", "c", "--functions", "id", "--json"
    )
    assert list(json.loads(out)["functions"]) == ["id"]
    assert "rbdhw_m(" not in Path(tmp_path / "made" / "dynamics.h").read_text()
    assert not (tmp_path / "made" / "dynamics_m.c").exists()


def test_the_command_line_writes_cuda(rbdhw, tmp_path):
    options = ("-o", tmp_path / "made", "--target", "cuda", "--functions", "m")
    status, out, err = rbdhw("generate", path("toy"), *options)
    assert (status, err) == (0, "")
    assert "toy (2 joints) in CUDA" in out


def test_hardware_options_are_refused(told, tmp_path):
    line = told("generate", path("toy"), "-o", tmp_path / "made", "--target", "c", "--width", 18)
    assert line.startswith("width: has no effect with --target c")
    assert not (tmp_path / "made").exists()
