"""The closed loop of the examples: a robot that is not quite the model, lost answers, and an optimiser."""

from contextlib import suppress
from functools import partial

import numpy as np
import pinocchio as pin
from matplotlib.figure import Figure

import rbdhw
from rbdhw.control.loop import MISMATCH, NOISE
from rbdhw.control.optimiser import LostAnswer, Mpc, Optimiser
from rbdhw.control.task import Unreliable

ENGINES = ("model", "rtl", "driver", "golden", "c")
FINER = 10  # steps of the robot in one of the controller
ROTOR = 0.3  # the inertia of an arm's motors, seen at the joints, in kg m^2


def link(robot, folder, engine, functions, **build):
    """Return the functions of a folder that is generated for an engine. Some answers are lost."""
    kind = {"target": "c"} if engine == "c" else {"ii": 4}
    rbdhw.generate(robot, folder / engine, functions=functions, **kind | build)
    accelerator = rbdhw.load(folder / engine, None if engine == "c" else engine)
    return Unreliable(accelerator, np.random.default_rng(0))


def told(functions):
    """Return how many calls there were, without an answer or flagged, as a line."""
    counts = f"{functions.calls} calls, of which {functions.lost} had no answer"
    return f"{counts}; {functions.flagged} flagged answers"


class Robot:
    """A robot in double precision, with other inertias than the model's and finer steps."""

    def __init__(self, model, q, rng, h):
        self.model, self.q, self.v, self.rng, self.h = model.copy(), q, np.zeros(model.nv), rng, h / FINER
        for k in range(1, self.model.njoints):
            part, share = self.model.inertias[k], 1.0 + MISMATCH * rng.standard_normal()
            self.model.inertias[k] = pin.Inertia(share * part.mass, part.lever, share * part.inertia)
        self.data = self.model.createData()

    def measure(self):
        """Return the configuration and the velocity, with noise."""
        shaken = [size * self.rng.standard_normal(self.model.nv) for size in NOISE]
        return pin.integrate(self.model, self.q, shaken[0]), self.v + shaken[1]

    def forces(self):
        """Return external forces by joint; none by default."""
        return pin.StdVec_Force([pin.Force.Zero()] * self.model.njoints)

    def move(self, tau):
        """Move for a step of the controller; the motors' forces are limited."""
        limited = np.clip(tau, -self.model.effortLimit, self.model.effortLimit)
        for _ in range(FINER):
            a = pin.aba(self.model, self.data, self.q, self.v, limited, self.forces())
            self.v = self.v + self.h * a
            self.q = pin.integrate(self.model, self.q, self.h * self.v)


def run(robot, control, tau, ticks):
    """Return q, v and tau of each tick under control; without an answer the last forces go on."""
    log = []
    for tick in range(ticks):
        with suppress(LostAnswer):
            tau = control(tick, *robot.measure())
        log.append((robot.q, robot.v, tau))
        robot.move(tau)
    return tuple(map(np.array, zip(*log, strict=True)))


def controller(functions, h, ticks, problem):
    """Return a controller that plans by ``solve`` in C, or on steps and derivatives."""
    solves = "solver" in functions.manifest
    solve = partial(functions.solve, iterations=1) if solves else Optimiser(functions).solve
    return Mpc(solve, h, ticks, problem)


def hold(model, q):
    """Return the forces that hold the robot still."""
    return pin.rnea(model, model.createData(), q, np.zeros(model.nv), np.zeros(model.nv))


def panels(path, *titles):
    """Return panels side by side, and what saves them."""
    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    axes = figure.subplots(1, len(titles))
    for one, title in zip(axes, titles, strict=True):
        one.set_title(title, fontsize=10)
    return axes, lambda: figure.savefig(path, dpi=110)
