"""Less frequent garbage collection while large structures are built.

Graphs and netlists are millions of tuples that live until the end and contain no cycles. With the default
thresholds the collector would scan them repeatedly, for half of the run time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (500_000, 20, 20)
"""The thresholds of the three generations."""


@contextmanager
def seldom_collect() -> Iterator[None]:
    """Collect less often, in a ``with`` block or in a decorated function."""
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def pause_collection() -> Iterator[None]:
    """Collect once, then not again until the end of a ``with`` block or of a decorated function.

    Use it for work without reference cycles, whose memory reference counting frees at once.
    """
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
