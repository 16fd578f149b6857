"""The entries of manifests: the robot, the functions, and what was built and why."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rbdhw.design.entry import Closed, Count
from rbdhw.design.packet_entries import LinkEntry


class ParametersEntry(Closed):
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


class ContactsEntry(Closed):
    """Links that may touch the world, and loops of links."""

    links: dict[str, str] = Field(description="The links of `--contacts`, in order, each with its kind.")
    axes: str = Field(description="The axes of forces: `world` or `local`.")
    damping: float
    velocity_gain: float
    restitution: float
    by_task: bool | None = Field(default=None, description="Present if tasks bring damping and gains.")
    loops: list[str] | None = Field(default=None, description="The loops of `--loops`, after the links.")
    position_gain: float | None = Field(default=None, description="That of loops (1/s^2).")


class RobotEntry(Closed):
    """The robot that the URDF describes, with the requested base."""

    name: str
    dof: int = Field(description="Degrees of freedom; the same as `nv`.")
    nq: int = Field(description="Coordinates of a configuration `q`.")
    nv: int = Field(description="Coordinates of a velocity `v`.")
    joints: list[str] = Field(description="The moving joints, in the order of their coordinates.")
    joint_order: Literal["pinocchio", "file", "rerooted", "given"]
    depth: int = Field(description="Bodies on the longest path from the root.")
    base: Literal["fixed", "floating", "given", "any"]
    frames: list[str] | None = Field(default=None, description="The links of `--frames`, in order.")
    frame_axes: Literal["local", "world"] | None = None
    spheres: dict[str, float] | None = Field(
        default=None, description="The points of `--spheres`, in order, with radii (m)."
    )
    contacts: ContactsEntry | None = Field(default=None, description="Absent if the build has none.")
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


class Multiplications(Closed):
    """Multiplications of one task."""

    variable: int = Field(description="Products of two values that depend on the task.")
    constant: int = Field(description="Products with a constant of the robot.")


class Operations(Closed):
    """Operations of one task."""

    multiplications: Multiplications
    additions: int
    reciprocals: int


class EnergyEntry(Closed):
    """Power, and the energy of a task."""

    watts: float
    nanojoules: float = Field(description="Of a task, with its share of the static power.")
    delay_product: float = Field(description="`nanojoules` times `latency_us`.")


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
    energy: EnergyEntry | None = Field(
        default=None,
        description="A coarse estimate while tasks of this function alone follow each other at that rate, "
        "fitted to two published accelerators. Only devices with one have it.",
    )


class Slots(Closed):
    """Uses of multipliers in an interval."""

    used: int
    offered: int


class WideProducts(Closed):
    """Products that the error budget made wider than an ordinary multiplier."""

    width: list[int] | None = Field(description="Bits of their operands; null if there are none.")
    multipliers: int
    products: Count = Field(description="Products by submodule.")


class RegionEntry(Closed):
    """A submodule of a pipeline: one step of an algorithm at one joint."""

    name: str
    part: int = Field(description="The place of its core in `parts`.")
    ii: int
    operations: int
    multipliers: int
    latency: int = Field(description="Cycles from its first to its last operation.")


class SweepEntry(Closed):
    """One sweep of a chain core."""

    name: str
    inward: bool = Field(description="Whether it begins with the last link.")
    cycles_per_link: int = Field(description="Cycles from one link of a task to the next.")


class LinksEntry(Closed):
    """How the links of a chain pass through the hardware of one."""

    links: int
    window: int = Field(description="Cycles in which each sweep takes one link of some task.")
    sweeps: list[SweepEntry]


class LoopEntry(Closed):
    """How the stages of a task pass through the hardware of one."""

    stages: int
    window: int = Field(description="Cycles in which the hardware takes a stage of some task.")
    cycles_per_stage: int = Field(description="Cycles from one stage of a task to the next.")


class OperandMemories(Closed):
    """The operand memories of an array."""

    memories: int
    words_written: int = Field(description="Words that one task writes.")
    inputs: int = Field(description="Results that are connected to memories.")


class Limit(Closed):
    """The function, the result and the kind of task that need the largest error budget."""

    function: str
    result: str
    stratum: str


class Try(Closed):
    """Operand widths that were tried."""

    widths: list[list[int]] = Field(description="Widths of the operands of ordinary and of wide products.")
    supports: float | None = Field(
        description="The smallest error budget that these widths meet; null if they meet none."
    )
    limited_by: Limit
    whole: bool = Field(description="Whether all held-out tasks were evaluated.")
    taken: bool = Field(description="Whether the accelerator has these widths.")


class FormatsEntry(Closed):
    """The choice of number formats."""

    why: str
    tries: list[Try]


class SharingEntry(Closed):
    """Symmetric limbs that share the hardware of one."""

    groups: list[list[str]] = Field(
        description="The limbs of each group that may share hardware, each by its first link."
    )
    shared: bool
    operations: Count
    multiplications: Count
    costs: dict[str, Count] = Field(
        description="The hardware of the core with sharing (`on`) and without (`off`)."
    )


class AlgorithmEntry(Closed):
    """A step for which algorithms were compared."""

    chosen: str
    costs: dict[str, dict[str, float]] = Field(
        description="For each algorithm the operations, the longest path in nanoseconds, and the total cost."
    )


class ReachedEntry(Closed):
    """What number formats of a combination of algorithms reach."""

    supports: dict[str, float | None] = Field(
        description="By part of the results, the smallest budget that errors support; null if too many "
        "tasks are flagged."
    )
    widths: list[list[int]] = Field(
        description="Operand bits of an ordinary multiplier, and of the widest if there is a wider one."
    )
    extra_blocks: int = Field(description="DSP blocks without sharing, beyond one for each product.")


class AlgorithmTryEntry(Closed):
    """A combination of algorithms that was compared in number formats."""

    algorithms: dict[str, str]
    cost: float = Field(description="The total cost of the operations, in multiplications.")
    predicted: ReachedEntry | None = Field(description="By prediction from few tasks; null if not predicted.")
    measured: ReachedEntry | None = Field(description="On the bit-exact model; null if not measured.")
    taken: bool
    why: str = Field(description="What decides for or against it.")


class IntervalEntry(Closed):
    """The initiation interval."""

    ii: int
    why: str
    fit: float | None = Field(
        description="The share of the target that the design may use; null if not given."
    )
    link: LinkEntry


class CoresEntry(Closed):
    """The choice of the core."""

    asked: str
    why: str
    estimates: dict[str, Count] = Field(description="Resources with each core that was compared.")


class Range(Closed):
    """Limits of a coordinate; null where the URDF gives none."""

    lower: float | None
    upper: float | None


class CoordinateEntry(Closed):
    """A coordinate of `q`."""

    index: int
    joint: str
    kind: str
    part: str = Field(description="Which coordinate of its joint; empty if the joint has one.")
    unit: str
    limits: Range
    travels: list[str] = Field(description="The arrays whose element at this index is in packets.")


class VelocityEntry(CoordinateEntry):
    """A coordinate of `v`."""

    effort: float | None = Field(description="The effort limit.")


class Coordinates(Closed):
    """All coordinates, in order."""

    q: list[CoordinateEntry]
    v: list[VelocityEntry]


class EstimateError(Closed):
    """Errors of the estimates for the designs of other robots."""

    median: float
    largest: float


class EstimateEntry(Closed):
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


class SolverHardware(Closed):
    """The solver of `solve`."""

    width: int = Field(description="Operand bits of the sweep back.")
    time_step: float = Field(description="The time step (s) of the problems that chose its formats.")
    interval: int = Field(description="Cycles from one knot of the sweep to the next.")
    problems: int = Field(description="The problems that take turns in the sweep; a build has one.")
    dsp_blocks: int = Field(description="Those of the sweep.")
    first_cycles: int = Field(description="The most cycles of the first pass.")
    iteration_cycles: int = Field(description="The most cycles of an iteration without a repeated sweep.")
    energy: EnergyEntry | None = Field(
        default=None,
        description="A coarse estimate, as those of functions, while one iteration follows the other.",
    )


class MeansHardware(Closed):
    """The means of samples of `mppi`."""

    rollouts: int = Field(description="The samples in progress at once.")
    round_cycles: int = Field(
        description="Cycles in which as many take all steps of the horizon, if no task shares the core."
    )
    other_cycles: int = Field(description="The most cycles beside those of rounds.")

    def cycles(self, samples: int) -> int:
        """Return the most cycles of a mean while tasks of the link take every other turn in the core."""
        return 2 * -(-samples // self.rollouts) * self.round_cycles + self.other_cycles


class MixEntry(Closed):
    """The mix of tasks for which the cores were chosen."""

    tasks: dict[str, float] = Field(description="Tasks of each function in one mix.")
    mixes_per_second: int
    limited_by: str


class Root(Closed):
    """A link that was tried as the root of a floating robot."""

    link: str
    depth: int
    cost: float
