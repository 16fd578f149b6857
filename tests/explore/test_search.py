"""The search for a build: what is computed again when an option changes, and what is not."""

from dataclasses import replace

import pytest

from rbdhw.domain.overrides import read_overrides
from rbdhw.explore.search import BuildSearch, prepare_build
from rbdhw.frontend.read import mount
from rbdhw.options.build import CHEAPER_CORE, BuildOptions, Mounting, Pacing
from rbdhw.quantize.formats import measure
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path

OPTIONS = BuildOptions(("id", "fd"), ii=4, width=12, samples=256)


@pytest.fixture(scope="module")
def search() -> BuildSearch:
    """Return the search of the toy; all tests share its cache."""
    return BuildSearch(prepare_build(load_urdf(path("toy")), OPTIONS), OPTIONS)


def test_the_same_build_is_scheduled_once(search):
    again = search.with_options(replace(OPTIONS, core=CHEAPER_CORE))
    assert again.schedule("pipeline", 4) is search.schedule("pipeline", 4)


@pytest.mark.parametrize(
    ("option", "value"),
    [("clock_mhz", 90.0), ("data_width", 64), ("number", "float32"), ("priority", ("fd",))],
)
def test_another_option_gives_another_schedule_of_the_same_formats(search, option, value):
    first = search.schedule("pipeline", 4)
    other = search.with_options(replace(OPTIONS, **{option: value})).schedule("pipeline", 4)
    assert other.formats is first.formats
    assert {"clock_mhz": other.clock_mhz, **vars(other.interface)}[option] == value


@pytest.mark.parametrize(
    ("text", "options", "mounting", "idle"),
    [
        ("[fext]\nforce = 1.0", {}, {}, "table fext: has no effect, as no task of the build brings fext"),
        ("[fext]\nforce = 1.0", {"fext": "all"}, {}, ""),
        ("[fext]\nforce = 1.0", {}, {"base": "floating"}, ""),
        ("[integration]\ntime_step = [1e-4, 1e-3]", {}, {}, "table integration: has no effect, as no task "),
        ("[integration]\ntime_step = [1e-4, 1e-3]", {"functions": ("step",)}, {}, ""),
        ("[joints.elbow]\nmultiplier = 2.0", {}, {}, "multiplier: has no effect, as no task of the build "),
        ("[default]\nmultiplier = 2.0", {"functions": ("hid",)}, {}, ""),
    ],
)
def test_bounds_of_a_domain_file_without_effect_have_a_remark(
    tmp_path, capsys, text, options, mounting, idle
):
    file = tmp_path / "domain.toml"
    file.write_text(text)
    build_options = replace(OPTIONS, **{"functions": ("id",), **options})
    prepare_build(mount(load_urdf(path("toy")), Mounting(**mounting)), build_options, read_overrides(file))
    lines = [line for line in capsys.readouterr().err.splitlines() if "has no effect" in line]
    assert len(lines) == bool(idle)
    assert all(line.startswith(f"rbdhw: domain, {idle}") for line in lines)


class TestTables:
    """The toy takes 15 of the 6,840 DSP blocks at an interval of 1."""

    @staticmethod
    def plan(search, **options):
        again = search.with_options(replace(OPTIONS, ii=None, target="xcvu9p", **options))
        return again.plan(again.interval())

    def test_a_share_moves_products_to_tables(self, search):
        plain = self.plan(search)
        fitted = self.plan(search, fit=0.0018, pacing=Pacing(link=False))
        assert plain.ii == fitted.ii == 1
        assert plain.estimate.dsp_blocks > 12 == fitted.estimate.dsp_blocks
        assert fitted.estimate.luts > plain.estimate.luts
        assert fitted.program.outputs == plain.program.outputs
        assert fitted.latency == plain.latency

    def test_a_given_interval_is_kept(self, search):
        assert (
            self.plan(search, fit=0.0018).estimate
            == self.plan(search, fit=0.0018, pacing=Pacing(link=False)).estimate
        )

    def test_a_build_that_fits_stays_the_same(self, search):
        assert self.plan(search, fit=0.1).core == self.plan(search).core

    def test_where_tables_do_not_fit_either_nothing_moves(self, search):
        plain = self.plan(search)
        small = search.with_options(replace(OPTIONS, ii=None, fit=0.0014))
        assert small.estimate(1) == plain.estimate
        fitted = self.plan(search, fit=0.0014, pacing=Pacing(link=False))
        assert fitted.ii > 1
        assert not fitted.core.shift_add_products()


class TestPreAdders:
    """At an interval of 1 blocks compute sums in front of products, which changes bits of the results."""

    @staticmethod
    def pre_sums(scheduled):
        return {step.pre_sum for step in scheduled.core.schedule.steps} - {None}

    def test_the_errors_are_those_of_the_program_with_exact_sums(self, search):
        scheduled, formats = search.schedule("pipeline", 1), search.formats("pipeline", 1)
        assert self.pre_sums(scheduled)
        measured = measure(search.observed(), OPTIONS, scheduled.program)
        assert scheduled.formats.errors == measured != formats.errors
        assert all(scheduled.program.operations[value].drop == 0 for value in self.pre_sums(scheduled))

    @pytest.mark.parametrize("options", [{}, {"fit": 0.0018}])
    def test_where_errors_would_miss_the_budget_no_sum_is_exact(self, monkeypatch, search, options):
        monkeypatch.setattr("rbdhw.explore.search.meets_budget", lambda _errors, _options: False)
        changed = replace(OPTIONS, ii=1, **options)
        scheduled = BuildSearch(search.prepared, changed).schedule("pipeline", 1)
        formats = search.formats("pipeline", 1)
        assert not self.pre_sums(scheduled)
        assert scheduled.formats.errors == formats.errors
        assert (scheduled.estimate.dsp_blocks > 12) == (not options)
        pairs = zip(scheduled.program.operations, formats.program.operations, strict=True)
        assert all(made.drop == given.drop for made, given in pairs)
