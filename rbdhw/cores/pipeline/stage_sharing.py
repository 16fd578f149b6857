"""The stages of a method in time that share hardware at an initiation interval."""

from __future__ import annotations

from rbdhw.cores.pipeline.turns import can_take_turns, expected_intervals, next_interval, take_turns
from rbdhw.cores.sharing import StageGroup
from rbdhw.errors import InputError
from rbdhw.graph.graph import Graph
from rbdhw.graph.stages import find_states

LEAST_STAGE_INTERVAL = 2
"""The shortest interval at which stages can share hardware: two of them take turns."""


def find_shared_stages(graph: Graph, share: str, ii: int) -> tuple[StageGroup, ...]:
    """Return the groups of stages that share one stage's hardware; their sizes divide ``ii``.

    Parameters
    ----------
    share
        ``off`` for none; ``auto`` for the groups that the interval allows; ``on`` for these, or an error.

    Raises
    ------
    InputError
        With ``on``, if the interval does not allow any to share.
    """
    if share == "off":
        return ()
    states = find_states(graph)
    if share == "on" and not can_take_turns(len(states), ii):
        reason = f"the {len(states)} stages cannot share at an ii of {ii}"
        remedy = f"use --ii {next_interval([len(states)], ii)}"
        raise InputError("share-stages", reason, expected_intervals(len(states)), remedy)
    return tuple(tuple(part) for part in take_turns(states, ii))


def can_share_stages(graph: Graph, ii: int) -> bool:
    """Return whether some stages can share one stage's hardware at an interval."""
    return can_take_turns(len(find_states(graph)), ii)


def stage_names(groups: tuple[StageGroup, ...]) -> list[list[str]]:
    """Return the numbers of the stages of each group."""
    first, names = 1, []
    for group in groups:
        names.append([f"stage {first + k}" for k in range(len(group))])
        first += len(group)
    return names
