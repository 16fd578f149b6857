"""Figures in the text are those of the package's own tables."""

import pytest

from benchmarks.synthesis import error_rows
from rbdhw.estimate.calibration import calibration
from tests.support.documents import README, ROOT, text


@pytest.mark.parametrize(
    ("core", "words"), [("pipeline", "on ECP5-85F"), ("array", "own: on ECP5-85F their errors are")]
)
def test_errors_of_estimates(core: str, words: str) -> None:
    stated = " ".join(text(ROOT / "docs" / "synthesis.md").split())
    rows = {(row["target"], row["core"]): row for row in error_rows(calibration())}
    ecp5, ultrascale = (rows[target, core] for target in ("ecp5-85", "xcvu9p"))
    expected = f"{words} {ecp5['luts']} of the LUTs and {ecp5['flip flops']} of the flip-flops, "
    assert expected + f"on the VU9P {ultrascale['luts']} and {ultrascale['flip flops']}." in stated


def test_the_readme_has_the_demos_figures() -> None:
    """The latency and the rate of dfd as the tutorial shows the demo's print."""
    lines = text(ROOT / "docs" / "tutorial.md").splitlines()
    row = next(line for line in lines if line.startswith("| dfd "))
    _, _, _, latency, _, rate, error, _ = row.split("|")
    cycles, microseconds = latency.split("/")
    largest = error.split("/")[1].strip().replace("e-0", "e-")
    stated = " ".join(text(README).split())
    assert f"a latency of {cycles.strip()} cycles, {microseconds.strip()} µs at 125 MHz" in stated
    assert f"{rate.replace('M', '').strip()} million tasks a second" in stated
    assert f"the largest error of 16,384 tasks is {largest}." in stated
