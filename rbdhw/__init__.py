"""Generate accelerators and software for rigid-body dynamics from URDF files."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rbdhw.host import accelerator

__all__ = ["load"]


def load(folder: str | PathLike[str], engine: str | None = None) -> accelerator.Accelerator:
    """Return a folder that ``rbdhw generate`` wrote, as an object with a method for each function.

    Parameters
    ----------
    engine
        ``model`` (by default), ``numpy``, ``rtl`` or ``golden`` for an accelerator; ``float64`` (by default),
        ``float32`` or ``golden`` for software: see :class:`rbdhw.host.accelerator.Accelerator`.

    Raises
    ------
    InputError
        The folder is not complete, or does not have the engine.
    """
    from rbdhw.host.accelerator import Accelerator

    return Accelerator(folder, engine)
