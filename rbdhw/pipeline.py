"""From a URDF to a design: every stage in order.

========  ====================================================================================
read      the robot: its file, its base, its root (:mod:`rbdhw.frontend.read`)
prepare   bounds, algorithms and the graph, as the kind of core records it
          (:func:`rbdhw.explore.search.prepare_build`)
plan      number formats, initiation interval, core and schedule (:mod:`rbdhw.explore.accelerator`)
emit      Verilog, manifest and the files for other tools (:mod:`rbdhw.rtl`, :mod:`rbdhw.emit`)
========  ====================================================================================

Software for processors leaves this way after the graph (:mod:`rbdhw.software`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rbdhw.cores.checks import check_build, check_cores
from rbdhw.cores.choice import suggest_core
from rbdhw.design.folder import Design
from rbdhw.design.replacement import AXI_VERILOG
from rbdhw.design.software_manifest import SolverEntry
from rbdhw.domain.overrides import Overrides
from rbdhw.domain.robot_overrides import override_robot
from rbdhw.emit.companions import companions
from rbdhw.emit.heading import heading
from rbdhw.emit.manifest import manifest, with_confidence
from rbdhw.emit.registers import constants, identity
from rbdhw.emit.remarks import plan_remarks
from rbdhw.emit.software import emit_software
from rbdhw.explore.accelerator import plan_accelerator
from rbdhw.explore.plan import AcceleratorPlan
from rbdhw.explore.search import prepare_build, software_domain
from rbdhw.frontend.build_graph import prepare
from rbdhw.frontend.read import read
from rbdhw.frontend.solvability import check_functions
from rbdhw.frontend.solver_steps import trace_solver
from rbdhw.model.rollouts.mean_words import check_averaged
from rbdhw.model.solver_words import check_solved
from rbdhw.options.build import BuildOptions
from rbdhw.progress import Progress, silent
from rbdhw.remarks import warn
from rbdhw.robot.model import Robot
from rbdhw.robot.reroot import RootTrial
from rbdhw.rtl.axi_accelerator import AxiAccelerator
from rbdhw.rtl.shell import Accelerator
from rbdhw.rtl.verilog import to_verilog
from rbdhw.sim.confidence import confirm
from rbdhw.software.floating import trace_sources
from rbdhw.software.folder import Software


def generate(
    urdf: Path, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> Design:
    """Return the design of an accelerator for the robot in a URDF file.

    Raises InputError if the robot, an option or an override is not supported.
    """
    check_build(options)
    source, trials = read(urdf, options, progress)
    return _build(source, options, overrides, trials, progress)


def build_design(
    source: Robot, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> Design:
    """Return the design of an accelerator for a robot.

    Raises InputError if an option or override is not supported for this robot.
    """
    check_functions(source, options.functions)
    return _build(source, options, overrides, (), progress)


def _build(
    source: Robot,
    options: BuildOptions,
    overrides: Overrides | None,
    roots: Sequence[RootTrial],
    progress: Progress,
) -> Design:
    plan = plan_build(source, options, overrides, progress)
    warn(plan_remarks(plan, options))
    return emit_design(plan, options, roots, progress)


def plan_build(
    source: Robot, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> AcceleratorPlan:
    """Return the plan of an accelerator for a robot: all that its hardware follows from.

    Raises InputError if the robot, an option or an override is not supported, or the cores do not fit
    together.
    """
    source, options = suggest_core(source, options)
    check_cores(options)
    if options.solves:
        check_solved(source, options.blocks)
    if options.means:
        check_averaged(source)
    prepared = prepare_build(source, options, overrides, progress)
    return plan_accelerator(prepared, options, progress)


def generate_software(
    urdf: Path, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> Software:
    """Return the software of a URDF file's robot, for one of :data:`~rbdhw.options.build.PROCESSORS`.

    Only with ``overrides`` its inputs have a domain. Raises InputError if the robot, an option or an override
    is not supported.
    """
    check_build(options)
    source, trials = read(urdf, options, progress)
    source = override_robot(source, overrides)
    domain = None
    if overrides is not None and overrides != Overrides():
        domain = software_domain(source, options, overrides)
    return replace(build_software(source, options, trials, progress), domain=domain)


def build_software(
    source: Robot, options: BuildOptions, roots: Sequence[RootTrial] = (), progress: Progress = silent
) -> Software:
    """Return the software of a robot, without a domain; InputError if an option is not supported for it."""
    model = prepare(source, options.functions, options.fext, forced=options.algorithms, progress=progress)
    warn(model.remarks)
    sources = trace_sources(model, options.functions, progress)
    solver = None
    if options.knots is not None:
        progress("tracing solve")
        momentum = "centroidal" in options.functions
        entry = SolverEntry(knots=options.knots, alphas=options.alphas, momentum=momentum)
        solver = trace_solver(model, momentum), entry
    progress(f"writing {options.target.upper()}")
    return emit_software(model, sources, options.target, roots, solver)


def emit_design(
    plan: AcceleratorPlan,
    options: BuildOptions,
    roots: Sequence[RootTrial] = (),
    progress: Progress = silent,
) -> Design:
    """Return the design of a plan that was made with these options, from the best of some roots."""
    device, model = plan.device, plan.accelerator
    entries = manifest(plan, options, roots)
    if options.confidence is not None:
        confirmed = confirm(model, entries.error, options.confidence, options.seed, progress)
        entries = with_confidence(entries, confirmed)
    progress("writing Verilog")
    cores, solver = [core.component(device.primitive) for core in plan.cores], None
    if plan.solver is not None:
        solver = plan.solver.component(plan.cores, cores, device.primitive)
    hardware = Accelerator(cores=cores, interface=model.interface, solver=solver)
    header = heading(plan, options)
    verilog = to_verilog(hardware, options.name, header)
    described = entries.data()
    described["identity"] = identity(described, verilog)
    block = AxiAccelerator(
        name=options.name,
        interface=model.interface,
        constants=constants(described),
        crossing=options.stream_clock_mhz is not None,
    )
    design = Design(**vars(model), manifest=described, verilog=verilog)
    files = {
        AXI_VERILOG: to_verilog(block, f"{options.name}_axi", header),
        **companions(design, device, plan.clock_mhz),
    }
    return replace(design, companions=files)
