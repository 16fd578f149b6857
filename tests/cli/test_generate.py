"""`generate` and `run`: what they print, write, keep and answer."""

import json
from pathlib import Path

import numpy as np
import pytest

from rbdhw.cli.process import BAD_INPUT
from rbdhw.design.folder import read
from rbdhw.design.replacement import COMPANIONS, FILES
from rbdhw.domain.sampling import sample
from rbdhw.protocol import FUNCTIONS
from rbdhw.robots import path
from rbdhw.runtime.build_folder import make_build_folder

pytestmark = pytest.mark.usefixtures("without_verilog")

TOY = path("toy")
TASKS = 50
WRITTEN = {*FILES, *COMPANIONS} - {"accelerator.lpf"}
"""The files in a design folder for the default target."""


def test_a_design_that_floats_is_told_with_its_joints(rbdhw, tmp_path):
    command = ("generate", TOY, "-o", tmp_path / "out", "--functions", "m", "--width", 18)
    status, out, _ = rbdhw(*command, "--base", "floating")
    assert status == 0
    counted = "toy (2 joints and a floating base, 8 degrees of freedom) for xcvu9p"
    assert " ".join(out.split()).startswith(counted)


def test_options_that_are_not_given_are_the_default(rbdhw, tmp_path):
    command = ("generate", TOY, "-o", tmp_path / "out", "--functions", "m", "--width", 18)
    _, out, _ = rbdhw(*command)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "II 1: the default\n" in out
    assert "asked for" not in out
    assert manifest["interval"]["why"] == manifest["parts"][0]["cores"]["why"] == "the default"
    assert manifest["parts"][0]["cores"]["asked"] == "pipeline"
    _, out, _ = rbdhw(*command, "--ii", 1, "--core", "pipeline")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "II 1: asked for\n" in out
    assert manifest["interval"]["why"] == manifest["parts"][0]["cores"]["why"] == "asked for"


def test_builds_of_an_earlier_design_go_with_it(rbdhw, tmp_path):
    folder = tmp_path / "out"
    command = ("generate", TOY, "-o", folder, "--functions", "m")
    assert rbdhw(*command, "--width", 18)[0] == 0
    (make_build_folder(folder, "sim") / "simulator").write_text("of the earlier design")
    before = (folder / "accelerator.v").read_bytes()
    assert rbdhw(*command, "--max-error", "1e-12")[0] == BAD_INPUT
    assert (folder / "build-sim" / "simulator").read_text() == "of the earlier design"
    assert (folder / "accelerator.v").read_bytes() == before
    assert rbdhw(*command, "--width", 20)[0] == 0
    assert {file.name for file in folder.iterdir()} == WRITTEN
    assert (folder / "accelerator.v").read_bytes() != before


def test_limbs_that_share_are_told_by_info_and_generate(rbdhw, tmp_path):
    status, out, _ = rbdhw("info", path("hyq"), "--functions", "id")
    assert status == 0
    assert "limbs alike: lf_hipassembly" in out
    command = ("generate", path("hyq"), "-o", tmp_path / "out", "--functions", "m", "--width", 18, "--ii", 4)
    status, out, _ = rbdhw(*command, "--share-limbs", "on")
    assert status == 0
    assert "share-limbs=on" in out
    assert "share-limbs=off" in out
    status, _, err = rbdhw(*command, "--share-limbs", "both")
    assert (status, err) == (2, "rbdhw: share-limbs: 'both' is unknown; expected one of auto, on, off\n")


def test_generate_prints_the_manifest(rbdhw, tmp_path):
    arguments = ("--functions", "id", "--ii", 3, "--json")
    status, out, err = rbdhw("generate", TOY, "-o", tmp_path / "out", *arguments)
    assert (status, err) == (0, "")
    assert json.loads(out) == json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert json.loads(out)["ii"] == 3
    assert {file.name for file in (tmp_path / "out").iterdir()} == WRITTEN


def test_a_build_of_several_functions_answers_each(rbdhw, tmp_path):
    folder, states = tmp_path / "out", tmp_path / "states.npz"
    functions = ("id", "minv", "did")
    command = ("generate", TOY, "-o", folder, "--functions", ",".join(functions), "--width", 27)
    assert rbdhw(*command, "--number", "float32")[0] == 0
    design = read(folder)
    arrays = sample(design.robot, design.domain, TASKS, np.random.default_rng(5), design.fext)
    del arrays["fext"]
    for function in functions:
        told = FUNCTIONS[function]
        np.savez(states, **{name: arrays[name] for name in told.inputs if name in arrays})
        names = {*told.outputs, *told.optional_outputs}
        results = {}
        for engine in ("model", "golden"):
            file = tmp_path / f"{engine}.npz"
            command = ["run", folder, function, "--input", states, "--output", file, "--engine", engine]
            command += ["--extended"] if told.optional_outputs else []
            assert rbdhw(*command)[0] == 0
            with np.load(file) as archive:
                results[engine] = {name: archive[name] for name in archive}
        assert set(results["model"]) == set(results["golden"]) == {*names, "status"}
        assert not results["model"]["status"].any()
        for name in names:
            largest = np.abs(results["golden"][name]).max()
            difference = np.abs(results["model"][name] - results["golden"][name]).max()
            assert 0.0 < difference < 1e-3 * largest, (function, name)


def test_an_inverse_that_a_build_cannot_take_is_refused(rbdhw, tmp_path):
    folder, states = tmp_path / "out", tmp_path / "states.npz"
    command = ("generate", TOY, "-o", folder, "--functions", "difd", "--width", 18)
    assert rbdhw(*command, "--algorithm", "products=solves")[0] == 0
    zeros = np.zeros((1, 2))
    np.savez(states, q=zeros, v=zeros, a=zeros, Minv=np.eye(2)[np.newaxis])
    status, _, err = rbdhw("run", folder, "difd", "--input", states, "--output", tmp_path / "r.npz")
    assert status == BAD_INPUT
    assert err == (
        f"rbdhw: {states}, array 'Minv': this build solves with factors of its own; "
        "expected none; generate with --algorithm products=dense to give it\n"
    )
    assert not (tmp_path / "r.npz").exists()


def test_generate_then_run(rbdhw, tmp_path):
    folder, states = tmp_path / "out", tmp_path / "states.npz"
    command = ("generate", TOY, "-o", folder, "--functions", "id", "--width", 18, "--fext", "all")
    assert rbdhw(*command)[0] == 0
    design = read(folder)
    arrays = sample(design.robot, design.domain, TASKS, np.random.default_rng(5), design.fext)
    np.savez(states, **{name: arrays[name] for name in ("q", "v", "a", "fext")})
    tau = {}
    for engine in ("model", "golden"):
        results = tmp_path / f"{engine}.npz"
        command = ("run", folder, "id", "--input", states, "--output", results, "--engine", engine)
        status, out, err = rbdhw(*command, "--json")
        assert (status, err) == (0, "")
        assert json.loads(out) == {
            "tasks": TASKS, "flagged": 0, "causes": [], "ignored": [], "warnings": []
        }  # fmt: skip
        with np.load(results) as archive:
            assert sorted(archive) == ["status", "tau"]
            assert not archive["status"].any()
            tau[engine] = archive["tau"]
    assert tau["golden"].shape == (TASKS, 2)
    errors = np.linalg.norm(tau["model"] - tau["golden"], axis=1) / np.linalg.norm(tau["golden"], axis=1)
    assert 0.0 < np.median(errors) < 1e-4
    assert errors.max() < 5e-3


def test_loops_that_could_be_embedded_are_told(rbdhw, tmp_path):
    urdf = Path(__file__).parents[1] / "robots" / "parallelogram.urdf"
    file, loop = tmp_path / "loops.toml", '[pin]\nfirst = "coupler@0.5:0:0"\nsecond = "rocker@0:0:0.3"\n'
    rule = "loops, pin: joints 'coupler_joint' and 'rocker_joint' follow 'crank_joint' exactly; embed = true"
    for entry, functions, expected, said in (
        ("", "cfd", 0, rule),
        ("embed = true", "fd", 0, ""),
        ("embed = true", "cfd", BAD_INPUT, "contacts: none given for cfd"),
        ("", "fd", BAD_INPUT, "no function of the build has contacts"),
    ):
        file.write_text(loop + entry)
        command = ("generate", urdf, "-o", tmp_path / "out", "--target", "c", "--loops", file)
        status, _, err = rbdhw(*command, "--functions", functions)
        assert status == expected
        assert said in err
        assert bool(said) == bool(err)
    file.write_text(loop)
    status, out, _ = rbdhw("info", urdf, "--loops", file, "--functions", "cfd", "--json")
    assert status == 0
    assert rule in out
