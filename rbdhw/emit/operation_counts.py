"""The operations of a program for one task of a function."""

from __future__ import annotations

from collections import Counter
from enum import Enum

from rbdhw.design.entries import Multiplications, Operations
from rbdhw.fixed.program import Kind, Program

_Product = Enum("_Product", "VARIABLE CONSTANT SHIFT")
"""The kind of a product: of two variables, with a constant, or with a power of two, which is a shift."""


def program_counts(program: Program, function: str) -> Operations:
    """Return the operations of a program on which a function's results depend, optional ones aside.

    The program is the one that is built, after lowering, fusion and the removal of terms that rounding
    absorbs. An operation on the path to the results counts even if only other functions need it, such as a
    product with a zero that a flag selects. A sum of n terms counts as n - 1 additions.
    """
    products: Counter[_Product] = Counter()
    additions = reciprocals = 0
    for i in program.operations_of(function, optional=False):
        operation = program.operations[i]
        match operation.kind:
            case Kind.ADD:
                additions += len(operation.operands) - 1
            case Kind.MULTIPLY:
                products[_Product.VARIABLE] += 1
            case Kind.SCALE:
                products[_Product.CONSTANT] += 1
            case Kind.DOT:
                terms = [_product(program, first, second) for _, first, second in operation.pairs]
                products.update(terms)
                additions += len(terms) - 1
            case Kind.RECIPROCAL:
                reciprocals += 1
    return Operations(
        multiplications=Multiplications(
            variable=products[_Product.VARIABLE], constant=products[_Product.CONSTANT]
        ),
        additions=additions,
        reciprocals=reciprocals,
    )


def _product(program: Program, first: int, second: int) -> _Product:
    factors = (program.operations[first], program.operations[second])
    known = [factor.constant for factor in factors if factor.kind is Kind.CONSTANT]
    if not known:
        return _Product.VARIABLE
    return _Product.SHIFT if abs(known[-1]).bit_count() == 1 else _Product.CONSTANT
