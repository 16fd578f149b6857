"""The choice between the cores, from hand-made estimates and in builds."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from rbdhw.cores import core, prepared
from rbdhw.cores.choice import CoreChoice, choose_core, suggest_core
from rbdhw.errors import InputError
from rbdhw.estimate.resources import Resources
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.explore.initiation_interval import Interval
from rbdhw.explore.search import BuildSearch, prepare_build
from rbdhw.frontend.chain import CHAIN_FUNCTIONS
from rbdhw.options.build import BuildOptions, Pacing
from rbdhw.pipeline import generate
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.target import SPARE_BLOCK_RAMS, TARGETS, target
from tests.support.chains import chain
from tests.support.mechanisms import with_mimic

ECP5 = target("ecp5-85")
SMALL = Resources(luts=8_364, flip_flops=100, dsp_blocks=78, block_rams=0)
pytestmark = pytest.mark.usefixtures("without_verilog")

LARGE = Resources(luts=50_184, flip_flops=100, dsp_blocks=1, block_rams=0)
TOO_FAST = InputError("clock", "too fast")

BOTH = ("pipeline", "array")

TOY = BuildOptions(
    ("id", "fd", "did"), target="ecp5-85", width=18, data_width=64, samples=128, core="auto", ii=32
)


def toy(**options):
    return BuildOptions(**{**vars(TOY), **options})


class TestCheaper:
    def test_the_core_whose_largest_share_is_less(self):
        """The core with half of the DSP blocks beats the one with three fifths of the look-up tables."""
        why = "the array takes 50.0% of the DSP blocks, the pipeline takes 60.0% of the LUTs"
        estimates = {"pipeline": LARGE, "array": SMALL}
        assert choose_core(estimates, {}, ECP5) == CoreChoice("array", why, estimates)

    def test_the_pipeline_if_both_take_the_same(self):
        assert choose_core({"pipeline": SMALL, "array": SMALL}, {}, ECP5).core == "pipeline"

    def test_a_core_that_can_be_built_is_preferred_to_one_that_cannot(self):
        choice = choose_core({"array": LARGE}, {"pipeline": TOO_FAST}, ECP5)
        assert choice.core == "array"
        assert choice.why == "the array takes 60.0% of the LUTs, no pipeline (clock: too fast)"

    def test_no_core_can_be_built(self):
        with pytest.raises(InputError) as error:
            choose_core({}, {"array": InputError("ii", "no place"), "pipeline": TOO_FAST}, ECP5)
        assert error.value is TOO_FAST


def search_of(options: BuildOptions) -> BuildSearch:
    return BuildSearch(prepare_build(load_urdf(path("toy")), options), options)


@cache
def build() -> BuildSearch:
    return search_of(TOY)


@pytest.mark.parametrize("function", CHAIN_FUNCTIONS)
def test_the_core_of_a_long_chain(capsys: pytest.CaptureFixture[str], function: str) -> None:
    long, options = chain(65), BuildOptions((function,))
    robot, chosen = suggest_core(long, options)
    assert chosen == replace(options, core="chain")
    remark = (
        "robot 'mechanism' has 65 links; taken: the chain core; --core pipeline computes each link "
        "by hardware of its own"
    )
    assert robot.remarks == (remark,)
    assert capsys.readouterr().err == f"rbdhw: {remark}\n"
    assert suggest_core(long, replace(options, ii=130))[1].core == "chain"
    capsys.readouterr()
    unchanged = [
        (long, replace(options, core="pipeline")),
        (long, replace(options, ii=4)),
        (long, replace(options, functions=("id", "fd"))),
        (long, replace(options, copies=2)),
        (chain(64), options),
        (with_mimic(long, 2, 1, 0.5), options),
    ]
    for asked in unchanged:
        assert suggest_core(*asked) == asked
    assert not capsys.readouterr().err


class TestBuilds:
    def test_the_chosen_core_is_the_cheaper_one(self):
        plan = build().plan(Interval(32, "tried"))
        both = {core: build().schedule(core, 32).estimate for core in BOTH}
        assert plan.choice.estimates == both
        assert plan.core.name == "array"
        assert plan.estimate == both["array"]
        assert both["array"].luts < both["pipeline"].luts

    def test_at_short_intervals_there_is_no_array(self):
        why = "no array (ii: 4 is too few for the array core; expected 8 or more)"
        assert build().cores(4) == ("pipeline",)
        assert build().choose(4) == CoreChoice("pipeline", why, {})

    @pytest.mark.parametrize(
        ("options", "why"),
        [
            ({"width": None}, "width: the multipliers of an array have one width; expected 8 to 32"),
            (
                {"share_limbs": "on"},
                "share-limbs: the array core shares all hardware anyway; expected auto or off",
            ),
        ],
    )
    def test_builds_that_the_array_does_not_support(self, options, why):
        search = search_of(toy(**options))
        assert search.choose(32) == CoreChoice("pipeline", f"no array ({why})", {})

    def test_the_pipeline_is_chosen_if_the_array_cannot_be_built(self, monkeypatch):
        def refuse(*_):
            raise InputError("ii", "no place")

        monkeypatch.setattr("rbdhw.cores.array.core.build_array", refuse)
        search = search_of(toy(functions=("id",)))
        taken = search.choose(32)
        assert taken.core == "pipeline"
        assert taken.why.endswith(", no array (ii: no place)")

    def test_formats_are_chosen_once_for_each_core_and_tasks_are_drawn_once(self, monkeypatch):
        calls = Counter()

        def counted(module, name):
            do = getattr(module, name)

            def call(*given):
                calls[name] += 1
                return do(*given)

            monkeypatch.setattr(module, name, call)

        counted(core, "choose_formats")
        counted(prepared, "observe")
        search = search_of(toy(functions=("id",)))
        for ii in (4, 8, 16, 32):
            search.plan(Interval(ii, "tried"))
        assert calls == {"choose_formats": 2, "observe": 1}

    def test_each_core_has_its_formats(self):
        programs = [build().schedule(core, 32).program for core in BOTH]
        assert len({len(program.operations) for program in programs}) == 2
        assert build().program(32) == programs[1]
        assert build().program(4) == programs[0]

    def test_products_are_those_of_the_core_with_the_fewest(self):
        array = search_of(toy(core="array"))
        assert build().products(32) < array.products(32)
        units = array.schedule("array", 32).core.multipliers
        assert array.products(32) <= 32 * units

    def test_the_manifest_states_the_core_and_the_reason(self):
        facts = generate(path("toy"), TOY).manifest
        (part,) = facts["parts"]
        told = part["cores"]
        assert facts["core"] == "array"
        assert "operand_memories" in part
        assert told["asked"] == "auto"
        assert told["why"].startswith("the array takes ")
        assert told["estimates"]["array"] == {
            name: facts["estimate"][name] for name in told["estimates"]["array"]
        }
        assert set(told["estimates"]) == set(BOTH)

    def test_a_requested_core(self):
        facts = generate(path("toy"), toy(core="pipeline", functions=("id",))).manifest
        assert facts["core"] == "pipeline"
        assert facts["parts"][0]["cores"] == {"asked": "pipeline", "why": "asked for", "estimates": {}}


SMALLER = replace(ECP5, luts=10_000, block_rams=120)


@pytest.fixture
def smaller(monkeypatch):
    """A device so small that the toy takes a large share of it."""
    monkeypatch.setitem(TARGETS, "ecp5-85", SMALLER)


FEWER = replace(TOY, functions=("id", "fd"))


@cache
def fewer() -> BuildSearch:
    return search_of(FEWER)


def share(core, ii):
    """Return a share of the look-up tables slightly larger than the toy's on a core at an interval."""
    return 1.001 * fewer().schedule(core, ii).estimate.luts / SMALLER.luts


@cache
def find_plan(**options):
    return make_plan(load_urdf(path("toy")), replace(FEWER, ii=1, pacing=Pacing(link=False), **options))


@pytest.mark.usefixtures("smaller")
class TestIntervals:
    def test_arrays_are_searched_at_their_own_intervals(self):
        fit = share("array", 16)
        plan = find_plan(core="array", fit=fit)
        assert 8 < plan.interval.ii == plan.ii <= 16
        assert plan.interval.why == f"the fewest that fit {100.0 * fit:g}% of ecp5-85"
        assert plan.estimate.luts <= fit * SMALLER.luts

    def test_a_search_begins_at_the_shortest_interval_of_the_array(self):
        assert find_plan(core="array", fit=0.9).ii == 8

    def test_operand_memories_keep_to_the_share(self, monkeypatch):
        """Half of the block RAMs, without those reserved for other parts, hold four memories."""
        monkeypatch.setitem(TARGETS, "ecp5-85", replace(ECP5, block_rams=2 * (SPARE_BLOCK_RAMS + 4)))
        source = load_urdf(path("toy"))
        plan = make_plan(source, replace(FEWER, core="array", fit=0.5))
        free = make_plan(source, replace(FEWER, core="array"))
        assert (plan.core.schedule.block_rams, free.core.schedule.block_rams) == (4, SPARE_BLOCK_RAMS + 8)
        assert plan.estimate.block_rams < free.estimate.block_rams
        assert plan.estimate.luts > free.estimate.luts
        assert free.core.schedule.steps == plan.core.schedule.steps

    @pytest.mark.verify
    def test_both_cores_are_searched(self):
        """Only an array becomes as small as the array of the longest interval."""
        fit = share("array", 64)
        assert find_plan(fit=fit).core.name == "array"
        with pytest.raises(InputError) as error:
            find_plan(fit=fit, core="pipeline")
        assert str(error.value).startswith("fit: at an ii of ")
        assert "no other ii fits better" in str(error.value)

    def test_the_interval_of_the_link_is_that_of_the_chosen_core(self):
        plan = make_plan(load_urdf(path("toy")), replace(FEWER, ii=1, data_width=32, pacing=Pacing()))
        assert plan.core.name == "pipeline"
        assert plan.choice.why.startswith("no array (ii: ")

    def test_a_refusal_considers_both_cores(self):
        fit, source = share("array", 64), load_urdf(path("toy"))
        with pytest.raises(InputError) as error:
            make_plan(source, replace(FEWER, ii=8, fit=fit))
        fitting = find_plan(fit=fit).ii
        assert str(error.value).endswith(f" of ecp5-85; use --ii {fitting}")
        with pytest.raises(InputError) as error:
            make_plan(source, replace(FEWER, ii=8, fit=fit, core="pipeline"))
        assert error.value.reason.endswith(" of ecp5-85, and no ii up to 64 fits")
        assert error.value.remedy.startswith(f"use --core array --ii {fitting}, fewer ")
