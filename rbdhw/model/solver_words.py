"""The commands of an accelerator that solves: the words of their packets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rbdhw.arrays import WordName
from rbdhw.errors import InputError
from rbdhw.fixed.descent import REGULARISATION_BITS
from rbdhw.fixed.format import Format
from rbdhw.fixed.knots import MOVED, REGULARISATION
from rbdhw.fixed.program import Word
from rbdhw.fixed.solver import SolverShape
from rbdhw.graph.knots import check_blocks
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.fixed_sweep import FixedSweep
from rbdhw.model.interface import FunctionWords
from rbdhw.model.rollouts.part import in_slots
from rbdhw.protocol import COMMANDS, GOAL, PLAN, SOLVE
from rbdhw.robot.model import JointKind, Robot
from rbdhw.robot.wide_joints import wide_joints
from rbdhw.solving import Solved

REFERENCES = ("x_ref", "tau_ref")
"""The arrays of a goal's row that have the words of a step's state and forces."""


def with_solver(
    model: AcceleratorModel,
    sweep: FixedSweep,
    alphas: int,
    iterations: int,
    problems: int = 1,
    blocks: int = 1,
) -> AcceleratorModel:
    """Return an accelerator of ``step`` and ``dstep`` that also solves up to ``problems`` together.

    Raises InputError as :func:`check_solved`, and if the sweep cannot be in so many ``blocks``.
    """
    check_solved(model.robot, blocks)
    check_blocks(sweep.sweeps.links - 1, blocks)
    if blocks > 1 and not any(word.array == MOVED for word in sweep.taken):
        raise InputError("blocks", "the sweep takes no values of an earlier one", "1")
    interface = model.interface
    step, dstep, forces = interface.words("step"), interface.words("dstep"), tuple(sweep.forces)
    fixed = model.robot.time_step
    sizes = alphas, iterations, fixed, problems, blocks
    joints = tuple(wide_joints(model.robot))
    _check_formats(step, dstep)
    shape = SolverShape(step, dstep, sweep.sweeps, sweep.program, forces, *sizes, joints)
    functions = (*interface.functions, *solver_commands(interface.functions, shape))
    return replace(model, interface=replace(interface, functions=functions, solver=shape), sweep=sweep)


def check_solved(robot: Robot, blocks: int = 1) -> None:
    """Refuse a robot for which accelerators do not solve.

    Raises InputError if a joint is planar, or has several degrees of freedom where a sweep is in ``blocks``.
    """
    wide = wide_joints(robot)
    for joint in wide:
        if joint.joint.kind is JointKind.PLANAR:
            where, reason = f"joint '{joint.joint.name}'", "is planar"
            expected = "joints of one degree of freedom, spherical or floating ones"
            raise InputError(where, reason, f"{expected} for {SOLVE} on an accelerator")
    if wide and blocks > 1:
        reason = f"joint '{wide[0].joint.name}' has several degrees of freedom"
        raise InputError("blocks", reason, "1 with such a joint")


def _check_formats(step: FunctionWords, dstep: FunctionWords) -> None:
    """Refuse words that derivatives of steps take with fewer bits, or another range, than steps do."""
    formats = {word.name: word.format for word in step.inputs}
    for word in dstep.inputs:
        here, there = formats[word.name], word.format
        more = there.width - here.width
        if more < 0 or more != there.binary_point - here.binary_point:
            reason = f"{word.name} has {here.width} bits in step and {there.width} in dstep"
            remedy = "give both functions one core, or dstep a smaller --max-error"
            raise InputError("cores", reason, "at least as many for derivatives, of the same range", remedy)


def solver_commands(functions: Sequence[FunctionWords], shape: SolverShape) -> tuple[FunctionWords, ...]:
    """Return the words of the commands. Those that are not words of a step have slots of their own."""
    first = 1 + max(word.slot for function in functions for word in function.brought(extended=True))
    shared = [word for word in shape.step.inputs if word.array in COMMANDS[SOLVE].inputs]
    asked = [
        _count("iterations", shape.iterations),
        _count("warm", 1),
        _count("shift", shape.knots - 1),
    ]
    of_several = [_count("problem", shape.problems - 1)] if shape.problems > 1 else []
    if of_several:
        asked += [_count("more", 1), *of_several]
    references = [word for word in shape.goal if word.array in REFERENCES]
    weights = [word for word in shape.goal if word.array not in REFERENCES]
    weights += [each.word for each in shape.curvatures]
    row = in_slots([*of_several, _count("row", shape.knots - 1), *weights, *shape.limits], first)
    knot = in_slots([*of_several, _count("row", shape.knots)], first)
    return (
        FunctionWords(
            SOLVE,
            (*shared, *in_slots(asked, first)),
            _results(shape),
            optional_outputs=tuple(_gains(SOLVE, shape)),
        ),
        FunctionWords(GOAL, (*references, *row), ()),
        FunctionWords(PLAN, knot, tuple(_knot(shape))),
    )


def _results(shape: SolverShape) -> tuple[Word, ...]:
    """Return the words of an answer to ``solve``: the first step's forces, and numbers of the solution."""
    added = shape.inputs[REGULARISATION].format
    return (
        *_forces(SOLVE, shape),
        Word(f"{SOLVE}.cost", "1", -1, shape.cost),
        _count(f"{SOLVE}.iterations", shape.iterations),
        Word(
            f"{SOLVE}.regularisation",
            "1",
            -1,
            Format(added.width + REGULARISATION_BITS + 1, added.binary_point),
        ),
        _count(f"{SOLVE}.solved", max(Solved)),
        _count(f"{SOLVE}.followed", 1),
    )


def _knot(shape: SolverShape) -> Iterator[Word]:
    """Yield the words of an answer to ``plan``."""
    for term in shape.followed:
        assert term.reference is not None
        name = replace(WordName.parse(term.reference), array="x", function=PLAN)
        yield Word(str(name), term.word.unit, -1, term.word.format)
    yield from _forces(PLAN, shape)
    yield from _gains(PLAN, shape)


def _forces(function: str, shape: SolverShape) -> Iterator[Word]:
    for word in shape.taus:
        name = replace(WordName.parse(word.name), function=function)
        yield Word(str(name), word.unit, -1, word.format)


def _gains(function: str, shape: SolverShape) -> Iterator[Word]:
    """Yield the gains of the forces that change, force after force."""
    for each in shape.feedback:
        for term in each.terms:
            index = WordName.parse(each.stored(term)).index
            unit = f"{each.force.unit}/({term.word.unit})"
            yield Word(str(WordName("K", index, function)), unit, -1, shape.gain_format(each, term))


def _count(name: str, most: int) -> Word:
    """Return a word of a number, an integer from 0 to ``most``."""
    return Word(name, "1", -1, Format(most.bit_length() + 1, 0), 0, most)
