"""What is replaced when a design is written: an unchanged design and its builds, and nothing else."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rbdhw.design.digests import MANIFEST, seal
from rbdhw.design.folder import read, write
from rbdhw.design.replacement import COMPANIONS, FILES, check_output, software_files
from rbdhw.errors import InputError
from rbdhw.runtime.build_folder import make_build_folder
from tests.support.designs import rail_design

EXPECTED = (
    "expected a folder in which nothing but an unchanged design would be replaced; "
    "use another folder, or move the file away"
)
FOREIGN = f"is no file of a design that {MANIFEST} describes; {EXPECTED}"
CHANGED = f"was changed after it was written; {EXPECTED}"


@pytest.fixture
def folder(tmp_path):
    write(rail_design(), tmp_path / "out")
    return tmp_path / "out"


def refusal_of(action, *arguments):
    with pytest.raises(InputError) as refusal:
        action(*arguments)
    return str(refusal.value)


def snapshot(folder: Path) -> dict[str, object]:
    """Return everything in a folder: contents, targets of links, and folders."""
    content: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            content[name] = str(path.readlink())
        else:
            content[name] = path.read_bytes() if path.is_file() else "a folder"
    return content


def add_file(path: Path) -> None:
    path.write_text("mine")


def add_folder(path: Path) -> None:
    path.mkdir()
    (path / "inside").write_text("mine")


def add_link(path: Path) -> None:
    path.symlink_to("elsewhere")


ADDING = st.sampled_from([add_file, add_folder, add_link])
OURS = [*FILES, *COMPANIONS, *software_files("c", ["fd"]), *software_files("cuda", ())]
FREE = ["notes.txt", "build-release", "build-sim", "Makefile", ".git", ".writing-1-00", "model.cpp"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from([*OURS, *FREE]), ADDING, max_size=4), st.booleans())
def test_what_is_not_ours_survives(tmp_path_factory, others, sealed):
    """A folder is written exactly where no name is taken; else it is refused and stays as it is."""
    folder = tmp_path_factory.mktemp("folder")
    if sealed:
        write(rail_design(), folder)
    added = {name: add for name, add in others.items() if not (sealed and name in FILES)}
    for name, add in added.items():
        add(folder / name)
    before = snapshot(folder)
    taken = sorted(set(added) & set(OURS))
    new = replace(rail_design(), verilog="// new\n")
    if taken:
        assert refusal_of(check_output, folder) == f"{folder / taken[0]}: {FOREIGN}"
        assert refusal_of(write, new, folder) == f"{folder / taken[0]}: {FOREIGN}"
        assert snapshot(folder) == before
        return
    check_output(folder)
    write(new, folder)
    assert read(folder).verilog == "// new\n"
    after = snapshot(folder)
    assert {name: there for name, there in before.items() if name not in FILES}.items() <= after.items()
    assert set(after) == {*before, *FILES}


@pytest.mark.parametrize("name", FILES[:-1])
def test_a_file_that_was_edited_is_not_replaced(folder, name):
    (folder / name).write_text((folder / name).read_text() + " ")
    before = snapshot(folder)
    assert refusal_of(write, rail_design(), folder) == f"{folder / name}: {CHANGED}"
    assert snapshot(folder) == before


def test_a_manifest_that_was_edited_vouches_for_nothing(folder):
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(manifest | {"seed": 5}))
    before = snapshot(folder)
    assert refusal_of(write, rail_design(), folder) == f"{folder / 'accelerator.v'}: {FOREIGN}"
    assert snapshot(folder) == before


@pytest.mark.parametrize("name", FILES)
def test_a_link_to_a_file_of_the_design_is_not_replaced(folder, name):
    (folder / name).rename(folder / "moved")
    (folder / name).symlink_to("moved")
    before = snapshot(folder)
    refusal = f"{folder / name}: {CHANGED}" if name != MANIFEST else f"{folder / 'accelerator.v'}: {FOREIGN}"
    assert refusal_of(write, rail_design(), folder) == refusal
    assert snapshot(folder) == before


@pytest.mark.parametrize("name", ["model.json", "robot.json"])
def test_a_design_without_one_of_its_files_is_replaced(folder, name):
    (folder / name).unlink()
    write(rail_design(), folder)
    assert read(folder)


def test_a_manifest_cannot_name_files_elsewhere(folder):
    victim = folder.parent / "victim"
    victim.write_text("mine")
    (folder / MANIFEST).write_text(json.dumps(seal({}, {"../victim": b"mine", "notes": b""})))
    assert refusal_of(write, rail_design(), folder) == f"{folder / 'accelerator.v'}: {FOREIGN}"
    assert victim.read_text() == "mine"


def test_builds_of_tools_are_removed_and_others_stay(folder):
    (make_build_folder(folder, "sim") / "simulator").write_text("of the earlier design")
    add_folder(folder / "build-release")
    (folder.parent / "there").mkdir()
    (folder / "build-there").symlink_to("../there")
    make_build_folder(folder.parent, "elsewhere").rename(folder / "sim")
    write(rail_design(), folder)
    assert not (folder / "build-sim").exists()
    assert (folder / "build-release" / "inside").read_text() == "mine"
    assert (folder / "build-there").is_symlink()
    assert (folder / "sim").is_dir()


def test_read_only_files_and_builds_are_replaced(folder):
    deep = make_build_folder(folder, "sim") / "deep"
    deep.mkdir()
    (deep / "log").write_text("")
    for path in (folder / "model.json", deep / "log", deep):
        path.chmod(0o500)
    write(replace(rail_design(), verilog="// new\n"), folder)
    assert sorted(snapshot(folder)) == sorted(FILES)
