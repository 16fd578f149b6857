"""C that the solver and means of samples have in common: the words of commands, and steps of a trajectory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rbdhw.arrays import WordName
from rbdhw.fixed.angles import TURN
from rbdhw.fixed.cost import PRODUCT_DROP, RESIDUAL, SQUARE_DROP, CostTerm
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import StateWord, StepWords
from rbdhw.fixed.state_error import ErrorTerm
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.software.c_text import fill, table
from rbdhw.software.exact import shared_parts, word_entry

Rows = list[tuple[int | str, ...]]
"""The fields of each entry of a table of structures."""

_ARRAYS = ("q", "v", "h", "tau")
"""The arrays of a task."""


def command_parts(
    rows: Mapping[str, Any] = MappingProxyType({}), positions: bool = False, differences: bool = False
) -> dict[str, str]:
    """Return the texts that both have in common, and share with the model, by their fields in templates.

    ``rows`` are the numbers of a cost's residuals, ``positions`` tells whether frames have costs, and
    ``differences`` whether differences of coordinates have some.
    """
    behind = "BEHIND" if positions else "STATE"
    return {
        **shared_parts(),
        "trajectory_types": fill("trajectory.h", differences=differences),
        "integers": fill("integers.c"),
        "trajectory": fill(
            "trajectory.c",
            square_drop=SQUARE_DROP,
            turn=repr(TURN),
            product_drop=PRODUCT_DROP,
            residual=RESIDUAL,
            rows=rows,
            positions=positions,
            differences=differences,
            behind=behind,
        ),
        "outside": fill("outside.c"),
    }


def places_of(words: Iterable[Word]) -> dict[str, int]:
    """Return the place of each word by its name."""
    return {word.name: k for k, word in enumerate(words)}


def integers_table(name: str, values: Iterable[int]) -> str:
    """Return a table of small integers."""
    return table("int", name, [str(value) for value in values])


def structures_table(declared: str, rows: Rows) -> str:
    """Return a table of structures, which is declared by their kind and its name, such as ``term terms``."""
    kind, name = declared.split()
    return table(f"struct {kind}", name, ["{" + ", ".join(map(str, row)) + "}" for row in rows])


def words_table(model: AcceleratorModel, command: str) -> str:
    """Return the table of the words of a command's requests."""
    entries = [_entry(word, model) for word in model.interface.inputs(command)]
    return table("struct word", f"{command}_inputs", entries)


def _entry(word: Word, model: AcceleratorModel) -> str:
    """Return the initialiser of a command's word, an element of an array of problems."""
    name, wraps = WordName.parse(word.name), model.domain.wraps
    array = _ARRAYS.index(name.array) if name.array in _ARRAYS else 0
    index = name.index[0] if name.index else 0
    if name.array in ("p_ref", "p_weight"):
        index = 3 * name.index[0] + name.index[1]
    coordinate = name.array == "q" or (name.array == "x_ref" and index < len(wraps))
    bounded = word.lowest is not None and word.highest is not None
    return word_entry(word, (array, index), wraps=coordinate and bool(wraps[index]), bounded=bounded)


def term_rows(
    terms: Sequence[ErrorTerm], references: Iterable[str | None], row: Mapping[str, int], none: int = -1
) -> Rows:
    """Return the entries of a cost's terms, whose words have places in a ``row``.

    ``none`` is the place of a word that is zero, for terms without a reference. The weight of a term that
    costs nothing by itself has the place -1.
    """
    rows: Rows = []
    for term, reference in zip(terms, references, strict=True):
        place = none if reference is None else row[reference]
        weight, drop = (row[term.weight], term.weighted_drop) if isinstance(term, CostTerm) else (-1, 0)
        rows.append((place, weight, int(term.wraps), term.word.format.width, term.error_drop, drop))
    return rows


def next_rows(state: Iterable[StateWord], step: StepWords) -> Rows:
    """Return the entries of the words of a state, which follow from the results of a step."""
    rows: Rows = []
    for each in state:
        result = None if each.place is None else step.outputs[each.place].format
        up = 0 if result is None else each.word.format.binary_point - result.binary_point
        limited = int(each.word.lowest is not None)
        rows.append((-1 if each.place is None else each.place, up, limited, each.word.format.width))
    return rows
