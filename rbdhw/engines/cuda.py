"""The functions in CUDA, in floating point."""

from __future__ import annotations

from rbdhw.engines.software import SoftwareEngine
from rbdhw.software.cuda_library import CudaLibrary


class CudaEngine(SoftwareEngine):
    """Software for a GPU."""

    library = CudaLibrary
