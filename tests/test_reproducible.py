"""Equal inputs give equal designs, in every process."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.robots import path

OPTIONS = BuildOptions(("id",), ii=4, target="ecp5-85", width=18, samples=128, data_width=64)


@cache
def toy():
    return generate(path("toy"), OPTIONS)


SCRIPT = f"""
import json
from rbdhw.options.build import *
from rbdhw.pipeline import generate
from rbdhw.robot.drives import Drives
from rbdhw.robots import path
toy = generate(path("toy"), {OPTIONS!r})
print(toy.verilog, json.dumps(toy.manifest))
"""


@pytest.mark.verify
def test_the_same_inputs_give_the_same_bytes():
    again = generate(path("toy"), OPTIONS)
    assert again.verilog == toy().verilog
    assert json.dumps(again.manifest) == json.dumps(toy().manifest)
    assert again.programs == toy().programs


def test_the_order_of_hashes_does_not_matter():
    """Another process, with other hashes of strings, makes the same design."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{toy().verilog} {json.dumps(toy().manifest)}\n"


@pytest.mark.usefixtures("only_heading")
def test_another_seed_draws_other_tasks():
    other = generate(path("toy"), replace(OPTIONS, seed=1))
    assert other.manifest["seed"] == 1
    assert other.manifest["error"] != toy().manifest["error"]
