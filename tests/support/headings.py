"""Builds whose Verilog is only a heading."""

from contextlib import contextmanager

import pytest

from rbdhw import pipeline
from rbdhw.cores import KINDS
from rbdhw.cores.solver.core import SolverCore


@contextmanager
def headings():
    """Write only the heading of Verilog: the rest takes most of the time of a small build."""
    with pytest.MonkeyPatch.context() as patch:
        for core in KINDS.values():
            patch.setattr(core, "component", lambda *_: None)  # an unused component would warn
        patch.setattr(SolverCore, "component", lambda *_: None)
        patch.setattr(pipeline, "Accelerator", lambda **_: None)
        patch.setattr(pipeline, "AxiAccelerator", lambda **_: None)
        patch.setattr(pipeline, "to_verilog", lambda _component, _name, header: "\n".join(header))
        yield
