"""The wire's contract in numbers: what clients written from the README rely on."""

from rbdhw.protocol import CODES, EXTENDED, FUNCTIONS, HEADER, HEADER_BITS, Status


def test_the_header_is_laid_out_as_documented():
    assert HEADER == {"tag": (0, 16), "function": (16, 4), "options": (20, 4), "status": (24, 8)}
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


def test_each_function_has_its_code():
    assert CODES == {"id": 0, "fd": 1, "m": 2, "minv": 3, "did": 4, "dfd": 5, "difd": 6}


def test_arrays_travel_in_their_order():
    base = ("base_v", "base_a", "gravity", "fext")
    assert {name: own.inputs for name, own in FUNCTIONS.items()} == {
        "id": ("q", "v", "a", *base),
        "fd": ("q", "v", "tau", *base),
        "m": ("q",),
        "minv": ("q",),
        "did": ("q", "v", "a", *base),
        "dfd": ("q", "v", "tau", *base),
        "difd": ("q", "v", "a", *base),
    }
    assert {name: own.outputs for name, own in FUNCTIONS.items()} == {
        "id": ("tau",),
        "fd": ("a",),
        "m": ("M",),
        "minv": ("Minv",),
        "did": ("dtau_dq", "dtau_dv"),
        "dfd": ("da_dq", "da_dv"),
        "difd": ("da_dq", "da_dv"),
    }
    assert FUNCTIONS["dfd"].optional_outputs == ("Minv", "a")
    assert FUNCTIONS["difd"].optional_inputs == ("Minv",)
    assert [name for name, own in FUNCTIONS.items() if own.extensible] == ["dfd", "difd"]
