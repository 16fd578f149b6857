"""Small simulators, built once for all tests of a worker."""

from __future__ import annotations

import pytest

from rbdhw.design.folder import write
from tests.support.designs import faulty, rail_design


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Return the folder of the simulators."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def rail_folder(tmp_path_factory):
    """Return a correct design of two bodies on rails, with packets of several beats."""
    folder = tmp_path_factory.mktemp("rail") / "design of two carts"
    write(rail_design(data_width=32, bodies=2), folder)
    return folder


@pytest.fixture(scope="session")
def faulty_folder(tmp_path_factory):
    """Return a design with the faulty hardware of :func:`tests.support.designs.faulty`."""
    folder = tmp_path_factory.mktemp("faulty") / "design"
    write(faulty(rail_design()), folder)
    return folder
