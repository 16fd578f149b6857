"""The commands of an accelerator that takes means of samples: the words of their packets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rbdhw.arrays import WordName
from rbdhw.errors import InputError
from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import RolloutShape, force_words, rollout_cost
from rbdhw.fixed.softmin import MOST_EXPONENT, MOST_SAMPLES, SCALE, SQUARE_BITS, SUM_BITS, WEIGHT
from rbdhw.model.interface import FunctionWords
from rbdhw.model.rollouts.part import counts, in_slots
from rbdhw.model.rollouts.samples import SEED, SEED_FORMAT
from rbdhw.protocol import COMMANDS, MEAN, MPPI
from rbdhw.robot.model import Robot


def check_averaged(robot: Robot) -> None:
    """Refuse a robot for which accelerators take no means of samples.

    Raises InputError if a joint has several degrees of freedom.
    """
    if robot.nq != robot.nv:
        reason = "has a joint of several degrees of freedom"
        expected = f"joints of one degree of freedom for {MPPI} on an accelerator"
        raise InputError(f"robot '{robot.name}'", reason, expected)


def mean_commands(step: FunctionWords, shape: RolloutShape, first: int) -> tuple[FunctionWords, ...]:
    """Return the words of the commands. Those that are not words of a step have slots from ``first`` on."""
    shared = [word for word in step.inputs if word.array in COMMANDS[MPPI].inputs]
    row = counts(shape, "row")
    asked = [
        _integer("samples", 1, MOST_SAMPLES),
        Word(SEED, "1", -1, SEED_FORMAT, 0, SEED_FORMAT.highest),
        Word("scale", "1", -1, SCALE, 0, SCALE.highest),
        _integer("exponent", 0, MOST_EXPONENT),
        replace(row[0], name="shift"),
    ]
    point = WEIGHT.binary_point
    results = [
        Word(f"{MPPI}.least", "1", -1, rollout_cost(step, shape)),
        Word(f"{MPPI}.weight", "1", -1, Format(SUM_BITS + 1, point)),
        Word(f"{MPPI}.square", "1", -1, Format(SQUARE_BITS + 1, 2 * point)),
        Word(f"{MPPI}.counted", "1", -1, Format(MOST_SAMPLES.bit_length() + 1, 0)),
    ]
    return (
        FunctionWords(MPPI, (*shared, *in_slots(asked, first)), (*_forces(MPPI, step), *results)),
        FunctionWords(MEAN, in_slots(row, first), tuple(_forces(MEAN, step))),
    )


def _forces(function: str, step: FunctionWords) -> Iterator[Word]:
    for word in force_words(step):
        name = replace(WordName.parse(word.name), function=function)
        yield Word(str(name), word.unit, -1, word.format)


def _integer(name: str, least: int, most: int) -> Word:
    return Word(name, "1", -1, Format(most.bit_length() + 1, 0), least, most)
