"""Accelerators behind the driver in C: the Verilog in Verilator, or a board."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from rbdhw.design.digests import check_digest
from rbdhw.driver import simulated, transports
from rbdhw.driver.library import (
    EXTENDED,
    NO_SUCH_DEVICE,
    PENDING,
    Data,
    Driver,
    Library,
    remarks,
)
from rbdhw.driver.link import NANOSECONDS
from rbdhw.engines.compiled import held_arrays
from rbdhw.engines.engine import Answer, Array, Future, Source
from rbdhw.engines.words import Packets, WordEngine
from rbdhw.errors import DriverError, InputError
from rbdhw.fixed.format import Integers
from rbdhw.model.loads import loads_of
from rbdhw.model.packets import encode
from rbdhw.model.responses import Response, Words
from rbdhw.model.rollouts.data import Answered, Rollouts
from rbdhw.model.rollouts.packets import asks_for_states, row_words, states_in
from rbdhw.protocol import GOAL, LOAD_PARAMETERS, ROLLOUT, ROW_COMMANDS
from rbdhw.remarks import warn


class DriverEngine(WordEngine):
    """An accelerator behind the driver. Threads take turns.

    The first set of loaded parameters is used for all tasks. It is loaded where it differs from one task to
    the next.
    """

    def __init__(self, name: str, source: Source) -> None:
        super().__init__(name, source)
        warn(f"{source.folder}: {remark}" for remark in remarks(self.design))
        self._lock = RLock()
        self._loaded: tuple[int, ...] = tuple((self.design.interface.parameters or {}).values())
        self._loaded_rows: dict[str, NDArray[np.int64]] = {}

    @abstractmethod
    def open(self) -> Driver:
        """Open the link.

        Raises
        ------
        InputError
            There is no such device, or it has another design.
        DriverError
            The device does not answer.
        """

    @cached_property
    def driver(self) -> Driver:
        """The driver, opened when it is first used."""
        return self.open()

    @cached_property
    def library(self) -> Library:
        """The driver's code for this design."""
        return Library(self.design)

    @property
    def statistics(self) -> Mapping[str, int]:
        """The driver's counts."""
        with self._lock:
            return self.driver.statistics

    def compute(self, function: str, tasks: Mapping[str, Array], extended: bool) -> Answer:
        """Compute tasks; arrays are packed in C unless parameters are loaded between tasks."""
        if self.design.interface.words(function).held:
            return super().compute(function, tasks, extended)
        inputs, outputs = self._arrays(function, tasks, extended)
        status = np.zeros(len(tasks["q"]), np.uint8)
        passed = [outputs.get(array.name) for array in self.library.arrays(function)[1]]
        with self._lock:
            self.driver.run(function, extended * EXTENDED, len(status), Data(inputs, passed, status=status))
        return status.astype(np.int64), outputs

    def _arrays(
        self, function: str, tasks: Mapping[str, Array], extended: bool
    ) -> tuple[list[Array | None], dict[str, Array]]:
        """Return the inputs in the driver's order, and new arrays for the results by name."""
        inputs, outputs = self.library.arrays(function)
        held, count = held_arrays(self.robot, tasks), len(tasks["q"])
        passed = [
            np.ascontiguousarray(held[array.name], np.float64) if array.name in held else None
            for array in inputs
        ]
        wanted = (array for array in outputs if extended or not array.optional)
        return passed, {array.name: np.empty((count, *array.shape)) for array in wanted}

    def respond(
        self, function: str, words: Mapping[str, Integers], extended: bool = False
    ) -> tuple[Integers, dict[str, Integers]]:
        """Return the status and the output words of tasks."""
        interface = self.design.interface
        asked = _rows_of(words, [word.name for word in interface.inputs(function, extended)])
        names = [word.name for word in interface.outputs(function, extended)]
        results, status = np.zeros((len(asked), len(names)), np.int64), np.zeros(len(asked), np.uint8)
        with self._lock:
            for part in self._parts(function, words):
                data = Data(words=asked[part], results=results[part], status=status[part])
                self.driver.run(function, extended * EXTENDED, len(asked[part]), data)
        return status.astype(np.int64), dict(zip(names, results.T, strict=True))

    def respond_rollouts(self, rollouts: Rollouts) -> Answered:
        """Return the answers to rollouts, after the rows that differ from those before were loaded."""
        interface, steps = self.design.interface, rollouts.steps
        extended = asks_for_states(self.design, rollouts.states)
        counted = {name: np.zeros(rollouts.tasks, np.int64) for name in ("steps", "every")}
        asked = _rows_of({**rollouts.words, **counted}, [word.name for word in interface.inputs(ROLLOUT)])
        names = [word.name for word in interface.outputs(ROLLOUT, extended)]
        answers = len(rollouts.sent)
        results = np.zeros((len(asked), answers, len(names)), np.int64)
        status = np.zeros((len(asked), answers), np.uint8)
        with self._lock:
            self._load_rows(rollouts)
            for part in self._parts(interface.step.name, rollouts.words):
                data = Data(words=asked[part], results=results[part], status=status[part])
                self.driver.rollout(extended * EXTENDED, len(asked[part]), steps, rollouts.every, data)
        words = dict(zip(names, np.moveaxis(results, -1, 0), strict=True))
        return Answered(
            status.astype(np.int64),
            words[f"{ROLLOUT}.first_flagged"],
            states_in(self.design, rollouts, words),
            words.get(f"{ROLLOUT}.cost", np.zeros(status.shape, np.int64)),
        )

    def converse(self, packets: Sequence[Packets]) -> list[Response]:
        """Return the answers to packets of commands."""
        loads = (*ROW_COMMANDS, GOAL)
        return [
            self._load_words(command, words) if command in loads else self.respond(command, words)
            for command, words in packets
        ]

    def _load_words(self, command: str, words: Words) -> Response:
        """Load the rows of packets."""
        rows = _rows_of(words, [word.name for word in self.design.interface.inputs(command)])
        status = np.zeros(len(rows), np.uint8)
        with self._lock:
            self._loaded_rows.pop(command, None)
            self.driver.load_rows(command, len(rows), Data(words=rows, status=status))
        return status.astype(np.int64), {}

    def _load_rows(self, rollouts: Rollouts) -> None:
        """Load the rows of rollouts that are not loaded. They replace those of the last mean."""
        self._last_mean = None
        for command in self.design.interface.row_commands:
            names = [word.name for word in self.design.interface.inputs(command)]
            rows = _rows_of(row_words(self.design, rollouts.rows, command), names)
            if command in self._loaded_rows and np.array_equal(rows, self._loaded_rows.pop(command)):
                self._loaded_rows[command] = rows
                continue
            self.driver.load_rows(command, len(rows), Data(words=rows))
            self._loaded_rows[command] = rows

    def _parts(self, function: str, words: Mapping[str, Integers]) -> Iterator[slice]:
        """Yield slices of tasks with the same loaded parameters, when these are loaded."""
        loads = loads_of(self.design, function, words)
        starts = [0, *(np.flatnonzero(np.diff(loads.before)) + 1).tolist()]
        for start, end in zip(starts, [*starts[1:], len(loads.before)], strict=True):
            if self.design.interface.words(function).held:
                self._load_parameters(loads.words, int(loads.before[start]) - 1)
            yield slice(start, end)

    def _load_parameters(self, words: Mapping[str, Integers], number: int) -> None:
        """Load parameters unless they are loaded: those of a load, or those of the URDF if it is negative."""
        initial = self.design.interface.parameters or {}
        names = [word.name for word in self.design.interface.inputs(LOAD_PARAMETERS)]
        loaded = tuple(int(words[name][number]) if number >= 0 else initial[name] for name in names)
        if loaded == self._loaded:
            return
        self._loaded = ()
        self.driver.load_parameters(0, Data(words=np.array(loaded, np.int64)))
        self._loaded = loaded

    def submit(self, function: str, tasks: Mapping[str, Array], extended: bool) -> Future:
        """Send one task, and return what becomes of it."""
        inputs, outputs = self._arrays(function, tasks, extended)
        with self._lock:
            if self.design.interface.words(function).held:
                words = encode(self.design, function, tasks, extended)
                list(self._parts(function, words))
            ticket = self.driver.submit(function, extended * EXTENDED, Data(inputs))
        return _Ticket(self, function, ticket, outputs)


class _Ticket(Future):
    """A task that was sent."""

    def __init__(self, engine: DriverEngine, function: str, ticket: int, outputs: dict[str, Array]) -> None:
        self._engine, self._ticket, self._outputs = engine, ticket, outputs
        self._status = np.zeros(1, np.uint8)
        passed = [outputs.get(array.name) for array in engine.library.arrays(function)[1]]
        self._data = Data((), passed, status=self._status)
        self._error: Exception | None = None
        self._is_done = False
        self._drop = weakref.finalize(self, _drop, engine, ticket)

    def wait(self, timeout: float | None) -> bool:
        """Wait for the answer; return whether it is there."""
        wait = (1 << 64) - 1 if timeout is None else max(0, round(timeout * NANOSECONDS))
        with self._engine._lock:
            if self._is_done:
                return True
            try:
                self._engine.driver.collect(self._ticket, wait, self._data)
            except DriverError as error:
                if error.code == PENDING:
                    return False
                self._error = error
            self._is_done = True
            self._drop.detach()
        return True

    def answer(self) -> Answer:
        """Return the answer, which is there."""
        if self._error is not None:
            raise self._error
        return self._status.astype(np.int64), self._outputs


def _drop(engine: DriverEngine, ticket: int) -> None:
    """Drop an answer that nobody waits for."""
    with engine._lock, suppress(DriverError):
        engine.driver.collect(ticket, 0, None)


class SimulatedEngine(DriverEngine):
    """The driver beside the Verilog in Verilator."""

    def open(self) -> Driver:
        """Build the simulator and open its transport."""
        folder, digest = self.source.folder, self.source.digest
        check_digest(folder, digest)
        library = simulated.build(folder, self.source.cache)
        check_digest(folder, digest)
        simulation = simulated.Simulation(library)
        driver = self.library.open(simulation.transport(), simulation.options(quiet=1), str(folder))
        weakref.finalize(self, _close, driver, simulation)
        return driver


class BoardEngine(DriverEngine):
    """A board behind a transport."""

    def __init__(self, name: str, source: Source) -> None:
        super().__init__(name, source)
        _ = self.driver

    def open(self) -> Driver:
        """Open the transport that the user named."""
        link = self.source.link
        device, where = transports.parse(link.transport, self.library), str(link.transport)
        try:
            driver = self.library.open(device.transport(), device.options(**link.options), where)
        except DriverError as error:
            device.close()
            if error.code not in NO_SUCH_DEVICE:
                raise
            expected = f"a board with the design of {self.source.folder}"
            raise InputError(where, error.reason, expected) from None
        weakref.finalize(self, _close, driver, device)
        return driver


def _close(driver: Driver, device: simulated.Simulation | transports.Device) -> None:
    """Close a driver, then what its transport uses."""
    driver.close()
    device.close()


def _rows_of(words: Mapping[str, Integers], names: list[str]) -> NDArray[np.int64]:
    """Return words (N,) as rows (N, words)."""
    tasks = len(next(iter(words.values())))
    columns = np.array([words[name] for name in names], np.int64).reshape(len(names), tasks)
    return np.ascontiguousarray(columns.T)
