"""Constants as signed powers of two, and the adders that multiply by them."""

from itertools import pairwise

import pytest

from rbdhw.fixed.recoding import ShiftAdd, Term, pair_summands, recode, round_constant, shift_add


@pytest.mark.parametrize("constant", [*range(1, 300), 0x798B, 2**17 - 1, -5, -(2**9)])
def test_the_terms_add_up_and_no_two_are_neighbours(constant):
    terms = recode(constant)
    assert sum((-1 if term.negative else 1) << term.shift for term in terms) == constant
    assert all(low.shift + 2 <= high.shift for low, high in pairwise(terms))


def test_fewest_terms():
    assert recode(8) == (Term(3),)
    assert recode(15) == (Term(0, negative=True), Term(4))
    assert recode(11) == (Term(0, negative=True), Term(2, negative=True), Term(4))
    assert recode(0) == ()


@pytest.mark.parametrize("drop", [1, 3, 4, 6, 7, 12])
def test_the_half_is_added_where_the_factor_leaves_room_or_alone(drop):
    """105 is 1 - 8 - 16 + 128; for up to 7 dropped bits the half is merged into the largest term."""
    terms = round_constant(105, drop)
    assert [term.shift for term in terms] == sorted(term.shift for term in terms)
    ones = [term for term in terms if term.one != 0]
    assert [term.shift for term in ones] == [drop - 1]
    assert len(terms) == len(recode(105)) + (drop > 7)


@pytest.mark.parametrize(("constant", "drop"), [(5, 0), (105, 3), (0x798B, 15), (0x798B, 18)])
def test_terms_with_the_half_are_the_product_and_the_half(constant, drop):
    total = 0
    for term in round_constant(constant, drop):
        value = 1 if term.one is None else (1000 << term.one) + (term.one > 0)
        total += (-value if term.negative else value) << term.shift
    assert total == 1000 * constant + (1 << drop >> 1)


def test_neighbours_are_paired_first():
    assert pair_summands(["a"], str.__add__) == "a"
    assert pair_summands(list("abcde"), lambda x, y: f"({x}{y})") == "(((ab)(cd))e)"


@pytest.mark.parametrize(
    ("constant", "drop", "expected"),
    [
        (4, 0, ShiftAdd(0, 0, 0)),
        (4, 2, ShiftAdd(0, 0, 0)),  # the half is in the zero bits
        (5, 0, ShiftAdd(9, 1, 1)),  # 8 bits and a carry; two bits need no adder
        (7, 0, ShiftAdd(12, 1, 1)),  # 8 x - x: every bit needs the adder
        (5, 4, ShiftAdd(9 + 9, 2, 2)),  # the half is added last
        (85, 0, ShiftAdd(9 + 9 + 12, 3, 2)),
    ],
)
def test_adders_of_a_number_of_8_bits(constant, drop, expected):
    assert shift_add(8, constant, drop) == expected
