"""What the registers of ``accelerator_axi`` say of a design."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from rbdhw.model.interface import FLOAT32
from rbdhw.registers.map import Constants


def identity(manifest: Mapping[str, Any], verilog: str) -> str:
    """Return the SHA-256 of a manifest without identity or digests, and of the accelerator's Verilog.

    The file with the registers holds it, so it can depend neither on that file nor on its digest.
    """
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(f"{text}\n{verilog}".encode()).hexdigest()


def constants(manifest: Mapping[str, Any]) -> Constants:
    """Return the values of the registers that never change, by a manifest with an identity."""
    stream = manifest["stream"]
    return Constants(
        beat_bytes=stream["tdata_width"] // 8,
        pairs=stream.get("pairs", 1),
        singles=stream["number"] == FLOAT32,
        codes=tuple(stream["functions"].values()),
        interval=manifest["ii"],
        core_khz=round(manifest["clock_mhz"] * 1000),
        stream_khz=round(manifest.get("stream_clock_mhz", manifest["clock_mhz"]) * 1000),
        identity=manifest["identity"],
    )
