"""The manifest's description of packets: the streams, the words of each function, and their traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rbdhw.arrays import WordName, given_elements
from rbdhw.design.packet_entries import (
    InputWord,
    LinkEntry,
    OtherElement,
    OutputWord,
    Packets,
    SolverPackets,
    Stream,
    TrafficEntry,
)
from rbdhw.fixed.program import Word
from rbdhw.header import EXTENDED, HEADER, LOADED, Status
from rbdhw.model.interface import Interface
from rbdhw.model.rollouts.parts import parts_of
from rbdhw.model.traffic import Traffic, slowest
from rbdhw.protocol import NEXT_STATE
from rbdhw.robot.model import Robot
from rbdhw.robot.units import WITH_UNITS, Units


def packet_entries(interface: Interface, robot: Robot) -> Packets:
    """Return the manifest's ``stream``, and the input and output words of each function.

    A word's ``slot`` is the index of its place in a request; ``slots`` in ``stream`` lists the widths of
    these places in packed requests.
    """
    units, functions = Units(robot), interface.functions
    return Packets(
        stream=_stream(interface),
        inputs={f.name: [_input(word, units) for word in f.sent(extended=False)] for f in functions},
        optional_inputs={f.name: [_input(word, units) for word in f.optional_inputs] for f in functions},
        outputs={f.name: _outputs(f.outputs, robot, units) for f in functions},
        optional_outputs={f.name: _outputs(f.optional_outputs, robot, units) for f in functions},
    )


def _stream(interface: Interface) -> Stream:
    shape, solver, sizes = interface.rollout, interface.solver, SolverPackets.model_fields
    of_parts: dict[str, Any] = {}
    for part in parts_of(shape):
        of_parts |= part.stream_entries(interface)
    return Stream(
        tdata_width=interface.data_width,
        number=interface.number,
        header=HEADER,
        options={"extended": EXTENDED} | ({"loaded": LOADED} if interface.held else {}),
        status={status.name.lower(): int(status) for status in Status},
        functions=interface.codes,
        slots=list(interface.slots),
        priority=list(interface.priority),
        horizon=shape.horizon if shape else None,
        rollout=list(shape.parts) if shape else [],
        hold=shape.hold if shape else 1,
        cost_rows=shape.cost_rows if shape else 0,
        solver=None if solver is None else SolverPackets(**{name: getattr(solver, name) for name in sizes}),
        pairs=interface.streams,
        parameter_sets=interface.parameter_sets,
        **of_parts,
    )


def _unit_of(element: str, units: Units) -> str:
    name = WordName.parse(element)
    return units.of(name.array, name.index, name.function)


def _word(word: Word, units: Units) -> dict[str, Any]:
    """Return what the entries of all words have; the unit is that of the word's element, if that has one."""
    # Angles in words are in turns, so the state behind a step has other units than its element.
    by_element = word.array in WITH_UNITS and word.array != NEXT_STATE
    unit = _unit_of(word.name, units) if by_element else word.unit
    return {"name": word.name, "unit": unit, **asdict(word.format)}


def _outputs(words: Sequence[Word], robot: Robot, units: Units) -> list[OutputWord]:
    also: list[list[OtherElement]] = [
        [OtherElement(name=e.name, unit=_unit_of(e.name, units), negative=e.negative) for e in word.also]
        for word in words
    ]
    for element in given_elements((word.elements for word in words), robot.nv):
        if element.integrated:
            other = OtherElement(
                name=str(element.name),
                unit=_unit_of(str(element.name), units),
                negative=element.negative,
                times="h" if robot.time_step is None else robot.time_step,
                plus=float(element.name.kind.is_one(element.name.index)),
            )
            also[element.word].append(other)
    return [
        OutputWord(**_word(word, units), also=others or None)
        for word, others in zip(words, also, strict=True)
    ]


def _input(word: Word, units: Units) -> InputWord:
    return InputWord(**_word(word, units), slot=word.slot, lowest=word.lowest, highest=word.highest)


def link_entry(packets: Mapping[str, Traffic], clock_mhz: float, bandwidth: float | None) -> LinkEntry:
    """Return the manifest's entry on the link: each function's packets, and the interval of the slowest."""
    function = slowest(packets, clock_mhz, bandwidth)
    sizes = TrafficEntry.model_fields
    return LinkEntry(
        bandwidth=bandwidth,
        ii=packets[function].interval(clock_mhz, bandwidth),
        function=function,
        functions={
            name: TrafficEntry(**{size: getattr(traffic, size) for size in sizes})
            for name, traffic in packets.items()
        },
    )
