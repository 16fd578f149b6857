"""The wire's contract in numbers: what clients written from the README rely on."""

from rbdhw.protocol import (
    CODE_BITS,
    CODES,
    DEFAULT_FUNCTIONS,
    EXTENDED,
    FLAGS,
    FUNCTIONS,
    HEADER,
    HEADER_BITS,
    HIGH_CODE,
    LOADED,
    Status,
    function_giving,
    functions_with,
    header_fields,
)

STEPS = ("step", "dstep", "rk4", "drk4")


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


def test_codes_never_change():
    """A new function adds an entry here; an entry that is here never changes and never goes."""
    first = {"id": 0, "fd": 1, "m": 2, "minv": 3, "did": 4, "dfd": 5, "difd": 6}
    second = {"sid": 7, "sfd": 8, "hid": 9, "hfd": 10}
    steps = {"step": 12, "dstep": 13, "rk4": 14, "drk4": 15}
    commands = {"rollout": 16, "load": 17, "load_parameters": 18, "load_cost": 19, "load_gains": 20}
    assert {**first, **second, "kin": 11, **steps, **commands} == CODES
    assert tuple(first) == DEFAULT_FUNCTIONS


def test_each_code_is_given_once_and_fits_the_header():
    codes = list(CODES.values())
    assert len(set(codes)) == len(codes)
    assert set(codes) <= set(range(1 << CODE_BITS))
    assert list(FUNCTIONS) == sorted(FUNCTIONS, key=CODES.__getitem__)


def test_the_sixth_bit_of_a_code_is_an_option():
    assert header_fields(31) == {"function": 31, "options": 0}
    assert header_fields(31, extended=True) == {"function": 31, "options": 1}
    assert header_fields(32) == {"function": 0, "options": 2}
    assert header_fields(63, extended=True) == {"function": 31, "options": 3}
    assert CODE_BITS == 6
    assert (EXTENDED, HIGH_CODE, LOADED) == (0, 1, 2)


def test_arrays_travel_in_their_order():
    base = ("base_v", "base_a", "gravity", "parameters", "fext")
    assert {name: own.inputs for name, own in FUNCTIONS.items()} == {
        "id": ("q", "v", "a", *base),
        "fd": ("q", "v", "tau", "base_held", *base),
        "m": ("q", "parameters"),
        "minv": ("q", "base_held", "parameters"),
        "did": ("q", "v", "a", *base),
        "dfd": ("q", "v", "tau", "base_held", *base),
        "difd": ("q", "v", "a", "base_held", *base),
        "sid": ("q", "v", "a", *base),
        "sfd": ("q", "v", "tau", "base_held", *base),
        "hid": ("q", "v", "a", "lambda_tau", *base),
        "hfd": ("q", "v", "tau", "lambda_a", "base_held", *base),
        "kin": ("q", "v", "a", "base_v", "base_a"),
        **dict.fromkeys(STEPS, ("q", "v", "tau", "h", "base_held", *base)),
    }
    assert {name: own.outputs for name, own in FUNCTIONS.items()} == {
        "id": ("tau",),
        "fd": ("a",),
        "m": ("M",),
        "minv": ("Minv",),
        "did": ("dtau_dq", "dtau_dv"),
        "dfd": ("da_dq", "da_dv"),
        "difd": ("da_dq", "da_dv"),
        "sid": ("d2tau_dqdq", "d2tau_dqdv", "d2tau_dvdv", "dM_dq"),
        "sfd": ("d2a_dqdq", "d2a_dqdv", "d2a_dvdv", "dMinv_dq"),
        "hid": ("H_qq", "H_qv", "H_vv", "H_qa"),
        "hfd": ("H_qq", "H_qv", "H_vv", "H_qtau"),
        "kin": ("placement", "J", "velocity"),
        **dict.fromkeys(("step", "rk4"), ("x_next",)),
        **dict.fromkeys(("dstep", "drk4"), ("x_next", "A", "B")),
    }
    assert FUNCTIONS["did"].optional_outputs == ("tau", "M")
    assert FUNCTIONS["dfd"].optional_outputs == ("Minv", "a")
    assert FUNCTIONS["kin"].optional_outputs == ("acceleration", "dv_dq", "da_dq", "da_dv")
    assert FUNCTIONS["difd"].optional_inputs == ("Minv",)
    assert [name for name, own in FUNCTIONS.items() if own.extensible] == ["did", "dfd", "difd", "kin"]


def test_the_registry_says_what_functions_need():
    assert functions_with(lambda own: own.inverts) == ("fd", "minv", "dfd", "difd", "sfd", "hfd", *STEPS)
    assert functions_with(lambda own: own.takes_force) == ("fd", "dfd", "sfd", "hfd", *STEPS)
    assert functions_with(lambda own: own.integrates) == STEPS
    assert functions_with(lambda own: own.derivative_of == "fd") == ("dfd", "difd")
    assert FLAGS["acceleration_given"] == (("id", "did", "difd", "sid", "hid", "kin"), False)
    assert FLAGS["inverse_given"] == (("difd",), True)


def test_relations_are_between_functions():
    for name, own in FUNCTIONS.items():
        assert {own.derivative_of, own.cost_like} <= {None, *FUNCTIONS}, name


def test_optional_results_may_be_those_of_other_functions():
    optional = [(array, name) for name, own in FUNCTIONS.items() for array in own.optional_outputs]
    assert {pair: function_giving(*pair) for pair in optional} == {
        ("tau", "did"): "id",
        ("M", "did"): "m",
        ("Minv", "dfd"): "minv",
        ("a", "dfd"): "fd",
        ("acceleration", "kin"): "kin",
        ("dv_dq", "kin"): "kin",
        ("da_dq", "kin"): "kin",
        ("da_dv", "kin"): "kin",
    }
