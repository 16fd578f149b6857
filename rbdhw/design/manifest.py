"""The manifest of a design: every key, its type and its meaning.

``docs/manifest.schema.json`` is the JSON schema of :class:`Manifest`. Later versions may add keys; if they
remove any or change its meaning, they raise :data:`FORMAT`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from rbdhw.design import digests
from rbdhw.design.entries import (
    AlgorithmEntry,
    AlgorithmTryEntry,
    Coordinates,
    CoresEntry,
    EstimateEntry,
    FormatsEntry,
    FunctionEntry,
    IntervalEntry,
    LinksEntry,
    LoopEntry,
    MeansHardware,
    MixEntry,
    OperandMemories,
    RegionEntry,
    RobotEntry,
    Root,
    SharingEntry,
    Slots,
    SolverHardware,
    WideProducts,
)
from rbdhw.design.entry import Closed, Count, parse_entry, told_within
from rbdhw.design.error_entries import ErrorEntry
from rbdhw.design.packet_entries import Packets
from rbdhw.errors import InputError
from rbdhw.options.build import PROCESSORS, CoreName

FORMAT = 3
"""The format of manifests that this version writes and reads."""


class Units(Closed):
    """The pace and the units of a core, or of all cores together."""

    ii: int = Field(
        description="Cycles between tasks in the core: the initiation interval. The longest of several cores."
    )
    width: list[int] = Field(description="Operand bits of an ordinary multiplier; the most of several cores.")
    dsp_blocks: int
    multipliers: int
    multiplier_slots: Slots
    shift_add_products: int = Field(description="Products that adders compute.")
    trigonometry_units: int
    reciprocal_units: int


class PartEntry(Units):
    """A core, or several equal ones. The numbers are those of one."""

    functions: list[str]
    copies: int
    core: CoreName
    wide_products: WideProducts
    multipliers_by_slot: list[int] = Field(
        default=[],
        description="Multipliers in use in each slot of the interval, or of a window.",
    )
    timeline: dict[str, dict[str, tuple[int, int]]] = Field(
        default={},
        description="For each function the steps of a task: the cycle in which each begins, and the one of "
        "its last result. Names hold the joint's number; those of a chain the link's, those of a loop the "
        "stage's.",
    )
    pipeline_registers: Count = Field(description="Pipeline registers by kind of unit.")
    operand_memories: OperandMemories | None = Field(
        default=None, description="Only the array core has this entry."
    )
    links: LinksEntry | None = Field(default=None, description="Only the chain core has this entry.")
    loop: LoopEntry | None = Field(default=None, description="Only the loop core has this entry.")
    formats: FormatsEntry
    limbs: SharingEntry | None = Field(default=None, description="Only the pipeline core has this entry.")
    cores: CoresEntry
    algorithms: dict[str, str] = Field(description="The algorithm of each step of this core.")
    tried: list[AlgorithmTryEntry] = Field(
        description="The combinations of algorithms that were compared in number formats."
    )


class Manifest(Units, Packets):
    """The description of a design by `generate`."""

    format: Literal[3] = Field(description="Raised when keys change; a folder of another one is refused.")
    name: str = Field(description="The top module, with whose name those of all modules begin.")
    robot: RobotEntry
    functions: dict[str, FunctionEntry]
    clock_mhz: float
    stream_clock_mhz: float | None = Field(
        default=None, description="Only builds with `--stream-clock` have this entry."
    )
    target: str
    core: CoreName | Literal["mixed"]
    parts: list[PartEntry] = Field(description="The cores; equal ones are one entry.")
    regions: list[RegionEntry]
    error: dict[str, ErrorEntry]
    budget: float | None = Field(description="The error budget; null if a width was given instead.")
    budgets: dict[str, float] | None = Field(
        default=None, description="The budgets that functions have of their own; others are in proportion."
    )
    versions: dict[str, str]
    seed: int
    algorithms: dict[str, AlgorithmEntry | list[str]] = Field(
        description="The choice at each step, and under `rewrites` the rewrites of the robot that apply."
    )
    interval: IntervalEntry
    mix: MixEntry | None = Field(default=None, description="Only builds with `--mix` have this entry.")
    solver: SolverHardware | None = Field(
        default=None, description="Only builds with `solve` have this entry."
    )
    means: MeansHardware | None = Field(default=None, description="Only builds with `mppi` have this entry.")
    coordinates: Coordinates
    estimate: EstimateEntry
    remarks: list[str]
    roots: list[Root]
    identity: str | None = Field(
        default=None,
        description="SHA-256 of manifest and Verilog, which registers of `accelerator_axi` hold.",
    )
    digests: dict[str, str] | None = Field(
        default=None, description="SHA-256 of each file and of the manifest; `generate` writes it last."
    )

    @property
    def cores(self) -> int:
        """The number of cores, each of equal ones counted."""
        return sum(part.copies for part in self.parts)


def schema() -> dict[str, Any]:
    """Return the JSON schema of a manifest."""
    return Manifest.model_json_schema()


def parse_manifest(manifest: Mapping[str, Any]) -> Manifest:
    """Return a manifest as an object; InputError for another format, or a key that is not as it should be."""
    known = manifest.get("format", 1)
    if known != FORMAT:
        raise InputError("format", f"{known}: its keys are others", str(FORMAT), digests.AGAIN)
    return parse_entry(Manifest, manifest)


def is_software(manifest: Mapping[str, Any]) -> bool:
    """Return whether a manifest is that of software for processors."""
    return manifest.get("target") in PROCESSORS


def check_accelerator(manifest: Mapping[str, Any], directory: Path) -> None:
    """Refuse the manifest of software in a folder."""
    if is_software(manifest):
        raise InputError(str(directory), "is software", "an accelerator, generated with --target of a device")


def read_manifest(directory: Path) -> Manifest:
    """Return the manifest of a design folder, after checking all digests.

    Raises InputError as :func:`rbdhw.design.digests.read_manifest` does, for software, and as
    :func:`parse_manifest`. The message names the file, and another version that wrote it.
    """
    manifest = digests.read_manifest(directory)
    check_accelerator(manifest, directory)
    with digests.told_with_version(manifest), told_within(directory / digests.MANIFEST):
        return parse_manifest(manifest)
