"""Builds of bundled robots for the tables; a build that several tables use is made once."""

from __future__ import annotations

from functools import lru_cache

from rbdhw.config import BuildOptions, Mounting
from rbdhw.explore.plan import Plan
from rbdhw.explore.search import make_plan
from rbdhw.fixed.figures import FunctionErrors
from rbdhw.frontend.base import mount
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, optimise, prepare, trace_model
from rbdhw.graph.graph import Graph
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robot.model import Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled

ALL = DEFAULT_FUNCTIONS

KEPT = 8
"""Builds that are cached at a time: the largest take gigabytes."""


def robot_of(name: str, base: str = "fixed") -> Robot:
    """Return a bundled robot."""
    return mount(load_urdf(bundled()[name]), Mounting(base))


def graph_of(name: str, functions: tuple[str, ...], base: str = "fixed") -> Graph:
    """Return the graph that would be built for these functions of a bundled robot."""
    model = prepare(robot_of(name, base), functions)
    return optimise(trace_model(model, functions), DEFAULT_DELAYS)


@lru_cache(maxsize=KEPT)
def plan_of(
    name: str,
    functions: tuple[str, ...] = ALL,
    width: int | None = 18,
    ii: int = 1,
    inverse: str | None = None,
    base: str = "fixed",
    share: str = "auto",
) -> Plan:
    """Return a bundled robot's build for the VU9P, before its RTL.

    Without a width it meets the default error budget. ``inverse`` forces that algorithm.
    """
    algorithms = {"inverse": inverse} if inverse else {}
    options = BuildOptions(functions=functions, width=width, ii=ii, algorithms=algorithms, share_limbs=share)
    return make_plan(robot_of(name, base), options)


def errors_of(plan: Plan, function: str) -> FunctionErrors:
    """Return the error figures of a function, over all tasks and by stratum."""
    return plan.formats.errors[function]
