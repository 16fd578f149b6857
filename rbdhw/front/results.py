"""The results of the front door: data that scripts read, which print as the commands print them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdhw.design.manifest import Manifest
from rbdhw.design.software_manifest import SoftwareManifest
from rbdhw.front.accelerator import Accelerator
from rbdhw.front.description_tables import print_description
from rbdhw.front.printing import page_of, text_of
from rbdhw.front.tables import (
    print_causes,
    print_manifest,
    print_power,
    print_report,
    print_software,
    print_study,
)


@dataclass(frozen=True, repr=False)
class Result(Mapping[str, Any]):
    """The data of a result by key, as ``--json`` prints it. It prints as tables, and a notebook draws them.

    Parameters
    ----------
    data
        The data.
    """

    data: Mapping[str, Any]

    @abstractmethod
    def show(self) -> None:
        """Print the tables of the result."""

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return text_of(self.show)

    def _repr_html_(self) -> str:
        return page_of(self.show)


@dataclass(frozen=True, repr=False)
class Description(Result):
    """A robot before a build: the data of ``rbdhw info --json``."""

    def show(self) -> None:
        """Print joints, coordinates, operations and algorithms."""
        print_description(dict(self.data))


@dataclass(frozen=True, repr=False)
class Generated(Result):
    """A folder that was generated: the data of its manifest.

    Parameters
    ----------
    folder
        The folder.
    """

    folder: Path

    def show(self) -> None:
        """Print operations, latency, throughput and errors of the functions, and the hardware."""
        manifest = dict(self.data)
        if "stream" in manifest:
            print_manifest(Manifest.model_validate(manifest), self.folder)
        else:
            print_software(SoftwareManifest.model_validate(manifest), self.folder)

    def load(self, engine: str | None = None) -> Accelerator:
        """Return the folder as an object with a method for each function: :func:`rbdhw.load`."""
        return Accelerator(self.folder, engine)


@dataclass(frozen=True, repr=False)
class Powered(Result):
    """Toggle rates of a design at work, and an estimate: the data of ``rbdhw power --json``."""

    def show(self) -> None:
        """Print the toggle rates of the regions, the most active first, and the estimate."""
        print_power(dict(self.data))


@dataclass(frozen=True, repr=False)
class Studied(Result):
    """A study of number formats: the data of ``rbdhw study --json``."""

    def show(self) -> None:
        """Print a row for each candidate, and the narrowest that is as good as double precision."""
        print_study(dict(self.data))


@dataclass(frozen=True, repr=False)
class Simulated(Result):
    """A simulation beside the bit-exact model: the data of ``rbdhw simulate --json``.

    Parameters
    ----------
    manifest
        The manifest of the design.
    failures, warnings
        What was found wrong, and what else is to be known; one line each.
    """

    manifest: Manifest
    failures: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found wrong."""
        return not self.failures

    def show(self) -> None:
        """Print mismatches, flags, errors and latencies of the functions, and the causes of flags."""
        print_report(self.manifest, dict(self.data))
        print_causes(self.data["causes"])
