"""Compilation of few tasks' programs, and of CUDA on a computer without a GPU."""

from pathlib import Path

import pytest

from rbdhw.software import compiler

NVCC = Path(__file__).parents[1] / "support" / "cuda" / "nvcc"


@pytest.fixture
def cuda_on_host(monkeypatch):
    """Compile CUDA for the host, where a loop runs the kernels; return the compiler."""
    monkeypatch.setenv("NVCC", str(NVCC))
    return NVCC


@pytest.fixture(autouse=True)
def quick_programs(monkeypatch):
    """Compile programs with less optimisation: they compute few tasks. Tests elsewhere use the product's."""
    flags = tuple("-O1" if flag == "-O2" else flag for flag in compiler.FLAGS)
    monkeypatch.setattr(compiler, "FLAGS", flags)
