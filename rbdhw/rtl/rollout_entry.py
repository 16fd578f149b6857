"""A rollout between two steps: its layout, and the words of its state."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const
from amaranth.lib import data

from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import (
    RolloutShape,
    StateWord,
    constant_words,
    row_inputs,
    state_words,
)
from rbdhw.header import HEADER
from rbdhw.model.interface import FunctionWords
from rbdhw.rtl.arithmetic import half
from rbdhw.rtl.rollout_parts import hardware_of


def entry_layout(step: FunctionWords, shape: RolloutShape) -> data.StructLayout:
    """Return the layout of a rollout between two steps.

    ``left`` and ``done`` count steps. ``due`` are the steps until the next answer, zero if only the last
    state is wanted, and ``every`` those between answers. ``exceeds`` states that a word of the state did not
    fit its format. ``constant`` are the words that stay, such as the time step. Where steps are prepared
    (:mod:`rbdhw.rtl.preparation`), there are also the next step's ``forces``, with its contacts, the ``seed``
    of the samples, the ``cost`` so far, whether answers have the state beside it (``extended``), and the
    ``positions`` of frames that the last step gave.
    ``loaded`` is the option of that name, where parameters are loaded.
    """
    number = shape.horizon.bit_length()
    prepared = {"forces": sum(word.format.width for word in row_inputs(step))} if shape.parts else {}
    for part in hardware_of(shape):
        prepared |= part.fields(step, shape)
    return data.StructLayout(
        {
            "tag": HEADER["tag"][1],
            **dict.fromkeys(("malformed", "not_finite", "outside", "overflow", "exceeds"), 1),
            **dict.fromkeys(("first_flagged", "left", "done", "due", "every"), number),
            "constant": sum(word.format.width for word in constant_words(step)),
            "state": sum(state.word.format.width for state in state_words(step, shape.nq)),
            **({"loaded": 1} if step.held else {}),
            **prepared,
        }
    )


def exceeds(field: Any, word: Word) -> Any:
    """Return whether a field's number does not fit its word; an angle without limits wraps."""
    if word.lowest is None or len(field) <= word.format.width:
        return Const(0, 1)
    above = field[word.format.width - 1 :]
    return above.any() & ~above.all()


def go_back(state: StateWord, results: list[tuple[Word, Any]]) -> tuple[Any, Any]:
    """Return a word of the next state in the format of the input, and whether it does not fit.

    It is the result, rounded to the nearest step of the word, ties upward. It is exact where the word has as
    many fraction bits as the result.
    """
    width = state.word.format.width
    if state.place is None:
        return Const(0, width), Const(0, 1)
    word, value = results[state.place]
    more = state.word.format.binary_point - word.format.binary_point
    if more >= 0:
        whole = Cat(Const(0, more), value).as_signed()
    else:
        whole = (value + half(-more)) >> -more
    missing = max(width - len(whole), 0)
    whole = Cat(whole, whole[-1].replicate(missing)).as_signed()
    return whole[:width], exceeds(whole, state.word)
