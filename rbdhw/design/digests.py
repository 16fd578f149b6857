"""The digests in the manifest, by which changes to a design folder are detected.

``digests`` in the manifest holds the SHA-256 of every file that the manifest describes and of the manifest
itself. The manifest's own digest is computed from its canonical JSON (sorted keys, no spaces), which includes
all other digests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rbdhw.errors import InputError

MANIFEST = "manifest.json"

KEY = "digests"
"""The key of the digests in the manifest."""

AGAIN = "run `rbdhw generate` again"
"""The remedy for a folder that was changed or damaged."""

_FOLDER = "a folder that `rbdhw generate` wrote"


def seal(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return ``manifest`` with the digests of ``files`` (contents by name) and its own."""
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    # The digest must be that of the manifest as it is read again, with strings for all keys.
    described: dict[str, Any] = json.loads(json.dumps({**manifest, KEY: digests}, allow_nan=False))
    described[KEY][MANIFEST] = _own(described)
    return described


def read_manifest(directory: Path) -> dict[str, Any]:
    """Return the manifest of a design folder without its digests, after checking all digests.

    Raises
    ------
    InputError
        If a file is missing or was changed after the design was written. The message names the file.
    """
    path = directory / MANIFEST
    manifest = json_object(path)
    digests = manifest.pop(KEY, None)
    if not isinstance(digests, dict) or not all(isinstance(digest, str) for digest in digests.values()):
        raise _changed(path, "has no digests of the design's files")
    own = digests.pop(MANIFEST, None)
    if own != _own({**manifest, KEY: digests}):
        raise _changed(path, "was changed after it was written")
    for name, digest in digests.items():
        if hashlib.sha256(content(directory / name)).hexdigest() != digest:
            reason = f"is not the file that {MANIFEST} describes: it was changed or belongs to another design"
            raise _changed(directory / name, reason)
    return manifest


def _changed(path: Path, reason: str) -> InputError:
    return InputError(str(path), reason, "the folder as it was written", AGAIN)


def content(path: Path) -> bytes:
    """Return the content of a file of a design.

    Raises
    ------
    InputError
        If it is missing, is not a regular file, or cannot be read.
    """
    try:
        if not path.exists():
            raise InputError(str(path), "no such file", _FOLDER)
        if not path.is_file():
            raise InputError(str(path), "is not a regular file", _FOLDER)
        return path.read_bytes()
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror})", _FOLDER) from error


def json_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file of a design.

    Raises
    ------
    InputError
        If the file cannot be read or does not contain a JSON object.
    """
    try:
        data = json.loads(content(path).decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else error
        raise InputError(str(path), f"damaged, not JSON ({reason})", "what generate wrote", AGAIN) from None
    if not isinstance(data, dict):
        raise InputError(str(path), "damaged, no JSON object", "what generate wrote", AGAIN)
    return data


def _own(manifest: Mapping[str, Any]) -> str:
    """Return the digest of a manifest that contains the digests of all other files."""
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _refuse_constant(name: str) -> float:
    raise ValueError(f"the number {name}")
