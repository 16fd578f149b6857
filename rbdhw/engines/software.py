"""Engines that compute in floating point, compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rbdhw.engines.compiled import compute
from rbdhw.engines.engine import Answer, Array, Engine, Source
from rbdhw.errors import InputError
from rbdhw.protocol import FUNCTIONS
from rbdhw.software.float_library import SoftwareLibrary
from rbdhw.software.folder import Software


class SoftwareEngine(Engine):
    """The functions of software, whose status is always zero. The name is that of the numbers' type."""

    library: ClassVar[type[SoftwareLibrary]]

    def __init__(self, name: str, source: Source) -> None:
        super().__init__(name, source)
        software = source.content
        assert isinstance(software, Software)
        arrays = {function: software.arrays(function) for function in software.functions}
        self._library = self.library(software.sources, arrays, name)

    def check_optional(self, function: str, arrays: Mapping[str, Array]) -> None:
        """Check that the function has parameters for the optional arrays of a task."""
        known = {array.name for array in self._library.arrays(function)[0]}
        for name in FUNCTIONS[function].optional_inputs:
            if name in arrays and name not in known:
                reason = "this build solves with factors of its own"
                remedy = "generate with --algorithm products=dense"
                raise InputError(f"array '{name}'", reason, "none", remedy)

    def compute(self, function: str, tasks: Mapping[str, Array], extended: bool) -> Answer:
        """Compute tasks."""
        return compute(self._library, self.robot, function, tasks, extended)
