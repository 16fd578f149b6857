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
    ErrorSum,
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
from rbdhw.fixed.state_error import ErrorTerm
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


def cost_latency(terms: int, residuals: Sequence[ErrorSum] = ()) -> int:
    """Return the cycles from a state to the cost of the step before it, with so many squares of errors."""
    if not residuals:
        return SQUARED + sum_latency(terms) + 1
    return _ready(terms, residuals) + sum_latency(len(residuals) + 1) + 1


def _rounded(residual: ErrorSum) -> int:
    """Return the cycles until a residual is there: an error, its products, their sum, and the rounding."""
    addends = len(residual.terms) + (residual.constant is not None)
    return ERROR_CYCLES + 1 + sum_latency(addends) + 1


def _ready(terms: int, residuals: Sequence[ErrorSum]) -> int:
    """Return the cycles until the sum of the squares of errors is there, and the squares of residuals."""
    return max(SQUARED + sum_latency(terms), *(_rounded(residual) + 3 for residual in residuals))


class StageCost(wiring.Component):
    """Computes the cost of a step, every cycle.

    ``words`` are those of a row of references and weights, in the order in which they are stored. It may have
    coefficients of residuals. Of the ``terms`` those with weights cost something by themselves.
    """

    def __init__(
        self, *, terms: tuple[ErrorTerm, ...], words: tuple[Word, ...], residuals: tuple[ErrorSum, ...] = ()
    ) -> None:
        self.terms = terms
        self.weighted = [term for term in terms if isinstance(term, CostTerm)]
        self.words = words
        self.residuals = residuals
        self.latency = cost_latency(len(self.weighted), residuals)
        of_row = {word.name for word in words}
        self.apart = [
            name for each in residuals for term in each.terms if (name := each.stored(term)) not in of_row
        ]
        # The coefficients that no row has, packed in the order of residuals and then of terms.
        coefficients = {"coefficients": In(len(self.apart) * COEFFICIENT.width)} if self.apart else {}
        # Whether a residual exceeds its format; as late as the cost.
        exceeds = {"exceeds": Out(1)} if residuals else {}
        super().__init__(
            {
                **coefficients,
                **exceeds,
                # The words of the terms, packed in their order.
                "values": In(sum(term.word.format.width for term in terms)),
                "row": In(sum(word.format.width for word in words)),  # the row, packed, one cycle later
                # The cost, `cost_latency` cycles after `values`.
                "cost": Out(COST_POINT + (len(self.weighted) + len(residuals)).bit_length()),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        row = split_words(self.words, self.row)
        values = split_words([term.word for term in self.terms], self.values)
        errors, numbers = dict[ErrorTerm, Any](), []
        for k, term in enumerate(self.terms):
            reference = Const(0, 1) if term.reference is None else row[term.reference]
            errors[term] = error(m, str(k), term, values[term.word.name], reference)
            if isinstance(term, CostTerm):
                numbers.append(self._square(m, k, term, errors[term], row))
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

    def _with_residuals(
        self, m: Module, total: Any, errors: Mapping[ErrorTerm, Any], row: Mapping[str, Any]
    ) -> Any:
        """Return the sum of squares with those of residuals, and say whether one exceeds its format."""
        terms = len(self.weighted)
        ready = _ready(terms, self.residuals)
        (total,) = after(m, ready - SQUARED - sum_latency(terms), errors_total=total)
        squares, beyond = [total], list[Any]()
        for residual in self.residuals:
            k, rounded = residual.number, _rounded(residual)
            value = self._residual(m, residual, errors, row)
            beyond += after(
                m, self.latency - rounded, **{f"exceeds_{k}": differ(value[RESIDUAL.width - 1 :])}
            )
            fitting = value[: RESIDUAL.width].as_signed()
            (weight,) = after(m, rounded - 1, **{f"residual_weight_{k}": row[residual.weight]})
            product = register(
                m, f"residual_product_{k}", fitting * weight, signed(RESIDUAL.width + WEIGHTED.width)
            )
            weighted = product + half(RESIDUAL.binary_point) >> RESIDUAL.binary_point
            weighted = register(m, f"residual_weighted_{k}", weighted, signed(WEIGHTED.width))
            square = register(m, f"residual_square_{k}", weighted * weighted, 2 * WEIGHTED.width)
            squares += after(m, ready - rounded - 3, **{f"residual_waits_{k}": square})
        m.d.comb += self.exceeds.eq(Cat(beyond).any())
        return add_up(m, "total", squares)

    def _coefficient(self, m: Module, residual: ErrorSum, j: int, row: Mapping[str, Any]) -> Any:
        """Return a coefficient when the errors are there: that of a row comes a cycle later than a state."""
        name, width = residual.stored(residual.terms[j]), COEFFICIENT.width
        if name in row:
            return register(m, f"coefficient_{residual.number}_{j}", row[name], signed(width))
        k = self.apart.index(name)
        return self.coefficients[k * width : (k + 1) * width].as_signed()

    def _residual(
        self, m: Module, residual: ErrorSum, errors: Mapping[ErrorTerm, Any], row: Mapping[str, Any]
    ) -> Any:
        """Return a residual in its steps, not limited, :func:`_rounded` cycles after the state."""
        k, products = residual.number, []
        for j, term in enumerate(residual.terms):
            bits = signed(term.error_bits + COEFFICIENT.width)
            product = errors[term] * self._coefficient(m, residual, j, row)
            product = register(m, f"residual_{k}_{j}", product, bits)
            products.append(Cat(Const(0, term.shift), product).as_signed())
        if residual.constant is not None:
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
        return cost_products(rollout_terms(step, shape), rollout_residuals(step, shape))

    def cells(self, step: FunctionWords, shape: RolloutShape, _fabric: Fabric) -> Cells:
        return cost_cells(rollout_terms(step, shape), rollout_residuals(step, shape))


def cost_products(terms: Sequence[ErrorTerm], residuals: Sequence[ErrorSum]) -> list[tuple[int, int]]:
    """Return the operand widths of the products of a cost."""
    square, products = (WEIGHTED.width, WEIGHTED.width), []
    for term in terms:
        if isinstance(term, CostTerm):
            products += [(term.error_bits, WEIGHTED.width), square]
    for residual in residuals:
        products += [(term.error_bits, COEFFICIENT.width) for term in residual.terms]
        products += [(RESIDUAL.width, WEIGHTED.width), square]
    return products


def cost_cells(terms: Sequence[ErrorTerm], residuals: Sequence[ErrorSum]) -> Cells:
    """Return the cells of a cost without its products."""
    width, weighted = WEIGHTED.width, sum(isinstance(term, CostTerm) for term in terms)
    cells = Cells(
        luts=sum(term.bits for term in terms) + 3 * width * weighted,
        flip_flops=sum(2 * term.bits for term in terms) + 6 * width * weighted,
    )
    for residual in residuals:
        sums = len(residual.terms)
        cells += Cells(
            luts=sums * residual.sum_bits + 2 * RESIDUAL.width + 3 * width,
            flip_flops=sums / (ADDENDS - 1) * residual.sum_bits
            + 4 * RESIDUAL.width
            + (_rounded(residual) + 6) * width,
        )
    return cells
