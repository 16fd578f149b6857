"""How a job fits a unit: the terms, writes to memories and shifts that it takes, and their cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from rbdhw.cores.array.model import (
    HOLD,
    ArrayResource,
    Constant,
    Job,
    Output,
    Term,
    Write,
    equivalent_terms,
    kept_window,
)

CONNECTION, SHIFT, DELAY = 11.0, 10.0, 3.0
"""Approximate costs in look-up tables.

In this order: an input of a memory; a shift of an accumulator's products; each cycle for which an output is
kept.
"""

TRIES = 60
"""The most terms tried in the search for an order of a job's factors."""

Forms = Sequence[Sequence[Term]]
"""The equivalent forms of a term, each with its factors in all possible orders."""


@dataclass
class Memory:
    """An operand memory: its writes by slot, the cycle of each value's write, and its source outputs."""

    slots: dict[int, Write] = field(default_factory=dict)
    values: dict[int, int] = field(default_factory=dict)
    outputs: set[Output] = field(default_factory=set)


@dataclass
class Unit:
    """The state of a unit: its busy slots as bits, the shifts of its products, and its operand memories."""

    resource: ArrayResource
    busy: int = 0
    shifts: set[int] = field(default_factory=set)
    memories: tuple[Memory, Memory] = field(default_factory=lambda: (Memory(), Memory()))


@dataclass
class Fit:
    """A possible place of a job: its cost, and the terms, writes to memories and shifts that it requires."""

    cost: float = 0.0
    terms: list[Term] = field(default_factory=list)
    writes: list[tuple[int, Write]] = field(default_factory=list)
    shifts: set[int] = field(default_factory=set)


class Fits:
    """How jobs fit units; ``ready`` and ``origin`` have the cycle and the output of each placed value.

    ``written`` are the cycles from a write to the first read.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        ii: int,
        written: int,
        widths: tuple[int, int],
        ready: Mapping[int, int],
        origin: Mapping[int, tuple[int, int]],
    ) -> None:
        self._ii, self._written, self._widths = ii, written, widths
        self._ready, self._origin = ready, origin
        self._age = kept_window(ii)
        moved = Counter(term.shift for job in jobs for term in job.terms if len(term.values) == 2)
        self._usual = moved.most_common(1)[0][0] if moved else 0

    def forms(self, job: Job) -> list[Forms]:
        """Return the forms of each term of a job."""
        return [list(map(_orders, equivalent_terms(term, self._widths))) for term in job.terms]

    def fit(self, job: Job, forms: Sequence[Forms], unit: Unit, start: int) -> Fit | None:
        """Return how a job fits a free unit, or None if its operands cannot be brought there."""
        fit = Fit()
        if job.operand is not None:
            return fit if self._bring(fit, unit, 0, job.operand, start) else None
        tries = [TRIES]
        return fit if self._bring_terms(fit, forms, unit, start, tries) else None

    def _bring_terms(
        self, fit: Fit, forms: Sequence[Forms], unit: Unit, start: int, tries: list[int]
    ) -> bool:
        """Bring the factors of the remaining terms to a unit's memories, in either order, if possible."""
        k = len(fit.terms)
        if k == len(forms):
            return True
        tries[0] -= 1
        if tries[0] < 0:
            return False
        orders = self._choose_shift(fit, unit, forms[k])
        for turned in sorted(orders, key=partial(_held, unit), reverse=True):
            before = fit.cost, len(fit.writes)
            if all(
                isinstance(factor, Constant) or self._bring(fit, unit, index, factor, start + k)
                for index, factor in enumerate(turned.factors)
            ):
                fit.terms.append(turned)
                if self._bring_terms(fit, forms, unit, start, tries):
                    return True
                fit.terms.pop()
            fit.cost = before[0]
            del fit.writes[before[1] :]
        return False

    def _choose_shift(self, fit: Fit, unit: Unit, forms: Forms) -> Sequence[Term]:
        """Return a form with a shift that the unit has, or with a new shift at a cost."""
        for orders in forms:
            if orders[0].shift in unit.shifts or orders[0].shift in fit.shifts:
                return orders
        best = min(forms, key=lambda orders: abs(orders[0].shift - self._usual))
        fit.shifts.add(best[0].shift)
        fit.cost += SHIFT
        return best

    def _bring(self, fit: Fit, target: Unit, index: int, value: int, read: int) -> bool:
        """Ensure that a memory holds a value when it is read, with a write at some cost if necessary."""
        memory = target.memories[index]
        added = [write for other, write in fit.writes if other == index]
        cycle = memory.values.get(value, next((w.cycle for w in added if w.value == value), None))
        if cycle is not None:
            return cycle + self._written <= read < cycle + self._age
        unit, result = self._origin[value]
        slots = [write.cycle % self._ii for write in added]
        best: tuple[float, Output, int] | None = None
        ready = self._ready[value]
        for cycle in range(max(ready, read - self._age + 1), min(ready + HOLD, read + 1 - self._written)):
            delay, slot = cycle - ready, cycle % self._ii
            if best is not None and best[0] <= DELAY * delay:
                break
            if slot in memory.slots or slot in slots:
                continue
            output = Output(unit, result, delay)
            known = output in memory.outputs or any(write.output == output for write in added)
            cost = DELAY * delay + (0.0 if known else CONNECTION)
            if best is None or cost < best[0]:
                best = cost, output, cycle
        if best is None:
            return False
        fit.cost += best[0]
        fit.writes.append((index, Write(value, *best[1:])))
        return True


def _orders(term: Term) -> list[Term]:
    """Return a term with its factors in each possible order."""
    return [replace(term, factors=order) for order in term.orders]


def _held(unit: Unit, term: Term) -> int:
    """Return how many factors of a term a unit's memories hold."""
    pairs = zip(term.factors, unit.memories, strict=True)
    return sum(factor in memory.values for factor, memory in pairs)
