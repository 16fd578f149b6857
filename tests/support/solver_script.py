"""Packets of a solver in their order, each with the model's answer."""

from functools import cache

import numpy as np

from rbdhw.model.fixed_solver import FixedSolver
from rbdhw.model.solver_codec import Asked, goal_words, group_words, joined, plan_words, task_words
from rbdhw.model.solver_session import SolverSession
from rbdhw.options.build import BuildOptions, CoreRequest
from rbdhw.pipeline import plan_build
from rbdhw.protocol import GOAL, PLAN, SOLVE
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.fixed_solvers import solver_problem
from tests.support.packet_script import PacketScript, accelerator_of
from tests.support.simulation import Simulation


def cores(*requests):
    """Return the options of a build with cores of these functions and intervals."""
    return {"cores": tuple(CoreRequest(names, interval) for names, interval in requests), "ii": None}


APART = cores((("step",), 2), (("dstep", "id"), 8))
"""Derivatives have the longer interval, and more bits of a state."""


def bundled(name):
    return load_urdf(path(name))


@cache
def planned(name="toy", make=bundled, **options):
    """Return the plan of an accelerator that solves, for the robot that ``make`` returns for a name."""
    sizes = {
        "width": 18,
        "ii": 8,
        "knots": 3,
        "alphas": 2,
        "iterations": 3,
        "samples": 256,
        "data_width": 128,
    }
    return plan_build(make(name), BuildOptions(("solve", "id"), **sizes | options))


@cache
def simulation(**options):
    return Simulation(accelerator_of(planned(**options)))


class Script(PacketScript):
    """Solutions among other packets."""

    def __init__(self, model):
        super().__init__(model, SolverSession(model))
        self.solver = FixedSolver(model)

    def goal(self, problem, slot=0):
        return self.send(GOAL, goal_words(self.solver, self.solver.goal(problem), slot))

    def solve(self, problem, iterations, follow=None, extended=False, others=()):
        """Send a problem, with ``others`` in place of some of its words."""
        task = task_words(self.solver, problem, iterations, follow)
        task |= {name: np.array([number]) for name, number in dict(others).items()}
        return self.send(SOLVE, task, extended)

    def group(self, *asked, others=None, extended=False):
        """Send the tasks of a group, with ``others`` in place of the words of some of them."""
        words = group_words(self.solver, [Asked(*each) for each in asked])
        for (name, k), number in (others or {}).items():
            words[name][k] = number
        return self.send(SOLVE, words, extended)

    def sent(self, group, problems):
        """Send the tasks of these problems of a group, one after the other."""
        words = group_words(self.solver, [Asked(*each) for each in group])
        return self.send(SOLVE, {name: column[list(problems)] for name, column in words.items()})[0]

    def plans(self):
        """Read the plans of all problems."""
        slots = range(self.solver.shape.problems)
        return self.send(PLAN, joined([plan_words(self.solver, slot) for slot in slots]))

    def plan(self, *rows):
        words = plan_words(self.solver)
        chosen = list(rows or words["row"])
        same = {name: column[:1].repeat(len(chosen)) for name, column in words.items()}
        return self.send(PLAN, same | {"row": np.array(chosen)})


def problems(count, **options):
    model = planned(problems=2, **options).accelerator
    return [solver_problem(model, 3, seed) for seed in range(count)]
