"""Record the step of a sweep back through the knots of a horizon: what optimal control does N times in turn.

Velocities are counted in steps, as ``h v``. A knot's numbers are

=================  ===================================================================================
``D`` (nv, 2nv+m)  the derivatives of ``h`` times the next velocity by the state and the m forces; those that
                   are zero in all states may be left out
``T``, ``J``       blocks of joints of several degrees of freedom, which move the next configuration; those of
                   others are one (or what :mod:`rbdhw.frontend.knot_states` has in their place)
``H``              the Hessian of the cost by the state: its lower triangle by q, its diagonal by ``h v``;
                   the diagonal alone if costs are not coupled
``g`` (2nv+m,)     the gradient of the cost by the state and the forces
``R`` (m,)         the Hessian by the forces, which is diagonal
``P`` (r, nv)      the derivatives of r positions of frames by q, which cost something beside ``H`` and ``g``;
                   those that are zero in all states may be left out
``W``, ``G`` (r,)  the weights of these positions, and the weights times their errors
``moved`` (2nv,)   the change of the knot behind since its value function was computed, zero if that is new;
                   only in sweeps in blocks
=================  ===================================================================================

The last knot has no step: there ``D`` and the gradients by forces are zero, and ``R`` is positive. Then the
step hands on the knot's cost, and the sweep needs no other beginning. Of positions the cost has the gradient
``P^T G`` and the Hessian ``P^T diag(W) P`` by q.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain

from rbdhw.dynamics.integration import displacement_derivatives
from rbdhw.dynamics.riccati import Matrix, Quadratic, StepChange, Vector, moved_value, riccati_step
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, optimise
from rbdhw.frontend.knot_states import JointStates
from rbdhw.graph.graph import Graph
from rbdhw.graph.knots import POSITION_ROW, POSITION_SLOPE, POSITION_WEIGHT
from rbdhw.graph.sweeps import Carried, Given, Shared, Source, Sweep, Sweeps
from rbdhw.graph.trace import Recorder, Signal
from rbdhw.passes.prune import prune
from rbdhw.robot.model import Robot
from rbdhw.robot.wide_joints import wide_joints
from rbdhw.scalar import Scalar, inner_product, is_zero, region

SWEEP = "sweep"
"""The name of the sweep, with which the names of what a knot hands on begin."""

FUNCTION = "knot"
"""The name with which those of a knot's results begin: ``K`` (m, 2 nv), ``k`` (m,) and ``pivot`` (m,)."""

REGULARISATION = "regularisation"
"""The number that is added to the weights of all forces."""

MOVED = "moved"
"""The change of a knot since its value function was computed."""

HANDED_ON = ("V", "s")
"""What a knot hands on to the one before it: Hessian and gradient of the value."""


def driven(robot: Robot, held: Collection[int] = ()) -> list[int]:
    """Return the velocity coordinates whose forces may change."""
    return [i for i in range(robot.nv) if i not in held]


def record_sweep(
    robot: Robot,
    knots: int,
    held: Collection[int] = (),
    *,
    coupled: bool = True,
    derivatives: Collection[str] | None = None,
    moves: bool = False,
    of_states: bool = False,
    positions: int = 0,
) -> Sweeps:
    """Return the sweep back from knot ``knots`` to the first.

    Forces of ``held`` coordinates are fixed. ``coupled`` states whether costs join coordinates of q, as those
    of frames do. Otherwise their Hessian is diagonal. ``derivatives`` are the elements of ``D`` and ``P``
    that are numbers, all by default; the others are zero. ``moves`` states whether a knot may take a value
    function of an earlier trajectory. ``of_states`` states whether the numbers of joints of several degrees
    of freedom are those of states (:mod:`rbdhw.frontend.knot_states`); costs are then not coupled. So many
    ``positions`` cost something.
    """
    forces = len(driven(robot, held))
    step = _record(robot, forces, coupled, derivatives, moves, of_states, positions)
    everywhere = (True,) * (knots + 1)

    def source(name: str) -> Source:
        if name == REGULARISATION:
            return Shared()
        return Carried(f"{SWEEP}.{name}", 0.0) if is_handed_on(name) else Given(name, everywhere)

    sources = {name: source(name) for name in step.inputs}
    return Sweeps(knots + 1, (Sweep(SWEEP, step, inward=True),), sources, FUNCTION, "", "")


def is_handed_on(name: str) -> bool:
    """Return whether an input is an output of the knot behind."""
    return name.partition("[")[0] in HANDED_ON


def _record(
    robot: Robot,
    forces: int,
    coupled: bool,
    derivatives: Collection[str] | None,
    moves: bool,
    of_states: bool,
    positions: int,
) -> Graph:
    """Return the graph of a knot's step."""
    recorder, n = Recorder(), robot.nv
    states = JointStates(recorder, robot) if of_states else None
    transport, jacobian = _blocks(recorder, robot, states)
    rows = _derivatives(recorder, "D", (n, 2 * n + forces), derivatives)
    value = Quadratic(_symmetric(recorder, "V", 2 * n), _vector(recorder, "s", 2 * n))
    cost = _cost(recorder, n, forces, coupled, states)
    _add_positions(recorder, cost, _derivatives(recorder, POSITION_ROW, (positions, n), derivatives))
    wide = {i for joint in wide_joints(robot) for i in joint.coordinates}
    summed = [i for i in range(n) if i not in wide]
    if moves:
        change = _vector(recorder, MOVED, 2 * n)
        both = zip(change[:n], change[n:], strict=True)
        apart = [x - y if i in summed else x for i, (x, y) in enumerate(both)]
        value = moved_value(value, [*apart, *change[n:]])
    value, policy = riccati_step(value, StepChange(transport, jacobian, rows, summed), cost)
    handed = chain(_triangle("V", value.hessian), _elements("s", value.gradient))
    for name, number in handed:
        recorder.output(f"{SWEEP}.{name}", number)
    gains = policy.gains if states is None else [states.gains(row) for row in policy.gains]
    results = (_elements(f"K[{i}]", row) for i, row in enumerate(gains))
    for name, number in chain(*results, _elements("k", policy.changes), _elements("pivot", policy.pivots)):
        recorder.output(f"{FUNCTION}.{name}".replace("][", ","), number)
    return optimise(prune(recorder.builder.finish(recorder.outputs)), DEFAULT_DELAYS)


def _cost(recorder: Recorder, n: int, forces: int, coupled: bool, states: JointStates | None) -> Quadratic:
    """Return a knot's cost (2 n + forces), with what regularises it, in part by ``states``."""
    size, by_states = 2 * n + forces, [] if states is None else list(states.costs())
    wide = {i for rates, _, _ in by_states for i in range(rates.start, rates.stop)}
    by_state = _symmetric(recorder, "H", n) if coupled else []
    hessian: Matrix = [[*row, *[0.0] * (size - n)] for row in by_state]
    hessian += [[0.0] * size for _ in range(size - len(by_state))]
    regularisation = recorder.input(REGULARISATION)
    for i in sorted({*range(len(by_state), 2 * n)} - wide):
        hessian[i][i] = recorder.input(f"H[{i},{i}]")
    for i in range(forces):
        hessian[2 * n + i][2 * n + i] = recorder.input(f"R[{i}]") + regularisation
    gradient: Vector = [0.0 if i in wide else recorder.input(f"g[{i}]") for i in range(size)]
    for rates, slope, block in by_states:
        gradient[rates] = slope
        for i, row in enumerate(block, rates.start):
            hessian[i][rates] = row
    return Quadratic(hessian, gradient)


def _derivatives(
    recorder: Recorder, array: str, shape: tuple[int, int], given: Collection[str] | None
) -> Matrix:
    """Return a matrix of inputs, but for elements that are not ``given``, which are zero."""
    rows, columns = shape
    names = [[f"{array}[{i},{j}]" for j in range(columns)] for i in range(rows)]
    return [
        [recorder.input(name) if given is None or name in given else 0.0 for name in row] for row in names
    ]


def _add_positions(recorder: Recorder, cost: Quadratic, rows: Matrix) -> None:
    """Add the cost of positions with these ``rows`` of derivatives by q; those without any cost nothing."""
    moved = {r: row for r, row in enumerate(rows) if not all(map(is_zero, row))}
    weights, slopes = (
        [recorder.input(f"{array}[{r}]") for r in moved] for array in (POSITION_WEIGHT, POSITION_SLOPE)
    )
    columns = list(zip(*moved.values(), strict=True))
    with region("position_cost"):
        for i, column in enumerate(columns):
            weighted = [weight * x for weight, x in zip(weights, column, strict=True)]
            cost.gradient[i] = cost.gradient[i] + inner_product(column, slopes)
            for j, other in enumerate(columns[: i + 1]):
                entry = cost.hessian[i][j] + inner_product(weighted, other)
                cost.hessian[i][j] = cost.hessian[j][i] = entry


def _blocks(recorder: Recorder, robot: Robot, states: JointStates | None) -> tuple[Matrix, Matrix]:
    """Return ``T`` and ``J`` (nv, nv), by ``states`` or with inputs where they have numbers."""
    matrices = _identity(robot.nv), _identity(robot.nv)
    for rates, *pair in _given_blocks(recorder, robot) if states is None else states.blocks():
        for matrix, block in zip(matrices, pair, strict=True):
            for i, row in enumerate(block, rates.start):
                matrix[i][rates] = row
    return matrices


def _given_blocks(recorder: Recorder, robot: Robot) -> Iterator[tuple[slice, Matrix, Matrix]]:
    """Yield the coordinates of each joint of several degrees of freedom, and blocks with inputs."""
    for wide in wide_joints(robot):
        probe = Recorder()
        displacement = [probe.input(f"d[{i}]") for i in wide.coordinates]
        transport, jacobian = (
            [
                [
                    recorder.input(f"{name}[{i},{j}]") if isinstance(entry, Signal) else entry
                    for j, entry in zip(wide.coordinates, row, strict=True)
                ]
                for i, row in zip(wide.coordinates, block, strict=True)
            ]
            for name, block in zip("TJ", displacement_derivatives(wide.joint.kind, displacement), strict=True)
        )
        yield wide.rates, transport, jacobian


def _identity(size: int) -> Matrix:
    return [[float(i == j) for j in range(size)] for i in range(size)]


def _vector(recorder: Recorder, name: str, size: int) -> Vector:
    return [recorder.input(f"{name}[{i}]") for i in range(size)]


def _symmetric(recorder: Recorder, name: str, size: int) -> Matrix:
    rows = [[recorder.input(f"{name}[{i},{j}]") for j in range(i + 1)] for i in range(size)]
    return [[rows[max(i, j)][min(i, j)] for j in range(size)] for i in range(size)]


def _triangle(name: str, matrix: Matrix) -> Iterator[tuple[str, Scalar]]:
    for i, row in enumerate(matrix):
        for j in range(i + 1):
            yield f"{name}[{i},{j}]", row[j]


def _elements(name: str, vector: Vector) -> Iterator[tuple[str, Scalar]]:
    for i, number in enumerate(vector):
        yield f"{name}[{i}]", number
