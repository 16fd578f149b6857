"""specialise: the part of a graph that one function needs."""

from rbdhw.graph.graph import Op
from rbdhw.graph.trace import Recorder
from rbdhw.passes.specialise import reached_nodes, specialise


def chosen_graph():
    """Return a graph of two functions that share a choice between an input and a sine."""
    make = Recorder()
    flag, x, y = (make.input(name) for name in ("given", "x", "y"))
    _, sine = make.cos_sin(y, 0.0)
    either = make.select(flag, x * x, sine)
    make.output("first.r[0]", either * 3.0)
    make.output("second.r[0]", either * either)
    return make.builder.finish(make.outputs)


def test_a_known_flag_leaves_one_branch():
    taken = specialise(chosen_graph(), "first", {"given": True})
    assert list(taken.inputs) == ["x"]
    assert [name for name, _ in taken.outputs] == ["first.r[0]"]
    assert (taken.count(Op.MULTIPLY), taken.count(Op.SIN), taken.count(Op.SELECT)) == (1, 0, 0)
    other = specialise(chosen_graph(), "second", {"given": False})
    assert list(other.inputs) == ["y"]
    assert (other.count(Op.MULTIPLY), other.count(Op.SIN), other.count(Op.SCALE)) == (1, 1, 0)


def test_an_unknown_flag_stays_an_input():
    graph = specialise(chosen_graph(), "first", {})
    assert set(graph.inputs) == {"given", "x", "y"}
    assert graph.count(Op.SELECT) == 1


def test_reached_nodes_follow_the_flag():
    graph = chosen_graph()
    ops = {
        value: [
            node.op
            for node, used in zip(graph.nodes, reached_nodes(graph, "first", flags), strict=True)
            if used
        ]
        for value, flags in ((True, {"given": True}), (False, {"given": False}), (None, {}))
    }
    assert ops[True] == [Op.INPUT, Op.MULTIPLY, Op.SELECT, Op.SCALE]
    assert ops[False] == [Op.INPUT, Op.SIN, Op.SELECT, Op.SCALE]
    assert ops[None] == [Op.INPUT, Op.INPUT, Op.INPUT, Op.SIN, Op.MULTIPLY, Op.SELECT, Op.SCALE]
