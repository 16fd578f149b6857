"""An accelerator of steps and rollouts around a core with known results."""

from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Program, Word
from rbdhw.fixed.rollout import RolloutShape
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.model.program_interface import program_interface
from rbdhw.protocol import COST

WIDTH, HORIZON, ROWS = 64, 4, 2


def word(name: str, width: int, slot: int) -> Word:
    return Word(name, "1", slot, Format(width, 0), -(1 << width - 2), 1 << width - 2, slot)


STEP = FunctionWords(
    "step",
    (word("q[0]", 9, 0), word("v[0]", 9, 1), word("tau[0]", 7, 2)),
    tuple(Word(f"step.x_next[{k}]", "1", k, Format(9, 0)) for k in range(2)),
)


def rollouts(parts: tuple[str, ...] = ()) -> Interface:
    """Return the interface of an accelerator of steps and rollouts."""
    program = Program((), STEP.inputs, (), {"step": STEP.outputs}, None, None, (9, 9))
    shape = RolloutShape(HORIZON, 1, "step", parts, cost_rows=ROWS if COST in parts else 0)
    return program_interface([program], WIDTH, rollout=shape)
