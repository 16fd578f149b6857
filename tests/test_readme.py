"""The README's examples in Python run as they stand, and its errors of estimates are those of the table."""

import re
from pathlib import Path

import pytest

from rbdhw.calibrate import error_rows
from rbdhw.estimate.calibration import calibration

README = Path(__file__).parent.parent / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_example(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(example, str(README), "exec"), {})
    assert list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("core", "words"), [("pipeline", "on ECP5-85F"), ("array", "own: on ECP5-85F their errors are")]
)
def test_errors_of_estimates(core, words):
    told = " ".join(README.read_text(encoding="utf-8").split())
    rows = {(row["target"], row["core"]): row for row in error_rows(calibration())}
    ecp5, ultrascale = (rows[target, core] for target in ("ecp5-85", "xcvu9p"))
    expected = f"{words} {ecp5['luts']} of the LUTs and {ecp5['flip flops']} of the flip-flops, "
    assert expected + f"on the VU9P {ultrascale['luts']} and {ultrascale['flip flops']}." in told
