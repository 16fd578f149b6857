"""Designs in Verilator, beside their models."""

from pathlib import Path

from rbdhw.design.folder import Design, write
from rbdhw.sim.report import Report
from rbdhw.sim.simulate import simulate


def assert_exact(
    design: Design,
    folder: Path,
    tasks: int,
    seed: int = 7,
    flagged: float = 0.01,
    limit: float = 5e-3,
    bulk: bool = True,
) -> Report:
    """Check that no bit differs, and that only this share of tasks is flagged; each function's median error.

    The design is written to ``folder / "design"``.
    """
    write(design, folder / "design")
    report = simulate(folder / "design", tasks, seed, bulk=bulk)
    assert (report.tasks, report.mismatches) == (tasks, 0)
    assert report.flagged <= max(flagged * tasks, 1)
    for function, figures in report.functions.items():
        assert figures.error_median is not None, function
        assert figures.error_median < limit, function
    return report
