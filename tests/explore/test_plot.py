"""Plots: their lines and legends, identical files for equal results, and a missing library."""

import sys
from xml.etree import ElementTree as ET

import pytest

from rbdhw.errors import InputError
from rbdhw.explore import plot

FOUND = {
    "robot": "toy",
    "target": "ecp5-85",
    "clock_mhz": 50.0,
    "functions": ["id", "fd"],
    "fit": 0.6,
    "chosen": {"ii": 5, "core": "pipeline", "why": "the fewest that fit 60% of ecp5-85"},
    "rows": [
        {
            "ii": ii,
            "core": core,
            "multipliers": 64 // ii,
            "dsp_blocks": 64 // ii + 2,
            "luts": 3000 + 10 * ii,
            "flip_flops": 2000,
            "block_rams": 4,
            "shares": {"luts": 0.04, "flip_flops": 0.02, "dsp_blocks": 2.0 / ii, "block_rams": 0.01},
            "latency": {"id": 5 + ii, "fd": 9 + ii},
            "tasks_per_second": 50_000_000 // ii,
        }
        for ii in (1, 2, 4, 5, 8, 16)
        for core in (("pipeline",) if ii < 8 else ("pipeline", "array"))
    ],
    "link": {
        "id": {"bytes_in": 20, "bytes_out": 10, "tasks_per_second": 10_000_000},
        "m": {"bytes_in": 20, "bytes_out": 10, "tasks_per_second": 10_000_000},
        "fd": {"bytes_in": 20, "bytes_out": 30, "tasks_per_second": 6_000_000},
    },
}


def drawn(exploration):
    """Return the figure of an exploration."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 8.0), layout="constrained")
    plot.draw_intervals(figure, exploration)
    figure.draw_without_rendering()
    return figure


@pytest.fixture(scope="module")
def figure():
    return drawn(FOUND)


INTERVALS = {"pipeline": [1, 2, 4, 5, 8, 16], "array": [8, 16]}
RESOURCES = ["LUTs", "flip-flops", "DSP blocks", "block RAMs"]


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_the_label_of_every_line_includes_its_core(figure):
    share, count, latency, rate = figure.axes
    for axes, names in ((share, RESOURCES), (count, [*RESOURCES, "multipliers"]), (latency, ["id", "fd"])):
        lines = {line.get_label(): list(line.get_xdata()) for line in axes.get_lines()}
        for core, intervals in INTERVALS.items():
            for name in names:
                assert lines.pop(f"{name}, {core}") == intervals
        assert list(lines)[-1] == "chosen: II 5, pipeline"
    assert legend(rate) == ["accelerator, each core", "link, id, m", "link, fd", "chosen: II 5, pipeline"]
    solid, dashed = (next(x for x in share.get_lines() if x.get_label() == f"LUTs, {c}") for c in INTERVALS)
    assert (solid.get_linestyle(), dashed.get_linestyle()) == ("-", "--")
    assert solid.get_color() == dashed.get_color()


def test_legends_lie_beside_their_panels(figure):
    for axes in figure.axes:
        box = axes.get_legend().get_window_extent()
        assert box.x0 >= axes.get_window_extent().x1 - 1.0
        assert box.x1 <= figure.bbox.x1
        assert not any(box.overlaps(other.get_window_extent()) for other in figure.axes)


def test_shares_are_percent_of_the_device_with_its_limits(figure):
    axes = figure.axes[0]
    assert axes.get_title() == "share of ecp5-85 (by estimate)"
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}
    assert lines["DSP blocks, pipeline"] == [200.0, 100.0, 50.0, 40.0, 25.0, 12.5]
    assert lines["all of ecp5-85"] == [100.0, 100.0]
    assert lines["--fit 60%"] == [60.0, 60.0]
    assert "50%" in [label.get_text() for label in axes.get_yticklabels()]


def test_the_chosen_interval_is_marked_in_every_panel(figure):
    for axes in figure.axes:
        (mark,) = (x for x in axes.get_lines() if x.get_label() == "chosen: II 5, pipeline")
        assert list(mark.get_xdata()) == [5, 5]
        assert [label.get_text() for label in axes.get_xticklabels()] in (["1", "2", "4", "8", "16"], [])
    assert figure.get_suptitle() == (
        "toy on ecp5-85 at 50 MHz\nchosen: II 5, pipeline: the fewest that fit 60% of ecp5-85"
    )


def test_an_interval_that_cannot_be_chosen_is_explained_and_a_limit_that_is_not_asked_for_not_drawn():
    chosen = {"ii": None, "core": None, "why": "fit: " + "at an ii of 64 it does not fit " * 9}
    figure = drawn(FOUND | {"chosen": chosen, "fit": None})
    assert "--fit 60%" not in legend(figure.axes[0])
    first, second, *_ = figure.get_suptitle().split("\n")
    assert first == "toy on ecp5-85 at 50 MHz"
    assert second.startswith("no II can be chosen: fit: at an ii of 64 it does not fit")
    assert max(map(len, figure.get_suptitle().split("\n"))) <= 120
    assert not any("chosen" in label for axes in figure.axes for label in legend(axes))


def test_equal_results_give_identical_pictures_and_drawings(tmp_path):
    pytest.importorskip("matplotlib")

    def draw(figure, exploration):
        axes = figure.subplots()
        axes.plot([row["ii"] for row in exploration["rows"]], label="II")
        axes.legend()

    first, second = (plot.plot(FOUND, tmp_path / name / "new", draw) for name in ("a", "b"))
    picture, drawing = first
    assert picture == tmp_path / "a" / "new" / "explore.png"
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert ET.parse(drawing).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_a_folder_that_cannot_be_written(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as error:
        plot.plot(FOUND, tmp_path / "file", plot.draw_intervals)
    expected = f"{tmp_path}/file: {tmp_path}/file is not a folder; expected a folder to plot to"
    assert str(error.value) == expected


def test_a_missing_library_is_reported_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError) as error:
        plot.plot(FOUND, tmp_path, plot.draw_intervals)
    assert str(error.value) == "matplotlib: not installed; run: pip install '.[plot]'"
