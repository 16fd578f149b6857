"""A faulty serial line to the Verilog of a small design, with the driver at its other end."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from rbdhw.design.folder import Design
from rbdhw.driver import library as driver_library
from rbdhw.driver import simulated
from rbdhw.driver.library import EXTENDED, Data, Driver, Library, Options, Transport
from rbdhw.errors import DriverError
from rbdhw.fixed.format import Integers
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import answered_as
from rbdhw.model.responses import respond
from rbdhw.model.rollouts.codec import prepare
from rbdhw.model.rollouts.data import Rollouts, Words
from rbdhw.model.rollouts.evaluate import compute
from rbdhw.model.rollouts.packets import asks_for_states, row_words
from rbdhw.protocol import LOAD_PARAMETERS, ROLLOUT
from rbdhw.software.compiler import compile_library, load_library

KINDS = ("lost", "cut", "doubled", "reordered", "corrupted", "flooded", "reset")
ALL = (1 << len(KINDS)) - 1
SOURCE = Path(__file__).with_name("faulty_line.c")

TIMEOUT_NS = 1_000_000
NEVER = (1 << 64) - 1

LINE_OPTIONS = {"timeout": TIMEOUT_NS, "quiet": TIMEOUT_NS, "window": 16, "attempts": 6}


class FaultyLine:
    """The line, and the accelerator behind it."""

    def __init__(self, design: Design, folder: Path, cache: Path | None = None) -> None:
        self.driver_library = Library(design)
        names = ("frames.h", "rbdhw_design.h", "rbdhw_transport.h", "frames.c")
        texts = {name: text for name, text in driver_library.sources().items() if name in names}
        texts[SOURCE.name] = SOURCE.read_text()
        compiled = [SOURCE.name, "frames.c"]
        self._c = load_library(compile_library(texts, compiled, driver_library.FLAGS))
        self._c.faulty_new.restype = ctypes.c_void_p
        self._c.faulty_happened.restype = ctypes.c_uint64
        board = simulated.Simulation(simulated.build(folder, cache))
        self._board, self._transport = board, Transport()
        self.once = Counter[str]()
        """The faults that happen once in a run."""
        self._self = ctypes.c_void_p(
            self._c.faulty_new(
                ctypes.byref(self._transport),
                ctypes.byref(board.transport()),
                board.function("clock"),
                board.function("reset"),
                self.driver_library.described,
            )
        )

    def begin(
        self,
        seed: int,
        faults: int = 0,
        one_in: int = 0,
        silent_after: int = NEVER,
        is_other: bool = False,
    ) -> None:
        """Begin a run of faults, or of none; after a time the board is silent, or it has another design."""
        numbers = ctypes.c_uint64(seed), ctypes.c_uint32(faults), ctypes.c_uint32(one_in)
        self._c.faulty_begin(self._self, *numbers, ctypes.c_uint64(silent_after), int(is_other))
        self.once["silent board"] += silent_after != NEVER
        self.once["another design"] += is_other

    def open(self, seed: int) -> Driver:
        """Return a driver at the line, whose tags begin at random."""
        clock = ctypes.cast(self._c.faulty_clock, ctypes.c_void_p)
        options = Options(clock=clock, of_clock=self._self, first_tag=1 + seed * 7919, **LINE_OPTIONS)
        return self.driver_library.open(self._transport, options, "line")

    def happened(self) -> dict[str, int]:
        """Return how often each fault happened."""
        return {kind: self._c.faulty_happened(self._self, k) for k, kind in enumerate(KINDS)} | self.once

    def close(self) -> None:
        """End the line and the accelerator."""
        self._c.faulty_delete(self._self)
        self._board.close()


class Work:
    """Tasks, loads and rollouts with the answers of the bit-exact model."""

    def __init__(self, design: Design, rollouts: Sequence[Rollouts], tasks: int = 64) -> None:
        self.design, self.tasks, self.rollouts = design, tasks, rollouts
        rng, interface = np.random.default_rng(0), design.interface
        loaded = interface.inputs(LOAD_PARAMETERS)
        self.parameters = [
            {word.name: int(rng.integers(word.lowest, word.highest + 1)) for word in loaded} for _ in range(3)
        ]
        self.words = {
            function: {word.name: _draw(word, tasks, rng) for word in interface.inputs(function)}
            for function in design.functions
        }
        self.answers = {
            (function, k): self._answer(function, k)
            for function in design.functions
            for k in range(len(self.parameters))
        }
        self.rolled = [[self._roll(each, k) for k in range(len(self.parameters))] for each in self.rollouts]

    def _with(self, words: Words, number: int) -> dict[str, Integers]:
        """Return words of tasks with some parameters."""
        tasks = len(next(iter(words.values())))
        return {**words, **{name: np.full(tasks, value) for name, value in self.parameters[number].items()}}

    def _answer(self, function: str, number: int) -> tuple[Integers, Integers]:
        status, words = respond(self.design, function, self._with(self.words[function], number))
        return status, _table(words, self.design.interface.outputs(function))

    def _roll(self, rollouts: Rollouts, number: int) -> tuple[Integers, Integers]:
        asked = replace(rollouts, words=self._with(rollouts.words, number))
        answered = compute(self.design, asked, partial(respond, self.design, "step"))
        outputs = self.design.interface.words("step").outputs
        states = [answered.states[word.name] for word in outputs]
        return answered.status, np.stack([*states, answered.cost], axis=-1)

    def run(self, driver: Driver, seed: int) -> Counter[str]:
        """Do a random part of the work; count what was right, and errors. Nothing may be wrong."""
        rng, counts = np.random.default_rng(seed), Counter[str]()
        loaded: int | None = None
        for _ in range(6):
            function = str(rng.choice([*self.design.functions, ROLLOUT]))
            try:
                if loaded is None or rng.random() < 0.3:
                    loaded, number = None, int(rng.integers(len(self.parameters)))
                    values = list(self.parameters[number].values())
                    driver.load_parameters(0, Data(words=np.array(values, np.int64)))
                    loaded = number
                is_right = (
                    self.roll_out(driver, loaded, int(rng.integers(len(self.rollouts))))
                    if function == ROLLOUT
                    else self._compute(driver, function, loaded, rng)
                )
                assert is_right, f"seed {seed}: a wrong answer of {function} passed as right"
                counts["right"] += 1
            except DriverError as error:
                counts[error.reason] += 1
        return counts

    def run_one(self, driver: Driver) -> None:
        """Compute one task."""
        rows = self._asked("id", np.array([0]), 0)
        results = np.zeros((1, len(self.design.interface.outputs("id"))), np.int64)
        driver.run("id", 0, 1, Data(words=rows, results=results))

    def leave(self, driver: Driver, seed: int) -> None:
        """Send tasks and end as a host that dies: nobody takes the answers."""
        with suppress(DriverError):
            for k in range(1 + seed % 8):
                row = self._asked("id", np.array([k]), 0)
                driver.submit("id", 0, Data(words=row))
        driver.close()

    def _asked(self, function: str, rows: Integers, loaded: int) -> Integers:
        words = self._with(self.words[function], loaded)
        return _table(
            {name: values[rows] for name, values in words.items()}, self.design.interface.inputs(function)
        )

    def _compute(self, driver: Driver, function: str, loaded: int, rng: np.random.Generator) -> bool:
        rows = rng.integers(0, self.tasks, int(rng.integers(1, 24)))
        results = np.zeros((len(rows), len(self.design.interface.outputs(function))), np.int64)
        status = np.zeros(len(rows), np.uint8)
        data = Data(words=self._asked(function, rows, loaded), results=results, status=status)
        driver.run(function, 0, len(rows), data)
        right, numbers = self.answers[function, loaded]
        return np.array_equal(right[rows], status) and np.array_equal(numbers[rows], results)

    def roll_out(
        self, driver: Driver, loaded: int, number: int, before: Callable[[], None] = lambda: None
    ) -> bool:
        """Load rows, call ``before``, and compute rollouts; return whether they are those of the model."""
        interface, rollouts = self.design.interface, self.rollouts[number]
        for command in interface.row_commands:
            rows = _table(row_words(self.design, rollouts.rows, command), interface.inputs(command))
            driver.load_rows(command, len(rows), Data(words=rows))
        before()
        zeros = np.zeros(rollouts.tasks, np.int64)
        words = self._with({**rollouts.words, "steps": zeros, "every": zeros}, loaded)
        extended = asks_for_states(self.design, rollouts.states)
        names = [word.name for word in interface.outputs(ROLLOUT, extended)]
        asked = _table(words, interface.inputs(ROLLOUT))
        results = np.zeros((rollouts.tasks, len(rollouts.sent), len(names)), np.int64)
        status = np.zeros((rollouts.tasks, len(rollouts.sent)), np.uint8)
        data = Data(words=asked, results=results, status=status)
        driver.rollout(extended * EXTENDED, rollouts.tasks, rollouts.steps, rollouts.every, data)
        right, numbers = self.rolled[number][loaded]
        states = [answered_as(word) for word in interface.step.outputs]
        order = [names.index(name) for name in (*states, f"{ROLLOUT}.cost")]
        return np.array_equal(right, status) and np.array_equal(numbers, results[..., order])


def random_work(design: Design) -> Work:
    """Return tasks, loads and rollouts of a design with the options of the driver's tests."""
    rng = np.random.default_rng(1)
    arrays = dict(zip(("q", "v"), rng.uniform(-0.3, 0.3, (2, 5, 2)), strict=True))
    arrays |= {"h": np.full(5, 0.002), "std": np.array([0.1, 0.1]), "seed": np.arange(5)}
    arrays |= {"x_ref": np.zeros(4), "Q": np.ones(4), "R": np.full(2, 0.01)}
    arrays |= {"C": rng.uniform(-1.0, 1.0, (2, 4)), "y": np.array([0.1, -0.2]), "W": np.ones(2)}
    forces = rng.uniform(-1.0, 1.0, (2, 8, 2))
    return Work(design, [prepare(design, {**arrays, "tau": tau}, 3) for tau in forces])


def _draw(word: Word, tasks: int, rng: np.random.Generator) -> Integers:
    """Return numbers of a word, most of them within its bounds."""
    half = 1 << word.format.width - 1
    low, high = (
        (-half, half - 1) if word.lowest is None or word.highest is None else (word.lowest, word.highest)
    )
    return rng.integers(low // 2, high // 2 + 1, tasks)


def _table(words: Words, order: Sequence[Word]) -> Integers:
    """Return words (N,) as rows (N, words)."""
    return np.ascontiguousarray(np.stack([words[word.name] for word in order], axis=1), np.int64)
