"""Means of samples mixed with other tasks, and the model's answers."""

import numpy as np

from rbdhw.golden.rollout import rollout
from rbdhw.model.packets import OUTSIDE
from rbdhw.model.responses import respond
from rbdhw.model.rollouts.data import Rollouts
from rbdhw.model.rollouts.evaluate import compute, step_words
from rbdhw.model.rollouts.mean_session import MeanSession
from rbdhw.model.rollouts.packets import rollout_requests, rollout_responses
from rbdhw.protocol import LOAD, MEAN, MPPI, ROLLOUT, STEP_ROWS
from tests.support.packet_script import PacketScript

SEED = 1 << 20


class Script(PacketScript):
    """Means of samples among other packets."""

    def __init__(self, model, session=None):
        super().__init__(model, session or MeanSession(model, self.step))
        self.horizon = model.interface.rollout.horizon

    def step(self, words):
        return respond(self.model, self.model.interface.step.name, words)

    def load(self, seed, rows=None, share=0.2, deviation=0.1):
        """Load rows of random forces, deviations, references and weights, and all residuals."""
        rng, interface = np.random.default_rng(seed), self.model.interface
        for command in interface.row_commands:
            words, of_steps = {}, command in STEP_ROWS
            count = self.horizon if of_steps else interface.rollout.cost_rows
            for word in interface.inputs(command):
                low, high = word.lowest, word.highest
                if low is None:
                    low, high = word.format.lowest, word.format.highest
                part = {"tau": share, "std": deviation, "x_ref": 0.3, "C": 0.3, "y": 0.3}.get(word.array, 0.5)
                words[word.name] = (part * rng.uniform(low, high, count)).astype(np.int64)
            words["row"] = np.arange(count)
            chosen = slice(rows if of_steps else None)
            self.send(command, {name: values[chosen] for name, values in words.items()})

    def first(self, seed, size=0.1):
        """Return the words (1,) of a random first state and of a step in time."""
        rng, words = np.random.default_rng(seed), {}
        for word in self.model.interface.inputs(MPPI):
            if word.array in ("q", "v"):
                low, high = (word.lowest, word.highest) if word.lowest is not None else (-1000, 1000)
                words[word.name] = np.array([int(size * rng.uniform(low, high))])
            elif word.array == "h":
                words[word.name] = np.array([word.lowest + (word.highest - word.lowest) // 8])
        return words

    def mppi(self, draw, samples=20, size=0.1, **others):
        """Send a request for a mean from a random state, with ``others`` in place of some of its words."""
        numbers = {"samples": samples, "seed": SEED + draw, "scale": 1 << 16, "exponent": 24, "shift": 0}
        asked = self.first(draw, size) | {name: np.array([number]) for name, number in numbers.items()}
        return self.send(MPPI, asked | {name: np.array([number]) for name, number in others.items()})

    def check_mppi_that_leaves(self):
        """Send requests of which some samples count, and then none: the forces stay, some steps later."""
        self.load(0, deviation=1.0)
        words = {word.name: word for word in self.model.interface.inputs(MPPI)}
        counted = self.mppi(5, samples=40, size=0.9, h=words["h"].highest // 2)[1]["mppi.counted"][0]
        assert 0 < counted < 40
        before = self.mean()[1]["mean.tau[0]"]
        status, none = self.mppi(2, samples=7, shift=2, **{"v[0]": words["v[0]"].highest + 1})
        assert (status[0], none["mppi.counted"][0], none["mppi.weight"][0]) == (OUTSIDE, 0, 0)
        np.testing.assert_array_equal(self.mean()[1]["mean.tau[0]"][:-2], before[2:])

    def check_mppi_that_leaves_at_the_end(self, samples):
        """Send a request for a mean from rest, of samples that push in the last step only, and read it.

        As many count as stay within the formats of velocities in double precision.
        """
        model, inputs = self.model, {word.name: word for word in self.model.interface.step.inputs}
        self.load(0, share=0.0, deviation=0.0)
        largest = {word.name: word.highest for word in model.interface.inputs(LOAD) if word.array == "std"}
        words = {**dict.fromkeys(self.session.rows[LOAD], 0), **largest, "row": self.horizon - 1}
        self.send(LOAD, {name: np.array([number]) for name, number in words.items()})
        rows = {name: row.copy() for name, row in self.session.rows[LOAD].items()}
        drawn = Rollouts({"seed": SEED + np.arange(samples)}, rows, 0)
        still, h = np.zeros((samples, model.robot.nv)), inputs["h"].highest
        tau = []
        for k in range(self.horizon):
            forces = step_words(model, drawn, k)
            tau.append(np.stack([inputs[name].format.real(forces[name]) for name in forces], axis=1))
        states, _ = rollout(
            model.robot,
            "step",
            {"q": still, "v": still, "h": np.full(samples, np.ldexp(h, -inputs["h"].format.binary_point))},
            [{}] * self.horizon,
            lambda k, _state: tau[k],
            np.array(model.domain.bounds["tau"]),
        )
        speeds = np.abs(states[..., model.robot.nv :])
        assert np.all(speeds[:, :-1] < np.array(model.domain.bounds["v"])[:, 1])
        formats = [word.format for word in inputs.values() if word.array == "v"]
        share = np.max(speeds[:, -1] / [each.highest * each.step for each in formats], axis=-1)
        beyond, clear = share > 1.0, np.abs(share - 1.0) > 0.1
        _, answer = self.mppi(0, samples, size=0.0, h=h)
        assert 0 < answer["mppi.counted"][0] == samples - np.count_nonzero(beyond) < samples
        self.mean()
        state = {name: np.zeros(samples, np.int64) for name in self.first(0)} | {"h": np.full(samples, h)}
        answered = self.rollouts_from(state | drawn.words, self.horizon)
        np.testing.assert_array_equal(answered.first_flagged[clear, 0], self.horizon * beyond[clear])
        np.testing.assert_array_equal(answered.status[clear, 0], OUTSIDE * beyond[clear])

    def mean(self, *rows):
        return self.send(MEAN, {"row": np.array(rows or range(self.horizon))})

    def rollouts(self, count, seed, steps):
        """Send rollouts with the rows as they are."""
        rng = np.random.default_rng(seed)
        words = {name: np.repeat(values, count) for name, values in self.first(seed).items()}
        words["seed"] = rng.integers(0, SEED, count)
        self.rollouts_from(words, steps)

    def rollouts_from(self, words, steps):
        """Send rollouts from states with the rows as they are; return the model's answers."""
        count = len(words["seed"])
        rows = {name: row[:steps].copy() for name, row in self.session.rollout_rows().items()}
        asked = Rollouts(words, rows, 0, states=False)
        tags = np.arange(count)
        each = (np.full(count, number) for number in (steps, 0))
        self.asked.append(rollout_requests(self.model, words, *each, tags, states=False))
        answered = compute(self.model, asked, self.step)
        answer = rollout_responses(self.model, asked, answered, tags)
        self.answered.append(((ROLLOUT, False), answer))
        return answered
