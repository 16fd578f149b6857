"""Accelerators that several files of tests simulate."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rbdhw.design.folder import write
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import generate
from rbdhw.protocol import ROLLOUT_PARTS
from rbdhw.robots import path
from tests.support.headings import headings
from tests.support.rollouts import HORIZON
from tests.support.row_costs import COST_ROWS, FRAMES
from tests.support.shared import shared_folder


@pytest.fixture(scope="session")
def rollout_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return the folder of the toy with inverse dynamics and rollouts with some parts, made by one worker.

    Beside costs, samples are held for two steps.
    """

    def made(*parts: str) -> Path:
        sizes = {"width": 24, "samples": 512, "data_width": 128, "horizon": HORIZON}
        held = 2 if {"samples", "cost"} <= set(parts) else 1
        options = BuildOptions(("id", "rollout"), **sizes, rollout=parts, hold=held)
        name = "-".join(("rollouts", *parts))
        return shared_folder(
            tmp_path_factory, name, lambda folder: write(generate(path("toy"), options), folder)
        )

    return made


@pytest.fixture(scope="session")
def parts_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the toy's inverse dynamics and rollouts with all parts, whose costs have rows and two frames."""
    sizes = {"width": 24, "samples": 512, "data_width": 128, "horizon": HORIZON, "cost_rows": COST_ROWS}
    options = BuildOptions(
        ("id", "rollout"), **sizes, rollout=tuple(ROLLOUT_PARTS), hold=2, mounting=Mounting(frames=FRAMES)
    )
    return shared_folder(
        tmp_path_factory, "all-parts", lambda folder: write(generate(path("toy"), options), folder)
    )


@pytest.fixture(scope="session")
def parts_alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder without Verilog, of the toy's rollouts with all parts, without rows and frames."""
    folder = tmp_path_factory.mktemp("parts") / "toy"
    sizes = {"width": 24, "samples": 512, "data_width": 128, "horizon": HORIZON}
    options = BuildOptions(("id", "rollout"), **sizes, rollout=tuple(ROLLOUT_PARTS), hold=2)
    with headings():
        write(generate(path("toy"), options), folder)
    return folder
