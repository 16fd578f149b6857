"""Settings for all tests, and fixtures that run a command line in this process."""

import gc
import math
import sys
from contextlib import contextmanager, nullcontext
from functools import cache

import pytest
import typer.main
from amaranth.hdl import _nir
from amaranth.hdl._ast import Concat, Operator, SwitchValue
from hypothesis import settings

from rbdhw import progress
from rbdhw.cli.app import main
from rbdhw.cli.process import BAD_INPUT
from rbdhw.design.folder import write
from rbdhw.frontend import build_graph
from rbdhw.graph.graph import Op
from rbdhw.rtl import verilog
from rbdhw.runtime import garbage_collector
from rbdhw.verilator import simulator
from rbdhw.verilator.simulator import AS_ONE_FILE
from rbdhw.verilator.tools import FLAGS, Tools
from tests.support.designs import faulty, rail_design
from tests.support.few_samples import few_samples
from tests.support.headings import headings
from tests.support.netlists import is_acyclic
from tests.support.verilated_headers import OPTIMISATION, precompiled_headers

FEW = "few"
"""The profile of `make test`. That of `make verify` is ``ci``, which has a hundred examples."""

settings.register_profile(FEW, settings.get_profile("ci"), max_examples=8)

HOUR = 3600


def pytest_collection_modifyitems(items):
    """Give each test that is marked ``verify`` an hour, or ten times its minutes: the machine may be busy."""
    for item in items:
        mark = item.get_closest_marker("verify")
        if mark and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(max(HOUR, 600 * mark.kwargs.get("minutes", 0))))


@pytest.fixture(autouse=True)
def no_progress(monkeypatch):
    """Keep progress off the error stream, on a machine of any speed."""
    monkeypatch.setattr(progress, "LASTING", math.inf)
    monkeypatch.setattr(progress, "PERIOD", math.inf)


@pytest.fixture(autouse=True, scope="session")
def quick_compilation(tmp_path_factory):
    """Compile simulators without optimisation and, but for large ones, as one file with compiled headers.

    They simulate few tasks; compiling takes most of the time, and the headers most of that.
    """
    run_make, headers = Tools.run_make, precompiled_headers(tmp_path_factory.getbasetemp())

    def with_headers(tools, folder, arguments, log):
        if AS_ONE_FILE[0] in arguments:
            arguments = [*arguments, f"OPT_FAST={OPTIMISATION} -include {headers}"]
        run_make(tools, folder, arguments, log)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FLAGS, "OPT_FAST", OPTIMISATION)
        patch.setattr(simulator, "SINGLE_FILE", 4 * simulator.SINGLE_FILE)
        patch.setattr(Tools, "run_make", with_headers)
        yield


@pytest.fixture(autouse=True, scope="session")
def quick_netlists():
    """Check Amaranth's netlists by value and by cell instead of by net: it takes a fifth of a build."""

    check, resolve = _nir.Netlist.check_comb_cycles, _nir.Netlist.resolve_value

    def value(cls, nets=()):
        return tuple.__new__(cls, (nets,) if isinstance(nets, _nir.Net) else nets)

    def from_cell(cls, cell, bit):
        return int.__new__(cls, cell << 16 | bit)

    def resolve_value(netlist, value):
        return value if min(value, default=0) >= 0 else resolve(netlist, value)  # late nets are negative

    def check_comb_cycles(netlist):
        if not is_acyclic(netlist):  # its nets may be
            check(netlist)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_nir.Value, "__new__", value)
        patch.setattr(_nir.Net, "from_cell", classmethod(from_cell))
        patch.setattr(_nir.Netlist, "resolve_value", resolve_value)
        patch.setattr(_nir.Netlist, "check_comb_cycles", check_comb_cycles)
        yield


@pytest.fixture(autouse=True, scope="session")
def remembered_shapes():
    """Find the shape of an expression once: Amaranth finds it anew, with those of its parts, at each use."""

    def remembered(shape):
        def remembered_shape(value):
            if "known_shape" not in value.__dict__:
                value.known_shape = shape(value)
            return value.known_shape

        return remembered_shape

    with pytest.MonkeyPatch.context() as patch:
        for kind in (Concat, Operator, SwitchValue):
            patch.setattr(kind, "shape", remembered(kind.shape))
        yield


@contextmanager
def no_collection():
    """Do not collect garbage in a ``with`` block, nor before it."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.fixture(autouse=True, scope="session")
def rare_collection():
    """Collect garbage less often, and never the tests themselves: scanning would take a third of the time.

    Many tests write Verilog; the objects that earlier tests left would be scanned before each.
    """
    gc.collect()
    gc.freeze()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(garbage_collector, "SELDOM", (5_000_000, 20, 20))
        patch.setattr(verilog, "pause_collection", no_collection)
        with garbage_collector.seldom_collect():
            yield
            gc.freeze()  # pytest collects five times more


@pytest.fixture(autouse=True, scope="module")
def no_scanning_of_other_files():
    """Never scan what the tests of earlier files left: a collection during a test would take seconds."""
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def remembered_commands():
    """Build the parsers of a command line once: that takes most of the time of a refusal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.main.get_command", cache(typer.main.get_command))
        yield


@pytest.fixture(autouse=True, scope="session")
def remembered_costs():
    """Count the operations of a rewritten robot once: many tests prepare the same robots."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_graph, "operation_cost", cache(build_graph.operation_cost))
        yield


@pytest.fixture(autouse=True, scope="session")
def remembered_choices():
    """Compare the algorithms for the same robot, functions and delays once."""
    choose, known = build_graph.choose, {}

    def remembered(robot, functions, fext, delay, forced, *progress, soonest=False):
        kept = tuple(functions), tuple(fext), tuple(map(delay, Op)), frozenset(forced.items()), soonest
        if (robot, *kept) not in known:
            known[robot, *kept] = choose(robot, functions, fext, delay, forced, *progress, soonest=soonest)
        return known[robot, *kept]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_graph, "choose", remembered)
        yield


@pytest.fixture(scope="module")
def without_verilog():
    """Write only the heading of Verilog in this file."""
    with headings():
        yield


@pytest.fixture
def only_heading():
    """Write only the heading of Verilog in this test."""
    with headings():
        yield


@pytest.fixture(autouse=True, scope="session")
def few_samples_in_quick_tests(pytestconfig):
    """Choose number formats from few random tasks in `make test`, from as many as usual in `make verify`."""
    with few_samples() if pytestconfig.getoption("hypothesis_profile") == FEW else nullcontext():
        yield


@pytest.fixture(name="few_samples")
def with_few_samples():
    """Choose number formats from few random tasks in this test."""
    with few_samples():
        yield


@pytest.fixture
def rbdhw(monkeypatch, capsys):
    """Run a command line in this process; return its exit status, standard output and error stream."""

    def rbdhw(*arguments):
        monkeypatch.setattr(sys, "argv", ["rbdhw", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return rbdhw


@pytest.fixture
def told(rbdhw):
    """Return the one-line message about bad input on a command line."""

    def told(*arguments):
        status, out, err = rbdhw(*arguments)
        assert (status, out) == (BAD_INPUT, "")
        assert err.startswith("rbdhw: ")
        assert err.endswith("\n")
        assert err.count("\n") == 1
        return err.removeprefix("rbdhw: ").rstrip("\n")

    return told


@pytest.fixture(scope="session", name="cache")
def simulators(tmp_path_factory):
    """Return the folder of small simulators, built once for all tests of a worker."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def rail_folder(tmp_path_factory):
    """Return a correct design of two bodies on rails, with packets of several beats."""
    folder = tmp_path_factory.mktemp("rail") / "design of two carts"
    write(rail_design(data_width=32, bodies=2), folder)
    return folder


@pytest.fixture(scope="session")
def faulty_folder(tmp_path_factory):
    """Return a design with the faulty hardware of :func:`tests.support.designs.faulty`."""
    folder = tmp_path_factory.mktemp("faulty") / "design"
    write(faulty(rail_design()), folder)
    return folder
