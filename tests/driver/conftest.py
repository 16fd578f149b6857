"""A small accelerator with all that the driver sends: tasks, rollouts, loads of rows and of parameters."""

import ctypes
import os
from pathlib import Path

import pytest

from rbdhw.design import folder
from rbdhw.design.folder import read
from rbdhw.driver import library
from rbdhw.options.arguments import asked_build
from rbdhw.pipeline import generate
from rbdhw.robots import path
from rbdhw.software.compiler import compile_library
from tests.support import far_ends
from tests.support.driver_folder import FOLDER, OPTIONS
from tests.support.faulty_line import random_work
from tests.support.few_samples import few_samples
from tests.support.shared import shared_folder


@pytest.fixture(autouse=True, scope="session")
def quick_compilation_of_the_driver():
    """Compile the driver without optimisation: few packets pass it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "FLAGS", ("-O0", *library.FLAGS[1:]))
        yield


@pytest.fixture(scope="session")
def loaded_folder(tmp_path_factory):
    """Return the folder of the design, or the one that another process of these tests made."""
    if FOLDER in os.environ:
        return Path(os.environ[FOLDER])

    def make(directory):
        with few_samples():
            folder.write(generate(path("toy"), *asked_build(**OPTIONS)), directory)

    return shared_folder(tmp_path_factory, "driver", make)


@pytest.fixture(scope="session")
def work(loaded_folder):
    """Return tasks, loads and rollouts of the design, with the answers of the model."""
    return random_work(read(loaded_folder))


@pytest.fixture(scope="module")
def kernel():
    """Transfer at files what the kernel would at devices, and return the counts of that."""
    source = Path(far_ends.__file__).with_name("fake_aio.c")
    texts = {source.name: source.read_text()}
    made = ctypes.CDLL(compile_library(texts, [source.name], library.FLAGS), mode=ctypes.RTLD_GLOBAL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "FLAGS", (*library.FLAGS, "-Wl,--wrap=syscall"))
        yield made
