"""The check of builds of some functions: whether algorithms, chosen as for a build, meet the budget.

As in :mod:`benchmarks.robot_check`, frame placements are not optimised, and few tasks are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.robot_check import WIDTH
from rbdhw.domain.bounds import Domain, with_time_step
from rbdhw.explore.algorithm_search import settle
from rbdhw.explore.plan import Prepared
from rbdhw.explore.search import BuildSearch
from rbdhw.fixed.search import BudgetMissed
from rbdhw.frontend.algorithms import choose
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, Model, operation_delay, optimise, trace_model
from rbdhw.options.build import DEFAULT_MAX_ERROR, BuildOptions
from rbdhw.protocol import FUNCTIONS, any_takes
from rbdhw.quantize.observation import add_inverse_bounds
from rbdhw.robot.model import Robot

SUBSETS = (("id", "fd"), ("fd",), ("dfd", "difd"), ("step",))
"""The functions that are built together."""

MOST_FREEDOMS = 20
"""The most degrees of freedom of a robot whose subsets are checked; larger ones take many minutes each."""

SAMPLES = 128
"""Tasks of the ranges; four times as many are held out."""


def check_subsets(robot: Robot, rewritten: Robot, domain: Domain, functions: Sequence[str]) -> list[str]:
    """Return a line for each subset whose budget no algorithms meet with the widest multipliers.

    Parameters
    ----------
    robot, rewritten
        The robot, and the same with aligned axes and regrouped inertias.
    functions
        The functions that can be computed; subsets with others are left out.
    """
    if robot.nv > MOST_FREEDOMS:
        return []
    possible = {*functions, *(("step",) if "fd" in functions else ())}
    refusals = ((own, _refusal(robot, rewritten, domain, own)) for own in SUBSETS if possible.issuperset(own))
    return [f"{','.join(own)}: {text}" for own, text in refusals if text]


def _refusal(robot: Robot, rewritten: Robot, domain: Domain, functions: tuple[str, ...]) -> str:
    """Return why a subset is refused; empty if algorithms meet the budget."""
    options = BuildOptions(functions, ii=1, width=WIDTH, max_error=DEFAULT_MAX_ERROR, samples=SAMPLES)
    choice = choose(rewritten, functions, (), operation_delay(DEFAULT_DELAYS), {})
    model = Model(robot, rewritten, (), (), choice)
    if any(FUNCTIONS[function].takes_inverse for function in functions):
        domain = add_inverse_bounds(domain, robot, options)
    if any_takes(functions, "h"):
        domain = with_time_step(domain, robot, None)
    graph = optimise(trace_model(model, functions), DEFAULT_DELAYS)
    search = BuildSearch(Prepared(model, domain, graph), options)
    try:
        search.formats(search.cores(1)[0], 1)
    except BudgetMissed:
        try:
            settle(search)
        except BudgetMissed as refusal:
            return refusal.reason
    return ""
