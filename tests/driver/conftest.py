"""A small accelerator with all that the driver sends: tasks, rollouts, loads of rows and of parameters."""

import os
from pathlib import Path

import pytest

from rbdhw.design import folder
from rbdhw.options.arguments import asked_build
from rbdhw.pipeline import generate
from rbdhw.robots import path
from tests.support.driver_folder import FOLDER

OPTIONS = {
    "functions": "id,did,rollout",
    "width": 18,
    "ii": 4,
    "max_error": 0.1,
    "horizon": 8,
    "rollout": "samples,gains",
    "parameters": "payload",
    "parameters_by": "load",
    "parameter_sets": 2,
}


@pytest.fixture(scope="session")
def loaded_folder(tmp_path_factory):
    """Return the folder of the design, or the one that another process of these tests made."""
    if FOLDER in os.environ:
        return Path(os.environ[FOLDER])
    directory = tmp_path_factory.mktemp("driver") / "loaded"
    folder.write(generate(path("toy"), *asked_build(**OPTIONS)), directory)
    return directory
