"""Accelerators with several cores: the hardware, the models and the manifest."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rbdhw.design.folder import read, write
from rbdhw.design.manifest import Manifest
from rbdhw.errors import InputError
from rbdhw.header import EXTENDED
from rbdhw.model.packets import Beats, field
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions, CoreRequest
from rbdhw.pipeline import generate
from rbdhw.protocol import CODES, DEFAULT_FUNCTIONS, FUNCTIONS
from rbdhw.robots import path
from rbdhw.sim.simulate import simulate
from rbdhw.software.exact_library import ExactLibrary
from rbdhw.verilator import bulk
from tests.support.alone import measured
from tests.support.designs import assert_same
from tests.support.marks import long

OPTIONS = BuildOptions(DEFAULT_FUNCTIONS, width=18, data_width=128, samples=512)

BUILDS: dict[str, BuildOptions] = {
    "kinds": replace(
        OPTIONS,
        functions=("id", "m", "did"),
        cores=(CoreRequest(("id",), 5, copies=2), CoreRequest(("m", "did"), 16, "array")),
    ),
    "copies": replace(OPTIONS, functions=("id",), ii=6, copies=3, number="float32"),
    "chain": replace(OPTIONS, functions=("fd",), ii=32, copies=2, core="chain"),
}

LONG: dict[str, BuildOptions] = {
    "all": replace(
        OPTIONS,
        cores=(
            CoreRequest(("id", "fd"), 1),
            CoreRequest(("m", "minv", "did"), 6, copies=2),
            CoreRequest(("dfd", "difd"), 16, "array", copies=2),
        ),
    ),
    "paces": replace(
        OPTIONS,
        width=None,
        cores=(
            CoreRequest(("id", "fd"), 1),
            CoreRequest(("m", "minv", "did"), 3),
            CoreRequest(("dfd", "difd"), 8, copies=2),
        ),
    ),
    "array": replace(
        OPTIONS,
        cores=(
            CoreRequest(("fd", "dfd", "difd"), 16, "array", copies=2),
            CoreRequest(("id", "m", "minv", "did"), 2),
        ),
    ),
    "float": replace(OPTIONS, ii=6, copies=3, number="float32"),
}
"""Builds for `make verify`."""


@pytest.fixture(scope="module", params=[name if name == "kinds" else long(name) for name in (*BUILDS, *LONG)])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp(request.param) / "design"
    write(generate(path("toy"), (BUILDS | LONG)[request.param]), target)
    return target


def test_the_hardware_is_bit_exact(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All functions are mixed, and half of what can be is extended."""
    asked: list[Beats] = []

    def recorded(executable, requests, traffic, exchange=bulk.exchange):
        asked.extend(requests)
        return exchange(executable, requests, traffic)

    monkeypatch.setattr(bulk, "exchange", recorded)
    report = simulate(folder, 600, seed=3, bulk=True)
    assert (report.tasks, report.mismatches) == (600, 0)
    count = len(report.functions)
    assert all(function.tasks > 400 / count for function in report.functions.values())
    ends = np.flatnonzero(asked[0].last)
    firsts = asked[0].data[np.concatenate([[0], ends[:-1] + 1]), :4]
    header = np.ascontiguousarray(firsts).view("<u4")[:, 0].astype(np.int64)
    assert np.array_equal(field(header, "tag"), np.arange(600))
    functions, extended = field(header, "function"), field(header, "options") == 1 << EXTENDED
    assert np.count_nonzero(np.diff(functions)) >= 500 * (count - 1) / count
    for name in report.functions:
        share = np.mean(extended[functions == CODES[name]])
        assert 0.35 < share < 0.65 if FUNCTIONS[name].extensible else share == 0.0


@pytest.mark.verify
@pytest.mark.parametrize("folder", ["chain", "kinds", "float"], indirect=True)
def test_a_task_alone_takes_the_stated_latency(folder: Path, tmp_path: Path) -> None:
    """The first task also waits for the turn of the merger, which has one for each core."""
    manifest = read(folder).description
    phases = math.lcm(*(part.ii for part in manifest.parts)) * sum(part.copies for part in manifest.parts)
    for name, (_, *latencies) in measured(folder, tmp_path, phases).items():
        assert min(latencies) == manifest.functions[name].latency_cycles


def test_the_model_in_c_has_the_same_bits(folder: Path) -> None:
    design, rng = read(folder), np.random.default_rng(5)
    library = ExactLibrary(design)
    for function in design.functions:
        for extended in (False, True) if design.interface.words(function).extensible else (False,):
            words = {
                word.name: rng.integers(word.format.lowest, word.format.highest, 200, endpoint=True)
                for word in design.interface.inputs(function, extended)
            }
            status, results = respond(design, function, words, extended)
            computed_status, computed = library.respond(function, words, extended)
            np.testing.assert_array_equal(computed_status, status)
            for name, values in results.items():
                np.testing.assert_array_equal(computed[name], values)


def test_the_design_is_read_as_it_was_written(folder: Path) -> None:
    design = read(folder)
    again = folder.parent / "again"
    write(design, again)
    assert_same(read(again), design)


def test_the_manifest_describes_every_core(folder: Path) -> None:
    manifest: Manifest = read(folder).description
    options = (BUILDS | LONG)[folder.parent.name.rstrip("0123456789")]
    asked = options.cores or (CoreRequest(options.functions, options.least_ii, options.core, options.copies),)
    for part, request in zip(manifest.parts, asked, strict=True):
        assert set(part.functions) == set(request.functions)
        assert (part.ii, part.copies, part.core) == (request.ii, request.copies, request.core or "pipeline")
    assert manifest.ii == max(request.ii for request in asked)
    assert manifest.dsp_blocks == sum(part.copies * part.dsp_blocks for part in manifest.parts)
    assert manifest.estimate.dsp_blocks == manifest.dsp_blocks
    for part in manifest.parts:
        for name in part.functions:
            entry, packets = manifest.functions[name], manifest.interval.link.functions[name]
            beats = max(packets.beats_in, packets.beats_out)
            assert entry.cycles_per_task == pytest.approx(max(part.ii / part.copies, beats), abs=1e-4)


@pytest.mark.usefixtures("only_heading")
def test_a_budget_sets_the_width_of_each_core() -> None:
    cores = (CoreRequest(("id",), 1), CoreRequest(("fd",), 4))
    manifest = generate(
        path("toy"), replace(OPTIONS, functions=("id", "fd"), width=None, cores=cores)
    ).description
    narrow, wide = (part.width for part in manifest.parts)
    assert narrow == [18, 18]
    assert 18 < wide[0] <= 27
    assert manifest.width == wide
    for function in ("id", "fd"):
        error = manifest.error[function]
        assert error.limit is not None
        assert error.max < error.limit / 3


@pytest.mark.verify
def test_cores_that_do_not_fit_are_refused() -> None:
    options = replace(OPTIONS, functions=("id",), ii=1, copies=40, fit=0.02)
    with pytest.raises(InputError, match=r"^fit: the cores take .*; use --copies \d+$"):
        generate(path("toy"), options)
    cores = (CoreRequest(("id",), 1, copies=60), CoreRequest(("fd",), 1))
    options = replace(OPTIONS, functions=("id", "fd"), cores=cores, fit=0.01)
    with pytest.raises(InputError, match="use longer intervals in --cores, fewer copies, or a larger --fit"):
        generate(path("toy"), options)
