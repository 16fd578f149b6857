"""The garbage collector, held back and let go."""

import gc

import pytest

from rbdhw.collector import SELDOM, seldom_collected


def test_it_is_held_back_within_and_as_before_behind():
    before = gc.get_threshold()

    @seldom_collected()
    def within():
        with seldom_collected():
            pass
        return gc.get_threshold()

    assert within() == within() == SELDOM
    assert gc.get_threshold() == before


def test_an_error_lets_it_go():
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), seldom_collected():
        raise ZeroDivisionError
    assert gc.get_threshold() == before
