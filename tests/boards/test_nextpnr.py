"""nextpnr: reports and logs, seeds until one reaches the clock, and the message about a missed clock."""

import json
from pathlib import Path
from typing import Any

import pytest

from rbdhw.boards.nextpnr import (
    LARGEST_SEED,
    Attempt,
    Placed,
    Report,
    best_placement,
    read_report,
    seeds_from,
    state_of,
)
from rbdhw.estimate.resources import Resources
from rbdhw.progress import Progress

CLOCK = "$glbnet$clk"
EDGE = f"posedge {CLOCK}"
COUNTS = {"TRELLIS_COMB": 7, "TRELLIS_FF": 6, "MULT18X18D": 5, "DP16KD": 4, "DCCA": 1}


def segment(source: str, sink: str) -> dict[str, Any]:
    """Return a segment of a path between two cells."""
    return {"delay": 1.0, "from": {"cell": source, "port": "Q"}, "to": {"cell": sink, "port": "D"}}


def written(path: Path, achieved: float) -> Path:
    """Write a report of a design at 50 MHz."""
    slowest = [
        segment("accelerator.core.rnea_forward_1.v5_TRELLIS_FF_Q", "a"),
        segment("a", "accelerator.core.v7_DI_LUT4_Z"),
        segment("accelerator.core.v7_DI_LUT4_Z", "accelerator.core.rnea_backward_0.x.y"),
    ]
    outside = [segment("ready$tr_io", "accelerator.assembler.busy")]
    report = {
        "critical_paths": [
            {"from": "<async>", "to": EDGE, "path": outside},
            {"from": EDGE, "to": EDGE, "path": slowest},
        ],
        "fmax": {CLOCK: {"achieved": achieved, "constraint": 50}},
        "utilization": {cell: {"available": 9, "used": used} for cell, used in COUNTS.items()},
    }
    path.write_text(json.dumps(report))
    return path


def test_report_is_read(tmp_path: Path) -> None:
    report = read_report(written(tmp_path / "report.json", 51.25))
    assert report == Report(51.25, 50.0, Resources(7, 6, 5, 4), "rnea_forward_1", "rnea_backward_0")
    assert report.met
    assert Placed((Attempt(1, 51.25),), 1, report).explain_miss("ecp5-85", tmp_path / "report.json") is None


@pytest.mark.parametrize(
    ("tries", "which"), [((4,), "seed 4"), ((3, 4, 5), "seed 4, the best of 3 tries")], ids=["one", "three"]
)
def test_missed_clock_names_the_seed_the_regions_and_what_helps(
    tmp_path: Path, tries: tuple[int, ...], which: str
) -> None:
    path = written(tmp_path / "report.json", 48.94)
    placed = Placed(tuple(Attempt(seed, 48.94) for seed in tries), 4, read_report(path))
    assert placed.explain_miss("ecp5-85", path) == (
        f"timing: the design reaches 48.9 MHz of 50 MHz on ecp5-85 with {which}; "
        f"its slowest path goes from rnea_forward_1 to rnea_backward_0, see {path}; "
        "synthesize with --clock 48 --seed 4, which it reached, or with more --tries, "
        "or generate with a lower --clock, a larger --ii, a smaller --width or fewer --functions"
    )


class Placer:
    """A placer that looks up the clock of a seed and writes the seed to a file."""

    def __init__(self, file: Path, reached: dict[int, float]) -> None:
        self.file = file
        self.reached = reached

    def __call__(self, seed: int, watched: Progress) -> Report:
        watched("routing")
        self.file.write_text(str(seed))
        return Report(self.reached[seed], 50.0, Resources(seed, 0, 0, 0), "a", "b")


@pytest.mark.parametrize(
    ("reached", "tried", "kept"),
    [
        ({7: 50.0, 8: 60.0}, (7,), 7),
        ({7: 48.0, 8: 50.5, 9: 60.0}, (7, 8), 8),
        ({7: 48.0, 8: 49.0, 9: 47.0}, (7, 8, 9), 8),
        ({7: 49.0, 8: 48.0, 9: 49.0}, (7, 8, 9), 7),
        ({7: 49.0}, (7,), 7),
    ],
)
def test_seeds_are_tried_until_one_keeps_the_clock_and_the_best_is_kept(
    tmp_path: Path, reached: dict[int, float], tried: tuple[int, ...], kept: int
) -> None:
    file = tmp_path / "result"
    placed = best_placement(list(reached), Placer(file, reached), [file])
    assert placed.tries == tuple(Attempt(seed, reached[seed]) for seed in tried)
    assert (placed.seed, placed.report.achieved_mhz) == (kept, reached[kept])
    assert (placed.report.resources.luts, file.read_text()) == (kept, str(kept))


def test_progress_names_the_try_and_the_best_so_far(tmp_path: Path) -> None:
    steps: list[str] = []
    reached = {1: 48.26, 2: 47.0, 3: 52.0}
    best_placement((1, 2, 3), Placer(tmp_path / "result", reached), [], steps.append)
    first, second, third = (f"placement with nextpnr, try {seed} of 3, seed {seed}" for seed in (1, 2, 3))
    best = "; best 48.3 of 50 MHz"
    expected = [first, f"{first}: routing", second + best, f"{second}{best}: routing"]
    assert steps == [*expected, third + best, f"{third}{best}: routing"]


def test_seeds_follow_each_other_up_to_the_largest() -> None:
    assert list(seeds_from(4, 3)) == [4, 5, 6]
    assert list(seeds_from(LARGEST_SEED - 1, 3)) == [LARGEST_SEED - 1, LARGEST_SEED]


PLACING = "Info:     at iteration #2, type ALL: wirelen solved = 10, spread = 20, legal = 30; time = 0.42s\n"
REFINING = "Info:   at iteration #25: temp = 0.000000, timing cost = 5587, wirelen = 115533 \n"
ROUTING = "Info:     117000 |    61745      54382 |  608   353 |     16904|      14.79     217.50|\n"


@pytest.mark.parametrize(
    ("log", "state"),
    [
        ("Info: Packing constants..\n", None),
        (f"{PLACING}Info: cut sho", "placing, iteration 2"),
        (PLACING + REFINING, "refining, iteration 25"),
        (f"{PLACING}{REFINING}Info: Routing 39049 arcs.\n{ROUTING}", "routing, 16,904 connections left"),
    ],
)
def test_the_end_of_the_log_says_how_far_it_is(log: str, state: str | None) -> None:
    assert state_of(log) == state
