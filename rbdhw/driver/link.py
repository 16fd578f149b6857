"""How a driver reaches an accelerator, as a user says it."""

from __future__ import annotations

from dataclasses import dataclass

from rbdhw.errors import InputError

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class Link:
    """What a user says of a link to an accelerator.

    Parameters
    ----------
    transport
        The device, such as ``serial:/dev/ttyUSB0``; None for an engine that needs none.
    timeout
        The seconds from a request to its answer, after which it is sent again.
    attempts
        The most times that a request is sent.
    """

    transport: str | None = None
    timeout: float | None = None
    attempts: int | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None and not 0 < self.timeout <= 3600:
            raise InputError("timeout", str(self.timeout), "seconds, more than 0 and up to 3600")
        if self.attempts is not None and not 1 <= self.attempts <= 1000:
            raise InputError("attempts", str(self.attempts), "1 to 1000")

    @property
    def options(self) -> dict[str, int]:
        """The options of the driver that the user chose."""
        chosen = {}
        if self.timeout is not None:
            chosen["timeout"] = round(self.timeout * NANOSECONDS)
        if self.attempts is not None:
            chosen["attempts"] = self.attempts
        return chosen


NO_LINK = Link()
"""What a user says who names no board."""
