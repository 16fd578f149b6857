"""Checks of costs that come with the rows of rollouts: from a file, by any engine, and in a simulation."""

import numpy as np

import rbdhw
from rbdhw.design.folder import read
from rbdhw.estimate.fabric import FABRICS
from rbdhw.front.run import run
from rbdhw.protocol import ROLLOUT
from rbdhw.rtl.preparation import preparation_cells
from rbdhw.sim.simulate import simulate
from tests.support.rollouts import calm, weights

COST_ROWS, FRAMES = 3, ("tip", "forearm@0:0:0.1")
"""The residuals and the frames that the costs of an accelerator with all parts have."""


def check_file(folder, tmp_path, arrays):
    """Check that a file of these arrays is used whole, and has the costs of a call."""
    arrays = calm(read(folder), 5, seed=8) | arrays
    np.savez(tmp_path / "x.npz", **arrays)
    assert run(folder, ROLLOUT, tmp_path / "x.npz", tmp_path / "y.npz").ignored == ()
    with np.load(tmp_path / "y.npz") as results:
        np.testing.assert_array_equal(results["cost"], rbdhw.load(folder, "numpy").rollout(**arrays).cost)


def check_engine(folder, engine, drawn):
    """Check that an engine has the costs of the model with arrays ``drawn`` by seed, of which one recurs."""
    acc, other = rbdhw.load(folder, "numpy"), rbdhw.load(folder, engine)
    for seed in (1, 2, 2):
        arrays = calm(read(folder), 5, seed=1) | weights(1) | drawn(seed)
        np.testing.assert_array_equal(other.rollout(**arrays).cost, acc.rollout(**arrays).cost)


def check_simulation(folder):
    """Check a bulk simulation, in which most rollouts stay in the domain."""
    report = simulate(folder, 40, seed=3, bulk=True)
    assert (report.mismatches, report.ok) == (0, True)
    assert report.rollouts.flagged < 30


def check_tables(interface, without):
    """Check that an estimate has more look-up tables than that of an interface without these costs."""
    for fabric in FABRICS.values():
        cells = [preparation_cells(each, each.rollout, fabric) for each in (interface, without)]
        assert cells[0].luts - cells[1].luts > 300
