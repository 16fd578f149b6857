"""The design folder: `generate` writes it, and `simulate`, `run` and `synthesize` read it.

===================  =========================================================================
``accelerator.v``    the Verilog
``manifest.json``    the description of the design and its packets for scripts; all digests
``model.json``       the bit-exact programs
``robot.json``       the robot of the URDF before any rewrite, for the golden model
``domain.json``      the bounds of every input, and the bodies that take an external force
``selftest.v``       a test bench in plain Verilog, with tasks and the model's answers
``primitives.v``     simulation models of the device primitives that the Verilog instantiates
``accelerator.vlt``  the lint rules that the Verilog breaks on purpose, for Verilator
``accelerator.xdc``  the clock constraint for AMD's tools; ``accelerator.lpf`` for Lattice's
``model.c``          the bit-exact model in C, and ``model.h``, its interface
``model_solver.c``   beside it the bit-exact solver of a build of ``solve``, and ``model_solver.h``
``model_mppi.c``     beside it bit-exact means of samples of a build of ``mppi``, and ``model_mppi.h``
===================  =========================================================================

A folder is refused if any of these files was changed (:mod:`rbdhw.design.digests`). Subfolders that tools
made (:mod:`rbdhw.runtime.build_folder`) contain their results. They are removed when another design is
written to the folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from rbdhw.design.digests import AGAIN, MANIFEST, content, json_object, read_manifest, told_with_version
from rbdhw.design.domain_file import DOMAIN, domain_from_json, domain_to_json
from rbdhw.design.entry import parse_entry
from rbdhw.design.manifest import Manifest, check_accelerator, parse_manifest
from rbdhw.design.packet_entries import Stream
from rbdhw.design.packet_layout import packet_entries
from rbdhw.design.replacement import COMPANIONS, MODEL_COMMANDS, VERILOG, write_files
from rbdhw.domain.graph_inputs import graph_ranges
from rbdhw.errors import InputError, InternalError
from rbdhw.fixed.knots import sweeps_of
from rbdhw.fixed.program import Program
from rbdhw.fixed.rollout import RolloutShape
from rbdhw.fixed.serialize import program_from_json, program_to_json
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.fixed_sweep import FixedSweep
from rbdhw.model.interface import Interface
from rbdhw.model.program_interface import program_interface
from rbdhw.model.solver_words import with_solver
from rbdhw.options.build import (
    ALPHAS,
    BLOCKS,
    COST_ROWS,
    DATA_WIDTHS,
    HOLDS,
    HORIZONS,
    ITERATIONS,
    KNOTS,
    PARAMETER_SETS,
    PROBLEMS,
    STREAMS,
)
from rbdhw.protocol import CODES, COMMANDS, COST, FUNCTIONS, LOAD_PARAMETERS, MPPI, ROLLOUT_PARTS, rolled_by
from rbdhw.robot.model import Robot
from rbdhw.robot.parameters import nominal_words
from rbdhw.robot.serialize import robot_from_json, robot_to_json
from rbdhw.robot.wide_joints import driven_coordinates
from rbdhw.runtime.files import is_folder
from rbdhw.verilog_names import DEFAULT_NAME

T = TypeVar("T")


@dataclass(frozen=True)
class Design(AcceleratorModel):
    """A generated accelerator: its model, its manifest and its hardware."""

    manifest: dict[str, Any]
    """The manifest without digests, with at least :class:`rbdhw.design.packet_entries.Packets`."""
    verilog: str
    """The text of the Verilog."""
    companions: Mapping[str, str] = field(default_factory=dict)
    """The texts of some of :data:`~rbdhw.design.replacement.COMPANIONS` and of
    :data:`~rbdhw.design.replacement.MODEL_COMMANDS` by name."""

    @property
    def name(self) -> str:
        """The name of the top module of the Verilog."""
        return str(self.manifest.get("name", DEFAULT_NAME))

    @cached_property
    def description(self) -> Manifest:
        """The whole manifest as an object; a draft has none."""
        return parse_manifest(self.manifest)


def draft_design(model: AcceleratorModel) -> Design:
    """Return a design without Verilog, whose manifest describes only the packets of ``model``."""
    return Design(**vars(model), manifest=packet_entries(model.interface, model.robot).data(), verilog="")


# Writing


def write(design: Design, directory: Path) -> dict[str, Any]:
    """Write the design folder, replacing an earlier design and the builds that tools made from it.

    On failure the earlier design and its builds remain unchanged, and no new file is left. Raises InputError
    as :func:`rbdhw.design.replacement.write_files` does. Raises InternalError if :func:`read` would not
    return the same design.

    Returns
    -------
    dict
        The manifest as written, with the digests of the files.
    """
    contents = {name: text.encode() for name, text in _texts(design).items()}
    return write_files(
        design.manifest, contents, directory, lambda made: _check_readable(design, made, directory)
    )


def _check_readable(design: Design, made: Path, directory: Path) -> None:
    """Check that the files in ``made``, which are to be moved to ``directory``, are read as the same."""
    refused = "internal error: the design differs from the one that is read from its files"
    expected = "nothing was written; please report the robot and the options"
    try:
        reread = read(made)
    except InputError as error:
        reason = str(replace(error, remedy="")).replace(f"{made}{os.sep}", "")
        raise InternalError(f"{directory}: {refused} ({reason}); {expected}") from error
    parts = {"programs": "model.json", "robot": "robot.json", "fext": DOMAIN}
    parts |= {} if design.sweep is None else {"sweep.program": "model.json"}
    for part, file in parts.items():
        if attrgetter(part)(reread) != attrgetter(part)(design):
            raise InternalError(f"{directory}: {refused} ({file} holds another {part}); {expected}")


def _texts(design: Design) -> dict[str, str]:
    return {
        VERILOG: design.verilog,
        "model.json": _programs_text(design.programs, design.sweep),
        "robot.json": _json_text(robot_to_json(design.robot)),
        DOMAIN: _json_text(domain_to_json(design.domain, design.fext)),
        **design.companions,
    }


def _json_text(data: Mapping[str, Any]) -> str:
    """Return JSON with one line for each entry of ``data`` and for each item of the lists in it."""
    entries = []
    for key, value in data.items():
        text = json.dumps(value, allow_nan=False)
        if isinstance(value, list) and value:
            text = "[\n  " + ",\n  ".join(json.dumps(item, allow_nan=False) for item in value) + "\n ]"
        entries.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(entries) + "\n}\n"


def _programs_text(programs: Sequence[Program], sweep: FixedSweep | None) -> str:
    texts = (_json_text(program_to_json(program)).rstrip() for program in programs)
    of_sweep = ""
    if sweep is not None:
        program = _json_text(program_to_json(sweep.program)).rstrip()
        of_sweep = f', "time_step": {json.dumps(sweep.h)}, "sweep":\n{program}'
    return '{"programs": [\n' + ",\n".join(texts) + f"\n]{of_sweep}}}\n"


# Reading


def read(directory: Path) -> Design:
    """Return the design in a folder that :func:`write` wrote.

    Raises InputError if the folder or a file is missing, or a file is not as :func:`write` wrote it.
    """
    if not is_folder(directory):
        raise InputError(str(directory), "no such folder", "one that `rbdhw generate` wrote")
    manifest = read_manifest(directory)
    with told_with_version(manifest):
        return _read(directory, manifest)


def _read(directory: Path, manifest: dict[str, Any]) -> Design:
    """Return the design in a folder with the digests of this manifest."""
    check_accelerator(manifest, directory)
    verilog = content(directory / VERILOG).decode("utf-8")
    robot = _read_json(directory / "robot.json", robot_from_json)
    domain, fext = _read_json(directory / DOMAIN, lambda data: domain_from_json(data, robot))
    programs, sweep = _read_json(directory / "model.json", _programs_from_json)
    present = [name for name in (*COMPANIONS, *MODEL_COMMANDS) if (directory / name).exists()]
    companions = {name: content(directory / name).decode("utf-8") for name in present}
    interface = _read_interface(manifest, programs, robot, directory)
    known = graph_ranges(robot, domain, fext)
    unknown = [word.name for program in programs for word in program.inputs if word.name not in known]
    if unknown:
        expected = f"an input of robot '{robot.name}' in robot.json and domain.json"
        raise InputError(f"{directory / 'model.json'}, word '{unknown[0]}'", "unknown", expected, AGAIN)
    model = AcceleratorModel(robot, domain, programs, fext, interface)
    solver = _read_stream(manifest).solver
    if sweep is not None and solver is not None:
        program, h = sweep
        fixed = FixedSweep(sweeps_of(program, solver.knots), program, h, driven_coordinates(robot))
        sizes = solver.alphas, solver.iterations, solver.problems, solver.blocks
        try:
            model = with_solver(model, fixed, *sizes)
        except InputError as error:
            raise _damaged(directory / MANIFEST, error) from None
    _check_functions(_read_stream(manifest).functions, model.interface.codes, directory / MANIFEST)
    _check_commands(manifest, model, directory / MANIFEST)
    return Design(**vars(model), manifest=manifest, verilog=verilog, companions=companions)


def _read_json(path: Path, parse: Callable[[dict[str, Any]], T]) -> T:
    """Return the JSON object in a file as parsed by ``parse``; every InputError names the file."""
    data = json_object(path)
    try:
        return parse(data)
    except InputError as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: InputError) -> InputError:
    """Return the refusal of a file of a design, given that of the data in it."""
    return replace(error.within(path), remedy=AGAIN)


class _ProgramsFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    programs: list[dict[str, Any]]
    sweep: dict[str, Any] | None = None
    time_step: float = 0.0


def _programs_from_json(
    data: dict[str, Any],
) -> tuple[tuple[Program, ...], tuple[Program, float] | None]:
    try:
        file = _ProgramsFile.model_validate(data)
    except ValidationError as error:
        raise InputError("program data", error.errors()[0]["msg"], "a list of programs") from None
    programs = tuple(map(program_from_json, file.programs))
    functions = [function for program in programs for function in program.outputs]
    if len(set(functions)) != len(functions):
        raise InputError("program data, outputs", "a function is in two programs", "each in one")
    sweep = None if file.sweep is None else (program_from_json(file.sweep), file.time_step)
    return programs, sweep


def _read_interface(
    manifest: Mapping[str, Any], programs: Sequence[Program], robot: Robot, directory: Path
) -> Interface:
    """Return the interface that a manifest describes; InputError if it does not match the programs."""
    path = directory / MANIFEST
    try:
        stream = _read_stream(manifest)
    except InputError as error:
        raise _damaged(path, error) from None
    built = [function for program in programs for function in program.outputs]
    _check_functions(stream.functions.keys() & FUNCTIONS, built, path)
    shape = None
    step = rolled_by(stream.functions)
    if stream.horizon is not None and step is not None:
        means = MPPI in stream.functions
        parts = tuple(stream.rollout)
        shape = RolloutShape(
            *(stream.horizon, robot.nq, step, parts),
            hold=stream.hold,
            means=means,
            cost_rows=stream.cost_rows,
            tracking=robot.tracks and COST in parts,
        )
    loaded = LOAD_PARAMETERS in stream.functions and robot.loaded is not None
    return program_interface(
        programs,
        stream.tdata_width,
        stream.number,
        stream.priority,
        shape,
        nominal_words(robot) if loaded else None,
        stream.pairs,
        stream.parameter_sets,
    )


def _check_functions(listed: Collection[str], known: Collection[str], manifest: Path) -> None:
    """Check that the functions that a manifest lists are those of the programs."""
    for function in sorted({*listed} ^ {*known}):
        expected = f"the functions of model.json: {', '.join(known)}"
        raise InputError(f"{manifest}, function '{function}'", "is not in both files", expected, AGAIN)


def _check_commands(manifest: Mapping[str, Any], model: AcceleratorModel, path: Path) -> None:
    """Check that the words of commands are those that this version computes; those of functions are read."""
    commands = [name for name in model.interface.codes if name in COMMANDS]
    known = packet_entries(model.interface, model.robot).data() if commands else {}
    for command in commands:
        for side in ("inputs", "outputs", "optional_outputs"):
            listed = manifest.get(side)
            if not isinstance(listed, dict) or listed.get(command) != known[side][command]:
                where = f"{path}, {side}.{command}"
                raise InputError(where, "other words than this version's", "what generate wrote", AGAIN)


def _read_stream(manifest: Mapping[str, Any]) -> Stream:
    """Return the manifest's entry on the streams, with a width and functions that this version has."""
    stream = parse_entry(Stream, manifest.get("stream"), "stream")
    if stream.tdata_width not in DATA_WIDTHS:
        expected = ", ".join(str(allowed) for allowed in DATA_WIDTHS)
        raise InputError("stream.tdata_width", str(stream.tdata_width), f"one of {expected}")
    if not stream.functions or not stream.functions.items() <= CODES.items():
        raise InputError("stream.functions", str(stream.functions), f"some of {CODES}")
    if stream.horizon is not None and (stream.horizon not in HORIZONS or not rolled_by(stream.functions)):
        expected = f"{HORIZONS[0]} to {HORIZONS[-1]}, of a build with step or cstep"
        raise InputError("stream.horizon", str(stream.horizon), expected)
    if not set(stream.rollout) <= ROLLOUT_PARTS.keys():
        raise InputError("stream.rollout", str(stream.rollout), f"some of {', '.join(ROLLOUT_PARTS)}")
    if stream.hold not in HOLDS:
        raise InputError("stream.hold", str(stream.hold), f"one of {', '.join(map(str, HOLDS))}")
    if stream.cost_rows not in COST_ROWS or (stream.cost_rows and COST not in stream.rollout):
        expected = f"up to {COST_ROWS[-1]}, of a build with costs"
        raise InputError("stream.cost_rows", str(stream.cost_rows), expected)
    if stream.pairs not in STREAMS or (stream.pairs > 1 and stream.horizon is not None):
        expected = f"{STREAMS[0]} to {STREAMS[-1]}, and 1 with rollouts"
        raise InputError("stream.pairs", str(stream.pairs), expected)
    most = PARAMETER_SETS[-1] if LOAD_PARAMETERS in stream.functions else 1
    if not 1 <= stream.parameter_sets <= most:
        expected = "1" if most == 1 else f"1 to {most}"
        raise InputError("stream.parameter_sets", str(stream.parameter_sets), expected)
    if (solver := stream.solver) is not None and not (
        solver.knots in KNOTS
        and solver.alphas in ALPHAS
        and solver.iterations in ITERATIONS
        and solver.problems in PROBLEMS
        and solver.blocks in BLOCKS
    ):
        limits = f"{KNOTS[-1]}, {ALPHAS[-1]}, {ITERATIONS[-1]}, {PROBLEMS[-1]} and {BLOCKS[-1]}"
        expected = f"knots, alphas, iterations, problems and blocks up to {limits}"
        raise InputError("stream.solver", str(dict(solver)), expected)
    if not set(stream.priority) <= set(stream.functions):
        expected = f"a list of some of {', '.join(stream.functions)}"
        raise InputError("stream.priority", str(stream.priority), expected)
    return stream
