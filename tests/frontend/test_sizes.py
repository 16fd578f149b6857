"""The sizes of functions that are estimated before a trace."""

from rbdhw.frontend.sizes import WEIGHTS
from rbdhw.protocol import FUNCTIONS


def test_every_function_has_a_size() -> None:
    assert WEIGHTS.keys() == FUNCTIONS.keys()
