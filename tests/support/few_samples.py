"""Builds whose number formats are chosen from few random tasks."""

from contextlib import contextmanager
from functools import partialmethod

import pytest

from rbdhw.options.build import BuildOptions

SAMPLES = 512


@contextmanager
def few_samples():
    """Draw :data:`SAMPLES` random tasks where a build's options do not say how many: fewer than usual."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BuildOptions, "__init__", partialmethod(BuildOptions.__init__, samples=SAMPLES))
        yield
