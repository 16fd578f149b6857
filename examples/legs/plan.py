"""Plans by optimal control with contacts: `solve` on `cstep` and `dcstep`, one iteration in 10 ms."""

import numpy as np
import pinocchio as pin

from examples.closed_loop import LostAnswer

KNOTS, STEP = 24, 0.01  # of the horizon; its step in s
WEIGHTS = {"base": (100.0, 400.0), "joints": 10.0, "speed": (5.0, 1.0), "joint speeds": 0.1}
FEET, FORCES = 2e4, 1e-4  # weights of the positions of feet in the air, and of forces


class Planner:
    """Plans from the measured state of a scene's robot, with feedback around the plan in between."""

    def __init__(self, functions, scene, gait, period):
        self.functions, self.model, self.scene, self.gait = functions, scene.model, scene, gait
        self.period, self.ticks = period, round(STEP / period)
        self.stance = scene.q[7:]
        self.plan, self.begun = None, 0
        base, joints = WEIGHTS["base"], WEIGHTS["joints"]
        speed, slow = WEIGHTS["speed"], WEIGHTS["joint speeds"]
        driven = len(self.stance)
        sizes = np.repeat([*base, joints, *speed, slow], [3, 3, driven, 3, 3, driven])
        limits = self.model.effortLimit
        self.fixed = {
            "Q": STEP * sizes,
            "R": np.full(self.model.nv, STEP * FORCES),
            "tau_min": -limits,
            "tau_max": limits,
        }

    def __call__(self, tick, q, v):
        if tick % self.ticks == 0:
            self._renew(tick, q, v)
        if self.plan is None:
            raise LostAnswer
        k, share = divmod((tick - self.begun) / self.ticks, 1.0)
        k = min(int(k), KNOTS - 1)
        (q0, v0), (q1, v1) = (np.split(self.plan.states[i], [len(q)]) for i in (k, k + 1))
        expected = pin.interpolate(self.model, q0, q1, share), (1.0 - share) * v0 + share * v1
        error = np.hstack([pin.difference(self.model, expected[0], q), v - expected[1]])
        return self.plan.tau[k] + self.plan.K[k] @ error

    def _renew(self, tick, q, v):
        """Make a plan of one iteration; the last one goes on if it does not arrive."""
        first = self.plan is None
        problem = self._problem(self.period * tick, q)
        if first:
            problem |= {"tau": problem["tau_ref"]}
        try:
            shift = (tick - self.begun) // self.ticks
            iterations = 10 if first else 1
            self.plan = self.functions.solve(
                q, v, STEP, **problem, warm=self.plan, shift=shift, iterations=iterations
            )
            self.begun = tick
        except LostAnswer:
            pass

    def _problem(self, now, q):
        """Return what changes from plan to plan: references, contacts, and forces that share the weight."""
        times = now + STEP * np.arange(KNOTS + 1)
        bases = [self.scene.goal(time) for time in times]
        upright, joints = [0.0, 0.0, 0.0, 1.0], np.zeros(3 + len(self.stance))
        x_ref = np.array([[*place, *upright, *self.stance, *moving, *joints] for place, moving in bases])
        swings = [self.gait.swing(time, q[:3] - bases[0][0]) for time in times]
        in_air = np.array([lifted for lifted, _ in swings])
        goals = np.zeros((KNOTS + 1, len(self.scene.feet), 4, 4))
        goals[:, :, :3, 3], goals[:, :, 3, 3] = [feet for _, feet in swings], 1.0
        weights = STEP * FEET * np.repeat(in_air[..., np.newaxis].astype(float), 3, axis=2)
        contact = 1.0 - in_air[:-1]
        return {
            **self.fixed,
            "x_ref": x_ref,
            "contact": contact,
            "placement_ref": goals,
            "position_weight": weights,
            "tau_ref": np.array([self._resting(tuple(standing)) for standing in contact]),
        }

    def _resting(self, standing):
        """Return the joint forces that hold the stance on some feet, as well as these can."""
        known = vars(self).setdefault("_known", {})
        if standing not in known:
            q = np.hstack([np.zeros(6), 1.0, self.stance])
            data = self.model.createData()
            weight = pin.computeGeneralizedGravity(self.model, data, q)
            pin.computeJointJacobians(self.model, data, q)
            pin.updateFramePlacements(self.model, data)
            frames = [frame for frame, stands in zip(self.scene.feet, standing, strict=True) if stands]
            jacobians = [
                pin.getFrameJacobian(self.model, data, frame, pin.LOCAL_WORLD_ALIGNED)[:3] for frame in frames
            ]
            rows = np.vstack(jacobians).T
            tau = weight - rows @ np.linalg.lstsq(rows[:6], weight[:6], rcond=None)[0]
            known[standing] = np.hstack([np.zeros(6), tau[6:]])
        return known[standing]


class Gait:
    """Where the feet should be: on the ground, or lifted in turn, for ``step`` s each and by ``lift`` m."""

    def __init__(self, scene, step, lift):
        self.scene, self.step, self.lift = scene, step, lift
        data = scene.model.createData()
        pin.framesForwardKinematics(scene.model, data, scene.q)
        self.feet = np.array([data.oMf[foot].translation for foot in scene.feet])

    def swing(self, time, away):
        """Return which feet (N,) are in the air, and where all should be (N, 3), with a base `away`."""
        phase, share = divmod(time / self.step, 1.0)
        if not self.scene.speed or phase < 1:
            return np.zeros(len(self.feet), bool), self.feet
        ends = (phase - 0.5) * self.step, (phase + 1.5) * self.step
        before, behind = (self.scene.goal(end)[0] - self.scene.q[:3] for end in ends)
        done = share - np.sin(2.0 * np.pi * share) / (2.0 * np.pi)
        height = 0.5 * self.lift * (1.0 - np.cos(2.0 * np.pi * share))
        moved = (1.0 - done) * before + done * (behind + np.array([away[0], away[1], 0.0]))
        return swinging(phase, len(self.feet)), self.feet + moved + np.array([0.0, 0.0, height])


def swinging(phase, feet):
    """Return which feet (N,) swing in a step: every second one around the base, so a diagonal of four."""
    return np.arange(feet) % 2 == phase % 2
