"""An arm's tip draws a figure-eight, or reaches for one point after another, by optimal control in a loop."""

import argparse
from pathlib import Path

import numpy as np
import pinocchio as pin

from examples.closed_loop import ENGINES, ROTOR, Link, Robot, controller, hold, panels, run

H, TICKS = 0.02, 20  # of a step of the plan, and how often the loop runs in it
SIZE, PERIOD = 0.1, 3.0  # of the figure, in m and s
NEAR, EFFORT = (3.0, 1.0), 1e-3  # weights of joints and their velocities, and of forces
REACH, STAY = 0.2, 0.8  # how far points are, in m, and for how long each is the goal, in s


def path_of(task, origin, axes):
    """Return the function of times (N,) that gives the goals (N, 3) of the tip, in the plane of two axes."""

    def eight(t):
        angle = 2.0 * np.pi * t / PERIOD
        return origin + SIZE * (
            np.outer(np.sin(angle), axes[0]) + 0.5 * np.outer(np.sin(2.0 * angle), axes[1])
        )

    def reach(t):
        corner = np.floor_divide(t, STAY).astype(int) % 4
        return (
            origin
            + 0.5 * REACH * (np.outer([1, -1, -1, 1], axes[0]) + np.outer([0, 1, -1, 0], axes[1]))[corner]
        )

    return {"eight": eight, "reach": reach}[task]


def control(link, model, q, goals, knots):
    """Return the controller: the tip at its goals, joints near ``q``, forces near those that hold it."""
    nv = model.nv
    last = 1.0 + 9.0 * (np.arange(knots + 1) == knots)[:, np.newaxis]

    def problem(tick):
        placements = np.tile(np.eye(4), (knots + 1, 1, 1, 1))
        placements[..., :3, 3] = goals((tick / TICKS + np.arange(knots + 1)) * H)[:, np.newaxis]
        return {
            "x_ref": np.tile(np.hstack([q, 0.0 * q]), (knots + 1, 1)),
            "Q": H * last * np.repeat(NEAR, nv),
            "R": np.tile(H * EFFORT, (knots, nv)),
            "tau_ref": np.tile(hold(model, q), (knots, 1)),
            "tau_min": -model.effortLimit,
            "tau_max": model.effortLimit,
            "placement_ref": placements,
            "position_weight": H * 3e4 * last[..., np.newaxis] * np.ones((1, 1, 3)),
        }

    return controller(link, H, TICKS, problem)


def main(arguments=None):
    """Run the loop; return the tip's positions and goals (ticks, 3), and the forces."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", type=Path, default=Path("robots/iiwa14.urdf"))
    parser.add_argument("--engine", choices=ENGINES, default="model")
    parser.add_argument("--task", choices=("eight", "reach"), default="eight")
    parser.add_argument("--seconds", type=float, default=2.0 * PERIOD)
    parser.add_argument("--knots", type=int, default=24)
    parser.add_argument("--width", type=int)
    parser.add_argument("--output", type=Path, default=Path("build/examples/arm"))
    options = parser.parse_args(arguments)
    model, rng = pin.buildModelFromUrdf(str(options.robot)), np.random.default_rng(0)
    model.armature[:] = ROTOR
    tip, data = model.frames[-1].name, model.createData()
    build = {"frames": tip, "armature": dict.fromkeys(model.names[1:], ROTOR)}
    build |= {"knots": options.knots} if options.engine == "c" else {}
    build |= {"width": options.width} if options.width else {}
    link = Link(options.robot, options.output, options.engine, rng, "step,dstep,position", "solve", **build)
    q = np.where(np.arange(model.nv) % 2, -1.2, 0.5)
    pin.framesForwardKinematics(model, data, q)
    frame = model.getFrameId(tip)
    origin = data.oMf[frame].translation.copy()
    J = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL_WORLD_ALIGNED)[:3]
    axes = np.linalg.svd(J)[0].T  # the plane in which the tip moves best comes first
    goals = path_of(options.task, origin, axes)
    robot = Robot(model, q, np.random.default_rng(1), H / TICKS)
    mpc = control(link, model, q, goals, options.knots)
    joints, _, tau = run(robot, mpc, hold(model, q), round(options.seconds * TICKS / H))
    positions = []
    for configuration in joints:
        pin.framesForwardKinematics(model, data, configuration)
        positions.append(data.oMf[frame].translation.copy())
    positions, times = np.array(positions), H / TICKS * np.arange(len(joints))
    errors = np.linalg.norm(positions - goals(times), axis=1)
    print(f"{link.calls} calls, of which {link.lost} had no answer; {link.flagged} flagged answers")
    late = 1e3 * np.median(errors[len(errors) // 2 :])
    print(f"the tip is {late:.2f} mm from its goal (median of the second half)")
    draw(
        options.output / f"arm-{options.task}.png",
        times,
        positions - origin,
        goals(times) - origin,
        axes,
        errors,
    )
    return positions, goals(times), tau


def draw(path, times, positions, goals, axes, errors):
    """Draw the tip's way in its plane, and its distance from the goal."""
    (left, right), save = panels(path, "the tip (line) and its goals (dots), m", "distance from the goal, mm")
    left.plot(*(positions @ axes[:2].T).T)
    left.plot(*(goals[::40] @ axes[:2].T).T, "k.", markersize=3)
    left.set_aspect("equal")
    right.semilogy(times, 1e3 * errors)
    right.set_xlabel("time (s)")
    save()


if __name__ == "__main__":
    main()
