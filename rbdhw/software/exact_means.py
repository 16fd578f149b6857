"""C of bit-exact means of samples: :class:`rbdhw.model.rollouts.mean_session.MeanSession`, on words.

``model_mppi.c`` and ``model_mppi.h`` stand beside the bit-exact model, whose steps in time they take.
"""

from __future__ import annotations

import json
import math
from importlib.metadata import version
from typing import Any

from rbdhw.arrays import WordName
from rbdhw.fixed import normal, softmin
from rbdhw.fixed.cost import COST_POINT
from rbdhw.fixed.rollout import (
    constant_words,
    force_words,
    rollout_residuals,
    rollout_terms,
    state_words,
    tracked_words,
)
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.rollouts.cost import largest_error, room_for_rounding
from rbdhw.model.rollouts.mean_codec import RATE_STEP
from rbdhw.model.rollouts.mean_session import NUMBERS
from rbdhw.model.rollouts.positions import LARGEST_WEIGHT
from rbdhw.model.rollouts.rows import unit_of
from rbdhw.model.rollouts.samples import MOST_SEED, MOST_SEED_OF_SINGLES
from rbdhw.protocol import LOAD, LOAD_COST, MEAN, MPPI
from rbdhw.software.c_text import comment, fill, integer, table
from rbdhw.software.exact_commands import (
    Rows,
    command_parts,
    integers_table,
    next_rows,
    places_of,
    structures_table,
    term_rows,
    words_table,
)

MEANS_SOURCE, MEANS_HEADER = "model_mppi.c", "model_mppi.h"

AT_ONCE = 64
"""The samples whose steps are computed together, an even number."""


def model_means_files(model: AcceleratorModel) -> dict[str, str]:
    """Return the texts of the source and header by name, of an accelerator that takes means of samples."""
    shape = model.interface.rollout
    if shape is None or not shape.means:
        return {}
    interface, tables = model.interface, _Tables(model)
    rows = tables.rows
    about = f"rbdhw {version('rbdhw')}: bit-exact means of samples of an accelerator"
    values = {
        "heading": comment((about, f"for the robot {json.dumps(model.robot.name)}, beside model.c.")),
        "shape": shape,
        "step": interface.step.name,
        "counts": tables.counts,
        "time_word": any(word.array == "h" for word in constant_words(interface.step)),
        "most_samples": softmin.MOST_SAMPLES,
        "at_once": AT_ONCE,
        "rows": rows,
        "frames": len(model.robot.frames) if shape.tracking else 0,
    }
    source = fill(
        MEANS_SOURCE,
        **values,
        **command_parts(rows, positions=shape.tracking),
        behind="BEHIND" if shape.tracking else "STATE",
        limits=", const double *limits" if rows else "",
        converts=int(interface.converts),
        tables=tables.text,
        places={command: places_of(interface.inputs(command))["row"] for command in interface.row_commands},
        normal=_NORMAL,
        softmin=_SOFTMIN | {"quotient_bits": softmin.quotient_bits(tables.widest)},
        most_seed=integer(MOST_SEED),
        most_seed_of_arrays=integer(MOST_SEED_OF_SINGLES if interface.converts else MOST_SEED),
        largest_weight=repr(LARGEST_WEIGHT),
        log2=repr(math.log(2.0)),
        rate_step=repr(RATE_STEP),
        most_scale=softmin.SCALE.highest,
        scale_bits=softmin.SCALE.width,
        most_exponent=softmin.MOST_EXPONENT,
        cost_point=COST_POINT,
    )
    return {MEANS_SOURCE: source, MEANS_HEADER: fill(MEANS_HEADER, **values)}


_NORMAL = {
    "octave_bits": normal.OCTAVE_BITS,
    "eighth_bits": normal.EIGHTH_BITS,
    "place_bits": normal.PLACE_BITS,
    "step_bits": normal.STEP_BITS,
    "rounds": normal.ROUNDS,
    "right": normal.RIGHT,
    "left": normal.LEFT,
    "point": normal.SAMPLE.binary_point,
}

_SOFTMIN = {
    "fraction": softmin.FRACTION,
    "place_bits": softmin.PLACE_BITS,
    "together": softmin.TOGETHER,
    "most_drop": softmin.MOST_DROP,
    "most_fall": softmin.MOST_FALL,
    "sum_bits": softmin.SUM_BITS,
    "guard": softmin.GUARD,
}


class _Tables:
    """The words of means of samples as tables of C."""

    def __init__(self, model: AcceleratorModel) -> None:
        step, shape = model.interface.step, model.interface.rollout
        assert shape is not None
        self._model, self._step = model, step
        self._state, self._forces = state_words(step, shape.nq), force_words(step)
        self._positions = tracked_words(step, shape)
        self._terms, self._residuals = rollout_terms(step, shape), rollout_residuals(step, shape)
        self._task, self._row = places_of(step.inputs), places_of(model.interface.inputs(LOAD))
        first = [word for word in model.interface.inputs(MPPI) if word.name not in NUMBERS]
        self._first = [self._task[word.name] for word in first]

    @property
    def widest(self) -> int:
        """The bits of the widest force."""
        return max(word.format.width for word in self._forces)

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of words."""
        interface = self._model.interface
        return {command: len(interface.inputs(command)) for command in (*interface.row_commands, MPPI)} | {
            "mppi_results": len(interface.outputs(MPPI)),
            "state": len(self._state),
            "positions": len(self._positions),
            "forces": len(interface.outputs(MEAN)),
            "task": len(self._step.inputs),
            "step_results": len(self._step.outputs),
            "first": len(self._first),
            "drawn": 2 * -(-self._model.robot.nv // 2),
        }

    @property
    def rows(self) -> dict[str, Any]:
        """The numbers of residuals, if costs have any."""
        if not self._residuals:
            return {}
        goal, first = places_of(self._model.interface.inputs(LOAD_COST)), self._residuals[0]
        return {
            "constants": goal[first.constant],
            "roots": goal[first.weight],
            "room": repr(room_for_rounding(first)),
        }

    @property
    def text(self) -> str:
        model = self._model
        goal = places_of(model.interface.inputs(LOAD_COST))
        references = [term.reference for term in self._terms]
        weights: Rows = [(repr(unit_of(term)), repr(4.0**term.exponent)) for term in self._terms]
        keys = [f"UINT32_C({key})" for key in normal.round_keys()]
        return "".join(
            [
                *(words_table(model, command) for command in (*model.interface.row_commands, MPPI)),
                integers_table("state_places", [self._task[each.word.name] for each in self._state]),
                integers_table("first_places", self._first),
                structures_table("term terms", term_rows(self._terms, references, goal, none=len(goal))),
                structures_table("next next_words", next_rows((*self._state, *self._positions), self._step)),
                structures_table("force force_words", self._force_words),
                structures_table("weight cost_weights", weights),
                *self._tables_of_residuals,
                structures_table("line segments", list(normal.segments())),
                structures_table("line powers", list(softmin.lines())),
                table("uint32_t", "round_keys", keys),
            ]
        )

    @property
    def _tables_of_residuals(self) -> list[str]:
        """The shifts of errors, and the largest errors, if costs have residuals."""
        if not self._residuals:
            return []
        terms = self._residuals[0].terms
        sizes = [repr(largest_error(term)) for term in terms]
        return [
            integers_table("error_shifts", [term.shift for term in terms]),
            table("double", "error_sizes", sizes),
        ]

    @property
    def _force_words(self) -> Rows:
        rows: Rows = []
        for word in self._forces:
            (coordinate,) = WordName.parse(word.name).index
            places = (self._task[word.name], self._row[word.name], self._row[f"std[{coordinate}]"])
            rows.append((*places, coordinate, integer(word.lowest or 0), integer(word.highest or 0)))
        return rows
