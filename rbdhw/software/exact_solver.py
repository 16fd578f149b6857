"""C of the bit-exact solver: :class:`rbdhw.model.solver_session.SolverSession`, in the integers of packets.

``model_solver.c`` and ``model_solver.h`` stand beside the bit-exact model, whose ``step`` and ``dstep`` they
call. The sweep is the C of a knot's step. All else is loops over tables of words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.metadata import version

from rbdhw.arrays import WordName
from rbdhw.fixed.angles import TURN
from rbdhw.fixed.knots import REGULARISATION
from rbdhw.fixed.scaled import Scaled
from rbdhw.fixed.solver import LEAST_REGULARISATION_WORD, REGULARISATION_BITS, TOLERANCE_BITS, Factor
from rbdhw.graph.knots import block_length
from rbdhw.graph.sweeps import Carried
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.interface import FunctionWords
from rbdhw.protocol import GOAL, PLAN, SOLVE
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
from rbdhw.software.exact_kernel import ExactKernel
from rbdhw.software.exact_units import Units
from rbdhw.solving import Solved

SOLVER_SOURCE, SOLVER_HEADER = "model_solver.c", "model_solver.h"

KNOT = "knot"
"""The name of a knot's step in C."""


def model_solver_files(model: AcceleratorModel) -> dict[str, str]:
    """Return the texts of the solver's source and header by name, of an accelerator that solves."""
    if model.interface.solver is None:
        return {}
    tables = _Tables(model)
    about = f"rbdhw {version('rbdhw')}: the bit-exact solver of an accelerator"
    heading = comment((about, f"for the robot {json.dumps(model.robot.name)}, beside model.c."))
    shape = tables.shape
    time = shape.time_word
    time_word = {"place": tables.task[time.name]} if time is not None else None
    values = {"heading": heading, "shape": shape, "counts": tables.counts, "time_word": time_word}
    values |= {"several": shape.problems > 1, "solvers": "solver" if shape.problems == 1 else "solvers"}
    values["blocked"] = shape.blocks > 1
    source = fill(
        SOLVER_SOURCE,
        **values,
        block_knots=block_length(shape.knots, shape.blocks),
        **command_parts(),
        converts=int(model.interface.converts),
        units=tables.units.text(),
        kernel=tables.kernel,
        tables=tables.text,
        places=tables.places,
        fixed_step=repr(shape.time_step.most),
        points=tables.points,
        least_regularisation=integer(LEAST_REGULARISATION_WORD),
        most_regularisation=integer(shape.inputs[REGULARISATION].format.highest),
        regularisation_bits=REGULARISATION_BITS,
        tolerance_bits=TOLERANCE_BITS,
    )
    return {SOLVER_SOURCE: source, SOLVER_HEADER: fill(SOLVER_HEADER, **values, statuses=list(Solved))}


class _Tables:
    """The words of a solver as tables of C. Maps have the place of each word by its name."""

    def __init__(self, model: AcceleratorModel) -> None:
        shape, interface = model.interface.solver, model.interface
        assert shape is not None
        self.shape, self._model, self._interface = shape, model, interface
        self.task = places_of(shape.step.inputs)
        self.goal = places_of(interface.inputs(GOAL))
        self.state = places_of(each.word for each in shape.state)
        self.forces = places_of(shape.taus)
        self.gains = {
            each.stored(term): i * len(self.state) + j
            for i, each in enumerate(shape.feedback)
            for j, term in enumerate(each.terms)
        }
        handed, results = shape.program.outputs[shape.sweeps.sweeps[0].name], shape.policy
        layout = FunctionWords(KNOT, shape.program.inputs, (*handed, *results))
        self.numbers, self.swept = places_of(layout.inputs), places_of(layout.outputs)
        program = replace(shape.program, outputs={KNOT: layout.outputs})
        self.units = Units([program])
        self.kernel = ExactKernel(program, layout, self.units, most_vectors=1, wraps=True).text()

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of words and of entries of tables."""
        shape = self.shape
        step, dstep = shape.step, shape.dstep
        commands = {
            "solve_results": self._interface.outputs(SOLVE),
            "solve_extended": self._interface.outputs(SOLVE, extended=True),
            "plan_results": self._interface.outputs(PLAN),
            "solve": self._interface.inputs(SOLVE),
        }
        return {name: len(words) for name, words in commands.items()} | {
            "goal": len(self.goal),
            "state": len(self.state),
            "forces": len(self.forces),
            "gains": len(self.gains),
            "numbers": len(self.numbers),
            "swept": len(self.swept),
            "task": len(self.task),
            "step_results": len(step.outputs),
            "dstep_words": len(dstep.inputs),
            "dstep_results": len(dstep.outputs),
            "rows": max(shape.knots, shape.alphas),
            "tasks": max(shape.alphas * len(step.inputs), shape.knots * len(dstep.inputs)),
            "results": max(shape.alphas * len(step.outputs), shape.knots * len(dstep.outputs)),
            "curvatures": len(shape.curvatures),
            "last": len(shape.last),
            "scaled": len(shape.numbers),
            "scaled_gains": len(shape.gains),
            "scaled_changes": len(shape.changes),
            "carried": len(self._carried),
            "pivots": len(self._pivots),
        }

    @property
    def text(self) -> str:
        shape = self.shape
        policy = len(self.swept) - len(shape.policy)  # behind what is handed on
        tables = {
            "state_places": [self.task[name] for name in self.state],
            "force_places": [self.task[name] for name in self.forces],
            "dstep_places": [self.task[word.name] for word in shape.dstep.inputs],
            "feedback_shifts": [shape.feedback[0].shift(term) for term in shape.feedback[0].terms],
            "last_places": [self.numbers[name] for name in shape.last],
            "carried_places": [self.numbers[name] for name in self._carried],
            "carried_results": list(self._carried.values()),
            "pivot_places": self._pivots,
        }
        if shape.blocks > 1:
            tables["moved_widths"] = [each.bits for each in shape.changes_of_state]
            tables["moved_drops"] = [each.drop for each in shape.changes_of_state]
        structures: dict[str, Rows] = {
            "term terms": term_rows(shape.terms, shape.references, self.goal),
            "next next_words": next_rows(shape.state, shape.step),
            "force force_words": self._force_words,
            "curvature curvatures": [
                (self.goal[each.word.name], self.numbers[each.number], int(each.of_next_knot))
                for each in shape.curvatures
            ],
            "factor number_factors": self._factors(shape.number_factors),
            "factor policy_factors": self._factors(shape.policy_factors),
            "scaled scaled_numbers": self._scaled(shape.numbers, self.numbers),
            "scaled scaled_gains": self._scaled(shape.gains, self.gains, policy),
            "scaled scaled_changes": self._scaled(shape.changes, self.forces, policy),
            "weight weights": self._weights,
            "plan_word plan_numbers": self._plan_words,
            "result solve_results": self._results(SOLVE),
            "result plan_results": self._results(PLAN),
        }
        return "".join(
            [
                *(integers_table(name, values) for name, values in tables.items()),
                *(words_table(self._model, command) for command in (GOAL, SOLVE)),
                table("int64_t", "last_numbers", [integer(number) for number in shape.last.values()]),
                *(structures_table(declared, rows) for declared, rows in structures.items()),
            ]
        )

    @cached_property
    def _carried(self) -> dict[str, int]:
        """The place among a step's outputs of what each input that is handed on takes."""
        sources = self.shape.sweeps.sources.items()
        return {name: self.swept[source.output] for name, source in sources if isinstance(source, Carried)}

    @property
    def _pivots(self) -> list[int]:
        return [k for name, k in self.swept.items() if name.partition(".")[2].startswith("pivot[")]

    @property
    def places(self) -> dict[str, int]:
        """The places of single words among those that they belong to."""
        results = places_of(self._interface.outputs(SOLVE))
        numbers = {"cost": "cost", "taken": "iterations", "added": "regularisation"}
        numbers |= {name: name for name in ("solved", "followed")}
        return {
            "regularisation": self.numbers[REGULARISATION],
            "row": self.goal["row"],
            "problem": self.goal.get("problem", 0),
        } | {key: results[f"{SOLVE}.{name}"] for key, name in numbers.items()}

    @property
    def points(self) -> dict[str, int]:
        """The binary points of the cost and of the regularisation in answers."""
        words = self._interface.outputs(SOLVE)
        return {name: words[self.places[name]].format.binary_point for name in ("cost", "added")}

    @property
    def _weights(self) -> Rows:
        shape, rows = self.shape, Rows()
        curvatures = {each.number: each.word.name for each in shape.curvatures}
        for k, term in enumerate(shape.terms):
            slope, number = shape.slopes[k], shape.hessian(k)
            names = [slope.name, curvatures[number.name]] if slope is not None and number is not None else []
            others = [self.goal[name] for name in names] or [-1, -1]
            unit = repr(TURN) if term.word.unit == "turn" else "1.0"
            rate = int(shape.nv <= k < 2 * shape.nv)
            rows.append((unit, repr(4.0**term.exponent), self.goal[term.weight], *others, rate))
        return rows

    @property
    def _plan_words(self) -> Rows:
        """The array, place, binary point and unit of each word of an answer to ``plan``."""
        angles, rows = [term.word.unit == "turn" for term in self.shape.feedback[0].terms], Rows()
        for word in self._interface.outputs(PLAN):
            name = WordName.parse(word.name)
            *row, column = name.index
            array = ("x", "tau", "K").index(name.array)
            index = column + sum(row) * len(angles)
            angle = int(array != 1 and angles[column])
            rows.append((array, index, word.format.binary_point, angle))
        return rows

    @property
    def _force_words(self) -> Rows:
        """What is dropped from the feedback to each force, and the places of its limits in a goal's row."""
        limits = zip(self.shape.feedback, self.shape.limits_of_forces, strict=True)
        return [(each.drop, *(self.goal[limit.name] for limit in words)) for each, words in limits]

    def _factors(self, factors: Sequence[Factor]) -> Rows:
        rows: Rows = []
        for factor in factors:
            if factor.constant is not None:
                rows.append(("CONSTANT", 0, integer(factor.constant)))
            elif factor.name in self.goal:
                rows.append(("OF_GOAL", self.goal[factor.name], 0))
            else:
                rows.append(("OF_TASK", self.task[factor.name], 0))
        return rows

    def _scaled(self, scaled: Sequence[Scaled], targets: Mapping[str, int], first: int = 0) -> Rows:
        """Return the entries of products, whose sources begin at place ``first``."""
        return [
            (
                first + each.place,
                each.by,
                each.drop,
                int(each.negative),
                targets[each.name],
                int(self.shape.is_of_next_knot(each.name)),
                integer(each.target.lowest),
                integer(each.target.highest),
            )
            for each in scaled
        ]

    def _results(self, command: str) -> Rows:
        sources: dict[str, tuple[str, int]] = {
            f"{command}.cost": ("COST", 0),
            f"{command}.iterations": ("TAKEN", 0),
            f"{command}.regularisation": ("ADDED", 0),
            f"{command}.solved": ("SOLVED", 0),
            f"{command}.followed": ("FOLLOWED", 0),
        }
        for i, each in enumerate(self.shape.feedback):
            sources[f"{command}.tau[{each.coordinate}]"] = ("FORCE", i)
            for k, term in enumerate(each.terms):
                sources[f"{command}.K[{each.coordinate},{k}]"] = ("GAIN", self.gains[each.stored(term)])
                sources[f"{command}.x[{k}]"] = ("STATE_WORD", k)
        return [sources[word.name] for word in self._interface.outputs(command, extended=True)]
