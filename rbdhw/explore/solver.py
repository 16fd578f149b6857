"""The plan of a solver around a core of an accelerator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rbdhw.cores.solver.core import build_solver
from rbdhw.estimate.resources import Resources
from rbdhw.explore.plan import AcceleratorPlan
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.solver_problems import Array, moving_problem
from rbdhw.model.solver_words import with_solver
from rbdhw.options.build import BuildOptions
from rbdhw.progress import Progress
from rbdhw.quantize.solver_sweep import observed_sweep
from rbdhw.rtl.step_products import preparation_products

SWEEP_BITS = 27
"""The bits of both operands of a product of the sweep."""

OBSERVED = 8
"""The random problems by whose solutions the sweep's formats are chosen."""


def solver_model(model: AcceleratorModel, options: BuildOptions) -> AcceleratorModel:
    """Return the model of an accelerator that also solves, with the number formats of its sweep.

    Problems are observed with the fixed time step, or the largest of the domain. Raises InputError as
    :func:`rbdhw.model.solver_words.with_solver`.
    """
    assert options.knots is not None
    problems, dstep = observed_problems(model, options.knots, options.seed), model.interface.words("dstep")
    sweep = observed_sweep(model.robot, dstep, problems, options.knots, SWEEP_BITS, options.blocks)
    sizes = options.alphas, options.iterations, options.problems, options.blocks
    return with_solver(model, sweep, *sizes)


def observed_problems(model: AcceleratorModel, knots: int, seed: int) -> Iterator[dict[str, Array]]:
    """Yield the random problems of so many steps that are observed."""
    h = model.robot.time_step
    if h is None:
        h = float(model.domain.bounds["h"][0][1])
    for k in range(OBSERVED):
        yield moving_problem(model.robot, model.domain, knots, h, seed + k)


def plan_solver(plan: AcceleratorPlan, options: BuildOptions, progress: Progress) -> AcceleratorPlan:
    """Return the plan of an accelerator that also solves, around its cores of ``step`` and ``dstep``.

    Raises InputError as :func:`solver_model` and :func:`with_hardware`.
    """
    progress("choosing number formats of the sweep")
    model = solver_model(plan.accelerator, options)
    progress("scheduling the sweep")
    return with_hardware(plan, model, options)


def with_hardware(plan: AcceleratorPlan, model: AcceleratorModel, options: BuildOptions) -> AcceleratorPlan:
    """Return the plan of an accelerator with the hardware of a solver, which ``model`` has.

    Raises InputError if the clock is too fast for it, the interval of its sweep is too short, or its memories
    do not fit the device.
    """
    core, derivatives = (plan.part_of(name).plan.core for name in ("step", "dstep"))
    asked = options.clock_mhz is not None or options.clock_goal is not None
    clock_mhz = plan.clock_mhz if asked else None
    solver = build_solver(model.interface, core, derivatives, clock_mhz, options.sweep_ii)
    blocks = sum(map(core.device.blocks, preparation_products(replace(model.interface, rollout=None))))
    estimate = plan.estimate + solver.estimate() + Resources(0, 0, blocks, 0)
    return replace(plan, accelerator=model, estimate=estimate, solver=solver)
