"""The manifest's latencies equal those of single tasks in the Verilog, without contention."""

from itertools import product

import pytest

from rbdhw.design.folder import read, write
from rbdhw.options.build import DATA_WIDTHS, NUMBERS, BuildOptions
from rbdhw.pipeline import generate
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robots import path
from tests.support.alone import measured
from tests.support.marks import long


def cases():
    """Return core, interval, number format, bits of TDATA, and functions."""
    short = [("pipeline", 12, "float32", 32)]
    for k, (core, width) in enumerate(product(("pipeline", "array"), DATA_WIDTHS)):
        number = NUMBERS[(k + (core == "array")) % 2]
        ii = 9 if core == "array" else {32: 12, 128: 3}.get(width, 1)
        case = (core, ii, number, width)
        if case in short:
            yield *case, ("id", "m")
        yield long(*case, DEFAULT_FUNCTIONS, minutes=0.6)
    yield long("array", 32, "fixed", 32, DEFAULT_FUNCTIONS)


@pytest.mark.parametrize(("core", "ii", "number", "data_width", "functions"), list(cases()))
def test_a_task_alone_takes_the_cycles_of_the_manifest(tmp_path, core, ii, number, data_width, functions):
    """At each other phase a task waits up to II - 1 cycles more.

    A preceding response of another function costs one cycle more.
    """
    options = BuildOptions(
        functions, ii=ii, width=18, core=core, number=number, data_width=data_width, samples=256
    )
    write(generate(path("toy"), options), tmp_path / "design")
    told = read(tmp_path / "design").manifest["functions"]
    for k, (function, (first, *others)) in enumerate(measured(tmp_path / "design", tmp_path).items()):
        least = told[function]["latency_cycles"]
        assert sorted(others) == list(range(least, least + ii)), function
        assert first == others[-1] + (k > 0), function
        assert told[function]["latency_us"] == round(
            least / read(tmp_path / "design").manifest["clock_mhz"], 4
        )
