"""The cost of rollouts in hardware: the twin of :mod:`rbdhw.fixed.cost`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.cost import (
    COEFFICIENT,
    COST_POINT,
    PRODUCT_DROP,
    RESIDUAL,
    SQUARE_DROP,
    WEIGHTED,
    CostTerm,
    Residual,
)
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import (
    RolloutShape,
    force_words,
    rollout_cost,
    rollout_residuals,
    rollout_terms,
    row_inputs,
    tracked_words,
)
from rbdhw.model.interface import FunctionWords
from rbdhw.protocol import COST, LOAD_COST, LOAD_RESIDUAL
from rbdhw.rtl.arithmetic import ADDENDS, add_up, differ, half, sum_latency
from rbdhw.rtl.delay import after, register
from rbdhw.rtl.layouts import split_words
from rbdhw.rtl.rollout_part import Between, PartHardware
from rbdhw.rtl.rows import loaded_words
from rbdhw.rtl.state_error import ERROR_CYCLES, error

SQUARED = ERROR_CYCLES + 3
"""Cycles until the squares are there: an error, its product, the rounded product, the square."""


def cost_latency(terms: int, residuals: Sequence[Residual] = ()) -> int:
    """Return the cycles from a state to the cost of the step before it."""
    if not residuals:
        return SQUARED + sum_latency(terms) + 1
    return _ready(terms, residuals[0]) + sum_latency(len(residuals) + 1) + 1


def _rounded(residual: Residual) -> int:
    """Return the cycles until a residual is there: an error, its products, their sum, and the rounding."""
    return ERROR_CYCLES + 1 + sum_latency(len(residual.terms) + 1) + 1


def _ready(terms: int, residual: Residual) -> int:
    """Return the cycles until the sum of the squares of errors is there, and the square of a residual."""
    return max(SQUARED + sum_latency(terms), _rounded(residual) + 3)


class StageCost(wiring.Component):
    """Computes the cost of a step, every cycle.

    ``words`` are those of a row of references and weights, in the order in which they are stored.
    """

    def __init__(
        self, *, terms: tuple[CostTerm, ...], words: tuple[Word, ...], residuals: tuple[Residual, ...] = ()
    ) -> None:
        self.terms = terms
        self.words = words
        self.residuals = residuals
        self.latency = cost_latency(len(terms), residuals)
        of_residuals = {
            # The coefficients of each residual, packed in the order of residuals and then of terms.
            "coefficients": In(sum(len(each.terms) for each in residuals) * COEFFICIENT.width),
            "exceeds": Out(1),  # whether a residual exceeds its format; as late as the cost
        }
        super().__init__(
            {
                **(of_residuals if residuals else {}),
                # The words of the terms, packed in their order.
                "values": In(sum(term.word.format.width for term in terms)),
                "row": In(sum(word.format.width for word in words)),  # the row, packed, one cycle later
                # The cost, `cost_latency` cycles after `values`.
                "cost": Out(COST_POINT + (len(terms) + len(residuals)).bit_length()),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        row = split_words(self.words, self.row)
        values = split_words([term.word for term in self.terms], self.values)
        errors, numbers = [], []
        for k, term in enumerate(self.terms):
            reference = Const(0, 1) if term.reference is None else row[term.reference]
            errors.append(error(m, str(k), term, values[term.word.name], reference))
            numbers.append(self._square(m, k, term, errors[k], row))
        total = add_up(m, "sum", numbers)
        if self.residuals:
            total = self._with_residuals(m, total, errors, row)
        rounded = total + half(SQUARE_DROP) >> SQUARE_DROP
        m.d.comb += self.cost.eq(register(m, "rounded", rounded, len(self.cost)))
        return m

    def _square(self, m: Module, k: int, term: CostTerm, difference: Any, row: Mapping[str, Any]) -> Any:
        weight = register(m, f"weight_{k}", row[term.weight], signed(WEIGHTED.width))
        product = register(m, f"product_{k}", difference * weight, signed(term.error_bits + WEIGHTED.width))
        weighted = product + half(term.weighted_drop) >> term.weighted_drop
        weighted = register(m, f"weighted_{k}", weighted, signed(WEIGHTED.width))
        return register(m, f"square_{k}", weighted * weighted, 2 * WEIGHTED.width)

    def _with_residuals(self, m: Module, total: Any, errors: Sequence[Any], row: Mapping[str, Any]) -> Any:
        """Return the sum of squares with those of residuals, and say whether one exceeds its format."""
        ready = _ready(len(self.terms), self.residuals[0])
        (total,) = after(m, ready - SQUARED - sum_latency(len(self.terms)), errors_total=total)
        squares, beyond = [total], []
        rounded = _rounded(self.residuals[0])
        for residual in self.residuals:
            k, value = residual.number, self._residual(m, residual, errors, row)
            beyond.append(differ(value[RESIDUAL.width - 1 :]))
            fitting = value[: RESIDUAL.width].as_signed()
            (weight,) = after(m, rounded - 1, **{f"residual_weight_{k}": row[residual.weight]})
            product = register(
                m, f"residual_product_{k}", fitting * weight, signed(RESIDUAL.width + WEIGHTED.width)
            )
            weighted = product + half(RESIDUAL.binary_point) >> RESIDUAL.binary_point
            weighted = register(m, f"residual_weighted_{k}", weighted, signed(WEIGHTED.width))
            square = register(m, f"residual_square_{k}", weighted * weighted, 2 * WEIGHTED.width)
            squares += after(m, ready - rounded - 3, **{f"residual_waits_{k}": square})
        (exceeds,) = after(m, self.latency - rounded, exceeds=Cat(beyond).any())
        m.d.comb += self.exceeds.eq(exceeds)
        return add_up(m, "total", squares)

    def _residual(self, m: Module, residual: Residual, errors: Sequence[Any], row: Mapping[str, Any]) -> Any:
        """Return a residual in its steps, not limited, :func:`_rounded` cycles after the state."""
        k, width = residual.number, COEFFICIENT.width
        products = []
        for j, term in enumerate(residual.terms):
            low = (k * len(residual.terms) + j) * width
            coefficient = self.coefficients[low : low + width].as_signed()
            bits = signed(term.error_bits + width)
            product = register(m, f"residual_{k}_{j}", errors[j] * coefficient, bits)
            products.append(Cat(Const(0, term.shift), product).as_signed())
        (constant,) = after(m, ERROR_CYCLES, **{f"constant_{k}": -row[residual.constant]})
        products.append(Cat(Const(0, PRODUCT_DROP), constant).as_signed())
        total = add_up(m, f"residual_sum_{k}", products) + half(PRODUCT_DROP) >> PRODUCT_DROP
        return register(m, f"residual_{k}", total, total.shape())


class CostHardware(PartHardware):
    """The cost of the last step, added to that of the steps before."""

    name = COST

    def fields(self, step: FunctionWords, shape: RolloutShape) -> dict[str, int]:
        """Return that a rollout has a cost so far, and whether answers have the state beside it.

        Behind a step it has the positions of frames, too, if they cost something.
        """
        positions = sum(each.word.format.width for each in tracked_words(step, shape))
        fields = {"extended": 1, "cost": rollout_cost(step, shape).width - 1}
        return fields | ({"positions": positions} if positions else {})

    def latency(self, step: FunctionWords, shape: RolloutShape) -> int:
        return cost_latency(len(rollout_terms(step, shape)), rollout_residuals(step, shape)) + 1

    def results(self, m: Module, between: Between, cycles: int) -> dict[str, Any]:
        """Return the cost of the rollout so far; before the first step there is none.

        A residual that exceeds its format flags the step.
        """
        entry, step = between.entry, between.step
        driven = split_words(row_inputs(step), entry.forces)
        positions = [entry.positions] if tracked_words(step, between.shape) else []
        m.submodules.stage_cost = stage = StageCost(
            terms=rollout_terms(between.step, between.shape),
            words=loaded_words(between.interface, LOAD_COST),
            residuals=rollout_residuals(between.step, between.shape),
        )
        m.d.comb += [
            stage.values.eq(Cat(entry.state, *positions, *(driven[word.name] for word in force_words(step)))),
            stage.row.eq(between.rows[LOAD_COST]),
            between.addresses[LOAD_COST].eq(entry.done - 1),
        ]
        waited = between.later("stage", stage.cost, cycles - 1 - stage.latency)
        before = between.later("before", Cat(entry.done != 0, entry.cost), cycles - 1)
        total = before[1:] + Mux(before[0], waited, Const(0, 1))
        results = {"cost": register(m, "cost", total, len(entry.cost))}
        if stage.residuals:
            m.d.comb += stage.coefficients.eq(between.rows[LOAD_RESIDUAL])
            exceeded = between.later("exceeded", stage.exceeds, cycles - 1 - stage.latency)
            flags, bits = Cat(entry.overflow, entry.first_flagged, entry.done), len(entry.done)
            waited = between.later("flags", flags, cycles - 1)
            first, exceeds = waited[1 : bits + 1], exceeded & before[0]
            first = Mux(exceeds & ~first.any(), waited[bits + 1 :], first)
            results |= {
                "overflow": register(m, "overflow", waited[0] | exceeds, 1),
                "first_flagged": register(m, "first_flagged", first, bits),
            }
        return results

    def products(self, step: FunctionWords, shape: RolloutShape) -> list[tuple[int, int]]:
        square = WEIGHTED.width, WEIGHTED.width
        products = [
            widths
            for term in rollout_terms(step, shape)
            for widths in ((term.error_bits, WEIGHTED.width), square)
        ]
        for residual in rollout_residuals(step, shape):
            products += [(term.error_bits, COEFFICIENT.width) for term in residual.terms]
            products += [(RESIDUAL.width, WEIGHTED.width), square]
        return products

    def cells(self, step: FunctionWords, shape: RolloutShape, _fabric: Fabric) -> Cells:
        terms, width = rollout_terms(step, shape), WEIGHTED.width
        cells = Cells(
            luts=sum(term.bits + 3 * width for term in terms),
            flip_flops=sum(2 * term.bits + 6 * width for term in terms),
        )
        for residual in rollout_residuals(step, shape):
            sums = len(residual.terms)
            cells += Cells(
                luts=sums * residual.sum_bits + 2 * RESIDUAL.width + 3 * width,
                flip_flops=sums / (ADDENDS - 1) * residual.sum_bits
                + 4 * RESIDUAL.width
                + (_rounded(residual) + 6) * width,
            )
        return cells
