"""From a robot to the graphs of its functions for processors, each function traced and optimised alone."""

from __future__ import annotations

from collections.abc import Sequence

from rbdhw.frontend.build_graph import DEFAULT_DELAYS, Model, optimise, trace_model
from rbdhw.graph.graph import Graph
from rbdhw.passes.prune import prune
from rbdhw.passes.specialise import specialise
from rbdhw.progress import Progress, silent
from rbdhw.software.floating import Source

SUPPLIED = "inverse_given"
"""The flag of tasks that bring the inverse of their mass matrix."""


def trace_sources(model: Model, functions: Sequence[str], progress: Progress = silent) -> list[Source]:
    """Return the graphs of functions of a prepared robot, without any choice between kinds of tasks."""
    sources = []
    for function in functions:
        progress(f"tracing {function}")
        graph = optimise(trace_model(model, (function,)), DEFAULT_DELAYS)
        if SUPPLIED in graph.inputs:
            plain, supplied = (_decide(graph, function, value) for value in (False, True))
            sources.append(Source(function, plain, supplied))
        else:
            sources.append(Source(function, graph))
    return sources


def _decide(graph: Graph, function: str, supplied: bool) -> Graph:
    return prune(specialise(graph, function, {SUPPLIED: supplied}))
