"""The manifest's description of packets: the streams, and the words of each function."""

from __future__ import annotations

from typing import Any

from rbdhw.arrays import WordName
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import RolloutShape, rollout_feedback
from rbdhw.model.interface import Interface
from rbdhw.protocol import (
    COMMANDS,
    EXTENDED,
    GAINS,
    HEADER,
    LOAD_COST,
    LOAD_GAINS,
    LOADED,
    NEXT_STATE,
    PARAMETERS,
    Status,
)
from rbdhw.robot.model import Robot
from rbdhw.robot.units import Units


def packet_entries(interface: Interface, robot: Robot) -> dict[str, Any]:
    """Return the manifest's ``stream``, and the input and output words of each function.

    A word's ``slot`` is the index of its place in a request; ``slots`` in ``stream`` lists the widths of
    these places in packed requests.
    """
    units = Units(robot)
    stream = {
        "tdata_width": interface.data_width,
        "number": interface.number,
        "header": {name: list(field) for name, field in HEADER.items()},
        "options": {"extended": EXTENDED} | ({"loaded": LOADED} if interface.held else {}),
        "status": {status.name.lower(): int(status) for status in Status},
        "functions": interface.codes,
        "slots": list(interface.slots),
        "priority": list(interface.priority),
        **({} if interface.rollout is None else _rollout_entries(interface, interface.rollout)),
        **({} if interface.streams == 1 else {"pairs": interface.streams}),
        **({} if interface.parameter_sets == 1 else {"parameter_sets": interface.parameter_sets}),
    }
    functions = interface.functions
    return {
        "stream": stream,
        "inputs": {f.name: [_input(word, units) for word in f.sent(extended=False)] for f in functions},
        "optional_inputs": {f.name: [_input(word, units) for word in f.optional_inputs] for f in functions},
        "outputs": {f.name: [_output(word, units) for word in f.outputs] for f in functions},
        "optional_outputs": {
            f.name: [_output(word, units) for word in f.optional_outputs] for f in functions
        },
    }


def _rollout_entries(interface: Interface, shape: RolloutShape) -> dict[str, Any]:
    entries: dict[str, Any] = {"horizon": shape.horizon}
    if shape.parts:
        entries["rollout"] = list(shape.parts)
    if GAINS in shape.parts:
        feedback = rollout_feedback(interface.words("step"), shape)
        entries["largest_gains"] = [[own.largest(term) for term in own.terms] for own in feedback]
    return entries


def _entry(word: Word, units: Units) -> dict[str, Any]:
    of_rows = (*COMMANDS[LOAD_COST].inputs, *COMMANDS[LOAD_GAINS].inputs, "x_nominal")
    by_word = ("q", NEXT_STATE, PARAMETERS, *of_rows)
    own = WordName.parse(word.name).array in by_word
    return {
        "name": word.name,
        "unit": word.unit if own else _unit_of(word.name, units),
        "width": word.format.width,
        "binary_point": word.format.binary_point,
    }


def _unit_of(element: str, units: Units) -> str:
    name = WordName.parse(element)
    return units.of(name.array, name.index, name.function)


def _output(word: Word, units: Units) -> dict[str, Any]:
    also = [
        {"name": element.name, "unit": _unit_of(element.name, units), "negative": element.negative}
        for element in word.also
    ]
    return _entry(word, units) | ({"also": also} if also else {})


def _input(word: Word, units: Units) -> dict[str, Any]:
    entry = _entry(word, units) | {"slot": word.slot}
    if word.lowest is not None:
        entry |= {"lowest": word.lowest, "highest": word.highest}
    return entry
