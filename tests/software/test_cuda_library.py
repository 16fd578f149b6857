"""NVIDIA's compiler: where it is found, and what it makes of the kernels."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rbdhw.errors import InputError
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.software.cuda_library import FLAGS, find_nvcc
from tests.support.kernel_use import KernelUse, measure_kernels
from tests.support.marks import long
from tests.support.software import Built, built, compute

ARCHITECTURES = ("sm_80", "sm_90")


def test_the_variable_comes_first(monkeypatch):
    monkeypatch.setenv("NVCC", f"{sys.executable} -I")
    assert find_nvcc()[1:] == ("-I",)
    monkeypatch.setenv("NVCC", "no-such-nvcc")
    with pytest.raises(InputError, match="no such program"):
        find_nvcc()


def test_the_wheel_comes_before_the_path(monkeypatch):
    monkeypatch.delenv("NVCC", raising=False)
    assert "site-packages" in find_nvcc()[0]


@pytest.mark.parametrize("architecture", ["sm_80", long("sm_90")])
def test_the_toy_stays_in_registers(architecture):
    software = built("toy")
    used = measure_kernels(software.cuda, architecture, ["-Werror=all-warnings"])
    assert used.keys() == {*software.sources, "difd_given"}
    for use in used.values():
        assert use == KernelUse(use.registers, 0, 0, 0, use.code)
        assert 16 <= use.registers <= 48
        assert 1_000 <= use.code <= 20_000


@pytest.mark.verify
def test_the_program_compiles(tmp_path):
    for name, text in built("toy").cuda.items():
        (tmp_path / name).write_text(text)
    command = [*find_nvcc(), *FLAGS, "-arch=sm_90", "-Werror=all-warnings", "-o", str(tmp_path / "measure")]
    subprocess.run([*command, str(tmp_path / "measure.cu")], check=True)


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is a GPU")
def test_without_a_gpu_the_error_names_what_to_do():
    software = Built(load_urdf(path("toy")), ("m",))
    with pytest.raises(InputError, match="a GPU of compute capability"):
        compute(software, software.cuda_library(), "m", {"q": np.zeros((1, 2))})


@pytest.mark.verify
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_iiwa_stays_in_registers(architecture):
    software = Built(load_urdf(path("iiwa14")), DEFAULT_FUNCTIONS)
    used = measure_kernels(software.cuda, architecture)
    assert {(use.stack, use.spill_stores, use.spill_loads) for use in used.values()} == {(0, 0, 0)}
    assert max(use.code for use in used.values()) < 200_000
