"""Plots: of the same figures the same bytes, and one line where the library is missing."""

import sys
from xml.etree import ElementTree as ET

import pytest

from rbdhw import plot
from rbdhw.errors import InputError

FOUND = {
    "robot": "toy",
    "target": "ecp5-85",
    "clock_mhz": 50.0,
    "functions": ["id", "fd"],
    "rows": [
        {
            "ii": ii,
            "core": core,
            "multipliers": 64 // ii,
            "dsp_blocks": 64 // ii + 2,
            "luts": 3000 + 10 * ii,
            "flip_flops": 2000,
            "latency": {"id": 5 + ii, "fd": 9 + ii},
            "tasks_per_second": 50_000_000 // ii,
        }
        for ii in (1, 2, 4, 8, 16)
        for core in (("pipeline",) if ii < 8 else ("pipeline", "array"))
    ],
    "link": {
        "id": {"bytes_in": 20, "bytes_out": 10, "tasks_per_second": 10_000_000},
        "fd": {"bytes_in": 20, "bytes_out": 30, "tasks_per_second": 6_000_000},
    },
}


def test_a_plot_is_a_picture_and_a_drawing(tmp_path):
    pytest.importorskip("matplotlib")
    picture, drawing = plot.plot(FOUND, tmp_path / "new" / "folder")
    assert picture == tmp_path / "new" / "folder" / "explore.png"
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert ET.parse(drawing).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_each_core_has_lines_of_its_own():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    figure = Figure()
    plot._draw(figure, FOUND)
    blocks, luts, latency, rate = figure.axes
    told = {line.get_label(): list(line.get_xdata()) for line in luts.get_lines()}
    assert told == {
        "LUTs, estimated": [1, 2, 4, 8, 16],
        "flip-flops, estimated": [1, 2, 4, 8, 16],
        "LUTs, estimated, array": [8, 16],
        "flip-flops, estimated, array": [8, 16],
    }
    assert len(blocks.get_lines()) == len(latency.get_lines()) == 4
    assert len(rate.get_lines()) == 3


def test_the_same_figures_give_the_same_bytes(tmp_path):
    pytest.importorskip("matplotlib")
    first, second = (plot.plot(FOUND, tmp_path / name) for name in ("a", "b"))
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_a_folder_that_cannot_be_written(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as error:
        plot.plot(FOUND, tmp_path / "file")
    expected = f"{tmp_path}/file: cannot be written (File exists); expected a folder that can be"
    assert str(error.value) == expected


def test_without_the_library_there_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError) as error:
        plot.plot(FOUND, tmp_path)
    assert str(error.value) == "matplotlib: not installed; run: pip install '.[plot]'"
