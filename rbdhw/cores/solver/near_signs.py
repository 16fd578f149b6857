"""The signs of quaternions in hardware: the twin of :meth:`rbdhw.fixed.wide_state.WideState.near`."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.fixed.solver import SolverShape
from rbdhw.fixed.wide_state import SIGN_BITS
from rbdhw.rtl.delay import register
from rbdhw.rtl.layouts import split_words

SIGN_CYCLES = 4
"""The cycles from the address of a row to the task: a memory, the highest bits, their products, the sign."""


class NearSigns(wiring.Component):
    """Gives the quaternions of a task the signs that are nearer to those of a row of a trajectory."""

    def __init__(self, *, shape: SolverShape) -> None:
        self.shape = shape
        task = sum(word.format.width for word in shape.step.inputs)
        super().__init__(
            {
                "task": In(task),  # the packed words of `step`, which stay
                "row": In(sum(word.format.width for word in shape.trajectory)),
                "near": Out(task),  # the task, `SIGN_CYCLES` after the address of the row
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        names = (each.word.name for each in self.shape.state)
        row = dict(zip(names, split_words(self.shape.trajectory, self.row).values(), strict=False))
        task = split_words(self.shape.step.inputs, self.task)
        near = dict(task)
        for k, joint in enumerate(self.shape.wide):
            away = self._away(m, k, [(task[word.name], row[word.name]) for word in joint.quaternion])
            for word in joint.quaternion:
                value = task[word.name]
                near[word.name] = Mux(away, -value, value)[: len(value)]
        m.d.comb += self.near.eq(Cat(near[word.name][: word.format.width] for word in self.shape.step.inputs))
        return m

    @staticmethod
    def _away(m: Module, joint: int, pairs: list[tuple[Any, Any]]) -> Any:
        """Return whether two quaternions have a negative product."""
        products = []
        for k, pair in enumerate(pairs):
            one, other = (
                register(m, f"high_{joint}_{k}_{name}", word[-SIGN_BITS:].as_signed(), signed(SIGN_BITS))
                for name, word in zip(("task", "row"), pair, strict=True)
            )
            products.append(register(m, f"product_{joint}_{k}", one * other, signed(2 * SIGN_BITS)))
        total = sum(products[1:], products[0])
        return register(m, f"away_{joint}", total < 0, 1)


def sign_products(shape: SolverShape) -> list[tuple[int, int]]:
    """Return the operand widths of the products of quaternions."""
    return [(SIGN_BITS, SIGN_BITS) for joint in shape.wide for _ in joint.quaternion]
