"""The words of a solver: what its parts take from each other, each with the formats of both.

A knot's numbers come from the results of ``dstep`` and from errors of the state, which are those of rollouts'
costs (:mod:`rbdhw.fixed.cost`). A policy becomes the gains of rollouts' feedback
(:mod:`rbdhw.fixed.feedback`), and changes of the forces in their own steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rbdhw.arrays import WordName
from rbdhw.fixed.angles import TURN
from rbdhw.fixed.cost import CostTerm, cost_format
from rbdhw.fixed.feedback import GAIN, Feedback
from rbdhw.fixed.format import Format, exponent_above
from rbdhw.fixed.knots import HEADROOM_BITS, MOVED
from rbdhw.fixed.program import Program, Word
from rbdhw.fixed.rollout import (
    RolloutShape,
    StateWord,
    StepWords,
    constant_words,
    force_words,
    rollout_feedback,
    rollout_terms,
    state_words,
    tracked_words,
)
from rbdhw.fixed.scaled import Scaled
from rbdhw.fixed.solver_numbers import FACTOR_BITS, Change, Curvature, Factor, step_derivatives
from rbdhw.fixed.state_error import ErrorTerm
from rbdhw.fixed.wide_state import CoordinateDifference, Copy, WideState
from rbdhw.graph.knots import OF_NEXT_KNOT, OFFSET, POSITION_SLOPE, POSITION_WEIGHT, block_starts
from rbdhw.graph.sweeps import Sweeps
from rbdhw.protocol import COST, FORCE_LIMITS, GAINS
from rbdhw.robot.wide_joints import WideJoint


@dataclass(frozen=True)
class SolverShape:
    """The words of a solver.

    ``step`` and ``dstep`` are the words of these functions, and ``program`` is that of a knot's step in
    ``sweeps``, where the forces of coordinates ``forces`` change. A forward pass tries the first ``alphas``
    of the step lengths 1, 1/2, 1/4, ... A solution has at most ``iterations``. The time step is a word of
    ``step``, or ``fixed_step`` in seconds. Knots are swept back in so many ``blocks``.
    Up to ``problems`` are solved together, each with a goal and a plan of its own. ``joints`` are those of
    several degrees of freedom.
    """

    step: StepWords
    dstep: StepWords
    sweeps: Sweeps
    program: Program
    forces: tuple[int, ...]
    alphas: int
    iterations: int
    fixed_step: float | None = None
    problems: int = 1
    blocks: int = 1
    joints: tuple[WideJoint, ...] = ()

    @property
    def knots(self) -> int:
        """The steps of a trajectory, which has one knot more."""
        return self.sweeps.links - 1

    @property
    def nq(self) -> int:
        return sum(word.array == "q" for word in self.step.inputs)

    @property
    def nv(self) -> int:
        return len(self.state) - self.nq

    @cached_property
    def state(self) -> tuple[StateWord, ...]:
        """The words of a state, q and then v."""
        return state_words(self.step, self.nq)

    @cached_property
    def tracked(self) -> tuple[StateWord, ...]:
        """The words of the positions of frames behind a step, which cost something."""
        return tracked_words(self.step, self.rollout)

    @property
    def carried(self) -> tuple[StateWord, ...]:
        """The words that steps give to a trajectory: those of a state, then the positions."""
        return (*self.state, *self.tracked)

    @property
    def rates(self) -> tuple[StateWord, ...]:
        """The words of a velocity."""
        return self.state[self.nq :]

    @property
    def taus(self) -> tuple[Word, ...]:
        return force_words(self.step)

    @cached_property
    def finer(self) -> dict[str, int]:
        """The zeros that are appended to a word of a step for its derivatives, in another core perhaps."""
        formats = {word.name: word.format for word in self.step.inputs}
        return {word.name: word.format.width - formats[word.name].width for word in self.dstep.inputs}

    @property
    def constants(self) -> tuple[Word, ...]:
        """The words of a step that stay the same in a solution, such as ``h``."""
        return constant_words(self.step)

    @property
    def rollout(self) -> RolloutShape:
        """The shape of rollouts like a forward pass."""
        return RolloutShape(self.knots, self.nq, "step", (COST, GAINS), tracking=True)

    @cached_property
    def terms(self) -> tuple[ErrorTerm, ...]:
        """The errors of the words of the state, of the positions, then of the forces. All have a reference.

        Those that cost something by themselves are among :attr:`costs`.
        """
        terms = rollout_terms(self.step, self.rollout)
        wide = {c for joint in self.joints for c in range(joint.span.start, joint.span.stop)}
        return tuple(
            ErrorTerm(term.word, reference) if k in wide else replace(term, reference=reference)
            for k, (term, reference) in enumerate(zip(terms, self.references, strict=True))
        )

    @cached_property
    def wide(self) -> tuple[WideState, ...]:
        """The joints of several degrees of freedom, with their errors."""
        return tuple(WideState(joint, self.terms[joint.span]) for joint in self.joints)

    @property
    def differences(self) -> tuple[CoordinateDifference, ...]:
        """The differences of their coordinates."""
        return tuple(each for joint in self.wide for each in joint.differences)

    @cached_property
    def costs(self) -> tuple[CostTerm | CoordinateDifference, ...]:
        """What costs something: coordinates of the tangent space, rates, positions, then the forces."""
        of_coordinate: dict[int, CostTerm | CoordinateDifference] = {
            each.number: each for each in self.differences
        }
        others = [term for term in self.terms if isinstance(term, CostTerm)]
        coordinates = range(self.nv)
        simple = iter(others)
        of_state = [of_coordinate.get(i) or next(simple) for i in coordinates]
        return (*of_state, *simple)

    @cached_property
    def references(self) -> tuple[str, ...]:
        """The names of the terms' references."""
        return tuple(
            term.reference or _in_array(term.word, "tau_ref").name
            for term in rollout_terms(self.step, self.rollout)
        )

    @cached_property
    def feedback(self) -> tuple[Feedback, ...]:
        """The feedback to each force that changes."""
        feedback = rollout_feedback(self.step, self.rollout)
        return tuple(each for each in feedback if each.coordinate in self.forces)

    @property
    def followed(self) -> tuple[ErrorTerm, ...]:
        """The errors of the state of which feedback is taken."""
        return self.feedback[0].terms

    @property
    def cost(self) -> Format:
        """The format of the cost of a trajectory."""
        return cost_format(len(self.costs), self.knots)

    @cached_property
    def inputs(self) -> dict[str, Word]:
        """The words of a knot's step by name."""
        return {word.name: word for word in self.program.inputs}

    @cached_property
    def policy(self) -> tuple[Word, ...]:
        """The words of a policy; their names begin with that of its function."""
        return self.program.outputs[self.sweeps.function]

    # Weights

    def _of_goal(self, cost: int, what: str) -> str:
        """Return the name of a word of a goal's row, such as ``x_slope[2]``, beside a weight."""
        weight = WordName.parse(self.costs[cost].weight)
        return str(replace(weight, array=weight.array.replace("weight", what)))

    def _of_knot(self, cost: int) -> tuple[str, str]:
        """Return the names that the slope and the curvature of a cost have among the numbers of a knot.

        A knot has none of these names for a fixed force, and for a position that nothing moves.
        """
        weight, states = WordName.parse(self.costs[cost].weight), 2 * self.nv
        if self.is_of_position(cost):
            frame, axis = weight.index
            return f"{POSITION_SLOPE}[{3 * frame + axis}]", f"{POSITION_WEIGHT}[{3 * frame + axis}]"
        if cost < states:
            return f"g[{cost}]", f"H[{cost},{cost}]"
        (force,) = weight.index
        index = self.forces.index(force) if force in self.forces else len(self.forces)
        return f"g[{states + index}]", f"R[{index}]"

    def hessian(self, cost: int) -> Word | None:
        """Return the word of a knot's Hessian that a cost has, or that of a position's weight.

        There is none for a fixed force, and for a position that nothing moves.
        """
        return self.inputs.get(self._of_knot(cost)[1])

    def is_of_position(self, cost: int) -> bool:
        """Return whether a cost is that of a position."""
        return 0 <= cost - 2 * self.nv < len(self.tracked)

    def is_rate(self, cost: int) -> bool:
        """Return whether a cost is that of a velocity."""
        return self.nv <= cost < 2 * self.nv

    @cached_property
    def slopes(self) -> tuple[Factor | None, ...]:
        """The factor of each cost: a knot's gradient is the product of it and the error.

        There is none for a difference of a coordinate, of which the sweep computes the gradient.
        """
        return tuple(self._slope(k) for k in range(len(self.costs)))

    def _slope(self, cost: int) -> Factor | None:
        hessian, term = self.hessian(cost), self.costs[cost]
        if hessian is None or not isinstance(term, CostTerm):
            return None
        exponent = hessian.format.width - 1 - hessian.format.binary_point
        if term.word.unit == "turn":
            exponent += math.ceil(math.log2(TURN))
        if self.is_rate(cost):
            exponent += exponent_above(self.time_step.most)
        format_ = Format(FACTOR_BITS, FACTOR_BITS - 1 - exponent)
        return Factor(self._of_goal(cost, "slope"), format_)

    @property
    def time_word(self) -> Word | None:
        """The word of the time step, unless that is fixed."""
        return next((word for word in self.constants if word.array == "h"), None)

    @cached_property
    def time_step(self) -> Factor:
        """The time step as a factor."""
        word = self.time_word
        if word is not None:
            return Factor("h", word.format, most_word=word.highest)
        assert self.fixed_step is not None
        return Factor.of("h", self.fixed_step)

    @cached_property
    def trajectory(self) -> tuple[Word, ...]:
        """The words of a trajectory's row: a state as the reference of feedback, positions, and forces."""
        positions = (each.word for each in self.tracked)
        return (*(term.reference_word for term in self.followed), *positions, *self.taus)

    @cached_property
    def goal(self) -> tuple[Word, ...]:
        """The words of a goal's row that passes and expansions take: references, weights, and slopes."""
        references = (term.reference_word for term in self.terms)
        weights = (_positive(cost.weight, cost.weight_format) for cost in self.costs)
        slopes = (_positive(slope.name, slope.format) for slope in self.slopes if slope is not None)
        coefficients = (word for each in self.differences for word in each.coefficients)
        return (*references, *weights, *slopes, *coefficients)

    @cached_property
    def limits_of_forces(self) -> tuple[tuple[Word, Word], ...]:
        """The words of a goal's row between which each force of its step is."""
        least, most = FORCE_LIMITS
        return tuple((_in_array(force, least), _in_array(force, most)) for force in self.taus)

    @property
    def limits(self) -> tuple[Word, ...]:
        """The same words in the order of packets: the least of all forces, then the most."""
        least, most = zip(*self.limits_of_forces, strict=True)
        return (*least, *most)

    @cached_property
    def curvatures(self) -> tuple[Curvature, ...]:
        """The words of a goal's row that a sweep takes, in the order of :attr:`costs`."""
        knots = ((k, self.hessian(k)) for k in range(len(self.costs)))
        return tuple(
            Curvature(
                _positive(self._of_goal(k, "curvature"), word.format),
                word.name,
                k < 2 * self.nv + len(self.tracked),
            )
            for k, word in knots
            if word is not None
        )

    @property
    def last(self) -> dict[str, int]:
        """The numbers of the last knot, which has no step, by the names of a knot's words."""
        forces = (each.number for each in self.curvatures if not each.of_next_knot)
        return {name: self.inputs[name].format.highest >> HEADROOM_BITS for name in forces}

    # From a step's derivatives and errors to the numbers of a knot

    @cached_property
    def number_factors(self) -> tuple[Factor, ...]:
        """The factors of the numbers of a knot."""
        slopes = (slope for slope in self.slopes if slope is not None)
        turn = [Factor.of("turn", TURN)] if self.blocks > 1 else []
        return (Factor.of("one", 1.0), self.time_step, *slopes, *turn)

    @cached_property
    def errors(self) -> tuple[Format, ...]:
        """The formats of the errors of all terms."""
        return tuple(
            Format(term.error_bits, term.word.format.binary_point - term.error_drop) for term in self.terms
        )

    @cached_property
    def copies(self) -> tuple[Copy, ...]:
        """The words of states and references that are numbers of a knot as they are."""
        return tuple(copy for joint in self.wide for copy in joint.copies(self.rates))

    @cached_property
    def numbers(self) -> tuple[Scaled, ...]:
        """The numbers of a knot that follow from the trajectory.

        Their sources are the results of ``dstep``, the errors of the terms of the cost, :attr:`copies`, and
        :attr:`changes_of_state`.
        """
        return (*self._derivatives(), *self._gradient(), *self._offsets(), *self._copied(), *self._moved())

    def _derivatives(self) -> Iterator[Scaled]:
        for name, element in step_derivatives(self.dstep, self.nv, self.forces).items():
            array, column = element.name.array, element.name.index[-1]
            by = int(array == "B" or (array == "A" and column < self.nv))
            word, source = self.inputs[name], self.dstep.outputs[element.word].format
            factor = self.number_factors[by].format
            yield Scaled(name, element.word, by, source, factor, word.format, element.negative)

    def _gradient(self) -> Iterator[Scaled]:
        first, names = len(self.dstep.outputs), [factor.name for factor in self.number_factors]
        for k, (cost, slope) in enumerate(zip(self.costs, self.slopes, strict=True)):
            if slope is not None and isinstance(cost, CostTerm):
                place, by = self.terms.index(cost), names.index(slope.name)
                word = self.inputs[self._of_knot(k)[0]]
                yield Scaled(word.name, first + place, by, self.errors[place], slope.format, word.format)

    def _offsets(self) -> Iterator[Scaled]:
        """Yield the positions of joints of several degrees of freedom."""
        first, factor = len(self.dstep.outputs), self.number_factors[0].format
        for joint in self.joints:
            for c in joint.position:
                word = self.inputs[f"{OFFSET}[{c}]"]
                yield Scaled(word.name, first + c, 0, self.errors[c], factor, word.format)

    def _copied(self) -> Iterator[Scaled]:
        first, factors = len(self.dstep.outputs) + len(self.terms), self.number_factors
        for k, copy in enumerate(self.copies):
            word, by = self.inputs[copy.number], int(copy.by_time_step)
            yield Scaled(word.name, first + k, by, copy.word.format, factors[by].format, word.format)

    @cached_property
    def block_starts(self) -> list[int]:
        """The knots with which blocks begin, but for the last knot."""
        return block_starts(self.knots, self.blocks)

    @cached_property
    def changes_of_state(self) -> tuple[Change, ...]:
        """The changes of the words of a state, in sweeps in blocks."""
        terms = self.terms[: 2 * self.nv] if self.blocks > 1 else ()
        return tuple(Change(term.bits, term.word.format.binary_point) for term in terms)

    def _moved(self) -> Iterator[Scaled]:
        """Yield the change of the knot behind the first one of a block since the sweep before."""
        first = len(self.dstep.outputs) + len(self.terms) + len(self.copies)
        factors = self.number_factors
        for k, change in enumerate(self.changes_of_state):
            turn = self.terms[k].word.unit == "turn"
            by = 1 if k >= self.nv else len(factors) - 1 if turn else 0
            word = self.inputs[f"{MOVED}[{k}]"]
            yield Scaled(word.name, first + k, by, change.format, factors[by].format, word.format)

    def is_of_next_knot(self, number: str) -> bool:
        """Return whether a number belongs to the knot after its step, as the gradient by the state does."""
        name = WordName.parse(number)
        return name.array in OF_NEXT_KNOT or (name.array == "g" and name.index[0] < 2 * self.nv)

    # From a policy to the feedback and the changes of forces

    @cached_property
    def policy_factors(self) -> tuple[Factor, ...]:
        """The factors of gains and changes."""
        return (Factor.of("one", 1.0), Factor.of("turn", TURN), self.time_step)

    @cached_property
    def gains(self) -> tuple[Scaled, ...]:
        """The gains of the forces that change, force after force, by the names of stored gains."""
        return tuple(
            self._from_policy(each.stored(term), f"K[{i},{j}]", factor, self.gain_format(each, term))
            for i, each in enumerate(self.feedback)
            for j, (term, factor) in enumerate(zip(each.terms, self._units, strict=True))
        )

    @cached_property
    def changes(self) -> tuple[Scaled, ...]:
        """The changes of the forces that change, in their own steps."""
        return tuple(
            self._from_policy(each.force.name, f"k[{i}]", 0, each.force.format)
            for i, each in enumerate(self.feedback)
        )

    @property
    def _units(self) -> Sequence[int]:
        """The factor of the gains of each word of the state, which makes a gain that of the word's unit."""
        turns = [int(state.word.unit == "turn") for state in self.state[: self.nq]]
        return [*turns, *[2] * self.nv]

    @staticmethod
    def gain_format(feedback: Feedback, term: ErrorTerm) -> Format:
        """Return the format of a gain, which counts the largest one as one."""
        return Format(GAIN.width, GAIN.binary_point - round(math.log2(feedback.largest(term))))

    def _from_policy(self, name: str, result: str, by: int, target: Format) -> Scaled:
        names = [word.name.partition(".")[2] for word in self.policy]
        index = names.index(result)
        source, factor = self.policy[index].format, self.policy_factors[by].format
        return Scaled(name, index, by, source, factor, target)


def _in_array(word: Word, array: str) -> Word:
    """Return a word like that of the same element in another array."""
    return replace(word, name=str(replace(WordName.parse(word.name), array=array)))


def _positive(name: str, format_: Format) -> Word:
    """Return a word of a goal's row, which is not negative."""
    return Word(name, "1", -1, format_, 0, format_.highest)
