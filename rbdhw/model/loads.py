"""Loads of inertial parameters among tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import WordName
from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.fixed.evaluate import outside_domain
from rbdhw.fixed.format import Integers
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.packets import OUTSIDE, convert, quantise, requests, responses
from rbdhw.protocol import LOAD_PARAMETERS, PARAMETERS
from rbdhw.robot.parameters import nominal_parameters

LOADED_SHARE = 1 / 16
"""The share of random tasks before which parameters are loaded."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Loads:
    """K loads among N tasks."""

    before: Integers
    """(N,): the loads before each task, of any set."""
    sets: Integers
    """(N,): the set that each task takes."""
    before_of_set: Integers
    """(N,): the loads of that set before the task."""
    places: Integers
    """(K,): the place of each load among tasks and loads."""
    written: Integers
    """(K,): the set that each load writes."""
    earlier: Integers
    """(K,): the loads of that set before it."""
    words: Mapping[str, Integers]
    """The words of the loads, (K,) each."""


def no_loads(tasks: int) -> Loads:
    """Return that there are none among N tasks."""
    zeros, none = np.zeros(tasks, np.int64), np.zeros(0, np.int64)
    return Loads(zeros, zeros, zeros, none, none, none, {})


def draw_loads(
    model: AcceleratorModel,
    arrays: dict[str, Array],
    rng: np.random.Generator,
    share: float = LOADED_SHARE,
) -> Loads:
    """Return random loads among tasks, whose parameters in ``arrays`` become those that were loaded.

    There is one before this share of tasks. Tasks before the first load of their set have the parameters of
    the URDF. Without loads of parameters there are none.
    """
    tasks = len(arrays["q"])
    if not model.interface.held:
        return no_loads(tasks)
    loaded = rng.random(tasks) < share
    sets, written = rng.integers(model.interface.parameter_sets, size=(2, tasks))
    numbers = np.arange(tasks)
    each = [loaded & (written == k) for k in range(model.interface.parameter_sets)]
    of_set = np.cumsum(each, axis=1, dtype=np.int64)
    newest = np.maximum.accumulate([np.where(loads, numbers + 1, 0) for loads in each], axis=1)
    first = np.flatnonzero(loaded)
    words = _words(model, arrays, first)
    nominal = nominal_parameters(model.robot)[np.newaxis]
    arrays[PARAMETERS] = np.concatenate([nominal, arrays[PARAMETERS]])[newest[sets, numbers]]
    return Loads(
        np.cumsum(loaded, dtype=np.int64),
        sets,
        of_set[sets, numbers],
        first + np.arange(len(first)),
        written[first],
        of_set[written, numbers][first] - 1,
        words,
    )


def loads_of(model: AcceleratorModel, function: str, words: Mapping[str, Integers]) -> Loads:
    """Return the loads that tasks of a function with these words (N,) need, all of the first set.

    There is one where a parameter differs from that before.
    """
    tasks = len(next(iter(words.values())))
    held = {model.interface.stored(word).name: word.name for word in model.interface.words(function).held}
    initial = model.interface.parameters
    if not held or initial is None:
        return no_loads(tasks)
    rows = np.stack([words[name] for name in held.values()])
    previous = np.concatenate([np.array([[initial[name]] for name in held]), rows[:, :-1]], axis=1)
    loaded = (rows != previous).any(axis=0)
    first = np.flatnonzero(loaded)
    others = {name: np.full(len(first), value) for name, value in initial.items()}
    read = {stored: words[name][first] for stored, name in held.items()}
    before, numbers = np.cumsum(loaded, dtype=np.int64), np.arange(len(first))
    zeros = np.zeros(tasks, np.int64)
    return Loads(before, zeros, before, first + numbers, np.zeros_like(first), numbers, others | read)


def load_packets(model: AcceleratorModel, loads: Loads) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the requests and the responses of loads."""
    tags = np.arange(len(loads.places))
    outside = outside_domain(model.interface.inputs(LOAD_PARAMETERS), loads.words).astype(np.int64)
    asked = requests(model, LOAD_PARAMETERS, tags, loads.words, sets=loads.written)
    return asked, responses(model, LOAD_PARAMETERS, tags, OUTSIDE * outside, {}, loads=loads.earlier)


def _words(model: AcceleratorModel, arrays: Mapping[str, Array], rows: Integers) -> dict[str, Integers]:
    reals = graph_inputs(model.robot, {"q": arrays["q"][rows], PARAMETERS: arrays[PARAMETERS][rows]})
    to_integers = convert if model.interface.converts else quantise
    return {
        word.name: to_integers(word, reals[str(replace(WordName.parse(word.name), function=None))])
        for word in model.interface.held.values()
    }
