"""The design folder: what `generate` writes, and all that `simulate`, `run` and `synthesize` read.

===================  =========================================================================
``accelerator.v``    the Verilog
``manifest.json``    what was built and how to talk to it, for scripts; digests of all files
``model.json``       the bit-exact program
``robot.json``       the robot as the URDF has it, before any rewrite: the golden model's
``domain.json``      the bounds of every input, and the bodies that take an external force
``selftest.v``       a test bench in plain Verilog, with tasks and the model's answers
``primitives.v``     models of the device's blocks that the Verilog names, for simulators
``accelerator.vlt``  the lint rules that the Verilog breaks on purpose, for Verilator
``accelerator.xdc``  the clock, for AMD's tools; for Lattice's ``accelerator.lpf``
===================  =========================================================================

A folder in which a file was changed is refused (:mod:`rbdhw.design.digests`). Folders in it whose names
start with ``build-`` belong to the tools that read the design. They hold what was made from it, so writing
another design removes them.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from rbdhw.config import DATA_WIDTHS, NUMBERS
from rbdhw.design.digests import MANIFEST, content, json_object, read_manifest, seal
from rbdhw.domain.bounds import Domain, graph_ranges
from rbdhw.errors import InputError, InternalError
from rbdhw.fixed.program import Program, Word
from rbdhw.fixed.serialize import program_from_json, program_to_json
from rbdhw.fixed.single_precision import bound_as_singles
from rbdhw.protocol import CODES, EXTENDED, FUNCTIONS, HEADER, HEADER_BITS, Status
from rbdhw.robot.model import Robot
from rbdhw.robot.serialize import robot_from_json, robot_to_json
from rbdhw.robot.units import Units
from rbdhw.runtime.files import ASIDE, aside, check_folder, is_folder

VERILOG = "accelerator.v"
FILES = (VERILOG, "model.json", "robot.json", "domain.json", MANIFEST)
"""The files that every design has."""

COMPANIONS = ("selftest.v", "primitives.v", "accelerator.vlt", "accelerator.xdc", "accelerator.lpf")
"""The files that may travel with a design for other tools; no command reads them."""

BUILD_PREFIX = "build-"
"""How the names of the folders start that tools keep in a design's folder."""

SINGLE_BITS = 32
"""Bits of a number that travels as an IEEE single."""

T = TypeVar("T")


@dataclass(frozen=True)
class Stream:
    """What travels on the streams.

    TDATA's width in bits, the code of each function of the build, what a number is: ``fixed`` (in two's
    complement, packed tight) or ``float32``, and the functions whose answers are sent before others'.
    """

    data_width: int
    codes: Mapping[str, int]
    number: str = "fixed"
    priority: tuple[str, ...] = ()

    @property
    def converts(self) -> bool:
        """Whether numbers are IEEE singles, converted on chip."""
        return self.number == "float32"

    def beats(self, widths: Sequence[int]) -> int:
        """The beats of a packet of a header and numbers of these widths."""
        return -(-(HEADER_BITS + sum(widths)) // self.data_width)


@dataclass(frozen=True)
class Design:
    """A generated accelerator.

    ``robot`` is the one that the URDF describes, ``fext`` the indices of its bodies that take an external
    force. ``manifest`` holds at least what :func:`interface` says, ``companions`` the texts of some of
    :data:`COMPANIONS`.
    """

    robot: Robot
    domain: Domain
    program: Program
    fext: tuple[int, ...]
    manifest: dict[str, Any]
    verilog: str
    companions: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def stream(self) -> Stream:
        """What the manifest says of the streams; InputError where it does not."""
        return _stream(self.manifest)

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of the build, by their codes."""
        return tuple(sorted(self.stream.codes, key=self.stream.codes.__getitem__))

    def inputs(self, function: str, extended: bool = False) -> tuple[Word, ...]:
        """The words of a request, by their slots; with ``extended`` those of optional arrays last."""
        return input_words(self.program, function, extended, self.stream.number)

    def outputs(self, function: str, extended: bool = False) -> tuple[Word, ...]:
        """The words of a response, in order; with ``extended`` those of optional arrays last."""
        return output_words(self.program, function, extended)

    def request_widths(self, function: str, extended: bool = False) -> tuple[int, ...]:
        """The width of each slot of a request: all up to the last in which a word travels."""
        last = max((word.slot + 1 for word in self.inputs(function, extended)), default=0)
        return tuple(SINGLE_BITS if self.stream.converts else width for width in self.program.slots[:last])

    def response_widths(self, function: str, extended: bool = False) -> tuple[int, ...]:
        """The width of each number of a response."""
        words = self.outputs(function, extended)
        return tuple(SINGLE_BITS if self.stream.converts else word.format.width for word in words)


def input_words(
    program: Program, function: str, extended: bool = False, number: str = "fixed"
) -> tuple[Word, ...]:
    """The input words that a task of ``function`` brings, by their slots, with bounds as they are checked."""
    arrays = FUNCTIONS[function]
    brought = arrays.inputs + arrays.optional_inputs if extended else arrays.inputs
    words = sorted((w for w in program.inputs if array_of(w) in brought), key=lambda word: word.slot)
    return tuple(map(bound_as_singles, words) if number == "float32" else words)


def output_words(program: Program, function: str, extended: bool = False) -> tuple[Word, ...]:
    """The words with which a task of ``function`` is answered, in order."""
    optional = () if extended else FUNCTIONS[function].optional_outputs
    return tuple(word for word in program.outputs[function] if array_of(word) not in optional)


def array_of(word: Word) -> str:
    """The array of the user's interface in which a word has its place."""
    return word.name.partition("[")[0].rpartition(".")[2]


def interface(
    program: Program, robot: Robot, data_width: int, number: str = "fixed", priority: Sequence[str] = ()
) -> dict[str, Any]:
    """The manifest's ``stream``, and each function's words: how packets are laid out.

    A word's ``slot`` is its place in a request; ``slots`` are the widths of these places in packed requests.
    """
    units = Units(robot)
    codes = {function: code for function, code in CODES.items() if function in program.outputs}
    stream = {
        "tdata_width": data_width,
        "number": number,
        "header": {name: list(field) for name, field in HEADER.items()},
        "options": {"extended": EXTENDED},
        "status": {status.name.lower(): int(status) for status in Status},
        "functions": codes,
        "slots": list(program.slots),
        "priority": list(priority),
    }
    inputs = {f: [_input(word, units) for word in input_words(program, f, True, number)] for f in codes}
    outputs = {f: [_entry(word, units) for word in output_words(program, f, True)] for f in codes}
    brought = {f: len(input_words(program, f)) for f in codes}
    returned = {f: len(output_words(program, f)) for f in codes}
    return {
        "stream": stream,
        "inputs": {f: words[: brought[f]] for f, words in inputs.items()},
        "optional_inputs": {f: words[brought[f] :] for f, words in inputs.items()},
        "outputs": {f: words[: returned[f]] for f, words in outputs.items()},
        "optional_outputs": {f: words[returned[f] :] for f, words in outputs.items()},
    }


def _entry(word: Word, units: Units) -> dict[str, Any]:
    array, index = array_of(word), _index_of(word)
    entry: dict[str, Any] = {"name": word.name, "unit": word.unit if array == "q" else units.of(array, index)}
    return entry | {"width": word.format.width, "binary_point": word.format.binary_point}


def _index_of(word: Word) -> tuple[int, ...]:
    """The place in its array at which a word stands."""
    return tuple(int(place) for place in word.name.partition("[")[2].removesuffix("]").split(","))


def _input(word: Word, units: Units) -> dict[str, Any]:
    entry = _entry(word, units) | {"slot": word.slot}
    if word.lowest is not None:
        entry |= {"lowest": word.lowest, "highest": word.highest}
    return entry


# Writing


def check_output(directory: Path) -> None:
    """Refuse a folder that :func:`write` could not write, before the work that comes first.

    Raises
    ------
    InputError
        Where the folder cannot be made or written, or holds what is no part of a design.
    """
    check_folder(directory, "to write a design to")
    if directory.exists():
        foreign = sorted(entry.name for entry in directory.iterdir() if not _is_ours(entry))
        if foreign:
            expected = "expected a new or empty folder, or an earlier design's"
            raise InputError(f"{directory}: holds '{foreign[0]}', which is no part of a design; {expected}")


def _is_ours(entry: Path) -> bool:
    return entry.name in (*FILES, *COMPANIONS) or (
        entry.name.startswith((BUILD_PREFIX, ASIDE)) and entry.is_dir()
    )


def write(design: Design, directory: Path) -> dict[str, Any]:
    """Write the design folder. An earlier design in it goes, with the builds that tools made from it.

    On failure an earlier design and its builds stay as they were, and nothing new is left.

    Returns
    -------
    dict
        The manifest as it was written, with the digests of the files.

    Raises
    ------
    InputError
        As :func:`check_output`, and where writing fails.
    InternalError
        Where :func:`read` would not give this design back.
    """
    check_output(directory)
    contents = {name: text.encode() for name, text in _texts(design).items()}
    manifest = seal(design.manifest, contents)
    contents[MANIFEST] = (json.dumps(manifest, indent=2) + "\n").encode()
    folder = Path(os.path.realpath(directory))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = aside(folder if folder.exists() else folder.parent)
        made.mkdir()
        try:
            for name, data in contents.items():
                (made / name).write_bytes(data)
            _check_readable(design, made, directory)
            if folder.exists():
                _exchange(folder, made, list(contents))
            else:
                made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise InputError(
            f"{directory}: cannot be written ({error.strerror}); expected a folder that can be"
        ) from error
    return manifest


def _check_readable(design: Design, made: Path, directory: Path) -> None:
    """Refuse a design that the folder ``made``, which is to become ``directory``, does not give back."""
    refused = "internal error: the design is not what would be read from its files"
    expected = "nothing was written; please report the robot and the options"
    try:
        found = read(made)
    except InputError as error:
        reason = str(error).replace(f"{made}{os.sep}", "")
        raise InternalError(f"{directory}: {refused} ({reason}); {expected}") from error
    for part, file in (("program", "model.json"), ("robot", "robot.json"), ("fext", "domain.json")):
        if getattr(found, part) != getattr(design, part):
            raise InternalError(f"{directory}: {refused} ({file} holds another {part}); {expected}")


def _exchange(directory: Path, made: Path, names: Sequence[str]) -> None:
    """Move an earlier design and its builds into ``made``, and the files there into ``directory``.

    ``names`` are those of the files, the manifest's last. The old manifest goes first, so a folder with one
    is complete at any time. If a move fails, those before it are undone.
    """
    earlier = made / "earlier"
    earlier.mkdir()
    builds = sorted(path.name for path in directory.glob(f"{BUILD_PREFIX}*"))
    old = [name for name in (*reversed(FILES), *COMPANIONS, *builds) if (directory / name).exists()]
    moves = [(directory / name, earlier / name) for name in old]
    moves += [(made / name, directory / name) for name in names]
    with ExitStack() as undo:
        for source, destination in moves:
            source.rename(destination)
            undo.callback(destination.rename, source)
        undo.pop_all()


def _texts(design: Design) -> dict[str, str]:
    return {
        VERILOG: design.verilog,
        "model.json": _json_text(program_to_json(design.program)),
        "robot.json": _json_text(robot_to_json(design.robot)),
        "domain.json": _json_text(_domain_to_json(design)),
        **design.companions,
    }


def _json_text(data: Mapping[str, Any]) -> str:
    """JSON with a line for every entry of ``data``, and of the lists in it."""
    entries = []
    for key, value in data.items():
        text = json.dumps(value, allow_nan=False)
        if isinstance(value, list) and value:
            text = "[\n  " + ",\n  ".join(json.dumps(item, allow_nan=False) for item in value) + "\n ]"
        entries.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(entries) + "\n}\n"


# Reading


def read(directory: Path) -> Design:
    """The design in a folder that :func:`write` wrote.

    Raises
    ------
    InputError
        Where the folder or a file is missing, or a file is not what :func:`write` wrote.
    """
    if not is_folder(directory):
        raise InputError(f"{directory}: no such folder; expected one that `rbdhw generate` wrote")
    manifest = read_manifest(directory)
    verilog = content(directory / VERILOG).decode("utf-8")
    robot = _read_json(directory / "robot.json", robot_from_json)
    domain, fext = _read_json(directory / "domain.json", lambda data: _domain_from_json(data, robot))
    program = _read_json(directory / "model.json", program_from_json)
    found = {name: directory / name for name in COMPANIONS if (directory / name).exists()}
    companions = {name: content(path).decode("utf-8") for name, path in found.items()}
    design = Design(robot, domain, program, fext, manifest, verilog, companions)
    _check(design, directory)
    return design


def _read_json(path: Path, parse: Callable[[dict[str, Any]], T]) -> T:
    """What ``parse`` makes of the JSON object in a file; its errors name the file."""
    data = json_object(path)
    try:
        return parse(data)
    except InputError as error:
        raise InputError(f"{path}: damaged: {error}") from None


def _check(design: Design, directory: Path) -> None:
    """Refuse files that do not belong to one design."""
    path = directory / MANIFEST
    try:
        codes = design.stream.codes
    except InputError as error:
        raise InputError(f"{path}: damaged: {error}") from None
    odd = sorted(set(codes) ^ set(design.program.outputs))
    if odd:
        expected = f"expected the functions of model.json: {', '.join(design.program.outputs)}"
        raise InputError(f"{path}: function '{odd[0]}' is not in both; {expected}")
    known = graph_ranges(design.robot, design.domain, design.fext)
    unknown = [word.name for word in design.program.inputs if word.name not in known]
    if unknown:
        expected = f"expected an input of robot '{design.robot.name}' in robot.json and domain.json"
        raise InputError(f"{directory / 'model.json'}: word '{unknown[0]}': unknown; {expected}")


def _stream(manifest: Mapping[str, Any]) -> Stream:
    stream = manifest.get("stream")
    stream = stream if isinstance(stream, dict) else {}
    width, codes = stream.get("tdata_width"), stream.get("functions")
    if width not in DATA_WIDTHS:
        expected = ", ".join(str(allowed) for allowed in DATA_WIDTHS)
        raise InputError(f"stream.tdata_width: {width}; expected one of {expected}")
    if not isinstance(codes, dict) or not codes or not codes.items() <= CODES.items():
        raise InputError(f"stream.functions: {codes}; expected some of {CODES}")
    number = stream.get("number")
    if number not in NUMBERS:
        raise InputError(f"stream.number: {number}; expected one of {', '.join(NUMBERS)}")
    priority = stream.get("priority")
    if not isinstance(priority, list) or not all(function in codes for function in priority):
        raise InputError(f"stream.priority: {priority}; expected a list of some of {', '.join(codes)}")
    return Stream(int(width), dict(codes), number, tuple(priority))


class _DomainFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    bounds: dict[str, list[tuple[float, float]]]
    wraps: tuple[bool, ...]
    fext: tuple[int, ...]


def _domain_to_json(design: Design) -> dict[str, Any]:
    """Bounds by array, infinite ones as the strings "inf" and "-inf"; who wraps; who takes a force."""
    bounds = {
        array: [[x if np.isfinite(x) else str(x) for x in map(float, row)] for row in rows]
        for array, rows in design.domain.bounds.items()
    }
    return {"bounds": bounds, "wraps": list(design.domain.wraps), "fext": list(design.fext)}


def _domain_from_json(data: dict[str, Any], robot: Robot) -> tuple[Domain, tuple[int, ...]]:
    try:
        file = _DomainFile.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"domain data: {where}: {first['msg']}; expected what generate wrote") from None
    bodies = len(robot.bodies)
    rows = {"q": robot.nq, "v": robot.nv, "a": robot.nv, "tau": robot.nv, "fext": 6}
    if robot.base_given:
        rows |= {"base_v": 6, "base_a": 6}
    if robot.gravity_given:
        rows["gravity"] = 3
    if "Minv" in file.bounds:
        rows["Minv"] = robot.nv**2
    if {array: len(pairs) for array, pairs in file.bounds.items()} != rows or len(file.wraps) != robot.nq:
        expected = ", ".join(f"{size} of {array}" for array, size in rows.items())
        raise InputError(f"domain data: bounds: not those of robot '{robot.name}'; expected {expected}")
    if any(not lower <= upper for pairs in file.bounds.values() for lower, upper in pairs):
        raise InputError("domain data: bounds: a lower bound above its upper; expected lower <= upper")
    if any(i not in range(bodies) for i in file.fext):
        raise InputError(f"domain data: fext: {list(file.fext)}; expected indices of the {bodies} bodies")
    return Domain({array: np.array(pairs) for array, pairs in file.bounds.items()}, file.wraps), file.fext
