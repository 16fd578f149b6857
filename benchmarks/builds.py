"""Builds of bundled robots for the tables; a build that several tables use is made once."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import MULTIPLIERS
from rbdhw.domain.bounds import input_domain, with_multipliers
from rbdhw.domain.sampling import sample
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.explore.plan import Plan
from rbdhw.fixed.figures import FunctionErrors
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, optimise, prepare, trace_accelerator
from rbdhw.frontend.read import mount
from rbdhw.graph.graph import Graph
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate_software
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robot.model import Robot
from rbdhw.robot.mounting import Mounting
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled
from rbdhw.software.folder import Software

ALL = DEFAULT_FUNCTIONS

KEPT = 8
"""Builds that are cached at a time: the largest take gigabytes."""


def robot_of(name: str, base: str = "fixed") -> Robot:
    """Return a bundled robot."""
    return mount(load_urdf(bundled()[name]), Mounting(base))


def graph_of(name: str, functions: tuple[str, ...], base: str = "fixed") -> Graph:
    """Return the graph that would be built for these functions of a bundled robot."""
    model = prepare(robot_of(name, base), functions)
    return optimise(trace_accelerator(model, functions), DEFAULT_DELAYS)


def tasks_of(name: str, base: str, count: int) -> dict[str, NDArray[np.float64]]:
    """Return random tasks over the domain of a bundled robot, always the same."""
    robot = robot_of(name, base)
    domain = with_multipliers(input_domain(robot), robot, None, MULTIPLIERS)
    return sample(robot, domain, count, np.random.default_rng(0))


@lru_cache(maxsize=KEPT)
def software_of(name: str, base: str, target: str = "c", functions: tuple[str, ...] = ALL) -> Software:
    """Return functions of a bundled robot in C or in CUDA."""
    return generate_software(bundled()[name], BuildOptions(functions, target=target, mounting=Mounting(base)))


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
