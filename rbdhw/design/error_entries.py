"""The errors of functions in a manifest: measured, proven, and what samples say of all tasks."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from rbdhw.design.entry import Closed


class Figures(Closed):
    """Relative errors of tasks; null if all of them are flagged, or most of them clipped."""

    median: float | None
    max: float | None
    samples: int
    flagged: int
    clipped: int = Field(
        description="Tasks in which the domain's forces do not hold the robot. Their errors do not count."
    )


class HistogramEntry(Closed):
    """How many tasks have errors of which size."""

    below: int = Field(description="Tasks with errors below 1e-12, most of them zero; they are in no bin.")
    lowest: int = Field(description="The first bin begins at 10 to the power of a quarter of this.")
    counts: list[int] = Field(description="Tasks in each bin of a quarter of a decade.")


class WorstTask(Closed):
    """The task with the largest error."""

    task: int = Field(description="Its place among the random tasks.")
    stratum: str
    inputs: dict[str, list[Any]] = Field(description="Its arrays.")


class ProofEntry(Closed):
    """A proven bound of the error in every task of the domain whose status is zero."""

    absolute: float = Field(description="The norm of the error, in `units`.")
    relative: float = Field(description="The same over the floor; no error as it is measured is larger.")
    limited_by: str = Field(description="The rounding that adds most to it.")


class BackwardEntry(Closed):
    """Bounds of how far a robot and forces are from those of a task, whose exact answer is the task's."""

    mass_matrix: list[list[float]] = Field(description="For each element, in the units of `M`.")
    forces: list[float] = Field(description="For each joint, in the units of `tau`.")
    acceleration: list[float] = Field(
        description="What is rounded behind that, in the units of `a`: zero but for a floating base."
    )


class ResultErrors(Figures):
    """Errors of a part of a function's results: an array, or elements of it that have a norm of their own."""

    limit: float = Field(description="The largest error with which `simulate` exits 0.")
    floor: float = Field(
        description="The least norm by which an error is divided, in `units`: smaller results count as this "
        "large. That of a step in time is a rate."
    )
    step: float = Field(description="The coarsest step of a word of the result.")
    units: list[str]
    strata: dict[str, Figures] = Field(description="The errors by kind of task.")
    histogram: HistogramEntry | None = Field(
        default=None,
        description="The errors of tasks that are neither flagged nor clipped; absent without any.",
    )
    worst: WorstTask | None = Field(default=None, description="Absent without such tasks.")
    proof: ProofEntry | None = Field(default=None, description="Only with `--prove`.")


class ShareEntry(Closed):
    """The share of a stratum's tasks with an error beyond the limit."""

    tasks: int = Field(description="Tasks drawn that are neither flagged nor clipped.")
    beyond: int = Field(description="Those of them with a result whose error exceeds its limit.")
    largest: float | None = Field(description="The largest ratio of an error to its limit; null without any.")
    share: float = Field(description="With the confidence, at most this share of all such tasks is beyond.")


class ConfidenceEntry(Closed):
    """What tasks that chose no number format tell about all tasks of their kind, by Clopper and Pearson."""

    level: float = Field(description="The confidence, between 0 and 1, of each statement by itself.")
    strata: dict[str, ShareEntry]


class ErrorEntry(Figures):
    """Errors of a function in the bit-exact model against the golden model: the largest of its results."""

    norm: str = Field(description="How an error is measured.")
    limit: float = Field(description="The largest error with which `simulate` exits 0.")
    floor: float | dict[str, float] = Field(
        description="The floor of the function's only result, or the floors of several by name."
    )
    step: float = Field(description="The coarsest step of a word of the ordinary results.")
    units: list[str]
    strata: dict[str, Figures] = Field(description="The errors by kind of task.")
    results: dict[str, ResultErrors] = Field(
        description="The errors of each part of the results, the optional ones among them."
    )
    confidence: ConfidenceEntry | None = Field(default=None, description="Only with `--confidence`.")
    backward: BackwardEntry | None = Field(default=None, description="Only of `fd` with `--prove`.")
