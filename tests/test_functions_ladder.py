"""Every function of the registry, from Pinocchio over each representation to the hardware and the tables."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.cores.core import Core
from rbdhw.design.packet_layout import packet_entries
from rbdhw.frontend.read import load_mounted
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import plan_build
from rbdhw.protocol import CODES, FUNCTIONS, TRACKED, TRACKED_JACOBIAN
from rbdhw.robot.link_frames import choose_frames, choose_spheres
from rbdhw.robot.model import BASE, JointKind, Robot
from rbdhw.robots import path
from rbdhw.software.exact_library import ExactLibrary
from tests.support.bit_exact import assert_same_bits, draw_words, modes
from tests.support.builds import random_words
from tests.support.contacts import with_contacts
from tests.support.derivations import derived
from tests.support.documents import ROOT
from tests.support.graph_results import assert_graph_is_golden
from tests.support.marks import long
from tests.support.mechanisms import mechanism
from tests.support.rtl_cores import expected, requests, responses
from tests.support.strategies import random_states
from tests.support.tracking import tracking

EVERY = pytest.mark.parametrize("function", FUNCTIONS)

TRACKING = {TRACKED, TRACKED_JACOBIAN}

II = {"pipeline": 4, "array": 16}

CONTACTS = {"cfd", "impulse", "cstep", "dcfd", "dcstep", "cinertia"}

MOMENTA = {"com", "centroidal", "dcentroidal"}

LONG = {
    "pipeline": CONTACTS | MOMENTA | {"kin", "regressor", "dstep", "drk4"},
    "array": CONTACTS - {"impulse"}
    | MOMENTA
    | {"kin", "regressor", "step", "dstep", "rk4", "drk4", "pose", "position", "clearance"}
    | {"minv", "did", "dfd", "dfext"},
    "C": CONTACTS - {"cfd"}
    | MOMENTA - {"com"}
    | {"m", "minv", "did", "sid", "sfd", "hid", "drk4", "gravity", "bias", "energy", "pose", "dfext"},
}
"""Functions whose hardware and C `make verify` alone compares with their program."""


def robot_of(function: str) -> Robot:
    """Return two joints, with the frame of the last link, a contact or spheres, if the function needs any.

    Steps that may track frames do.
    """
    entry = FUNCTIONS[function]
    tracks = not TRACKING.isdisjoint(entry.outputs)
    contacts = (("tip", "point"),) if entry.touches else ()
    frames = ("tip",) if entry.framed or tracks else ()
    spheres = (("tip@0:0:0", 0.1), ("upper_arm@0:0:0.1", 0.0), ("world@0.3:0.1:0", 0.2)) * entry.clears
    chosen = {"frames": frames, "contacts": contacts, "contact_axes": "local", "spheres": spheres}
    return replace(load_mounted(path("toy"), Mounting(**chosen)), tracks=tracks)


def pendulum_of(function: str) -> Robot:
    """Return one joint, with the frame of its link if the function needs one: the least hardware.

    Its mass matrix is constant; functions that return that or its inverse have two joints.
    """
    if function in ("m", "minv", "dfext"):
        return robot_of(function)
    pendulum = mechanism([JointKind.REVOLUTE], [BASE], seed=1)
    if FUNCTIONS[function].clears:
        return choose_spheres(pendulum, [("b0@0.1:0.2:0.3", 0.1), ("world@0:0.5:0", 0.0)])
    if FUNCTIONS[function].touches:
        pendulum = with_contacts(pendulum, 1, "local")
    if not TRACKING.isdisjoint(FUNCTIONS[function].outputs):
        return tracking(pendulum, "b0@0.1:0.2:0.3")
    return choose_frames(pendulum, ["b0"], "local") if FUNCTIONS[function].framed else pendulum


@cache
def built(function: str, core: str) -> tuple[AcceleratorModel, Core]:
    """Return a build of the function alone, and its only core."""
    options = BuildOptions((function,), width=12, ii=II[core], core=core, samples=64)
    plan = plan_build(pendulum_of(function), options)
    (only,) = plan.cores
    return plan.accelerator, only


@EVERY
def test_golden_is_pinocchio_or_derived_from_it(function):
    robot = robot_of(function)
    arrays = random_states(robot, 3, seed=CODES[function])
    results = golden.evaluate(robot, function, arrays)
    others = derived(robot, function, arrays)
    assert tuple(others) == FUNCTIONS[function].outputs
    for name, array in others.items():
        np.testing.assert_allclose(
            results[name], array, rtol=0, atol=1e-7 * np.abs(array).max(), err_msg=name
        )


@EVERY
def test_the_graph_is_golden(function):
    assert_graph_is_golden(robot_of(function), CODES[function], functions=(function,))


@pytest.mark.parametrize(
    ("function", "core"),
    [long(name, core) if name in LONG[core] else (name, core) for name in FUNCTIONS for core in II],
)
def test_the_hardware_is_the_program(function, core):
    _, only = built(function, core)
    component = only.component(None)
    words = random_words(component.program, 6, seed=1)
    asked = requests(component.program, 6, seed=2)
    assert responses(component, words, 2, asked) == expected(component.program, words, asked)


@pytest.mark.parametrize("function", [long(name) if name in LONG["C"] else name for name in FUNCTIONS])
def test_c_is_the_program(function):
    model, _ = built(function, "pipeline")
    library = ExactLibrary(model, flags=["-O0"])
    for name, extended in modes(model):
        words = draw_words(model, name, extended, 50)
        assert_same_bits(library.respond(name, words, extended), respond(model, name, words, extended))


@pytest.mark.parametrize(
    "function", [long(name) if name in ("cinertia", "cstep", "dcstep") else name for name in FUNCTIONS]
)
def test_every_word_has_a_unit(function):
    model, _ = built(function, "pipeline")
    entries = packet_entries(model.interface, model.robot).data()
    words = [word for kind in ("inputs", "outputs", "optional_outputs") for word in entries[kind][function]]
    assert words
    assert all(word["unit"] for word in words)


@EVERY
@pytest.mark.parametrize("page", ["README.md", "docs/interface.md"])
def test_the_tables_have_a_row(function, page):
    first = re.findall(r"^\|(.*?)\|", (ROOT / page).read_text(), re.MULTILINE)
    assert function in re.findall(r"`(\w+)`", " ".join(first))
