"""The engines by name: which folders each serves, and where its class is."""

from __future__ import annotations

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from rbdhw.options.build import PROCESSORS
from rbdhw.protocol import MPPI, ROLLOUT, SOLVE

if TYPE_CHECKING:
    from rbdhw.engines.engine import Engine

ACCELERATOR = "accelerator"
"""The kind of a folder with a design. The kind of one with software is its target."""


@dataclass(frozen=True)
class Entry:
    """An engine of the registry."""

    name: str
    """What ``rbdhw.load`` and ``rbdhw run`` call it; engines of different folders may have the same name."""
    folders: tuple[str, ...]
    """The kinds of folders that it serves."""
    title: str
    """What computes."""
    where: str
    """Where its class is. It is imported at the first use: the command line starts without any engine."""

    @property
    def start(self) -> type[Engine]:
        """The class."""
        engine: type[Engine] = resolve_name(f"rbdhw.engines.{self.where}")
        return engine

    @property
    def answers_rollouts(self) -> bool:
        """Whether it answers rollouts of an accelerator beside tasks."""
        from rbdhw.engines.engine import RolloutEngine

        return issubclass(self.start, RolloutEngine)

    @property
    def answers(self) -> str:
        """What it answers, as the documents say it."""
        from rbdhw.engines.engine import SolvingEngine
        from rbdhw.engines.words import WordEngine

        samples = issubclass(self.start, SolvingEngine)
        solves = samples or issubclass(self.start, WordEngine)
        rolls_out = self.answers_rollouts or samples
        return ", ".join(["tasks", *[ROLLOUT + "s"] * rolls_out, *[SOLVE, MPPI] * solves])


ENGINES = (
    Entry("model", (ACCELERATOR,), "the bit-exact model in C", "model:ModelEngine"),
    Entry("numpy", (ACCELERATOR,), "the same bits in NumPy: slower, without a compiler", "model:NumpyEngine"),
    Entry("rtl", (ACCELERATOR,), "the Verilog in Verilator", "rtl:RtlEngine"),
    Entry(
        "driver", (ACCELERATOR,), "the Verilog in Verilator behind the driver in C", "driver:SimulatedEngine"
    ),
    Entry("board", (ACCELERATOR,), "a board behind the driver in C, by its transport", "driver:BoardEngine"),
    Entry("float64", ("c",), "the functions in C, in double precision", "software:CEngine"),
    Entry("float32", ("c",), "the same in single precision", "software:CEngine"),
    Entry("float64", ("cuda",), "the functions on a GPU, in double precision", "software:CudaEngine"),
    Entry("float32", ("cuda",), "the same in single precision", "software:CudaEngine"),
    Entry(
        "golden", (ACCELERATOR, *PROCESSORS), "the golden model in double precision", "golden:GoldenEngine"
    ),
)
"""All engines. The first one that serves a folder is its default."""


def engines_of(kind: str) -> dict[str, Entry]:
    """Return the engines of a kind of folders, by name."""
    return {entry.name: entry for entry in ENGINES if kind in entry.folders}
