"""Less frequent garbage collection, and its restoration."""

import gc
import weakref

import pytest

from rbdhw.runtime import garbage_collector
from rbdhw.runtime.garbage_collector import pause_collection, seldom_collect

OFTEN = (700, 10, 10)


@pytest.fixture(autouse=True)
def default_thresholds():
    """Collect as often as Python does by default, not as seldom as the other tests, and nothing of theirs."""
    gc.freeze()
    before = gc.get_threshold()
    gc.set_threshold(*OFTEN)
    yield
    gc.set_threshold(*before)


def test_it_is_held_back_within_and_as_before_behind():
    @seldom_collect()
    def within():
        with seldom_collect():
            pass
        return gc.get_threshold()

    assert within() == within() == garbage_collector.SELDOM
    assert gc.get_threshold() == OFTEN


def test_an_error_lets_it_go():
    with pytest.raises(ZeroDivisionError), seldom_collect():
        raise ZeroDivisionError
    assert gc.get_threshold() == OFTEN


def test_nothing_is_collected_within_but_what_was_left_behind():
    class Ring:
        def __init__(self):
            self.itself = self

    left = weakref.ref(Ring())
    with pause_collection():
        assert left() is None
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_was_off_stays_off():
    gc.disable()
    try:
        with pause_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
