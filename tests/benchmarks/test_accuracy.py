"""The tables of errors."""

import pytest

from benchmarks import accuracy
from benchmarks.accuracy import accuracy_layout
from benchmarks.builds import ALL, errors_of, plan_of
from rbdhw.protocol import FUNCTIONS


@pytest.mark.verify
def test_errors_by_build(monkeypatch):
    """The figures are those of the build; after its builds each robot has a row of Q16.16."""
    monkeypatch.setattr(accuracy, "UNIFORM_TASKS", 512)
    rows = accuracy.accuracy([("toy", 18), ("toy", None)])
    labels = list(dict.fromkeys(row["bits"] for row in rows))
    budget = plan_of("toy", width=None)
    ports = "×".join(map(str, budget.program.port_widths))
    assert labels[0] == "18×18"
    assert labels[1].startswith(f"budget 0.001: {ports}")
    assert labels[2:] == ["Q16.16"]
    own = {(row["function"], row["stratum"]): row for row in rows if row["bits"] == "18×18"}
    for function in ALL:
        for result in FUNCTIONS[function].outputs:
            found = errors_of(plan_of("toy"), function).results[result]
            for stratum, figures in {"all": found.whole, **found.strata}.items():
                row = own[f"{function}.{result}", stratum]
                assert (row["median"], row["largest"]) == (figures.median, figures.max)
                assert row["tasks counted"] == figures.samples - figures.flagged
    shown = accuracy_layout(rows)
    assert [row[""] for row in shown] == [f"toy, {label}" for label in labels]
    assert [row["tasks"] for row in shown] == [own["id.tau", "all"]["tasks"]] * 2 + [512]
