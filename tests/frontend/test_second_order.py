"""Traced second derivatives, compared with the golden model."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdhw.arrays import WordName
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.build_graph import multiplications
from rbdhw.frontend.functions import trace
from rbdhw.options.algorithms import ALGORITHMS
from rbdhw.passes.factor import factor
from rbdhw.robot.model import BASE, JointKind, Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.graph_results import assert_graph_is_golden, prepared
from tests.support.marks import long
from tests.support.mechanisms import mechanism, with_mimic, with_parallel_joints
from tests.support.strategies import robots

SECOND = ("sid", "sfd", "hid", "hfd")

ALIKE = 1e-8
"""The difference from the golden model, relative to the largest element of an array."""


def assert_golden(robot: Robot, functions: tuple[str, ...], seed: int, algorithms: Algorithms) -> None:
    """Check functions with external forces on every link, at random states."""
    assert_graph_is_golden(robot, seed, algorithms, functions, ALIKE)


WAYS = (
    Algorithms(),
    Algorithms(products="solves"),
    Algorithms(second="differentiated"),
    Algorithms(rates="symbols"),
    Algorithms("shared"),
    Algorithms("shared", second="differentiated"),
)


@pytest.mark.parametrize(
    ("name", "algorithms"),
    [*(("toy", algorithms) for algorithms in WAYS), *(long("iiwa14", algorithms) for algorithms in WAYS)],
    ids=str,
)
def test_bundled_robots(name: str, algorithms: Algorithms) -> None:
    assert_golden(load_urdf(path(name)), SECOND, 1, algorithms)


FLOATING = (Algorithms(), Algorithms(second="differentiated"), Algorithms("shared"))


@pytest.mark.parametrize("algorithms", [*map(long, FLOATING[:2]), FLOATING[2]], ids=str)
def test_parallel_joints_on_a_floating_base(algorithms: Algorithms) -> None:
    kinds = (JointKind.FLOATING, JointKind.REVOLUTE, JointKind.REVOLUTE)
    robot = with_parallel_joints(mechanism(kinds, (BASE, 0, 1), 4, (0.0, 0.0, 1.0)), (2,))
    assert algorithms.possible_for(prepared(robot))
    assert_golden(robot, ("sid", "hfd"), 2, algorithms)


@pytest.mark.verify
@pytest.mark.parametrize("algorithms", FLOATING, ids=str)
def test_a_quadruped_that_floats(algorithms: Algorithms) -> None:
    assert_golden(load_urdf(path("hyq")).with_floating_base(), ("sid", "hfd"), 2, algorithms)


@pytest.mark.parametrize("second", ALGORITHMS["second"])
def test_base_and_gravity_given_with_the_task(second: str) -> None:
    robot = replace(load_urdf(path("toy")), base_given=True, gravity_given=True)
    assert_golden(robot, ("sid", "hfd"), 5, Algorithms(second=second))


QUICK = {
    (JointKind.FLOATING,): "columns",
    (JointKind.PLANAR, JointKind.CONTINUOUS): "differentiated",
}
CHAINS = (
    *QUICK,
    (JointKind.SPHERICAL, JointKind.HELICAL),
    (JointKind.REVOLUTE, JointKind.SPHERICAL, JointKind.HELICAL),
    (JointKind.FLOATING, JointKind.PRISMATIC),
    (JointKind.PLANAR, JointKind.UNIVERSAL),
    (JointKind.CYLINDRICAL, JointKind.TRANSLATION, JointKind.CONTINUOUS),
)


@pytest.mark.parametrize(
    ("kinds", "second"),
    [
        (kinds, second) if QUICK.get(kinds) == second else long(kinds, second)
        for kinds in CHAINS
        for second in ALGORITHMS["second"]
    ],
)
def test_every_kind_of_joint(kinds: tuple[JointKind, ...], second: str) -> None:
    chain = mechanism(list(kinds), range(-1, len(kinds) - 1), seed=9)
    assert_golden(chain, SECOND, 6, Algorithms(second=second))


def test_a_body_on_a_rail() -> None:
    """All second derivatives are zero, and no input has an effect on them."""
    rail = mechanism([JointKind.PRISMATIC], [-1], seed=2)
    assert_golden(rail, SECOND, 8, Algorithms())
    assert not trace(prepared(rail), SECOND).inputs


@pytest.mark.parametrize("second", ALGORITHMS["second"])
def test_mimics(second: str) -> None:
    bush = mechanism([JointKind.REVOLUTE, JointKind.REVOLUTE, JointKind.PRISMATIC], [-1, 0, 0], seed=5)
    assert_golden(with_mimic(bush, 1, 0, 0.7, 0.1), SECOND, 7, Algorithms(second=second))


SEEDS = st.integers(0, 2**16)


@pytest.mark.parametrize(
    ("examples", "bodies", "second"),
    [
        (3, 2, "columns"),
        long(3, 2, "differentiated"),
        *(long(40, 4, second) for second in ALGORITHMS["second"]),
    ],
)
def test_random_trees(examples: int, bodies: int, second: str) -> None:
    @settings(max_examples=examples)
    @given(robot=robots(max_bodies=bodies, kinds=tuple(JointKind), mimics=True), seed=SEEDS)
    def check(robot: Robot, seed: int) -> None:
        assert_golden(robot, SECOND, seed, Algorithms(second=second))

    check()


@settings(max_examples=5)
@given(robot=robots(max_bodies=4, kinds=(JointKind.REVOLUTE, JointKind.PRISMATIC)), seed=SEEDS)
def test_symbols(robot: Robot, seed: int) -> None:
    assert_golden(robot, ("fd", "sfd", "hfd"), seed, Algorithms(rates="symbols"))


@pytest.mark.parametrize("second", ["columns", long("differentiated")])
def test_shared_axes(second: str) -> None:
    """Parallel and opposite joints, two of them on one body, a follower, and a joint across."""
    robot = mechanism([JointKind.REVOLUTE] * 6, (BASE, 0, 1, 1, 0, 4), 2, (0.0, 0.0, 1.0))
    robot = with_mimic(with_parallel_joints(robot, (1, 2, 3, 5)), 5, 2, -2.0, 0.3)
    algorithms = Algorithms("shared", second=second)
    assert algorithms.possible_for(prepared(robot))
    assert_golden(robot, ("sid", "hfd"), 6, algorithms)


def test_shared_axes_with_every_other_algorithm() -> None:
    robot = mechanism([JointKind.REVOLUTE] * 5, (BASE, 0, 1, 1, 0), 3, (0.0, 0.0, 1.0))
    robot = with_parallel_joints(robot, (1, 2, 3))
    for algorithms in (
        Algorithms("shared", derivatives="columns", inverse="articulated"),
        Algorithms("shared", forward="propagated", rates="symbols"),
    ):
        assert_golden(robot, ("minv", "dfd", "sid", "hfd"), 7, algorithms)


def test_symbols_need_joints_of_one_freedom_on_a_fixed_base() -> None:
    algorithms = Algorithms(rates="symbols")
    assert algorithms.possible_for(prepared(load_urdf(path("hyq"))))
    assert not algorithms.possible_for(prepared(load_urdf(path("hyq")).with_floating_base()))
    assert not algorithms.possible_for(replace(prepared(load_urdf(path("toy"))), base_given=True))


@pytest.mark.parametrize("others", [long(("id", "dfd")), long(("did", "difd")), ("fd", "m", "minv")])
def test_beside_functions_of_first_order(others: tuple[str, ...]) -> None:
    robot = mechanism([JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.REVOLUTE], (-1, 0, 0), seed=7)
    assert_golden(robot, (*others, *SECOND), 3, Algorithms())


@pytest.mark.parametrize(
    "functions", [("hid",), ("hfd",), ("id", "hfd"), ("sid", "hfd"), ("fd", "hid"), ("sfd", "hid")]
)
def test_alone_and_in_pairs(functions: tuple[str, ...]) -> None:
    """Whether accelerations are given or computed is decided for the functions of the build together."""
    assert_golden(load_urdf(path("toy")), functions, 4, Algorithms())


def words(robot: Robot, function: str) -> list[WordName]:
    return [WordName.parse(name) for name, _ in trace(prepared(robot), (function,)).outputs]


def test_of_two_equal_elements_one_travels() -> None:
    names = words(load_urdf(path("hyq")), "sid")
    for name in names:
        if name.array in ("d2tau_dqdq", "d2tau_dvdv"):
            assert name.index[1] >= name.index[2]
        if name.array == "dM_dq":
            assert name.index[0] >= name.index[1]
    assert len(names) == 196


def test_the_last_link_turns_without_effect_on_the_others() -> None:
    """iiwa14's last link is symmetric about its axis, so no derivative by its position travels."""
    names = words(load_urdf(path("iiwa14")), "hid")
    assert len(names) == 112
    assert not [name for name in names if name.array in ("H_qq", "H_qv") and name.index[0] == 6]


@pytest.mark.parametrize(("name", "function"), [("toy", "sid"), long("hyq", "sid"), long("hyq", "hid")])
def test_the_words_do_not_depend_on_the_algorithm(name: str, function: str) -> None:
    robot = prepared(load_urdf(path(name)))
    one, other = (
        trace(robot, (function,), algorithms=Algorithms(second=second)).outputs
        for second in ALGORITHMS["second"]
    )
    assert [name for name, _ in one] == [name for name, _ in other]


def test_by_two_rotations_of_one_joint_both_orders_travel() -> None:
    robot = mechanism([JointKind.SPHERICAL, JointKind.REVOLUTE], (-1, 0), seed=3)
    indices = {name.index for name in words(robot, "hid") if name.array == "H_qq"}
    assert {(0, 1), (1, 0), (2, 0), (0, 2)} <= indices
    assert (3, 0) in indices
    assert (0, 3) not in indices


MOST = {
    ("iiwa14", "hid"): (1840, 2800),
    ("iiwa14", "hfd"): (3850, 5400),
    ("iiwa14", "sid"): (3500, 3500),
    ("hyq", "hid"): (960, 960),
    ("hyq", "sid"): (660, 640),
    ("hyq", "sfd"): (2050, 2050),
}
"""Bounds of the multiplications with each algorithm, without the search for better frames."""


@pytest.mark.parametrize(
    ("name", "function"),
    [case if case == ("hyq", "hid") else long(*case) for case in MOST],
)
def test_multiplications(name: str, function: str) -> None:
    for second, most in zip(ALGORITHMS["second"], MOST[name, function], strict=True):
        algorithms = Algorithms("shared", second=second)
        graph = trace(prepared(load_urdf(path(name))), (function,), algorithms=algorithms)
        assert multiplications(factor(graph)) <= most
