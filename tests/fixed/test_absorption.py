"""Absorbed terms: programs without them give the same results, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.fixed.absorption import remove_absorbed_terms
from rbdhw.fixed.evaluate import evaluate
from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Kind, Operand, Operation, Program, Word, exact_interval
from rbdhw.fixed.trigonometry import trigonometry_spec
from tests.support.builds import program_of, random_words
from tests.support.graphs import REGION

WORD = Format(8, 4)

INPUTS = 4


def program(*operations: Operation, outputs: tuple[int, ...]) -> Program:
    """Return a program of four words and further operations; those whose results may not fit are checked."""
    whole = [Operation(Kind.INPUT, (), WORD, REGION, name=f"w{k}") for k in range(INPUTS)]
    intervals = [(WORD.lowest, WORD.highest)] * INPUTS
    for operation in operations:
        low, high = exact_interval(operation, intervals)
        number_format = operation.format
        fits = number_format.lowest <= low and high <= number_format.highest
        whole.append(
            Operation(
                operation.kind,
                operation.operands,
                number_format,
                REGION,
                operation.constant,
                operation.drop,
                checked=not fits,
            )
        )
        intervals.append((low, high) if fits else (number_format.lowest, number_format.highest))
    return Program(
        tuple(whole),
        tuple(Word(f"w{k}", "1", k, WORD, slot=k) for k in range(INPUTS)),
        (),
        {"id": tuple(Word(f"id.{i}", "1", i, whole[i].format) for i in outputs)},
        trigonometry_spec(8),
        None,
        (8, 8),
    )


def scale(value: int, constant: int, width: int, drop: int) -> Operation:
    return Operation(Kind.SCALE, (Operand(value),), Format(width, 0), REGION, constant, drop)


def add(first: Operand, second: Operand, width: int, drop: int) -> Operation:
    return Operation(Kind.ADD, (first, second), Format(width, 0), REGION, drop=drop)


def assert_same(before: Program, after: Program, words: dict[str, np.ndarray]) -> None:
    """Check that both programs give the same results and overflow flags for every function."""
    for function in before.outputs:
        first, second = (evaluate(each, words, (function,)) for each in (before, after))
        assert second.overflow.tolist() == first.overflow.tolist()
        assert {name: values.tolist() for name, values in second.words.items()} == {
            name: values.tolist() for name, values in first.words.items()
        }


def count(p: Program, kind: Kind) -> int:
    return sum(operation.kind is kind for operation in p.operations)


def test_an_absorbed_term_and_its_operands_are_removed():
    before = program(
        scale(0, 5, 6, 6),
        add(Operand(1, shift=2), Operand(4, True, -5), 8, 2),
        scale(5, 3, 10, 0),
        outputs=(6,),
    )
    after, _ = remove_absorbed_terms(before)
    assert [operation.kind for operation in after.operations[INPUTS:]] == [Kind.SCALE]
    assert after.operations[-1].operands == (Operand(1),)
    assert_same(before, after, random_words(before, 300, 1))


def test_a_sum_that_moves_its_other_operand_is_left():
    before = program(scale(0, 5, 6, 6), add(Operand(1, True, 3), Operand(4, False, -5), 10, 2), outputs=(5,))
    after, _ = remove_absorbed_terms(before)
    (left,) = after.operations[INPUTS:]
    assert left.operands == (Operand(1, True, 1),)
    assert left.drop == 0
    assert_same(before, after, random_words(before, 300, 2))


@pytest.mark.parametrize(
    "sum_of",
    [
        add(Operand(1, shift=2), Operand(4, shift=-4), 9, 2),
        add(Operand(1, shift=1), Operand(4, shift=-5), 9, 2),
    ],
)
def test_a_term_that_may_move_the_rounding_stays(sum_of):
    before = program(scale(0, 5, 6, 6), sum_of, outputs=(5,))
    assert remove_absorbed_terms(before)[0] == before


def test_a_term_that_may_overflow_stays():
    before = program(scale(0, 5, 6, 2), add(Operand(1, shift=2), Operand(4, shift=-5), 9, 2), outputs=(5,))
    assert before.operations[4].checked
    assert remove_absorbed_terms(before)[0] == before


def test_an_overflow_that_a_result_also_reports_does_not_keep_a_term():
    before = program(
        scale(0, 5, 6, 2),
        scale(4, 1, 6, 0),
        add(Operand(1, shift=2), Operand(5, shift=-5), 8, 2),
        outputs=(4, 6),
    )
    assert before.operations[4].checked
    after, _ = remove_absorbed_terms(before)
    assert len(after.operations) == len(before.operations) - 2
    assert_same(before, after, random_words(before, 300, 3))


def test_an_overflow_reported_by_another_function_keeps_a_term():
    before = program(
        scale(0, 5, 6, 2),
        scale(4, 1, 6, 0),
        add(Operand(1, shift=2), Operand(5, shift=-5), 8, 2),
        outputs=(4, 6),
    )
    other, word = before.outputs["id"]
    both = replace(before, outputs={"fd": (replace(other, name="fd.0"),), "id": (word,)})
    assert both.operations[4].checked
    after, _ = remove_absorbed_terms(both)
    assert after.operations[:5] == both.operations[:5]
    (left,) = after.operations[5:]
    assert left.operands == (Operand(1, shift=2), Operand(4, shift=-5))
    assert after.operations_of("id") >= {4}
    assert_same(both, after, random_words(both, 300, 3))


def limbs(second: int) -> Program:
    """Return a program of two limbs, alike except for the width of the value that the second adds."""
    return program(
        scale(0, 5, 6, 6),
        scale(1, 5, second, 6),
        add(Operand(2, shift=2), Operand(4, shift=-5), 8, 2),
        add(Operand(3, shift=2), Operand(5, True, -5), 8, 2),
        scale(6, 3, 10, 0),
        scale(7, 5, 11, 0),
        outputs=(8, 9),
    )


def test_twins_lose_a_term_together():
    before, twins = limbs(6), ((4, 5), (6, 7), (8, 9))
    after, left = remove_absorbed_terms(before, twins)
    assert [operation.constant for operation in after.operations[INPUTS:]] == [3, 5]
    assert left == ((4, 5),)
    assert_same(before, after, random_words(before, 300, 4))


def test_twins_keep_a_term_that_one_of_them_needs():
    before, twins = limbs(8), ((6, 7), (8, 9))
    assert remove_absorbed_terms(before, twins) == (before, twins)
    assert len(remove_absorbed_terms(before)[0].operations) == len(before.operations) - 2


def test_a_twin_that_is_needed_keeps_the_other():
    before = program(
        scale(0, 5, 6, 6),
        scale(1, 5, 6, 6),
        add(Operand(2, shift=2), Operand(4, shift=-5), 8, 2),
        scale(5, 1, 6, 0),
        outputs=(6, 7),
    )
    after, left = remove_absorbed_terms(before, ((4, 5),))
    assert left == ((4, 5),)
    assert count(after, Kind.SCALE) == 3


def random_program(rng: np.random.Generator) -> Program:
    """Draw a program of sums, products and scales with shifts by which many terms are absorbed."""
    operations: list[Operation] = []
    widths = [WORD.width] * INPUTS
    for _ in range(12):
        kind = rng.choice([Kind.ADD, Kind.ADD, Kind.SCALE, Kind.MULTIPLY])
        a, b = (int(value) for value in rng.integers(0, len(widths), 2))
        width = int(rng.integers(5, 12))
        if kind == Kind.SCALE:
            operations.append(scale(a, int(rng.integers(1, 60)), width, int(rng.integers(0, 7))))
        elif kind == Kind.MULTIPLY:
            drop = int(rng.integers(0, 9))
            operands = (Operand(a), Operand(b))
            operations.append(Operation(Kind.MULTIPLY, operands, Format(width, 0), REGION, drop=drop))
        else:
            signs = rng.random(2) < 0.5
            shifts = int(rng.integers(0, 4)), int(rng.integers(-10, 3))
            operands = Operand(a, bool(signs[0]), shifts[0]), Operand(b, bool(signs[1]), shifts[1])
            operations.append(add(*operands, width, int(rng.integers(0, 4))))
        widths.append(width)
    last = len(widths) - 1
    drawn = program(*operations, outputs=tuple(sorted({last, *rng.integers(INPUTS, last, 2).tolist()})))
    words = drawn.outputs["id"]
    functions = ("id", "fd", "m")[: len(words)]
    return replace(drawn, outputs={name: (word,) for name, word in zip(functions, words, strict=True)})


@given(st.integers(0, 2**32 - 1))
def test_random_programs_do_the_same(seed):
    before = random_program(np.random.default_rng(seed))
    after, _ = remove_absorbed_terms(before)
    assert len(after.operations) <= len(before.operations)
    assert_same(before, after, random_words(before, 200, seed))


def test_random_programs_lose_terms():
    programs = [random_program(np.random.default_rng(seed)) for seed in range(50)]
    sums = [count(p, Kind.ADD) - count(remove_absorbed_terms(p)[0], Kind.ADD) for p in programs]
    assert sum(less > 0 for less in sums) > 10


@pytest.mark.parametrize("width", [12, 18])
def test_robots_do_the_same(width):
    before = program_of("iiwa14", width)
    after, _ = remove_absorbed_terms(before)
    assert count(after, Kind.SCALE) < count(before, Kind.SCALE)
    assert_same(before, after, random_words(before, 400, 5))
