"""The choice of number formats: the cheapest program whose errors meet the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from rbdhw.domain.bounds import Domain
from rbdhw.domain.graph_inputs import graph_ranges
from rbdhw.domain.strata import STRATA
from rbdhw.errors import InputError, told_apart
from rbdhw.fixed.absorption import remove_absorbed_terms
from rbdhw.fixed.alignment import comparable, exponents, unify
from rbdhw.fixed.backward import BackwardErrors
from rbdhw.fixed.figures import FunctionErrors, Measured, ResultErrors
from rbdhw.fixed.fusion import fuse
from rbdhw.fixed.gains import Row
from rbdhw.fixed.lower import lower
from rbdhw.fixed.planner import Planner
from rbdhw.fixed.program import INTEGER_BITS, Program, integer_bits
from rbdhw.fixed.ranges import drop_needless_checks
from rbdhw.fixed.rollout import RolloutShape
from rbdhw.fixed.search import CAUTION, BudgetMissed, Fixed, FormatSearch, Try
from rbdhw.fixed.widths import GUARD_BITS, Widths
from rbdhw.frontend.build_graph import Model
from rbdhw.golden import error_norm
from rbdhw.graph.graph import Graph
from rbdhw.graph.twins import Group, Twins
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.packets import decode, encode
from rbdhw.model.program_interface import program_interface
from rbdhw.model.responses import respond
from rbdhw.options.build import BY_LOAD, WIDTHS, BuildOptions
from rbdhw.progress import Progress, silent
from rbdhw.protocol import COST, FUNCTIONS
from rbdhw.quantize.magnitudes import raise_to_noise
from rbdhw.quantize.observation import Observed, Trials
from rbdhw.quantize.proofs import Proven, prove_backward, prove_results
from rbdhw.remarks import subject
from rbdhw.robot.model import Robot
from rbdhw.robot.parameters import nominal_words
from rbdhw.runtime.garbage_collector import seldom_collect
from rbdhw.scalar import STAGE, Region
from rbdhw.target import target

Array = NDArray[np.float64]

Proofs = Mapping[str, Mapping[str, Proven]]
"""Proven errors by function and part of its results."""

NOISE_PASSES = 2
"""The most times that formats are chosen again after rounding errors were observed."""

COARSEST_STEP = 200
"""The logarithm of the coarsest step of a format. Where rounding errors multiply, as in long chains with
narrow multipliers, raised formats would be coarser. Then the formats from before stay, and the tasks are
flagged."""

PROOFS = 6
"""The most searches for formats whose errors are proven to be within a budget."""

MOST_TERMS = 8
"""The most terms that a unit of the array adds in one operation."""


CANCELS = 8.0
"""A value is reported as cancelling if its effect on the result exceeds the result by this factor."""

BY_VELOCITY = (
    "factorization",
    "inverse",
    "solve",
    "inverse_product",
    "forward_dynamics",
    "correction",
    "mean_row",
)
"""Steps whose regions are numbered by velocity coordinates instead of bodies."""


@dataclass(frozen=True)
class Formats:
    """A bit-exact program, and the record of its choice."""

    program: Program
    """The bit-exact program."""
    groups: tuple[Group, ...]
    """The groups of values that are twins."""
    errors: Measured
    """The errors of each function's results, the optional ones among them."""
    tries: tuple[Try, ...]
    """The widths that were tried."""
    taken: Try
    """Those of the program."""
    reasons: Mapping[str, str]
    """For each function, the reason that limits its accuracy."""
    extra_blocks: int = 0
    """The DSP blocks, without sharing, beyond one for each product."""
    proofs: Proofs = field(default_factory=dict)
    """Proven errors by function and part of its results, if they are asked for."""
    backward: Mapping[str, BackwardErrors] = field(default_factory=dict)
    """Proven backward errors by function, if they are asked for."""
    ratios: Mapping[Row, float] = field(default_factory=dict)
    """The ratio of the smallest budget that the errors support to the predicted error, by function and
    stratum."""


@seldom_collect()
def choose_formats(
    observed: Observed,
    options: BuildOptions,
    twins: Twins,
    fuses_sums: bool = False,
    progress: Progress = silent,
) -> Formats:
    """Choose number formats: the most accurate for the requested width, or the cheapest within the budget.

    Parameters
    ----------
    twins
        The nodes of the graph that may share hardware, and so share formats; those whose magnitudes differ
        much do not.
    fuses_sums
        Whether the core rounds sums of products once.
    progress
        Receives the widths of each program that is tried.

    Raises
    ------
    InputError
        If no width meets the budget, or is proven to.
    """
    twins = comparable(observed.graph, twins, observed.magnitudes)
    choice = FormatChoice(observed, options, twins, fuses_sums, progress)
    fixed, proofs = _search_proven(choice) if options.prove else (choice.search(), {})
    program, groups = remove_absorbed_terms(fixed.program, twins.groups)
    if options.prove:
        program = drop_needless_checks(program)
    bounds = {f: prove_backward(observed, fixed.program, f) for f in proofs}
    backward = {function: errors for function, errors in bounds.items() if errors is not None}
    return replace(choice.formats(fixed, program, groups), proofs=proofs, backward=backward)


def _search_proven(choice: FormatChoice) -> tuple[Fixed, Proofs]:
    """Return the formats of a choice with proven errors, which are within the budgets, too.

    The budget of a function is lowered by as much as its proof exceeds it, and formats are searched again.
    """
    choice.prove(choice.lower(choice.planner.uniform(WIDTHS[-1])))  # a function without a proof is refused
    fixed = choice.search()
    proofs = choice.prove(fixed.program)
    trial = choice
    for _ in range(PROOFS):
        excess = {function: choice.excess(function, proofs) for function in proofs}
        if max(excess.values()) <= 1.0:
            return replace(fixed, errors=choice.measure_all(fixed.program)), proofs
        trial = trial.lowered(
            {function: CAUTION * ratio for function, ratio in excess.items() if ratio > 1.0}, fixed
        )
        try:
            fixed = trial.search()
        except BudgetMissed:
            break
        choice.widths.tries.extend(trial.widths.tries)
        proofs = choice.prove(fixed.program)
    raise choice.unproven(proofs)


class FormatChoice:
    """What a search for number formats calls: it lowers the graph to a program, and measures its errors."""

    def __init__(
        self, observed: Observed, options: BuildOptions, twins: Twins, fuses_sums: bool, progress: Progress
    ) -> None:
        model, graph, headroom = observed.model, observed.graph, observed.draws.headroom
        self._observed, self._options, self._twins = observed, options, twins
        self._fuses_sums, self._progress = fuses_sums, progress
        self._shifts = exponents(graph, twins)
        self._magnitudes = unify([headroom * size for size in observed.magnitudes], twins, self._shifts)
        self._ranges = graph_ranges(model.source, observed.domain, model.fext)
        self._count = count(1)

    @cached_property
    def planner(self) -> Planner:
        guard = 0 if self._fuses_sums else GUARD_BITS
        graph, effects = self._observed.graph, self._observed.effects
        shares = np.array([[self._options.budget_share(row.function) ** 2] for row in effects.rows])
        if len(shares):  # as if all functions had the common budget
            effects = replace(effects, noise=shares * effects.noise, relative=shares * effects.relative)
        return Planner(graph, self._magnitudes, effects, self._twins, guard=guard)

    @cached_property
    def widths(self) -> FormatSearch:
        draws = self._observed.draws
        return FormatSearch(
            self.planner,
            self.lower,
            partial(self.measure, tasks=draws.held_out),
            partial(self.measure, tasks=min(draws.ranging, draws.held_out)),
            target(self._options.target).blocks,
            self.reason,
        )

    def search(self) -> Fixed:
        """Return the program with the least errors of the requested width, or the cheapest in the budget."""
        options = self._options
        if options.budget is None:
            assert options.width is not None
            return self.widths.best(options.width)
        widths = WIDTHS if options.width is None else [options.width]
        return self.widths.cheapest(options.budget, widths)

    def lowered(self, factors: Mapping[str, float], fixed: Fixed) -> FormatChoice:
        """Return the choice with the budgets of some functions lowered, from what their errors support."""
        options = self._options
        budgets = {f: (options.budget or 0.0) / options.budget_share(f) for f in options.functions}
        for function, factor in factors.items():
            supported = fixed.errors[function].bound / options.budget_share(function)
            budgets[function] = min(budgets[function], supported) / factor
        lower = replace(options, max_error=budgets)
        return FormatChoice(self._observed, lower, self._twins, self._fuses_sums, self._progress)

    def measure_all(self, program: Program) -> Measured:
        """Return the errors of a program in all held-out tasks."""
        return measure(self._observed, self._options, program)

    def excess(self, function: str, proofs: Proofs) -> float:
        """Return the largest ratio of a function's proven errors to its budget; zero without a budget."""
        if self._options.budget is None:
            return 0.0
        budget = self._options.budget / self._options.budget_share(function)
        return max((proven.relative for proven in proofs[function].values()), default=0.0) / budget

    def prove(self, program: Program) -> Proofs:
        """Return the proven errors of a program that was not shortened yet."""
        return {f: prove_results(self._observed, program, f) for f in self._options.functions}

    def unproven(self, proofs: Proofs) -> InputError:
        """Return the refusal of a budget that no proof meets: what is proven, and the node that limits it."""
        function = max(proofs, key=lambda name: self.excess(name, proofs))
        result, proven = max(proofs[function].items(), key=lambda pair: pair[1].relative)
        asked = (self._options.budget or 0.0) / self._options.budget_share(function)
        told, budget = told_apart(proven.relative, asked, digits=2)
        reason = node_reason(self._observed.model.robot, self._observed.graph, proven.node, 0.0)
        return InputError(
            "prove",
            f"no width is proven to meet {budget}: {result} of {function} is proven to err by up to {told}, "
            f"where {reason}",
            remedy="use a larger --max-error, a domain with smaller bounds, or leave --prove out",
        )

    def formats(self, fixed: Fixed, program: Program, groups: tuple[Group, ...] = ()) -> Formats:
        """Return the record of the choice of a program that was found, or of an equal one."""
        bounds = fixed.bounds
        worst = {
            f: max((row for row in bounds if row.function == f), key=bounds.__getitem__)
            for f in self._options.functions
        }
        reasons = {f: f"{row}, where {self.reason(fixed.widths, row)}" for f, row in worst.items()}
        tries, extra, ratios = tuple(self.widths.tries), fixed.extra_blocks, fixed.ratios
        return Formats(program, groups, fixed.errors, tries, fixed.tried, reasons, extra, ratios=ratios)

    def lower(self, widths: Widths) -> Program:
        """Return the program with these widths; magnitudes that are mainly rounding errors are raised."""
        self._progress(f"try {next(self._count)}, {' x '.join(map(str, widths.ports))} bits")
        functions, observed = self._options.functions, self._observed
        magnitudes = self._magnitudes
        program = self._program(magnitudes, widths)
        for _ in range(NOISE_PASSES):
            raised = raise_to_noise(
                magnitudes, program, functions, observed.noise_words, observed.draws.headroom
            )
            raised = unify(raised, self._twins, self._shifts)
            if raised == magnitudes:
                break
            magnitudes = raised
            fitting = self._program(magnitudes, widths.fit_magnitudes(self._magnitudes, magnitudes))
            if min(operation.format.binary_point for operation in fitting.operations) < -COARSEST_STEP:
                break
            program = fitting
        return fuse(program, MOST_TERMS) if self._fuses_sums else program

    def _program(self, magnitudes: Sequence[float], widths: Widths) -> Program:
        return lower(self._observed.graph, magnitudes, self._ranges, widths, self._twins)

    def measure(self, program: Program, tasks: int) -> Measured:
        """Return the errors of a program by function, in the first ``tasks`` tasks."""
        return measure(self._observed, self._options, program, tasks)

    def reason(self, widths: Widths, row: Row) -> str:
        """Return a sentence on the node that limits the accuracy of some results in a stratum."""
        node, times = self.planner.worst_node(widths, row)
        return node_reason(self._observed.model.robot, self._observed.graph, node, times)


def first(arrays: Mapping[str, Array], tasks: int) -> dict[str, Array]:
    """Return the first tasks of each array."""
    return {name: array[:tasks] for name, array in arrays.items()}


def accelerator_model(
    model: Model, domain: Domain, programs: Sequence[Program], options: BuildOptions
) -> AcceleratorModel:
    """Return the bit-exact model of a build with the programs of its cores."""
    shape = None
    if options.horizon and options.rolled:
        nq = model.source.nq
        shape = RolloutShape(
            options.horizon,
            nq,
            options.rolled,
            options.rollout,
            options.hold,
            options.means,
            options.cost_rows,
            model.source.tracks and COST in options.rollout,
        )
    parameters = nominal_words(model.source) if options.parameters_by == BY_LOAD else None
    interface = program_interface(
        programs,
        options.data_width,
        options.number,
        options.priority,
        shape,
        parameters,
        options.streams,
        options.parameter_sets,
    )
    return AcceleratorModel(
        model.source, domain, tuple(program.plain for program in programs), model.fext, interface
    )


def measure(
    observed: Observed, options: BuildOptions, program: Program, tasks: int | None = None
) -> Measured:
    """Return the errors of a program by function, in the first ``tasks`` held-out tasks or in all."""
    tasks = observed.draws.held_out if tasks is None else tasks
    draft = accelerator_model(observed.model, observed.domain, [program], options)
    shares = {function: options.budget_share(function) for function in options.functions}
    return {f: function_errors(draft, observed.trials, f, tasks, share) for f, share in shares.items()}


def meets_budget(errors: Measured, options: BuildOptions) -> bool:
    """Return whether errors are within the budget of the options, if these have one."""
    budget = options.budget
    return budget is None or max(figures.bound for figures in errors.values()) <= budget


def function_errors(
    model: AcceleratorModel, trials: Trials, function: str, tasks: int, share: float = 1.0
) -> FunctionErrors:
    """Return the errors of the bit-exact model against the golden one in the first ``tasks`` tasks.

    ``share`` is the ratio of the common budget to the function's. The tasks ask for the optional results.
    Flagged and clipped tasks are counted, but their errors are not.
    """
    drawn, extended = trials.tasks.first(tasks), bool(FUNCTIONS[function].optional_outputs)
    arrays, clipped = drawn.of(function), drawn.clipped_of(function)
    status, words = respond(model, function, encode(model, function, arrays, extended), extended)
    reference = first(trials.reference[function], tasks)
    results = decode(model, function, words, extended, arrays.get("h"))
    errors = error_norm.function_errors(model.robot, function, arrays, results, reference, trials.floors)
    inputs = {
        name: arrays[name]
        for name in FUNCTIONS[function].inputs
        if name in arrays and (name != "fext" or model.fext)
    }
    floors = {result: trials.floors[f"{function}.{result}"] for result in errors}
    return FunctionErrors(
        {
            result: ResultErrors.of(
                values, status == 0, clipped, drawn.stratum, STRATA, floors[result], inputs, share
            )
            for result, values in errors.items()
        }
    )


def node_reason(robot: Robot, graph: Graph, node: int, times: float) -> str:
    """Return a sentence on a node whose rounding dominates the errors.

    ``times`` is the effect of the node's largest value relative to the function's result.
    """
    region = graph.nodes[node].region
    what = region.quantity or "values"
    text = f"most of the error comes from rounding {what} of {place_of(robot, region)}"
    return f"{text}, up to {times:.1g} times the result that is left of it" if times > CANCELS else text


def place_of(robot: Robot, region: Region) -> str:
    """Return the name of a region: its step, and its joint if it has one."""
    if region.joint is None:
        return region.step
    return f"{region.step} at {subject('joint', [joint_of(robot, region.step, region.joint)])}"


def check_integers(program: Program, robot: Robot, options: BuildOptions) -> None:
    """Refuse a program whose operations take larger integers than the bit-exact model and its C have.

    That is so where rounding errors multiply: those of a nearly singular matrix exceed its pivots, and the
    reciprocals' formats are too far apart from others.
    """
    plain = program.plain
    needed = (plain.operations[i] for i, _ in plain.order(tuple(plain.outputs)))
    bits, widest = max(((integer_bits(plain, each), each) for each in needed), key=lambda pair: pair[0])
    if bits <= INTEGER_BITS:
        return
    remedy = "use a domain file with smaller bounds"
    if robot.contacts.places:
        remedy += ", or with a larger damping in [contacts]"
    raise InputError(
        "max-error" if options.width is None else "width",
        f"formats of {plain.port_widths[0]} bits are too far apart in {place_of(robot, widest.region)} of "
        f"{', '.join(plain.outputs)}: its integers have {bits} bits",
        f"{INTEGER_BITS} bits, as the bit-exact model and its C have",
        remedy,
    )


def joint_of(robot: Robot, step: str, index: int) -> str:
    """Return the joint of a region; ``index`` is that of a body, or of a velocity in steps of BY_VELOCITY."""
    if step.partition(STAGE)[0] not in BY_VELOCITY:
        return robot.bodies[index].joint.name
    pairs = zip(robot.bodies, robot.v_of, strict=True)
    return next(
        body.joint.name
        for body, span in pairs
        if body.joint.mimic is None and span.start <= index < span.stop
    )
