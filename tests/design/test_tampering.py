"""Every command refuses a folder with a file that was changed or belongs to another design."""

import hashlib
import json
import shutil

import numpy as np
import pytest

from rbdhw.design.digests import KEY, MANIFEST, read_manifest, seal
from rbdhw.design.folder import read, write
from rbdhw.design.replacement import FILES, VERILOG
from rbdhw.errors import InputError
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.robots import path
from tests.support.designs import rail_design
from tests.support.marks import long

AFRESH = "expected the folder as it was written; run `rbdhw generate` with another folder"
CHANGED = (
    f"is not the file that manifest.json describes: it was changed or belongs to another design; {AFRESH}"
)


@pytest.fixture(scope="module")
def designs(tmp_path_factory):
    """A folder with the toy's design, and one with the design of another robot."""
    folder = tmp_path_factory.mktemp("designs")
    write(generate(path("toy"), BuildOptions(width=18, samples=16, target="ecp5-85")), folder / "toy")
    write(rail_design(bodies=2), folder / "rails")
    return folder


@pytest.fixture
def toy(designs, tmp_path):
    """A copy of the toy's folder, which tests can change."""
    return shutil.copytree(designs / "toy", tmp_path / "toy")


def edit(file, change):
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))


def flip_constant(data):
    """Change one bit of a constant of the program."""
    operation = next(operation for operation in data["programs"][0]["operations"] if operation[5])
    operation[5] ^= 1


def swap_words(data):
    """Exchange the slots of two words."""
    first, second = data["programs"][0]["inputs"][:2]
    first[7], second[7] = second[7], first[7]


EDITS = {
    "a constant": ("model.json", flip_constant),
    "a word's place": ("model.json", swap_words),
    "a word's bound": ("model.json", lambda data: data["programs"][0]["inputs"][0].__setitem__(6, 1)),
    "a format": ("model.json", lambda data: data["programs"][0]["operations"][-1].__setitem__(3, 0)),
    "a mass": ("robot.json", lambda data: data["bodies"][0]["inertia"].update(mass=2.5)),
    "gravity": ("robot.json", lambda data: data.update(gravity=[0.0, 0.0, -1.62])),
    "a bound": ("domain.json", lambda data: data["bounds"]["v"].__setitem__(0, [-1.0, 1.0])),
    "the bodies that take a force": ("domain.json", lambda data: data.update(fext=[0])),
}
MANIFEST_EDITS = {
    "a slot": lambda data: data["inputs"]["id"][0].update(slot=5),
    "a width": lambda data: data["outputs"]["id"][0].update(width=5),
    "the clock": lambda data: data.update(clock_mhz=1000.0),
    "the budget": lambda data: data.update(budget=1.0),
    "an entry more": lambda data: data.update(comment="by hand"),
    "an entry less": lambda data: data.pop("seed"),
    "a digest": lambda data: data[KEY].update({"model.json": 64 * "0"}),
    "its own digest": lambda data: data[KEY].update({MANIFEST: 64 * "0"}),
    "a digest less": lambda data: data[KEY].pop("robot.json"),
    "no digest of its own": lambda data: data[KEY].pop(MANIFEST),
}


@pytest.fixture(params=["run", long("simulate"), long("synthesize")])
def refusal_by_command(request, told, tmp_path):
    """A function that returns a command's refusal of a folder, and asserts that nothing is written."""
    states, out = tmp_path / "states.npz", tmp_path / "out.npz"
    np.savez(states, q=np.zeros((1, 2)), v=np.zeros((1, 2)), a=np.zeros((1, 2)))
    further = ("id", "--input", states, "--output", out) if request.param == "run" else ()

    def refusal_by_command(folder):
        before = sorted(folder.rglob("*"))
        line = told(request.param, folder, *further)
        assert sorted(folder.rglob("*")) == before
        assert not out.exists()
        return line

    return refusal_by_command


@pytest.mark.parametrize("case", EDITS)
def test_a_changed_file_is_refused(refusal_by_command, toy, case):
    name, change = EDITS[case]
    edit(toy / name, change)
    assert refusal_by_command(toy) == f"{toy / name}: {CHANGED}"


@pytest.mark.parametrize("refusal_by_command", ["simulate", "synthesize", "run"], indirect=True)
def test_changed_verilog_is_refused(refusal_by_command, toy):
    with (toy / VERILOG).open("a") as file:
        file.write("\n")
    assert refusal_by_command(toy) == f"{toy / VERILOG}: {CHANGED}"


@pytest.mark.parametrize("case", MANIFEST_EDITS)
def test_a_changed_manifest_is_refused(refusal_by_command, toy, case):
    edit(toy / MANIFEST, MANIFEST_EDITS[case])
    assert refusal_by_command(toy) == f"{toy / MANIFEST}: was changed after it was written; {AFRESH}"


@pytest.mark.parametrize("name", [name for name in FILES if name != MANIFEST])
def test_a_file_of_another_design_is_refused(refusal_by_command, toy, designs, name):
    shutil.copy(designs / "rails" / name, toy / name)
    assert refusal_by_command(toy) == f"{toy / name}: {CHANGED}"


def test_the_manifest_of_another_design_is_refused(refusal_by_command, toy, designs):
    shutil.copy(designs / "rails" / MANIFEST, toy / MANIFEST)
    assert refusal_by_command(toy) == f"{toy / VERILOG}: {CHANGED}"


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_refused(refusal_by_command, toy, name):
    (toy / name).unlink()
    assert (
        refusal_by_command(toy)
        == f"{toy / name}: no such file; expected a folder that `rbdhw generate` wrote"
    )


@pytest.mark.parametrize("name", [VERILOG, MANIFEST])
def test_a_folder_in_place_of_a_file_is_refused(refusal_by_command, toy, name):
    (toy / name).unlink()
    (toy / name).mkdir()
    expected = "is not a regular file; expected a folder that `rbdhw generate` wrote"
    assert refusal_by_command(toy) == f"{toy / name}: {expected}"


def test_a_manifest_without_digests_is_refused(refusal_by_command, toy):
    edit(toy / MANIFEST, lambda data: data.pop(KEY))
    assert refusal_by_command(toy) == f"{toy / MANIFEST}: has no digests of the design's files; {AFRESH}"


def test_the_white_space_of_a_manifest_does_not_matter(toy):
    design = read(toy)
    manifest = json.loads((toy / MANIFEST).read_text())
    (toy / MANIFEST).write_text(json.dumps(dict(reversed(manifest.items())), indent=7))
    assert read(toy).manifest == design.manifest
    assert KEY not in design.manifest


def test_every_file_has_a_digest(toy):
    digests = json.loads((toy / MANIFEST).read_text())[KEY]
    assert set(digests) == {file.name for file in toy.iterdir()} >= set(FILES)
    assert all(len(digest) == 64 for digest in digests.values())


def test_a_space_at_the_end_of_any_file_is_detected(toy):
    for file in sorted(toy.iterdir()):
        before = file.read_bytes()
        file.write_bytes(before + b" ")
        if file.name == MANIFEST:  # its digest is that of its content, not of its text
            assert read_manifest(toy)
        else:
            with pytest.raises(InputError) as refusal:
                read_manifest(toy)
            assert str(refusal.value) == f"{file}: {CHANGED}"
        file.write_bytes(before)


def test_a_manifest_of_any_depth_is_refused(tmp_path):
    """At some depth it can be read, but not written again for its digest."""
    for depth in (10, *range(900, 1000)):
        text = f'{{"a": {depth * "["}{depth * "]"}, "{KEY}": {{"{MANIFEST}": "0"}}}}'
        (tmp_path / MANIFEST).write_text(text)
        with pytest.raises(InputError):
            read_manifest(tmp_path)


def test_digests_by_hand(tmp_path):
    """The SHA-256 of ``abc``, and of the manifest's canonical JSON without its own digest."""
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    manifest = seal({"b": [1, 2.5], "a": {1: None}}, {"file": b"abc"})
    assert manifest[KEY]["file"] == abc
    canonical = f'{{"a":{{"1":null}},"b":[1,2.5],"digests":{{"file":"{abc}"}}}}'
    assert manifest[KEY][MANIFEST] == hashlib.sha256(canonical.encode()).hexdigest()
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    assert read_manifest(tmp_path) == {"b": [1, 2.5], "a": {"1": None}}
    (tmp_path / "file").write_bytes(b"abd")
    with pytest.raises(InputError) as refusal:
        read_manifest(tmp_path)
    assert str(refusal.value) == f"{tmp_path / 'file'}: {CHANGED}"
