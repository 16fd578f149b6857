"""Several pairs of streams in Verilator: bit for bit, with mixed functions, loads and copies of the core."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw.design.folder import read, write
from rbdhw.domain.sampling import sample
from rbdhw.engines.registry import open_engine
from rbdhw.model.packets import encode, merge, requests
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import generate
from rbdhw.robots import path
from rbdhw.sim.simulate import simulate
from rbdhw.verilator.bulk import build, exchange
from rbdhw.verilator.simulator import Disturbance
from tests.support.marks import long

OPTIONS = BuildOptions(
    functions=("id",),
    ii=4,
    copies=2,
    width=18,
    samples=256,
    data_width=64,
    streams=2,
    mounting=Mounting(parameters="payload"),
    parameters_by="load",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("streams") / "toy"
    write(generate(path("toy"), OPTIONS), made)
    return made


@pytest.mark.parametrize("bulk", [long(False), True])
def test_the_model_answers_as_both_pairs_do(folder, bulk):
    report = simulate(folder, 301, 5, bubbles=0.3, back_pressure=0.3, bulk=bulk)
    assert (report.tasks, report.mismatches) == (301, 0)
    assert sum(function.tasks for function in report.functions.values()) == 301


def test_tasks_of_the_user_take_the_first_pair(folder):
    design = read(folder)
    arrays = sample(design.robot, design.domain, 8, np.random.default_rng(1))
    words = encode(design, "id", arrays)
    status, results = open_engine(folder, "rtl").respond("id", words)
    expected = respond(design, "id", words)
    np.testing.assert_array_equal(status, expected[0])
    for name, values in expected[1].items():
        np.testing.assert_array_equal(results[name], values)


def test_two_pairs_keep_cores_busy_that_are_faster_than_one(folder):
    """A request takes three cycles of a pair, and two of the cores."""
    design = read(folder)
    arrays = sample(design.robot, design.domain, 200, np.random.default_rng(1))
    del arrays["parameters"]
    asked = requests(design, "id", np.arange(200), encode(design, "id", arrays))
    beats = merge({0: np.arange(200)}, {0: asked})
    alone = exchange(build(folder), [beats], Disturbance())
    both = exchange(build(folder), [beats, beats], Disturbance())
    assert alone[0].cycles == pytest.approx(3 * 200, rel=0.05)
    assert [outcome.cycles for outcome in both] == pytest.approx([2 * 400] * 2, rel=0.05)
    for outcome in both:
        np.testing.assert_array_equal(outcome.responses.data, alone[0].responses.data)


@pytest.mark.usefixtures("only_heading")
def test_the_manifest_tells_the_pairs_and_their_rate(folder):
    several = read(folder)
    assert (several.description.stream.pairs, several.interface.streams) == (2, 2)
    assert "Streams: 2 pairs, TDATA of 64 bits" in several.verilog
    packets = several.description.interval.link.functions["id"]
    beats = max(packets.beats_in, packets.beats_out)
    pace = several.description.functions["id"].cycles_per_task
    assert pace == max(OPTIONS.ii / 2, beats / 2)
    one = generate(path("toy"), replace(OPTIONS, streams=1))
    assert one.manifest["functions"]["id"]["cycles_per_task"] == max(OPTIONS.ii / 2, beats)
    assert "pairs" not in one.manifest["stream"]
