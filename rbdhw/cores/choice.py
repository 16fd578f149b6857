"""The choice between the cores that can compute a build."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rbdhw.config import CORES
from rbdhw.errors import InputError
from rbdhw.estimate.model import NAMES, shares
from rbdhw.estimate.resources import Resources
from rbdhw.target import Target


@dataclass(frozen=True)
class CoreChoice:
    """The core that a build takes.

    Parameters
    ----------
    core
        One of :data:`rbdhw.config.CORES`.
    why
        Why it is that one.
    estimates
        What a whole accelerator takes with each core that was compared.
    """

    core: str
    why: str
    estimates: Mapping[str, Resources]

    def json(self) -> dict[str, Any]:
        """What the manifest tells."""
        return {"why": self.why, "estimates": {core: own.json() for core, own in self.estimates.items()}}


def choose_core(estimates: Mapping[str, Resources], refused: Mapping[str, str], device: Target) -> CoreChoice:
    """The core whose largest share of the device's resources is least; the pipeline where both are the same.

    So one that fits the device, or any share of it, comes before one that does not.

    Parameters
    ----------
    estimates
        What a whole accelerator takes, by core.
    refused
        Why others cannot be built.

    Raises
    ------
    InputError
        Where none can be built: why the first cannot.
    """
    if not estimates:
        raise InputError(next(refused[core] for core in CORES if core in refused))
    largest = {core: _largest(estimates[core], device) for core in CORES if core in estimates}
    core = min(largest, key=lambda core: largest[core][0])
    reasons = [_share_text(own, *largest[own]) for own in sorted(largest, key=lambda own: own != core)]
    reasons += [f"no {other} ({why})" for other, why in refused.items()]
    return CoreChoice(core, ", ".join(reasons), estimates)


def _largest(found: Resources, device: Target) -> tuple[float, str]:
    """The largest share of a device's resources that a design takes, and of which resource."""
    share, resource = max((share, resource) for resource, share in shares(found, device).items())
    return share, resource


def _share_text(core: str, share: float, resource: str) -> str:
    return f"the {core} takes {share:.1%} of the {NAMES[resource]}"
