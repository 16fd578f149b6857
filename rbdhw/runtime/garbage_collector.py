"""The garbage collector, held back while something large is made of many objects.

Graphs and netlists are millions of tuples that all live until they are done, and none of them is in a cycle.
The collector would look through all of them again and again: half the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (100_000, 20, 20)
"""Thresholds of the three generations while it is held back."""


@contextmanager
def seldom_collect() -> Iterator[None]:
    """Hold the collector back, in a ``with`` block or, as a decorator, in a function."""
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def pause_collection() -> Iterator[None]:
    """Collect what has been left behind, and then nothing before the end of a ``with`` block or a function.

    For what holds no cycles: counting references frees it at once.
    """
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
