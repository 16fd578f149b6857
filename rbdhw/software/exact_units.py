"""C of the units that several operations share: sines, cosines and reciprocals, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence

from rbdhw.fixed.program import Kind, Program
from rbdhw.fixed.reciprocal import ReciprocalSpec
from rbdhw.fixed.trigonometry import GUARD, TrigonometrySpec
from rbdhw.software.c_text import fill, integer, table


class Units:
    """The C functions of trigonometry and reciprocals that programs use; equal units are one function."""

    def __init__(self, programs: Sequence[Program]) -> None:
        kinds = [{operation.kind for operation in program.operations} for program in programs]
        turning = [p.trigonometry for p, used in zip(programs, kinds, strict=True) if used & _TURNS]
        inverting = [p.reciprocal for p, used in zip(programs, kinds, strict=True) if Kind.RECIPROCAL in used]
        self._trigonometry = list(dict.fromkeys(turning))
        self._reciprocals = list(dict.fromkeys(spec for spec in inverting if spec is not None))

    def trigonometry(self, program: Program) -> str:
        return "sin_cos" + _suffix(self._trigonometry.index(program.trigonometry))

    def reciprocal(self, program: Program) -> str:
        assert program.reciprocal is not None
        return "reciprocal" + _suffix(self._reciprocals.index(program.reciprocal))

    def text(self) -> str:
        parts = [_trigonometry(spec, _suffix(k)) for k, spec in enumerate(self._trigonometry)]
        if self._reciprocals:
            parts.append(fill("leading.c"))
        parts += [_reciprocal(spec, _suffix(k)) for k, spec in enumerate(self._reciprocals)]
        return "\n".join(parts)


_TURNS = {Kind.SIN, Kind.COS}


def _suffix(index: int) -> str:
    """Return the end of the names of a unit; the first one has none."""
    return f"_of_{index}" if index else ""


def _trigonometry(spec: TrigonometrySpec, suffix: str) -> str:
    columns = [
        table("int64_t", f"{name}{suffix}_{power}", [integer(int(entry)) for entry in column])
        for name, powers in zip(("sine", "cosine"), spec.tables, strict=True)
        for power, column in enumerate(powers)
    ]
    return "\n".join(columns) + fill(
        "sin_cos.c",
        spec=spec,
        suffix=suffix,
        guard=GUARD,
        cuts=[spec.product_cut(power) for power in range(spec.order)],
        integer=integer,
    )


def _reciprocal(spec: ReciprocalSpec, suffix: str) -> str:
    columns = [
        table("int64_t", f"reciprocal{suffix}_{power}", [integer(int(entry)) for entry in column])
        for power, column in enumerate(spec.tables)
    ]
    return "\n".join(columns) + fill("reciprocal.c", spec=spec, suffix=suffix, integer=integer)
