"""The wire's contract in numbers: what clients written from the README rely on."""

from rbdhw.header import CODE_BITS
from rbdhw.protocol import (
    CODES,
    COMMANDS,
    DEFAULT_FUNCTIONS,
    FLAGS,
    FUNCTIONS,
    function_giving,
    functions_with,
)

CONTACTS = ("cfd", "impulse", "cstep", "dcfd", "dcstep", "cinertia")
STEPS = ("step", "dstep", "rk4", "drk4")

BASE = ("base_v", "base_a", "gravity", "parameters", "fext")
BY_A, BY_TAU = ("q", "v", "a"), ("q", "v", "tau")
STEP = (*BY_TAU, "h", "base_held", *BASE)

CONTRACT = {
    "id": (0, (*BY_A, *BASE), ("tau",)),
    "fd": (1, (*BY_TAU, "base_held", *BASE), ("a",)),
    "m": (2, ("q", "parameters"), ("M",)),
    "minv": (3, ("q", "base_held", "parameters"), ("Minv",)),
    "did": (4, (*BY_A, *BASE), ("dtau_dq", "dtau_dv")),
    "dfd": (5, (*BY_TAU, "base_held", *BASE), ("da_dq", "da_dv")),
    "difd": (6, (*BY_A, "base_held", *BASE), ("da_dq", "da_dv")),
    "sid": (7, (*BY_A, *BASE), ("d2tau_dqdq", "d2tau_dqdv", "d2tau_dvdv", "dM_dq")),
    "sfd": (8, (*BY_TAU, "base_held", *BASE), ("d2a_dqdq", "d2a_dqdv", "d2a_dvdv", "dMinv_dq")),
    "hid": (9, (*BY_A, "lambda_tau", *BASE), ("H_qq", "H_qv", "H_vv", "H_qa")),
    "hfd": (10, (*BY_TAU, "lambda_a", "base_held", *BASE), ("H_qq", "H_qv", "H_vv", "H_qtau")),
    "kin": (11, (*BY_A, "base_v", "base_a"), ("placement", "J", "velocity")),
    "step": (12, STEP, ("x_next", "p_next")),
    "dstep": (13, STEP, ("x_next", "A", "B", "J_next")),
    "rk4": (14, STEP, ("x_next",)),
    "drk4": (15, STEP, ("x_next", "A", "B")),
    "gravity": (21, ("q", "gravity", "parameters"), ("tau",)),
    "bias": (22, ("q", "v", *BASE), ("tau",)),
    "energy": (23, ("q", "v", "base_v", "gravity", "parameters"), ("kinetic", "potential")),
    "com": (24, ("q", "v", "base_v", "base_a", "parameters"), ("com", "com_velocity", "J_com")),
    "centroidal": (25, ("q", "v", "base_v", "base_a", "parameters"), ("h_g", "A_g")),
    "cfd": (27, (*BY_TAU, "contact", "holding", "base_held", *BASE), ("a", "contact_force")),
    "impulse": (
        28,
        ("q", "v", "contact", "holding", "base_held", "base_v", "parameters"),
        ("v_after", "contact_impulse"),
    ),
    "cstep": (29, (*BY_TAU, "h", "contact", "holding", "base_held", *BASE), ("x_next", "p_next")),
    "dcfd": (30, (*BY_TAU, "contact", "holding", "base_held", *BASE), ("da_dq", "da_dv", "da_dtau")),
    "dcstep": (31, (*BY_TAU, "h", "contact", "holding", "base_held", *BASE), ("x_next", "A", "B")),
    "regressor": (26, (*BY_A, "base_v", "base_a", "gravity"), ("Y",)),
    "pose": (32, ("q",), ("placement",)),
    "position": (33, ("q",), ("position",)),
    "dcentroidal": (
        34,
        (*BY_A, "base_v", "base_a", "parameters"),
        ("dh_dq", "dhdot_dq", "dhdot_dv"),
    ),
    "dfext": (35, ("q", "base_held", "parameters"), ("dtau_dfext", "da_dfext")),
    "clearance": (36, ("q",), ("clearance", "dclearance_dq")),
    "cinertia": (37, ("q", "contact", "holding", "base_held", "parameters"), ("contact_inertia",)),
}
"""Code, inputs and results of each function. A new function adds a row; a row that is here never changes."""

COMMAND_CODES = {
    "rollout": 16,
    "load": 17,
    "load_parameters": 18,
    "load_cost": 19,
    "load_gains": 20,
    "solve": 38,
    "goal": 39,
    "plan": 40,
    "mppi": 41,
    "mean": 42,
    "load_residual": 43,
}


def test_codes_and_arrays_never_change():
    assert {
        name: (function.code, function.inputs, function.outputs) for name, function in FUNCTIONS.items()
    } == CONTRACT
    assert {name: function.code for name, function in COMMANDS.items()} == COMMAND_CODES
    assert {name: row[0] for name, row in CONTRACT.items()} | COMMAND_CODES == CODES
    assert tuple(CONTRACT)[:7] == DEFAULT_FUNCTIONS


def test_each_code_is_given_once_and_fits_the_header():
    codes = list(CODES.values())
    assert len(set(codes)) == len(codes)
    assert set(codes) <= set(range(1 << CODE_BITS))
    assert list(FUNCTIONS) == sorted(FUNCTIONS, key=CODES.__getitem__)


def test_optional_arrays():
    assert FUNCTIONS["did"].optional_outputs == ("tau", "M")
    assert FUNCTIONS["dfd"].optional_outputs == ("Minv", "a")
    assert FUNCTIONS["kin"].optional_outputs == ("acceleration", "dv_dq", "da_dq", "da_dv")
    assert FUNCTIONS["difd"].optional_inputs == ("Minv",)
    assert FUNCTIONS["centroidal"].optional_outputs == ("dA_g_v",)
    assert [name for name, function in FUNCTIONS.items() if function.extensible] == [
        "did",
        "dfd",
        "difd",
        "kin",
        "com",
        "centroidal",
        "dcfd",
        "position",
        "dcentroidal",
    ]


def test_the_registry_says_what_functions_need():
    assert functions_with(lambda function: function.inverts) == (
        *("fd", "minv", "dfd", "difd", "sfd", "hfd", *STEPS),
        *CONTACTS[:-1],
        "dfext",
        "cinertia",
    )
    assert functions_with(lambda function: function.takes_force) == (
        *("fd", "dfd", "sfd", "hfd", *STEPS),
        *(name for name in CONTACTS if name not in ("impulse", "cinertia")),
    )
    assert functions_with(lambda function: function.integrates) == (*STEPS, "cstep", "dcstep")
    assert functions_with(lambda function: function.touches) == CONTACTS
    assert functions_with(lambda function: function.derivative_of == "fd") == ("dfd", "difd")
    assert FLAGS["acceleration_given"] == (
        ("id", "did", "difd", "sid", "hid", "kin", "regressor", "dcentroidal"),
        False,
    )
    assert FLAGS["inverse_given"] == (("difd",), True)


def test_relations_are_between_functions():
    for name, function in FUNCTIONS.items():
        assert {function.derivative_of, function.cost_like} <= {None, *FUNCTIONS}, name


def test_optional_results_may_be_those_of_other_functions():
    optional = [(array, name) for name, function in FUNCTIONS.items() for array in function.optional_outputs]
    assert {pair: function_giving(*pair) for pair in optional} == {
        ("tau", "did"): "id",
        ("M", "did"): "m",
        ("Minv", "dfd"): "minv",
        ("a", "dfd"): "fd",
        ("acceleration", "kin"): "kin",
        ("dv_dq", "kin"): "kin",
        ("da_dq", "kin"): "kin",
        ("da_dv", "kin"): "kin",
        ("dJ_com_v", "com"): "com",
        ("dA_g_v", "centroidal"): "centroidal",
        ("dforce_dq", "dcfd"): "dcfd",
        ("dforce_dv", "dcfd"): "dcfd",
        ("dforce_dtau", "dcfd"): "dcfd",
        ("da_dholding", "dcfd"): "dcfd",
        ("dforce_dholding", "dcfd"): "dcfd",
        ("J_position", "position"): "position",
        ("hdot_g", "dcentroidal"): "dcentroidal",
        ("A_g", "dcentroidal"): "dcentroidal",
    }
