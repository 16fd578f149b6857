"""Limbs that share hardware at an interval, their inputs, and the hardware that sharing saves."""

import pytest

from rbdhw.cores.pipeline.limb_sharing import (
    choose_sharing,
    find_shared_limbs,
    hardware,
    least_interval,
    limb_inputs,
    limb_names,
)
from rbdhw.errors import InputError
from rbdhw.frontend.functions import trace
from rbdhw.passes.twins import find_twins
from rbdhw.robot.elementary import elementary
from rbdhw.robot.symmetry import limb_groups
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.builds import graph_of, model_of
from tests.support.limbs import limbed

PAIRS = (((0, 1), (2, 3)), ((4, 5), (6, 7)))
ALL = (((0, 1), (2, 3), (4, 5), (6, 7)),)


@pytest.mark.parametrize(
    ("ii", "groups"), [(1, ()), (2, PAIRS), (3, (ALL[0][:3],)), (4, ALL), (6, PAIRS), (8, ALL)]
)
def test_the_size_of_a_group_of_limbs_divides_the_interval(ii, groups):
    assert find_shared_limbs(limbed(4), "auto", ii) == groups


def test_nothing_is_shared_if_sharing_is_off():
    assert find_shared_limbs(limbed(4), "off", 4) == ()
    assert find_shared_limbs(load_urdf(path("iiwa14")), "auto", 4) == ()


def test_an_interval_at_which_limbs_cannot_share_is_refused():
    with pytest.raises(InputError) as error:
        find_shared_limbs(limbed(3), "on", 5)
    assert str(error.value) == (
        "share-limbs: the limbs at limb_0_0, limb_1_0, limb_2_0 cannot share at an ii of 5; "
        "expected a multiple of 2 or 3; use --ii 6"
    )


def test_a_robot_without_symmetric_limbs_is_refused():
    with pytest.raises(InputError) as error:
        find_shared_limbs(load_urdf(path("iiwa14")), "on", 4)
    assert str(error.value) == "share-limbs: no limbs of iiwa14 are alike; expected auto or off"


def test_inputs_of_limbs_correspond():
    robot = limbed(2, trunk=True)
    ((first, second),) = limb_inputs(robot, limb_groups(robot))
    assert first["q[1]"] == second["q[3]"] == ("q", (0,))
    assert first["tau[2]"] == second["tau[4]"] == ("tau", (1,))
    assert first["Minv[2,1]"] == second["Minv[4,3]"] == ("Minv", (1, 0))
    assert first["fext[1,5]"] == second["fext[3,5]"] == ("fext", (0, 5))
    assert not first.keys() & second.keys()
    assert "q[0]" not in first.keys() | second.keys()


def test_every_group_can_share_at_the_least_interval():
    atlas = limb_groups(load_urdf(path("atlas")))
    assert (least_interval(atlas), least_interval(ALL), least_interval(())) == (2, 4, 1)
    assert limb_names(limbed(2), limb_groups(limbed(2))) == [["limb_0_0", "limb_1_0"]]


def test_hardware_with_and_without_sharing():
    robot, graph = model_of("hyq").robot, graph_of("hyq")
    twins = find_twins(graph, limb_inputs(robot, limb_groups(robot)))
    units = hardware(graph, twins, 4)
    assert units["on"]["multipliers"] == units["off"]["multipliers"] == 80
    assert 4 * units["on"]["adders"] == units["off"]["adders"]


def test_limbs_share_where_the_interval_permits_it() -> None:
    robot = elementary(limbed(4, trunk=True))
    graph = trace(robot, ("id",))
    shared = choose_sharing(robot, graph, "auto", 4)
    assert [len(group) for group in shared.limbs] == [4]
    assert {len(group) for group in shared.twins.groups} == {4}
    for alone in (choose_sharing(robot, graph, "auto", 5), choose_sharing(robot, graph, "off", 4)):
        assert alone.limbs == alone.twins.groups == ()
