"""The bundled robots, as URDF files without meshes."""

from __future__ import annotations

from pathlib import Path

from rbdhw.errors import InputError

_FOLDER = Path(__file__).resolve().parent


def bundled() -> dict[str, Path]:
    """Return the bundled robots' URDF files by name, sorted by name."""
    return {file.stem: file for file in sorted(_FOLDER.glob("*.urdf"))}


def path(name: str) -> Path:
    """Return the URDF file of the bundled robot ``name``.

    Raises
    ------
    InputError
        For an unknown name; the message lists the bundled robots.
    """
    files = bundled()
    if name not in files:
        raise InputError(f"robot {name!r}", "not bundled", f"one of {', '.join(files)}")
    return files[name]
