"""Names of a program's values, by which signals are called: where they are computed, and what they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rbdhw.fixed.program import Kind, Program
from rbdhw.scalar import Region


def value_names(program: Program, values: Iterable[int], hosts: Mapping[int, Region]) -> dict[int, str]:
    """A name for each value.

    Inputs and results are called after their words, a result by the first function that has it
    (``id_tau_3``). What else a step computes is called after its host and its quantity
    (``rnea_forward_3__alpha_z``), or else its number. Where values would share a name, as the parts of a sum
    do, all but the last have their number behind it.
    """
    words: dict[int, str] = {}
    for word in (*program.inputs, *(word for own in program.outputs.values() for word in own)):
        words.setdefault(word.value, word.name)
    names: dict[int, str] = {}
    taken: set[str] = set()
    for value in sorted(values, reverse=True):
        operation = program.operations[value]
        host = str(hosts.get(value, operation.region))
        quantity = operation.region.quantity
        if value in words:
            name = re.sub(r"\W+", "_", words[value]).strip("_")
        elif operation.kind in (Kind.SIN, Kind.COS) and operation.operands[0].value in words:
            angle = re.sub(r"\W+", "_", words[operation.operands[0].value]).strip("_")
            name = f"{host}__{operation.kind.value}_{angle}"
        else:
            name = f"{host}__{quantity or f'v{value}'}"
        names[value] = f"{name}_v{value}" if name in taken else name
        taken.add(name)
    return names
