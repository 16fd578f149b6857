"""Flagged rollouts are explained by the step that raised the first flag; `run` takes what is documented."""

from pathlib import Path

import numpy as np
import pytest

import rbdhw
from rbdhw.design.folder import read, write
from rbdhw.errors import InputError
from rbdhw.front.run import Outcome, run
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.protocol import ROLLOUT
from rbdhw.robots import path
from tests.support.rollouts import HORIZON, calm

pytestmark = pytest.mark.usefixtures("without_verilog")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the model of the toy with rollouts and another function."""
    folder = tmp_path_factory.mktemp("rollouts") / "toy"
    options = BuildOptions(functions=("id", "step"), width=24, samples=256, data_width=128, horizon=HORIZON)
    write(generate(path("toy"), options), folder)
    return folder


@pytest.fixture
def outcome_of(folder: Path, tmp_path: Path):
    """Return a function that runs rollouts with arrays in a file, and returns the outcome."""

    def outcome_of(engine: str = "model", **arrays: object) -> Outcome:
        np.savez(tmp_path / "x.npz", **arrays)
        return run(folder, ROLLOUT, tmp_path / "x.npz", tmp_path / "y.npz", engine)

    return outcome_of


def test_one_time_step_for_all_rollouts(folder: Path, tmp_path: Path, outcome_of) -> None:
    arrays = calm(read(folder), 5, seed=8) | {"h": 0.004}
    assert outcome_of(**arrays).tasks == 5
    with np.load(tmp_path / "y.npz") as results:
        np.testing.assert_array_equal(results["states"], rbdhw.load(folder).rollout(**arrays).states)


def test_the_first_flagged_step_is_explained(folder: Path, tmp_path: Path, outcome_of) -> None:
    """The elbow leaves its velocity's domain in a step, whose number and velocity are named."""
    design = read(folder)
    arrays = calm(design, 5, seed=8)
    fastest = design.domain.bounds["v"][1, 1]
    arrays["q"][:] = arrays["v"][:] = 0.0
    arrays["tau"] = np.tile([0.0, 15.0], (HORIZON, 1))
    arrays["v"][2, 1], arrays["v"][4, 0] = fastest * 0.9, 3.0 * design.domain.bounds["v"][0, 1]
    arrays["h"][:] = 0.001
    arrays["h"][2] = 0.005
    outcome = outcome_of(**arrays)
    assert outcome.flagged == 2
    with np.load(tmp_path / "y.npz") as results:
        first = results["first_flagged"]
    assert (first[4], np.count_nonzero(first)) == (1, 2)
    assert first[2] > 1
    states = rbdhw.load(folder).rollout(**arrays, every=1).states
    causes = {cause.signal: cause for cause in outcome.causes if cause.status == "outside"}
    elbow, shoulder = causes["v[1] (joint 'elbow')"], causes["v[0] (joint 'shoulder')"]
    assert (elbow.function, elbow.task, elbow.step, elbow.upper) == (ROLLOUT, 2, first[2], fastest)
    assert elbow.value == states[2, first[2] - 2, 3] > fastest  # the state before the step
    assert (shoulder.task, shoulder.step, shoulder.value) == (4, 1, arrays["v"][4, 0])
    assert elbow.text == (
        f"rollout: outside the domain: v[1] (joint 'elbow') is {elbow.value:.6g} rad/s in rollout 2, step "
        f"{first[2]}, expected {-fastest:.6g} to {fastest:.6g} rad/s (1 rollout); widen [joints.elbow] "
        "velocity in generate's --domain file"
    )
    assert {cause.task for cause in outcome_of("golden", **arrays).causes} == {4}


def test_there_is_a_warning_if_every_rollout_is_flagged(folder: Path, outcome_of) -> None:
    arrays = calm(read(folder), 2, seed=8)
    arrays["q"][:, 0] = 4.0
    warning = "every rollout is flagged (2), so no result is to be trusted; the causes name the remedies"
    assert outcome_of(**arrays).warnings[-1] == warning
    arrays["q"][0, 0] = 0.0
    assert warning not in outcome_of(**arrays).warnings


def test_degrees_are_suspected(folder: Path, outcome_of) -> None:
    arrays = calm(read(folder), 3, seed=8)
    arrays["q"][:] = [90.0, 45.0]
    assert "degrees? expected radians" in outcome_of(**arrays).warnings[0]


def test_what_rollouts_cannot_do_is_refused(folder: Path, tmp_path: Path, outcome_of) -> None:
    with pytest.raises(InputError, match=r"'rolout': not in the design .*one of id, step, rollout$"):
        run(folder, "rolout", tmp_path / "x.npz", tmp_path / "y.npz")
    with pytest.raises(InputError, match="'rollout': has no optional results"):
        run(folder, ROLLOUT, tmp_path / "x.npz", tmp_path / "y.npz", extended=True)
    none = {name: array[:0] for name, array in calm(read(folder), 1, seed=1).items() if name != "tau"}
    with pytest.raises(InputError, match="array 'q': no row; expected a first state for each rollout"):
        outcome_of(**none, tau=np.zeros((2, 2)))
