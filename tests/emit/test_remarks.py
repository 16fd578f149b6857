"""What the remark on a design that is too large for its device proposes."""

from dataclasses import replace

import pytest

from rbdhw.emit import remarks
from rbdhw.frontend.read import load_mounted
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import plan_build
from rbdhw.robots import path
from rbdhw.target import target

OPTIONS = BuildOptions(("m",), ii=8, width=12, samples=64, target="ecp5-85")


@pytest.mark.parametrize(
    ("missing", "remedy"), [(0, "a longer --ii, or"), (1, "an --ii of some 9 or more, or")]
)
def test_an_interval_is_named_only_where_multipliers_are_missing(monkeypatch, missing, remedy):
    """Logic is missing either way; a design may take all multipliers."""
    plan = plan_build(load_mounted(path("toy"), OPTIONS.mounting), OPTIONS)
    device = replace(target("ecp5-85"), luts=1, dsp_blocks=plan.estimate.dsp_blocks - missing)
    monkeypatch.setattr(remarks, "target", lambda _: device)
    *_, line = remarks.plan_remarks(plan, OPTIONS)
    assert f"; expected {remedy}" in line
