"""The array core: accumulators and other units that all operations share, with operands in memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from rbdhw.cores.array.build import build_array
from rbdhw.cores.array.cells import array_blocks, array_cells
from rbdhw.cores.array.component import ArrayComponent
from rbdhw.cores.array.jobs import jobs
from rbdhw.cores.array.model import SUPPLIES, ArrayResource, ArraySchedule
from rbdhw.cores.core import Core
from rbdhw.design.entries import OperandMemories, Slots, WideProducts
from rbdhw.errors import InputError
from rbdhw.estimate.fabric import Cells
from rbdhw.fixed.program import Program
from rbdhw.graph.twins import Group
from rbdhw.options.build import LOOP, BuildOptions, CoreName
from rbdhw.target import Primitive, Target

USUAL_WIDTH = 18
"""The width to try where none is given: one block multiplies operands of it on every device."""


@dataclass(frozen=True)
class ArrayCore(Core):
    """A program on an array of shared units."""

    schedule: ArraySchedule

    name: ClassVar[CoreName] = "array"
    estimated_as: ClassVar[str] = "array"
    fuses_sums: ClassVar[bool] = True
    least_ii: ClassVar[int] = 8  # at fewer cycles between tasks its units share too little
    is_smaller: ClassVar[bool] = True

    @classmethod
    def is_compared(cls, options: BuildOptions) -> bool:
        return options.compares_cores

    @classmethod
    def needs(cls, options: BuildOptions) -> tuple[str, ...]:
        needs = [f"--width {USUAL_WIDTH}"] if options.width is None else []
        return (*needs, *(f"--{name} auto" for name in _required_sharing(options)))

    @classmethod
    def refusal(cls, options: BuildOptions, ii: int) -> InputError | None:
        if options.width is None:
            return InputError("width", "the multipliers of an array have one width", "8 to 32")
        if ii < cls.least_ii:
            return InputError("ii", f"{ii} is too few for the array core", f"{cls.least_ii} or more")
        for name in _required_sharing(options):
            return InputError(name, "the array core shares all hardware anyway", "auto or off")
        return None

    @classmethod
    def build(cls, program: Program, device: Target, options: BuildOptions, _twins: Sequence[Group]) -> Self:
        """Place and schedule a program with fused sums; an array does not use twins.

        Raises InputError if the clock is too fast, or a job cannot be placed.
        """
        share = options.fit or 1.0
        return cls(program, device, build_array(program, device, options.clock_mhz, options.least_ii, share))

    @staticmethod
    def clock(_program: Program, device: Target, options: BuildOptions, _ii: int) -> float:
        return device.clock(options.clock_mhz).mhz

    @staticmethod
    def products(program: Program) -> int:
        """Return the terms that accumulators add in one task of all functions."""
        return sum(len(job.terms) for job in jobs(program))

    @property
    def multipliers(self) -> int:
        """The accumulators, each of which has one multiplier."""
        return self.schedule.units.count(ArrayResource.ACCUMULATOR)

    @property
    def dsp_blocks(self) -> int:
        return array_blocks(self.program, self.schedule, self.device)

    def cells(self) -> dict[str, Cells]:
        return array_cells(self.program, self.schedule, self.device)

    def entries(self) -> dict[str, Any]:
        array = self.schedule
        count = Counter(array.units)
        return {
            "multipliers": self.multipliers,
            "multiplier_slots": Slots(
                used=sum(len(step.job.terms) for step in array.steps),
                offered=self.multipliers * array.ii,
            ),
            "wide_products": WideProducts(width=None, multipliers=0, products={}),
            "shift_add_products": 0,
            "pipeline_registers": {"accumulator": array.registers},
            "trigonometry_units": count[ArrayResource.TRIGONOMETRY],
            "reciprocal_units": count[ArrayResource.RECIPROCAL],
            "operand_memories": OperandMemories(
                memories=len(list(array.ports())),
                words_written=sum(len(row) for row in array.writes.values()),
                inputs=sum(len({w.output for w in row.values()}) for row in array.writes.values()),
            ),
        }

    def multipliers_by_slot(self) -> list[int]:
        """Return the accumulators that add a product in each slot of the interval."""
        array = self.schedule
        uses = Counter(
            (step.start + k) % array.ii for step in array.steps for k in range(len(step.job.terms))
        )
        return [uses[slot] for slot in range(array.ii)]

    def span(self, value: int) -> tuple[int, int] | None:
        """Return the cycle in which an operation's job starts, and the one in which its result is there."""
        step = self.schedule.producer.get(value)
        return None if step is None or step.job.resource in SUPPLIES else (step.start, step.ready)

    def component(self, primitive: Primitive | None) -> ArrayComponent:
        return ArrayComponent(
            program=self.program,
            array=self.schedule,
            memory_stages=self.device.memory_stages,
            primitive=primitive,
        )


def _required_sharing(options: BuildOptions) -> list[str]:
    """Return the options that require limbs or stages to share hardware."""
    return [name for name, share in options.sharing.items() if share in ("on", LOOP)]
