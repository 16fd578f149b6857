"""Common subexpression elimination: each operator of a netlist appears once.

Amaranth repeats an expression wherever it is used. Synthesis merges equal operators, but a reader of the
text, or a count of its operators, would see every copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from rbdhw.rtl.rtlil import Assign, Bits, Body, Case, Cell, Module, Part, Process, Switch, Value

REDUCTIONS = ("$reduce_and", "$reduce_bool", "$reduce_or", "$reduce_xor")


def share_operators(module: Module) -> Module:
    """Return the module with equal operators merged and unread operators removed."""
    count = len(module.cells) + 1
    while len(module.cells) < count:
        count = len(module.cells)
        module = _merge(module)
    return _remove_unread(module)


def is_operator(cell: Cell) -> bool:
    """Return whether a cell is a combinational operator."""
    return cell.kind[0] == "$" and "Y" in cell.ports


def _merge(module: Module) -> Module:
    """Return the module with equal operators merged and trivial operators replaced by their values."""
    instead: dict[str, Value] = {}
    seen: dict[tuple[object, ...], str] = {}
    cells, aliases = [], []
    for cell in module.cells:
        if not is_operator(cell):
            cells.append(cell)
            continue
        (result,) = cell.ports["Y"]
        assert isinstance(result, Part)
        inputs = {port: _replace(value, instead) for port, value in cell.ports.items() if port != "Y"}
        key = (cell.kind, result.width, *cell.parameters.items(), *inputs.items())
        known = _fold(cell, inputs, result.width)
        if known is not None:
            instead[result.wire] = known
        elif key in seen:
            instead[result.wire] = (Part(seen[key], 0, result.width),)
        else:
            seen[key] = result.wire
            cells.append(replace(cell, ports={**inputs, "Y": cell.ports["Y"]}))
            continue
        aliases.append((result.wire, instead[result.wire]))
    merged = replace(module, cells=cells, connections=[*module.connections, *aliases])
    return _map_values(merged, lambda value: _replace(value, instead))


def _fold(cell: Cell, inputs: Mapping[str, Value], width: int) -> Value | None:
    """Return the input or constant that an operator always equals; None for an operator that computes."""
    kind, a, b = cell.kind, inputs["A"], inputs.get("B")
    if kind in ("$add", "$sub") and _number(b or ()) == 0:
        return _extend(a, width, bool(cell.parameters["A_SIGNED"]))
    if kind in REDUCTIONS and len(a) == 1 == a[0].width:
        return a
    if kind == "$mux" and (a == b or inputs["S"] == (Bits("0"),)):
        return a
    if kind == "$mux" and inputs["S"] == (Bits("1"),):
        return b
    if kind in ("$eq", "$ne") and (numbers := [_number(a), _number(b or ())]) and None not in numbers:
        return (Bits(str(int((numbers[0] == numbers[1]) == (kind == "$eq")))),)
    return None


def _extend(value: Value, width: int, signed: bool) -> Value:
    """Return a number extended, by its sign or by zeros, or cut to ``width``."""
    given = sum(part.width for part in value)
    if given >= width:
        return slice_value(value, 0, width)
    above = (
        slice_value(value, given - 1, 1) * (width - given)
        if signed and given
        else (Bits("0" * (width - given)),)
    )
    return above + value


def _number(value: Value) -> int | None:
    """Return a constant as an unsigned number; None for any other value."""
    bits = "".join(part.text for part in value if isinstance(part, Bits))
    return int(bits or "0", 2) if all(isinstance(part, Bits) for part in value) else None


def _replace(value: Value, instead: dict[str, Value]) -> Value:
    """Return a value with the parts of replaced wires substituted."""
    parts: list[Part | Bits] = []
    for part in value:
        if isinstance(part, Part) and part.wire in instead:
            parts += slice_value(instead[part.wire], part.low, part.width)
        else:
            parts.append(part)
    return tuple(parts)


def _map_values(module: Module, change: Callable[[Value], Value]) -> Module:
    """Return the module with ``change`` applied to every value that is read."""
    cells = []
    for cell in module.cells:
        kept = ("Y",) if is_operator(cell) else ()
        ports = {port: v if port in kept else change(v) for port, v in cell.ports.items()}
        cells.append(replace(cell, ports=ports))
    processes = [Process(_map_body(process.body, change)) for process in module.processes]
    connections = [(target, change(value)) for target, value in module.connections]
    return replace(module, cells=cells, processes=processes, connections=connections)


def _map_body(body: Body, change: Callable[[Value], Value]) -> Body:
    mapped: Body = []
    for item in body:
        if isinstance(item, Assign):
            mapped.append(Assign(item.target, change(item.value)))
        else:
            cases = [Case(case.patterns, _map_body(case.body, change)) for case in item.cases]
            mapped.append(Switch(change(item.test), cases))
    return mapped


def _remove_unread(module: Module) -> Module:
    """Return the module without operators and processes whose results are not read."""
    ports = {wire.name for wire in module.wires.values() if wire.port}
    while True:
        read = ports | set(wires_read(module))
        cells = [c for c in module.cells if not is_operator(c) or _sets(c.ports["Y"]) & read]
        processes = [process for process in module.processes if driven_wire(process).wire in read]
        if len(cells) == len(module.cells) and len(processes) == len(module.processes):
            return module
        module = replace(module, cells=cells, processes=processes)


def _sets(value: Value) -> set[str]:
    return {part.wire for part in value if isinstance(part, Part)}


def wires_read(module: Module) -> Iterator[str]:
    """Yield the wires that cells, processes and ports read, once for each use."""
    ports = {wire.name for wire in module.wires.values() if wire.port}
    values = [v for cell in module.cells for port, v in cell.ports.items() if not _is_result(cell, port)]
    values += [value for process in module.processes for value in _values(process.body)]
    values += [value for name, value in module.connections if name in ports]
    return (part.wire for value in values for part in value if isinstance(part, Part))


def _is_result(cell: Cell, port: str) -> bool:
    return cell.kind[0] == "$" and (port in ("Y", "Q") or (cell.kind, port) == ("$memrd_v2", "DATA"))


def _values(body: Body) -> Iterator[Value]:
    for item in body:
        if isinstance(item, Assign):
            yield item.value
        else:
            yield item.test
            for case in item.cases:
                yield from _values(case.body)


def driven_wire(process: Process) -> Part:
    """Return the wire that a process drives; its first statement assigns all of it."""
    first = process.body[0]
    assert isinstance(first, Assign)
    return first.target


def slice_value(value: Value, low: int, width: int) -> Value:
    """Return ``width`` bits of a value from bit ``low`` on."""
    found: list[Part | Bits] = []
    position = 0
    for part in reversed(value):
        first, end = max(low - position, 0), min(low + width - position, part.width)
        if first < end and isinstance(part, Part):
            found.append(Part(part.wire, part.low + first, end - first))
        elif first < end and isinstance(part, Bits):
            found.append(Bits(part.text[part.width - end : part.width - first]))
        position += part.width
    return tuple(reversed(found))
