"""The look-up of formats by beats; :mod:`test_shell_floating` has the converters in use."""

import pytest

from rbdhw.rtl.conversion import range_patterns


@pytest.mark.parametrize("bits", [1, 2, 5])
def test_patterns_match_a_range_and_nothing_else(bits: int) -> None:
    numbers = range(1 << bits)
    for start in numbers:
        for stop in range(start + 1, len(numbers) + 1):
            patterns = range_patterns(start, stop, bits)
            matching = [
                number
                for number in numbers
                for pattern in patterns
                if all(x in ("-", y) for x, y in zip(pattern, f"{number:0{bits}b}", strict=True))
            ]
            assert sorted(matching) == list(range(start, stop))
            assert len(patterns) <= 2 * bits


def test_a_range_of_all_numbers_is_one_pattern() -> None:
    assert range_patterns(0, 1024, 10) == ["-" * 10]
    assert range_patterns(3, 4, 4) == ["0011"]
