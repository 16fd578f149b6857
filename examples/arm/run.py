"""An arm's tip draws a figure-eight, or reaches for one point after another, by optimal control in a loop."""

import argparse
from pathlib import Path

import numpy as np
import pinocchio as pin

from examples.closed_loop import ENGINES, ROTOR, Robot, controller, hold, link, panels, run, told

H, TICKS, KNOTS = 0.02, 20, 24  # of a step of the plan, how often the loop runs in it, and the horizon
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


def control(functions, model, q, goals, knots):
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

    return controller(functions, H, TICKS, problem)


class Scene:
    """The arm in a bent posture, and the goals of its tip in the plane in which the tip moves best."""

    def __init__(self, urdf, task="eight"):
        self.model = pin.buildModelFromUrdf(str(urdf))
        self.model.armature[:] = ROTOR
        self.tip, self.data = len(self.model.frames) - 1, self.model.createData()
        self.start = np.where(np.arange(self.model.nv) % 2, -1.2, 0.5)
        self.origin = self.tips_of([self.start])[0]
        axes = pin.LOCAL_WORLD_ALIGNED
        J = pin.computeFrameJacobian(self.model, self.data, self.start, self.tip, axes)[:3]
        self.axes = np.linalg.svd(J)[0].T
        self.goals = path_of(task, self.origin, self.axes)

    def tips_of(self, joints):
        """Return where the tip is (N, 3), for joints (N, nq)."""
        positions = []
        for q in joints:
            pin.framesForwardKinematics(self.model, self.data, q)
            positions.append(self.data.oMf[self.tip].translation.copy())
        return np.array(positions)

    def move(self, functions, seconds, knots):
        """Return the times of all ticks (N,), the tip's positions and goals (N, 3), and the forces."""
        robot = Robot(self.model, self.start, np.random.default_rng(1), H / TICKS)
        mpc = control(functions, self.model, self.start, self.goals, knots)
        joints, _, tau = run(robot, mpc, hold(self.model, self.start), round(seconds * TICKS / H))
        times = H / TICKS * np.arange(len(joints))
        return times, self.tips_of(joints), self.goals(times), tau


def judge(urdf, functions, seconds):
    """Return the tip's distances from its goals in all ticks, for a study of number formats."""
    _, positions, goals, _ = Scene(urdf).move(functions, seconds, KNOTS)
    return np.linalg.norm(positions - goals, axis=1)


def main(arguments=None):
    """Run the loop; return the tip's positions and goals (ticks, 3), and the forces."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", type=Path, default=Path("robots/iiwa14.urdf"))
    parser.add_argument("--engine", choices=ENGINES, default="model")
    parser.add_argument("--task", choices=("eight", "reach"), default="eight")
    parser.add_argument("--seconds", type=float, default=2.0 * PERIOD)
    parser.add_argument("--knots", type=int, default=KNOTS)
    parser.add_argument("--width", type=int)
    parser.add_argument("--output", type=Path, default=Path("build/examples/arm"))
    options = parser.parse_args(arguments)
    scene = Scene(options.robot, options.task)
    model = scene.model
    build = {"frames": model.frames[scene.tip].name, "armature": dict.fromkeys(model.names[1:], ROTOR)}
    build |= {"knots": options.knots} if options.engine == "c" else {}
    build |= {"width": options.width} if options.width else {}
    chosen = "solve" if options.engine == "c" else "step,dstep,position"
    functions = link(options.robot, options.output, options.engine, chosen, **build)
    times, positions, goals, tau = scene.move(functions, options.seconds, options.knots)
    errors = np.linalg.norm(positions - goals, axis=1)
    print(told(functions))
    late = 1e3 * np.median(errors[len(errors) // 2 :])
    print(f"the tip is {late:.2f} mm from its goal (median of the second half)")
    draw(options.output / f"arm-{options.task}.png", scene, times, positions, goals, errors)
    return positions, goals, tau


def draw(path, scene, times, positions, goals, errors):
    """Draw the tip's way in its plane, and its distance from the goal."""
    (left, right), save = panels(path, "the tip (line) and its goals (dots), m", "distance from the goal, mm")
    left.plot(*((positions - scene.origin) @ scene.axes[:2].T).T)
    left.plot(*((goals[::40] - scene.origin) @ scene.axes[:2].T).T, "k.", markersize=3)
    left.set_aspect("equal")
    right.semilogy(times, 1e3 * errors)
    right.set_xlabel("time (s)")
    save()


if __name__ == "__main__":
    main()
