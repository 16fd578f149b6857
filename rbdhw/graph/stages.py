"""Stages of a method in time: the states at which it evaluates the dynamics, as nodes of a graph.

Products read a rounded copy of each number of a state (``Op.ROUND``), which is named after the number and the
stage: ``v[3]@2``. The angles of the first stage are read from the task itself.
"""

from __future__ import annotations

from rbdhw.graph.graph import Graph, Node, Op

State = dict[str, str]
"""The nodes of a stage's state by name: the number of the state that each is, such as ``v[3]``."""


def state_name(number: str, stage: int) -> str:
    """Return the name of the node that is a number of a stage's state; stages count from 1."""
    return f"{number}@{stage}"


def is_state(node: Node) -> bool:
    """Return whether a node is a number of a stage's state."""
    return node.op is Op.ROUND and bool(node.name)


def find_states(graph: Graph) -> tuple[State, ...]:
    """Return the state of each stage; of a graph without a method in several stages none."""
    states: dict[int, State] = {}
    for node in graph.nodes:
        if is_state(node):
            number, _, stage = node.name.partition("@")
            states.setdefault(int(stage), {})[node.name] = number
    if len(states) < 2:
        return ()
    later = {number for stage, state in states.items() if stage > 1 for number in state.values()}
    rounded = set(states.setdefault(1, {}).values())
    states[1] |= {name: name for name in later - rounded if name in graph.inputs}
    return tuple(states[stage] for stage in sorted(states))
