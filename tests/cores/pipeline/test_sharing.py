"""What shares hardware at an interval: stages, limbs, or whichever saves more."""

import pytest

from rbdhw.cores.pipeline.sharing import choose_sharing
from rbdhw.cores.pipeline.stage_sharing import find_shared_stages, stage_names
from rbdhw.errors import InputError
from rbdhw.frontend.build_graph import optimise
from rbdhw.frontend.functions import trace
from rbdhw.graph.graph import Op
from rbdhw.options.build import BuildOptions
from rbdhw.robot.elementary import elementary
from rbdhw.target import target
from tests.support.builds import model_of
from tests.support.limbs import limbed

DELAYS = target("xcvu9p").delays
TOY = model_of("toy").robot
GRAPH = optimise(trace(TOY, ("rk4",)), DELAYS)


@pytest.mark.parametrize(
    ("ii", "names"),
    [
        (1, []),
        (2, [["stage 1", "stage 2"], ["stage 3", "stage 4"]]),
        (3, [["stage 1", "stage 2", "stage 3"]]),
        (4, [["stage 1", "stage 2", "stage 3", "stage 4"]]),
        (5, []),
    ],
)
def test_the_number_of_stages_in_turn_divides_the_interval(ii, names):
    assert stage_names(find_shared_stages(GRAPH, "auto", ii)) == names


def test_nothing_is_shared_if_sharing_is_off():
    assert find_shared_stages(GRAPH, "off", 4) == ()


def test_what_cannot_share_is_refused():
    with pytest.raises(InputError) as error:
        find_shared_stages(GRAPH, "on", 5)
    expected = (
        "share-stages: the 4 stages cannot share at an ii of 5; expected a multiple of 2 or 3; use --ii 6"
    )
    assert str(error.value) == expected


@pytest.mark.parametrize("name", ["iiwa14", "hyq"])
def test_most_operations_of_stages_have_twins(name):
    robot = model_of(name).robot
    graph = optimise(trace(robot, ("rk4",)), DELAYS)
    twins = choose_sharing(robot, graph, BuildOptions(share_limbs="off"), 4).twins
    computed = [i for i, node in enumerate(graph.nodes) if node.op not in (Op.INPUT, Op.CONSTANT)]
    assert sum(len(group) for group in twins.groups) > 0.85 * len(computed)
    products = {group.places for group in twins.groups if graph.nodes[group[0]].op is Op.MULTIPLY}
    assert (0, 1, 2, 3) in products


def test_sensitivities_have_twins_in_the_stages_that_multiply_them():
    graph = optimise(trace(TOY, ("drk4",)), DELAYS)
    twins = choose_sharing(TOY, graph, BuildOptions(share_stages="on"), 4).twins
    products = [group for group in twins.groups if graph.nodes[group[0]].op is Op.MULTIPLY]
    assert {(0, 1, 2, 3), (1, 2, 3), (2, 3)} <= {group.places for group in products}
    assert 5 * sum(map(len, products)) > 3 * graph.count(Op.MULTIPLY)


def test_what_saves_more_adders_shares_unless_the_other_must():
    robot = elementary(limbed(4, trunk=True))
    graph = optimise(trace(robot, ("id", "rk4")), DELAYS)

    def kinds(**options: str) -> tuple[bool, bool]:
        found = choose_sharing(robot, graph, BuildOptions(**options), 4)
        return bool(found.limbs), bool(found.stages)

    assert kinds(share_limbs="on") == kinds(share_stages="off") == (True, False)
    assert kinds(share_stages="on") == kinds(share_limbs="off") == kinds() == (False, True)
    only = optimise(trace(robot, ("id",)), DELAYS)
    assert choose_sharing(robot, only, BuildOptions(), 4).limbs
    assert choose_sharing(robot, only, BuildOptions(), 5).twins.groups == ()
