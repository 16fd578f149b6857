"""The choice of the initiation interval on hand-made candidates: by the link, by the device, and refusals."""

from types import SimpleNamespace

import pytest

from rbdhw.errors import InputError
from rbdhw.estimate.resources import Resources
from rbdhw.explore.initiation_interval import Interval, interval
from rbdhw.model.traffic import Traffic
from rbdhw.options.build import BuildOptions, Pacing
from rbdhw.target import target

ECP5 = target("ecp5-85")
PACKETS = {"id": Traffic(50, 20, 1, 1), "dfd": Traffic(60, 225, 1, 4)}


def candidates(
    luts=lambda ii: 10_000 + 100_000 // ii,
    products=120,
    packets=PACKETS,
    serves=lambda _: True,
    unit=1,
    tabled=0,
):
    """Return a build whose look-up tables are a function of the interval; ``tried`` lists the estimates.

    At an interval of 1 look-up tables can compute ``tabled`` of its products.
    """
    tried = []

    def estimate(ii):
        tried.append(ii)
        return Resources(luts(ii), 1000, -(-(products - tabled * (ii == 1)) // ii), 4)

    build = SimpleNamespace(
        unit=unit,
        serves=serves,
        link=lambda _: (packets, 125.0),
        products=lambda _: products,
        tabled=lambda _: tabled,
        estimate=estimate,
    )
    return build, tried


def chosen(known=None, arrays=None, **options):
    asked = BuildOptions(**options)
    known = (known or candidates())[0]
    return interval(asked, asked.least_ii, ECP5, known, arrays and arrays[0])


def refusal(known, arrays=None, **options):
    with pytest.raises(InputError) as error:
        chosen(known, arrays, **options)
    return str(error.value)


def array(luts):
    """Return candidates that begin at the shortest interval of the array core."""
    return candidates(luts, serves=lambda ii: ii >= 8)


SMALLER, LARGER = "fewer --functions, a smaller --width", "a larger --fit"


class TestLink:
    def test_the_function_with_the_most_beats_decides(self):
        reason = "the streams: a task of dfd takes 1 beats in and 4 out"
        assert chosen(pacing=Pacing()) == Interval(4, reason)

    @pytest.mark.parametrize(("bandwidth", "ii"), [(32.0, 1), (28.2, 1), (28.0, 2), (8.0, 4), (1.0, 29)])
    def test_a_bandwidth_limits_the_bytes_per_cycle(self, bandwidth, ii):
        """A task has 225 bytes, so 28.125 GB/s at 125 MHz carry one task per cycle."""
        reason = f"{bandwidth:g} GB/s: a task of dfd takes 60 bytes in and 225 out"
        small = candidates(luts=lambda _: 1000)
        assert chosen(small, pacing=Pacing(bandwidth=bandwidth)) == Interval(ii, reason)

    def test_a_link_that_is_too_slow_is_refused(self):
        """A task has 225 bytes; the link carries 0.001 GB/s at 125 MHz."""
        assert refusal(candidates(), pacing=Pacing(bandwidth=0.001)) == (
            "bandwidth: a task of dfd takes 28,125 cycles of the link; expected at most 4,096; "
            "use --bandwidth 0.00694 or more"
        )

    def test_packets_that_are_too_long_are_refused(self):
        assert refusal(candidates(packets={"id": Traffic(1, 1, 1, 5000)}), pacing=Pacing()) == (
            "ii: a task of id takes 5,000 cycles of the link; expected at most 4,096; "
            "use fewer --functions or a wider --tdata"
        )

    def test_the_interval_of_the_link_must_also_fit_the_device(self):
        """The link allows 4 cycles, at which the 400,000 / II look-up tables exceed the device's 83,640."""
        known = candidates(luts=lambda ii: 400_000 // ii)
        assert chosen(known, pacing=Pacing()) == Interval(5, "the fewest that fit 100% of ecp5-85")
        assert refusal(candidates(luts=lambda _: 90_000), pacing=Pacing()) == (
            "ii: at an ii of 4 the design takes 90,000 LUTs, 6,360 more than 100% of 83,640 of ecp5-85, and "
            "no other ii fits better; use fewer --functions, a smaller --width, a larger --target or "
            "--core array --width 18, which was not tried"
        )

    def test_requests_can_be_larger_than_answers(self):
        known = candidates(packets={"id": Traffic(90, 20, 3, 1)})
        assert chosen(known, pacing=Pacing()).ii == 3

    def test_packets_are_measured_again_at_a_longer_interval(self):
        """From 2 cycles on limbs share hardware, and their words are wider."""
        grown = {"id": Traffic(70, 20, 3, 1)}
        known, _ = candidates()
        known.link = lambda ii: (grown if ii > 1 else {"id": Traffic(60, 20, 2, 1)}, 125.0)
        assert interval(BuildOptions(pacing=Pacing()), 1, ECP5, known).ii == 3

    def test_intervals_without_a_core_are_skipped(self):
        assert chosen(candidates(serves=lambda ii: ii % 3 == 0), pacing=Pacing()).ii == 6

    def test_a_given_interval_is_kept(self):
        assert chosen(ii=2) == Interval(2, "asked for")
        assert chosen(ii=1) == Interval(1, "asked for")

    def test_without_an_interval_the_default_is_taken(self):
        assert chosen() == Interval(1, "the default")
        assert chosen(fit=1.0, known=candidates(luts=lambda _: 1000)) == Interval(1, "the default")


class TestFit:
    def test_the_shortest_interval_that_fits_is_found(self):
        """The limit is 60% of 83,640, or 50,184; 10,000 + 100,000 / II is 43,333 at II = 3."""
        assert chosen(fit=0.6, pacing=Pacing(link=False)) == Interval(3, "the fewest that fit 60% of ecp5-85")

    def test_the_search_bisects_between_two_of_the_intervals(self):
        """The limit is 20%, or 16,728, which the design meets from II = 15 on."""
        known = candidates()
        assert chosen(known, fit=0.2, pacing=Pacing(link=False)).ii == 15
        assert set(known[1]) <= {4, 6, 8, 12, 14, 15, 16}

    def test_intervals_with_too_many_products_are_not_scheduled(self):
        """A tenth of 156 DSP blocks is 15, so that 120 products need an II of 8."""
        known = candidates(luts=lambda _: 1000)
        assert chosen(known, fit=0.1, pacing=Pacing(link=False)).ii == 8
        assert min(known[1]) == 8

    @pytest.mark.parametrize(
        ("tabled", "luts", "ii", "tried"), [(105, 1000, 1, {1}), (104, 1000, 8, {8}), (105, 9000, 8, {1, 8})]
    )
    def test_products_in_tables_allow_the_first_interval(self, tabled, luts, ii, tried):
        """A tenth is 15 DSP blocks and 8,364 look-up tables."""
        known = candidates(luts=lambda ii: luts if ii == 1 else 1000, tabled=tabled)
        assert chosen(known, fit=0.1, pacing=Pacing(link=False)).ii == ii
        assert set(known[1]) >= tried
        assert min(known[1]) == min(tried)

    def test_the_longer_interval_of_link_and_device_is_taken(self):
        assert chosen(fit=0.6, pacing=Pacing()).ii == 4
        assert chosen(fit=0.2, pacing=Pacing()).ii == 15

    def test_a_longer_interval_can_take_more_resources(self):
        """Multiplexers can cost more than sharing saves, so the longest interval need not be the smallest."""
        known = candidates(luts=lambda ii: 20_000 if 6 <= ii <= 8 else 90_000)
        assert chosen(known, fit=0.5, pacing=Pacing(link=False)).ii == 6

    def test_an_interval_at_which_nothing_can_be_built_does_not_fit(self):
        known = candidates(luts=unbuildable_below(12, 10_000))
        assert chosen(known, fit=0.6, pacing=Pacing(link=False)).ii == 12

    def test_a_design_that_can_be_built_at_no_interval_is_refused_with_its_reason(self):
        known = candidates(luts=unbuildable_below(100, 10_000))
        assert refusal(known, fit=0.6, pacing=Pacing(link=False)) == "ii: no place in 64 cycles"

    def test_nothing_fits(self):
        known = candidates(luts=lambda ii: 60_000 + ii)
        assert refusal(known, fit=0.6, pacing=Pacing(link=False), core="auto", width=18) == (
            "fit: at an ii of 2 the design takes 60,002 LUTs, 9,818 more than 60% of 83,640 of ecp5-85, "
            "and no other ii fits better; use fewer --functions, a smaller --width or a larger --fit"
        )

    def test_a_given_interval_that_fits(self):
        assert chosen(ii=3, fit=0.6) == Interval(3, "asked for")

    def test_a_given_interval_that_does_not_fit(self):
        assert refusal(candidates(), ii=2, fit=0.6) == (
            "fit: at an ii of 2 the design takes 60,000 LUTs, 9,816 more than 60% of 83,640 of ecp5-85; "
            "use --ii 3"
        )

    def test_the_refusal_lists_every_exceeded_resource(self):
        known = candidates(luts=lambda _: 60_000, products=300)
        assert refusal(known, ii=2, fit=0.6, core="auto", width=18) == (
            "fit: at an ii of 2 the design takes 60,000 LUTs, 9,816 more than 60% of 83,640 "
            "and 150 DSP blocks, 57 more than 60% of 156 of ecp5-85, and no ii up to 64 fits; "
            "use fewer --functions, a smaller --width or a larger --fit"
        )


def unbuildable_below(least, luts):
    """Return the look-up tables of a design that cannot be built at an interval below ``least``."""

    def luts_at(ii):
        if ii < least:
            raise InputError("ii", f"no place in {ii} cycles")
        return luts

    return luts_at


class TestChains:
    def test_intervals_are_multiples_of_the_links(self):
        """Intervals of 100 links are compared up to 4,000."""
        known = candidates(luts=lambda ii: 20_000_000 // ii, serves=lambda ii: ii % 100 == 0, unit=100)
        choice = interval(BuildOptions(fit=0.1, pacing=Pacing(link=False)), 100, ECP5, known[0])
        assert choice == Interval(2400, "the fewest that fit 10% of ecp5-85")
        assert all(ii % 100 == 0 for ii in known[1])
        known = candidates(luts=lambda _: 20_000, serves=lambda ii: ii % 100 == 0, unit=100)
        assert "and no ii up to 3200 fits" in refusal(known, ii=100, fit=0.1)


class TestArrayCore:
    """The refusal of a share for the pipeline core also states whether the array core would fit."""

    BIG = "fit: at an ii of 2 the design takes 60,002 LUTs, 9,818 more than 60% of 83,640 of ecp5-85"
    PIPELINE = candidates(luts=lambda ii: 60_000 + ii)

    def chosen(self, arrays=None, **options):
        return refusal(self.PIPELINE, arrays, fit=0.6, pacing=Pacing(link=False), **options)

    def given(self, ii, arrays=None, pipeline=PIPELINE, **options):
        """Return the remedy of a given interval."""
        return refusal(pipeline, arrays, ii=ii, fit=0.6, **options).partition("; ")[2]

    def test_an_array_that_fits_is_named_with_its_interval(self):
        small = array(lambda ii: 60_000 if ii < 20 else 40_000)
        assert self.chosen(small, width=18) == (
            f"{self.BIG}, and no other ii fits better; use --core array (which fits at --ii 20), "
            f"{SMALLER} or {LARGER}"
        )
        assert self.given(2, small, width=18) == f"use --core array --ii 20, {SMALLER} or {LARGER}"

    def test_an_array_that_fits_must_also_keep_up_with_the_link(self):
        slow = {"id": Traffic(900, 20, 30, 1)}
        arrays = candidates(lambda _: 40_000, packets=slow, serves=lambda ii: ii >= 8)
        assert "(which fits at --ii 30)" in refusal(self.PIPELINE, arrays, fit=0.6, pacing=Pacing(), width=18)

    def test_an_array_that_fits_at_no_interval_is_also_named(self):
        large = array(lambda _: 70_000)
        assert self.chosen(large, width=18) == (
            f"{self.BIG}, and no other ii fits better, nor does any with --core array; "
            f"use {SMALLER} or {LARGER}"
        )
        assert refusal(self.PIPELINE, large, ii=2, fit=0.6, width=18) == (
            f"{self.BIG}, and no ii up to 64 fits, nor does any with --core array; use {SMALLER} or {LARGER}"
        )

    def test_an_array_that_cannot_be_built_does_not_fit(self):
        nowhere = array(unbuildable_below(100, 40_000))
        assert "nor does any with --core array; use fewer" in self.chosen(nowhere, width=18)
        later = array(unbuildable_below(16, 40_000))
        assert "--core array (which fits at --ii 16)" in self.chosen(later, width=18)

    @pytest.mark.parametrize(
        ("options", "needed"),
        [
            ({}, "--core array --width 18"),
            ({"core": "auto"}, "--core auto --width 18"),
            ({"width": 18, "share_limbs": "on"}, "--core array --share-limbs auto"),
            ({"share_limbs": "on"}, "--core array --width 18 --share-limbs auto"),
        ],
    )
    def test_the_refusal_names_the_options_that_an_array_needs(self, options, needed):
        assert self.chosen(**options) == (
            f"{self.BIG}, and no other ii fits better; use {SMALLER}, {LARGER} or {needed}, "
            "which was not tried"
        )
        untried = f"{needed} --ii 8 or more, which was not tried"
        assert self.given(2, **options) == f"use {SMALLER}, {LARGER} or {untried}"
        assert self.given(12, **options) == f"use {SMALLER}, {LARGER} or {needed}, which was not tried"

    def test_a_shorter_interval_of_the_array_is_named_with_that_of_the_pipeline(self):
        """The pipeline fits from an II of 30 on."""
        late = candidates(luts=lambda ii: 60_000 if ii < 30 else 40_000)
        sooner, later = (array(lambda ii, k=k: 60_000 if ii < k else 40_000) for k in (17, 31))
        assert self.given(2, sooner, late, width=18) == "use --core array --ii 17 or --ii 30"
        assert self.given(20, sooner, late, width=18) == "use --core array --ii 20 or --ii 30"
        assert self.given(2, later, late, width=18) == "use --ii 30"
        assert self.given(12, None, late) == "use --ii 30 or --core array --width 18, which was not tried"

    def test_an_array_is_not_named_if_the_pipeline_fits_at_a_shorter_interval_than_any_array(self):
        early = candidates(luts=lambda ii: 60_000 if ii < 6 else 40_000)
        assert self.given(2, array(lambda _: 1000), early, width=18) == "use --ii 6"
        assert self.given(2, None, early) == "use --ii 6"
