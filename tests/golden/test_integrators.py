"""The golden steps in time, compared with steps that Pinocchio integrates, and with finite differences."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings

from rbdhw import golden
from rbdhw.golden.integrators import integrate
from rbdhw.robot.model import JointKind, Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.marks import long
from tests.support.mechanisms import mechanism
from tests.support.oracle import pinocchio_model, to_pinocchio_fext, to_pinocchio_q, velocity_map
from tests.support.strategies import random_states, robots

DIFFERENCE = 1e-6
"""The step of central differences."""

FINITE = 2e-5
"""The error of central differences relative to the largest derivative.

Pinocchio's derivatives take every motion subspace for constant in its body; that of a universal joint is not.
There only differences are compared.
"""


class Oracle:
    """Steps in time by Pinocchio, in its own coordinates; a robot without mimics."""

    def __init__(self, robot: Robot, arrays: dict[str, np.ndarray], row: int) -> None:
        self.model = pinocchio_model(robot)
        self.data = self.model.createData()
        self.G = velocity_map(robot)
        self.q = to_pinocchio_q(robot, arrays["q"][row])
        self.v, self.tau = self.G @ arrays["v"][row], self.G @ arrays["tau"][row]
        self.fext = to_pinocchio_fext(robot, arrays["fext"][row])
        self.h = arrays["h"][row]

    def accelerations(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return pin.aba(self.model, self.data, q, v, tau, self.fext).copy()

    def euler(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        after = v + self.h * self.accelerations(q, v, tau)
        return pin.integrate(self.model, q, self.h * after), after

    def runge_kutta(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first = v, self.accelerations(q, v, tau)
        second = self.stage(q, v, tau, 0.5, first)
        third = self.stage(q, v, tau, 0.5, second)
        fourth = self.stage(q, v, tau, 1.0, third)
        rates = zip(first, second, third, fourth, strict=True)
        velocity, change = ((one + 2 * two + 2 * three + four) / 6 for one, two, three, four in rates)
        return pin.integrate(self.model, q, self.h * velocity), v + self.h * change

    def stage(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        share: float,
        rates: tuple[np.ndarray, np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        moved = pin.integrate(self.model, q, share * self.h * rates[0])
        pushed = v + share * self.h * rates[1]
        return pushed, self.accelerations(moved, pushed, tau)

    def differences(self, scheme: str) -> np.ndarray:
        """Return the derivatives (2 nv, 3 nv) by ``q``, ``v`` and ``tau``."""
        step, columns = getattr(self, scheme), []
        for k, unit in [(k, unit) for k in range(3) for unit in np.eye(self.model.nv)]:
            ends = []
            for sign in (-DIFFERENCE, DIFFERENCE):
                state = [self.q, self.v, self.tau]
                state[k] = (
                    pin.integrate(self.model, self.q, sign * unit) if k == 0 else state[k] + sign * unit
                )
                ends.append(step(*state))
            moved = self.difference(ends[0][0], ends[1][0])
            columns.append(np.concatenate([moved, ends[1][1] - ends[0][1]]) / (2 * DIFFERENCE))
        return np.stack(columns, axis=1)

    def difference(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Return the motion between two configurations.

        Pinocchio's angle between two attitudes of a planar joint is that of a cosine, and 0 if it is small.
        """
        moved = pin.difference(self.model, start, end)
        for joint in self.model.joints:
            if joint.shortname() == "JointModelPlanar":
                (c0, s0), (c1, s1) = (q[joint.idx_q + 2 : joint.idx_q + 4] for q in (start, end))
                moved[joint.idx_v + 2] = np.arctan2(c0 * s1 - s0 * c1, c0 * c1 + s0 * s1)
        return moved

    def euler_derivatives(self) -> np.ndarray:
        """Return the derivatives of a step by Euler from those of accelerations and of ``integrate``."""
        pin.computeABADerivatives(self.model, self.data, self.q, self.v, self.tau, self.fext)
        minv = np.triu(self.data.Minv) + np.triu(self.data.Minv, 1).T
        nv = self.model.nv
        change = self.h * np.hstack([self.data.ddq_dq, self.data.ddq_dv, minv])
        change[:, nv : 2 * nv] += np.eye(nv)
        after = self.euler(self.q, self.v, self.tau)[1]
        by_q, by_d = pin.dIntegrate(self.model, self.q, self.h * after)
        moved = self.h * by_d @ change
        moved[:, :nv] += by_q
        return np.vstack([moved, change])


def check(robot: Robot, seed: int = 0, tasks: int = 3) -> None:
    arrays = random_states(robot, tasks, seed)
    for row in range(tasks):
        oracle = Oracle(robot, arrays, row)
        task = {name: array[row : row + 1] for name, array in arrays.items()}
        for function, scheme in (("dstep", "euler"), ("drk4", "runge_kutta")):
            results = {name: array[0] for name, array in golden.evaluate(robot, function, task).items()}
            plain = golden.evaluate(robot, function[1:], task)["x_next"][0]
            np.testing.assert_array_equal(results["x_next"], plain)
            q, v = getattr(oracle, scheme)(oracle.q, oracle.v, oracle.tau)
            np.testing.assert_allclose(to_pinocchio_q(robot, plain[: robot.nq]), q, rtol=0, atol=1e-10)
            size = 1 + np.abs(v).max()
            np.testing.assert_allclose(oracle.G @ plain[robot.nq :], v, rtol=0, atol=1e-9 * size)
            both = np.hstack([results["A"], results["B"]])
            differences = oracle.differences(scheme)
            np.testing.assert_allclose(both, differences, rtol=0, atol=FINITE * np.abs(differences).max())
            if scheme == "euler" and not any(body.joint.kind is JointKind.UNIVERSAL for body in robot.bodies):
                exact = oracle.euler_derivatives()
                np.testing.assert_allclose(both, exact, rtol=0, atol=1e-9 * np.abs(exact).max())


LONG = (
    JointKind.CYLINDRICAL,
    JointKind.TRANSLATION,
    JointKind.UNIVERSAL,
    JointKind.REVOLUTE,
    JointKind.CONTINUOUS,
    JointKind.PRISMATIC,
)
"""Joints that others resemble."""


@pytest.mark.parametrize(
    "kind", [long(kind) if kind in LONG else kind for kind in JointKind if kind is not JointKind.FLOATING]
)
def test_every_kind_of_joint(kind):
    check(mechanism([JointKind.REVOLUTE, kind, JointKind.REVOLUTE], [-1, 0, 1], seed=3))


@pytest.mark.parametrize(("name", "floating"), [long("iiwa14", False), long("hyq", True)])
def test_bundled_robots(name, floating):
    robot = load_urdf(path(name))
    check(robot.with_floating_base() if floating else robot, tasks=1)


@settings(max_examples=3)
@given(robots(mimics=False))
def test_random_trees(robot):
    check(robot, tasks=1)


def test_rotations_from_none_to_a_turn():
    """The exponential is a series for small angles, and exact at the seam and far from it."""
    robot = mechanism([JointKind.FLOATING], [-1], seed=1)
    model, rng = pinocchio_model(robot), np.random.default_rng(0)
    q = random_states(robot, 1, 0)["q"]
    for angle in (0.0, 1e-9, 1e-3, 0.0999, 0.1001, 1.0, 3.0):
        axis = rng.normal(size=3)
        d = np.concatenate([rng.normal(size=3), angle * axis / np.linalg.norm(axis)])
        np.testing.assert_allclose(
            integrate(robot, q, d[np.newaxis])[0], pin.integrate(model, q[0], d), atol=1e-14
        )


def test_a_fixed_time_step_replaces_the_tasks():
    robot = load_urdf(path("toy"))
    arrays = random_states(robot, 2, 0)
    fixed = replace(robot, time_step=0.004)
    expected = golden.evaluate(robot, "step", {**arrays, "h": np.full(2, 0.004)})["x_next"]
    np.testing.assert_array_equal(golden.evaluate(fixed, "step", arrays)["x_next"], expected)
    assert "h" not in golden.inputs_of(fixed, "step")
    assert "h" in golden.inputs_of(robot, "step")
