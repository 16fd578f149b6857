"""Compilation of CUDA on a computer without a GPU."""

from pathlib import Path

import pytest

NVCC = Path(__file__).parents[1] / "support" / "cuda" / "nvcc"


@pytest.fixture
def cuda_on_host(monkeypatch):
    """Compile CUDA for the host, where a loop runs the kernels; return the compiler."""
    monkeypatch.setenv("NVCC", str(NVCC))
    return NVCC
