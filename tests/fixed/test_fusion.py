"""Fusion: sums of products compared with the original program and with exact arithmetic."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.domain.bounds import input_domain
from rbdhw.domain.sampling import sample
from rbdhw.errors import InputError
from rbdhw.fixed.evaluate import evaluate
from rbdhw.fixed.format import Format
from rbdhw.fixed.fusion import GUARD_BITS, fuse
from rbdhw.fixed.program import Kind, Operand, Operation, Program, Word, exact_interval
from rbdhw.fixed.serialize import program_from_json, program_to_json
from rbdhw.fixed.trigonometry import trigonometry_spec
from rbdhw.protocol import flag_values
from tests.support.builds import evaluated, model_of, program_of, widened_program
from tests.support.graphs import REGION
from tests.support.mixed import mixed_program, mixed_words

WORD = Format(8, 4)


def program(*operations: Operation, outputs: tuple[int, ...]) -> Program:
    """Return a program of three words a, b, c and the given operations."""
    inputs = tuple(Operation(Kind.INPUT, (), WORD, REGION, name=name) for name in "abc")
    whole = (*inputs, *operations)
    return Program(
        whole,
        tuple(Word(name, "1", i, WORD, slot=i) for i, name in enumerate("abc")),
        (),
        {"id": tuple(Word(f"id.{i}", "1", i, whole[i].format) for i in outputs)},
        trigonometry_spec(8),
        None,
        (8, 8),
    )


def product(a: int, b: int, drop: int = 0) -> Operation:
    return Operation(Kind.MULTIPLY, (Operand(a), Operand(b)), Format(12, 8 - drop), REGION, drop=drop)


def words(tasks: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.integers(-128, 128, tasks) for name in "abc"}


def test_a_sum_includes_products_used_only_by_it():
    before = program(
        product(0, 1, drop=3),
        product(1, 2, drop=3),
        Operation(Kind.ADD, (Operand(3), Operand(4, True, 1)), WORD, REGION, drop=1),
        outputs=(5,),
    )
    after = fuse(before, 8)
    (dot,) = (operation for operation in after.operations if operation.kind is Kind.DOT)
    assert [operand.shift for operand, _, _ in dot.pairs] == [GUARD_BITS - 4, GUARD_BITS - 3]
    assert [operand.negative for operand, _, _ in dot.pairs] == [False, True]
    given = words(200, seed=1)
    a, b, c = given.values()
    exact = (a * b - 2 * b * c) / 2**4
    expected = np.floor((np.floor(exact * 2**GUARD_BITS) + 2 ** (GUARD_BITS - 1)) / 2**GUARD_BITS)
    result = evaluate(after, given)
    fits = np.abs(expected) < 128
    assert result.overflow.tolist() == (~fits).tolist()
    assert result.words["id.5"][fits].tolist() == expected[fits].tolist()


def test_a_constant_is_rounded_to_the_width():
    wide = Operation(Kind.CONSTANT, (), Format(11, 7), REGION, 0b1101011011)
    before = program(
        wide, Operation(Kind.ADD, (Operand(0, False, 3), Operand(3)), Format(12, 7), REGION), outputs=(4,)
    )
    after = fuse(before, 8)
    (constant,) = (o for o in after.operations if o.kind is Kind.CONSTANT and o.constant != 1)
    assert (constant.constant, constant.format) == (0b1101011, Format(8, 4))
    result = evaluate(after, words(50, seed=2))
    (word,) = after.outputs["id"]
    exact = words(50, seed=2)["a"] / 2**4 + 0b1101011011 / 2**7
    fits = ~result.overflow
    assert np.abs(word.format.real(result.words["id.4"]) - exact)[fits].max() <= 2**-3


def test_a_product_with_two_users_is_kept():
    before = program(
        product(0, 1),
        Operation(Kind.ADD, (Operand(3), Operand(0)), Format(14, 8), REGION),
        Operation(Kind.ADD, (Operand(3), Operand(2)), Format(14, 8), REGION),
        outputs=(4, 5),
    )
    kinds = [operation.kind for operation in fuse(before, 8).operations]
    assert kinds.count(Kind.DOT) == 3


@pytest.mark.parametrize("most", [2, 3, 8])
def test_sums_have_at_most_the_allowed_terms(most):
    after = fuse(program_of("iiwa14", 18), most)
    terms = [len(operation.operands) // 2 for operation in after.operations if operation.kind is Kind.DOT]
    assert max(terms) == most


@pytest.mark.parametrize("name", ["toy", "iiwa14", "hyq"])
def test_results_differ_by_rounding_only(name):
    before, robot = program_of(name, 18), model_of(name).source
    after = fuse(before, 8)
    arrays = sample(robot, input_domain(robot), 64, np.random.default_rng(3))
    (first, flags), (second, others) = (evaluated(p, robot, arrays) for p in (before, after))
    assert not flags.overflow.any()
    assert not others.overflow.any()
    assert np.abs(first - second).max() < 2e-3 * np.abs(first).max()


@pytest.mark.parametrize(("function", "extended"), [("id", False), ("fd", False), ("difd", True)])
def test_choices_and_reciprocals_stay(function, extended):
    before = mixed_program(18)
    after = fuse(before, 8)
    flags = {name: np.asarray(int(value)) for name, value in flag_values(function, extended).items()}
    given = mixed_words(before, 50, seed=4) | flags
    results = [evaluate(p, given, (function,)) for p in (before, after)]
    fits = ~(results[0].overflow | results[1].overflow)
    assert fits.sum() >= 25
    for old, new in zip(before.outputs[function], after.outputs[function], strict=True):
        first, second = (
            word.format.real(result.words[word.name])[fits]
            for word, result in zip((old, new), results, strict=True)
        )
        scale = math.ldexp(1.0, old.format.width - 1 - old.format.binary_point)
        assert np.abs(first - second).max() < 1e-2 * scale


def test_a_fused_program_travels_as_json():
    after = fuse(mixed_program(18), 4)
    assert program_from_json(json.loads(json.dumps(program_to_json(after)))) == after


def test_an_odd_number_of_operands_is_refused():
    data = program_to_json(fuse(mixed_program(18), 4))
    index = next(i for i, row in enumerate(data["operations"]) if row[0] == "dot")
    data["operations"][index][1].pop()
    with pytest.raises(InputError) as error:
        program_from_json(data)
    count = len(data["operations"][index][1])
    assert str(error.value) == f"program data, operations.{index}: dot of {count} operands; expected pairs"


def test_wide_products_are_refused():
    with pytest.raises(InputError) as error:
        fuse(widened_program("iiwa14", 18, 1e-7), 8)
    assert str(error.value) == (
        "core: the array has no multipliers wider than its ports; expected a width instead of an error "
        "budget; leave out --max-error"
    )


@given(st.integers(0, 2**32 - 1))
def test_bounds_of_a_sum_are_never_left(seed):
    rng = np.random.default_rng(seed)
    pairs = [
        (Operand(int(a), bool(rng.random() < 0.5), int(rng.integers(-3, 3))), Operand(int(b)))
        for a, b in rng.integers(0, 3, (3, 2))
    ]
    dot = Operation(Kind.DOT, tuple(o for pair in pairs for o in pair), Format(24, 0), REGION, drop=2)
    intervals = [tuple(sorted(rng.integers(-20, 20, 2).tolist())) for _ in range(3)]
    low, high = exact_interval(dot, intervals)
    for _ in range(20):
        values = [int(rng.integers(a, b, endpoint=True)) for a, b in intervals]
        total = 0
        for operand, first, second in dot.pairs:
            moved = math.floor(values[first] * values[second] * 2.0**operand.shift)
            total += -moved if operand.negative else moved
        assert low <= math.floor(total / 4 + 0.5) <= high
