"""The manifest's description of packets: the streams, and the words of each function."""

from __future__ import annotations

from rbdhw.arrays import WordName
from rbdhw.design.packet_entries import EqualElement, InputWord, OutputWord, Packets, Stream
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
        outputs={f.name: [_output(word, units) for word in f.outputs] for f in functions},
        optional_outputs={f.name: [_output(word, units) for word in f.optional_outputs] for f in functions},
    )


def _stream(interface: Interface) -> Stream:
    shape = interface.rollout
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
        largest_gains=_largest_gains(interface, shape) if shape and GAINS in shape.parts else None,
        pairs=interface.streams,
        parameter_sets=interface.parameter_sets,
    )


def _largest_gains(interface: Interface, shape: RolloutShape) -> list[list[float]]:
    """Return what a gain of one stands for, for each force and each error."""
    feedback = rollout_feedback(interface.words("step"), shape)
    return [[own.largest(term) for term in own.terms] for own in feedback]


def _unit(word: Word, units: Units) -> str:
    """Return the unit of a word: that of its element, unless the word has one of its own."""
    of_rows = (*COMMANDS[LOAD_COST].inputs, *COMMANDS[LOAD_GAINS].inputs, "x_nominal")
    by_word = ("q", NEXT_STATE, PARAMETERS, *of_rows)
    return word.unit if WordName.parse(word.name).array in by_word else _unit_of(word.name, units)


def _unit_of(element: str, units: Units) -> str:
    name = WordName.parse(element)
    return units.of(name.array, name.index, name.function)


def _output(word: Word, units: Units) -> OutputWord:
    also = [
        EqualElement(name=own.name, unit=_unit_of(own.name, units), negative=own.negative)
        for own in word.also
    ]
    return OutputWord(
        name=word.name,
        unit=_unit(word, units),
        width=word.format.width,
        binary_point=word.format.binary_point,
        also=also or None,
    )


def _input(word: Word, units: Units) -> InputWord:
    return InputWord(
        name=word.name,
        unit=_unit(word, units),
        width=word.format.width,
        binary_point=word.format.binary_point,
        slot=word.slot,
        lowest=word.lowest,
        highest=word.highest,
    )
