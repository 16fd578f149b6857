"""The folder of software for processors, which ``generate`` writes and ``rbdhw.load`` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rbdhw.design.digests import (
    MANIFEST,
    content,
    json_object,
    read_manifest,
    recorded_digests,
    told_with_version,
)
from rbdhw.design.domain_file import DOMAIN, domain_from_json, domain_to_json
from rbdhw.design.entry import parse_entry, told_within
from rbdhw.design.replacement import software_files, write_files
from rbdhw.design.software_manifest import ArrayEntry, SoftwareManifest, SolverEntry
from rbdhw.domain.bounds import Domain
from rbdhw.errors import InputError
from rbdhw.options.build import PROCESSORS
from rbdhw.robot.model import Robot
from rbdhw.robot.serialize import robot_from_json, robot_to_json
from rbdhw.software.arrays import Array, Sides

ROBOT = "robot.json"


@dataclass(frozen=True)
class Software:
    """Generated software: the robot, the sources by name, the manifest without digests, and the domain.

    Without a domain file its inputs have no domain.
    """

    robot: Robot
    sources: Mapping[str, str]
    manifest: dict[str, Any]
    domain: Domain | None = None

    @cached_property
    def description(self) -> SoftwareManifest:
        return parse_entry(SoftwareManifest, self.manifest)

    @property
    def target(self) -> str:
        """The target, one of :data:`rbdhw.options.build.PROCESSORS`."""
        return self.description.target

    @property
    def functions(self) -> tuple[str, ...]:
        return tuple(self.description.functions)

    @property
    def fext(self) -> tuple[int, ...]:
        """The bodies that take an external force."""
        return tuple(self.description.fext)

    @property
    def solver(self) -> SolverEntry | None:
        """What it has of ``solve``, if anything."""
        return self.description.solver

    def arrays(self, function: str) -> Sides:
        entry = self.description.functions[function]
        return _arrays(entry.inputs), _arrays(entry.outputs)


def _arrays(entries: Sequence[ArrayEntry]) -> tuple[Array, ...]:
    return tuple(Array(entry.name, tuple(entry.shape), entry.optional) for entry in entries)


def write(software: Software, directory: Path) -> dict[str, Any]:
    """Write a folder of software and return its manifest as written."""
    contents = {name: text.encode() for name, text in software.sources.items()}
    entries = {ROBOT: robot_to_json(software.robot)}
    if software.domain is not None:
        entries[DOMAIN] = domain_to_json(software.domain, software.fext)
    contents |= {name: (json.dumps(entry, indent=1) + "\n").encode() for name, entry in entries.items()}
    return write_files(software.manifest, contents, directory, lambda _: None)


def read(directory: Path) -> Software:
    """Return the software in a folder that :func:`write` wrote.

    Raises
    ------
    InputError
        A file is missing or was changed, or the folder is no software.
    """
    manifest = read_manifest(directory)
    if manifest.get("target") not in PROCESSORS:
        raise InputError(str(directory), "is no software", "a folder generated with --target c or cuda")
    with told_with_version(manifest):
        with told_within(directory / MANIFEST):
            description = parse_entry(SoftwareManifest, manifest)
        robot = robot_from_json(json_object(directory / ROBOT))
        solver = description.solver is not None
        names = software_files(description.target, description.functions, solver=solver)
        sources = {name: content(directory / name).decode("utf-8") for name in names}
        domain = None
        if DOMAIN in recorded_digests(directory):
            domain, _ = domain_from_json(json_object(directory / DOMAIN), robot)
    return Software(robot, sources, manifest, domain)
