"""Results that are computed once, in whatever form the arguments are given."""

from functools import cache, wraps
from inspect import signature


def remembered(function):
    """Return a function with :func:`functools.cache`, for which a default that is given is no other call."""
    parameters, known = signature(function), cache(function)

    @wraps(function)
    def in_one_form(*arguments, **named):
        given = parameters.bind(*arguments, **named)
        given.apply_defaults()
        return known(*given.args, **given.kwargs)

    return in_one_form
