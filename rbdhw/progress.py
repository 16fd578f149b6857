"""Which stage is at work: on a terminal a status line, in a log plain lines."""

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
"""Receives the stage at work, and after a colon how far it is: ``simulating: 3 of 12 tasks``."""

LASTING = 2.0
"""Seconds after which a log names a stage. Shorter stages stay silent."""

PERIOD = 20.0
"""Seconds without a line after which a log repeats what is at work."""

STARTING = "starting"


def silent(_text: str) -> None:
    """A progress that shows nothing."""


def within(stage: str, progress: Progress) -> Progress:
    """A progress of one stage: it receives how far the stage is, without the stage's name."""
    return lambda text: progress(f"{stage}: {text}")


class Log:
    """Progress as plain lines, each with the time elapsed.

    :meth:`tick` writes a line when a stage has lasted :data:`LASTING` seconds, and whenever :data:`PERIOD`
    seconds have passed without a line. It may run in another thread than the progress.

    Parameters
    ----------
    write
        Receives each line.
    clock
        The time in seconds.
    """

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._lock = Lock()
        self._text = STARTING
        self._named = False
        self._start = self._began = self._written = clock()

    def __call__(self, text: str) -> None:
        """Enter a stage, or say how far it is."""
        with self._lock:
            if stage_of(text) != stage_of(self._text):
                self._began, self._named = self._clock(), False
            self._text = text

    def tick(self) -> None:
        """Write the line that is due, if one is."""
        with self._lock:
            now = self._clock()
            lasts = not self._named and now - self._began >= LASTING
            if lasts or now - self._written >= PERIOD:
                self._named, self._written = True, now
                self._write(f"{timedelta(seconds=int(now - self._start))} {self._text}")


def stage_of(text: str) -> str:
    """The stage in a text of :data:`Progress`, without how far it is."""
    return text.partition(": ")[0]


@contextmanager
def shown() -> Iterator[Progress]:
    """Show the progress on the error stream, in the form that suits a terminal or a log."""
    console = Console(stderr=True)
    with status_line(console) if console.is_terminal else log_lines(console) as progress:
        yield progress


@contextmanager
def status_line(console: Console) -> Iterator[Progress]:
    """The time elapsed, the stage and its counts on one line, which disappears at the end."""
    columns = (
        SpinnerColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True)),
    )
    with Live(*columns, console=console, transient=True, expand=True) as live:
        task = live.add_task(STARTING, total=None)
        yield lambda text: live.update(task, description=text)


@contextmanager
def log_lines(console: Console, tick: float = 0.5) -> Iterator[Progress]:
    """The lines of a :class:`Log`, which looks every ``tick`` seconds whether one is due."""
    done = Event()
    log = Log(lambda line: print(line, file=console.file, flush=True))

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
