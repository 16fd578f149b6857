"""Record dynamics of a robot as the steps of its links, which are the same for all of them.

In a chain each link hands on to the next one. Where the robot branches, a link hands on outward to all its
children. Inward, each child adds what its next sibling handed on, and the first child hands the sum on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, cast

from rbdhw.dynamics.articulated import Articulated
from rbdhw.dynamics.chain import Choice, Link, advance, bear, gather, release
from rbdhw.dynamics.inertia import LoadedInertia, second_moments
from rbdhw.dynamics.joint import Coordinate, turns
from rbdhw.dynamics.rnea import make_motion
from rbdhw.dynamics.spatial import ZERO, Tensor, Vector, Wrench, add_twist, multiply, subtract, transpose
from rbdhw.errors import InputError
from rbdhw.frontend.algorithms import AlgorithmChoice
from rbdhw.frontend.alternatives import Algorithms, is_plain
from rbdhw.frontend.build_graph import Model
from rbdhw.graph.sweeps import Carried, Constant, Given, Kept, Source, Sweep, Sweeps
from rbdhw.graph.trace import Recorder
from rbdhw.passes.factor import factor
from rbdhw.passes.prune import prune
from rbdhw.passes.unread import leave_out_unread
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import BASE, Joint, JointKind, Placement, Robot
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.scalar import Scalar, region

MOTION, GATHER, RELEASE = "motion", "gather", "release"
"""The sweeps: outward, inward, outward."""

CHAIN_FUNCTIONS = {"fd": RELEASE, "id": GATHER}
"""The functions of a chain core, and the last sweep of each, which has the result."""

Givers = tuple[int | None, ...]
"""The link that hands on to each link (:attr:`rbdhw.graph.sweeps.Carried.givers`)."""


def check_chain(robot: Robot) -> None:
    """Refuse a robot that a chain core does not support.

    It needs two links, a fixed base, joints of one freedom each, no mimics and no parameters at run time.
    """
    remedy = "use --core pipeline or --core array"
    expected = "a fixed base, constant parameters and gravity, and independent joints of one freedom"
    if not is_plain(robot) or robot.loaded is not None:
        raise InputError("core", f"the chain core does not support {robot.name}", expected, remedy)
    if len(robot.bodies) < 2:
        raise InputError("core", f"{robot.name} has one link", "two or more for the chain core", remedy)


def prepare_chain(source: Robot) -> Model:
    """Return a robot prepared for recording: frames on the axes of the joints, inertias regrouped."""
    robot = elementary(source)
    check_chain(robot)
    choice = AlgorithmChoice(Algorithms(forward="propagated"), {})
    return Model(source, regroup_inertias(align_axes(robot)), ("regroup_inertias",), (), choice)


def record_chain(robot: Robot, function: str = "fd") -> Sweeps:
    """Return one of :data:`CHAIN_FUNCTIONS` in sweeps, of a robot whose joint axes are all z."""
    recording = _Recording(robot, function)
    if function == "fd":
        recording.sweep(MOTION, recording.motion)
        recording.sweep(GATHER, recording.gather, inward=True)
        recording.sweep(RELEASE, recording.release)
    else:
        recording.sweep(MOTION, recording.driven_motion)
        recording.sweep(GATHER, recording.bear, inward=True)
    return recording.finish()


@dataclass(frozen=True)
class _Tree:
    """The links that hand on to each link of a robot that branches; all empty for a chain."""

    outward: Givers = ()
    """The parent of each link."""
    first_children: Givers = ()
    """The first child of each link: the last one to be reached inward."""
    siblings: Givers = ()
    """The next child of the same parent. On the base nothing is summed up."""

    @classmethod
    def of(cls, robot: Robot) -> _Tree:
        parents = [None if body.parent == BASE else body.parent for body in robot.bodies]
        if parents == [None, *range(len(parents) - 1)]:
            return cls()
        siblings = {one: other for children in robot.children for one, other in pairwise(children)}
        return cls(
            tuple(parents),
            tuple(children[0] if children else None for children in robot.children),
            tuple(siblings.get(i) for i in range(len(parents))),
        )


class _Recording:
    """Records the steps one after the other; what a step hands on becomes inputs of others."""

    def __init__(self, robot: Robot, function: str) -> None:
        self._function = function
        (self._result,) = FUNCTIONS[function].outputs
        self._tree = _Tree.of(robot)
        self._robot, self._rest = _with_free_root(robot)
        self._joints = [body.joint for body in self._robot.bodies]
        self._turns = tuple(joint.kind.rotates for joint in self._joints)
        self._sweeps: list[Sweep] = []
        self._sources: dict[str, Source] = {}
        self._recorder = Recorder()
        self._name = ""
        self._kept: dict[str, Scalar] = {}

    def sweep(self, name: str, record: Callable[[], None], inward: bool = False) -> None:
        self._name, self._recorder = name, Recorder()
        with region(f"chain_{name}", 0):
            record()
        graph = self._recorder.builder.finish(self._recorder.outputs)
        self._sweeps.append(Sweep(name, prune(factor(prune(graph))), inward))

    def finish(self) -> Sweeps:
        return leave_out_unread(
            Sweeps(
                len(self._joints),
                tuple(self._sweeps),
                self._sources,
                self._function,
                self._result,
                f"{CHAIN_FUNCTIONS[self._function]}.{self._result}[0]",
            )
        )

    # The steps

    def motion(self) -> None:
        """Record the outward sweep of velocities, and of accelerations while the joints have none."""
        link, rate = self._move()
        if any(map(_damped, self._joints)):
            self._keep("friction", [link.damping * rate])

    def driven_motion(self) -> None:
        """Record the outward sweep of velocities and accelerations."""
        acceleration = self._given("a")
        link, rate = self._move(acceleration)
        self._keep("drive", [link.armature * acceleration + link.damping * rate])

    def _move(self, acceleration: Scalar = 0.0) -> tuple[Link, Scalar]:
        """Record the motion of a link; return the link and the velocity of its joint."""
        link, q = self._link(), self._coordinate()
        names = ("velocity", "angular", "linear")
        first = (ZERO, ZERO, self._rest)
        outward = self._tree.outward
        above = make_motion(
            *(self._carried(name, start, outward) for name, start in zip(names, first, strict=True))
        )
        rate = self._given("v")
        motion, wrench = advance(link, q, rate, above, acceleration)
        for name, vector in zip(names, (motion.velocity, motion.angular, motion.linear), strict=True):
            self._carry(name, vector)
        self._keep("cos", [q.cos])
        self._keep("sin", [q.sin])
        self._keep("shift", [q.shift[2]])
        self._keep("wrench", [*wrench[0], *wrench[1]])
        return link, rate

    def gather(self) -> None:
        """Record the inward sweep, which eliminates joints."""
        link, q = self._link(), self._kept_coordinate()
        inertia, beyond = self._gathered(self._tree.first_children)
        link_wrench = _wrench(self._kept_of("wrench"))
        force = self._given("tau")
        if any(map(_damped, self._joints)):
            force = force - self._kept_of("friction")[0]
        gathered = gather(link, q, force, link_wrench, (inertia, beyond))
        inertia, wrench = gathered.inertia, gathered.wrench
        if any(sibling is not None for sibling in self._tree.siblings):
            beside = self._gathered(self._tree.siblings, "sibling_")
            inertia, wrench = inertia + beside[0], add_twist(wrench, beside[1])
        self._carry("rotational", _triangle(inertia.rotational))
        self._carry("coupling", [entry for row in inertia.coupling for entry in row])
        self._carry("linear", _triangle(inertia.linear))
        self._carry("wrench", [*wrench[0], *wrench[1]])
        self._keep("column", [*gathered.joint.column[0], *gathered.joint.column[1]])
        self._keep("factor", [gathered.joint.factor])
        self._keep("left", [gathered.left])

    def bear(self) -> None:
        """Record the inward sweep of wrenches, and the joint forces."""
        link, q = self._link(), self._kept_coordinate()
        beyond = _wrench(self._carried("wrench", (0.0,) * 6, self._tree.first_children))
        force, wrench = bear(link, q, _wrench(self._kept_of("wrench")), beyond)
        if any(sibling is not None for sibling in self._tree.siblings):
            beside = _wrench(self._carried("wrench", (0.0,) * 6, self._tree.siblings, "sibling_"))
            wrench = add_twist(wrench, beside)
        self._carry("wrench", [*wrench[0], *wrench[1]])
        (drive,) = self._kept_of("drive")
        self._recorder.output(f"{GATHER}.{self._result}[0]", force + drive)

    def release(self) -> None:
        """Record the outward sweep of accelerations."""
        link, q = self._link(), self._kept_coordinate()
        above = _wrench(self._carried("twist", (0.0,) * 6, self._tree.outward))
        column, (factor_,), (left,) = (self._kept_of(name) for name in ("column", "factor", "left"))
        acceleration, twist = release(link, q, _wrench(column), factor_, left, above)
        self._carry("twist", [*twist[0], *twist[1]])
        self._recorder.output(f"{RELEASE}.{self._result}[0]", acceleration)

    # What steps read and hand on

    def _given(self, array: str) -> Scalar:
        return self._input(f"{self._name}_{array}[0]", Given(array, (True,) * len(self._joints)))

    def _constant(self, name: str, values: Sequence[float], chooses: bool = False) -> Scalar:
        """Return a number of the link: a float if it is the same for all links."""
        if len(set(values)) == 1 and not chooses:
            return float(values[0])
        return self._input(f"{self._name}_{name}[0]", Constant(tuple(map(float, values)), chooses))

    def _constants(self, name: str, rows: Sequence[Sequence[float]]) -> list[Scalar]:
        """Return several numbers of the link, from those of all links."""
        return [self._constant(f"{name}_{k}", column) for k, column in enumerate(zip(*rows, strict=True))]

    def _gathered(self, givers: Givers, prefix: str = "") -> tuple[Articulated, Wrench]:
        """Return the articulated inertia and the wrench that another link handed on."""
        inertia = Articulated(
            _symmetric(self._carried("rotational", (0.0,) * 6, givers, prefix)),
            _rows(self._carried("coupling", (0.0,) * 9, givers, prefix)),
            _symmetric(self._carried("linear", (0.0,) * 6, givers, prefix)),
        )
        return inertia, _wrench(self._carried("wrench", (0.0,) * 6, givers, prefix))

    def _carried(self, name: str, first: Sequence[float], givers: Givers, prefix: str = "") -> Any:
        """Return numbers that another link hands on; a ``prefix`` names those of a second link."""
        return tuple(
            self._input(
                f"{self._name}_{prefix}{name}[{k}]", Carried(f"{self._name}.{name}[{k}]", value, givers)
            )
            for k, value in enumerate(first)
        )

    def _input(self, name: str, source: Source) -> Scalar:
        self._sources[name] = source
        return self._recorder.input(name)

    def _carry(self, name: str, values: Sequence[Scalar]) -> None:
        for k, value in enumerate(values):
            self._recorder.output(f"{self._name}.{name}[{k}]", value)

    def _keep(self, name: str, values: Sequence[Scalar]) -> None:
        """Keep numbers of the link for later sweeps; those that are floats are known without."""
        for k, value in enumerate(values):
            output = f"{self._name}.kept_{name}[{k}]"
            self._kept[f"{name}[{k}]"] = value if isinstance(value, float) else Kept(output)
            if not isinstance(value, float):
                self._recorder.output(output, value)

    def _kept_of(self, name: str) -> list[Scalar]:
        """Return the numbers that an earlier sweep kept under a name."""
        return [
            self._input(f"{self._name}_kept_{key}", known) if isinstance(known, Kept) else known
            for key, known in self._kept.items()
            if key.startswith(f"{name}[")
        ]

    # The numbers of a link

    def _coordinate(self) -> Coordinate:
        """Return the joint's coordinate from the task's: an angle in turns, or a translation."""
        slides = tuple(not turn for turn in self._turns)
        cos: Scalar = 1.0
        sin: Scalar = 0.0
        shift: Scalar = 0.0
        if any(self._turns):
            angle = self._input(f"{MOTION}_angle[0]", Given("q", self._turns))
            offset = self._constant("turn", [turns(radians) for radians in self._offsets(self._turns)])
            if isinstance(offset, float):
                cos, sin = self._recorder.cos_sin(angle, offset)
            else:
                cos, sin = self._recorder.cos_sin(angle + offset, 0.0)
        if any(slides):
            shift = self._input(f"{MOTION}_slide[0]", Given("q", slides))
            shift = shift + self._constant("slide_offset", self._offsets(slides))
        return Coordinate(cos, sin, (0.0, 0.0, shift))

    def _offsets(self, links: Sequence[bool]) -> list[float]:
        """Return the offset of the joints of some links, and zero for the others."""
        return [joint.offset if chosen else 0.0 for joint, chosen in zip(self._joints, links, strict=True)]

    def _kept_coordinate(self) -> Coordinate:
        """Return the joint's coordinate as the first sweep kept it."""
        (cos,), (sin,), (shift,) = (self._kept_of(name) for name in ("cos", "sin", "shift"))
        return Coordinate(cos, sin, (0.0, 0.0, shift))

    def _link(self) -> Link:
        """Return the numbers of the link; those that differ between links are inputs of the step."""
        placements = [joint.placement for joint in self._joints]
        rotation = self._constants(
            "rotation", [[x for row in placement.rotation for x in row] for placement in placements]
        )
        translation = self._constants("translation", [placement.translation for placement in placements])
        placement = Placement(cast(Any, _rows(rotation)), cast(Any, tuple(translation)))
        kind = JointKind.REVOLUTE if all(self._turns) else JointKind.PRISMATIC
        return Link(
            Joint("link", kind, (0.0, 0.0, 1.0), placement, ()),
            self._inertia(),
            self._choice(),
            self._constant("armature", [sum(joint.armature) for joint in self._joints]),
            self._constant("damping", [sum(joint.damping) for joint in self._joints]),
        )

    def _inertia(self) -> LoadedInertia:
        inertias = [body.inertia for body in self._robot.bodies]
        mass = self._constant("mass", [inertia.mass for inertia in inertias])
        first = self._constants("first_moment", [inertia.first_moment for inertia in inertias])
        second = self._constants("second_moment", [second_moments(inertia) for inertia in inertias])
        return LoadedInertia(mass, cast(Any, tuple(first)), cast(Any, tuple(second)))

    def _choice(self) -> Choice:
        """Return the choice by the kind of joint, which is the same for all links or made for each."""
        if all(self._turns):
            return lambda turning, _sliding: turning
        if not any(self._turns):
            return lambda _turning, sliding: sliding
        flag = self._constant("turns", self._turns, chooses=True)
        return lambda turning, sliding: self._select(flag, turning, sliding)

    def _select(self, flag: Any, turning: Scalar, sliding: Scalar) -> Scalar:
        if isinstance(turning, float) and isinstance(sliding, float) and turning == sliding:
            return turning
        return self._recorder.select(flag, turning, sliding)


def _with_free_root(robot: Robot) -> tuple[Robot, Vector]:
    """Return the robot with the first placement like the second, and the base's acceleration for it.

    The base is at rest, so it does not matter where the first joint is, and how its frame is turned matters
    only to gravity. Several links on the base stay where they are.
    """
    if sum(body.parent == BASE for body in robot.bodies) > 1:
        return robot, subtract(ZERO, robot.gravity)
    first, second = robot.bodies[:2]
    rotation, other = first.joint.placement.rotation, second.joint.placement
    rest = multiply(other.rotation, multiply(transpose(rotation), subtract(ZERO, robot.gravity)))
    bodies = [replace(first, joint=replace(first.joint, placement=other)), *robot.bodies[1:]]
    return robot.with_bodies(bodies), rest


def _rows(nine: Sequence[Scalar]) -> tuple[Vector, Vector, Vector]:
    return tuple(nine[0:3]), tuple(nine[3:6]), tuple(nine[6:9])


def _wrench(six: Sequence[Scalar]) -> Wrench:
    return tuple(six[:3]), tuple(six[3:])


def _symmetric(six: Sequence[Scalar]) -> Tensor:
    xx, xy, xz, yy, yz, zz = six
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def _triangle(tensor: Tensor) -> list[Scalar]:
    return [tensor[i][j] for i in range(3) for j in range(i, 3)]


def _damped(joint: Joint) -> bool:
    return any(joint.damping)
