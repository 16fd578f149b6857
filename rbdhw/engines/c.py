"""The functions in C, in floating point."""

from __future__ import annotations

from collections.abc import Sequence

from rbdhw.engines.binding import Call
from rbdhw.engines.compiled import bind_library
from rbdhw.engines.software import SoftwareEngine
from rbdhw.software.float_library import FloatLibrary


class CEngine(SoftwareEngine):
    """Software for processors."""

    library = FloatLibrary
    _library: FloatLibrary

    def binding(self, function: str, passed: Sequence[str]) -> Call:
        """Return what computes the simple calls of a function."""
        return bind_library(self._library, self.robot, function, passed, has_status=False)
