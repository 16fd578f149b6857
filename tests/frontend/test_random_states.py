"""Random states: flags take both values, and quaternions have a length near one."""

import numpy as np

from rbdhw.frontend.random_states import EXCESS, MOST_CHOICES, NEAR_STATES, NEARNESS, random_states
from rbdhw.graph.graph import GraphBuilder
from rbdhw.graph.interpret import interpret
from rbdhw.passes.merge import merge
from rbdhw.protocol import FLAGS
from rbdhw.robot.model import JointKind
from rbdhw.scalar import Region
from tests.support.mechanisms import mechanism

NAMES = ("v[0]", "q[0]", "q[1]", "q[2]", "q[3]", "q[4]", *FLAGS)


def robot():
    return mechanism([JointKind.SPHERICAL, JointKind.REVOLUTE], (-1, 0), seed=3)


def test_every_input_differs_from_state_to_state():
    states = random_states(robot(), NAMES)
    assert tuple(states) == NAMES
    for name in set(NAMES) - set(FLAGS):
        assert len(set(states[name].tolist())) == len(states[name])


def test_flags_have_both_values():
    states = random_states(robot(), NAMES)
    for name in FLAGS:
        assert set(states[name].tolist()) == {0.0, 1.0}


def test_choices_have_all_combinations_of_values():
    contacts = [f"contact[{k}]" for k in range(9)]
    states = random_states(robot(), (*NAMES, *contacts))
    most = [states[name] for name in (*FLAGS, *contacts)][:MOST_CHOICES]
    assert len(np.unique(most, axis=1).T) == 1 << MOST_CHOICES
    assert 0.0 < states["contact[8]"].mean() < 1.0


def test_quaternions_are_almost_normalized():
    states = random_states(robot(), NAMES)
    excess = np.linalg.norm([states[f"q[{k}]"] for k in range(4)], axis=0) - 1.0
    assert (excess > 0.4 * EXCESS).all()
    assert (excess < 1.1 * EXCESS).all()


def test_a_quaternion_of_which_some_elements_are_inputs_has_no_other_length():
    some = random_states(robot(), ("q[0]", "q[1]", "q[2]"))
    assert (np.linalg.norm(list(some.values()), axis=0) < 0.999).all()


def test_some_states_are_near_the_zero_position():
    states = random_states(robot(), NAMES)
    angle = np.abs(states["q[4]"])
    assert (angle[-NEAR_STATES:] < NEARNESS).all()
    assert NEARNESS < 0.1
    assert angle[:-NEAR_STATES].max() > 0.5


def test_what_is_negligible_but_near_the_zero_position_is_not_left_out():
    """In any other position of a long chain a product of many cosines is nearly zero."""
    joints = 100
    long = mechanism([JointKind.REVOLUTE] * joints, range(-1, joints - 1), seed=3)
    make, region = GraphBuilder(), Region("test")
    v, w = (make.input(f"v[{k}]", region) for k in range(2))
    product, total = v, make.add(v, w, region)
    for k in range(joints):
        product = make.multiply(product, make.cos(make.input(f"q[{k}]", region), 0.0, region), region)
    outputs = [("id.tau[0]", total), ("id.tau[1]", make.add(total, product, region))]
    graph = make.finish(outputs)
    merged = merge(graph, random_states(long, graph.inputs))
    zero = {name: np.zeros(1) for name in graph.inputs} | {"v[0]": np.ones(1)}
    assert interpret(merged, zero)["id.tau[1]"] == 2.0
