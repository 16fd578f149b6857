"""Progress of the stages: a status line on a terminal, plain lines in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Lock, Thread

from rich.console import Console
from rich.progress import Progress as Live
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

Progress = Callable[[str], None]
"""Receives the current stage and, after a colon, its progress: ``simulating: 3 of 12 tasks``."""

LASTING = 2.0
"""The seconds after which a log names a stage. Shorter stages are not logged."""

PERIOD = 20.0
"""The seconds without a line after which a log repeats the current stage."""

STARTING = "starting"


def silent(_text: str) -> None:
    """Discard the progress."""


def within(stage: str, progress: Progress) -> Progress:
    """Return a progress for use inside one stage: its texts are prefixed with the name of the stage."""
    return lambda text: progress(f"{stage}: {text}")


class Log:
    """Progress as plain lines, each with the time elapsed.

    :meth:`tick` writes a line when a stage has lasted :data:`LASTING` seconds, and whenever :data:`PERIOD`
    seconds have passed without a line. It may run in a different thread than the progress. ``write``
    receives each line, and ``clock`` returns the time in seconds.
    """

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._lock = Lock()
        self._text = STARTING
        self._named = False
        self._start = self._began = self._written = clock()

    def __call__(self, text: str) -> None:
        """Enter a stage, or update the progress of the current one."""
        with self._lock:
            if stage_of(text) != stage_of(self._text):
                self._began, self._named = self._clock(), False
            self._text = text

    def tick(self) -> None:
        """Write a line if one is due."""
        with self._lock:
            now = self._clock()
            lasts = not self._named and now - self._began >= LASTING
            if lasts or now - self._written >= PERIOD:
                self._named, self._written = True, now
                self._write(f"{timedelta(seconds=int(now - self._start))} {self._text}")


def stage_of(text: str) -> str:
    """Return the stage in a text of :data:`Progress`, without the progress within it."""
    return text.partition(": ")[0]


@contextmanager
def show_progress() -> Iterator[Progress]:
    """Show the progress on the error stream, as a status line on a terminal and as log lines elsewhere."""
    console = Console(stderr=True)
    with status_line(console) if console.is_terminal else log_lines(console) as progress:
        yield progress


@contextmanager
def status_line(console: Console) -> Iterator[Progress]:
    """Show the elapsed time, the stage and its progress on one line, which is cleared at the end."""
    columns = (
        SpinnerColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True)),
    )
    with Live(*columns, console=console, transient=True, expand=True) as live:
        task = live.add_task(STARTING, total=None)
        yield lambda text: live.update(task, description=text)


@contextmanager
def log_lines(console: Console | None = None, tick: float = 0.5) -> Iterator[Progress]:
    """Print the lines of a :class:`Log`, which is checked every ``tick`` seconds; by default as errors."""
    file, done = (console or Console(stderr=True)).file, Event()
    log = Log(lambda line: print(line, file=file, flush=True))

    def run() -> None:
        while not done.wait(tick):
            log.tick()

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        yield log
    finally:
        done.set()
        thread.join()
