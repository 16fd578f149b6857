"""The table's designs: what is measured, and that measuring again gives the same."""

from dataclasses import replace

import pytest

from rbdhw import calibrate
from rbdhw.calibrate import Subject, known, named, rows, sample, subjects, tables, yosys_version
from rbdhw.errors import InputError
from rbdhw.estimate.calibration import Calibration, Measured, calibration
from rbdhw.pipeline import generate
from rbdhw.robots import path
from rbdhw.target import TARGETS

SMALL = Subject("toy", ("id",), 4, 18, "ecp5-85", 64)
COUNTS = {"luts": 1000, "flip_flops": 1000, "dsp_blocks": 6, "block_rams": 2}
EMPTY = Calibration(yosys="", designs=(), weights={}, errors={})


def test_subjects_are_told_in_a_line():
    assert str(SMALL) == "toy id II=4 18 bits ecp5-85"
    assert len(set(subjects())) == len(list(subjects()))
    assert {subject.target for subject in subjects()} <= set(TARGETS)
    assert str(replace(SMALL, ii=8, core="array")) == "toy id II=8 18 bits ecp5-85 array"
    assert replace(SMALL, ii=8, core="array").options.core == "array"


def test_designs_are_found_by_what_they_are_told_with():
    assert SMALL in named("TOY id II=4")
    assert named("") == list(subjects())
    assert {subject.number for subject in named("float32")} == {"float32"}
    assert all(subject.clock_mhz == 250.0 for subject in named("at 250 MHz"))
    with pytest.raises(InputError) as refusal:
        named("z80")
    expected = "expected part of a line such as 'iiwa14 all II=1 18 bits xcvu9p'"
    assert str(refusal.value) == f"only: no design is told with 'z80'; {expected}"


def test_only_what_is_asked_for_is_measured_again(monkeypatch):
    """Of a table in which the hardware of every design is another, one design is asked for."""
    monkeypatch.setattr(calibrate, "_counted", lambda *_: Measured(**COUNTS))
    table = calibration()
    other = tuple(design.model_copy(update={"verilog": "other"}) for design in table.designs)
    monkeypatch.setattr(calibrate, "yosys_version", lambda: table.yosys)
    found = calibrate.calibrate(
        table.model_copy(update={"designs": other}), lambda _: None, lambda _: None, [SMALL]
    )
    before = {calibrate.subject_of(design): design for design in other}
    after = {calibrate.subject_of(design): design for design in found.designs}
    assert after.keys() == before.keys()
    assert [subject for subject in after if after[subject] != before[subject]] == [SMALL]
    assert after[SMALL].measured == Measured(**COUNTS)


def test_a_generated_design_is_the_hardware_of_its_subject(monkeypatch):
    """The comment above its modules makes it no other, and their text does."""
    monkeypatch.setattr(calibrate, "_counted", lambda *_: Measured(**COUNTS))
    digest = sample(SMALL).verilog
    verilog = generate(path(SMALL.robot), SMALL.options).verilog
    assert verilog.startswith("// rbdhw ")
    assert calibrate.digest_of(verilog) == digest
    assert calibrate.digest_of(verilog.replace("<=", "=", 1)) != digest


def test_what_is_known_is_the_same_hardware():
    kept = calibration().designs[0]
    assert known(calibrate.subject_of(kept), "other Verilog") is None


def test_tables_set_estimates_beside_counts():
    titles = tables(calibration())
    assert f"Estimated / counted by Yosys {calibration().yosys}" in titles
    first = rows(calibration())[0]
    assert set(first) == {"design", "luts", "flip flops", "dsp blocks", "block rams"}
    assert " / " in first["luts"]


def test_what_has_not_changed_is_not_measured_again(monkeypatch):
    """Of two designs one is known; the table is kept after each."""
    other = replace(SMALL, ii=8)
    monkeypatch.setattr(calibrate, "_counted", lambda *_: Measured(**COUNTS))
    first = calibrate.calibrate(EMPTY, lambda _: None, lambda _: None, [SMALL])
    monkeypatch.setattr(calibrate, "_counted", lambda *_: Measured(**{**COUNTS, "luts": 2000}))
    tables_kept, told = [], []
    found = calibrate.calibrate(first, tables_kept.append, told.append, [SMALL, other])
    assert [design.measured.luts for design in found.designs] == [1000, 2000]
    assert [len(table.designs) for table in tables_kept] == [1, 2]
    assert told == ["toy id II=4 18 bits ecp5-85", "toy id II=8 18 bits ecp5-85"]
    assert found.designs[0] == first.designs[0]


def test_another_yosys_measures_everything_again(monkeypatch):
    monkeypatch.setattr(calibrate, "_counted", lambda *_: Measured(**COUNTS))
    first = calibrate.calibrate(EMPTY, lambda _: None, lambda _: None, [SMALL])
    monkeypatch.setattr(calibrate, "_counted", lambda *_: Measured(**{**COUNTS, "luts": 2000}))
    monkeypatch.setattr(calibrate, "yosys_version", lambda: "9.99")
    found = calibrate.calibrate(first, lambda _: None, lambda _: None, [SMALL])
    assert (found.yosys, found.designs[0].measured.luts) == ("9.99", 2000)


@pytest.mark.verify
def test_a_design_is_measured_again_as_the_table_keeps_it():
    own = {"robot": "toy", "functions": ("id",), "ii": 4, "target": "ecp5-85"}
    kept = next(design for design in calibration().designs if own.items() <= vars(design).items())
    assert yosys_version() == calibration().yosys
    assert sample(SMALL) == kept
