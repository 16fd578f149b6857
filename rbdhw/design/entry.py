"""A part of a manifest: an object with known keys, read from data of any origin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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

    def data(self) -> dict[str, Any]:
        """Return the entry as plain data for JSON, without optional keys that have their defaults."""
        return self.model_dump(mode="json", exclude_defaults=True)


def parse_entry(kind: type[Entry], data: object, *path: str) -> Entry:
    """Return a part of a manifest as an object; ``path`` has the keys that lead to it.

    Raises InputError if a key, which the message names, is missing, unknown, or of another type.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, (*path, *first["loc"])))
        raise InputError(where, first["msg"], "what generate wrote", digests.AGAIN) from error


@contextmanager
def told_within(path: Path) -> Iterator[None]:
    """Name a file in every InputError that refuses a part of it."""
    try:
        yield
    except InputError as error:
        raise error.within(path) from None
