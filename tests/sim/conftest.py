"""Accelerators that several files of tests simulate."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from rbdhw.design.folder import write
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.protocol import ROLLOUT_PARTS
from rbdhw.robots import path
from tests.support.rollouts import HORIZON


@pytest.fixture(scope="session")
def rollout_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return the folder of the toy's inverse dynamics and rollouts with some parts, made once."""

    @cache
    def made(*parts: str) -> Path:
        folder = tmp_path_factory.mktemp("rollouts") / "toy"
        options = BuildOptions(
            ("id", "rollout"), width=24, samples=512, data_width=128, horizon=HORIZON, rollout=parts
        )
        write(generate(path("toy"), options), folder)
        return folder

    return made


@pytest.fixture(scope="session")
def parts_folder(rollout_folder: Callable[..., Path]) -> Path:
    """Return the toy's inverse dynamics and rollouts with all parts."""
    return rollout_folder(*ROLLOUT_PARTS)
