"""The entries of a manifest that describe the streams and their packets."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rbdhw.design.entry import Closed, Count


class TrafficEntry(Closed):
    """The packets of one task."""

    bytes_in: int
    bytes_out: int
    beats_in: int
    beats_out: int


class LinkEntry(Closed):
    """The packets of each function and the initiation interval that the link allows."""

    bandwidth: float | None = Field(description="GB/s each way; null if the link is as fast as the streams.")
    ii: int = Field(description="The fewest cycles between tasks that the link allows.")
    function: str = Field(description="The function whose packets take longest on the link.")
    functions: dict[str, TrafficEntry]


class SolverPackets(Closed):
    """The size of solutions."""

    knots: int = Field(description="The steps of a horizon, and the rows of a goal.")
    alphas: int = Field(description="The step lengths of the line search.")
    iterations: int = Field(description="The most iterations of a solution.")
    problems: int = Field(
        default=1, description="Problems that take turns. With one problem there is no such entry."
    )
    blocks: int = Field(
        default=1, description="Blocks of knots of a sweep. With one block there is no such entry."
    )


class Stream(Closed):
    """The streams and the header of packets."""

    tdata_width: int
    number: Literal["fixed", "float32"]
    header: dict[str, tuple[int, int]] = Field(description="For each field the lowest bit and the width.")
    options: Count = Field(description="The bit of each option in the header's `options`.")
    status: Count = Field(description="The bit of each cause in the header's `status`.")
    functions: Count = Field(description="The code of each function of the build.")
    slots: list[int] = Field(description="The widths of the places in a packed request.")
    priority: list[str] = Field(description="Functions whose answers are sent first.")
    horizon: int | None = Field(default=None, description="The most steps of a rollout.")
    rollout: list[str] = Field(default=[], description="What rollouts have beside the forces of each step.")
    hold: int = Field(
        default=1, description="The steps for which a sample is held. With one step there is no such entry."
    )
    cost_rows: int = Field(default=0, description="The residuals of costs. With none there is no such entry.")
    largest_gains: list[list[float]] | None = Field(
        default=None,
        description="For each force, and each `gain` of its loads, what a gain of one stands for, in the "
        "units of the words of the force and of `x_nominal`. Without feedback there is no such entry.",
    )
    parameter_sets: int = Field(
        default=1, description="The sets of loaded parameters. With one set there is no such entry."
    )
    solver: SolverPackets | None = Field(default=None, description="Without a solver there is no such entry.")
    pairs: int = Field(default=1, description="The pairs of streams. With one pair there is no such entry.")


class PacketWord(Closed):
    """A word of a packet. Its value is the integer times 2 to the power of -`binary_point`, in `unit`."""

    name: str
    unit: str
    width: int
    binary_point: int


class OtherElement(Closed):
    """An element of a function's results that has no word of its own."""

    name: str
    unit: str
    negative: bool = Field(description="Whether it has the negative of the word's value.")
    times: Literal["h"] | float | None = Field(
        default=None,
        description="If there is this entry, the element follows by the time step, by which the value is "
        "multiplied: the task's, or that of all tasks.",
    )
    plus: float = Field(default=0.0, description="What is added to the product.")


class OutputWord(PacketWord):
    """A word of an answer."""

    also: list[OtherElement] | None = Field(
        default=None,
        description="Other elements that the word gives; absent if there are none.",
    )


class InputWord(PacketWord):
    """A word of a request."""

    slot: int
    lowest: int | None = Field(default=None, description="Below this integer the task is flagged.")
    highest: int | None = Field(default=None, description="Above this integer the task is flagged.")


class Packets(Closed):
    """The streams, and the words of each function's packets."""

    stream: Stream
    inputs: dict[str, list[InputWord]]
    optional_inputs: dict[str, list[InputWord]]
    outputs: dict[str, list[OutputWord]]
    optional_outputs: dict[str, list[OutputWord]]

    def results(self, function: str) -> list[OutputWord]:
        """Return the words of a function's results, the optional ones after the others."""
        return [*self.outputs[function], *self.optional_outputs[function]]
