"""Optimal control in C: kernels of the graphs, and the sweep and the passes around them.

``kernels_sweep.h`` has the kernels that compute many knots of one problem, or of many problems, in lanes;
``kernels_pass.h`` those that a pass forward calls knot by knot. The templates ``solver_*.h`` are included for
one problem and for a group of problems in lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rbdhw.arrays import SOLVE_INPUTS, SOLVE_OUTPUTS, WordName
from rbdhw.design.replacement import SOLVER_FILES
from rbdhw.domain.graph_inputs import angular_coordinates
from rbdhw.fixed.normal import (
    EIGHTH_BITS,
    OCTAVE_BITS,
    PLACE_BITS,
    SAMPLE,
    STEP_BITS,
    round_keys,
    segments,
)
from rbdhw.frontend.solver_steps import SolverGraphs
from rbdhw.graph.graph import Graph
from rbdhw.passes.prune import prune
from rbdhw.protocol import CONTACT, NEXT_STATE
from rbdhw.robot.model import Robot
from rbdhw.robot.wide_joints import wide_joints
from rbdhw.software.c_text import fill
from rbdhw.software.floating import PROCESSOR, heading
from rbdhw.software.kernel import Division, Kernel
from rbdhw.solving import LEAST_REGULARISATION, MOST_REGULARISATION, SUFFICIENT_DECREASE, Solved

SOURCE = "solver.c"

MEANINGS = {
    "q": "first configuration",
    "v": "first velocity",
    "h": "step in time: s",
    "x_ref": "reference states",
    "Q": "weights of squared differences of states",
    "C": "rows",
    "y": "what C times the difference of states should be",
    "W": "weights of the squared errors",
    "x_min": "soft limits of the elements of states",
    "x_max": "the same from above",
    "limit_weight": "weights of squares beyond them",
    "tau_ref": "reference forces",
    "R": "weights of squared differences of forces",
    "tau_min": "limits of forces, which are kept",
    "tau_max": "the same from above",
    CONTACT: "1 for each contact during a step, 0 for the others",
    "placement_ref": "placements where frames should be",
    "position_weight": "weights of squared differences of positions",
    "orientation_weight": "weights of attitudes",
    "momentum_ref": "momenta about the centre of mass, linear first",
    "momentum_weight": "weights of squared differences of momenta",
    "states": "states, around which the first trajectory has feedback",
    "tau": "forces of the first trajectory",
    "K": "gains of its feedback",
}

SOLUTION_MEANINGS = {
    "states": "states",
    "tau": "forces",
    "K": "gains: tau + K d(states, x)",
    "cost": "cost",
    "decrease": "decrease of the cost that the last sweep expected",
    "regularisation": "what the last sweep added to the diagonal of the Hessian by the forces",
    "iterations": "iterations",
    "status": "status: " + ", ".join(f"{status.value} {status.name.lower()}" for status in Solved),
}

DIVISION = Division(PROCESSOR.operations, vectors=2)
"""The division of kernels: what blocks hand on to each other stays in the first cache."""

START_BITS = max(start for start, _ in segments()).bit_length()
"""The bits of the smallest magnitude of a segment of the normal distribution; its rise is above them."""

_SIZES = {"nq": "NQ", "nv": "NV", "nx": "NX", "ndx": "2 * NV", "knots": "(KNOTS + 1)", "steps": "KNOTS"}

_MISSING = {
    "x_min": "-INFINITY",
    "x_max": "INFINITY",
    "tau_min": "-INFINITY",
    "tau_max": "INFINITY",
    CONTACT: "1",
}

_LOCAL = ("C", "y", "W", "states", "tau", "K")
"""Arrays that a problem holds in another form."""


@dataclass(frozen=True)
class SolverArray:
    """An array as the templates show it: the type of its numbers, and its size as an expression."""

    name: str
    text: str
    size: str
    kind: str = "RBDHW_REAL"

    @property
    def held(self) -> bool:
        """Whether a problem has it as an array of the same layout."""
        return self.name not in _LOCAL

    @property
    def missing(self) -> str:
        """The numbers in place of those of an array that is not there."""
        return _MISSING.get(self.name, "0")


@dataclass(frozen=True)
class Step:
    """A kernel as the templates call it: lines that fill its words, and that take its results."""

    kernel: Kernel
    reads: list[str]
    writes: list[str]
    comment: str = ""

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def call(self) -> str:
        return f"WIDE({self.name})"

    @property
    def words(self) -> int:
        return max(1, len(self.kernel.inputs))

    @property
    def results(self) -> int:
        return len(self.kernel.results)


@dataclass(frozen=True)
class Kernels:
    """The kernels of a file of them, as the template of kernels has them."""

    name: str
    kernels: Sequence[Kernel]


class Solver:
    """A solver, as the templates show it."""

    least, most, sufficient = LEAST_REGULARISATION, MOST_REGULARISATION, SUFFICIENT_DECREASE

    def __init__(self, robot: Robot, step: Graph, graphs: SolverGraphs, knots: int, alphas: int) -> None:
        self.robot, self.knots, self.alphas = robot, knots, alphas
        self._step, self._graphs = step, graphs
        self.frames = len(robot.frames)
        spans = ((rates.start, rates.stop) for _, _, rates in wide_joints(robot))
        self.wide: list[tuple[int, int]] = [(start, stop - start) for start, stop in spans]
        self.widest = max((size for _, size in self.wide), default=0)

    # The normal samples of accelerators

    octave_bits, eighth_bits, place_bits, step_bits = OCTAVE_BITS, EIGHTH_BITS, PLACE_BITS, STEP_BITS
    sample_step = 2.0**-SAMPLE.binary_point
    round_keys = tuple(map(int, round_keys()))
    start_bits = START_BITS
    segments = tuple(start | rise << START_BITS for start, rise in segments())

    @property
    def statuses(self) -> str:
        return ", ".join(status.name for status in Solved)

    @property
    def step_lengths(self) -> str:
        return ", ".join(f"R({0.5**k!r})" for k in range(self.alphas))

    @property
    def momentum(self) -> bool:
        """Whether momentum may cost something."""
        return self._graphs.momentum is not None

    @property
    def time_step(self) -> float | None:
        return self.robot.time_step

    # Arrays

    @cached_property
    def inputs(self) -> list[SolverArray]:
        names = inputs_of(self.robot, self.momentum)
        return [self._array(name, SOLVE_INPUTS[name], MEANINGS[name]) for name in names]

    @property
    def outputs(self) -> list[SolverArray]:
        whole = ("iterations", "status")
        return [
            replace(
                self._array(name, axes, SOLUTION_MEANINGS[name]),
                kind="int" if name in whole else "RBDHW_REAL",
            )
            for name, axes in SOLVE_OUTPUTS.items()
        ]

    def _array(self, name: str, axes: Sequence[str | int], meaning: str) -> SolverArray:
        shown = {"nq": "NQ", "nv": "NV", "nx": "NQ + NV", "ndx": "2 NV", "knots": "K + 1", "steps": "K"}
        shape = ", ".join(shown.get(str(axis), str(axis)) for axis in axes)
        sizes = {**_SIZES, **{name: str(self.robot.sizes[name]) for name in ("frames", "contacts")}}
        size = " * ".join(sizes.get(str(axis), str(axis)) for axis in axes) or "1"
        return SolverArray(name, f"({shape}): {meaning}", size)

    # The tangent space

    @cached_property
    def simple(self) -> list[tuple[int, int]]:
        """Pairs of an element of the state and the element of the tangent space that is its difference."""
        pairs: list[tuple[int, int]] = []
        for body, columns, rates in zip(self.robot.bodies, self.robot.q_of, self.robot.v_of, strict=True):
            if body.joint.mimic is None and (rates.start, rates.stop - rates.start) not in self.wide:
                pairs += zip(range(columns.start, columns.stop), range(rates.start, rates.stop), strict=True)
        nq, nv = self.robot.nq, self.robot.nv
        return [*pairs, *((nq + k, nv + k) for k in range(nv))]

    @property
    def rates(self) -> list[int]:
        """For each velocity, one if the next configuration changes by the step times it."""
        simple = {element for _, element in self.simple}
        return [int(k in simple) for k in range(self.robot.nv)]

    @cached_property
    def ones(self) -> list[int]:
        """The velocities that a step keeps whatever the state, so that the graph has no derivative."""
        rows = {
            element.name.partition(".")[2]
            for result in self.sweep_kernels[0].kernel.results
            for element in result.elements
        }
        nv = self.robot.nv
        return [k for k in range(nv) if f"rows[{k},{nv + k}]" not in rows]

    # Kernels

    @cached_property
    def sweep_kernels(self) -> list[Step]:
        graphs = self._graphs
        named = {
            "rows": (graphs.rows, "Derivatives of the steps"),
            "displacements": (graphs.displacements, "Displacements of wide joints in the steps"),
            "difference": (graphs.difference, "Differences of wide joints"),
            "goal_expansion": (graphs.goal_expansion, "Costs of frames"),
            "momentum_expansion": (graphs.momentum_expansion, "Momenta"),
        }
        return [
            self._sweep_step(self._kernel(name, graph), comment)
            for name, (graph, comment) in named.items()
            if graph is not None
        ]

    @cached_property
    def passes(self) -> dict[str, Step]:
        steps = {"step": self._pass_step(self._kernel("step", self._step))}
        if self._graphs.difference is not None:
            outputs = tuple(o for o in self._graphs.difference.outputs if ".difference[" in o[0])
            alone = prune(replace(self._graphs.difference, outputs=outputs))
            steps["difference"] = self._pass_step(self._kernel("difference_alone", alone))
        if self._graphs.goal is not None:
            steps["goal"] = self._pass_step(self._kernel("goal", self._graphs.goal))
        if self._graphs.momentum is not None:
            steps["momentum"] = self._pass_step(self._kernel("momentum", self._graphs.momentum))
        return steps

    def _kernel(self, name: str, graph: Graph) -> Kernel:
        return Kernel(name, graph, angular_coordinates(self.robot), DIVISION)

    @property
    def most_words(self) -> int:
        return max(step.words for step in self.sweep_kernels)

    @property
    def most_results(self) -> int:
        return max(step.results for step in self.sweep_kernels)

    @property
    def vectors(self) -> int:
        return min(step.kernel.vectors for step in self.sweep_kernels)

    def _sweep_step(self, kernel: Kernel, comment: str) -> Step:
        behind = kernel.name == "displacements"
        names = {
            "q": "x[{0}]",
            "v": "p->best.x[k + 1][NQ + {0}]" if behind else "x[NQ + {0}]",
            "tau": "p->best.tau[k][{0}]",
            "h": "p->h[0]",
            "x_ref": "p->x_ref[k * NX + {0}]",
            CONTACT: self._contact_word,
            **self._goal_words,
        }
        reads = [f"WORD({k}, knot) = {text};" for k, text in enumerate(_expressions(kernel, names))]
        targets: dict[str, Callable[..., str]] = {
            "rows": lambda i, j: f"AT(p->D[knot][{i}], {j // self.robot.nv} * PART + {j % self.robot.nv})",
            "transport": lambda i, j: f"p->T[knot][{i}][{j - self._start(i)}]",
            "jacobian": lambda i, j: f"p->J[knot][{i}][{j - self._start(i)}]",
            "turned": lambda i, j: f"p->turned[knot][{i}][{j - self._start(i)}]",
            "difference": lambda i: f"p->d[knot][{i}]",
            "gradient": lambda i: f"p->slope[knot][{i}]",
            "hessian": lambda i, j: f"p->bend[knot][{i}][{j}]",
            "momentum": lambda i: f"p->momentum[knot][{i}]",
            "momentum_rows": lambda i, j: f"AT(p->momentum_rows[knot][{i}], COLUMN({j}))",
        }
        writes = [
            f"{targets[word.array](*word.index)} = {'-' * negative}RESULT({k}, knot);"
            for k, word, negative in _elements(kernel)
        ]
        return Step(kernel, reads, writes, comment)

    def _pass_step(self, kernel: Kernel) -> Step:
        names = {
            "q": "x[{0}]",
            "v": "x[NQ + {0}]",
            "tau": "tau[{0}]",
            "h": "SPREAD(p->h[0])",
            "x_ref": "SPREAD(reference[{0}])",
            CONTACT: f"SPREAD({self._contact_word})",
            **{name: f"SPREAD({text})" for name, text in self._goal_words.items()},
        }
        reads = [f"words[{k}] = {text};" for k, text in enumerate(_expressions(kernel, names))]
        targets = {NEXT_STATE: "next[{0}]", "difference": "d[{0}]", "momentum": "momentum[{0}]"}
        writes = [
            f"{targets[word.array].format(*word.index)} = {'-' * negative}results[{k}];"
            for k, word, negative in _elements(kernel)
            if word.array in targets
        ]
        return Step(kernel, reads, writes)

    @property
    def _contact_word(self) -> str:
        return f"p->contact[k * {len(self.robot.contacts.places)} + {{0}}]"

    @property
    def _goal_words(self) -> dict[str, str]:
        frame = f"(k * {self.frames} + {{0}})"
        return {
            "placement_ref": f"p->placement_ref[{frame} * 16 + {{1}} * 4 + {{2}}]",
            "position_weight": f"p->position_weight[{frame} * 3 + {{1}}]",
            "orientation_weight": f"p->orientation_weight[{frame}]",
        }

    def _start(self, rate: int) -> int:
        return max(start for start, _ in self.wide if start <= rate)


def inputs_of(robot: Robot, momentum: bool = False) -> tuple[str, ...]:
    """Return the names of the arrays of a robot's problems, in the order of the structure in C.

    ``momentum`` states whether momentum may cost something.
    """

    def is_taken(name: str, axes: Sequence[str | int]) -> bool:
        if name == "h":
            return robot.time_step is None
        if name.startswith("momentum"):
            return momentum
        return all(robot.sizes[axis] for axis in ("frames", "contacts") if axis in axes)

    return tuple(name for name, axes in SOLVE_INPUTS.items() if is_taken(name, axes))


def sizes_of(robot: Robot, steps: int, rows: int) -> dict[str | int, int]:
    """Return the length of each axis of a problem's arrays; axes of a given length are in it, too."""
    named: dict[str | int, int] = dict(robot.sizes.items())
    return named | {"steps": steps, "knots": steps + 1, "rows": rows, 3: 3, 4: 4, 6: 6}


def solver_files(robot: Robot, step: Graph, graphs: SolverGraphs, knots: int, alphas: int) -> dict[str, str]:
    """Return the texts of :data:`~rbdhw.design.replacement.SOLVER_FILES` by name.

    ``robot`` is the user's, and ``step`` is the graph of the function of this name.
    """
    solver = Solver(robot, step, graphs, knots, alphas)
    sweep = Kernels("sweep", [step.kernel for step in solver.sweep_kernels])
    passes = Kernels("pass", [step.kernel for step in solver.passes.values()])
    kernels = {f"kernels_{part.name}.h": fill("kernels.h", functions=[part]) for part in (sweep, passes)}
    others = [name for name in SOLVER_FILES if name not in kernels]
    return kernels | {name: fill(name, heading=heading(robot), s=solver) for name in others}


def _expressions(kernel: Kernel, names: dict[str, str]) -> Iterator[str]:
    """Yield the expression of each word of a kernel; ``names`` have those of the elements of an array."""
    for word in map(WordName.parse, kernel.inputs):
        yield names[word.array].format(*word.index)


def _elements(kernel: Kernel) -> Iterator[tuple[int, WordName, bool]]:
    """Yield the word, the name and the sign of each element of a kernel's results."""
    for k, result in enumerate(kernel.results):
        for element in result.elements:
            yield k, WordName.parse(element.name), element.negative
