"""What hardware and its readers call a program's values: names of signals, and formulas."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from rbdhw.fixed.program import Kind, Operand, Operation, Program
from rbdhw.scalar import Region


def value_names(program: Program, values: Iterable[int], hosts: Mapping[int, Region]) -> dict[int, str]:
    """Return a name for each value.

    Inputs and results are named after their words, a result after the first function that returns it
    (``id_tau_3``). Other values are named after their host and their quantity (``rnea_forward_3__alpha_z``),
    or after their number. Of several values with the same name, such as the parts of a sum, all but the last
    get their number as a suffix.
    """
    words: dict[int, str] = {}
    for word in (*program.inputs, *(word for results in program.outputs.values() for word in results)):
        words.setdefault(word.value, re.sub(r"\W+", "_", word.name).strip("_"))
    words = {flag.value: flag.name for flag in program.flags} | words
    names: dict[int, str] = {}
    used: set[str] = set()
    for value in sorted(values, reverse=True):
        operation = program.operations[value]
        host = str(hosts.get(value, operation.region))
        if value in words:
            name = words[value]
        elif operation.kind in (Kind.SIN, Kind.COS) and operation.operands[0].value in words:
            name = f"{host}__{operation.kind.value}_{words[operation.operands[0].value]}"
        else:
            name = f"{host}__{operation.region.quantity or f'v{value}'}"
        names[value] = f"{name}_v{value}" if name in used else name
        used.add(name)
    return names


def formula(program: Program, value: int, names: Mapping[int, str]) -> str:
    """Return how a value is computed from others, in real numbers, before rounding and without offsets."""
    operations, operation = program.operations, program.operations[value]
    first, *others = operation.operands
    match operation.kind:
        case Kind.ADD:
            sums = " + ".join(
                _product(program, operation, (operand,), names) for operand in operation.operands
            )
            return sums.replace("+ -", "- ")
        case Kind.MULTIPLY:
            return _product(program, operation, operation.operands, names)
        case Kind.SCALE:
            return _product(program, operation, (first,), names, operation.constant)
        case Kind.SELECT:
            choices = (_product(program, operation, (operand,), names) for operand in others)
            return f"{names[first.value]} ? {' : '.join(choices)}"
    operand = names[first.value] if operations[first.value].kind is not Kind.CONSTANT else "a constant"
    return f"1 / {operand}" if operation.kind is Kind.RECIPROCAL else f"{operation.kind}({operand})"


def _product(
    program: Program,
    operation: Operation,
    operands: Sequence[Operand],
    names: Mapping[int, str],
    factor: float = 1.0,
) -> str:
    exponent = -operation.drop - operation.format.binary_point
    factors = []
    for operand in operands:
        source = program.operations[operand.value]
        exponent += operand.shift + source.format.binary_point
        factor *= -1.0 if operand.negative else 1.0
        if source.kind is Kind.CONSTANT:
            factor *= source.format.step * source.constant
        else:
            factors.append(names[operand.value])
    number = f"{math.ldexp(factor, exponent):.4g}"
    text = " * ".join(factors)
    return {"1": text, "-1": f"-{text}"}.get(number, f"{number} * {text}") if text else number
