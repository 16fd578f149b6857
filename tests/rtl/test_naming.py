"""Names in Verilog: valid, unique, no keywords, and found without trying every taken name."""

import pytest

from rbdhw.rtl.naming import Scope


class Counting(set):
    """A set that counts its look-ups."""

    searches = 0

    def __contains__(self, entry):
        self.searches += 1
        return super().__contains__(entry)


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ("q_1", "q_1"),
        ("left hip.z", "left_hip_z"),
        ("wire", "wire_2"),
        ("3d", "n3d"),
        ("", "x"),
        ("__a__", "a"),
    ],
)
def test_names_are_plain_and_no_keywords(wanted, given):
    assert Scope().new_name(wanted) == given


def test_no_name_is_given_twice():
    scope = Scope()
    assert [scope.new_name(name) for name in ("a", "a_2", "a", "a", "b", "a")] == [
        "a", "a_2", "a_3", "a_4", "b", "a_5",
    ]  # fmt: skip


def test_many_equal_names_are_numbered_in_steps_of_one():
    scope = Scope()
    scope._taken = Counting(scope._taken)
    names = [scope.new_name("n") for _ in range(500)]
    assert names == ["n", *(f"n_{k}" for k in range(2, 501))]
    assert scope._taken.searches <= 3 * 500
