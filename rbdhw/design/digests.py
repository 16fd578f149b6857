"""The digests in the manifest, by which changes to a design folder are detected.

``digests`` in the manifest holds the SHA-256 of every file that the manifest describes and of the manifest
itself. The manifest's own digest is computed from its canonical JSON (sorted keys, no spaces), which includes
all other digests.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rbdhw.errors import InputError
from rbdhw.verilog_names import DEFAULT_NAME

MANIFEST = "manifest.json"

KEY = "digests"
"""The key of the digests in the manifest."""

AGAIN = "run `rbdhw generate` again"
"""The remedy for a folder that this version cannot read."""

AFRESH = "run `rbdhw generate` with another folder"
"""The remedy for a folder that was changed: what was changed is not replaced."""

_FOLDER = "a folder that `rbdhw generate` wrote"
_WRITTEN = "what generate wrote"


def seal(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return ``manifest`` with the digests of ``files`` (contents by name) and its own."""
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    # The digest must be that of the manifest as it is read again, with strings for all keys.
    described: dict[str, Any] = json.loads(json.dumps({**manifest, KEY: digests}, allow_nan=False))
    described[KEY][MANIFEST] = _manifest_digest(described)
    return described


def read_manifest(directory: Path) -> dict[str, Any]:
    """Return the manifest of a design folder without its digests, after checking all digests.

    Raises InputError if a file, which the message names, is missing or was changed after the design was
    written.
    """
    path = directory / MANIFEST
    manifest = json_object(path)
    digests = _unseal(manifest, path)
    for name, digest in digests.items():
        if name != MANIFEST and not is_unchanged(directory / name, digest):
            reason = f"is not the file that {MANIFEST} describes: it was changed or belongs to another design"
            raise _changed(directory / name, reason)
    return manifest


def top_module(directory: Path) -> str:
    """Return the name of the top module of the Verilog in a folder; without a manifest the default one."""
    path = directory / MANIFEST
    manifest = json_object(path) if path.exists() else {}
    return str(manifest.get("name", DEFAULT_NAME))


def digest_of(directory: Path) -> str:
    """Return the digest of the design in a folder: that of its manifest, which has those of all files."""
    path = directory / MANIFEST
    return _unseal(json_object(path), path)[MANIFEST]


def check_digest(directory: Path, digest: str) -> None:
    """Refuse a folder that no longer has the design with this digest, whole."""
    if digest_of(directory) != digest:
        reason = "was generated anew since it was loaded"
        raise InputError(str(directory), reason, "the same design", "load it again")
    read_manifest(directory)


def recorded_digests(directory: Path) -> dict[str, str]:
    """Return the digests in the manifest of a folder, by file; none without an intact manifest."""
    path = directory / MANIFEST
    if path.is_symlink():
        return {}
    try:
        return _unseal(json_object(path), path)
    except InputError:
        return {}


def is_unchanged(path: Path, digest: str) -> bool:
    """Return whether the content of a file of a design has a digest."""
    return hashlib.sha256(content(path)).hexdigest() == digest


@contextmanager
def told_with_version(manifest: Mapping[str, Any]) -> Iterator[None]:
    """Add to an InputError that refuses an unchanged folder which version wrote it, if it was another one."""
    try:
        yield
    except InputError as error:
        versions = manifest.get("versions")
        writer = versions.get("rbdhw") if isinstance(versions, dict) else None
        if writer in (None, version("rbdhw")):
            raise
        reason = f"{error.reason} (rbdhw {writer} wrote the folder, and this is {version('rbdhw')})"
        raise replace(error, reason=reason) from None


def _unseal(manifest: dict[str, Any], path: Path) -> dict[str, str]:
    """Remove the digests from a manifest and return them; InputError if anything was changed."""
    digests = manifest.pop(KEY, None)
    if not isinstance(digests, dict) or not all(map(_is_digest, digests, digests.values())):
        raise _changed(path, "has no digests of the design's files")
    others = {name: digest for name, digest in digests.items() if name != MANIFEST}
    try:
        intact = digests.get(MANIFEST) == _manifest_digest({**manifest, KEY: others})
    except RecursionError:  # writing takes more of the stack than reading
        intact = False
    if not intact:
        raise _changed(path, "was changed after it was written")
    return digests


def _is_digest(name: str, digest: object) -> bool:
    """Return whether an entry is the digest of a file in the folder itself."""
    return isinstance(digest, str) and Path(name).name == name


def _changed(path: Path, reason: str) -> InputError:
    return InputError(str(path), reason, "the folder as it was written", AFRESH)


def content(path: Path) -> bytes:
    """Return the content of a file of a design; InputError if it is missing, or cannot be read."""
    try:
        if not path.exists():
            raise InputError(str(path), "no such file", _FOLDER)
        if not path.is_file():
            raise InputError(str(path), "is not a regular file", _FOLDER)
        return path.read_bytes()
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror})", _FOLDER) from error


def json_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file of a design; InputError if the file cannot be read or has none."""
    try:
        text = content(path).decode("utf-8")
        data = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else error
        raise InputError(str(path), f"damaged, not JSON ({reason})", _WRITTEN, AFRESH) from None
    if not isinstance(data, dict):
        raise InputError(str(path), "damaged, no JSON object", _WRITTEN, AFRESH)
    return data


def _manifest_digest(manifest: Mapping[str, Any]) -> str:
    """Return the digest of a manifest that contains the digests of all other files."""
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text}")
    return number


def _refuse_constant(name: str) -> float:
    raise ValueError(f"the number {name}")
