"""The header of packets in numbers: what clients written from the README rely on."""

from rbdhw.header import CODE_BITS, EXTENDED, HEADER, HEADER_BITS, HIGH_CODE, LOADED, Status, header_fields


def test_the_header_is_laid_out_as_documented():
    assert HEADER == {"tag": (0, 16), "function": (16, 5), "options": (21, 3), "status": (24, 8)}
    assert sum(width for _, width in HEADER.values()) == HEADER_BITS == 32
    assert EXTENDED == 0


def test_each_status_has_its_bit():
    assert {status.name: int(status) for status in Status} == {
        "OUTSIDE": 0,
        "OVERFLOW": 1,
        "MALFORMED": 2,
        "NOT_FINITE": 3,
    }
    assert len(Status.__members__) == 4


def test_the_sixth_bit_of_a_code_is_an_option():
    assert header_fields(31) == {"function": 31, "options": 0}
    assert header_fields(31, extended=True) == {"function": 31, "options": 1}
    assert header_fields(32) == {"function": 0, "options": 2}
    assert header_fields(63, extended=True) == {"function": 31, "options": 3}
    assert CODE_BITS == 6
    assert (EXTENDED, HIGH_CODE, LOADED) == (0, 1, 2)
