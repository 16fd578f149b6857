"""The check of builds of some functions: whether algorithms, chosen as for a build, meet the budget.

As in :mod:`benchmarks.robot_check`, frame placements are not optimised, and few tasks are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rbdhw.cores.prepared import Prepared
from rbdhw.domain.bounds import Domain, with_time_step
from rbdhw.errors import InputError
from rbdhw.explore.algorithm_search import settle
from rbdhw.explore.search import BuildSearch
from rbdhw.fixed.search import BudgetMissed
from rbdhw.frontend.algorithms import choose
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, Model, operation_delay, optimise, trace_accelerator
from rbdhw.options.build import CORES, DEFAULT_MAX_ERROR, WIDTHS, BuildOptions
from rbdhw.protocol import FUNCTIONS, any_takes
from rbdhw.quantize.observation import add_inverse_bounds
from rbdhw.robot.model import Robot

SUBSETS = {("id", "fd"): 24, ("fd",): 24, ("dfd", "difd"): 14, ("step",): 24}
"""The functions that are built together, and the most degrees of freedom of a robot that is checked.

Larger robots take many minutes each.
"""

SAMPLES = 512
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
    possible = {*functions, *(("step",) if "fd" in functions else ())}
    checked = [subset for subset, most in SUBSETS.items() if possible.issuperset(subset) and robot.nv <= most]
    refusals = ((subset, _refusal(robot, rewritten, domain, subset)) for subset in checked)
    return [f"{','.join(subset)}: {text}" for subset, text in refusals if text]


def _refusal(robot: Robot, rewritten: Robot, domain: Domain, functions: tuple[str, ...]) -> str:
    """Return why a subset is refused; empty if algorithms meet the budget."""
    options = BuildOptions(functions, ii=1, width=WIDTHS[-1], samples=SAMPLES)
    choice = choose(rewritten, functions, (), operation_delay(DEFAULT_DELAYS), {})
    model = Model(robot, rewritten, (), (), choice)
    if any(FUNCTIONS[function].takes_inverse for function in functions):
        domain = add_inverse_bounds(domain, robot, options)
    if any_takes(functions, "h"):
        try:
            domain = with_time_step(domain, robot, None)
        except InputError:  # joints that cross their range within the least step: no matter of algorithms
            return ""
    graph = optimise(trace_accelerator(model, functions), DEFAULT_DELAYS)
    prepared = Prepared(model, domain, graph)
    widest = BuildSearch(prepared, options).formats(CORES[0], options.least_ii)
    if max(errors.bound for errors in widest.errors.values()) <= DEFAULT_MAX_ERROR:
        return ""
    try:
        settle(BuildSearch(prepared, replace(options, max_error=DEFAULT_MAX_ERROR)))
    except BudgetMissed as refusal:
        return refusal.reason
    return ""
