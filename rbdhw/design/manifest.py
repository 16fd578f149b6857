"""The manifest of a design: every key, its type and its meaning.

``docs/manifest.schema.json`` is the JSON schema of :class:`Manifest`. Later versions may add keys, but do not
remove any or change its meaning.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from rbdhw.design import digests
from rbdhw.design.entries import (
    AlgorithmEntry,
    AlgorithmTryEntry,
    Coordinates,
    CoresEntry,
    ErrorEntry,
    EstimateEntry,
    FormatsEntry,
    FunctionEntry,
    IntervalEntry,
    LinksEntry,
    LoopEntry,
    MixEntry,
    OperandMemories,
    RegionEntry,
    RobotEntry,
    Root,
    SharingEntry,
    Slots,
    WideProducts,
)
from rbdhw.design.entry import Closed, Count, parse_manifest
from rbdhw.design.packet_entries import InputWord, OutputWord, Stream
from rbdhw.options.build import CoreName
from rbdhw.verilog_names import DEFAULT_NAME


class Units(Closed):
    """The pace and the units of a core, or of all cores together."""

    ii: int = Field(
        description="Cycles between tasks in the core: the initiation interval. The longest of several cores."
    )
    width: list[int] = Field(description="Operand bits of an ordinary multiplier; the most of several cores.")
    dsp_blocks: int
    multipliers: int
    multiplier_slots: Slots
    shift_add_products: int = Field(description="Products with constants that adders compute.")
    trigonometry_units: int
    reciprocal_units: int


class PartEntry(Units):
    """One of several cores. The numbers are those of one copy."""

    functions: list[str]
    copies: int
    core: CoreName
    wide_products: WideProducts
    pipeline_registers: Count
    operand_memories: OperandMemories | None = None
    links: LinksEntry | None = None
    loop: LoopEntry | None = None
    regions: list[RegionEntry]
    formats: FormatsEntry
    limbs: SharingEntry | None = None
    cores: CoresEntry
    algorithms: dict[str, str] = Field(default={}, description="The algorithm of each step of this core.")
    tried: list[AlgorithmTryEntry] = Field(
        default=[], description="The combinations of algorithms that were compared in number formats."
    )


_ONE_CORE = "Only an accelerator with one core has this entry; `parts` has it for each of several."


class Manifest(Units):
    """The description of a design by `generate`."""

    name: str = Field(
        default=DEFAULT_NAME, description="The top module, with whose name those of all modules begin."
    )
    robot: RobotEntry
    functions: dict[str, FunctionEntry]
    clock_mhz: float
    target: str
    core: CoreName | Literal["mixed"]
    wide_products: WideProducts | None = Field(default=None, description=_ONE_CORE)
    pipeline_registers: Count | None = Field(
        default=None, description=f"Pipeline registers by kind of unit. {_ONE_CORE}"
    )
    operand_memories: OperandMemories | None = Field(
        default=None, description="Only the array core has this entry."
    )
    links: LinksEntry | None = Field(default=None, description="Only the chain core has this entry.")
    loop: LoopEntry | None = Field(default=None, description="Only the loop core has this entry.")
    regions: list[RegionEntry] | None = Field(default=None, description=_ONE_CORE)
    error: dict[str, ErrorEntry]
    formats: FormatsEntry | None = Field(default=None, description=_ONE_CORE)
    budget: float | None = Field(description="The error budget; null if a width was given instead.")
    versions: dict[str, str]
    seed: int
    limbs: SharingEntry | None = Field(default=None, description="Only the pipeline core has this entry.")
    algorithms: dict[str, AlgorithmEntry | list[str] | list[AlgorithmTryEntry]] = Field(
        description="The choice at each step, under `tried` the combinations that were compared in number "
        "formats (of a single core), and under `rewrites` the rewrites of the robot that apply."
    )
    interval: IntervalEntry
    cores: CoresEntry | None = Field(default=None, description=_ONE_CORE)
    parts: list[PartEntry] | None = Field(default=None, description="The cores, if there are several.")
    mix: MixEntry | None = Field(default=None, description="Only builds with `--mix` have this entry.")
    coordinates: Coordinates
    estimate: EstimateEntry
    remarks: list[str]
    stream: Stream
    inputs: dict[str, list[InputWord]]
    optional_inputs: dict[str, list[InputWord]]
    outputs: dict[str, list[OutputWord]]
    optional_outputs: dict[str, list[OutputWord]]
    roots: list[Root]
    digests: dict[str, str] | None = Field(
        default=None, description="SHA-256 of each file and of the manifest; `generate` writes it last."
    )


def schema() -> dict[str, Any]:
    """Return the JSON schema of a manifest."""
    return Manifest.model_json_schema()


def read_manifest(directory: Path) -> Manifest:
    """Return the manifest of a design folder, after checking all digests.

    Raises
    ------
    InputError
        As :func:`rbdhw.design.digests.read_manifest`; if a key is missing, unknown, or of another type, as in
        a manifest of another version.
    """
    return parse_manifest(Manifest, digests.read_manifest(directory), directory)


def validate(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest unchanged, after checking its keys and types against :class:`Manifest`.

    Raises
    ------
    pydantic.ValidationError
        If a key is missing, unknown, or of another type.
    """
    Manifest.model_validate(manifest)
    return manifest
