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
from rbdhw.fixed.cost import CostTerm
from rbdhw.fixed.descent import LEAST_REGULARISATION_WORD, REGULARISATION_BITS, TOLERANCE_BITS
from rbdhw.fixed.knots import REGULARISATION
from rbdhw.fixed.scaled import Scaled
from rbdhw.fixed.solver import SolverShape
from rbdhw.fixed.solver_numbers import Factor
from rbdhw.fixed.wide_state import SIGN_BITS
from rbdhw.graph.knots import block_length
from rbdhw.graph.sweeps import Carried
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.interface import FunctionWords
from rbdhw.protocol import GOAL, PLAN, SOLVE
from rbdhw.robot.pinocchio import UNIT_SLACK
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
    values |= {"frames": len(model.robot.frames) if shape.tracked else 0}
    values |= {"blocked": shape.blocks > 1, "wide": bool(shape.wide), "finer": any(shape.finer.values())}
    source = fill(
        SOLVER_SOURCE,
        **values,
        block_knots=block_length(shape.knots, shape.blocks),
        **command_parts(positions=bool(shape.tracked), differences=bool(shape.wide)),
        **_fields_of_positions(shape),
        coordinates=fill("coordinates.c", unit_slack=repr(UNIT_SLACK)) if shape.wide else "",
        sign_bits=SIGN_BITS,
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


def _fields_of_positions(shape: SolverShape) -> dict[str, str]:
    """Return what the source has where costs of positions, if any, come after those of the state."""
    tangent = "TANGENT" if shape.wide else "STATE"
    given = {"tangent": tangent, "weights": "problem->Q, problem->R", "weight_array": ""}
    if not shape.tracked:
        return given | {"behind": "STATE", "judged": tangent}
    return given | {
        "behind": "BEHIND",
        "judged": "JUDGED",
        "weights": f"{given['weights']}, problem->position_weight",
        "weight_array": ", const double *position_weight",
    }


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
            "positions": len(shape.tracked),
            "behind": len(shape.carried),
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
            "differences": len(shape.differences),
            "quaternions": len(self._quaternions),
            "copies": len(shape.copies),
        }

    @property
    def text(self) -> str:
        shape = self.shape
        policy = len(self.swept) - len(shape.policy)  # behind what is handed on
        tables = {
            "state_places": [self.task[name] for name in self.state],
            "force_places": [self.task[name] for name in self.forces],
            "dstep_places": [self.task[word.name] for word in shape.dstep.inputs],
            "feedback_shifts": [shape.feedback[0].shift(term) for term in shape.followed],
            "last_places": [self.numbers[name] for name in shape.last],
            "carried_places": [self.numbers[name] for name in self._carried],
            "carried_results": list(self._carried.values()),
            "pivot_places": self._pivots,
        }
        if shape.blocks > 1:
            tables["moved_widths"] = [each.bits for each in shape.changes_of_state]
            tables["moved_drops"] = [each.drop for each in shape.changes_of_state]
        if any(shape.finer.values()):
            tables["dstep_shifts"] = list(shape.finer.values())
        if shape.wide:
            tables |= self._tables_of_coordinates
        structures: dict[str, Rows] = {
            "term terms": term_rows(shape.terms, shape.references, self.goal),
            "next next_words": next_rows(shape.carried, shape.step),
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
        if shape.wide:
            structures |= {"difference differences": self._differences, "copy copies": self._copies}
        return "".join(
            [
                *(integers_table(name, values) for name, values in tables.items()),
                *(words_table(self._model, command) for command in (GOAL, SOLVE)),
                table("int64_t", "last_numbers", [integer(number) for number in shape.last.values()]),
                *(structures_table(declared, rows) for declared, rows in structures.items()),
            ]
        )

    @property
    def _quaternions(self) -> list[int]:
        """The first element of each quaternion of a configuration."""
        return [joint.quaternion.start for joint in self.shape.joints]

    @property
    def _tables_of_coordinates(self) -> dict[str, list[int]]:
        """The tables of joints of several degrees of freedom.

        Coordinates of other joints are elements of the state. The others have the first one instead.
        """
        costs, state = self.shape.costs[: 2 * self.shape.nv], self.shape.terms[: len(self.state)]
        return {
            "quaternions": self._quaternions,
            "error_shifts": [term.shift for term in state],
            "error_exponents": [term.exponent for term in state],
            "simple_elements": [cost.element if isinstance(cost, CostTerm) else 0 for cost in costs],
        }

    @property
    def _differences(self) -> Rows:
        return [
            (
                *(each.number, each.terms[0].element, len(each.terms)),
                *(self.goal[each.coefficients[0].name], self.goal[each.weight]),
                *(joint.joint.quaternion.start, k % 3, each.exponent),
            )
            for joint in self.shape.wide
            for k, each in enumerate(joint.differences)
        ]

    @property
    def _copies(self) -> Rows:
        return [
            (int(copy.of_goal), int(copy.behind), (self.goal if copy.of_goal else self.state)[copy.word.name])
            for copy in self.shape.copies
        ]

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
        for k, cost in enumerate(shape.costs):
            slope, number = shape.slopes[k], shape.hessian(k)
            others = (
                -1 if slope is None else self.goal[slope.name],
                -1 if number is None else self.goal[curvatures[number.name]],
            )
            unit = repr(TURN) if isinstance(cost, CostTerm) and cost.word.unit == "turn" else "1.0"
            rate = int(shape.is_rate(k))
            rows.append((unit, repr(4.0**cost.exponent), self.goal[cost.weight], *others, rate))
        return rows

    @property
    def _plan_words(self) -> Rows:
        """The array, place, binary point and unit of each word of an answer to ``plan``."""
        angles, rows = [term.word.unit == "turn" for term in self.shape.followed], Rows()
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
        """What is dropped from the feedback to each force, and the places of its limits in a goal's row.

        Beside joints of several degrees of freedom there may be forces without feedback, so the place of the
        first gain follows.
        """
        shape, rows = self.shape, Rows()
        feedback = {each.force.name: each for each in shape.feedback}
        for force, limits in zip(shape.taus, shape.limits_of_forces, strict=True):
            each = feedback.get(force.name)
            drop, gains = (0, -1) if each is None else (each.drop, self.gains[each.stored(each.terms[0])])
            first = (gains,) if shape.wide else ()
            rows.append((drop, *(self.goal[limit.name] for limit in limits), *first))
        return rows

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
        for name, i in self.forces.items():
            sources[f"{command}.{name}"] = ("FORCE", i)
        for k, term in enumerate(self.shape.followed):
            sources[f"{command}.x[{k}]"] = ("STATE_WORD", k)
            for each in self.shape.feedback:
                sources[f"{command}.K[{each.coordinate},{k}]"] = ("GAIN", self.gains[each.stored(term)])
        return [sources[word.name] for word in self._interface.outputs(command, extended=True)]
