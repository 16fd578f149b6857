"""From a robot to its graph: operation counts, no dead nodes, external forces, remarks on large robots."""

import pytest

from benchmarks.forward_dynamics import snake
from rbdhw.errors import InputError
from rbdhw.frontend import algorithms
from rbdhw.frontend.build_graph import choose_root, external_bodies, multiplications, prepare
from rbdhw.frontend.read import load_mounted
from rbdhw.options.build import Mounting
from rbdhw.robot import reroot, rewrite
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.builds import graph_of, model_of
from tests.support.marks import long


@pytest.mark.parametrize(("robot", "most"), [("iiwa14", 321), long("hyq", 500), long("atlas", 2341)])
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
        (
            ("tip",),
            "fext: link 'tip' is fixed to 'forearm'; expected a moving link of toy; use --fext forearm",
        ),
    ],
)
def test_a_link_that_takes_no_force_is_refused(fext, text):
    with pytest.raises(InputError) as error:
        external_bodies(load_urdf(path("toy")), fext)
    assert str(error.value) == text


def test_alternatives_skipped_for_a_large_robot_are_remarked(monkeypatch):
    monkeypatch.setattr(rewrite, "MOST_WORK", 1e4)
    monkeypatch.setattr(algorithms, "MOST_NODES", 1)
    robot = load_urdf(path("iiwa14"))
    large = "robot 'iiwa14' is large (7 degrees of freedom)"
    assert prepare(robot, ("id", "did")).remarks == (
        f"{large}: frames were compared by 3 joints around each body, not by the whole robot, and the search "
        "ended after evaluation 11",
        f"{large}: not compared: algorithm 'shared'; --algorithm STEP=NAME takes one",
    )


def test_roots_that_are_not_compared_are_remarked(monkeypatch, capsys):
    """The remark is among the robot's remarks, which the manifest repeats, and on stderr."""
    monkeypatch.setattr(reroot, "MOST_WORK", 1.0)
    robot = load_mounted(path("atlas"), Mounting("floating"))
    rooted, trials = choose_root(robot, "auto", ("id",))
    remark = (
        "robot 'atlas' is large (36 degrees of freedom): not compared as roots: links 'ltorso' and 'utorso'; "
        "--root LINK takes one"
    )
    assert rooted.remarks == (*robot.remarks, remark)
    assert [trial.link for trial in trials] == ["pelvis", "mtorso"]
    assert capsys.readouterr().err == f"rbdhw: {remark}\n"


def test_all_roots_of_an_ordinary_robot_are_compared(capsys):
    robot = load_mounted(path("atlas"), Mounting("floating"))
    rooted, trials = choose_root(robot, "auto", ("id",))
    assert rooted.remarks == robot.remarks
    assert [trial.link for trial in trials] == ["pelvis", "mtorso", "ltorso", "utorso"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("name", "function"), [("hyq", "id"), ("iiwa14", "id"), long("hyq", "did")])
def test_no_alternative_of_ordinary_robots_is_skipped(name, function):
    model = model_of(name) if function == "id" else prepare(load_urdf(path(name)), (function,))
    assert model.remarks == ()


def test_a_force_on_a_link_counts_in_parts_of_a_large_robot(monkeypatch):
    """The rotation of a force into another frame costs operations in a part, too."""
    monkeypatch.setattr(rewrite, "MOST_WORK", 1e4)
    model = prepare(load_urdf(path("iiwa14")), ("id",), ("iiwa_link_7",))
    assert model.loaded_bodies == (6,)


def test_functions_of_too_many_operations_are_refused_at_once() -> None:
    with pytest.raises(InputError) as refusal:
        prepare(snake(128), ("id", "did"))
    assert str(refusal.value) == (
        "functions: did of chain takes about 1,816,320 operations; "
        "expected at most 1,500,000: fewer joints or a smaller function"
    )
