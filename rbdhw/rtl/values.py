"""Signal names for a program's values, from where they are computed and what they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rbdhw.fixed.program import Kind, Program
from rbdhw.scalar import Region


def value_names(program: Program, values: Iterable[int], hosts: Mapping[int, Region]) -> dict[int, str]:
    """Return a name for each value.

    Inputs and results are named after their words, a result after the first function that returns it
    (``id_tau_3``). Other values are named after their host and their quantity (``rnea_forward_3__alpha_z``),
    or after their number. Of several values with the same name, such as the parts of a sum, all but the last
    get their number as a suffix.
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
