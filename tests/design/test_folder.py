"""Writing and reading the design folder."""

import json
from dataclasses import replace
from importlib.metadata import version
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from rbdhw.design.digests import AFRESH, AGAIN, MANIFEST, read_manifest
from rbdhw.design.folder import read, write
from rbdhw.design.manifest import read_manifest as read_description
from rbdhw.design.packet_layout import packet_entries
from rbdhw.design.replacement import FILES, check_output
from rbdhw.errors import InputError, InternalError
from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Operand, Word
from rbdhw.model.program_interface import program_interface
from rbdhw.robot.model import JointKind
from rbdhw.runtime.build_folder import make_build_folder
from tests.support.designs import assert_same, rail_design, with_program
from tests.support.resealed import reseal


@pytest.fixture
def design():
    return rail_design()


@pytest.fixture
def folder(design, tmp_path):
    write(design, tmp_path / "out")
    return tmp_path / "out"


def refusal_of(action, *arguments):
    with pytest.raises(InputError) as refusal:
        action(*arguments)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_round_trip(design, folder):
    assert_same(read(folder), design)
    assert sorted(entry.name for entry in folder.iterdir()) == sorted(FILES)


def test_a_program_that_its_reader_refuses_is_not_written(design, folder):
    before = {name: (folder / name).read_bytes() for name in FILES}
    operations = list(design.programs[0].operations)
    k = next(k for k, operation in enumerate(operations) if operation.operands)
    operations[k] = replace(operations[k], operands=(Operand(0, shift=-65), *operations[k].operands[1:]))
    damaged = replace(design, programs=(replace(design.programs[0], operations=tuple(operations)),))
    for target in (folder, folder.parent / "new"):
        with pytest.raises(InternalError) as refusal:
            write(damaged, target)
        assert str(refusal.value) == (
            f"{target}: internal error: the design differs from the one that is read from its files "
            f"(model.json, program data, operations.{k}.1.0.2: Input should be greater than or "
            "equal to -63; expected what program_to_json writes); nothing was written; please report "
            "the robot and the options"
        )
    assert {name: (folder / name).read_bytes() for name in FILES} == before
    assert [entry.name for entry in folder.parent.iterdir()] == [folder.name]


def test_a_design_that_is_read_differently_is_not_written(design, folder):
    """The reader converts a fraction to an integer."""
    odd = replace(design, fext=(True,))
    assert odd.fext == (1,)
    with pytest.raises(InternalError, match=r"domain data, fext"):
        write(odd, folder)


def test_infinite_bounds_survive(design, tmp_path):
    body = design.robot.bodies[0]
    free = replace(body.joint, kind=JointKind.CONTINUOUS)
    robot = design.robot.with_bodies([replace(body, joint=free)])
    bounds = {**design.domain.bounds, "q": np.array([[-np.inf, np.inf]])}
    turning = replace(design, robot=robot, domain=replace(design.domain, bounds=bounds, wraps=(True,)))
    write(replace(turning, fext=(0,)), tmp_path / "out")
    assert_same(read(tmp_path / "out"), replace(turning, fext=(0,)))


def test_bounds_of_an_inverse_mass_matrix_survive(design, tmp_path):
    bounds = {**design.domain.bounds, "Minv": np.array([[-0.5, 0.5]])}
    bounded = replace(design, domain=replace(design.domain, bounds=bounds))
    write(bounded, tmp_path / "out")
    assert_same(read(tmp_path / "out"), bounded)


def test_a_domain_of_any_forces_survives(design, tmp_path):
    thrown = replace(design, domain=replace(design.domain, any_forces=True))
    write(thrown, tmp_path / "out")
    assert read(tmp_path / "out").domain.any_forces


def test_same_design_same_bytes(design, folder, tmp_path):
    write(design, tmp_path / "again")
    for name in FILES:
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_the_manifest_describes_the_layout_of_packets(design):
    layout = packet_entries(design.interface, design.robot).data()
    assert layout["stream"] == {
        "tdata_width": 64,
        "number": "fixed",
        "header": {"tag": [0, 16], "function": [16, 5], "options": [21, 3], "status": [24, 8]},
        "options": {"extended": 0},
        "status": {"outside": 0, "overflow": 1, "malformed": 2, "not_finite": 3},
        "functions": {"id": 0, "fd": 1},
        "slots": [20, 20, 20],
        "priority": [],
    }
    assert [(word["name"], word["slot"]) for word in layout["inputs"]["fd"]] == [
        ("q[0]", 0),
        ("v[0]", 1),
        ("tau[0]", 2),
    ]
    assert layout["optional_inputs"] == layout["optional_outputs"] == {"id": [], "fd": []}
    entry = {"name": "id.tau[0]", "unit": "N", "width": 18, "binary_point": 11}
    assert layout["outputs"]["id"] == [entry]
    assert design.functions == ("id", "fd")
    assert design.interface.codes == {"id": 0, "fd": 1}
    assert design.interface.request_widths("id") == (20, 20, 20)
    assert design.interface.response_widths("id") == (18,)
    assert design.interface.beats(design.interface.request_widths("id")) == 2
    assert design.interface.beats(design.interface.response_widths("id")) == 1


def test_the_manifest_records_the_functions_with_priority(design, tmp_path):
    interface = program_interface(design.programs, 64, priority=("fd",))
    layout = packet_entries(interface, design.robot).data()
    assert layout["stream"]["priority"] == ["fd"]
    write(replace(design, interface=interface, manifest=design.manifest | layout), tmp_path / "out")
    assert read(tmp_path / "out").interface == interface


def named(*names, slots=None):
    return tuple(
        Word(name, "", i, Format(8 + i, 4), slot=slots[i] if slots else 0) for i, name in enumerate(names)
    )


@pytest.fixture
def extended(design):
    """A design with functions that have optional words."""
    inputs = named("q[0]", "a[0]", "tau[0]", "Minv[0,0]", slots=[0, 1, 1, 2])
    outputs = {"dfd": named("dfd.da_dq[0,0]", "dfd.Minv[0,0]", "dfd.a[0]"), "difd": named("difd.da_dv[0,0]")}
    program = replace(design.programs[0], inputs=inputs, outputs=outputs)
    return with_program(design, program)


def test_optional_words_travel_last_and_only_on_request(extended):
    def names(words):
        return [word.name for word in words]

    assert names(extended.interface.inputs("difd")) == ["q[0]", "a[0]"]
    assert names(extended.interface.inputs("difd", extended=True)) == ["q[0]", "a[0]", "Minv[0,0]"]
    assert names(extended.interface.inputs("dfd", extended=True)) == ["q[0]", "tau[0]"]
    assert names(extended.interface.outputs("dfd")) == ["dfd.da_dq[0,0]"]
    assert names(extended.interface.outputs("dfd", extended=True)) == [
        "dfd.da_dq[0,0]",
        "dfd.Minv[0,0]",
        "dfd.a[0]",
    ]
    assert extended.interface.request_widths("difd") == extended.interface.request_widths("dfd") == (8, 10)
    assert extended.interface.request_widths("difd", extended=True) == (8, 10, 11)
    assert extended.interface.response_widths("dfd", extended=True) == (8, 9, 10)
    manifest = extended.manifest
    assert names_of(manifest["optional_inputs"]) == {"dfd": [], "difd": ["Minv[0,0]"]}
    assert names_of(manifest["optional_outputs"]) == {"dfd": ["dfd.Minv[0,0]", "dfd.a[0]"], "difd": []}


def names_of(entries):
    return {function: [word["name"] for word in words] for function, words in entries.items()}


def test_a_slot_that_a_function_does_not_use_travels_too(extended):
    (program,) = extended.programs
    program = replace(program, inputs=tuple(word for word in program.inputs if word.name != "a[0]"))
    design = with_program(extended, program)
    assert design.interface.request_widths("difd") == (8,)
    assert design.interface.request_widths("difd", extended=True) == (8, 10, 11)


def test_all_singles_have_the_same_width(extended):
    singles = with_program(extended, extended.programs[0], number="float32")
    assert singles.interface.codes == {"dfd": 5, "difd": 6}
    assert singles.interface.request_widths("difd", extended=True) == (32, 32, 32)
    assert singles.interface.response_widths("dfd") == (32,)
    assert singles.interface.beats(singles.interface.request_widths("difd", extended=True)) == 4


def test_bounds_of_singles_are_those_that_the_hardware_checks(design):
    fine = replace(design.programs[0].inputs[0], format=Format(30, 20), lowest=-(2**25), highest=2**25 + 7)
    program = replace(design.programs[0], inputs=(fine, *design.programs[0].inputs[1:]))
    singles = with_program(design, program, number="float32")
    (word, *_), entry = singles.interface.inputs("id"), singles.manifest["inputs"]["id"][0]
    assert (word.lowest, word.highest) == (entry["lowest"], entry["highest"]) == (-(2**25), 2**25 + 8)


@pytest.fixture
def built(folder):
    """A folder with an earlier design and the results of tools."""
    for name in ("sim", "ecp5-85"):
        deep = make_build_folder(folder, name) / "deep"
        deep.mkdir()
        (deep / "result").write_text("of the earlier design")
    return folder


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_earlier_design_and_its_builds_are_replaced(design, built):
    write(replace(design, verilog="// other\n"), built)
    assert read(built).verilog == "// other\n"
    assert sorted(entry.name for entry in built.iterdir()) == sorted(FILES)


LEAVING = [*FILES, "build-sim", "build-ecp5-85"]


@pytest.mark.parametrize("failing", range(len(LEAVING) + len(FILES)))
def test_a_failing_move_leaves_the_earlier_design_and_its_builds(design, built, monkeypatch, failing):
    """A move fails, for example, if another user owns a build."""
    before = contents(built)
    rename, moves = Path.rename, count()

    def refuse(source, destination):
        if next(moves) == failing:
            raise PermissionError(13, "Permission denied")
        return rename(source, destination)

    monkeypatch.setattr(Path, "rename", refuse)
    expected = f"{built}: cannot be written (Permission denied); expected a writable folder"
    assert refusal_of(write, replace(design, verilog="// other\n"), built) == expected
    assert contents(built) == before
    assert_same(read(built), design)


def test_the_folder_has_a_manifest_only_while_it_is_complete(design, built, monkeypatch):
    rename, complete = Path.rename, []

    def watch(source, destination):
        if (built / "manifest.json").exists():
            complete.append(contents(built))
        return rename(source, destination)

    before = contents(built)
    monkeypatch.setattr(Path, "rename", watch)
    write(replace(design, verilog="// other\n"), built)
    assert [{path: text for path, text in seen.items() if path in before} for seen in complete] == [before]


def test_missing_parents_are_made(design, tmp_path):
    write(design, tmp_path / "a" / "b")
    assert_same(read(tmp_path / "a" / "b"), design)


def test_a_path_through_a_file_is_refused(design, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for target in (file, file / "below" / "it"):
        expected = f"{target}: {file} is not a folder; expected a folder to write a design to"
        assert refusal_of(write, design, target) == expected


def test_a_folder_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    expected = f"{tmp_path / 'out'}: {tmp_path} cannot be written; expected a writable folder"
    assert refusal_of(check_output, tmp_path / "out") == expected


@pytest.mark.parametrize("exists", [False, True])
def test_a_failing_write_leaves_nothing(design, tmp_path, monkeypatch, exists):
    out = tmp_path / "out"
    if exists:
        write(replace(design, verilog="// earlier\n"), out)
    before = sorted(tmp_path.rglob("*"))

    def full(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    expected = f"{out}: cannot be written (No space left on device); expected a writable folder"
    assert refusal_of(write, design, out) == expected
    assert sorted(tmp_path.rglob("*")) == before


def test_a_missing_folder_or_file_is_named(folder):
    nowhere = folder / "nowhere"
    expected = f"{nowhere}: no such folder; expected one that `rbdhw generate` wrote"
    assert refusal_of(read, nowhere) == expected
    (folder / "model.json").unlink()
    expected = f"{folder / 'model.json'}: no such file; expected a folder that `rbdhw generate` wrote"
    assert refusal_of(read, folder) == expected


def damage_and_read(folder, name, change):
    """Return the refusal of a folder in which the data of one file and the digests were changed."""
    path, manifest = folder / name, read_manifest(folder)
    data = manifest if name == MANIFEST else json.loads(path.read_text())
    change(data)
    if name != MANIFEST:
        path.write_text(json.dumps(data))
    reseal(folder, manifest)
    return refusal_of(read, folder).removeprefix(f"{path}, ").partition("; expected ")[0]


@pytest.mark.parametrize("ours", ["9.9.9", version("rbdhw")])
def test_a_folder_that_cannot_be_read_tells_of_another_version(folder, ours):
    manifest = read_manifest(folder) | {"versions": {"rbdhw": ours}}
    (folder / "domain.json").write_text("{}")
    reseal(folder, manifest)
    told = f" (rbdhw {ours} wrote the folder, and this is {version('rbdhw')})" if ours == "9.9.9" else ""
    reason = f"Field required{told}; expected what generate wrote; {AGAIN}"
    assert refusal_of(read, folder) == f"{folder / 'domain.json'}, domain data, bounds: {reason}"
    manifest.pop("seed")
    reseal(folder, manifest)
    assert refusal_of(read_description, folder) == f"{folder / MANIFEST}, seed: {reason}"


def test_a_folder_of_another_version_is_read_if_it_can_be(design, folder):
    reseal(folder, read_manifest(folder) | {"versions": {"rbdhw": "9.9.9"}})
    assert read(folder).programs == design.programs


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1))"),
        ("[]", "no JSON object"),
        ('{"a": NaN}', "not JSON (the number NaN)"),
        ('{"a": 1e400}', "not JSON (the number 1e400)"),
        (9000 * "[", "not JSON (nested too deep)"),
    ],
)
@pytest.mark.parametrize("name", ["domain.json", "manifest.json"])
def test_a_file_that_is_not_json_is_refused(folder, name, text, reason):
    path, manifest = folder / name, read_manifest(folder)
    path.write_text(text)
    if name != MANIFEST:
        reseal(folder, manifest)
    expected = "expected what generate wrote"
    assert refusal_of(read, folder) == f"{path}: damaged, {reason}; {expected}; {AFRESH}"


def test_a_damaged_model_is_refused(folder):
    def clear(data):
        data["programs"][0]["operations"][5][1].clear()

    assert damage_and_read(folder, "model.json", clear) == ("program data, operations.5: add of 0 operands")


def test_a_damaged_robot_is_refused(folder):
    assert damage_and_read(folder, "robot.json", lambda data: data.pop("name")) == (
        "robot data, name: Field required"
    )


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda data: data["bounds"].pop("q"), "bounds: do not match robot 'rail'"),
        (lambda data: data["bounds"]["q"][0].reverse(), "bounds: a lower bound exceeds its upper bound"),
        (lambda data: data["bounds"].update(q=[["nan", 1]]), "bounds: a lower bound exceeds its upper bound"),
        (lambda data: data["bounds"].update(q=[[None, 1]]), "bounds.q.0.0: Input should be a valid number"),
        (lambda data: data.update(fext=[1]), "fext: [1]"),
    ],
)
def test_a_damaged_domain_is_refused(folder, change, text):
    assert damage_and_read(folder, "domain.json", change) == f"domain data, {text}"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda data: data.pop("stream"), "stream: Input should be a valid dictionary or instance of Stream"),
        (lambda data: data["stream"].update(tdata_width=48), "stream.tdata_width: 48"),
        (lambda data: data["stream"].update(pairs=9), "stream.pairs: 9"),
        (lambda data: data["stream"].update(parameter_sets=2), "stream.parameter_sets: 2"),
        (lambda data: data["stream"]["functions"].update(id=3), "stream.functions: {'id': 3, 'fd': 1}"),
        (
            lambda data: data["stream"].update(number="float16"),
            "stream.number: Input should be 'fixed' or 'float32'",
        ),
        (lambda data: data["stream"].pop("priority"), "stream.priority: Field required"),
        (lambda data: data["stream"].update(priority=["m"]), "stream.priority: ['m']"),
        (lambda data: data["stream"]["functions"].pop("fd"), "function 'fd': is not in both files"),
    ],
)
def test_a_damaged_manifest_is_refused(folder, change, text):
    assert damage_and_read(folder, "manifest.json", change) == text


def test_files_of_another_robot_are_refused(folder, tmp_path):
    write(rail_design(bodies=2), tmp_path / "other")
    (tmp_path / "other" / "model.json").replace(folder / "model.json")
    reseal(folder, rail_design().manifest)
    assert refusal_of(read, folder) == (
        f"{folder / 'model.json'}, word 'q[1]': unknown; "
        "expected an input of robot 'rail' in robot.json and domain.json; run `rbdhw generate` again"
    )
