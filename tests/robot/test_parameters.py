"""Inertial parameters that are given at run time: links, bounds, and the map to what is held."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw.errors import InputError
from rbdhw.frontend.read import mount
from rbdhw.options.build import Mounting
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Inertia
from rbdhw.robot.parameters import (
    bounds_by_link,
    held_bounds,
    held_values,
    leaf_link,
    linear_bounds,
    linear_parameters,
    load_inertias,
    nominal_parameters,
    unphysical,
    with_held_map,
)
from rbdhw.robot.serialize import robot_from_json, robot_to_json
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path

ARM = load_urdf(path("iiwa14"))
LAST = "iiwa_link_7"


def mapped(*links):
    robot = load_inertias(ARM, links)
    return with_held_map(robot, align_axes(elementary(robot)))


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("tool", "parameters: link 'tool' is unknown; expected some of iiwa_link_1"),
        ("iiwa_link_ee", "link 'iiwa_link_ee' is fixed to 'iiwa_link_7'; .*; use --parameters iiwa_link_7"),
        (ARM.base, f"parameters: link '{ARM.base}' does not move; expected some of"),
    ],
)
def test_links_that_cannot_be_chosen(link, message):
    robot = replace(ARM, fixed_links=(*ARM.fixed_links, ("iiwa_link_ee", LAST)))
    with pytest.raises(InputError, match=message):
        load_inertias(robot, [link])


@pytest.mark.parametrize(
    ("inertia", "problem"),
    [
        (Inertia(), "a mass of 0 kg"),
        (Inertia(1.0, rotational=(1.0, 0.0, 0.0, 1.0, 0.0, 9.0)), "the last above"),
    ],
)
def test_links_without_the_inertia_of_a_body(inertia, problem):
    robot = ARM.with_bodies([*ARM.bodies[:-1], replace(ARM.bodies[-1], inertia=inertia)])
    with pytest.raises(InputError, match=f"link '{LAST}' has .*{problem}"):
        load_inertias(robot, [LAST])


def test_the_words_for_links():
    assert mount(ARM, Mounting(parameters="payload")).loaded.links == (LAST,)
    assert mount(ARM, Mounting(parameters="inertias")).loaded.links == tuple(body.name for body in ARM.bodies)
    with pytest.raises(
        InputError, match="has 4 links that carry no other; expected one; use --parameters lf_"
    ):
        leaf_link(load_urdf(path("hyq")))


def test_what_is_zero_in_the_file_stays_zero():
    robot = mapped(LAST)
    assert robot.loaded.names == tuple(
        f"{name} of {link}"
        for link, names in (
            ("iiwa_link_2", ("hy", "syy")),
            ("iiwa_link_4", ("hy", "syy")),
            ("iiwa_link_6", ("hy", "syy")),
            (LAST, ("sxx", "syy")),
        )
        for name in names
    )


def test_held_values_stay_within_their_bounds():
    robot = mapped(LAST, "iiwa_link_3")
    rng = np.random.default_rng(1)
    lower, upper = np.moveaxis(bounds_by_link(robot), -1, 0)
    held = held_values(robot, rng.uniform(lower, upper, (200, *lower.shape)))
    low, high = held_bounds(robot).T
    assert (held >= low - 1e-12).all()
    assert (held <= high + 1e-12).all()


def test_bounds_of_linear_parameters():
    rng = np.random.default_rng(2)
    ends = np.sort(rng.uniform(-1.0, 1.0, (10, 2)), axis=1)
    ends[0] = 1.0, 2.0
    drawn = linear_parameters(rng.uniform(ends[:, 0], ends[:, 1], (500, 10)))
    bounds = linear_bounds(ends)
    assert (drawn >= bounds[:, 0]).all()
    assert (drawn <= bounds[:, 1]).all()


def test_parameters_of_no_body():
    body = nominal_parameters(mapped(LAST))[0]
    assert unphysical(body) == ""
    assert unphysical(np.r_[0.0, body[1:]]).startswith("a mass of 0")
    assert "principal moment -" in unphysical(np.r_[body[:5], 1.0, body[6:]])


def test_json_keeps_the_map():
    robot = mapped(LAST)
    assert robot_from_json(robot_to_json(robot)) == robot
    assert "loaded" not in robot_to_json(ARM)
