"""Studies of number formats: candidates, their loops, what is stored, and the command."""

import json
from dataclasses import replace

import numpy as np
import pytest

import rbdhw as package
from rbdhw import golden
from rbdhw.control import loop
from rbdhw.control import study as module
from rbdhw.control.candidates import EXACT, Candidate, format_of, parse_formats
from rbdhw.control.loop import Tracking
from rbdhw.control.study import Job, Settings, judge
from rbdhw.control.table import narrowest
from rbdhw.control.uniform import evaluate_uniform
from rbdhw.errors import InputError
from rbdhw.fixed.format import Format
from rbdhw.front.accelerator import Accelerator
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.read import load_mounted
from rbdhw.options.arguments import asked_build
from rbdhw.options.build import Mounting
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.runtime import executor
from tests.support.few_samples import few_samples
from tests.support.marks import long

ROTORS = {"shoulder": 0.3, "elbow": 0.3}


@pytest.fixture(autouse=True, scope="module")
def shorter_horizons():
    """Plan over half the horizon, for fewer problems, with a coarser robot; observe fewer tasks."""
    with pytest.MonkeyPatch.context() as patch, few_samples():
        for name, number in {"KNOTS": 10, "PROBLEMS": 2, "FINER": 1}.items():
            patch.setattr(loop, name, number)
        yield


@pytest.fixture(scope="module")
def job():
    options, overrides = asked_build(functions="step,dstep", ii=4)
    rest = options, overrides, Tracking("track", 0.4), Accelerator.on
    return Job(Candidate(EXACT), path("toy"), load_urdf(path("toy")), *rest)


def judged(job, candidate):
    return judge(replace(job, candidate=candidate))


@pytest.fixture(scope="module")
def exact(job):
    return judge(job)


def test_double_precision_follows_the_figure(exact):
    assert 0 < exact["median"] < 0.02
    assert exact["flagged"] == 0.0
    assert len(exact["iterations"]) == len(exact["costs"]) == 2


def test_too_few_bits_are_judged(job, exact):
    """Eight fractional bits do not do the task, and three whole ones are too few for torques."""
    coarse = judged(job, Candidate("Q3.8", word=format_of("Q3.8")))
    assert narrowest([exact, coarse]) is None
    assert coarse["median"] > 1.5 * exact["median"]
    assert coarse["flagged"] > 0.1


@pytest.mark.verify
def test_enough_bits_are_judged(job, exact):
    fine = judged(job, Candidate("Q10.20", word=format_of("Q10.20")))
    assert narrowest([exact, fine]) == "Q10.20"
    assert fine["median"] == pytest.approx(exact["median"], rel=0.02)


def test_a_width_is_judged_on_the_bit_exact_model(job, exact):
    row = judged(job, Candidate("18 bits", asked_build(functions="step,dstep", ii=4, width=18)[0]))
    assert narrowest([exact, row]) == "18 bits"
    assert row["dsp_blocks"] > 0
    assert row["bytes"]["dstep"] > row["bytes"]["step"]
    assert row["median"] != exact["median"]


def test_candidates_are_what_they_are_named(job):
    settings = Settings(job.task, widths=[10, 14], budgets=[1e-3], formats=["Q3.8"])
    exact, *builds, uniform = settings.candidates(job.options)
    named = [(each.name, each.options.width, each.options.max_error) for each in builds]
    assert named == [("10 bits", 10, None), ("14 bits", 14, None), ("budget 0.001", None, 1e-3)]
    assert (exact, uniform) == (Candidate(EXACT), Candidate("Q3.8", word=format_of("Q3.8")))


def test_functions_in_double_precision_stay_so(job, exact):
    """Derivatives of ten bits with exact steps: the hardware is that of derivatives alone."""
    settings = Settings(job.task, widths=[10], exact=["step"])
    _, candidate = settings.candidates(job.options)
    row = judge(replace(job, candidate=candidate, exact=settings.exact))
    assert set(row["bytes"]) == {"dstep"}
    assert exact["median"] != row["median"] < 2.0 * exact["median"]


def test_a_build_that_is_not_possible_is_a_row(job):
    options = asked_build(functions="step,dstep", ii=4, max_error=1e-12)[0]
    assert judged(job, Candidate("budget", options))["refused"].startswith("max-error: no supported width")


def test_the_narrowest_is_as_good_as_double_precision():
    exact = {"candidate": EXACT, "median": 1.0, "costs": [2.0, 4.0]}

    def row(bits, median=1.0, costs=(2.0, 4.0), **others):
        return {"candidate": f"{bits}", "bits": bits, "median": median, "costs": list(costs), **others}

    assert narrowest([exact, row(18), row(16), row(14, median=1.1), row(12, costs=(2.0, 4.01))]) == "16"
    assert narrowest([exact, row(14, costs=(2.0, np.nan)), row(12, refused="too few")]) is None
    assert narrowest([exact, row(None)]) is None


@pytest.mark.parametrize(("text", "word"), [("Q1.0", Format(1, 0)), ("Q16.16", Format(32, 16))])
def test_formats(text, word):
    assert parse_formats(text) == [text]
    assert format_of(text) == word


def test_grids_of_formats():
    assert parse_formats("Q8-9.10-11") == ["Q8.10", "Q8.11", "Q9.10", "Q9.11"]


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({}, "study"),
        ({"widths": [7]}, "widths"),
        ({"widths": "18,x"}, "widths"),
        ({"formats": "Q0.8"}, "formats"),
        ({"formats": "Q20.20"}, "formats"),
        ({"formats": "Q8-12.8-21"}, "formats"),
        ({"formats": "8.8"}, "formats"),
        ({"budgets": "0"}, "budgets"),
        ({"budgets": [2.0]}, "budgets"),
        ({"widths": 18 * [18], "task": "fly"}, "task"),
        ({"widths": "18", "seconds": 0.0}, "seconds"),
        ({"widths": "18", "workers": 0}, "workers"),
        ({"widths": "18", "exact": "fd"}, "exact"),
        ({"widths": "18", "exact": "step,dstep"}, "exact"),
    ],
)
def test_settings_that_are_refused(tmp_path, settings, where):
    with pytest.raises(InputError) as refusal:
        package.study(path("toy"), tmp_path / "study", **settings)
    assert refusal.value.where == where
    assert not (tmp_path / "study").exists()


def test_robots_that_are_refused(tmp_path):
    with pytest.raises(InputError, match="has orientations"):
        package.study(path("hyq"), tmp_path / "study", widths=[18], base="floating")


def test_no_candidate_can_be_built(tmp_path, monkeypatch):
    refused = {"one": {"candidate": "one", "refused": "too narrow"}, EXACT: {"candidate": EXACT}}
    monkeypatch.setattr(module, "execute", lambda *_arguments, **_named: refused)
    with pytest.raises(InputError, match="no candidate can be built: too narrow"):
        package.study(path("toy"), tmp_path / "study", widths=[18])


def test_the_command_and_its_section_of_the_report(tmp_path, rbdhw, monkeypatch):
    monkeypatch.setattr(executor, "_run_in_processes", one_by_one)
    design = package.generate(path("toy"), tmp_path / "toy", target="c", functions="step").folder
    folder = tmp_path / "study"
    arguments = "--formats", "Q10.20", "--seconds", "0.1", "--workers", "1", "--task", "track"
    status, out, errors = rbdhw("study", path("toy"), "-o", folder, *arguments, "--plot")
    assert status == 0, errors
    assert "Q10.20 is the narrowest that is as good as double precision" in out
    stored = json.loads((folder / "study.json").read_text())
    assert [row["candidate"] for row in stored["rows"]] == [EXACT, "Q10.20"]
    assert {file.name for file in folder.iterdir()} >= {"study.png", "study.svg", "results"}
    page = package.report(design, tmp_path / "page.html", study=folder).read_text(encoding="utf-8")
    assert '<section id="study">' in page
    assert page.count("<td>Q10.20</td>") == 1
    again = rbdhw("study", path("toy"), "-o", folder, *arguments, "--json")
    assert json.loads(again[1]) == stored
    other = rbdhw("study", path("toy"), "-o", folder, *arguments[:-1], "reach")
    assert other[0] == 2
    assert "is of version" in other[2]


@pytest.mark.parametrize(
    ("example", "options"),
    [
        ("payload", {"functions": "id", "parameters": "payload"}),
        long("arm", {"functions": "step,dstep,position", "frames": "tip", "armature": ROTORS}),
        long("mppi", {"functions": "rollout,position", "frames": "tip", "rollout": "samples,cost"}),
    ],
)
def test_loops_of_ones_own(tmp_path, monkeypatch, example, options):
    """The examples' loops: their errors, without line searches or problems alone."""
    monkeypatch.setattr(module, "execute", in_this_process)
    task = f"examples.{example}.run:judge"
    study = package.study(
        path("toy"), tmp_path, task=task, widths=[20], seconds=0.24, ii=4, plot=True, **options
    )
    exact, built = study["rows"]
    assert built.keys() >= {"median", "max", "lost", "flagged", "bits", "luts"}
    assert "failed" not in built
    assert "costs" not in built
    assert exact["median"] != built["median"] == pytest.approx(exact["median"], rel=0.05)
    assert study["narrowest"] == "20 bits"
    assert study["unit"] == ""
    assert str(study)


def one_by_one(work, jobs, _warn, _workers):
    """The executor's work, without processes."""
    for name, job in jobs.items():
        yield name, work(job), None


def in_this_process(work, jobs, **_rest):
    return {name: work(job) for name, job in jobs.items()}


def one_error(_urdf, _functions, _seconds):
    return 1.0


@pytest.mark.parametrize(
    ("task", "functions", "reason"),
    [
        ("examples.payload.run:missing", "id", "has no attribute 'missing'"),
        ("examples.nowhere:judge", "id", "No module named 'examples.nowhere'"),
        (":judge", "id", "Empty module name"),
        ("examples.payload.run:judge", None, "functions: missing for task 'examples.payload.run:judge'"),
        ("track", "id", "functions: task 'track' has its own"),
    ],
)
def test_loops_that_are_refused(tmp_path, task, functions, reason):
    with pytest.raises(InputError, match=reason):
        package.study(path("toy"), tmp_path, task=task, functions=functions, widths=[18])


def test_a_loop_without_errors_of_ticks(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "execute", in_this_process)
    task = f"{__name__}:one_error"
    with pytest.raises(InputError, match=r"returned shape \(\); expected the errors of all ticks"):
        package.study(path("toy"), tmp_path, task=task, functions="id", widths=[18], ii=4)


@pytest.mark.verify
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same_study(tmp_path):
    """Two workers, one of which is killed on the way."""
    from distributed import LocalCluster

    candidates = {"widths": [16], "formats": ["Q10.20", "Q8.8"], "seconds": 0.4}
    alone = package.study(path("toy"), tmp_path / "alone", **candidates, workers=1)
    with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
        victim = next(iter(cluster.workers.values()))
        cluster.loop.call_later(5.0, victim.kill)
        shared = package.study(
            path("toy"), tmp_path / "shared", **candidates, cluster=cluster.scheduler_address
        )
    assert dict(shared) == dict(alone)


def test_uniform_formats_give_optional_results():
    robot = load_mounted(path("toy"), Mounting(frames=("tip",)))
    tasks = {"q": np.array([[0.3, -0.7], [1.1, 0.2]])}
    turned = align_axes(elementary(robot))
    word = Format(32, 20)
    results, overflow = evaluate_uniform(robot, turned, "position", tasks, Algorithms(), word, extended=True)
    expected = golden.evaluate(robot, "position", tasks, extended=True)
    assert not overflow.any()
    assert results.keys() == expected.keys() == {"position", "J_position"}
    for name, array in expected.items():
        np.testing.assert_allclose(results[name], array, atol=1e-4)
