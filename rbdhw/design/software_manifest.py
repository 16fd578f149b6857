"""The manifest of software for processors: every key, its type and its meaning."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rbdhw.design.entries import AlgorithmEntry, Coordinates, Operations, RobotEntry, Root
from rbdhw.design.entry import Closed


class ArrayEntry(Closed):
    """An array of a function, as a parameter of its C function."""

    name: str
    shape: list[int] = Field(description="Of one task.")
    unit: str
    optional: bool


class SoftwareFunction(Operations):
    """A function in software: the operations of a task, and its arrays in the order of its parameters."""

    inputs: list[ArrayEntry]
    outputs: list[ArrayEntry]


class SolverEntry(Closed):
    """The solver of `solve`."""

    knots: int = Field(description="The steps of its horizon.")
    alphas: int = Field(description="The step lengths of its line search.")
    momentum: bool = Field(default=False, description="Whether problems have costs of momentum.")


class SoftwareManifest(Closed):
    """The description of software for processors by `generate`."""

    target: Literal["c", "cuda"]
    robot: RobotEntry
    functions: dict[str, SoftwareFunction]
    solver: SolverEntry | None = Field(default=None, description="None without `solve`.")
    fext: list[int] = Field(description="The bodies that take an external force.")
    algorithms: dict[str, AlgorithmEntry | list[str]] = Field(
        description="The choice at each step, and under `rewrites` the rewrites of the robot that apply."
    )
    coordinates: Coordinates
    versions: dict[str, str]
    remarks: list[str]
    roots: list[Root]
    digests: dict[str, str] | None = Field(
        default=None, description="SHA-256 of each file and of the manifest."
    )
