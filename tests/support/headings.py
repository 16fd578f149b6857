"""Builds whose Verilog is only a heading."""

from contextlib import contextmanager

import pytest

from rbdhw import pipeline
from rbdhw.cores import KINDS
from rbdhw.cores.solver.core import SolverCore
from rbdhw.design.folder import write
from rbdhw.pipeline import generate
from rbdhw.robots import path


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


def folders(robot, options):
    """Return fixtures of a module: the folder of an accelerator without Verilog, and one with it."""

    def written(folder):
        write(generate(path(robot), options), folder)
        return folder

    @pytest.fixture(scope="module")
    def folder(tmp_path_factory):
        with headings():
            return written(tmp_path_factory.mktemp("headings") / robot)

    @pytest.fixture(scope="module")
    def hardware(tmp_path_factory):
        return written(tmp_path_factory.mktemp("hardware") / robot)

    return folder, hardware
