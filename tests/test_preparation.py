"""From a robot to its graph: operation counts, no waste in the graph, the links that forces push."""

import pytest

from rbdhw.errors import InputError
from rbdhw.preparation import external_bodies, multiplications
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.builds import graph_of


@pytest.mark.parametrize(("robot", "most"), [("iiwa14", 321), ("hyq", 500), ("atlas", 2341)])
def test_multiplications_stay_below_the_prototypes(robot, most):
    assert multiplications(graph_of(robot)) <= most


def test_no_pass_leaves_dead_or_double_nodes():
    graph = graph_of("iiwa14", "all")
    assert min(graph.uses) >= 1
    seen = {(node.op, node.args, node.value, node.name) for node in graph.nodes}
    assert len(seen) == len(graph.nodes)


def test_no_link_every_link_and_links_by_name():
    robot = load_urdf(path("toy"))
    assert external_bodies(robot, "none") == ()
    assert external_bodies(robot, "all") == (0, 1)
    assert external_bodies(robot, ("forearm",)) == (1,)
    assert external_bodies(robot, ("forearm", "upper_arm", "forearm")) == (0, 1)


@pytest.mark.parametrize(
    ("fext", "text"),
    [
        (("lower",), "fext: link 'lower' is unknown; expected none, all or some of upper_arm, forearm"),
        (("forearm", "all"), "fext: link 'all' is unknown; expected none, all or some of upper_arm, forearm"),
        (("base",), "fext: link 'base' is unknown; expected none, all or some of upper_arm, forearm"),
        (("tip",), "fext: link 'tip' is fixed to 'forearm'; a moving link of toy was expected"),
    ],
)
def test_a_link_that_takes_no_force_is_refused(fext, text):
    with pytest.raises(InputError) as error:
        external_bodies(load_urdf(path("toy")), fext)
    assert str(error.value) == text
