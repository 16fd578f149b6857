"""Which outputs of a graph share a word."""

from rbdhw.arrays import Element
from rbdhw.fixed.lower import InputRange, lower
from rbdhw.fixed.result_words import ResultWord, result_words
from rbdhw.fixed.widths import plain_widths
from rbdhw.frontend.functions import trace
from rbdhw.graph.graph import Edge, Graph
from rbdhw.graph.trace import Recorder
from rbdhw.robot.frames import align_axes
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path


def graph_of(*outputs: tuple[str, int]) -> Graph:
    """Return a graph whose outputs are ``q[0]`` times each factor."""
    recorder = Recorder()
    value = recorder.input("q[0]")
    for name, times in outputs:
        recorder.output(name, times * value)
    return recorder.builder.finish(recorder.outputs)


def test_equal_elements_of_a_function_share_a_word() -> None:
    graph = graph_of(("sid.dM_dq[0,0,0]", 1), ("sid.dM_dq[1,1,0]", 3), ("sid.d2tau_dvdv[0,0,0]", 1))
    first, second = result_words(graph)
    assert [element.name for element in first.elements] == ["sid.dM_dq[0,0,0]", "sid.d2tau_dvdv[0,0,0]"]
    assert (second.name, second.elements[1:]) == ("sid.dM_dq[1,1,0]", ())


def test_a_negated_element_is_marked_and_does_not_name_the_word() -> None:
    (word,) = result_words(graph_of(("hid.H_qq[0,0]", -1), ("hid.H_qv[0,0]", 1), ("hid.H_qa[0,0]", -1)))
    assert word == ResultWord(
        Edge(0), (Element("hid.H_qv[0,0]"), Element("hid.H_qq[0,0]", True), Element("hid.H_qa[0,0]", True))
    )


def test_a_word_of_negated_elements_alone_has_their_sign() -> None:
    (word,) = result_words(graph_of(("hid.H_qq[0,0]", -1), ("hid.H_qv[0,0]", -1)))
    assert word == ResultWord(Edge(0, True), (Element("hid.H_qq[0,0]"), Element("hid.H_qv[0,0]")))


def test_multiples_functions_and_optional_arrays_do_not_share() -> None:
    """Half of a number has another binary point, each function has packets of its own, and some are short."""
    names = ("sid.dM_dq[0,0,0]", "hid.H_qq[0,0]", "did.dtau_dq[0,0]", "did.M[0,0]")
    graph = graph_of(*((name, 1) for name in names), ("sid.dM_dq[1,1,0]", 2))
    assert [word.name for word in result_words(graph)] == [*names, "sid.dM_dq[1,1,0]"]
    assert all(len(word.elements) == 1 for word in result_words(graph))


def test_every_output_is_in_one_word_of_its_function() -> None:
    graph = trace(align_axes(load_urdf(path("iiwa14"))), ("id", "sid", "hid"))
    words = result_words(graph)
    edges = dict(graph.outputs)
    named = [element for word in words for element in word.elements]
    assert sorted(element.name for element in named) == sorted(edges)
    for word in words:
        assert word.edge == edges[word.name]
        for name, negative in word.elements:
            assert edges[name] == (word.edge.negated() if negative else word.edge)
            assert name.partition(".")[0] == word.name.partition(".")[0]
    sid = [word for word in words if word.name.startswith("sid.")]
    assert len(sid) < 0.8 * sum(len(word.elements) for word in sid)


def test_a_program_negates_only_words_whose_elements_are_all_negative() -> None:
    outputs = (("hid.H_qq[0,0]", -1), ("hid.H_qv[0,0]", 1), ("hid.H_qa[0,0]", -3))
    graph = graph_of(*outputs)
    domain = {"q[0]": InputRange(-1.0, 1.0, "m")}
    program = lower(graph, [1.0] * len(graph.nodes), domain, plain_widths(graph, 18))
    shared, negated = program.outputs["hid"]
    assert (shared.value, shared.also) == (0, (Element("hid.H_qq[0,0]", True),))
    assert program.operations[negated.value].operands[0].negative
    assert len(program.operations) == len(graph.nodes) + 1
