"""A part of a manifest: an object with known keys, read from data of any origin."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from rbdhw.design import digests
from rbdhw.errors import InputError

Count = dict[str, int]
Entry = TypeVar("Entry", bound="Closed")


class Closed(BaseModel):
    """A part of a manifest; other keys than its own are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def parse_entry(kind: type[Entry], data: object, *place: str) -> Entry:
    """Return a part of a manifest as an object; ``place`` has the keys that lead to it.

    Raises
    ------
    InputError
        If a key is missing, unknown, or of another type. The message names the key.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, (*place, *first["loc"])))
        raise InputError(where, first["msg"], "what generate wrote", digests.AGAIN) from error


def parse_manifest(kind: type[Entry], manifest: Mapping[str, Any], directory: Path) -> Entry:
    """Return the whole manifest of a folder as an object.

    Raises
    ------
    InputError
        As :func:`parse_entry`. The message names the file, and another version that wrote it.
    """
    with digests.told_with_version(manifest):
        try:
            return parse_entry(kind, manifest)
        except InputError as error:
            raise error.within(directory / digests.MANIFEST) from None
