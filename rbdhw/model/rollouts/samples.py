"""Normal samples that are added to the forces of rollouts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rbdhw import golden
from rbdhw.arrays import WordName
from rbdhw.errors import InputError
from rbdhw.fixed.format import Format, Integers, round_half_up
from rbdhw.fixed.normal import SAMPLE, normal_integers, normal_samples
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import RolloutShape, force_words
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.arrays import as_numbers
from rbdhw.model.interface import FunctionWords
from rbdhw.model.responses import Words
from rbdhw.model.rollouts.arrays import check_rows
from rbdhw.model.rollouts.data import Array, RolloutArrays, Rollouts
from rbdhw.model.rollouts.part import Part
from rbdhw.model.rollouts.random_states import SHAKEN, longest_step, speeds
from rbdhw.model.rollouts.rows import row_words
from rbdhw.protocol import SAMPLES

SEED = "seed"
"""The word of a rollout's seed, and its array."""

SEED_FORMAT = Format(32, 0)
"""The format of seeds, which are not negative."""

MOST_SEED, MOST_SEED_OF_SINGLES = (1 << 31) - 1, 1 << 24
"""The largest seed. A single holds every integer up to the second."""


class Samples(Part[tuple[Array, Integers]]):
    """Samples of standard deviations ``std`` (K, nv), from a ``seed`` (N,) of each rollout."""

    name = SAMPLES
    arrays = ("std", SEED)
    absence = "this build draws no samples"

    def request_words(self, _shape: RolloutShape) -> list[Word]:
        return [Word(SEED, "1", -1, SEED_FORMAT, 0, SEED_FORMAT.highest)]

    def last_row_words(self, step: FunctionWords, _shape: RolloutShape) -> list[Word]:
        """Return a standard deviation for each force, in its format, from zero to its largest bound."""
        deviations = []
        for force in force_words(step):
            assert force.lowest is not None
            assert force.highest is not None
            most = min(max(-force.lowest, force.highest), force.format.highest)
            name = str(replace(WordName.parse(force.name), array="std"))
            deviations.append(replace(force, name=name, lowest=0, highest=most))
        return deviations

    def check(
        self, model: AcceleratorModel, arrays: Mapping[str, Array], tasks: int, steps: int
    ) -> tuple[Array, Integers]:
        if "std" in arrays and SEED not in arrays:
            raise InputError(f"array '{SEED}'", "missing", "a seed for each rollout, or one for all")
        most = np.abs(np.asarray(model.domain.bounds["tau"])).max(axis=1)
        deviations = arrays.get("std", np.zeros((steps, model.robot.nv)))
        checked = check_rows("std", deviations, steps, np.zeros_like(most), most)
        return checked, _check_seeds(model, arrays, tasks)

    def words(self, arrays: RolloutArrays) -> Words:
        return {SEED: self.of(arrays)[1]}

    def rows(self, model: AcceleratorModel, arrays: RolloutArrays) -> Words:
        return row_words(model, arrays, "std", self.of(arrays)[0], like="tau")

    def forces(self, model: AcceleratorModel, rollouts: Rollouts, step: int, _state: Words | None) -> Words:
        drawn = normal_integers(rollouts.words[SEED], _number(model, step), model.robot.nv)[:, 0]
        row, added = rollouts.row(step), {}
        for word in force_words(model.interface.step):
            name = WordName.parse(word.name)
            product = drawn[:, name.index[0]] * row[str(replace(name, array="std"))]
            added[word.name] = round_half_up(product, SAMPLE.binary_point)
        return added

    def golden_forces(
        self, model: AcceleratorModel, arrays: RolloutArrays, step: int, forces: Array, _state: Array | None
    ) -> Array:
        deviations, seeds = self.of(arrays)
        drawn = normal_samples(seeds, _number(model, step), model.robot.nv)[:, 0]
        return np.asarray(forces + deviations[step] * drawn)

    def draw_rows(
        self, model: AcceleratorModel, centre: Mapping[str, Array], steps: int, rng: np.random.Generator
    ) -> dict[str, Array]:
        """Return standard deviations that change velocities a little."""
        lowest, highest = model.domain.bounds["tau"].T
        mobility = np.diagonal(golden.evaluate(model.robot, "minv", centre)["Minv"][0])
        share = rng.uniform(0.0, SHAKEN / 4.0, (steps, model.robot.nv)) * speeds(model) / longest_step(model)
        deviations = share / np.where(mobility > 0.0, mobility, np.inf)
        return {"std": np.minimum(deviations, SHAKEN * np.maximum(np.abs(lowest), np.abs(highest)))}

    def draw_each(self, tasks: int, rng: np.random.Generator) -> dict[str, Array]:
        return {SEED: rng.integers(0, MOST_SEED_OF_SINGLES, tasks).astype(np.float64)}


def _number(model: AcceleratorModel, step: int) -> Integers:
    """Return the number (1,) of the sample that a step takes."""
    assert model.interface.rollout is not None
    return np.array([step // model.interface.rollout.hold])


def _check_seeds(model: AcceleratorModel, arrays: Mapping[str, Array], tasks: int) -> Integers:
    numbers = as_numbers(f"array '{SEED}'", arrays.get(SEED, 0))
    if numbers.shape not in ((), (tasks,)):
        raise InputError(f"array '{SEED}'", f"shape {numbers.shape}", f"({tasks},), or one for all")
    most = MOST_SEED_OF_SINGLES if model.interface.converts else MOST_SEED
    seeds = np.broadcast_to(numbers, (tasks,))
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(~((seeds >= 0) & (seeds <= most) & (seeds == np.floor(seeds))))
    if len(bad):
        where, seed = f"array '{SEED}', row {bad[0]}", f"{seeds[bad[0]]:g}"
        raise InputError(where, seed, f"integers from 0 to {most}")
    return seeds.astype(np.int64)
