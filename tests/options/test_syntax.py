"""The syntax of option values, and the exact message for each text that has another form."""

import pytest

from rbdhw.options.algorithms import ALGORITHMS
from rbdhw.options.arguments import asked_build
from rbdhw.options.build import Mounting, Pacing
from rbdhw.options.syntax import parse_algorithms, parse_clock, parse_interval, parse_links, parse_share
from rbdhw.robot.mounting import ALL_LINKS, NO_LINKS, link_text


@pytest.mark.parametrize(
    ("text", "bandwidth", "fit", "expected"),
    [
        (None, None, None, (None, None)),
        ("8", None, None, (8, None)),
        ("8", None, 0.5, (8, None)),
        ("auto", None, None, (None, Pacing())),
        ("auto", 32.0, 0.5, (None, Pacing(bandwidth=32.0))),
        (None, None, 0.5, (None, Pacing(link=False))),
    ],
)
def test_an_interval_is_given_or_chosen(text, bandwidth, fit, expected):
    assert parse_interval(text, bandwidth, fit) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [(None, (None, None)), ("62.5", (62.5, None)), ("best-rate", (None, "best-rate"))],
)
def test_a_clock_is_given_or_chosen(text, expected):
    assert parse_clock(text) == expected
    assert (asked_build(clock=text)[0].clock_mhz, asked_build(clock=text)[0].clock_goal) == expected


@pytest.mark.parametrize(("text", "share"), [(None, None), ("60%", 0.6), ("0.25", 0.25), ("100%", 1.0)])
def test_a_share_is_a_percentage_or_a_number(text, share):
    assert parse_share(text) == share


class TestLinks:
    @pytest.mark.parametrize(
        ("texts", "links"),
        [
            ([], "none"),
            (["none"], "none"),
            (["all"], "all"),
            (["hand"], ("hand",)),
            (["hand,foot", "hand"], ("hand", "foot")),
            ([r"left\,lower", "foot"], ("left,lower", "foot")),
            ([r"a\\b"], ("a\\b",)),
            ([r"\all"], ("all",)),
            ([r"\none,foot"], ("none", "foot")),
            (["hand\\"], ("hand\\",)),
            (["right hand"], ("right hand",)),
        ],
    )
    def test_names_may_hold_commas_and_be_all(self, texts, links):
        assert asked_build(fext=texts)[0].fext == links

    @pytest.mark.parametrize("name", ["hand", "left,lower", "all", "none", "a\\b", ",", "\\,", "all,none"])
    def test_every_name_can_be_given(self, name):
        words = (NO_LINKS, ALL_LINKS)
        assert parse_links("fext", [link_text(name)], words) == (name,)
        assert parse_links("fext", [f"first,{link_text(name)}", link_text(name)], words) == ("first", name)


class TestFrames:
    def test_names_may_hold_commas_and_be_all(self):
        options = asked_build(functions="kin", frames=[r"left\,lower,all", "none"], frame_axes="world")[0]
        assert options.mounting == Mounting(frames=("left,lower", "all", "none"), frame_axes="world")


def test_contacts_are_frames_and_kinds():
    options = asked_build(functions="cfd", contacts=[r"left\,foot:surface,shin@0.3:0:0:point"])[0]
    assert options.mounting.contacts == (("left,foot", "surface"), ("shin@0.3:0:0", "point"))


def test_algorithms_are_parsed():
    assert parse_algorithms(["inverse=articulated", "products=dense"], ALGORITHMS) == {
        "inverse": "articulated",
        "products": "dense",
    }
