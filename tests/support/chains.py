"""Chains and trees of random links, and their builds for the chain core."""

from collections.abc import Sequence

from rbdhw.domain.bounds import Domain, input_domain
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.fixed.step_program import UnrolledProgram
from rbdhw.frontend.chain import prepare_chain, record_chain
from rbdhw.graph.sweeps import Sweeps
from rbdhw.options.build import BuildOptions
from rbdhw.quantize.steps import choose_step_formats, observe_links
from rbdhw.robot.model import JointKind, Robot
from tests.support.mechanisms import mechanism

TURN, SLIDE = JointKind.REVOLUTE, JointKind.PRISMATIC

KINDS: dict[str, Sequence[JointKind]] = {
    "turning": (TURN,),
    "sliding": (SLIDE,),
    "mixed": (TURN, TURN, SLIDE),
}
"""The joints of chains, which repeat."""

MODERATE = Overrides(any_forces=True, default=JointBounds(velocity=1.0, effort=10.0))
"""Bounds of the inputs of a chain."""


TREES: dict[str, Sequence[int]] = {
    "two arms": (-1, 0, 1, 1, 3, 2),
    "two roots": (-1, -1, 0, 1, 1),
    "a root and an arm": (-1, -1, 1),
    "a hand": (-1, 0, 1, 1, 1, 2, 4),
}
"""The parents of the links of robots that branch; two arms come side by side."""


def chain(links: int, kinds: str = "turning", seed: int = 1) -> Robot:
    """Return a chain of random bodies on joints of these :data:`KINDS`."""
    return tree(range(-1, links - 1), kinds, seed)


def tree(parents: Sequence[int], kinds: str = "turning", seed: int = 1) -> Robot:
    """Return a robot of random bodies on joints of these :data:`KINDS`."""
    joints = [KINDS[kinds][k % len(KINDS[kinds])] for k in range(len(parents))]
    return mechanism(joints, parents, seed=seed)


def sweeps_of(robot: Robot, function: str = "fd") -> Sweeps:
    """Return the steps of a chain."""
    return record_chain(prepare_chain(robot).robot, function)


def domain_of(robot: Robot) -> Domain:
    """Return the domain of a chain."""
    return input_domain(robot, MODERATE)


def options_of(links: int, window: int = 1, width: int = 18, function: str = "fd") -> BuildOptions:
    """Return options of a build that takes ``window`` cycles for each link."""
    return BuildOptions((function,), ii=window * links, width=width, core="chain", samples=128)


def program_of(robot: Robot, width: int = 18, function: str = "fd") -> UnrolledProgram:
    """Return the bit-exact program of a chain."""
    model = prepare_chain(robot)
    options = options_of(len(robot.bodies), width=width, function=function)
    steps = observe_links(model, record_chain(model.robot, function), domain_of(robot), options)
    program = choose_step_formats(steps, options).program
    assert isinstance(program, UnrolledProgram)
    return program
