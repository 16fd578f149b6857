"""The program of a knot's step, with one set of number formats for all knots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rbdhw.fixed.fusion import fuse
from rbdhw.fixed.lower import InputRange
from rbdhw.fixed.program import Program
from rbdhw.fixed.reciprocal import quick
from rbdhw.fixed.steps import lower_steps
from rbdhw.fixed.widths import FactorLimits
from rbdhw.graph.graph import GraphBuilder, Op
from rbdhw.graph.joined_steps import join_steps
from rbdhw.graph.sweeps import Carried, Given, Shared, Source, Sweep, Sweeps

REGULARISATION = "regularisation"
"""The name of the word that is added to the weights of all forces."""

MOVED = "moved"
"""The array of a knot's words that say how far the knot behind has moved since its value was computed."""

HEADROOM_BITS = 3
"""The bits of headroom over the largest value that was observed."""

MOST_TERMS = 6
"""The most products that an accumulator adds for one number."""

EXTRA_BITS, MOST_BITS = 8, 62
"""The bits by which a product that is divided by a pivot is wider than an operand; the most of two operands.

It has the ranges of two numbers, and the headroom of both."""


def sweeps_of(program: Program, knots: int) -> Sweeps:
    """Return the order of a sweep back from knot ``knots``, for the program of a knot's step.

    It has no graph: the program is what computes a step.
    """
    sweep, function = program.outputs
    handed = {word.name.partition(".")[2]: word.name for word in program.outputs[sweep]}
    sources: dict[str, Source] = {}
    for word in program.inputs:
        if word.name in handed:
            sources[word.name] = Carried(handed[word.name], 0.0)
        else:
            of_all = word.name == REGULARISATION
            sources[word.name] = Shared() if of_all else Given(word.name, (True,) * (knots + 1))
    empty = GraphBuilder().finish([])
    return Sweeps(knots + 1, (Sweep(sweep, empty, inward=True),), sources, function, "", "")


def knot_program(sweeps: Sweeps, magnitudes: Sequence[float], width: int) -> Program:
    """Return the program of a knot's step like :func:`plain_program`, with sums of products rounded once."""
    return fuse(plain_program(sweeps, magnitudes, width), MOST_TERMS)


def plain_program(sweeps: Sweeps, magnitudes: Sequence[float], width: int) -> Program:
    """Return the program of a knot's step, in which each product and each sum has a format of its own.

    Both operands of a product have ``width`` bits, but for products that are divided by a pivot
    (:func:`wider_bits`). ``magnitudes`` has the largest of each node of the step over all knots, with
    headroom. The functions of the program are the sweep, whose words are what it hands on, by the names of
    the inputs that take it, and that of the results. One pivot after the other waits for the reciprocal
    before it.
    """
    joined, (sweep,) = join_steps(sweeps), sweeps.sweeps
    sizes = dict(zip(sweep.step.inputs, (magnitudes[i] for i in sweep.step.inputs.values()), strict=True))
    ranges = {
        name: InputRange(-sizes[name], sizes[name], "1")
        for name, source in sweeps.sources.items()
        if not isinstance(source, Carried)
    }
    factors = FactorLimits(joined.graph, guard=0)
    bits, wider = factors.caps(width, frozenset()), wider_bits(width)
    divided = divided_products(factors)
    bits[divided] = wider
    headroom = np.zeros(factors.nodes, np.int64)
    headroom[divided] = HEADROOM_BITS
    magnitudes = np.ldexp(magnitudes, headroom).tolist()
    widths = replace(factors.widths(width, bits), ports=(wider, width))
    plain = lower_steps(joined, magnitudes, ranges, widths).program
    assert plain.reciprocal is not None
    words = plain.outputs[sweep.name]
    handed = tuple(word for word in words if word.name.startswith(f"{sweep.name}."))
    outputs = {sweep.name: handed, sweeps.function: tuple(word for word in words if word not in handed)}
    return replace(plain, outputs=outputs, reciprocal=quick(plain.reciprocal))


def wider_bits(width: int) -> int:
    """Return the bits of a product that is divided by a pivot, where other operands have ``width`` bits."""
    return max(width, min(width + EXTRA_BITS, MOST_BITS - width))


def divided_products(factors: FactorLimits) -> list[int]:
    """Return the nodes that are products of two others and that a reciprocal multiplies."""
    nodes = factors.graph.nodes
    partners = (member for node in factors.reciprocals for member in factors.partners[node])
    return sorted(member for member in partners if member < factors.nodes and nodes[member].op is Op.MULTIPLY)
