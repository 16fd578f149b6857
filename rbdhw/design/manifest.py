"""The manifest of a design: every key, its type and its meaning.

``docs/manifest.schema.json`` is the JSON schema of :class:`Manifest`. Later versions may add keys, but do not
remove any or change its meaning.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rbdhw.design import digests
from rbdhw.errors import InputError

Count = dict[str, int]
Entry = TypeVar("Entry", bound="_Entry")


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ParametersEntry(_Entry):
    """Inertial parameters that are given at run time, and the linear map to what the hardware holds.

    With mass m, centre of mass c and inertia J about c of a link, in its own frame, the map's arguments are
    m, m c and the inertia about the frame's origin, link by link.
    """

    links: list[str]
    bounds: list[list[float]] = Field(
        description="Lower and upper bounds of m, c (x, y, z) and J (xx, xy, xz, yy, yz, zz), link by link."
    )
    held: list[str] = Field(description="What the words `parameters[k]` are, in order.")
    units: list[str]
    matrix: list[list[float]] = Field(description="A row for each word, a column for each argument.")
    constants: list[float] = Field(description="What is added to the product with the matrix.")


class RobotEntry(_Entry):
    """The robot that the URDF describes, with the requested base."""

    name: str
    dof: int = Field(description="Degrees of freedom; the same as `nv`.")
    nq: int = Field(description="Coordinates of a configuration `q`.")
    nv: int = Field(description="Coordinates of a velocity `v`.")
    joints: list[str] = Field(description="The moving joints, in the order of their coordinates.")
    joint_order: Literal["pinocchio", "file", "rerooted", "given"]
    depth: int = Field(description="Bodies on the longest path from the root.")
    base: Literal["fixed", "floating", "given"]
    frames: list[str] | None = Field(default=None, description="The links of `--frames`, in order.")
    frame_axes: Literal["local", "world"] | None = None
    time_step: float | None = Field(default=None, description="The step in time (s) of `--time-step`.")
    armature: dict[str, list[float]] | None = Field(
        default=None,
        description="The inertia of the rotors by joint, for each degree of freedom (kg m^2 or kg); absent "
        "if none is computed.",
    )
    damping: dict[str, list[float]] | None = Field(
        default=None,
        description="The viscous friction by joint, for each degree of freedom (Nm s/rad or N s/m); absent "
        "if none is computed.",
    )
    parameters: ParametersEntry | None = Field(
        default=None, description="Absent if all inertial parameters are constant."
    )


class Multiplications(_Entry):
    """Multiplications of one task."""

    variable: int = Field(description="Products of two values that depend on the task.")
    constant: int = Field(description="Products with a constant of the robot.")


class Operations(_Entry):
    """Operations of one task."""

    multiplications: Multiplications
    additions: int
    reciprocals: int


class FunctionEntry(Operations):
    """A function: the operations on which its results depend, and its timing."""

    built: Operations = Field(
        description="Operations of a task in the program that is built, which may share products with other "
        "functions."
    )
    latency_cycles: int = Field(
        description="Cycles from the first beat of a request to the last beat of its answer, with no other "
        "task in flight. A task can wait up to `ii` - 1 cycles longer for its slot."
    )
    latency_us: float
    core_latency_cycles: int = Field(
        description="Cycles from the words of a task to its results in the core."
    )
    cycles_per_task: int | float = Field(
        description="The larger of two numbers: the interval of its core, divided by the copies, and the "
        "beats of a packet, in or out."
    )
    tasks_per_second: int = Field(description="Tasks of this function alone, at `clock_mhz`.")


class Slots(_Entry):
    """Uses of multipliers in an interval."""

    used: int
    offered: int


class WideProducts(_Entry):
    """Products that the error budget made wider than an ordinary multiplier."""

    width: list[int] | None = Field(description="Bits of their operands; null if there are none.")
    multipliers: int
    products: Count = Field(description="Products by submodule.")


class RegionEntry(_Entry):
    """A submodule: one step of an algorithm at one joint."""

    name: str
    ii: int
    operations: int
    multipliers: int
    latency: int = Field(description="Cycles from its first to its last operation.")


class OperandMemories(_Entry):
    """The operand memories of an array."""

    memories: int
    words_written: int = Field(description="Words that one task writes.")
    inputs: int = Field(description="Results that are connected to memories.")


class Figures(_Entry):
    """Relative errors of the tasks that were not flagged; null if all tasks were flagged."""

    median: float | None
    max: float | None
    samples: int
    flagged: int


class ErrorEntry(Figures):
    """Errors of a function's results in the bit-exact model against the golden model."""

    norm: str = Field(description="How an error is measured.")
    limit: float = Field(description="The largest error with which `simulate` exits 0.")
    floor: float | dict[str, float] = Field(
        description="The least norm by which an error is divided, in `units`: smaller results count as this "
        "large. A step in time has one for each part of its results, as a rate."
    )
    step: float = Field(description="The coarsest step of a word of the result.")
    units: list[str]
    strata: dict[str, Figures] = Field(description="The errors by kind of task.")


class Limit(_Entry):
    """The function and kind of task that need the largest error budget."""

    function: str
    stratum: str


class Try(_Entry):
    """Operand widths that were tried."""

    widths: list[list[int]] = Field(description="Widths of the operands of ordinary and of wide products.")
    supports: float | None = Field(
        description="The smallest error budget that these widths meet; null if they meet none."
    )
    limited_by: Limit
    whole: bool = Field(description="Whether all held-out tasks were evaluated.")
    taken: bool = Field(description="Whether the accelerator has these widths.")


class FormatsEntry(_Entry):
    """The choice of number formats."""

    why: str
    tries: list[Try]


class SharingEntry(_Entry):
    """Symmetric limbs that share one limb's hardware. Only the pipeline core has this entry."""

    groups: list[list[str]] = Field(
        description="The first links of the limbs of each group that shares hardware."
    )
    shared: bool
    operations: Count
    multiplications: Count
    costs: dict[str, Count] = Field(
        description="The hardware of the core with sharing (`on`) and without (`off`)."
    )


class AlgorithmEntry(_Entry):
    """A step for which algorithms were compared."""

    chosen: str
    costs: dict[str, dict[str, float]] = Field(
        description="For each algorithm the operations, the longest path in nanoseconds, and the total cost."
    )


class TrafficEntry(_Entry):
    """The packets of one task."""

    bytes_in: int
    bytes_out: int
    beats_in: int
    beats_out: int


class LinkEntry(_Entry):
    """The packets of each function and the initiation interval that the link allows."""

    bandwidth: float | None = Field(description="GB/s each way; null if the link is as fast as the streams.")
    ii: int = Field(description="The fewest cycles between tasks that the link allows.")
    function: str = Field(description="The function whose packets take longest on the link.")
    functions: dict[str, TrafficEntry]


class IntervalEntry(_Entry):
    """The initiation interval."""

    ii: int
    why: str
    fit: float | None = Field(
        description="The share of the target that the design may use; null if not given."
    )
    link: LinkEntry


class CoresEntry(_Entry):
    """The choice of the core."""

    asked: str
    why: str
    estimates: dict[str, Count] = Field(description="Resources with each core that was compared.")


class Range(_Entry):
    """Limits of a coordinate; null where the URDF gives none."""

    lower: float | None
    upper: float | None


class CoordinateEntry(_Entry):
    """A coordinate of `q` or `v`."""

    index: int
    joint: str
    kind: str
    part: str = Field(description="Which coordinate of its joint; empty if the joint has one.")
    unit: str
    limits: Range
    effort: float | None = Field(default=None, description="The effort limit; coordinates of `v` have it.")
    travels: list[str] = Field(description="The arrays whose element at this index is in packets.")


class Coordinates(_Entry):
    """All coordinates, in order."""

    q: list[CoordinateEntry]
    v: list[CoordinateEntry]


class EstimateError(_Entry):
    """Errors of the estimates for the designs of other robots."""

    median: float
    largest: float


class EstimateEntry(_Entry):
    """The estimated resources of the accelerator."""

    luts: int
    flip_flops: int
    dsp_blocks: int
    block_rams: int
    shares: dict[str, float] = Field(description="Shares of the target.")
    error: dict[str, EstimateError] | None = Field(
        description="Errors of estimates against Yosys: relative for LUTs and flip-flops, in blocks for DSP "
        "blocks and block RAMs. Null if no design of this target and core was synthesised."
    )


class Stream(_Entry):
    """The streams and the header of packets."""

    tdata_width: int
    number: Literal["fixed", "float32"]
    header: dict[str, tuple[int, int]] = Field(description="For each field the lowest bit and the width.")
    options: Count = Field(description="The bit of each option in the header's `options`.")
    status: Count = Field(description="The bit of each cause in the header's `status`.")
    functions: Count = Field(description="The code of each function of the build.")
    slots: list[int] = Field(description="The widths of the places in a packed request.")
    priority: list[str] = Field(description="Functions whose answers are sent first.")
    horizon: int | None = Field(default=None, description="The most steps of a rollout.")
    rollout: list[str] = Field(default=[], description="What rollouts have beside the forces of each step.")
    pairs: int = Field(default=1, description="The pairs of streams. With one pair there is no such entry.")


class PacketWord(_Entry):
    """A word of a packet. Its value is the integer times 2 to the power of -`binary_point`, in `unit`."""

    name: str
    unit: str
    width: int
    binary_point: int


class EqualElement(_Entry):
    """An element of a function's results that has no word of its own."""

    name: str
    unit: str
    negative: bool = Field(description="Whether it is the negative of the word's value.")


class OutputWord(PacketWord):
    """A word of an answer."""

    also: list[EqualElement] | None = Field(
        default=None,
        description="Other elements that have the word's value, or its negative; absent if there are none.",
    )


class InputWord(PacketWord):
    """A word of a request."""

    slot: int
    lowest: int | None = Field(default=None, description="Below this integer the task is flagged.")
    highest: int | None = Field(default=None, description="Above this integer the task is flagged.")


class MixEntry(_Entry):
    """The mix of tasks for which the cores were chosen."""

    tasks: dict[str, float] = Field(description="Tasks of each function in one mix.")
    mixes_per_second: int
    limited_by: str


class Root(_Entry):
    """A link that was tried as the root of a floating robot."""

    link: str
    depth: int
    cost: float


class Units(_Entry):
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
    core: Literal["pipeline", "array"]
    wide_products: WideProducts
    pipeline_registers: Count
    operand_memories: OperandMemories | None = None
    regions: list[RegionEntry]
    formats: FormatsEntry
    limbs: SharingEntry | None = None
    cores: CoresEntry


_ONE_CORE = "Only an accelerator with one core has this entry; `parts` has it for each of several."


class Manifest(Units):
    """The description of a design by `generate`."""

    robot: RobotEntry
    functions: dict[str, FunctionEntry]
    clock_mhz: float
    target: str
    core: Literal["pipeline", "array", "mixed"]
    wide_products: WideProducts | None = Field(default=None, description=_ONE_CORE)
    pipeline_registers: Count | None = Field(
        default=None, description=f"Pipeline registers by kind of unit. {_ONE_CORE}"
    )
    operand_memories: OperandMemories | None = Field(
        default=None, description="Only the array core has this entry."
    )
    regions: list[RegionEntry] | None = Field(default=None, description=_ONE_CORE)
    error: dict[str, ErrorEntry]
    formats: FormatsEntry | None = Field(default=None, description=_ONE_CORE)
    budget: float | None = Field(description="The error budget; null if a width was given instead.")
    versions: dict[str, str]
    seed: int
    limbs: SharingEntry | None = Field(default=None, description="Only the pipeline core has this entry.")
    algorithms: dict[str, AlgorithmEntry | list[str]] = Field(
        description="The choice at each step, and under `rewrites` the rewrites of the robot that apply."
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


class ArrayEntry(_Entry):
    """An array of a function, as a parameter of its C function."""

    name: str
    shape: list[int] = Field(description="Of one task.")
    unit: str
    optional: bool


class SoftwareFunction(Operations):
    """A function in software: the operations of a task, and its arrays in the order of its parameters."""

    inputs: list[ArrayEntry]
    outputs: list[ArrayEntry]


class SoftwareManifest(_Entry):
    """The description of software for processors by `generate`."""

    target: Literal["c", "cuda"]
    robot: RobotEntry
    functions: dict[str, SoftwareFunction]
    fext: list[int] = Field(description="The bodies that take an external force.")
    algorithms: dict[str, AlgorithmEntry | list[str]] = Field(
        description="The choice at each step, and under `rewrites` the rewrites of the robot that apply."
    )
    coordinates: Coordinates
    versions: dict[str, str]
    remarks: list[str]
    roots: list[Root]
    digests: dict[str, str] | None = Field(
        default=None, description="SHA-256 of each file and of the manifest."
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
    data = digests.read_manifest(directory)
    try:
        return parse_entry(Manifest, data)
    except InputError as error:
        raise error.within(directory / digests.MANIFEST) from None


def parse_entry(kind: type[Entry], data: object, *place: str) -> Entry:
    """Return a part of a manifest as an object; ``place`` has the keys that lead to it.

    Raises
    ------
    InputError
        If a key is missing, unknown, or of another type. The message names the key.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, (*place, *first["loc"])))
        raise InputError(where, first["msg"], "what generate wrote", digests.AGAIN) from error


def validate(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest unchanged, after checking its keys and types against :class:`Manifest`.

    Raises
    ------
    pydantic.ValidationError
        If a key is missing, unknown, or of another type.
    """
    Manifest.model_validate(manifest)
    return manifest
