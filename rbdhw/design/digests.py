"""The manifest's digests: a design folder vouches for its own files.

``digests`` in the manifest holds the SHA-256 of every file that the manifest describes, and of the manifest
itself: that of its canonical JSON (sorted keys, no spaces) with all digests but its own.
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
"""The entry of the manifest."""

_FOLDER = "expected a folder that `rbdhw generate` wrote"
_AGAIN = "expected the folder as it was written; run `rbdhw generate` again"


def seal(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, Any]:
    """``manifest`` with the digests of other files, by name, and of itself."""
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    # As it will be read: a key of another type is a string then.
    described: dict[str, Any] = json.loads(json.dumps({**manifest, KEY: digests}, allow_nan=False))
    described[KEY][MANIFEST] = _own(described)
    return described


def read_manifest(directory: Path) -> dict[str, Any]:
    """The manifest of a design folder without its digests, where it and the files it describes are unchanged.

    Raises
    ------
    InputError
        Where a file is missing, or is not what it was when the design was written. The line names it.
    """
    path = directory / MANIFEST
    manifest = json_object(path)
    digests = manifest.pop(KEY, None)
    if not isinstance(digests, dict) or not all(isinstance(digest, str) for digest in digests.values()):
        raise InputError(f"{path}: has no digests of the design's files; {_AGAIN}")
    own = digests.pop(MANIFEST, None)
    if own != _own({**manifest, KEY: digests}):
        raise InputError(f"{path}: was changed after it was written; {_AGAIN}")
    for name, digest in digests.items():
        if hashlib.sha256(content(directory / name)).hexdigest() != digest:
            reason = f"is not the file that {MANIFEST} describes, but was changed or is of another design"
            raise InputError(f"{directory / name}: {reason}; {_AGAIN}")
    return manifest


def content(path: Path) -> bytes:
    """The content of a file of a design.

    Raises
    ------
    InputError
        Where it is no file, or cannot be read.
    """
    try:
        if not path.exists():
            raise InputError(f"{path}: no such file; {_FOLDER}")
        if not path.is_file():
            raise InputError(f"{path}: is not a regular file; {_FOLDER}")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); {_FOLDER}") from error


def json_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file of a design; InputError names the file where it holds none."""
    try:
        data = json.loads(content(path).decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else error
        raise InputError(f"{path}: damaged, not JSON ({reason}); expected what generate wrote") from None
    if not isinstance(data, dict):
        raise InputError(f"{path}: damaged, no JSON object; expected what generate wrote")
    return data


def _own(manifest: Mapping[str, Any]) -> str:
    """The digest of a manifest that holds the digests of all other files."""
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _refuse_constant(name: str) -> float:
    raise ValueError(f"the number {name}")
