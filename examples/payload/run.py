"""An arm picks up a load in mid-motion: inverse dynamics with inertial parameters that are loaded then."""

import argparse
from pathlib import Path

import numpy as np
import pinocchio as pin

from examples.closed_loop import ENGINES, ROTOR, Robot, hold, link, panels, run, told

H = 0.005  # the period of the loop in s
STIFFNESS, DAMPING = 400.0, 40.0  # of the error in 1/s^2 and 1/s: critically damped
MASS, LEVER = 0.08, 0.1  # of the load: a share of the robot's mass, and along the last link's z axis in m


def reference(start, swing, period, t):
    """Return the joints, their velocities and their accelerations at time t."""
    angle, rate = 2.0 * np.pi * t / period, 2.0 * np.pi / period
    q = start + 0.5 * swing * (1.0 - np.cos(angle))
    return q, 0.5 * swing * rate * np.sin(angle), 0.5 * swing * rate**2 * np.cos(angle)


def model_of(urdf):
    """Return the robot with the inertia of its motors, and the load."""
    model = pin.buildModelFromUrdf(str(urdf))
    model.armature[:] = ROTOR
    mass = MASS * sum(part.mass for part in model.inertias)
    return model, pin.Inertia(mass, np.array([0.0, 0.0, LEVER]), np.zeros((3, 3)))


def move(functions, model, load, period, knows=True):
    """Return the errors of the joints, (ticks, nv), in three periods; the load comes behind the first.

    The accelerator is told one period later, if at all.
    """
    swing, ticks = 0.8 * np.where(np.arange(model.nv) % 2, -1.0, 1.0), round(period / H)
    start = -0.5 * swing
    functions.load_payload(0.0)
    robot = Robot(model, start, np.random.default_rng(1), H)

    def control(tick, q, v):
        if tick == ticks:
            robot.model.inertias[model.njoints - 1] += load
        if tick == 2 * ticks and knows:
            functions.load_payload(load.mass, load.lever)
        q_ref, v_ref, a_ref = reference(start, swing, period, H * tick)
        return functions.id(q, v, a_ref + STIFFNESS * (q_ref - q) + DAMPING * (v_ref - v)).tau

    q, _, tau = run(robot, control, hold(model, start), 3 * ticks)
    wanted = np.array([reference(start, swing, period, H * tick)[0] for tick in range(len(q))])
    return q - wanted, tau


def judge(urdf, functions, seconds):
    """Return the errors of all ticks for a study of number formats."""
    errors, _ = move(functions, *model_of(urdf), seconds / 3)
    return np.linalg.norm(errors, axis=1)


def main(arguments=None):
    """Run both loops; return the errors (ticks, nv) of each, and the forces of the first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", type=Path, default=Path("robots/iiwa14.urdf"))
    parser.add_argument("--engine", choices=ENGINES, default="model")
    parser.add_argument("--period", type=float, default=2.0)
    parser.add_argument("--output", type=Path, default=Path("build/examples/payload"))
    options = parser.parse_args(arguments)
    model, load = model_of(options.robot)
    build = {"parameters": "payload", "armature": dict.fromkeys(model.names[1:], ROTOR)}
    functions = link(options.robot, options.output, options.engine, "id", **build)
    errors, tau = [], []
    for knows in (True, False):
        error, forces = move(functions, model, load, options.period, knows)
        errors.append(error)
        tau.append(forces)
    print(told(functions))
    for name, error in zip(("told of it", "never told"), errors, strict=True):
        rms = [1e3 * np.sqrt((part**2).mean()) for part in np.array_split(error, 3)]
        print(f"{name}: {rms[0]:.2f}, with {load.mass:.1f} kg {rms[1]:.2f}, then {rms[2]:.2f} mrad")
    draw(options.output / "payload.png", errors)
    return *errors, tau[0]


def draw(path, errors):
    """Draw the errors of both loops."""
    axes, save = panels(path, "errors of the joints, mrad: told of the load", "the same, never told")
    for one, error in zip(axes, errors, strict=True):
        one.plot(H * np.arange(len(error)), 1e3 * error)
        for share in (1, 2):
            one.axvline(H * len(error) * share / 3, color="k", linestyle=":")
        one.set_xlabel("time (s)")
    axes[1].set_ylim(axes[0].get_ylim())
    save()


if __name__ == "__main__":
    main()
