"""The syntax of option values, and the exact message for each text that has another form."""

import pytest

from rbdhw.errors import InputError
from rbdhw.options.algorithms import ALGORITHMS
from rbdhw.options.arguments import asked_build
from rbdhw.options.build import Mounting, Pacing
from rbdhw.options.checks import check_options
from rbdhw.options.syntax import parse_algorithms, parse_interval, parse_links, parse_share
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
    ("text", "bandwidth", "refusal"),
    [
        ("fast", None, "ii: 'fast' is not an interval; expected a number of cycles or auto"),
        ("1.5", None, "ii: '1.5' is not an interval; expected a number of cycles or auto"),
        ("4", 32.0, "bandwidth: 32 GB/s has no effect here; expected it together with --ii auto"),
        (None, 32.0, "bandwidth: 32 GB/s has no effect here; expected it together with --ii auto"),
    ],
)
def test_an_invalid_interval_is_refused(text, bandwidth, refusal):
    with pytest.raises(InputError) as error:
        parse_interval(text, bandwidth, None)
    assert str(error.value) == refusal


@pytest.mark.parametrize(("text", "share"), [(None, None), ("60%", 0.6), ("0.25", 0.25), ("100%", 1.0)])
def test_a_share_is_a_percentage_or_a_number(text, share):
    assert parse_share(text) == share


@pytest.mark.parametrize("text", ["60", "0%", "101%", "-5%", "much", "", "nan"])
def test_an_invalid_share_is_refused(text):
    with pytest.raises(InputError) as error:
        parse_share(text)
    expected = f"fit: '{text}' is not a share of a device; expected a percentage such as 60%"
    assert str(error.value) == expected


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

    @pytest.mark.parametrize(
        ("texts", "line"),
        [
            ([""], "fext: '' is not a link; expected none, all, or names of links"),
            (["hand,"], "fext: '' is not a link; expected none, all, or names of links"),
            (
                ["all", "hand"],
                r"fext: 'all' beside other links; expected it alone, or '\all' for a link of that name",
            ),
            (
                ["hand,none"],
                r"fext: 'none' beside other links; expected it alone, or '\none' for a link of that name",
            ),
        ],
    )
    def test_what_names_no_links_is_refused(self, texts, line):
        with pytest.raises(InputError) as error:
            asked_build(fext=texts)
        assert str(error.value) == line


class TestFrames:
    def test_names_may_hold_commas_and_be_all(self):
        options = asked_build(functions="kin", frames=[r"left\,lower,all", "none"], frame_axes="world")[0]
        assert options.mounting == Mounting(frames=("left,lower", "all", "none"), frame_axes="world")

    @pytest.mark.parametrize(
        ("functions", "texts", "line"),
        [
            ("kin", ["tip,"], "frames: '' is not a link; expected names of links"),
            ("kin", ["tip", "hand,tip"], "frames: link 'tip' appears twice; expected each link once"),
            ("kin", [], "frames: none given for kin; expected names of links; use --frames LINK"),
            ("id", ["tip"], "frames: only kin has results of frames; use --functions kin"),
        ],
    )
    def test_what_is_refused(self, functions, texts, line):
        with pytest.raises(InputError) as error:
            check_options(asked_build(functions=functions, frames=texts)[0])
        assert str(error.value) == line

    def test_unknown_axes(self):
        with pytest.raises(InputError, match="frame-axes: 'up' is unknown; expected one of local, world"):
            check_options(asked_build(frame_axes="up")[0])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["speed=fast"], "algorithm: step 'speed' is unknown; expected one of " + ", ".join(ALGORITHMS)),
        (
            ["inverse"],
            "algorithm: '' is unknown for inverse; expected one of " + ", ".join(ALGORITHMS["inverse"]),
        ),
        (
            ["products=dense", "products=solves"],
            "algorithm: products is given twice; expected one algorithm for each step",
        ),
    ],
)
def test_a_wrong_algorithm_is_refused(texts, message):
    with pytest.raises(InputError) as caught:
        parse_algorithms(texts, ALGORITHMS)
    assert str(caught.value) == message


def test_algorithms_are_parsed():
    assert parse_algorithms(["inverse=articulated", "products=dense"], ALGORITHMS) == {
        "inverse": "articulated",
        "products": "dense",
    }
