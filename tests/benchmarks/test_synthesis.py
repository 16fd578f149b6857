"""The designs of the calibration table: what is measured, and that another measurement agrees."""

from dataclasses import replace

import pytest

from benchmarks import synthesis
from benchmarks.synthesis import (
    Subject,
    known_counts,
    measure_subject,
    select_subjects,
    subjects,
    yosys_version,
)
from rbdhw.errors import InputError
from rbdhw.estimate.calibration import Calibration, calibration
from rbdhw.estimate.resources import Resources
from rbdhw.pipeline import generate
from rbdhw.robots import path
from rbdhw.target import TARGETS

SMALL = Subject("toy", ("id",), 4, 18, "ecp5-85", 64)
COUNTS = {"luts": 1000, "flip_flops": 1000, "dsp_blocks": 6, "block_rams": 2}
EMPTY = Calibration(yosys="", designs=(), weights={}, errors={})


@pytest.fixture
def without_hardware(monkeypatch, only_heading):  # noqa: ARG001 - it leaves out the cores
    """Have one text in place of the Verilog of every design."""
    monkeypatch.setattr(synthesis, "Accelerator", lambda **_: None)
    monkeypatch.setattr(synthesis, "to_verilog", lambda _: "module top;")


def test_subjects_are_told_in_a_line():
    assert str(SMALL) == "toy id II=4 18 bits ecp5-85"
    assert len(set(subjects())) == len(list(subjects()))
    assert {subject.target for subject in subjects()} <= set(TARGETS)
    assert str(replace(SMALL, ii=8, core="array")) == "toy id II=8 18 bits ecp5-85 array"
    assert replace(SMALL, ii=8, core="array").options.core == "array"
    floating = Subject("atlas", ("id",), 16, 18, "xcvu9p", base="floating")
    assert str(floating) == "atlas floating id II=16 18 bits xcvu9p"
    assert floating.options.mounting.base == "floating"


def test_designs_are_found_by_what_they_are_told_with():
    assert SMALL in select_subjects("TOY id II=4")
    assert select_subjects("") == list(subjects())
    assert {subject.number for subject in select_subjects("float32")} == {"float32"}
    assert all(subject.clock_mhz == 250.0 for subject in select_subjects("at 250 MHz"))
    with pytest.raises(InputError) as refusal:
        select_subjects("z80")
    expected = "expected part of a line such as 'iiwa14 all II=1 18 bits xcvu9p'"
    assert str(refusal.value) == f"only: no design's description contains 'z80'; {expected}"


@pytest.mark.usefixtures("without_hardware")
def test_only_what_is_asked_for_is_measured_again(monkeypatch):
    """The hardware of every design has changed, and one design is requested."""
    monkeypatch.setattr(synthesis, "_count_cells", lambda *_: Resources(**COUNTS))
    table = calibration()
    other = tuple(design.model_copy(update={"verilog": "other"}) for design in table.designs)
    monkeypatch.setattr(synthesis, "yosys_version", lambda: table.yosys)
    result = synthesis.calibrate(
        table.model_copy(update={"designs": other}), lambda _: None, lambda _: None, [SMALL]
    )
    before = {synthesis.subject_of(design): design for design in other}
    after = {synthesis.subject_of(design): design for design in result.designs}
    assert after.keys() == before.keys()
    assert [subject for subject in after if after[subject] != before[subject]] == [SMALL]
    assert after[SMALL].measured == Resources(**COUNTS)


@pytest.mark.verify
def test_a_generated_design_is_the_hardware_of_its_subject(monkeypatch):
    """The comment above the modules does not identify a design; the text of its modules does."""
    monkeypatch.setattr(synthesis, "_count_cells", lambda *_: Resources(**COUNTS))
    digest = measure_subject(SMALL, "any").verilog
    verilog = generate(path(SMALL.robot), SMALL.options).verilog
    assert verilog.startswith("// rbdhw ")
    assert synthesis.digest_of(verilog) == digest
    assert synthesis.digest_of(verilog.replace("<=", "=", 1)) != digest


def test_what_is_known_is_the_same_hardware():
    kept = calibration().designs[0]
    assert known_counts(synthesis.subject_of(kept), "other Verilog") is None


@pytest.mark.verify
@pytest.mark.usefixtures("without_hardware")
def test_it_may_be_stopped_at_any_time(monkeypatch):
    """An interruption in the second of two designs keeps the first, which is not measured again."""
    both = [SMALL, replace(SMALL, ii=8)]
    measured, tables_kept = [], []

    def stopped(*_):
        if len(measured) == 1:
            raise KeyboardInterrupt
        measured.append(COUNTS)
        return Resources(**COUNTS)

    monkeypatch.setattr(synthesis, "_count_cells", stopped)
    with pytest.raises(KeyboardInterrupt):
        synthesis.calibrate(EMPTY, tables_kept.append, lambda _: None, both)
    (kept,) = tables_kept
    assert [synthesis.subject_of(design) for design in kept.designs] == [SMALL]
    monkeypatch.setattr(synthesis, "_count_cells", lambda *_: Resources(**{**COUNTS, "luts": 2000}))
    tables_kept, told = [], []
    result = synthesis.calibrate(kept, tables_kept.append, told.append, both)
    assert [design.measured.luts for design in result.designs] == [1000, 2000]
    assert [len(table.designs) for table in tables_kept] == [1, 2]
    assert told == ["1 of 2: toy id II=4 18 bits ecp5-85", "2 of 2: toy id II=8 18 bits ecp5-85"]
    assert result.designs[0] == kept.designs[0]


@pytest.mark.usefixtures("without_hardware")
def test_a_table_of_another_yosys_stays_whole_when_it_is_stopped(monkeypatch):
    """Remaining designs keep the counts of the other version."""
    monkeypatch.setattr(synthesis, "_count_cells", lambda *_: Resources(**COUNTS))
    monkeypatch.setattr(synthesis, "yosys_version", lambda: "9.99")
    tables_kept = []
    synthesis.calibrate(calibration(), tables_kept.append, lambda _: None, [SMALL])
    (kept,) = tables_kept
    versions = {synthesis.subject_of(design): design.yosys for design in kept.designs}
    assert versions.keys() == {synthesis.subject_of(design) for design in calibration().designs}
    assert {subject for subject, version in versions.items() if version == "9.99"} == {SMALL}
    assert kept.yosys == f"{calibration().yosys} and 9.99"


@pytest.mark.verify
def test_another_yosys_measures_everything_again(monkeypatch):
    monkeypatch.setattr(synthesis, "_count_cells", lambda *_: Resources(**COUNTS))
    first = synthesis.calibrate(EMPTY, lambda _: None, lambda _: None, [SMALL])
    monkeypatch.setattr(synthesis, "_count_cells", lambda *_: Resources(**{**COUNTS, "luts": 2000}))
    monkeypatch.setattr(synthesis, "yosys_version", lambda: "9.99")
    result = synthesis.calibrate(first, lambda _: None, lambda _: None, [SMALL])
    assert (result.yosys, result.designs[0].measured.luts) == ("9.99", 2000)


@pytest.mark.verify
def test_a_design_is_measured_again_as_the_table_keeps_it():
    key = {"robot": "toy", "functions": ("id",), "ii": 4, "target": "ecp5-85"}
    kept = next(design for design in calibration().designs if key.items() <= vars(design).items())
    assert yosys_version() == kept.yosys
    assert measure_subject(SMALL, yosys_version()) == kept
