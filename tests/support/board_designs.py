"""Manifests of a small design folder for boards."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rbdhw.design.digests import seal
from tests.support.manifests import MANIFEST


def write_manifest(
    folder: Path, *, tdata: int = 32, pairs: int = 1, slots: Sequence[int] = (), **changes: Any
) -> None:
    """Write a manifest with changes; those of an entry leave its other keys."""
    changes["stream"] = {"tdata_width": tdata, "pairs": pairs, "slots": list(slots)}
    changed = {
        key: {**MANIFEST[key], **value} if isinstance(value, dict) else value
        for key, value in changes.items()
    }
    write_sealed(folder, MANIFEST | changed)


def write_sealed(folder: Path, manifest: dict[str, Any]) -> None:
    """Write a manifest with the digests of the folder's files."""
    verilog = folder / "accelerator.v"
    described = seal(manifest, {verilog.name: verilog.read_bytes()})
    (folder / "manifest.json").write_text(json.dumps(described))
