"""Work for executors, which other processes import."""

import os
import signal
import time
from pathlib import Path


def square(number: int) -> int:
    return number**2


def inverse(number: int) -> float:
    return 1.0 / number


def dies(_job: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dies_once(job: tuple[int, str | None]) -> int:
    """Return the square of a number; kill the process first if a file is named that is not there yet."""
    number, file = job
    if file is not None and not Path(file).exists():
        time.sleep(1.5)
        Path(file).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number**2
